//! State files that somebody else wrote: read or refused, then reconciled; what is written afterwards is read back.

use std::time::Duration;

use amplihack_fuzz::{Target, run, seeds, words};
use amplihack_remote::pool::{LookedUp, PoolObservations};
use amplihack_remote::state::{ClientProcess, decode_state, encode_state};

const DICTIONARY: &[&str] = &[
    "\"version\":2,",
    "\"sessions\":{",
    "\"vm_pool\":{",
    "\"vm\":{\"name\":\"a\"},",
    "\"capacity\":1,",
    "\"capacity_wanted\":0,",
    "\"active_sessions\":[",
    "\"sess-20260502-030405-00ff\"",
    "\"status\":\"running\",",
    "\"status\":\"pending\",",
    "\"phase\":\"queued\",",
    "\"phase\":\"reserved\",",
    "\"phase\":\"sent\",",
    "\"condition\":\"lost\",",
    "\"client\":{\"pid\":1,\"start_time\":1,\"boot\":\"\",\"host\":\"\"},",
    "\"making\":{\"client\":{\"pid\":1,\"start_time\":1,\"boot\":\"\",\"host\":\"\"},\"since\":\"2026-05-02T03:04:05Z\"},",
    "\"made_by_us\":true,",
    "\"admission\":\"draining\",",
    "\"created_at\":\"2026-05-02 03:04:05\",",
    "\"created_at\":\"-009999-01-01T00:00:00Z\",",
];

fn main() -> std::process::ExitCode {
    let mut begin = seeds::files("amplihack-remote/tests/fixtures/state");
    begin.retain(|bytes| !bytes.is_empty());
    // The predecessor's form and ours.
    let ours: Vec<_> =
        begin.iter().filter_map(|bytes| encode_state(&decode_state(bytes).ok()?.0).ok()).collect();
    begin.extend(ours);
    let target = Target {
        name: "remote_state",
        seeds: begin,
        dictionary: words::json_and(DICTIONARY),
        longest: 64 << 10,
        most: |len| {
            Duration::from_millis(50) + Duration::from_micros(20) * u32::try_from(len).unwrap_or(u32::MAX)
        },
    };
    let me = ClientProcess::from_current_process();
    run(target, |bytes| {
        let Ok((mut state, _)) = decode_state(bytes) else { return };
        let now = "2026-05-02T05:00:00Z".parse().expect("a time");
        let mut seen = PoolObservations::default();
        for (at, name) in state.vm_pool.keys().enumerate().filter(|(at, _)| at % 3 > 0) {
            let found = if at % 3 == 1 { LookedUp::Gone } else { LookedUp::Unknown(String::new()) };
            seen.looked_up.insert(name.clone(), found);
        }
        state.reconcile(&seen, &me, &|_| false, now).expect("what was read is reconciled");
        // A session of the pool whose machine is not in it can only be asked for.
        let left = state.find_disagreements();
        assert!(left.iter().all(|line| line.ends_with("its machine is not in the pool")), "{left:#?}");
        let text = encode_state(&state).expect("what was read can be written");
        assert_eq!(decode_state(&text).map(|(again, _)| again), Ok(state));
    })
}
