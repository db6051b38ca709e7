//! What lies ready before a network is there: who its users are, where its hosts are, the client's key.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use super::USER;
use crate::Run;

/// The programs that are needed.
const PROGRAMS: &[&str] = &[
    "/usr/sbin/sshd",
    "/usr/bin/ssh",
    "/usr/bin/ssh-keygen",
    "/usr/bin/nsenter",
    "/usr/bin/unshare",
    "/usr/bin/setpriv",
    "/usr/sbin/pivot_root",
];
const HOLD: &str = include_str!("hold.sh");
const BOOT: &str = include_str!("boot.sh");

/// Why there can be no network here.
pub(super) fn hindrance() -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        return Some("they need root".to_owned());
    }
    let missing = PROGRAMS.iter().find(|program| !Path::new(program).exists()).copied();
    let ip = ["/usr/sbin/ip", "/sbin/ip", "/usr/bin/ip"].iter().any(|path| Path::new(path).exists());
    let missing = missing.or(if ip { None } else { Some("ip") })?;
    Some(format!("{missing} is not installed; `cargo xtask test --system` installs it"))
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

/// Writes what client and hosts read: users, the client's key, scripts.
pub(super) fn fill(directory: &Path, home: &Path) {
    // Users of hosts pass through it to what is bound from here.
    set_mode(directory, 0o711);
    let write = |name: &str, text: &str| {
        std::fs::write(directory.join(name), text).expect("the network's directory is writable");
    };
    for part in ["tools", "disks", "logs"] {
        std::fs::create_dir(directory.join(part)).expect("the network's directory is writable");
    }
    let (user, id) = USER;
    let without = |path: &str| -> String {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let others = text.split_inclusive('\n').filter(|line| !line.starts_with(&format!("{user}:")));
        others.collect()
    };
    let passwd = without("/etc/passwd");
    write("passwd.host", &format!("{passwd}{user}:x:{id}:{id}::/home/{user}:/bin/bash\n"));
    write("group.host", &format!("{}{user}:x:{id}:\n", without("/etc/group")));
    // No password of this machine goes to a file of a test; nobody logs in by one.
    let users = passwd.lines().filter_map(|line| line.split(':').next()).chain([user]);
    let shadow: Vec<String> = users.map(|name| format!("{name}:*:19000:0:99999:7:::\n")).collect();
    write("shadow.host", &shadow.concat());
    let client = passwd.lines().map(|line| match line.split(':').collect::<Vec<_>>()[..] {
        [name, secret, "0", group, words, _, shell] => {
            format!("{name}:{secret}:0:{group}:{words}:{}:{shell}", home.display())
        }
        _ => line.to_owned(),
    });
    let client: Vec<String> = client.chain([String::new()]).collect();
    write("passwd.client", &client.join("\n"));
    write("hold.sh", HOLD);
    write("boot.sh", BOOT);
    let ssh = home.join(".ssh");
    std::fs::create_dir_all(&ssh).expect("the client's home is writable");
    set_mode(&ssh, 0o700);
    let key = ssh.join("id_ed25519");
    if !key.exists() {
        let mut keygen = Command::new("/usr/bin/ssh-keygen");
        keygen.args(["-q", "-t", "ed25519", "-N", "", "-C", "client", "-f"]).arg(key);
        Run::new(keygen).output().assert_code(0);
    }
    names(directory, home, std::iter::empty());
}

/// Writes who is where: for all resolvers, and for the client's ssh.
pub(super) fn names(directory: &Path, home: &Path, hosts: impl Iterator<Item = (String, String)>) {
    let mut names = vec!["127.0.0.1 localhost\n".to_owned()];
    let mut config = Vec::new();
    for (name, address) in hosts {
        names.push(format!("{address} {name}\n"));
        config.push(format!("Host {name}\n  HostName {address}\n"));
    }
    let (ssh, user) = (home.join(".ssh"), USER.0);
    config.push(format!(
        "Host *\n  User {user}\n  IdentityFile {0}/id_ed25519\n  IdentitiesOnly yes\n  UserKnownHostsFile {0}/known_hosts\n  \
         StrictHostKeyChecking accept-new\n",
        ssh.display()
    ));
    // Written in place: the file is bound where it is read.
    std::fs::write(directory.join("hosts"), names.concat()).expect("the network's directory is writable");
    std::fs::write(ssh.join("config"), config.concat()).expect("the client's home is writable");
}
