//! Values through bash: they arrive as they are, and none of them runs.

use std::path::Path;

use amplihack_recipe::context::RecipeContext;
use amplihack_recipe::script::{RecipeScript, VALUES};
use amplihack_recipe::value::RecipeValue;

use crate::naughty;

/// One place for a value, and what is written around it there. Each writes the value into the file `$OUT`.
const PLACES: &[(&str, &str)] = &[
    ("bare", "printf '%s' {{v}} >\"$OUT\""),
    ("bare, glued", "printf '%s' a{{v}}z >\"$OUT\""),
    ("double", "printf '%s' \"{{v}}\" >\"$OUT\""),
    ("double, glued", "printf '%s' \"a $x{{v}}z\" >\"$OUT\""),
    ("single", "printf '%s' '{{v}}' >\"$OUT\""),
    ("single, glued", "printf '%s' 'a \"$x\\ {{v}} z' >\"$OUT\""),
    ("ansi", "printf '%s' $'\\t{{v}}\\n' >\"$OUT\""),
    ("ansi, backslash", "printf '%s' $'a\\{{v}}' >\"$OUT\""),
    ("assignment", "y={{v}}; z=\"$y\"; printf '%s' \"$z\" >\"$OUT\""),
    ("array", "a=({{v}} \"{{v}}\"); printf '%s|' \"${a[@]}\" >\"$OUT\""),
    ("document", "cat >\"$OUT\" <<E\n{{v}}\nE\n"),
    (
        "document, more",
        "cat >\"$OUT\" <<E\na '\"\" {{v}} \\$x `printf '%s' {{v}}` $(printf '%s' '{{v}}') ${y:-{{v}}}\nE\n",
    ),
    ("quoted document", "cat >\"$OUT\" <<'E'\n{{v}}\nE\n"),
    (
        "quoted document, more",
        "cat >\"$OUT\" <<'E'\n$HOME `x` $(x) \\ \\\\ \\$ \"q\" '\n{{v}} {{v}}\n\\\nE\n",
    ),
    ("stripped document", "cat >\"$OUT\" <<-E\n\t{{v}}\n\t\tx\n\tE\n"),
    ("quoted, stripped", "cat >\"$OUT\" <<-\\E\n\t$x {{v}}\n\t\tx\n\tE\n"),
    ("two documents", "{ cat; cat <&3; } >\"$OUT\" <<A 3<<'B'\n1 {{v}}\nA\n2 {{v}} $\nB\n"),
    ("here-string", "cat >\"$OUT\" <<<{{v}}"),
    ("here-string, double", "cat >\"$OUT\" <<<\"{{v}}\""),
    ("substitution", "printf '%s' \"$(printf '%s.' {{v}} \"{{v}}\" '{{v}}')\" >\"$OUT\""),
    ("deep substitution", "printf '%s' \"$(printf '%s' \"$(printf '%s.' \"{{v}}\")\")\" >\"$OUT\""),
    ("backquotes", "printf '%s' \"`printf '%s.' {{v}} '{{v}}'`\" >\"$OUT\""),
    ("deep backquotes", "y=`printf '%s' \"\\`printf '%s.' {{v}}\\`\"`; printf '%s' \"$y\" >\"$OUT\""),
    ("document in substitution", "x=$(cat <<'E'\n{{v}}.\nE\n)\nprintf '%s' \"$x\" >\"$OUT\""),
    ("default", "printf '%s' \"${y:-{{v}}}\" ${y:-{{v}}} >\"$OUT\""),
    ("pattern", "y=\"{{v}}rest\"; printf '%s' \"${y#{{v}}}\" >\"$OUT\""),
    ("after a dollar", "printf '%s' \"${{v}}\" ${{v}} >\"$OUT\""),
    ("after a backslash", "printf '%s' \"\\{{v}}\" \\{{v}} >\"$OUT\""),
    ("case", "case {{v}} in {{v}}) printf yes >\"$OUT\";; esac"),
    ("test", "if [ {{v}} = \"{{v}}\" ] && [[ {{v}} == \"{{v}}\" ]]; then printf yes >\"$OUT\"; fi"),
    ("function", "f() { printf '%s' \"$1\"; }\nf {{v}} >\"$OUT\""),
    ("loop", "for i in {{v}} b; do printf '%s|' \"$i\"; done >\"$OUT\""),
    ("comment", "# {{v}}\nprintf x >\"$OUT\" # '{{v}}"),
    (
        "after look-alikes",
        "cat <<<word >/dev/null; echo $((1<<2)) '<<E' >/dev/null # <<E\nprintf '%s' {{v}} >\"$OUT\"",
    ),
    ("strict", "set -euo pipefail\nprintf '%s' \"{{v}}\" >\"$OUT\""),
];

