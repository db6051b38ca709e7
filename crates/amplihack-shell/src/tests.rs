//! The front end as a whole.

use std::time::Instant;

use super::*;

fn parsed(src: &str) -> Parsed {
    let limits = Limits { deadline: std::time::Duration::from_secs(20), ..Limits::default() };
    commands(src.as_bytes(), &limits)
}

fn lines(src: &str) -> Vec<String> {
    let show =
        |command: &ShellCommand| command.words.iter().map(unwrap::render_word).collect::<Vec<_>>().join(" ");
    parsed(src).commands.iter().map(show).collect()
}

#[track_caller]
fn has(src: &str, command: &str) {
    let parsed = parsed(src);
    assert!(
        lines(src).iter().any(|line| line == command),
        "{src:?}: no {command:?} in {:?}, undecided {:?}",
        lines(src),
        parsed.undecided
    );
}

#[test]
fn destructive_forms_are_seen() {
    for src in [
        "rm -rf /",
        "r\\\nm -rf /",
        "\\rm -rf /",
        "$'\\x72m' -rf /",
        "r''m -rf /",
        "{rm,-rf,/}",
        "X=1 rm -rf /",
        "true && rm -rf /",
        "true; rm -rf /",
        "(rm -rf /)",
        "{ rm -rf /; }",
        "! rm -rf /",
        "time rm -rf /",
        "coproc rm -rf /",
        "coproc N { rm -rf /; }",
        "if true; then rm -rf /; fi",
        "while rm -rf /; do :; done",
        "for i in 1; do rm -rf /; done",
        "select i in 1; do rm -rf /; done",
        "case x in x) rm -rf /;; esac",
        "f() { rm -rf /; }; f",
        "function f { rm -rf /; }",
        "echo $(rm -rf /)",
        "echo `rm -rf /`",
        "echo \"$(rm -rf /)\"",
        "cat <(rm -rf /)",
        "X=$(rm -rf /)",
        "ls > $(rm -rf /)",
        "cat <<< $(rm -rf /)",
        "echo $(( $(rm -rf /) ))",
        "[[ -n $(rm -rf /) ]]",
        "a[$(rm -rf /)]=1",
        "echo ${x:-$(rm -rf /)}",
        "cat <<E\n$(rm -rf /)\nE\n",
        "trap 'rm -rf /' EXIT",
        "PROMPT_COMMAND='rm -rf /'",
        "alias ls='rm -rf /'",
        "sudo -u root rm -rf /",
        "env -i A=b rm -rf /",
        "env -S 'rm -rf /'",
        "nice -n 5 rm -rf /",
        "timeout -s KILL 5 rm -rf /",
        "command rm -rf /",
        "exec -a x rm -rf /",
        "chroot /x rm -rf /",
        "xargs -0 rm -rf / < f x",
        "find . -exec rm -rf / ;",
        "busybox rm -rf /",
        "ssh -p 22 host rm -rf /",
        "su root -c 'rm -rf /'",
        "script -c 'rm -rf /' f",
        "docker run --rm -it img rm -rf /",
        "bash -c 'rm -rf /'",
        "bash -ec 'rm -rf /'",
        "bash <<E\nrm -rf /\nE\n",
        "bash <<< 'rm -rf /'",
        "echo 'rm -rf /' | sh",
        "printf 'rm %s /' -rf | bash",
        "base64 -d <<< cm0gLXJmIC8K | sh",
        "echo cm0gLXJmIC8K | base64 -d | bash -s",
        "eval 'rm -rf /'",
        "eval rm '-rf' /",
        "X=rm; $X -rf /",
        "python3 -c 'import os; os.system(\"rm -rf /\")'",
        "perl -e 'system(\"rm -rf /\")'",
        "ruby -e '`rm -rf /`'",
        "awk 'BEGIN{system(\"rm -rf /\")}'",
        "node -e 'require(\"child_process\").execSync(\"rm -rf /\")'",
        "bash -c \"$(cat <<'E'\nrm -rf /\nE\n)\"",
        "bash -c 'rm \"$@\"' _ -rf /",
        "set -- rm -rf /; \"$@\"",
        "c=(rm -rf /); \"${c[@]}\"",
        "run() { \"$@\"; }; run rm -rf /",
        "$(echo rm) -rf /",
        "for p in ls rm; do $p -rf /; done",
        "rm -rf / &",
        "ls | rm -rf / | cat",
        "> f rm -rf /",
        "bash -c \"bash -c 'rm -rf /'\"",
        "bash <(echo rm -rf /)",
        "echo rm -rf / > >(sh)",
        "x='a[$(rm -rf /)]'; echo $((x))",
        "x='$(rm -rf /)'; echo ${x@P}",
        "while :; do $X -rf /; X=rm; done",
        "IFS=,; X=rm,-rf,/; $X",
        "rm -rf /\r\n",
        "git bisect run rm -rf /",
        "watch 'rm -rf /'",
        "parallel rm -rf ::: /",
        "nohup setsid rm -rf /",
        "tar cf x --checkpoint-action=exec='rm -rf /' y",
        "bash -O extglob -c 'rm -rf /'",
        "xargs -I{} sh -c 'rm -rf /'",
        "((x=1)) && rm -rf /",
        "((rm -rf /) | cat)",
        "echo \"`rm -rf /`\"",
        "[ -f x ] && rm -rf /",
        "a && b && c || rm -rf /",
    ] {
        has(
            src,
            if src.starts_with("> f") || !src.contains("xargs -0") {
                "rm -rf /"
            } else {
                "rm -rf / x $(xargs)"
            },
        );
    }
}

