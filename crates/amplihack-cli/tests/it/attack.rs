//! A program that stops or kills the processes of hooks, below one test's directory and in its process namespace only.

use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// Sends a signal to every process of a hook that can let a call run, its shell included, as fast as it can.
const PROGRAM: &str = r"
import os, sys, time
number, root, seconds = int(sys.argv[1]), sys.argv[2].encode(), float(sys.argv[3])
events = (b'pre-tool-use', b'permission-request')
end = time.time() + seconds
while time.time() < end:
    for name in os.listdir('/proc'):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            words = open(f'/proc/{name}/cmdline', 'rb').read().split(b'\0')
            own = words[0].endswith((b'amplihack-hooks', b'amplihack')) and any(event in words for event in events)
            shell = words[0].endswith(b'sh') and len(words) <= 5 and any(event in word for word in words for event in events)
            if (own or shell) and any(root in word for word in words):
                os.kill(int(name), number)
        except (OSError, IndexError):
            pass
";

/// Begins to send the signal `number` to the hooks of the session below `root`, for `time`. Returns when it has begun.
pub(crate) fn attack(root: &Path, number: u8, time: Duration) -> Child {
    let program = root.join("attack.py");
    std::fs::write(&program, PROGRAM).unwrap();
    let mut command = Command::new("python3");
    command.arg(program).arg(number.to_string()).arg(root).arg(time.as_secs().to_string());
    let attack = command.spawn().unwrap();
    std::thread::sleep(Duration::from_secs(1));
    attack
}

/// Waits until `file` exists, for a minute.
pub(crate) fn wait_for(file: &Path) {
    let end = Instant::now() + Duration::from_mins(1);
    while !file.exists() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(20));
    }
}
