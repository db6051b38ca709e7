//! A real ssh server on loopback, with throw-away keys, that lets in whoever runs the test.

use std::fs::File;
use std::io::Read;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// A running sshd. It ends with this value.
#[derive(Debug)]
pub struct Sshd {
    server: Child,
    port: u16,
    directory: TempDir,
}

/// The programs that are needed.
const PROGRAMS: &[&str] = &["/usr/sbin/sshd", "/usr/bin/ssh", "/usr/bin/ssh-keygen"];

impl Sshd {
    /// A server whose logins have these variables. `None`, after a loud line, if OpenSSH is not installed.
    #[track_caller]
    pub fn start(environment: &[(&str, &str)]) -> Option<Self> {
        if !crate::require_programs(PROGRAMS) {
            return None;
        }
        let directory = tempfile::Builder::new()
            .prefix("kit-sshd-")
            .tempdir()
            .expect("a temporary directory can be made");
        for name in ["host", "user"] {
            let mut keygen = Command::new("/usr/bin/ssh-keygen");
            keygen.args(["-q", "-t", "ed25519", "-N", "", "-C", name, "-f"]).arg(directory.path().join(name));
            let status = keygen.env_clear().stdin(Stdio::null()).status().expect("ssh-keygen can be started");
            assert!(status.success(), "ssh-keygen ended with {status}");
        }
        if rustix::process::geteuid().is_root() {
            // Where the server of root locks its unprivileged part in. A service would have made it.
            std::fs::create_dir_all("/run/sshd").expect("root may make /run/sshd");
        }
        // Another program may take the port between the question and the server's start.
        let Some((server, port)) = (0..5).find_map(|_| serve(&directory, environment)) else {
            panic!(
                "sshd does not start: {}",
                std::fs::read_to_string(directory.path().join("log")).unwrap_or_default()
            )
        };
        Some(Self { server, port, directory })
    }

    /// The port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The private key that it lets in.
    pub fn key(&self) -> PathBuf {
        self.directory.path().join("user")
    }

    /// Options of `ssh` by which it knows this server and nothing of the user's.
    pub fn options(&self) -> Vec<(String, String)> {
        let known = self.directory.path().join("known_hosts").display().to_string();
        [
            ("UserKnownHostsFile", known.as_str()),
            ("GlobalKnownHostsFile", "/dev/null"),
            ("StrictHostKeyChecking", "yes"),
            ("IdentitiesOnly", "yes"),
            ("BatchMode", "yes"),
            ("LogLevel", "ERROR"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec()
    }
}

/// Starts the server on a free port and waits until it answers; `None` if it ended before.
fn serve(directory: &TempDir, environment: &[(&str, &str)]) -> Option<(Child, u16)> {
    let place = directory.path();
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|socket| socket.local_addr());
    let port = port.expect("loopback has a free port").port();
    // A login reads nothing that the user of this machine keeps for shells. The first of two is the one that counts.
    let own_home = place.display().to_string();
    let variables: Vec<String> = environment
        .iter()
        .copied()
        .chain([("HOME", own_home.as_str())])
        .map(|(name, value)| format!("\"{name}={value}\""))
        .collect();
    let config = format!(
        "Port {port}\nListenAddress 127.0.0.1\nHostKey {0}/host\nAuthorizedKeysFile {0}/user.pub\nPidFile none\nUsePAM no\n\
         StrictModes no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin prohibit-password\nUseDNS no\n\
         PermitUserRC no\nSetEnv {1}\n",
        place.display(),
        variables.join(" ")
    );
    std::fs::write(place.join("config"), config).expect("the server's directory is writable");
    let key = std::fs::read_to_string(place.join("host.pub")).expect("the host has a key");
    std::fs::write(place.join("known_hosts"), format!("[127.0.0.1]:{port} {key}"))
        .expect("the server's directory is writable");
    let log = File::create(place.join("log")).expect("the server's directory is writable");
    let mut command = Command::new("/usr/sbin/sshd");
    command.args(["-D", "-e", "-f"]).arg(place.join("config")).env_clear().process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    let mut server = command.spawn().expect("sshd can be started");
    let end = Instant::now() + Duration::from_secs(20);
    while Instant::now() < end {
        if answers(port) {
            return Some((server, port));
        }
        if server.try_wait().expect("a child can be waited for").is_some() {
            return None;
        }
        sleep(Duration::from_millis(10));
    }
    // Nothing is left to do about one that cannot be killed.
    let _ = server.kill();
    let _ = server.wait();
    None
}

fn answers(port: u16) -> bool {
    let mut banner = [0; 4];
    TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok_and(|mut stream| {
        stream.set_read_timeout(Some(Duration::from_secs(5))).is_ok()
            && stream.read_exact(&mut banner).is_ok()
            && &banner == b"SSH-"
    })
}

impl Drop for Sshd {
    fn drop(&mut self) {
        // Connections have processes of their own, which end with the tests' clients.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}
