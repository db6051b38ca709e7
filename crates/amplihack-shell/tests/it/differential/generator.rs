//! Random scripts over the grammar of bash, in which every command has a name of its own that no program has.

/// A small generator of random numbers: the same seed makes the same scripts everywhere.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap_or(0) % end
    }

    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }
}

/// Makes one script.
pub(crate) struct Generator<'r> {
    random: &'r mut Random,
    commands: usize,
    functions: usize,
}

/// Tokens that a script is changed with.
const TOKENS: &[&str] = &[
    " ",
    "\n",
    ";",
    "&",
    "&&",
    "||",
    "|",
    "!",
    " ! ",
    " time ",
    " time -p -- ",
    "{ ",
    " }",
    "(",
    ")",
    " if ",
    " then ",
    " fi\n",
    " do ",
    " done\n",
    " esac\n",
    "case x in ",
    " in ",
    "\"",
    "'",
    "`",
    "$(",
    "\\",
    "\\\n",
    "#",
    " # ",
    "<",
    ">",
    "<<E\n",
    "\nE\n",
    "2>",
    "((",
    "))",
    "[[ ",
    " ]]",
    "$((",
    "x=",
    "x=(",
    "a c900",
    " c901\n",
    "; c902; ",
    "@(a|b)",
    "{a,b}",
    "for x in a; do ",
    "while ",
];

impl<'r> Generator<'r> {
    pub(crate) fn new(random: &'r mut Random) -> Self {
        Self { random, commands: 0, functions: 0 }
    }

    /// A whole script; some are changed at random afterwards, so that bash may refuse them.
    pub(crate) fn script(&mut self) -> String {
        let mut script = String::new();
        if self.random.below(3) == 0 {
            script.push_str(self.random.pick(&[
                "# 1234567890>\n",
                "n=$((1<<20))\n",
                "for ((i=1; i<1<<2; i<<=1)); do :; done\n",
                "x=$(( ((1+2)) + ((3)) ))\n",
                "c800 99999999999>f\n",
                "a=1 b=2\n",
            ]));
        }
        script.push_str(&self.list(3));
        for _ in 0..[0, 0, 0, 1, 1, 2, 3][self.random.below(7)] {
            script = self.changed(&script);
        }
        script
    }

    fn changed(&mut self, script: &str) -> String {
        let mut places: Vec<usize> = script.char_indices().map(|(at, _)| at).collect();
        places.push(script.len());
        let at = places[self.random.below(places.len())];
        let (before, after) = script.split_at(at);
        if self.random.below(3) > 0 {
            return format!("{before}{}{after}", self.random.pick(TOKENS));
        }
        let len = after.char_indices().nth(1 + self.random.below(3)).map_or(after.len(), |(len, _)| len);
        format!("{before}{}", &after[len..])
    }

    fn list(&mut self, depth: usize) -> String {
        let mut list = self.pipeline(depth);
        for _ in 0..self.random.below(3) {
            let joint = self.random.pick(&[
                "; ",
                "\n",
                " && ",
                " || ",
                " &\n",
                ";",
                " # c700; c701\n",
                "\n# c702 '\n",
                " &&\n",
                "\n\n",
            ]);
            list.push_str(joint);
            list.push_str(&self.pipeline(depth));
        }
        list
    }

    /// A list that a keyword may follow.
    fn ended(&mut self, depth: usize) -> String {
        let list = self.list(depth.saturating_sub(1));
        format!("{list}{}", self.random.pick(&["; ", "\n", " \n ", " # c703\n"]))
    }

    fn pipeline(&mut self, depth: usize) -> String {
        let prefix = match self.random.below(10) {
            0 => "! ",
            1 => self.random.pick(&[
                "time ",
                "time -p ",
                "time -- ",
                "time -p -- ",
                "! ! ",
                "! time ",
                "time ! ",
                "time \\\n",
            ]),
            _ => "",
        };
        let mut pipeline = format!("{prefix}{}", self.command(depth));
        while self.random.below(5) == 0 {
            pipeline.push_str(self.random.pick(&[" | ", "|", " |& ", " |\n"]));
            pipeline.push_str(&self.command(depth));
        }
        pipeline
    }