/// What the place named `name` writes for `value`.
fn expected(name: &str, v: &str) -> String {
    match name {
        "bare, glued" => format!("a{v}z"),
        "double, glued" => format!("a {v}z"),
        "single, glued" => format!("a \"$x\\ {v} z"),
        "ansi" => format!("\t{v}\n"),
        "ansi, backslash" => format!("a\\{v}"),
        "array" => format!("{v}|{v}|"),
        "document" | "quoted document" | "here-string" | "here-string, double" => format!("{v}\n"),
        "document, more" => {
            let cut = v.trim_end_matches('\n');
            format!("a '\"\" {v} $x {cut} {cut} {v}\n")
        }
        "quoted document, more" => format!("$HOME `x` $(x) \\ \\\\ \\$ \"q\" '\n{v} {v}\n\\\n"),
        "stripped document" => format!("{v}\nx\n"),
        "quoted, stripped" => format!("$x {v}\nx\n"),
        "two documents" => format!("1 {v}\n2 {v} $\n"),
        "substitution" => format!("{v}.{v}.{v}."),
        "deep substitution" | "document in substitution" | "deep backquotes" => format!("{v}."),
        "backquotes" => format!("{v}.{v}."),
        "default" => format!("{v}{v}"),
        "pattern" => "rest".to_owned(),
        "after a dollar" => format!("${v}${v}"),
        "after a backslash" => format!("\\{v}{v}"),
        "case" | "test" => "yes".to_owned(),
        "loop" => format!("{v}|b|"),
        "comment" => "x".to_owned(),
        _ => v.to_owned(),
    }
}

struct Room(tempfile::TempDir);

