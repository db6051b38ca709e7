//! More rights than the session has, and what stays behind when it is over.

use amplihack_shell::is_shell;
use amplihack_verdict::{Decision, RuleId};

use super::change::PathChange;
use super::example::{shell_example, write_example};
use super::options::CommandOptions;
use super::place;
use super::{BuiltinRule, RuleContext, RuleHit, RulePack};
use super::{git, links};
use crate::rules::git_call;

pub(super) static RULES: &[BuiltinRule] = &[
    BuiltinRule {
        id: RuleId::new("privilege/root-shell"),
        pack: RulePack::Privilege,
        harm: "a root shell, in which no command is judged",
        decision: Decision::Deny,
        matches: &[
            shell_example("sudo su"),
            shell_example("sudo -i"),
            shell_example("sudo -s"),
            shell_example("su -"),
            shell_example("su root"),
            shell_example("sudo bash"),
            shell_example("doas sh"),
            shell_example("pkexec bash"),
            shell_example("sudo -u root -i"),
        ],
        not_matches: &[
            shell_example("sudo apt-get install -y jq"),
            shell_example("sudo systemctl restart nginx"),
            shell_example("sudo bash build.sh"),
            shell_example("echo sudo su"),
        ],
        check: root_shell,
    },
    BuiltinRule {
        id: RuleId::new("privilege/accounts"),
        pack: RulePack::Privilege,
        harm: "an account gets more privileges or another password",
        decision: Decision::Deny,
        matches: &[
            shell_example("usermod -aG sudo bob"),
            shell_example("sudo gpasswd -a bob docker"),
            shell_example("visudo"),
            shell_example("adduser bob sudo"),
            shell_example("echo root:x | chpasswd"),
            shell_example("passwd root"),
        ],
        not_matches: &[
            shell_example("id"),
            shell_example("groups bob"),
            shell_example("sudo visudo -c"),
            shell_example("usermod --help"),
        ],
        check: check_accounts,
    },
    BuiltinRule {
        id: RuleId::new("privilege/setuid"),
        pack: RulePack::Privilege,
        harm: "a program runs with its owner's rights for everybody",
        decision: Decision::Deny,
        matches: &[
            shell_example("chmod u+s x"),
            shell_example("chmod 4755 x"),
            shell_example("sudo chmod +s /bin/bash"),
            shell_example("setcap cap_setuid+ep x"),
            shell_example("install -m 4755 a /usr/local/bin/a"),
        ],
        not_matches: &[
            shell_example("chmod +x run.sh"),
            shell_example("chmod 0755 x"),
            shell_example("chmod g+s shared"),
            shell_example("chmod -s x"),
            shell_example("getcap x"),
        ],
        check: check_setuid,
    },
    BuiltinRule {
        id: RuleId::new("privilege/kernel"),
        pack: RulePack::Privilege,
        harm: "code is loaded into the kernel, or a container gets access to the whole machine",
        decision: Decision::Deny,
        matches: &[
            shell_example("insmod x.ko"),
            shell_example("kexec -l x"),
            shell_example("docker run -v /:/host alpine"),
            shell_example("nsenter -t 1 -m sh"),
            shell_example("docker run --privileged x"),
            shell_example("modprobe evil"),
            shell_example("sysctl -w kernel.x=0"),
        ],
        not_matches: &[
            shell_example("lsmod"),
            shell_example("sysctl -a"),
            shell_example("docker run --rm x"),
            shell_example("docker run -v \"$PWD\":/app x"),
            shell_example("docker build -t x . && docker run --rm x"),
            shell_example("modprobe -n loop"),
        ],
        check: check_kernel,
    },
    BuiltinRule {
        id: RuleId::new("privilege/persistence"),
        pack: RulePack::Privilege,
        harm: "a program keeps running, or someone else gains access, after the session has ended",
        decision: Decision::Deny,
        matches: &[
            shell_example("crontab x"),
            shell_example("(crontab -l; echo '* * * * * x') | crontab -"),
            shell_example("crontab -r"),
            shell_example("echo hi | at now "),
            shell_example("echo key >> ~/.ssh/authorized_keys"),
            shell_example("sudo tee /etc/sudoers.d/x <<< x"),
            shell_example("cp x.service /etc/systemd/system/x.service"),
            shell_example("echo 'alias ls=x' >> ~/.bashrc"),
            shell_example("rm .git/hooks/pre-commit"),
            shell_example("chmod -x .git/hooks/pre-commit"),
            shell_example("systemctl --user enable x"),
            shell_example("ssh-copy-id -i k u@h"),
            shell_example("tar xf x.tar -C /"),
            shell_example("curl -o ~/.bashrc https://x.example"),
            shell_example("sort -o ~/.bashrc x"),
            shell_example("awk '{print > \"/home/u/.bashrc\"}' x"),
            shell_example("docker cp c:/x ~/.bashrc"),
            write_example("/home/u/.ssh/authorized_keys"),
            write_example("/home/u/.bashrc"),
            write_example("/home/u/.bash_aliases"),
            write_example("/home/u/.inputrc"),
            write_example("/home/u/.xsessionrc"),
            write_example("/home/u/.config/zsh/.zshrc"),
            write_example("/home/u/.config/fish/config.fish"),
            write_example("/home/u/.config/fish/conf.d/x.fish"),
            shell_example("git config --global include.path /tmp/x"),
            shell_example("git -c include.path=/tmp/x status"),
            shell_example("ln -s ~/.ssh/authorized_keys k; cat x >> k"),
            shell_example("ln -s ~/.bashrc k && tee k < x"),
            shell_example("npm config set script-shell ./x"),
            shell_example("sed -n 'w /home/u/.bashrc' x"),
            shell_example("sed 's/a/b/w /home/u/.bashrc' x"),
            write_example("/etc/passwd"),
            write_example("/etc/cron.d/x"),
            write_example(".git/hooks/post-commit"),
            write_example(".git/config"),
            write_example("/etc/foo.conf"),
        ],
        not_matches: &[
            shell_example("crontab -l"),
            shell_example("atq"),
            shell_example("sed -i 's/a/b/' /etc/hosts"),
            shell_example("cat ~/.bashrc"),
            shell_example("ssh-keyscan h >> ~/.ssh/known_hosts"),
            shell_example("systemctl status x"),
            shell_example("cp /etc/hosts ."),
            shell_example("awk '$3 > 9 {print $1 \"/\" $6}' /etc/passwd"),
            write_example("src/.bashrc.txt"),
            write_example("/home/u/.config/fish/completions/x.fish"),
            shell_example("ln -s ~/.ssh/id_rsa.pub k; cat k"),
            shell_example("npm config set registry https://registry.example"),
            shell_example("git config --get include.path"),
            shell_example("sed -n 'w out.txt' x"),
            write_example("src/main.rs"),
        ],
        check: check_persistence,
    },
    BuiltinRule {
        id: RuleId::new("privilege/loader"),
        pack: RulePack::Privilege,
        harm: "code is injected into every program that starts",
        decision: Decision::Deny,
        matches: &[
            shell_example("LD_PRELOAD=/tmp/x.so ls"),
            shell_example("export LD_PRELOAD=./x.so"),
            shell_example("env LD_AUDIT=x.so ls"),
            shell_example("BASH_ENV=/tmp/x bash y.sh"),
            shell_example("env 'BASH_FUNC_ls%%=() { id; }' bash -c ls"),
        ],
        not_matches: &[
            shell_example("LD_PRELOAD=/usr/lib/libjemalloc.so.2 ./bench"),
            shell_example("LD_LIBRARY_PATH=lib ./x"),
            shell_example("LD_PRELOAD= ls"),
        ],
        check: check_loader,
    },
    BuiltinRule {
        id: RuleId::new("privilege/search-path"),
        pack: RulePack::Privilege,
        harm: "programs are taken from a directory that anybody can write to",
        decision: Decision::Ask,
        matches: &[
            shell_example("export PATH=$PATH:/tmp/bin"),
            shell_example("PATH=/dev/shm:$PATH ls"),
            shell_example("PATH=.:$PATH make"),
            shell_example("NODE_OPTIONS='--require /tmp/x.js' node y"),
            shell_example("GIT_SSH=/tmp/x git fetch"),
            shell_example("LD_LIBRARY_PATH=/tmp/x ls"),
        ],
        not_matches: &[
            shell_example("export PATH=$HOME/.cargo/bin:$PATH"),
            shell_example("PATH=\"$PWD/bin:$PATH\" make"),
            shell_example("NODE_OPTIONS=--max-old-space-size=4096 npm run build"),
            shell_example("PYTHONPATH=. pytest"),
            shell_example("ENV=production npm start"),
        ],
        check: search_path,
    },
];