    fn command(&mut self, depth: usize) -> String {
        if depth == 0 || self.random.below(5) < 2 {
            return self.simple(depth);
        }
        let compound = self.compound(depth);
        match self.random.below(5) {
            0 => format!("{compound}{}", self.redirect()),
            _ => compound,
        }
    }

    fn compound(&mut self, depth: usize) -> String {
        let blank = |random: &mut Random| random.pick(&[" ", "\n", "  "]).to_owned();
        match self.random.below(17) {
            0 => format!("{{{}{}}}", blank(self.random), self.ended(depth)),
            1 => format!("({}{})", self.random.pick(&["", " ", "\n"]), self.list(depth - 1)),
            2 => format!("if {}then {}fi", self.ended(depth), self.ended(depth)),
            3 => format!(
                "if {}then {}elif {}then {}else {}fi",
                self.ended(1),
                self.ended(depth),
                self.ended(1),
                self.ended(1),
                self.ended(depth)
            ),
            4 => format!("while {}do {}break; done", self.ended(depth), self.ended(depth)),
            5 => format!("until {}do {}break\ndone", self.ended(1), self.ended(depth)),
            6 => {
                let head = self.random.pick(&[
                    "for i in a b; do ",
                    "for i in a\ndo ",
                    "for i in $(c600) if do; do ",
                    "for i\nin a b\ndo ",
                    "for ((i=0;i<2;i++)); do ",
                    "for ((i=0;i<1;i++)) do ",
                    "for i in a; {\n",
                ]);
                let tail = if head.ends_with("{\n") { "}" } else { "done" };
                format!("{head}{}{tail}", self.ended(depth))
            }
            7 => format!(
                "case x in {}a|b) {};; {}x) {}{} esac",
                self.random.pick(&["", "("]),
                self.list(depth - 1),
                self.random.pick(&["", "(", "y|", "if|"]),
                self.list(depth - 1),
                self.random.pick(&[";;", ";;&", ";&", "\n;;", "\n"])
            ),
            8 => format!(
                "[[ {} ]] {} {}",
                self.random.pick(&["-n x", "x == @(x|y)", "a < b && ! -e f", "$x =~ ^a(b|c)$", "-n x\n"]),
                self.random.pick(&["&&", "||", ";", "\n"]),
                self.command(depth - 1)
            ),
            9 => format!(
                "(( {} )) {} {}",
                self.random.pick(&["1<<2", "x = (1+2) * 3", "$(c601) 1"]),
                self.random.pick(&["&&", "||", ";", "\n"]),
                self.command(depth - 1)
            ),
            10 => {
                self.functions += 1;
                let name = format!("f{}", self.functions);
                let head = match self.random.below(5) {
                    0 => format!("function {name} {{ "),
                    1 => format!("function {name}()\n{{\n"),
                    2 => format!("{name} () {{ "),
                    3 => format!("{name}()\n{{ "),
                    _ => format!("{name}() {{ "),
                };
                format!("{head}{}}}; {name}", self.ended(depth))
            }
            11 => format!("if [[ -n x ]] then {}fi", self.ended(depth)),
            12 => format!("select x in a; do {}break; done <<< 1", self.ended(depth)),
            13 => format!("(({}) | {})", self.simple(0), self.simple(0)),
            // Behind a compound command, a keyword needs no separator.
            14 => format!(
                "if ({}) then {{ ({}) }} else ({}) fi",
                self.ended(1),
                self.ended(depth),
                self.ended(1)
            ),
            15 => {
                format!("for i do {}done; while ({}) do break; done", self.ended(depth), self.list(depth - 1))
            }
            _ => format!("eval '{}'", self.list(depth - 1).replace('\'', "'\\''")),
        }
    }

