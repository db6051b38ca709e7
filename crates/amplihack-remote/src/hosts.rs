//! `hosts.toml`: the machines that are the user's own.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use amplihack_config::env::Env;
use serde::Deserialize;

use crate::error::{ErrorContext, RemoteError};

/// Default number of sessions that a machine holds.
const CAPACITY: usize = 4;
/// Default number of sessions that a scheduler's queue holds.
const QUEUE: usize = 1000;
/// The most that is read of the file.
const LIMIT: u64 = 1024 * 1024;

/// A machine of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RemoteHost {
    /// Destination for ssh: a name of the user's ssh configuration, or `user@address`. `None`: the machine's name here.
    #[serde(default)]
    pub address: Option<String>,
    /// The port, if it is not that of the ssh configuration.
    #[serde(default)]
    pub port: Option<u16>,
    /// Number of sessions that the host holds at once; `None`: the default.
    #[serde(default)]
    capacity: Option<usize>,
    /// Labels for the choice by `--label`.
    #[serde(default)]
    pub labels: Vec<String>,
    /// The directory of its sessions, if it is not `~/.amplihack/remote` there.
    #[serde(default)]
    pub root: Option<String>,
    /// `slurm`: it is the door to a cluster, and runs nothing itself.
    #[serde(default)]
    pub scheduler: Option<HostScheduler>,
    /// More words for the scheduler: `--partition=agents`.
    #[serde(default)]
    pub options: Vec<String>,
}

/// Kind of scheduler that gives the sessions of a host to other machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HostScheduler {
    /// `sbatch` and its kin.
    Slurm,
}

impl RemoteHost {
    /// The number of sessions that the host holds at once.
    pub fn capacity(&self) -> usize {
        self.capacity.unwrap_or(if self.scheduler.is_some() { QUEUE } else { CAPACITY })
    }
}

/// The machines by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RemoteHosts {
    /// As the file says.
    #[serde(default)]
    pub hosts: BTreeMap<String, RemoteHost>,
}

impl RemoteHosts {
    /// The path of the file, beside the user's configuration; `None` if there is no configuration directory.
    pub fn file_path(env: &Env) -> Option<PathBuf> {
        env.config_home().map(|home| home.join("amplihack/hosts.toml"))
    }

    /// Reads the user's file; none at all has no machines.
    ///
    /// # Errors
    /// `Validation` where the file cannot be read, is not TOML of this form, or has a host whose name, address, capacity or root cannot be
    /// used.
    pub fn load(env: &Env) -> Result<Self, RemoteError> {
        let Some(path) = Self::file_path(env) else { return Ok(Self::default()) };
        match amplihack_sys::fs::read_limited(&path, LIMIT) {
            Ok(bytes) => Self::parse(&path, &bytes),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(hosts_file_error(&path, &error.to_string())),
        }
    }

    fn parse(path: &Path, bytes: &[u8]) -> Result<Self, RemoteError> {
        let text = str::from_utf8(bytes).map_err(|error| hosts_file_error(path, &error.to_string()))?;
        let hosts: Self =
            toml::from_str(text).map_err(|error| hosts_file_error(path, error.to_string().trim_end()))?;
        for (name, host) in &hosts.hosts {
            if !is_host_name(name) {
                return Err(hosts_file_error(
                    path,
                    &format!("'{name}' is no name for a host: use letters, digits, '.' and '-'"),
                ));
            }
            let address = host.address.as_deref().unwrap_or(name);
            if address.is_empty() || address.starts_with('-') || address.contains(char::is_whitespace) {
                return Err(hosts_file_error(
                    path,
                    &format!("the address of '{name}' is no destination for ssh"),
                ));
            }
            if host.capacity() == 0 {
                return Err(hosts_file_error(path, &format!("the capacity of '{name}' is 0")));
            }
            if host.root.as_ref().is_some_and(|root| !root.starts_with('/') || root.contains(['\n', '\0'])) {
                return Err(hosts_file_error(path, &format!("the root of '{name}' is no absolute path")));
            }
        }
        Ok(hosts)
    }
}

/// Reports whether `name` may name a machine: it becomes a part of paths and of command lines. The rule of azlin.
pub fn is_host_name(name: &str) -> bool {
    let inside = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.');
    (1..=64).contains(&name.len())
        && name.bytes().all(inside)
        && !name.starts_with(['-', '.'])
        && !name.ends_with(['-', '.'])
}

fn hosts_file_error(path: &Path, why: &str) -> RemoteError {
    RemoteError::Validation(
        ErrorContext::new(format!("{} cannot be used: {why}", path.display()))
            .with_fact("file", path.display()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<RemoteHosts, String> {
        RemoteHosts::parse(Path::new("hosts.toml"), text.as_bytes()).map_err(|error| error.to_string())
    }

    #[test]
    fn machines_and_doors_to_clusters() {
        let hosts = parse(
            "[hosts.big]\naddress = 'me@10.0.0.7'\nport = 2222\ncapacity = 8\nlabels = ['gpu']\n\
             [hosts.cluster]\nscheduler = 'slurm'\noptions = ['--partition=agents']\n[hosts.plain]\n",
        )
        .unwrap();
        assert_eq!(hosts.hosts["big"].capacity(), 8);
        assert_eq!(hosts.hosts["cluster"].capacity(), QUEUE);
        assert_eq!(hosts.hosts["plain"].capacity(), CAPACITY);
    }

    #[test]
    fn what_would_be_read_as_an_option_or_a_path_is_refused() {
        for text in [
            "[hosts.'-x']",
            "[hosts.'a/b']",
            "[hosts.'a b']",
            "[hosts.a]\naddress = '-oProxyCommand=x'",
            "[hosts.a]\naddress = ''",
            "[hosts.a]\ncapacity = 0",
            "[hosts.a]\nroot = 'relative'",
            "[hosts.a]\ncapasity = 3",
            "[host.a]",
            "[",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