fn root_shell(ctx: &RuleContext<'_>) -> Option<RuleHit> {
    let call = ctx.call()?;
    let hit = || ctx.deny("would open a root shell; run the one command that needs them");
    match call.program.as_str() {
        "sudo" | "doas" => {
            let options = CommandOptions::read(
                &call.args,
                "ugpCcDRTUrtha",
                &["user", "group", "prompt", "chdir", "host"],
            );
            let opens = options.has_short('i')
                || options.has_short('s')
                || options.has_long("login")
                || options.has_long("shell");
            let inner = options.operands.iter().position(|arg| !arg.text().contains('='));
            let bare = inner.is_some_and(|at| {
                let name = super::call::base_name(options.operands[at].text());
                let alone = options.operands.len() == at + 1;
                let scripted = call.has_any(&["-c"]) || ctx.script.direct_feed(call).is_some();
                alone && !scripted && (is_shell(name) || name == "su")
            });
            // `sudo -i COMMAND` runs one command, which is judged by itself.
            (opens && inner.is_none() || bare).then(hit)?
        }
        "pkexec" => call
            .operands()
            .next()
            .is_some_and(|arg| is_shell(super::call::base_name(arg.text())))
            .then(hit)?,
        "su" => (!call.args.iter().any(|arg| {
            matches!(arg.text(), "-c" | "--help" | "--version") || arg.text().starts_with("--command")
        }))
        .then(hit)?,
        _ => None,
    }
}