    fn simple(&mut self, depth: usize) -> String {
        let mut words = Vec::new();
        while self.random.below(8) == 0 {
            let value = self.word(depth);
            words.push(self.random.pick(&["x=", "y+=", "a[1]="]).to_owned() + &value);
        }
        if self.random.below(14) == 0 {
            words.push(format!("a=(x {} y)", self.word(depth)));
            return words.join(" ");
        }
        if self.random.below(20) == 0 {
            words.push(self.random.pick(&["a=()", "b+=()", "a[1 + 1]=x", "a[\"x y\"]=z"]).to_owned());
        }
        if self.random.below(10) == 0 {
            words.push(self.redirect().trim_start().to_owned());
        }
        self.commands += 1;
        let name = format!("c{}", self.commands);
        words.push(match self.random.below(12) {
            0 => format!("c''{}", self.commands),
            1 => format!("\\{name}"),
            2 => format!("\"{name}\""),
            3 => format!("c\\\n{}", self.commands),
            _ => name,
        });
        for _ in 0..self.random.below(4) {
            words.push(self.word(depth));
        }
        let mut command = words.join(self.random.pick(&[" ", " ", "  ", "\t", " \\\n"]));
        if self.random.below(5) == 0 {
            command.push_str(&self.redirect());
        }
        if depth > 0 && self.random.below(12) == 0 {
            command.push_str(&self.document(depth));
        }
        command
    }

    fn document(&mut self, depth: usize) -> String {
        let inner = format!("text ' \" {} $z", self.substitution(depth));
        match self.random.below(3) {
            0 => format!(" <<E\n{inner}\nE\n"),
            1 => format!(" <<-E; {}\n\t{inner}\n\tE\n", self.simple(0)),
            _ => format!(" <<'E' | {}\n$(c710) `c711` '\nE\n", self.simple(0)),
        }
    }

    fn redirect(&mut self) -> String {
        self.random
            .pick(&[
                " > f",
                " 2>&1",
                " >>f",
                " < /dev/null",
                " <<< x",
                " &> f",
                " 2> f",
                " >| f",
                " <<< $(c602)",
                " 5<> f",
                " >&2",
                " < <(c603)",
                " {fd}> f",
            ])
            .to_owned()
    }

    fn substitution(&mut self, depth: usize) -> String {
        let inner = if depth > 0 { self.list(depth - 1) } else { self.simple(0) };
        match self.random.below(4) {
            0 if !inner.contains(['`', '\\']) => format!("`{inner}`"),
            1 => format!("$({inner}\n)"),
            2 => format!("$( {inner} )"),
            _ => format!("$({inner})"),
        }
    }

    fn word(&mut self, depth: usize) -> String {
        let plain = &[
            "a",
            "-x",
            "--y=z",
            "if",
            "then",
            "{",
            "}",
            "!",
            "do",
            "done",
            "fi",
            "esac",
            "in",
            "time",
            "[[",
            "]]",
            "a#b",
            "'#'",
            "\\#",
            "'a;b'",
            "\"a|b\"",
            "'$(c720)'",
            "\\$\\(c721\\)",
            "$z",
            "\"$z\"",
            "${z:-a}",
            "${#z}",
            "$#",
            "$((1<<2))",
            "$((16#ff))",
            "*.c",
            "[ab]",
            "~",
            "a=b",
            "$'a\\'b'",
            "$\"a\"",
            "\"it's\"",
            "'\"'",
            "${z#'}'}",
            "\"${z:-'}'}\"",
            "{a,b}",
            "é",
            "\"a\nb\"",
            "%",
            "@",
            "+",
            "^",
            "::",
            "a\\ b",
            "$[1+2]",
            "\"\\\"\"",
            "12",
            "2",
        ];
        if depth == 0 || self.random.below(4) > 0 {
            return self.random.pick(plain).to_owned();
        }
        let inner = self.substitution(depth - 1);
        match self.random.below(8) {
            0 => format!("\"a {inner} b\""),
            1 => format!("\"${{z:-{inner}}}\""),
            2 => format!("${{z:-{inner}}}"),
            3 => format!("<({})", self.list(depth - 1)),
            4 => format!("$(( 1 + {inner} 2 ))"),
            5 => format!("a{inner}b"),
            6 => format!("{{a,{inner}}}"),
            _ => inner,
        }
    }
}
