//! Sessions are claimed, started once, get what they were given to the byte, and are followed.

use std::sync::Arc;
use std::time::Duration;

use amplihack_config::secret::Secret;
use amplihack_remote::far::FarSide;
use amplihack_remote::protocol::{Claim, FarState};
use amplihack_remote::{LocalRunner, RemoteError};
use amplihack_testkit::procs::ArgvWatch;
use tokio::task::JoinSet;

use crate::support::{Chatty, PATIENCE, digest, files_with, id, places};

#[tokio::test]
async fn ten_starts_of_one_id_at_once_run_it_once() {
    for place in places() {
        place.store().await;
        let mut spec = place.session(1, "echo ran >>\"$1\"");
        let ran = place.path("ran");
        spec.argv.push(ran.display().to_string());
        let mut starts = JoinSet::new();
        for _ in 0..10 {
            let (far, spec) = (place.far.clone(), spec.clone());
            starts.spawn(async move { far.start_session(&spec, None).await.unwrap() });
        }
        let claims = starts.join_all().await;
        assert_eq!(claims.iter().filter(|claim| **claim == Claim::Started).count(), 1, "{claims:?}");
        assert_eq!(place.until_ended(&spec.id).await, FarState::Ended(0), "{}", place.said(&spec.id));
        assert_eq!(place.far.start_session(&spec, None).await.unwrap(), Claim::Already);
        assert_eq!(std::fs::read_to_string(ran).unwrap(), "ran\n");
        // Nothing of the other nine is left.
        assert_eq!(std::fs::read_dir(place.path("root/incoming")).unwrap().count(), 0);
    }
}

#[tokio::test]
async fn a_claim_whose_owner_died_is_finished_by_the_next_start() {
    for place in places() {
        place.store().await;
        let spec = place.session(1, "exit 3");
        std::fs::create_dir_all(place.file(&spec.id, "")).unwrap();
        assert_eq!(place.observe(&spec.id).await.state, FarState::Waiting);
        assert_eq!(place.done(&spec).await, FarState::Ended(3));

        // A whole claim, whose runner died before the program was started.
        let spec = place.session(2, "exit 4");
        assert_eq!(place.far.prepare_session(&spec, None).await.unwrap(), Claim::Started);
        std::fs::write(place.file(&spec.id, "pid"), "1 1 5 boot host\n").unwrap();
        assert_eq!(place.observe(&spec.id).await.state, FarState::Waiting);
        assert_eq!(place.far.start_session(&spec, None).await.unwrap(), Claim::Started);
        assert_eq!(place.until_ended(&spec.id).await, FarState::Ended(4));
        // Who was killed while it received leaves nothing for long.
        let orphan = place.path("root/incoming").join(format!("{}.4194305.x", host()));
        std::fs::create_dir_all(orphan.join("secret")).unwrap();
        place.far.start_session(&place.session(3, ":"), None).await.unwrap();
        assert!(!orphan.exists());
    }
}

#[tokio::test]
async fn a_start_that_is_killed_anywhere_leaves_one_run_in_the_end() {
    for place in places() {
        place.store().await;
        let mut spec = place.session(1, "echo ran >>\"$1\"; sleep 0.3");
        let ran = place.path("ran");
        spec.argv.push(ran.display().to_string());
        // What the client would send, by hand, so that it can be killed.
        let mut text = format!("\nbundle {}\nbase {}\nbranch work\n", spec.bundle, spec.base).into_bytes();
        for arg in &spec.argv {
            text.extend(format!("arg {}\n{arg}\n", arg.len()).bytes());
        }
        text.extend(b"prompt\nx");
        let input = place.path("session");
        std::fs::write(&input, text).unwrap();
        for step in 0..25 {
            let mut start = place.runner(&["start", &spec.id]);
            start.stdin(std::fs::File::open(&input).unwrap()).stdout(std::process::Stdio::null());
            let mut start = start.spawn().unwrap();
            tokio::time::sleep(Duration::from_millis(step * 4)).await;
            start.kill().unwrap();
            start.wait().unwrap();
        }
        place.far.start_session(&spec, None).await.unwrap();
        assert_eq!(place.until_ended(&spec.id).await, FarState::Ended(0), "{}", place.said(&spec.id));
        assert_eq!(std::fs::read_to_string(ran).unwrap(), "ran\n");
    }
}