impl Room {
    fn new() -> Self {
        let room = Self(tempfile::tempdir().unwrap());
        std::fs::write(room.0.path().join("f.txt"), "").unwrap();
        room
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    /// Runs the script with `v` set; gives what it wrote into `$OUT`.
    fn run(&self, source: &str, value: &str) -> (Vec<u8>, String) {
        let mut context = RecipeContext::new();
        context.set_value("v", RecipeValue::from_string(value));
        let prepared = RecipeScript::parse(source).prepare_with(&context);
        let script = self.path("script");
        std::fs::write(&script, &prepared.text).unwrap();
        let out = self.path("out");
        let _ = std::fs::remove_file(&out);
        let mut bash = std::process::Command::new("/bin/bash");
        bash.arg(&script)
            .current_dir(self.0.path())
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("OUT", &out);
        bash.env("LC_ALL", "C.UTF-8")
            .envs(prepared.env.iter().map(|(name, value)| (name, value)))
            .stdin(std::process::Stdio::null());
        if !prepared.large.is_empty() {
            prepared.write_large(&mut std::fs::File::create(self.path("values")).unwrap()).unwrap();
            bash.env(VALUES, self.path("values"));
        }
        let output = bash.output().unwrap();
        (std::fs::read(&out).unwrap_or_default(), String::from_utf8_lossy(&output.stderr).into_owned())
    }

    fn canary(&self) -> bool {
        Path::exists(&self.path("canary"))
    }
}

fn check(room: &Room, name: &str, source: &str, value: &str) {
    let (out, stderr) = room.run(source, value);
    let want = expected(name, value);
    let shown = |bytes: &[u8]| String::from_utf8_lossy(&bytes[..bytes.len().min(300)]).into_owned();
    assert!(
        out == want.as_bytes(),
        "{name}: {:?}\nwant {:?}\ngot  {:?}\nstderr {stderr}",
        shown(value.as_bytes()),
        shown(want.as_bytes()),
        shown(&out)
    );
    assert!(!room.canary(), "{name}: {value:?} was run");
}

#[test]
fn naughty_strings_arrive_in_every_place_and_none_runs() {
    let strings = naughty::strings();
    assert!(strings.len() >= 400, "{}", strings.len());
    let room = Room::new();
    for (number, text) in strings.iter().enumerate() {
        let value = text.replace("CANARY", "touch canary");
        for (at, (name, source)) in PLACES.iter().enumerate() {
            // The five contexts with every text, the others with every twelfth.
            let always = ["bare", "double", "single", "document", "quoted document"].contains(name);
            if always || (number + at) % 12 == 0 || text.contains("CANARY") && (number + at) % 4 == 0 {
                check(&room, name, source, &value);
            }
        }
    }
}

#[test]
fn values_of_any_size_arrive_in_every_place() {
    let room = Room::new();
    let text = "it's \"big\" $(touch canary) `touch canary` \\ ü🦀 \t end\n";
    let sized = |size: usize| -> String {
        let mut value = text.repeat(size / text.len() + 1);
        value.truncate(value.floor_char_boundary(size - 1));
        value.push('.');
        value
    };
    for (name, source) in PLACES {
        for size in [64 << 10, 131_072] {
            check(&room, name, source, &sized(size));
        }
        // Patterns take bash the square of their length; `case` compares with a pattern too.
        if !["pattern", "case", "test"].contains(name) {
            check(&room, name, source, &sized(1_000_000));
        }
    }
    for name in ["bare", "double", "single", "document", "quoted document"] {
        let (name, source) = PLACES.iter().find(|(known, _)| *known == name).unwrap();
        check(&room, name, source, &sized(10_000_000));
    }
}

#[test]
fn nothing_is_calculated_that_is_no_number() {
    let room = Room::new();
    for source in [
        "printf '%s' $(({{v}} + 0)) >\"$OUT\"",
        "printf '%s' \"$(( \"{{v}}\" ))\" >\"$OUT\"",
        "((y = {{v}})); printf '%s' $y >\"$OUT\"",
        "x=abcdefg; printf '%s' \"${x:{{v}}:1}\" >\"$OUT\"",
        "[[ {{v}} -eq 7 ]] && printf 7 >\"$OUT\"",
        "[[ 7 -eq \"{{v}}\" ]] && printf 7 >\"$OUT\"",
        "cat >\"$OUT\" <<E\n$(({{v}}))\nE\n",
        "printf '%s' `echo $(({{v}}))` >\"$OUT\"",
    ] {
        for value in
            ["a[$(touch canary)]", "x[`touch canary`]=1", "RECIPE_NUMBER_v", "1 + a[$(touch canary)]", "x"]
        {
            let (_, stderr) = room.run(source, value);
            assert!(!room.canary(), "{source}: {value}");
            assert!(stderr.contains("the value is not a number"), "{source}: {stderr}");
        }
        let (out, stderr) = room.run(source, "7");
        let want = if source.contains("abcdefg") { "" } else { "7" };
        assert_eq!(String::from_utf8_lossy(&out).trim(), want, "{source}: {stderr}");
    }
}

#[test]
fn a_missing_value_is_empty_and_unset() {
    let room = Room::new();
    let (out, _) = room.run("printf '[%s]' {{gone}} \"{{gone}}\" '{{gone}}' $(({{gone}}+1)) >\"$OUT\"", "");
    assert_eq!(String::from_utf8_lossy(&out), "[][][][1]");
    let (_, stderr) = room.run("set -u\nprintf '%s' {{gone}}", "");
    assert!(stderr.contains("line 2: RECIPE_VAR_gone: unbound variable"), "{stderr}");
}

#[test]
fn large_values_are_not_handed_on_and_lost_ones_end_the_script() {
    let room = Room::new();
    let big = "x".repeat(300_000);
    let (out, stderr) =
        room.run("y={{v}}; env >\"$OUT\"; echo \"${#y} ${RECIPE_VALUES_FILE-gone}\" >>\"$OUT\"", &big);
    let out = String::from_utf8_lossy(&out).into_owned();
    assert!(out.ends_with("300000 gone\n") && !out.contains("RECIPE_VA"), "{stderr}");

    let mut context = RecipeContext::new();
    context.set_value("v", RecipeValue::from_string(big));
    let prepared = RecipeScript::parse("touch canary; echo {{v}}").prepare_with(&context);
    let status = std::process::Command::new("/bin/bash")
        .args(["-c", &prepared.text])
        .current_dir(room.0.path())
        .env(VALUES, room.path("none"))
        .stderr(std::process::Stdio::null())
        .status();
    assert_eq!(status.unwrap().code(), Some(1));
    assert!(!room.canary());
}

#[test]
fn large_values_of_any_characters_come_as_they_are() {
    let ascii: String = (1..=127_u8).map(char::from).collect();
    let many = [ascii.as_str(), "\u{80}\u{a0}é€𝄞\u{feff}\\\\\\\n'\"", " \t\n"].concat().repeat(1500);
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let texts = [many.clone(), format!("\n {many}\\"), format!("{many}\n\n"), "z".repeat(200_000)];
    let context: RecipeContext = texts
        .iter()
        .enumerate()
        .map(|(n, text)| (format!("v{n}"), RecipeValue::from_string(text.as_str())))
        .collect();
    let script =
        "for v in {{v0}} {{v1}} {{v2}} {{v3}}; do printf '%s\\0' \"$v\"; done >\"$OUT\"; env >>\"$OUT\"";
    let prepared = RecipeScript::parse(script).prepare_with(&context);
    assert_eq!(prepared.large.len(), 4);
    prepared.write_large(&mut std::fs::File::create(at("values")).unwrap()).unwrap();
    for locale in ["C", "C.UTF-8"] {
        let status = std::process::Command::new("/bin/bash")
            .args(["-c", &prepared.text])
            .env_clear()
            .env("LC_ALL", locale)
            .env("PATH", "/usr/bin:/bin")
            .env("OUT", at("out"))
            .env("RECIPE_VAR_v0", "of the environment")
            .env(VALUES, at("values"))
            .status();
        assert!(status.unwrap().success());
        let out = std::fs::read(at("out")).unwrap();
        let parts: Vec<&[u8]> = out.split(|byte| *byte == 0).collect();
        assert_eq!(parts.len(), 5, "{locale}");
        for (part, text) in parts.iter().zip(&texts) {
            assert!(*part == text.as_bytes(), "{locale}: {} and {} bytes", part.len(), text.len());
        }
        assert!(!String::from_utf8_lossy(parts[4]).contains("RECIPE_V"), "{locale}");
    }
    // A file that ends too early is no value.
    std::fs::write(at("values"), "cut").unwrap();
    let cut = std::process::Command::new("/bin/bash")
        .args(["-c", &prepared.text])
        .env("OUT", at("cut"))
        .env(VALUES, at("values"))
        .status();
    assert_eq!(cut.unwrap().code(), Some(1));
    assert!(!at("cut").exists());
}
