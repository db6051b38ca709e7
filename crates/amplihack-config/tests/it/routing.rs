//! The seed "Agent Binary Routing" at its public API: each rule of the resolver, over real directories; one file, since the rules are numbered
//! through.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use amplihack_config::agent_binary::AgentBinary::{self, Amp, Claude, Codex, Copilot};
use amplihack_config::agent_binary::{
    AgentSource, AncestorLaunch, ENV_VAR, LaunchLiveness, MARK_VAR, ResolvedAgent, SystemLiveness,
    mark_value, resolve_in, validate_name,
};
use amplihack_config::env::Env;
use amplihack_config::launcher_context::{
    LauncherContext, MAX_FILE_BYTES, RELATIVE_PATH, SessionContext, SessionId, write,
};
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use rustix::fs::{CWD, Mode, mkfifoat};

/// A repository that no walk leaves, and a world that says which launches and processes live.
struct World {
    _dir: tempfile::TempDir,
    root: PathBuf,
    ended: Vec<&'static str>,
    living: Vec<(u32, Option<u64>)>,
    above: Option<AncestorLaunch>,
    now: Timestamp,
}

impl LaunchLiveness for World {
    fn launcher_ended(&self, session: &SessionId) -> bool {
        self.ended.contains(&session.as_str())
    }

    fn process_lives(&self, pid: u32, start_time: Option<u64>) -> bool {
        self.living.contains(&(pid, start_time))
    }

    fn nearest_ancestor(&self) -> Option<AncestorLaunch> {
        self.above.clone()
    }
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap().join("repository");
        fs::create_dir_all(root.join(".git")).unwrap();
        Self { _dir: dir, root, ended: Vec::new(), living: Vec::new(), above: None, now: Timestamp::now() }
    }

    /// Puts `text` where the resolver looks in `directory`, which is relative to the root.
    fn file(&self, directory: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let file = self.place(directory);
        fs::write(&file, text).unwrap();
        file
    }

    /// The path at which the resolver looks in `directory`; all but the file itself is there.
    fn place(&self, directory: &str) -> PathBuf {
        let file = self.root.join(directory).join(RELATIVE_PATH);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        file
    }

    fn ask(&self, directory: &str, env: &Env) -> ResolvedAgent {
        let cwd = self.root.join(directory);
        fs::create_dir_all(&cwd).unwrap();
        resolve_in(&cwd, env, self, self.now)
    }

    /// The answer in the root without any variables.
    fn answer(&self) -> ResolvedAgent {
        self.ask("", &Env::empty())
    }
}

fn from_file(agent: AgentBinary, file: &Path) -> ResolvedAgent {
    ResolvedAgent { agent, source: AgentSource::ContextFile(file.to_path_buf()), session: None }
}

fn env(agent: &str) -> Env {
    Env::empty().with_variable(ENV_VAR, agent)
}

