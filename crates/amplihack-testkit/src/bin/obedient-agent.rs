//! An agent that does what lines of its prompt say, as `PROGRAM AGENT -- ARGS` or under an agent's name.
//!
//! `@out TEXT` and `@err TEXT` print, `@exit N` ends, `@sleep S` sleeps, `@nth N TEXT` prints on the N-th call only, `@failn N` fails
//! on the first N calls, `@touch PATH` makes a file, `@env NAME` and `@cwd` print what is asked for. Without any of them it prints
//! `$FAKE_AGENT_DEFAULT`, or `fake agent ok`. Each call is a line of JSON in `$FAKE_AGENT_LOG`: tool, argv.
#![expect(clippy::expect_used, reason = "a program of the tests")]

use std::fs::OpenOptions;
use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use amplihack_config::env::Env;

fn main() -> ExitCode {
    let env = Env::from_process();
    let mut args: Vec<String> = std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect();
    let own = args.remove(0);
    let mut tool = own.rsplit('/').next().unwrap_or_default().to_owned();
    if tool == "amplihack" {
        tool = args.remove(0);
        if args.first().is_some_and(|arg| arg == "--") {
            args.remove(0);
        }
    }
    let call = write_down(&env, &tool, &args);
    let named = args.windows(2).find(|pair| ["-p", "--print", "--prompt"].contains(&pair[0].as_str()));
    let prompt = named.map(|pair| pair[1].clone()).or_else(|| args.last().cloned()).unwrap_or_default();
    ExitCode::from(obey(&env, &prompt, call))
}

/// Returns the number of this call.
fn write_down(env: &Env, tool: &str, args: &[String]) -> usize {
    let Some(log) = env.path("FAKE_AGENT_LOG") else { return 1 };
    let line = serde_json::json!({ "tool": tool, "argv": args });
    let mut file = OpenOptions::new().append(true).create(true).open(&log).expect("the log can be written");
    file.write_all(format!("{line}\n").as_bytes()).expect("the log can be written");
    std::fs::read_to_string(&log).expect("the log can be read").lines().count()
}

fn obey(env: &Env, prompt: &str, call: usize) -> u8 {
    let (mut code, mut did) = (0, false);
    for line in prompt.lines().map(str::trim) {
        let Some(order) = line.strip_prefix('@') else { continue };
        let (word, rest) = order.split_once(' ').unwrap_or((order, ""));
        let number =
            || rest.split(' ').next().and_then(|word| word.parse::<usize>().ok()).unwrap_or_default();
        match word {
            "out" => say(rest),
            "err" => drop(writeln!(std::io::stderr(), "{rest}")),
            "exit" => code = u8::try_from(number()).unwrap_or(1),
            "sleep" => std::thread::sleep(Duration::from_secs_f64(rest.parse().unwrap_or_default())),
            "nth" if number() == call => say(rest.split_once(' ').map_or("", |(_, text)| text)),
            "failn" if call <= number() => code = 1,
            "nth" | "failn" => {}
            "touch" => drop(std::fs::File::create(rest)),
            "env" => say(&format!("{rest}={}", env.text(rest).unwrap_or("<unset>"))),
            "cwd" => say(&std::env::current_dir().unwrap_or_default().display().to_string()),
            _ => continue,
        }
        did = true;
    }
    if !did {
        say(env.text("FAKE_AGENT_DEFAULT").unwrap_or("fake agent ok"));
    }
    code
}

fn say(line: &str) {
    writeln!(std::io::stdout(), "{line}").expect("stdout can be written");
}