#[tokio::test]
async fn what_a_dead_runner_began_does_not_run_beside_the_next() {
    for place in places() {
        place.store().await;
        // Making the work tree takes as long as we like.
        let git = place.path("bin/git");
        let slow = "#!/bin/sh\n[ \"$1\" != checkout ] || while ! [ -e \"$HOME/go\" ]; do sleep 0.05; done\nexec /usr/bin/env -S \
                    PATH=/usr/local/bin:/usr/bin:/bin git \"$@\"\n";
        std::fs::write(&git, slow).unwrap();
        std::fs::set_permissions(&git, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let mut spec = place.session(1, "echo ran >>\"$1\"");
        let ran = place.path("ran");
        spec.argv.push(ran.display().to_string());
        place.far.start_session(&spec, None).await.unwrap();
        place.until_file(&place.file(&spec.id, "group")).await;
        let runner = place.word(&spec.id, "pid", 0);
        let killed = std::process::Command::new("kill").args(["-s", "KILL", &runner]).status();
        assert!(killed.unwrap().success());
        assert_eq!(place.observe(&spec.id).await.state, FarState::Waiting);
        assert_eq!(place.far.start_session(&spec, None).await.unwrap(), Claim::Started);
        std::fs::write(place.path("home/go"), "").unwrap();
        assert_eq!(place.until_ended(&spec.id).await, FarState::Ended(0), "{}", place.said(&spec.id));
        assert_eq!(std::fs::read_to_string(ran).unwrap(), "ran\n");
    }
}

fn host() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap().trim().to_owned()
}

#[tokio::test]
async fn what_a_user_wrote_arrives_to_the_byte_and_runs_nothing() {
    let all: String = (1..0x100).filter_map(char::from_u32).collect();
    for place in places() {
        place.store().await;
        let trap = place.path("trap");
        let runs = format!(
            "$(touch {0}) `touch {0}` ; touch {0} & '\"; touch {0}; \"' | touch {0}\n",
            trap.display()
        );
        let mut args: Vec<String> =
            ["-n", "", "--", "a\n\n", "\n", "'", "\"", "\\", "*", "~", "$HOME", "%s", "x y", &all, &runs]
                .map(str::to_owned)
                .to_vec();
        args.push("z".repeat(120_000));
        let program = "cat ../prompt >\"$OUT/prompt\"; printf '%s\\0' \"$@\" >\"$OUT/args\"; \
                       printf '%s\\0' \"$ONE\" \"$f\" \"$IFS\" >\"$OUT/env\"";
        let mut prompts =
            vec![runs.clone().into_bytes(), b"-p --help\n\n".to_vec(), vec![b'y'; 200_000], Vec::new()];
        prompts.push((1..=255).chain(*b"\xff\xfe\n").collect());
        for (number, prompt) in (1..).zip(prompts) {
            let mut spec = place.session(number, program);
            spec.argv.extend(args.iter().cloned());
            spec.prompt.clone_from(&prompt);
            let out = place.path(format!("out{number}"));
            std::fs::create_dir(&out).unwrap();
            let mut set = |name: &str, value: &str| spec.env.push((name.to_owned(), Secret::new(value)));
            set("OUT", &out.display().to_string());
            set("ONE", &format!("{all}{runs}\n\n"));
            // Names that the far side uses itself.
            set("f", "f");
            set("IFS", "/");
            assert_eq!(place.done(&spec).await, FarState::Ended(0), "{}", place.said(&spec.id));
            assert!(std::fs::read(out.join("prompt")).unwrap() == prompt, "prompt {number}");
            let got = String::from_utf8(std::fs::read(out.join("args")).unwrap()).unwrap();
            let got: Vec<&str> = got.split_terminator('\0').collect();
            assert!(got == args, "{got:?}");
            let got = String::from_utf8(std::fs::read(out.join("env")).unwrap()).unwrap();
            // A shell sets its IFS itself.
            let got: Vec<&str> = got.split_terminator('\0').take(2).collect();
            assert_eq!(got, [format!("{all}{runs}\n\n").as_str(), "f"]);
        }
        assert!(!trap.exists(), "a prompt was run");
    }
}

