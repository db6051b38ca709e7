//! Spans of runs and of management commands.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use amp_sdk::AmpContext;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::fake::{Fake, INIT, RESULT, block_on, drain};

/// Spans by id: the name, and the fields.
type Seen = Arc<Mutex<BTreeMap<u64, (&'static str, BTreeMap<String, String>)>>>;

/// Notes down spans and what is recorded in them.
#[derive(Clone, Default)]
struct Notes {
    seen: Seen,
    next: Arc<AtomicU64>,
}

struct Fields<'a>(&'a mut BTreeMap<String, String>);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }
}

impl Subscriber for Notes {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let id = self.next.fetch_add(1, Ordering::Relaxed) + 1;
        let mut fields = BTreeMap::new();
        span.record(&mut Fields(&mut fields));
        self.seen.lock().unwrap().insert(id, (span.metadata().name(), fields));
        Id::from_u64(id)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        if let Some((_, fields)) = self.seen.lock().unwrap().get_mut(&span.into_u64()) {
            values.record(&mut Fields(fields));
        }
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[test]
fn a_run_and_a_command_have_spans() {
    let notes = Notes::default();
    let guard = tracing::subscriber::set_default(notes.clone());
    let fake = Fake::new(&format!("{INIT}; {RESULT}"));
    let (_, error) = block_on(async { drain(&mut amp_sdk::execute("x", fake.options())).await });
    assert!(error.is_none(), "{error:?}");
    let fake = Fake::new("echo '# Thread'");
    let amp = AmpContext::from(fake.options());
    block_on(amp_sdk::threads::markdown(&amp, "T-1")).unwrap();
    drop(guard);
    let seen = notes.seen.lock().unwrap();
    let run = seen.values().find(|(name, _)| *name == "amp_run").unwrap();
    assert_eq!((run.1["session_id"].as_str(), run.1["exit"].as_str()), ("\"T-1\"", "exit code 0"));
    assert!(run.1["pid"].parse::<u32>().unwrap() > 1, "{run:?}");
    let command = seen.values().find(|(name, _)| *name == "amp_command").unwrap();
    assert_eq!(command.1["command"], "\"threads markdown\"");
}