#[test]
fn mentions_are_no_commands() {
    for src in [
        "echo 'rm -rf /'",
        "git commit -m \"rm -rf /\"",
        "grep -r 'rm -rf /' .",
        "cat <<'E'\nrm -rf /\n$(rm -rf /)\nE\n",
        "# rm -rf /",
        "echo rm -rf /",
        "X='rm -rf /'",
        "echo '$(rm -rf /)'",
        "printf '%s' 'rm -rf /' > f",
        "python3 -c 'print(\"rm -rf /\")'",
    ] {
        let parsed = parsed(src);
        assert!(!lines(src).iter().any(|line| line == "rm -rf /"), "{src}");
        assert_eq!(parsed.undecided, [], "{src}");
    }
}

#[test]
fn honest_scripts_are_decided() {
    for src in [
        "ls",
        "git status && cargo test 2>&1 | tail -5",
        "cd /x && ls",
        "for f in *.rs; do wc -l \"$f\"; done",
        "if [ -f x ]; then cat x; fi",
        "echo $((1+2))",
        "[[ $a == b* ]] && ls",
        "case $1 in -h|--help) echo h;; *) ls;; esac",
        "a=(1 2 3); echo \"${a[@]}\"",
        "cat <<EOF > f\n$HOME\nEOF",
        "echo \"${x:-y}\" 'it'\"'\"'s'",
        "find . -name '*.rs' -print0 | xargs -0 grep -l x",
        "while read -r l; do echo \"$l\"; done < f",
        "function f() { local a=$1; echo $a; }; f 1",
        "x=$(date +%s)",
        "ls 2>/dev/null &",
        "git commit -m \"$(cat <<'EOF'\nline it's\nEOF\n)\"",
        "echo {1..3}",
        "diff <(ls a) <(ls b)",
        "declare -A m=([a]=1)",
        "echo ${#x} ${x%%.*} ${x//a/b}",
        "eval \"$(ssh-agent -s)\"",
    ] {
        assert_eq!(parsed(src).undecided, [], "{src}");
    }
}

#[test]
fn what_is_made_at_run_time_is_undecided() {
    for src in
        ["$X foo", "$(cat f) foo", "/bin/r? x", "bash -c \"$X\"", "\"$@\"", "${x:-rm} -rf /", "if", "echo $("]
    {
        assert!(!parsed(src).undecided.is_empty(), "{src}");
    }
}

#[test]
fn surroundings() {
    let of = |src: &str, program: &str| {
        parsed(src)
            .commands
            .into_iter()
            .find(|command| command.program_name().as_deref() == Some(program))
            .unwrap()
    };
    let cds = |src: &str| of(src, "ls").cds.iter().map(unwrap::render_word).collect::<Vec<_>>();
    assert_eq!(cds("cd a; cd b && ls"), ["a", "b"]);
    assert_eq!(cds("(cd a); ls"), [""; 0]);
    assert_eq!(cds("f() { cd a; }; f; ls"), ["a"]);
    assert_eq!(cds("cd; ls"), ["${HOME}"]);
    assert_eq!(of("sudo env A=b timeout 5 ls", "ls").via, ["sudo", "env", "timeout"]);
    assert_eq!(of("sudo env A=b ls", "ls").assignments[0].0, "A");
    assert_eq!(of("curl x | sh", "sh").fed, Some(CommandInput::Commands(vec![0])));
    assert_eq!(of("curl x | sudo sh", "sh").fed, Some(CommandInput::Commands(vec![0])));
    assert_eq!(of("sh <(curl x)", "sh").fed, Some(CommandInput::Commands(vec![0])));
    assert_eq!(of("curl x > >(sh)", "sh").fed, Some(CommandInput::Commands(vec![0])));
    assert_eq!(of("echo a | cat", "cat").fed, Some(CommandInput::Text("a\n".into())));
    assert_eq!(of("cat <<E\na\nE\n", "cat").fed, Some(CommandInput::Text("a\n".into())));
    let redirected = of("{ ls; } > f", "ls");
    assert_eq!(
        (redirected.redirects[0].kind, redirected.redirects[0].target.literal_text()),
        (RedirectKind::Write, Some("f".into()))
    );
    let span = of("true; ls -l", "ls").span;
    assert_eq!((span.start, span.end), (6, 11));
    let span = of("echo $(ls -l)", "ls").span;
    assert_eq!((span.start, span.end), (7, 12));
}