#[tokio::test]
async fn the_key_reaches_the_program_and_nothing_else() {
    for place in places() {
        place.store().await;
        let key = format!("sk-canary-{}", digest(place.dir.path().display().to_string().as_bytes()));
        let mut spec =
            place.session(1, "printf %s \"$THE_KEY\" | sha256sum; printf %s \"$MORE\" | wc -c; sleep 600");
        spec.key_name = Some("THE_KEY".to_owned());
        spec.env.push(("MORE".to_owned(), Secret::new(format!("{key}-more\n"))));
        let watch = ArgvWatch::start(&key);
        place.far.start_session(&spec, Some(&Secret::new(key.clone()))).await.unwrap();
        place.until(&spec.id, "running", |state| *state == FarState::Running).await;
        let chunk = place.far.read_log(&spec.id, 0, PATIENCE).await.unwrap();
        assert!(String::from_utf8_lossy(&chunk.bytes).starts_with(&digest(key.as_bytes())), "{chunk:?}");
        let nowhere = || {
            assert_eq!(files_with(place.dir.path(), key.as_bytes()), Vec::<std::path::PathBuf>::new());
            assert_eq!(files_with("/dev/shm".as_ref(), key.as_bytes()), Vec::<std::path::PathBuf>::new());
        };
        nowhere();
        assert_eq!(place.far.end_session(&spec.id, Duration::from_secs(5)).await.unwrap(), 0);
        nowhere();
        assert!(!format!("{spec:?}").contains(&key));
        watch.finish().assert_unseen_while_running("sleep");
        // A session that never was started keeps no key either.
        let mut spec = place.session(2, ":");
        spec.key_name = Some("THE_KEY".to_owned());
        spec.bundle = "0".repeat(64);
        assert!(place.far.start_session(&spec, Some(&Secret::new(key.clone()))).await.is_err());
        assert_eq!(place.observe(&spec.id).await.state, FarState::Absent);
        nowhere();
        // One that waits is private, and its end removes the key.
        spec.bundle.clone_from(&place.bundle);
        place.far.prepare_session(&spec, Some(&Secret::new(key.clone()))).await.unwrap();
        let kept = files_with(place.dir.path(), key.as_bytes());
        assert_eq!(kept.len(), 1);
        assert_eq!(
            std::os::unix::fs::PermissionsExt::mode(&kept[0].metadata().unwrap().permissions()) & 0o777,
            0o600
        );
        place.far.end_session(&spec.id, Duration::ZERO).await.unwrap();
        nowhere();
    }
}

#[tokio::test]
async fn a_program_runs_as_it_would_by_hand() {
    for place in places() {
        place.store().await;
        let text = "echo \"$NODE_OPTIONS|$AMPLIHACK_SESSION_ID|$(pwd)|$(git branch --show-current)|$(umask)\"; \
                    grep SigIgn /proc/self/status | cut -f 2; readlink /proc/self/fd/0; \
                    git commit -q --allow-empty -m x && echo committed";
        let spec = place.session(1, text);
        assert_eq!(place.done(&spec).await, FarState::Ended(0), "{}", place.said(&spec.id));
        let log = std::fs::read_to_string(place.file(&spec.id, "log")).unwrap();
        let lines: Vec<&str> = log.lines().collect();
        let repo = place.path("root/work").join(&spec.id).join("repo");
        let first: Vec<&str> = lines[0].split('|').collect();
        assert_eq!(
            first[..4],
            ["--max-old-space-size=32768", &spec.id, &repo.display().to_string(), "work"],
            "{log}"
        );
        assert_ne!(first[4], "0077", "{log}");
        assert_eq!(lines[2..], ["/dev/null", "committed"], "{log}");

        let mut spec = place.session(2, "echo \"$NODE_OPTIONS\"");
        spec.env.push(("NODE_OPTIONS".to_owned(), Secret::new("--max-old-space-size=12")));
        place.done(&spec).await;
        assert_eq!(
            std::fs::read_to_string(place.file(&spec.id, "log")).unwrap(),
            "--max-old-space-size=12\n"
        );
    }
}

#[tokio::test]
async fn a_work_tree_has_the_commit_and_what_git_does_not_carry() {
    for place in places() {
        place.store().await;
        std::fs::create_dir_all(place.path("x/.claude")).unwrap();
        std::fs::write(place.path("x/.claude/settings"), "s").unwrap();
        std::fs::write(place.path("x/file"), "changed\n").unwrap();
        let tar = |args: &[&str]| {
            let status = std::process::Command::new("tar").args(args).current_dir(place.path("x")).status();
            assert!(status.unwrap().success());
        };
        tar(&["-czf", "../extra", ".claude", "file"]);
        let extra = digest(&std::fs::read(place.path("extra")).unwrap());
        place.far.store_file(&place.path("extra"), &extra).await.unwrap();
        let mut spec = place.session(1, "cat .claude/settings file; git status --short");
        spec.extra = Some(extra);
        assert_eq!(place.done(&spec).await, FarState::Ended(0), "{}", place.said(&spec.id));
        let log = std::fs::read_to_string(place.file(&spec.id, "log")).unwrap();
        assert_eq!(log, "schanged\n M file\n?? .claude/\n");

        // An archive cannot write outside.
        std::fs::write(place.path("outside"), "x").unwrap();
        tar(&["-czPf", "../bad", "../outside"]);
        std::fs::remove_file(place.path("outside")).unwrap();
        let bad = digest(&std::fs::read(place.path("bad")).unwrap());
        place.far.store_file(&place.path("bad"), &bad).await.unwrap();
        let mut spec = place.session(2, ":");
        spec.extra = Some(bad);
        place.done(&spec).await;
        assert!(!place.file(&spec.id, "outside").exists());

        // What cannot be made is said, and is no success.
        let mut spec = place.session(3, ":");
        spec.base = "1".repeat(40);
        assert_eq!(place.done(&spec).await, FarState::Ended(125));
        let setup = String::from_utf8(place.far.read_setup_log(&spec.id).await.unwrap()).unwrap();
        assert!(setup.contains(&spec.base), "{setup}");
        assert!(place.said(&spec.id).contains("the work tree could not be made"));
    }
}

