//! A fake `amp`: a shell script with the body that a case gives it.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use amp_sdk::{Error, MessageStream, Options, StreamMessage};
use amplihack_config::env::Env;
use serde_json::Value;

/// The rows of a file of cases.
pub(crate) fn cases(name: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases").join(name);
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A directory with a fake CLI in it, a home and a place for temporary files.
pub(crate) struct Fake {
    pub(crate) dir: tempfile::TempDir,
}

/// The lines of a usual run.
pub(crate) const INIT: &str =
    r#"echo '{"type":"system","subtype":"init","session_id":"T-1","cwd":"/x","tools":[],"mcp_servers":[]}'"#;
pub(crate) const RESULT: &str = r#"echo '{"type":"result","subtype":"success","is_error":false,"result":"ok","duration_ms":1,"num_turns":1,"session_id":"T-1"}'"#;

impl Fake {
    pub(crate) fn new(body: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for name in ["home", "tmp"] {
            std::fs::create_dir(dir.path().join(name)).unwrap();
        }
        program(&dir.path().join("amp"), &format!("#!/bin/sh\n{body}\n"));
        Self { dir }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// The environment below which nothing of this machine is seen.
    pub(crate) fn env(&self) -> Env {
        Env::empty()
            .with_variable("PATH", "/usr/bin:/bin")
            .with_variable("HOME", self.path("home"))
            .with_variable("TMPDIR", self.path("tmp"))
            .with_variable("AMP_TEST_DIR", self.dir.path())
            .with_variable("AMP_API_KEY", "ambient, not to be seen")
    }

    pub(crate) fn options(&self) -> Options {
        Options::default().with_cli_path(self.path("amp")).with_base_env(self.env())
    }

    /// Files that are left where temporary ones are.
    pub(crate) fn left(&self) -> usize {
        std::fs::read_dir(self.path("tmp")).unwrap().count()
    }
}

pub(crate) fn program(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// All that a stream gives.
pub(crate) async fn drain(stream: &mut MessageStream) -> (Vec<StreamMessage>, Option<Error>) {
    let mut messages = Vec::new();
    while let Some(item) = stream.next().await {
        match item {
            Ok(message) => messages.push(message),
            Err(error) => {
                assert!(stream.next().await.is_none(), "something came after an error");
                return (messages, Some(error));
            }
        }
    }
    (messages, None)
}