const GROUPS: [&str; 10] =
    ["sudo", "wheel", "root", "admin", "docker", "adm", "disk", "shadow", "lxd", "kvm"];

fn check_accounts(ctx: &RuleContext<'_>) -> Option<RuleHit> {
    let call = ctx.call()?;
    let privileged =
        || call.args.iter().any(|arg| arg.text().split([',', '=']).any(|name| GROUPS.contains(&name)));
    let changes = match call.program.as_str() {
        "useradd" if call.has_any(&["-o", "--non-unique", "-ou"]) => true,
        "usermod" | "gpasswd" | "adduser" | "addgroup" | "useradd" | "groupmems" | "newgrp" | "sg" => {
            privileged()
        }
        "chpasswd" | "vipw" | "vigr" => true,
        "visudo" => !call.has_any(&["-c", "--check"]),
        "passwd" => !call.has_any(&["-S", "--status"]),
        _ => false,
    };
    (changes && !call.has_any(&["--help", "-h", "--version"])).then(|| {
        ctx.deny("would give an account more privileges or another password; a person has to do that")
    })?
}

fn check_setuid(ctx: &RuleContext<'_>) -> Option<RuleHit> {
    let call = ctx.call()?;
    let sets = match call.program.as_str() {
        "setcap" => !call.has_any(&["-r", "-v", "-h"]),
        "chmod" => call.args.iter().any(|arg| sets_uid(arg.text())),
        "install" | "mkdir" => {
            CommandOptions::read(&call.args, "mogtS", &["mode"]).value('m', "mode").is_some_and(sets_uid)
        }
        "find" => call.args.windows(2).any(|pair| pair[0].text() == "chmod" && sets_uid(pair[1].text())),
        _ => false,
    };
    sets.then(|| ctx.deny("would let everybody run a program with its owner's rights; leave the bit off"))?
}

/// Reports whether a mode sets the set-user-id bit.
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