#[tokio::test]
async fn a_log_is_followed_by_offset_to_the_end() {
    for place in places() {
        place.store().await;
        let text = "i=0; while [ $i -lt 40 ]; do printf 'line %s\\377\\n' $i; i=$((i+1)); sleep 0.02; done; printf end";
        let spec = place.session(1, text);
        place.far.start_session(&spec, None).await.unwrap();
        let mut log = Vec::new();
        loop {
            let chunk =
                place.far.read_log(&spec.id, log.len() as u64, Duration::from_secs(20)).await.unwrap();
            assert_eq!(chunk.from, log.len() as u64);
            if chunk.bytes.is_empty() {
                break;
            }
            log.extend(chunk.bytes);
        }
        let expected: Vec<u8> = (0..40)
            .flat_map(|i| [format!("line {i}").as_bytes(), b"\xff\n"].concat())
            .chain(*b"end")
            .collect();
        assert!(log == expected, "{}", String::from_utf8_lossy(&log));
        let seen = place.observe(&spec.id).await;
        assert_eq!((seen.state, seen.log_bytes), (FarState::Ended(0), log.len() as u64));
        assert!(seen.started.unwrap() <= seen.ended.unwrap());
        // After the end nothing is waited for.
        assert!(place.far.read_log(&spec.id, 1_000_000, PATIENCE).await.unwrap().bytes.is_empty());
        assert_eq!(place.far.read_log(&spec.id, log.len() as u64 - 3, PATIENCE).await.unwrap().bytes, b"end");
    }
}

#[tokio::test]
async fn objects_are_stored_once_and_compared() {
    for place in places() {
        let other = digest(b"other");
        let error = place.far.store_file(&place.path("bundle"), &other).await.unwrap_err();
        assert_eq!((error.get_fact("reason"), error.get_fact("host")), (Some("digest"), Some("here")));
        assert!(place.far.stored_digests(&[&other]).await.unwrap().is_empty());
        place.store().await;
        // It is there, so that nothing is sent.
        place.far.store_file(&place.path("missing"), &place.bundle).await.unwrap();
        assert_eq!(place.far.stored_digests(&[&other, &place.bundle]).await.unwrap().len(), 1);
        let names: Vec<_> = std::fs::read_dir(place.path("root/objects")).unwrap().flatten().collect();
        assert_eq!(names.len(), 1, "{names:?}");
    }
}

#[tokio::test]
async fn a_machine_says_what_it_has() {
    for place in places() {
        let found = place.far.probe_machine(&["git", "no-such-program", "sh"]).await.unwrap();
        assert!(found.cores > 0 && found.memory_mb > 0 && found.free_mb > 0, "{found:?}");
        assert!(found.programs[0].1.as_ref().unwrap().starts_with("git version"), "{found:?}");
        assert_eq!(found.programs[1], ("no-such-program".to_owned(), None));
        for wrong in ["-x", "a b", "$(x)", ""] {
            assert!(place.far.probe_machine(&[wrong]).await.is_err(), "{wrong}");
        }
    }
}