fn names(agent: &str) -> String {
    format!(r#"{{"launcher":"{agent}"}}"#)
}

const DEFAULT: ResolvedAgent =
    ResolvedAgent { agent: AgentBinary::DEFAULT, source: AgentSource::Default, session: None };

#[test]
fn without_anything_the_default_answers() {
    assert_eq!(World::new().answer(), DEFAULT);
    assert_eq!((DEFAULT.agent, DEFAULT.source), (Copilot, AgentSource::Default));
    let world = World::new();
    assert_eq!(resolve_in(&world.root.join("no/such"), &Env::empty(), &world, world.now), DEFAULT);
}

#[test]
fn the_sources_are_ordered_by_precedence() {
    let path = PathBuf::new;
    let order = [
        AgentSource::Env,
        AgentSource::Ancestor,
        AgentSource::RuntimeRoot(path()),
        AgentSource::ContextFile(path()),
        AgentSource::StaleCache,
        AgentSource::Default,
    ];
    assert!(order.is_sorted());
    assert_eq!(
        order.each_ref().map(AgentSource::name),
        ["environment", "ancestor", "runtime_root", "context_file", "stale_cache", "default"]
    );
}

#[test]
fn a_source_is_told_in_words_and_names_its_file() {
    let file = Path::new("/r/launcher_context.json");
    for (source, shown, named) in [
        (AgentSource::Env, "AMPLIHACK_AGENT_BINARY", None),
        (AgentSource::Ancestor, "the running launch that this process descends from", None),
        (AgentSource::RuntimeRoot(file.into()), "/r/launcher_context.json", Some(file)),
        (AgentSource::ContextFile(file.into()), "/r/launcher_context.json", Some(file)),
        (AgentSource::StaleCache, "AMPLIHACK_AGENT_BINARY, left by a launch that has ended", None),
        (AgentSource::Default, "built-in default", None),
    ] {
        assert_eq!((source.to_string().as_str(), source.file()), (shown, named));
    }
}

#[test]
fn a_file_above_is_found_and_the_nearest_wins() {
    let world = World::new();
    let outer = world.file("", names("claude"));
    assert_eq!(world.ask("a/b/c", &Env::empty()), from_file(Claude, &outer));
    let inner = world.file("a", names("CODEX "));
    assert_eq!(world.ask("a/b/c", &Env::empty()), from_file(Codex, &inner));
    assert_eq!(world.ask("z", &Env::empty()), from_file(Claude, &outer));
}

#[test]
fn the_session_of_a_file_is_told() {
    let world = World::new();
    world.file("", r#"{"launcher":"amp","session_id":"s1"}"#);
    assert_eq!(world.answer().session, Some(SessionId::parse("s1").unwrap()));
}

#[test]
fn the_walk_stops_at_a_repository_after_looking_at_it() {
    for git_is_a_file in [false, true] {
        let world = World::new();
        world.file("", names("claude"));
        let inner = world.root.join("inner");
        fs::create_dir(&inner).unwrap();
        if git_is_a_file {
            fs::write(inner.join(".git"), "gitdir: ../.git/worktrees/inner").unwrap();
        } else {
            fs::create_dir(inner.join(".git")).unwrap();
        }
        assert_eq!(
            world.ask("inner/src", &Env::empty()),
            DEFAULT,
            "the parent's file is another repository's"
        );
        let file = world.file("inner", names("amp"));
        assert_eq!(world.ask("inner/src", &Env::empty()), from_file(Amp, &file));
    }
}

#[test]
fn directory_32_is_looked_at_and_33_is_not() {
    let world = World::new();
    let file = world.file("", names("claude"));
    assert_eq!(world.ask(&"d/".repeat(31), &Env::empty()), from_file(Claude, &file));
    assert_eq!(world.ask(&"d/".repeat(32), &Env::empty()), DEFAULT);
}

#[test]
fn the_walk_goes_where_the_directory_really_is() {
    let world = World::new();
    let file = world.file("", names("claude"));
    fs::create_dir(world.root.join("src")).unwrap();
    let shortcut = world.root.parent().unwrap().join("shortcut");
    symlink(world.root.join("src"), &shortcut).unwrap();
    assert_eq!(resolve_in(&shortcut, &Env::empty(), &world, world.now), from_file(Claude, &file));
}

#[test]
fn a_link_out_of_the_directory_is_refused_and_one_inside_is_not() {
    let outside = |world: &World| world.root.parent().unwrap().join("outside");
    // The file itself, its directory, and the directory above lead out.
    for depth in 0..3 {
        let world = World::new();
        world.file("", names("claude"));
        let link = world.place("").ancestors().nth(depth).unwrap().to_path_buf();
        fs::rename(&link, outside(&world)).unwrap();
        symlink(outside(&world), &link).unwrap();
        assert!(world.place("").exists(), "the link leads to a good file");
        assert_eq!(world.answer(), DEFAULT, "level {depth}");
    }
    let world = World::new();
    fs::write(world.root.join("inside.json"), names("claude")).unwrap();
    symlink("../../inside.json", world.place("")).unwrap();
    assert_eq!(world.answer(), from_file(Claude, &world.place("")));
}

#[test]
fn a_neighbour_whose_name_begins_alike_is_outside() {
    let world = World::new();
    let neighbour = world.root.with_file_name("repository-2");
    fs::write(&neighbour, names("claude")).unwrap();
    symlink(&neighbour, world.place("")).unwrap();
    assert_eq!(world.answer(), DEFAULT);
}

#[test]
fn a_file_of_64_kib_is_read_and_one_byte_more_is_not() {
    let world = World::new();
    let mut text = names("claude");
    text.push_str(&" ".repeat(usize::try_from(MAX_FILE_BYTES).unwrap() - text.len()));
    let file = world.file("", &text);
    assert_eq!(fs::metadata(&file).unwrap().len(), 65_536);
    assert_eq!(world.answer(), from_file(Claude, &file));
    text.push(' ');
    world.file("", &text);
    assert_eq!(world.answer(), DEFAULT);
}

#[test]
fn eight_levels_are_believed_and_nine_are_not() {
    let world = World::new();
    let nested = |levels: usize| {
        format!(r#"{{"launcher":"claude","x":{}{}}}"#, "[".repeat(levels - 1), "]".repeat(levels - 1))
    };
    let file = world.file("", nested(8));
    assert_eq!(world.answer(), from_file(Claude, &file));
    world.file("", nested(9));
    assert_eq!(world.answer(), DEFAULT);
}

#[test]
fn what_is_no_object_names_no_agent() {
    for text in [r#"["claude"]"#, r#""claude""#, r#"[{"launcher":"claude"}]"#] {
        let world = World::new();
        world.file("", text);
        assert_eq!(world.answer(), DEFAULT, "{text}");
    }
}

#[test]
fn an_unusable_file_is_the_file_and_stops_the_walk() {
    let unusable: [&[u8]; 9] = [
        b"",
        b"{",
        b"null",
        b"[\"claude\"]",
        b"{\"launcher\":7}",
        b"{\"launcher\":\"unknown\"}",
        b"\xff\xfe",
        b"{\"launcher\":\"../claude\"}",
        b"{\"launcher\":\"claude\",\"launcher\":\"amp\"}",
    ];
    for text in unusable {
        let world = World::new();
        world.file("", names("claude"));
        world.file("a", text);
        assert_eq!(world.ask("a/b", &Env::empty()), DEFAULT, "{}", text.escape_ascii());
    }
}

#[test]
fn what_cannot_be_read_is_the_file_too_and_does_not_hang() {
    // As root no mode makes a file unreadable, so other things stand in its place.
    let things: [fn(&Path); 4] = [
        |place| fs::create_dir(place).unwrap(),
        |place| mkfifoat(CWD, place, Mode::RUSR | Mode::WUSR).unwrap(),
        |place| symlink("nowhere", place).unwrap(),
        |place| symlink(place, place).unwrap(),
    ];
    for (index, put) in things.into_iter().enumerate() {
        let world = World::new();
        world.file("", names("claude"));
        put(&world.place("a"));
        assert_eq!(world.ask("a/b", &Env::empty()), DEFAULT, "thing {index}");
    }
}

/// A context that says when and by which process it was written.
fn dated(world: &World, hours_ago: f64, process: &str) -> String {
    let at = world.now - SignedDuration::from_secs_f64(hours_ago * 3600.0);
    format!(r#"{{"launcher":"claude","started_at":"{at}"{process}}}"#)
}

#[test]
fn a_file_goes_stale_after_24_hours() {
    let world = World::new();
    for (hours, agent) in [(0.0, Claude), (23.99, Claude), (24.0, Claude), (24.01, Copilot), (9e4, Copilot)] {
        world.file("", dated(&world, hours, ""));
        assert_eq!(world.answer().agent, agent, "{hours} hours old");
    }
}

#[test]
fn a_file_does_not_go_stale_while_its_launcher_lives() {
    let mut world = World::new();
    world.living = vec![(42, Some(7)), (43, None)];
    for (process, agent) in [
        (r#","pid":42,"start_time":7"#, Claude),
        (r#","pid":42,"start_time":8"#, Copilot),
        (r#","pid":43"#, Claude),
        (r#","pid":44"#, Copilot),
        (r#","start_time":7"#, Copilot),
        (r#","pid":-42,"start_time":7"#, Copilot),
        ("", Copilot),
    ] {
        world.file("", dated(&world, 1000.0, process));
        assert_eq!(world.answer().agent, agent, "{process}");
    }
}

#[test]
fn a_time_in_the_future_is_a_clock_that_differs_or_not_believed() {
    let world = World::new();
    let file = world.file("", dated(&world, -0.08, ""));
    assert_eq!(world.answer().agent, Claude, "not quite five minutes ahead");
    world.file("", dated(&world, -48.0, ""));
    assert_eq!(world.answer().agent, Claude, "the file itself is new");
    set_modified(&file, SystemTime::now() - Duration::from_hours(25));
    assert_eq!(world.answer(), DEFAULT, "the file itself is stale");
    set_modified(&file, SystemTime::now() + Duration::from_hours(48));
    assert_eq!(world.answer(), DEFAULT, "nothing to tell its age by");
}

#[test]
fn without_a_time_in_it_the_file_is_as_old_as_it_is() {
    let world = World::new();
    for text in [names("claude"), r#"{"launcher":"claude","started_at":"soon"}"#.to_owned()] {
        let file = world.file("", text);
        assert_eq!(world.answer().agent, Claude);
        set_modified(&file, SystemTime::now() - Duration::from_hours(25));
        assert_eq!(world.answer(), DEFAULT);
    }
    let file = world.file("", dated(&world, 1.0, ""));
    set_modified(&file, SystemTime::UNIX_EPOCH);
    assert_eq!(world.answer().agent, Claude, "what it says goes before when it was written");
}

fn set_modified(file: &Path, time: SystemTime) {
    fs::File::options().write(true).open(file).unwrap().set_modified(time).unwrap();
}

#[test]
fn a_value_set_by_hand_always_wins() {
    let mut world = World::new();
    world.ended = vec!["dead"];
    world.file("", names("claude"));
    let by_hand = ResolvedAgent { agent: Codex, source: AgentSource::Env, session: None };
    assert_eq!(world.ask("", &env(" Codex\n")), by_hand);
    for mark in ["dead:amp", "dead:", ":codex", "dead", "", "../dead:codex", ".:codex", "dead:codex:codex"] {
        assert_eq!(
            world.ask("", &env("codex").with_variable(MARK_VAR, mark)),
            by_hand,
            "mark {mark:?} is not this value's"
        );
    }
}

#[test]
fn the_launch_above_comes_after_the_variable_and_before_every_file() {
    let mut world = World::new();
    world.ended = vec!["dead"];
    let session = Some(SessionId::parse("s1").unwrap());
    world.above = Some(AncestorLaunch { agent: Amp, session: session.clone() });
    let above = ResolvedAgent { agent: Amp, source: AgentSource::Ancestor, session };
    assert_eq!(world.answer(), above);
    for file in [names("claude"), "{".to_owned()] {
        world.file("", file);
        assert_eq!(world.answer(), above);
    }
    assert_eq!(world.ask("", &env("vim")), above, "an invalid value counts as unset");
    assert_eq!(
        world.ask("", &env("codex").with_variable(MARK_VAR, "dead:codex")),
        above,
        "a stale cache loses"
    );
    assert_eq!(world.ask("", &env("codex")).agent, Codex, "by hand");
    assert_eq!(world.ask("", &env("codex").with_variable(MARK_VAR, "live:codex")).agent, Codex);
    let runtime = world.root.with_file_name("runtime");
    fs::create_dir(&runtime).unwrap();
    fs::write(runtime.join("launcher_context.json"), names("claude")).unwrap();
    assert_eq!(world.ask("", &Env::empty().with_variable("AMPLIHACK_RUNTIME_ROOT", &runtime)), above);
}

#[test]
fn an_invalid_value_counts_as_unset() {
    let world = World::new();
    let file = world.file("", names("claude"));
    for value in ["", " ", "vim", "../claude", "cla ude", "claude;id", &"c".repeat(100_000)] {
        assert_eq!(world.ask("", &env(value)), from_file(Claude, &file), "{value:.40}");
    }
    assert_eq!(World::new().ask("", &env("vim")), DEFAULT);
}

#[test]
fn a_cache_wins_while_its_launcher_lives_and_loses_when_it_has_ended() {
    let mut world = World::new();
    world.ended = vec!["dead"];
    let file = world.file("", names("claude"));
    let session = |id: &str| Some(SessionId::parse(id).unwrap());
    let alive = ResolvedAgent { agent: Codex, source: AgentSource::Env, session: session("live") };
    assert_eq!(world.ask("", &env("codex").with_variable(MARK_VAR, "live:codex")), alive);
    assert_eq!(world.ask("", &env("codex").with_variable(MARK_VAR, "dead:codex")), from_file(Claude, &file));

    // No file: still better than the default. A file that cannot be used: the file counts.
    let dead = ResolvedAgent { agent: Codex, source: AgentSource::StaleCache, session: session("dead") };
    fs::remove_file(&file).unwrap();
    assert_eq!(world.ask("", &env("codex").with_variable(MARK_VAR, "dead:codex")), dead);
    world.file("", "{");
    assert_eq!(world.ask("", &env("codex").with_variable(MARK_VAR, "dead:codex")), DEFAULT);
}

#[test]
fn the_runtime_root_is_asked_before_the_repository() {
    let mut world = World::new();
    world.ended = vec!["dead"];
    let repository = world.file("", names("claude"));
    let runtime = world.root.with_file_name("runtime");
    fs::create_dir(&runtime).unwrap();
    let env = Env::empty().with_variable("AMPLIHACK_RUNTIME_ROOT", &runtime);
    assert_eq!(world.ask("", &env), from_file(Claude, &repository), "no file in it");

    let file = runtime.join("launcher_context.json");
    fs::write(&file, names("amp")).unwrap();
    let found = ResolvedAgent { agent: Amp, source: AgentSource::RuntimeRoot(file.clone()), session: None };
    assert_eq!(world.ask("", &env), found);
    let dead = env.clone().with_variable(ENV_VAR, "codex").with_variable(MARK_VAR, "dead:codex");
    assert_eq!(world.ask("", &dead), found, "an ended launch's cache loses to it");
    assert_eq!(world.ask("", &dead.with_variable(MARK_VAR, "live:codex")).agent, Codex);

    // The same checks as for the repository's file.
    fs::write(&file, "{").unwrap();
    assert_eq!(world.ask("", &env), DEFAULT);
    fs::remove_file(&file).unwrap();
    symlink(&repository, &file).unwrap();
    assert_eq!(world.ask("", &env), DEFAULT);
}

#[test]
fn a_runtime_root_that_is_no_absolute_directory_counts_as_unset() {
    let world = World::new();
    let file = world.file("", names("claude"));
    for root in ["", ".", "relative", "/no/such/directory", file.to_str().unwrap()] {
        let env = Env::empty().with_variable("AMPLIHACK_RUNTIME_ROOT", root);
        assert_eq!(world.ask("", &env), from_file(Claude, &file), "{root:?}");
    }
}

/// The story of contract and acceptance, with the real writer and the real answer about processes.
#[test]
fn two_live_launches_keep_their_descendants_and_an_ended_one_loses_its() {
    let world = World::new();
    let home = world.root.with_file_name("home");
    let base = Env::empty().with_variable("AMPLIHACK_HOME", &home);
    let launch = |name: &str, agent| {
        let id = SessionId::parse(name).unwrap();
        SessionContext::of_this_process(agent, &world.root).write(&home, &id).unwrap();
        write(&world.root, &base, &LauncherContext::of_this_process(agent, id.clone(), &world.root)).unwrap();
        (
            base.clone().with_variable(ENV_VAR, agent.name()).with_variable(MARK_VAR, mark_value(&id, agent)),
            id,
        )
    };
    let ask = |env: &Env| resolve_in(&world.root, env, &SystemLiveness::new(env), Timestamp::now());
    let (first, first_id) = launch("first", Copilot);
    let (second, second_id) = launch("second", Claude);
    assert_eq!((ask(&first).agent, ask(&first).session.as_ref()), (Copilot, Some(&first_id)));
    assert_eq!((ask(&second).agent, ask(&second).session.as_ref()), (Claude, Some(&second_id)));
    assert_eq!(ask(&base).agent, Claude, "a cleared environment finds the file");

    SessionContext::remove(&home, &first_id).unwrap();
    let found = ask(&first);
    assert_eq!(
        (found.agent, found.session),
        (Claude, Some(second_id)),
        "what a tmux server kept of the first"
    );
    assert!(matches!(found.source, AgentSource::ContextFile(_)));
    assert_eq!(ask(&first.with_variable(ENV_VAR, "codex")).agent, Codex, "set by hand since");
}

/// Keeps the events of a test as (message, all fields).
#[derive(Clone, Default)]
struct Events(Arc<Mutex<Vec<(String, String)>>>);

impl tracing::Subscriber for Events {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        *metadata.level() <= tracing::Level::WARN
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        struct Fields(String, String);
        impl tracing::field::Visit for Fields {
            fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
                let text = if field.name() == "message" { &mut self.0 } else { &mut self.1 };
                text.extend([field.name(), "=", &format!("{value:?}"), " "]);
            }
        }
        let mut fields = Fields(String::new(), String::new());
        event.record(&mut fields);
        self.0.lock().unwrap().push((fields.0, fields.1));
    }
}

/// What the resolver warns about while it answers.
fn warnings(world: &World, env: &Env) -> Vec<(String, String)> {
    let events = Events::default();
    tracing::subscriber::with_default(events.clone(), || world.ask("", env));
    std::mem::take(&mut *events.0.lock().unwrap())
}

#[test]
fn a_rejected_value_is_warned_about_and_stands_only_in_a_field() {
    let world = World::new();
    let told = warnings(&world, &env("sk-value"));
    let [(message, fields)] = &told[..] else { panic!("one warning, not {told:?}") };
    assert!(!message.contains("sk-value") && fields.contains("value=sk-value"), "{message} {fields}");
    let told = warnings(&world, &env("\u{1b}[31mred\n"));
    assert!(
        !format!("{:?}", told[0]).contains('\u{1b}') && !told[0].1.contains(['\u{1b}', '\n']),
        "{told:?}"
    );
    assert!(told[0].1.contains(r"value=\u{1b}[31mred"), "{told:?}");

    world.file("", r#"{"launcher":"sk-value"}"#);
    let told = warnings(&world, &Env::empty());
    let [(message, fields)] = &told[..] else { panic!("one warning, not {told:?}") };
    assert!(!message.contains("sk-value") && fields.contains(RELATIVE_PATH), "{message} {fields}");
}

#[test]
fn what_is_in_order_is_not_warned_about() {
    let mut world = World::new();
    world.ended = vec!["dead"];
    let dead = env("codex").with_variable(MARK_VAR, "dead:codex");
    for env in [Env::empty(), env("claude"), env(" "), dead.clone()] {
        assert_eq!(warnings(&world, &env), []);
    }
    world.file("", names("claude"));
    assert_eq!(warnings(&world, &dead), []);
    world.file("", dated(&world, 25.0, ""));
    assert_eq!(warnings(&world, &dead).len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn arbitrary_bytes_give_an_answer(
        file in proptest::collection::vec(any::<u8>(), 0..200),
        value in proptest::option::of(proptest::collection::vec(any::<u8>(), 0..60)),
        mark in proptest::collection::vec(any::<u8>(), 0..60),
        runtime in proptest::collection::vec(any::<u8>(), 0..60),
    ) {
        let world = World::new();
        world.file("", &file);
        let mut env = Env::empty()
            .with_variable(MARK_VAR, OsString::from_vec(mark))
            .with_variable("AMPLIHACK_RUNTIME_ROOT", OsString::from_vec(runtime));
        let named = value.as_ref().and_then(|value| validate_name(OsString::from_vec(value.clone())).ok());
        if let Some(value) = value {
            env.set_variable(ENV_VAR, OsString::from_vec(value));
        }
        prop_assert_eq!(world.ask("", &env).agent, named.unwrap_or(AgentBinary::DEFAULT));
    }

    #[test]
    fn almost_good_files_give_an_answer(
        launcher in "(claude|amp|codex|x|\\PC{0,8})", tail in "[\\[\\]{}\",:0-9a-z\\\\ ]{0,40}", cut in 0..60_usize
    ) {
        let world = World::new();
        let mut text = format!("{{\"launcher\":\"{launcher}\",\"x\":{tail}}}").into_bytes();
        text.truncate(text.len().saturating_sub(cut / 10));
        world.file("", &text);
        let found = world.answer();
        // Believed exactly if a plain JSON parser finds a listed name in it.
        let value: Option<serde_json::Value> = serde_json::from_slice(&text).ok();
        let listed = value.and_then(|value| validate_name(value["launcher"].as_str()?).ok());
        prop_assert_eq!(found.agent, listed.unwrap_or(AgentBinary::DEFAULT));
    }
}