#[test]
fn deep_and_long_input_ends() {
    for src in [
        "cat <(".repeat(2500),
        "(".repeat(100_000),
        "$(".repeat(5000),
        "{ ".repeat(50_000),
        "if ".repeat(5000),
        "\"$(".repeat(3000),
        "`".repeat(9999),
    ] {
        assert!(!parsed(&src).undecided.is_empty(), "{}", &src[..8]);
    }
    let long = format!("true{}", " && true".repeat(3000));
    assert_eq!(parsed(&long).commands.len(), 3001);
}

mod properties {
    use super::*;
    use proptest::prelude::*;

    fn limits() -> Limits {
        Limits { deadline: std::time::Duration::from_secs(5), ..Limits::default() }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn never_panics_on_bytes(src in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = commands(&src, &limits());
        }

        #[test]
        fn never_panics_on_shell(parts in proptest::collection::vec(proptest::sample::select(vec![
            "rm", " ", "\n", "$(", ")", "(", "{", "}", "\"", "'", "`", "<<E", "E\n", "$", "${", "x", "=", "[", "]", "[[", "]]", "case", "in", "esac", "if",
            "then", "fi", ";", ";;", "&", "|", "<(", "((", "))", "\\", "é", "#", "for", "do", "done", "<", ">", ",", "..", "1", "$'", "eval ", "bash -c ", "coproc ",
        ]), 0..40)) {
            let src = parts.concat();
            let parsed = commands(src.as_bytes(), &limits());
            for command in &parsed.commands {
                prop_assert!(command.span.start <= command.span.end && command.span.end <= src.len(), "{:?} in {:?}", command, src);
            }
            let middle = src.floor_char_boundary(src.len() / 2);
            let hole = middle..src.floor_char_boundary(middle + 2);
            prop_assert_eq!(find_quoting(&src, std::slice::from_ref(&hole)).places.len(), 1);
        }

        #[test]
        fn blanks_and_surroundings_lose_nothing(before in " {0,3}\n{0,2}", after in "[ \n;]{0,1}", wrap in proptest::sample::select(vec![
            ("", ""), ("(", ")"), ("{ ", "\n}"), ("if true; then ", "\nfi"), ("x=$(", "\n)"), ("true && ", ""), ("echo \"$(", "\n)\""), ("sudo ", ""), ("eval '", "'"),
        ])) {
            let src = format!("{before}{}rm -rf /{after}{}", wrap.0, wrap.1);
            prop_assert!(lines(&src).iter().any(|line| line == "rm -rf /") || !parsed(&src).undecided.is_empty(), "{}", src);
        }
    }
}

#[test]
fn a_long_here_document_is_cheap() {
    let src = format!("cat > f <<'E'\n{}E\n", "a line of text with 'quotes $( and `brackets`\n".repeat(1500));
    let begin = Instant::now();
    assert_eq!(parsed(&src).undecided, []);
    let took = begin.elapsed();
    eprintln!("here-document of {} bytes: {took:?}", src.len());
    assert!(took < std::time::Duration::from_secs(20), "{took:?}");
    for src in ["git status".to_owned(), "ls -l; ".repeat(8000), "echo $(ls) \"$x\" | cat\n".repeat(2000)] {
        let begin = Instant::now();
        let parsed = commands(src.as_bytes(), &Limits::default());
        eprintln!(
            "{} bytes: {:?}, {} commands, {:?}",
            src.len(),
            begin.elapsed(),
            parsed.commands.len(),
            parsed.undecided.first()
        );
    }
}

/// Found by random input: tree-sitter took twice as long for each `|`, without an end for forty of them.
#[test]
fn alternatives_in_a_word_are_few() {
    let many = "|f".repeat(40);
    for hostile in
        [format!("p /(o{many} 2>x)"), format!("p @(o{many}|s\""), format!("echo $(p x(o{many} 2>x))")]
    {
        let why = parsed(&hostile).undecided.into_iter().map(|undecided| undecided.why).collect::<Vec<_>>();
        assert_eq!(why, ["a pattern with too many alternatives"], "{hostile}");
    }
    for honest in [
        "ls !(a|b|c|d|e|f|g|h).txt".to_owned(),
        format!("if [[ $name =~ \\.(o{many})$ ]]; then ls; fi"),
        format!("grep -E '(o{many})' x"),
        format!("(ls{})", "|sort".repeat(30)),
        format!("f() {{ ls{}; }}", "|sort".repeat(30)),
        "x=(a b); ls a|b|c|d|e|f|g|h|i|j|k|l|m|n|o|p|q|r|s|t".to_owned(),
    ] {
        assert_eq!(parsed(&honest).undecided, [], "{honest}");
    }
}