#[tokio::test]
async fn what_a_login_says_is_no_answer_and_runners_without_a_pipe_will_do() {
    for place in places() {
        let runner = LocalRunner::new(place.path("root"), &place.env);
        let far = FarSide::new(Arc::new(Chatty(Arc::new(runner), "Welcome to here")), "here");
        far.store_file(&place.path("bundle"), &place.bundle).await.unwrap();
        let spec = place.session(1, "echo said");
        assert_eq!(far.start_session(&spec, None).await.unwrap(), Claim::Started);
        assert_eq!(place.until_ended(&spec.id).await, FarState::Ended(0));
        assert_eq!(far.read_log(&spec.id, 0, PATIENCE).await.unwrap().bytes, b"said\n");
        // The session's way there is gone with it.
        let left: Vec<_> = std::fs::read_dir(place.path("home")).unwrap().flatten().collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

#[tokio::test]
async fn sessions_that_are_not_there_are_told_apart() {
    for place in places() {
        let nobody = id(9);
        assert_eq!(place.observe(&nobody).await.state, FarState::Absent);
        let missing = RemoteError::SessionNotFound { session_id: nobody.clone() };
        assert_eq!(place.far.read_log(&nobody, 0, Duration::ZERO).await.unwrap_err(), missing);
        assert_eq!(place.far.collect_results(&nobody).await.unwrap_err(), missing);
        assert_eq!(place.far.remove_session(&nobody).await.unwrap_err(), missing);
        assert!(place.far.observe_sessions(&[]).await.unwrap().is_empty());
        // The script itself takes no word that is no id.
        for wrong in ["../../etc", "sess-20260102-030405-000X", "", "sess-20260102-030405-0001/.."] {
            for verb in ["start", "end", "read", "remove", "collect", "observe", "fetch"] {
                let output = place.runner(&[verb, wrong, "1"]).output().unwrap();
                assert_eq!(output.status.code(), Some(64), "{verb} {wrong}: {output:?}");
            }
        }
    }
}

#[test]
fn a_session_that_is_cut_off_or_not_understood_is_refused() {
    let line = |name: &str, value: &str| format!("{name} {value}\n");
    for place in places() {
        let objects = place.path("root/objects");
        std::fs::create_dir_all(&objects).unwrap();
        std::fs::copy(place.path("bundle"), objects.join(&place.bundle)).unwrap();
        let head = line("bundle", &place.bundle) + &line("base", &place.base) + &line("branch", "work");
        let rest = "timeout 5\narg 3\na\nb\nenv 1 N\nx\n";
        let start = |input: &str| {
            std::fs::write(place.path("session"), input).unwrap();
            let mut start = place.runner(&["start", &id(1)]);
            let output = start.stdin(std::fs::File::open(place.path("session")).unwrap()).output().unwrap();
            output.status.code().unwrap()
        };
        // Cut within the key, after it, and anywhere in the last lines.
        for end in [1, 2, 9].into_iter().chain(2 + head.len()..2 + head.len() + rest.len()) {
            let whole = format!("k\n{head}{rest}");
            assert_eq!(start(&whole[..end]), 64, "{end}");
        }
        let wrong =
            ["arg 1\nab\n", "arg x\n", "arg\n", "env 1\nx\n", "env 1 N M\nx\n", "bundle x\n", "extra x\n"];
        for wrong in
            wrong.into_iter().chain(["base x\n", "branch -x\n", "timeout 0\n", "key_name 1\n", "x y\n"])
        {
            assert_eq!(start(&format!("\n{head}arg 1\na\n{wrong}prompt\n")), 64, "{wrong}");
        }
        let no_program = ["", "arg 0\n\n", "arg 2\n-x\n"];
        for wrong in no_program {
            assert_eq!(start(&format!("\n{head}{wrong}prompt\n")), 64, "{wrong}");
        }
        assert!(!place.file(&id(1), "").exists());
        assert_eq!(std::fs::read_dir(place.path("root/incoming")).unwrap().count(), 0);
    }
}

#[tokio::test]
async fn a_thousand_sessions_are_seen_by_one_command() {
    for place in places() {
        place.far.observe_sessions(&[]).await.unwrap();
        for number in 0..1000 {
            let dir = place.file(&id(number), "");
            std::fs::create_dir_all(&dir).unwrap();
            std::fs::write(dir.join("ready"), "").unwrap();
            std::fs::write(dir.join("log"), vec![b'x'; usize::from(number)]).unwrap();
            std::fs::write(dir.join("started"), "100\n").unwrap();
            std::fs::write(dir.join("exit"), format!("{} 200\n", number % 256)).unwrap();
        }
        let begun = std::time::Instant::now();
        let seen = place.far.observe_sessions(&[]).await.unwrap();
        amplihack_testkit::loud(&format!("1000 sessions seen in {:?}", begun.elapsed()));
        assert_eq!(seen.len(), 1000);
        assert!(seen.iter().zip(0u16..).all(|(one, number)| {
            one.id == id(number)
                && one.log_bytes == u64::from(number)
                && one.state == FarState::Ended(i32::from(number) % 256)
        }));
    }
}