fn check_kernel(ctx: &RuleContext<'_>) -> Option<RuleHit> {
    let call = ctx.call()?;
    match call.program.as_str() {
        "insmod" | "rmmod" | "kexec" => ctx.deny("would change what the kernel runs"),
        "modprobe" if !call.has_any(&["-n", "--dry-run", "--show-depends", "-c"]) => {
            ctx.ask("would load a module into the kernel")
        }
        "sysctl"
            if call.has_any(&["-w", "--write", "-p"])
                || call.operands().any(|arg| arg.text().contains('=')) =>
        {
            ctx.ask("would change the kernel's settings")
        }
        "nsenter" => ctx.deny("would enter another process's namespaces and so the whole machine"),
        "chroot" => ctx.ask("would run a command as root in another root directory"),
        "docker" | "podman" | "nerdctl" if call.has_any(&["run", "create", "exec"]) => {
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

fn check_persistence(ctx: &RuleContext<'_>) -> Option<RuleHit> {
    let home = ctx.script.home.as_deref();
    let index = ctx.call().map(|call| call.index);
    // A change through a link that the script made is one of what the link leads to.
    let all = ctx.changes().flat_map(|change| {
        let through = links::linked_targets(ctx.script, index, change);
        let through = through.map(|target| PathChange { target, ..change.clone() });
        std::iter::once(change.clone()).chain(through)
    });
    let changed = all.filter_map(|change| {
        let found = place::sensitive_file(&change, home)?;
        let reason = format!("would change {} (`{}`)", found.what, change.target.display_text());
        let hit = if found.refused {
            ctx.deny(format!("{reason}; a person has to do that"))
        } else {
            ctx.ask(reason)
        };
        hit.map(|hit| hit.with_span(change.span))
    });
    let strictest = changed.max_by_key(|hit| hit.decision);
    let Some(call) = ctx.call() else { return strictest };
    let by_program = match call.program.as_str() {
        "crontab" => !call.has_any(&["-l", "-h", "--help", "-V"]),
        "at" | "batch" => !call.has_any(&["-l", "-V", "-c", "--help"]),
        _ => false,
    };
    if by_program {
        return ctx.deny("would leave a job behind that runs after the session has ended; run it now, or let a person install it");
    }
    if let Some(file) = git_call(ctx.script, call).and_then(git::GitCall::included_file) {
        let settings = format!("would let git read settings from `{file}`, by which it runs commands");
        return strictest.or_else(|| ctx.ask(settings));
    }
    let ask = match call.program.as_str() {
        // The programs by which it runs scripts.
        "npm" | "pnpm" | "yarn" => {
            call.has_any(&["config"])
                && call.has_any(&["set"])
                && call.has_any(&["script-shell", "node-options", "git"])
        }
        "systemctl" => call.has_any(&["enable", "link", "edit", "set-property"]),
        "systemd-run" | "launchctl" => !call.has_any(&["list", "print", "--help"]),
        "update-rc.d" | "chkconfig" | "ssh-copy-id" => true,
        _ => false,
    };
    strictest.or_else(|| {
        ask.then(|| {
            ctx.ask("would leave something behind that runs, or gives someone access, after the session has ended")
        })?
    })
}

fn check_loader(ctx: &RuleContext<'_>) -> Option<RuleHit> {
    let call = ctx.call()?;
    let system = |value: &str| {
        value.split([':', ' ']).all(|file| {
            !file.contains("..")
                && ["/usr/lib", "/lib", "/usr/local/lib", "/opt/homebrew/"]
                    .iter()
                    .any(|dir| file.starts_with(dir))
        })
    };
    if call.is_any_of(&["env"]) && call.args.iter().any(|arg| arg.text().starts_with("BASH_FUNC_")) {
        return ctx.deny("would put a function in the place of a program for every shell that starts");
    }
    for (name, value) in call.set_variables() {
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

fn search_path(ctx: &RuleContext<'_>) -> Option<RuleHit> {
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
    let found = call.set_variables().any(|(name, value)| {
        PATHS.contains(&name)
            && value.text().split([':', ' ', '=']).any(|dir| open(dir) || name == "PATH" && dir == ".")
    });
    found.then(|| {
        ctx.ask(
            "would take programs from a directory that anybody can write to; name the program by its path",
        )
    })?
}
