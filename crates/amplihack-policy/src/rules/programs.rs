//! Programs that everybody knows: what the strict mode lets run without asking.

/// Reports whether a program is known.
pub(crate) fn is_known(program: &str) -> bool {
    KNOWN.binary_search(&program).is_ok() || super::code::interpreter_language(program).is_some()
}

#[rustfmt::skip]
const KNOWN: [&str; 314] = [
    ".", ":", "R", "Rscript", "[", "[[", "actionlint", "ag", "alias", "ansible", "apt", "apt-cache", "apt-get", "ar", "arch", "at", "awk",
    "aws", "az", "base32", "base64", "basename", "bash", "bat", "bazel", "bc", "bg", "black", "break", "brew", "bun", "bundle", "bunzip2",
    "busybox", "bzip2", "cabal", "cal", "cargo", "cat", "cc", "cd", "chgrp", "chmod", "chown", "cksum", "clang", "clear", "cmake", "cmp",
    "column", "comm", "command", "composer", "continue", "cp", "crontab", "ctest", "curl", "cut", "dash", "date", "dd", "declare", "deno",
    "df", "diff", "dig", "dirname", "dmesg", "docker", "docker-compose", "dotnet", "dpkg", "du", "echo", "egrep", "elixir", "env", "erl",
    "eslint", "eval", "exa", "exec", "exit", "expand", "export", "expr", "eza", "factor", "false", "fd", "fg", "fgrep", "file", "find",
    "flake8", "fmt", "fold", "free", "g++", "gawk", "gcc", "gcloud", "gdb", "gem", "getconf", "getent", "getopts", "gh", "ghc", "git", "go",
    "gofmt", "gradle", "grep", "groups", "gunzip", "gzip", "hadolint", "hash", "head", "helm", "help", "hexdump", "history", "host",
    "hostname", "htop", "iconv", "id", "ifconfig", "install", "iostat", "ip", "java", "javac", "jest", "jobs", "join", "journalctl", "jq",
    "julia", "kill", "killall", "kotlin", "ktlint", "kubectl", "ld", "ldd", "less", "let", "ln", "local", "locale", "ls", "lsb_release",
    "lsof", "ltrace", "lua", "luac", "make", "man", "md5sum", "meson", "mix", "mkdir", "mktemp", "more", "mv", "mvn", "mypy", "nano", "nc",
    "netstat", "nice", "ninja", "nix", "nl", "nm", "node", "nohup", "nox", "npm", "nproc", "npx", "nslookup", "objdump", "od", "openssl",
    "paste", "patch", "perl", "pgrep", "ping", "pip", "pip3", "pipx", "pkill", "pnpm", "poetry", "popd", "pre-commit", "prettier",
    "printenv", "printf", "protoc", "ps", "psql", "pushd", "pwd", "pytest", "read", "readelf", "readlink", "readonly", "realpath", "return",
    "rg", "rm", "rmdir", "rsync", "ruff", "rustc", "rustfmt", "rustup", "sar", "sbt", "scala", "scp", "sed", "seq", "set", "sh", "sha1sum",
    "sha256sum", "shellcheck", "shift", "shuf", "sleep", "sort", "source", "split", "sqlite3", "ss", "ssh", "stack", "stat", "strace",
    "strings", "stty", "sudo", "sum", "swift", "swiftc", "sync", "systemctl", "tac", "tail", "tar", "tee", "terraform", "test", "time",
    "timeout", "top", "touch", "tox", "tput", "tr", "traceroute", "trap", "tree", "true", "truncate", "tsc", "tsort", "tty", "type",
    "typeset", "umask", "unalias", "uname", "unexpand", "uniq", "unlink", "unset", "unxz", "unzip", "uptime", "users", "uv", "vi", "vim",
    "virtualenv", "vite", "vmstat", "wait", "watch", "wc", "wget", "which", "who", "whoami", "xargs", "xcodebuild", "xxd", "xz", "yarn",
    "yes", "yq", "zig", "zip", "zsh", "zstd",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_can_be_searched() {
        assert!(KNOWN.is_sorted());
        assert!(is_known("git") && is_known("python3.12") && !is_known("frobnicate"));
    }
}
