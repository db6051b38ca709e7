//! A hundred runs at once: none left, no thread for each.

use amplihack_session::{ChildInput, ProcessExit, RunSpec, run_to_end};

use crate::support::{block_on, mark, spec, tagged};

fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").unwrap().count()
}

#[test]
fn a_hundred_runs_at_once_leave_nothing_and_need_no_thread_each() {
    let prefix = mark();
    let before = threads();
    let (outcomes, most) = block_on(async {
        let runs: Vec<_> = (0..100u8)
            .map(|number| {
                let script = "cat; setsid sleep 47 >/dev/null 2>&1 & exit 3";
                let spec = RunSpec {
                    stdin: ChildInput::Bytes(vec![number; 70_000]),
                    tag: format!("{prefix}-{number}"),
                    ..spec(script)
                };
                Box::pin(run_to_end(spec))
            })
            .collect();
        let mut most = 0;
        let mut done = Vec::new();
        let mut set = tokio::task::JoinSet::new();
        for (number, run) in runs.into_iter().enumerate() {
            set.spawn(async move { (number, run.await.unwrap()) });
        }
        while let Some(one) = set.join_next().await {
            most = most.max(threads());
            done.push(one.unwrap());
        }
        (done, most)
    });
    assert_eq!(outcomes.len(), 100);
    for (number, outcome) in outcomes {
        assert_eq!((outcome.exit, outcome.survivors), (ProcessExit::Code(3), vec![]), "{number}");
        assert_eq!(outcome.stdout.bytes, vec![u8::try_from(number).unwrap(); 70_000], "{number}");
        assert_eq!(tagged(&format!("{prefix}-{number}")), [""; 0]);
    }
    // Other tests of this process may start a few of their own.
    assert!(most <= before + 12, "{most} threads, {before} before");
}
