//! Loss that nothing brings back: system and home directories, disks, databases, machines, traces.

use super::change::Kind;
use super::example::{sh, write};
use super::marks::UNKNOWN;
use super::options::Options;
use super::place;
use super::target::Covers;
use super::{Call, Ctx, Hit, Pack, Rule, Script};
use crate::decision::{Decision, RuleId};

pub(super) static RULES: &[Rule] = &[
    Rule {
        id: RuleId::new("destruction/system-files"),
        pack: Pack::Destruction,
        harm: "the system, a home directory or a large part of it is removed",
        decision: Decision::Deny,
        matches: &[
            sh("rm -rf /"),
            sh("rm  -r  -f  /"),
            sh("rm -rf /*"),
            sh("rm -rf \"$HOME\""),
            sh("rm -rf ~"),
            sh("rm -rf ~/*"),
            sh("sudo rm -rf /var/log"),
            sh("sudo rm -rf /etc/nginx"),
            sh("rm -rf --no-preserve-root /"),
            sh("find / -delete"),
            sh("find / -type f -exec rm {} +"),
            sh("find / | xargs rm -rf"),
            sh("mv / /dev/null"),
            sh("mv important.db /dev/null"),
            sh("X=/; rm -rf $X"),
            sh("rm -rf /$X"),
            sh("sh -c 'rm -rf /usr'"),
            sh("echo ~ | xargs -I{} rm -rf {}"),
            sh("f() { rm -rf \"$1\"; }; f /"),
            sh("echo 'rm -rf ~' > x.sh; chmod +x x.sh; ./x.sh"),
            sh("cat > x.sh <<'E'\nrm -rf ~\nE\nbash x.sh"),
            sh("vim -c '!rm -rf ~' -c q"),
            sh("sed '1e rm -rf ~' file"),
            sh("make -f - <<'E'\nall:\n\trm -rf ~\nE"),
            sh("ssh host bash <<'E'\nrm -rf /\nE"),
            sh("git config alias.x '!rm -rf ~'"),
            sh("git clone 'ext::sh -c \"rm -rf ~\"'"),
            sh("tmux new -d 'rm -rf ~'"),
            sh("npx rimraf ~"),
            sh("ls / | xargs -I{} rm -rf /{}"),
            sh("alias r='rm -rf'; r /"),
            sh("f() { local d=$1; rm -rf \"$d\"; }; f \"$HOME\""),
            sh("f() { shift; rm -rf \"$1\"; }; f x /"),
            sh("arr=(/); rm -rf \"${arr[0]}\""),
            sh("cat > x.py <<'E'\nimport shutil\nshutil.rmtree('/home')\nE\npython3 x.py"),
            sh("printf 'all:\\n\\trm -rf ~\\n' > Makefile; make"),
            sh("python3 -c \"import os; os.system('rm' + ' -rf /')\""),
            sh("python3 -c \"from os import system as s; s('rm -rf /')\""),
            sh("ruby -e 'Dir.glob(\"/home/*\").each{|f| FileUtils.rm_rf(f)}'"),
            sh("awk '{system($0)}' <<< 'rm -rf /'"),
            sh("bwrap --bind / / rm -rf /"),
            sh("capsh -- -c 'rm -rf /'"),
            sh("CC='sh -c \"rm -rf ~\"' make"),
            sh("fd . / -x rm -rf"),
            sh("python3 - <<'E'\nimport shutil, os\nshutil.rmtree(os.environ['HOME'])\nE"),
            sh("awk 'BEGIN{system(\"rm -rf \" ENVIRON[\"HOME\"])}'"),
        ],
        not_matches: &[
            sh("rm -rf target node_modules"),
            sh("sudo rm -rf /var/lib/apt/lists/*"),
            sh("rm -f out.o"),
            sh("rm -rf /tmp/build-1"),
            sh("find / -name core -print"),
            sh("rm -rf ~/proj/target"),
            sh("rm -rf \"$BUILD_DIR\""),
            sh("grep -rn 'rm -rf /' docs"),
            sh("f() { rm -rf \"$1\"; }; f build"),
            sh("echo 'rm -rf build' > x.sh; sh x.sh"),
            sh("sed 's/rm -rf ~/x/g' README.md"),
            sh("vim -c 'w! x' -c 'q!'"),
            sh("git config alias.st status"),
            sh("tmux send-keys -t dev 'npm start' Enter"),
            sh("npx rimraf dist"),
            sh("ls old | xargs -I{} rm -rf old/{}"),
            sh("alias r='rm -rf'; r build"),
            sh("f() { local d=$1; rm -rf \"$d\"; }; f build"),
            sh("cat > x.py <<'E'\nimport shutil\nshutil.rmtree('build')\nE\npython3 x.py"),
            sh("awk '{print $1}' x"),
            sh("printf 'all:\\n\\tcargo build\\n' > Makefile && make"),
            sh("fd -e pyc . -x rm"),
        ],
        check: system_files,
    },
    Rule {
        id: RuleId::new("destruction/device"),
        pack: Pack::Destruction,
        harm: "a disk is overwritten or formatted",
        decision: Decision::Deny,
        matches: &[
            sh("dd if=/dev/zero of=/dev/sda"),
            sh("dd if=/dev/urandom of=/dev/nvme0n1 bs=1M"),
            sh("echo x > /dev/sda"),
            sh("mkfs.ext4 /dev/sdb1"),
            sh("wipefs -a /dev/sda"),
            sh("shred -n 1 /dev/vda"),
            sh("cat x | tee /dev/sda"),
            sh("sgdisk --zap-all /dev/sda"),
            sh("zfs destroy -r tank"),
            sh("lvremove -f vg/data"),
            write("/dev/sda"),
        ],
        not_matches: &[
            sh("dd if=/dev/zero of=disk.img bs=1M count=1"),
            sh("mkfs.ext4 disk.img"),
            sh("ls 2> /dev/null"),
            sh("fdisk -l /dev/sda"),
            sh("zfs list"),
            sh("echo x > /dev/stderr"),
            sh("dd if=/dev/sda of=/dev/null count=1"),
        ],
        check: device,
    },
    Rule {
        id: RuleId::new("destruction/system-mode"),
        pack: Pack::Destruction,
        harm: "owners or permissions of the system are lost",
        decision: Decision::Deny,
        matches: &[
            sh("chmod -R 777 /"),
            sh("chmod 777 /"),
            sh("chown -R nobody /etc"),
            sh("chmod -R 000 /usr"),
            sh("chmod -R 777 ~"),
        ],
        not_matches: &[
            sh("chmod +x run.sh"),
            sh("chmod -R 755 dist"),
            sh("chown -R u:u /home/u/proj"),
            sh("chmod 755 /usr/local/bin/tool"),
        ],
        check: system_mode,
    },
    Rule {
        id: RuleId::new("destruction/fork-bomb"),
        pack: Pack::Destruction,
        harm: "the machine is brought to a stop by endless processes",
        decision: Decision::Deny,
        matches: &[sh(":(){ :|:& };:"), sh("bomb(){ bomb|bomb& };bomb")],
        not_matches: &[sh("build(){ make; }; build"), sh("cat a | sort | uniq")],
        check: fork_bomb,
    },
    Rule {
        id: RuleId::new("destruction/everything-here"),
        pack: Pack::Destruction,
        harm: "everything in the working directory, in a temporary directory of all users, or behind an unset variable is removed",
        decision: Decision::Ask,
        matches: &[
            sh("rm -rf *"),
            sh("rm -rf ./*"),
            sh("find . -type f -delete"),
            sh("rm -rf /tmp/*"),
            sh("rm -rf \"$UNSET\"/*"),
            sh("rm -rf .git"),
            sh("rm -rf .git/objects"),
            sh("mv .git /tmp/g"),
            sh("cp /dev/null .git/HEAD"),
        ],
        not_matches: &[
            sh("rm -rf build/*"),
            sh("cd build && rm -rf *"),
            sh("rm -rf *.o"),
            sh("D=out; rm -rf \"$D\"/*"),
            sh("rm -f .git/index.lock"),
            sh("cat .git/HEAD"),
            sh("mv .gitignore x"),
        ],
        check: everything_here,
    },
    Rule {
        id: RuleId::new("destruction/machine"),
        pack: Pack::Destruction,
        harm: "the machine, its first process or every process of the user is stopped",
        decision: Decision::Deny,
        matches: &[
            sh("echo b > /proc/sysrq-trigger"),
            sh("kill -9 1"),
            sh("kill -9 -1"),
            sh("kill -- -1"),
            sh("sudo reboot"),
            sh("systemctl poweroff"),
            sh("shutdown -h now"),
            sh("killall5"),
        ],
        not_matches: &[
            sh("kill 1234"),
            sh("kill -1 1234"),
            sh("kill -l"),
            sh("systemctl restart nginx"),
            sh("kill %1"),
        ],
        check: machine,
    },
    Rule {
        id: RuleId::new("destruction/database"),
        pack: Pack::Destruction,
        harm: "a database, a table or all rows of one are lost",
        decision: Decision::Ask,
        matches: &[
            sh("psql -c 'DROP DATABASE app'"),
            sh("mysql -e 'drop  table users'"),
            sh("sqlite3 app.db 'DELETE FROM users;'"),
            sh("dropdb app"),
            sh("redis-cli FLUSHALL"),
            sh("psql <<< 'TRUNCATE users'"),
        ],
        not_matches: &[
            sh("psql -c 'select 1'"),
            sh("sqlite3 app.db 'DELETE FROM users WHERE id = 1'"),
            sh("echo 'DROP TABLE x'"),
            sh("mysql -e 'select * from drops'"),
        ],
        check: super::database::database,
    },
    Rule {
        id: RuleId::new("destruction/remote-resources"),
        pack: Pack::Destruction,
        harm: "machines, buckets, clusters or repositories elsewhere are deleted",
        decision: Decision::Ask,
        matches: &[
            sh("terraform destroy -auto-approve"),
            sh("kubectl delete namespace prod"),
            sh("aws s3 rb s3://b --force"),
            sh("gh repo delete o/r --yes"),
            sh("az group delete -n g"),
            sh("docker system prune -a --volumes"),
            sh("docker rm -f $(docker ps -aq)"),
            sh("gh api -X DELETE repos/o/r"),
        ],
        not_matches: &[
            sh("terraform plan"),
            sh("kubectl get pods"),
            sh("kubectl delete pod x"),
            sh("aws s3 ls"),
            sh("docker rm x"),
            sh("gh api repos/o/r"),
            sh("gh repo view"),
        ],
        check: remote_resources,
    },
    Rule {
        id: RuleId::new("destruction/traces"),
        pack: Pack::Destruction,
        harm: "the record of what was done is wiped",
        decision: Decision::Deny,
        matches: &[
            sh("history -c"),
            sh("rm ~/.bash_history"),
            sh("echo > ~/.bash_history"),
            sh("unset HISTFILE"),
            sh("export HISTFILE=/dev/null"),
            sh("truncate -s 0 /var/log/auth.log"),
        ],
        not_matches: &[
            sh("history | tail"),
            sh("rm build.log"),
            sh("truncate -s 0 app.log"),
            sh("tail /var/log/syslog"),
        ],
        check: traces,
    },
];

fn system_files(ctx: &Ctx<'_>) -> Option<Hit> {
    let call = ctx.call()?;
    let home = ctx.script.home.as_deref();
    if call.is(&["mv"]) && call.operands().last().is_some_and(|to| to.text() == "/dev/null") {
        return ctx.deny("would lose the file in /dev/null; remove it with `rm`, or move it somewhere else");
    }
    ctx.changes().filter(|change| change.takes_away()).find_map(|change| {
        let (what, covers) = place::system(&change.target, home)?;
        // One named file of the system is the business of other rules.
        if !change.recursive && !super::marks::is_glob(&change.target.raw) && what == "a part of the system" {
            return None;
        }
        let shown = change.target.shown();
        let hit = if change.narrowed {
            if what == "the home directory" {
                return None;
            }
            ctx.ask(format!(
                "would remove files all over {what} (`{shown}`); look only in the directory that is meant"
            ))
        } else if covers == Covers::Maybe
            && !ctx
                .script
                .target_in(&change.target.raw, None)
                .parts
                .first()
                .is_some_and(|first| first.starts_with(UNKNOWN))
        {
            ctx.ask(format!(
                "may remove {what}, since `{shown}` is only known at run time; name the path in full"
            ))
        } else {
            ctx.deny(format!("would remove {what} (`{shown}`); name only files of the task"))
        };
        hit.map(|hit| hit.at(change.span))
    })
}

fn device(ctx: &Ctx<'_>) -> Option<Hit> {
    if let Some(change) =
        ctx.changes().find(|change| change.kind != Kind::Mode && place::device(&change.target))
    {
        return ctx
            .deny(format!("would overwrite the device {}; write to an image file", change.target.shown()))
            .map(|hit| hit.at(change.span));
    }
    let call = ctx.call()?;
    let formats = call.program.starts_with("mkfs")
        || call.is(&[
            "mke2fs",
            "wipefs",
            "fdisk",
            "sfdisk",
            "cfdisk",
            "parted",
            "gdisk",
            "sgdisk",
            "mkswap",
            "blkdiscard",
            "cryptsetup",
            "pvcreate",
            "zpool",
            "diskutil",
            "hdparm",
            "nvme",
        ]);
    let reads = call.has(&[
        "-l",
        "--list",
        "-p",
        "--print",
        "print",
        "-n",
        "--no-act",
        "list",
        "status",
        "info",
        "isLuks",
        "luksDump",
        "-i",
        "-I",
        "id-ctrl",
        "smart-log",
        "--dump",
        "-d",
        "open",
        "close",
        "-V",
        "--version",
        "--help",
    ]);
    if drops_volume(call) {
        return ctx.deny("would delete a volume with every file on it; a person has to do that");
    }
    if !formats || reads {
        return None;
    }
    let on_device = |arg: &&super::Arg| {
        let target = ctx.script.target(call, arg);
        place::device(&target) || target.is_inside(&["dev"]) || arg.text().starts_with(UNKNOWN)
    };
    let arg = call.operands().find(on_device)?;
    ctx.deny(format!(
        "would format or repartition {}; work on an image file",
        arg.text().replace(UNKNOWN, "a device that is only known at run time")
    ))
    .map(|hit| hit.at(arg.span))
}

/// Volumes that are named without `/dev`.
fn drops_volume(call: &Call<'_>) -> bool {
    match call.program.as_str() {
        "lvremove" | "vgremove" | "pvremove" => !call.has(&["-t", "--test", "--help"]),
        "zfs" | "zpool" => call.arg(0) == Some("destroy") && !call.has(&["-n", "-nv", "-nvr"]),
        "btrfs" => call.arg(0) == Some("subvolume") && call.has(&["delete"]),
        _ => false,
    }
}

fn system_mode(ctx: &Ctx<'_>) -> Option<Hit> {
    let call = ctx.call()?;
    let home = ctx.script.home.as_deref();
    let open = call.args.iter().any(|arg| {
        matches!(
            arg.text(),
            "777" | "0777" | "666" | "0666" | "000" | "a+w" | "o+w" | "a+rwx" | "a=rwx" | "ugo+rwx" | "+w"
        )
    });
    ctx.changes().filter(|change| change.kind == Kind::Mode).find_map(|change| {
        let (what, _) = place::system(&change.target, home)?;
        // One's own home may be one's own again.
        if !open && (what == "the home directory" || !change.recursive)
            || change.target.is_inside(&["usr", "local"])
        {
            return None;
        }
        ctx.deny(format!(
            "would change owners or permissions of {what} (`{}`); name only files of the task",
            change.target.shown()
        ))
        .map(|hit| hit.at(change.span))
    })
}

/// A function that pipes itself into itself; functions are not in the list, so three bare calls of one unknown name tell.
fn fork_bomb(ctx: &Ctx<'_>) -> Option<Hit> {
    let call = ctx.call()?;
    let bare = |other: &Call<'_>| other.program == call.program && other.args.is_empty();
    if !call.args.is_empty()
        || call.program.is_empty()
        || (call.program != ":" && super::is_known(&call.program))
    {
        return None;
    }
    let fed_by_itself = match ctx.script.fed(call) {
        Some(crate::shell::Fed::Commands(feeders)) => {
            feeders.iter().any(|index| ctx.script.call_of(*index).is_some_and(bare))
        }
        // `:` prints nothing, and the front end knows that.
        Some(crate::shell::Fed::Text(text)) => {
            text.is_empty()
                && call.program == ":"
                && ctx.script.calls.iter().filter(|other| bare(other)).count() > 2
        }
        None => false,
    };
    fed_by_itself.then(|| ctx.deny("would start endless copies of itself and stop the machine"))?
}

fn everything_here(ctx: &Ctx<'_>) -> Option<Hit> {
    let call = ctx.call()?;
    ctx.changes().filter(|change| change.kind != Kind::Mode && !change.narrowed).find_map(|change| {
        let target = &change.target;
        let inside = target.behind(&[".git"]).and_then(|rest| rest.first().map(String::as_str));
        let history = match inside {
            Some("objects" | "refs" | "HEAD" | "packed-refs" | "logs") => true,
            Some(_) => false,
            None => change.kind == Kind::Move && target.name() == ".git",
        };
        if !history && (change.kind != Kind::Remove || !change.recursive) {
            return None;
        }
        let what = if history {
            "the repository's whole history"
        } else if target.rooted
            && target.parts.len() == ctx.script.cwd_names.len() + 1
            && target.parts.starts_with(&ctx.script.cwd_names)
        {
            match target.name() {
                ".git" => "the repository's whole history",
                name if all(name) => "everything in the working directory",
                _ => return None,
            }
        } else if call.is(&["find"]) && target.covers(&ctx.script.cwd_names) == Covers::Yes {
            "everything in the working directory"
        } else if (target.is(&["tmp"]) && !target.raw.contains(UNKNOWN))
            || (target.parts.len() == 2 && target.is_inside(&["tmp"]) && all(target.name()))
        {
            "everybody's temporary files"
        } else if behind_a_variable(&target.raw) {
            "whatever stands below a variable that this script does not set"
        } else {
            return None;
        };
        ctx.ask(format!("would remove {what} (`{}`); name the files", target.shown()))
            .map(|hit| hit.at(change.span))
    })
}

fn all(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|ch| ch == super::marks::STAR)
}

/// `$X/` and `$X/*`: with an empty variable these are the root.
fn behind_a_variable(raw: &str) -> bool {
    raw.strip_prefix(UNKNOWN)
        .is_some_and(|rest| rest.strip_prefix('/').is_some_and(|rest| rest.is_empty() || all(rest)))
}

fn machine(ctx: &Ctx<'_>) -> Option<Hit> {
    let call = ctx.call()?;
    if call.redirects.iter().any(|(_, arg)| arg.text() == "/proc/sysrq-trigger") {
        return ctx.deny("would tell the kernel to stop or to kill; name the process by its id");
    }
    let stops = match call.program.as_str() {
        "kill" => {
            let mut rest = call.args.iter().map(super::Arg::text).peekable();
            // The first word with a dash is the signal; behind it, or behind `--`, a dash means a group.
            match rest.peek().copied() {
                Some("-l" | "-L" | "-h") => return None,
                Some("-s" | "-n" | "--signal") => drop((rest.next(), rest.next())),
                Some(first) if first.starts_with('-') => drop(rest.next()),
                _ => {}
            }
            rest.any(|pid| matches!(pid, "1" | "-1"))
        }
        "reboot" | "shutdown" | "poweroff" | "halt" | "killall5" => !call.has(&["--help", "-c", "--version"]),
        "init" | "telinit" => call.has(&["0", "6", "1"]),
        "systemctl" | "loginctl" => {
            call.has(&["poweroff", "reboot", "halt", "kexec", "rescue", "emergency", "suspend", "hibernate"])
        }
        "pkill" | "killall" => {
            Options::read(&call.args, "sgPtGU", &["signal"]).has('u') && call.has(&["root"])
        }
        _ => false,
    };
    stops.then(|| ctx.ask("would stop the machine, its first process or every process of the user; name the process by its id"))?
}

fn remote_resources(ctx: &Ctx<'_>) -> Option<Hit> {
    let call = ctx.call()?;
    let has = |words: &[&str]| words.iter().all(|word| call.has(&[word]));
    let deletes = match call.program.as_str() {
        "terraform" | "tofu" | "pulumi" | "cdk" => call.has(&["destroy"]) || has(&["apply", "-destroy"]),
        "kubectl" | "oc" => {
            call.has(&["delete"])
                && call.has(&[
                    "namespace",
                    "ns",
                    "namespaces",
                    "node",
                    "nodes",
                    "pv",
                    "pvc",
                    "crd",
                    "--all",
                    "all",
                ])
        }
        "helm" => call.has(&["uninstall", "delete"]),
        "aws" => {
            has(&["s3", "rb"])
                || has(&["s3", "rm", "--recursive"])
                || call
                    .args
                    .iter()
                    .any(|arg| arg.text().starts_with("delete-") || arg.text() == "terminate-instances")
        }
        "gcloud" | "az" => call.has(&["delete", "purge"]),
        "gh" => {
            has(&["repo", "delete"])
                || has(&["release", "delete"])
                || call.has(&["api"])
                    && Options::read(&call.args, "XHfFq", &["method"])
                        .value('X', "method")
                        .is_some_and(|method| method.eq_ignore_ascii_case("DELETE"))
        }
        "docker" | "podman" => {
            has(&["system", "prune"]) && call.has(&["--volumes", "-af", "-a"])
                || has(&["volume", "prune"])
                || call.has(&["rm"])
                    && call.args.iter().any(|arg| {
                        ctx.script.inside(arg).any(|inner| {
                            inner.is(&["docker", "podman"])
                                && inner.has(&["ls", "ps", "-aq", "-qa"])
                                && !inner.args.iter().any(|arg| arg.text().contains("filter"))
                        })
                    })
        }
        "npm" | "cargo" | "pnpm" => call.has(&["unpublish", "yank"]),
        _ => false,
    };
    (deletes && !call.has(&["--help", "--dry-run", "--dryrun", "--dry-run=client"])).then(|| {
        ctx.ask(format!(
            "would delete what others may use (`{}`); let a person confirm it",
            Script::spoken(call)
        ))
    })?
}

fn traces(ctx: &Ctx<'_>) -> Option<Hit> {
    let wiped = ctx.changes().any(|change| {
        let history = matches!(
            change.target.name(),
            ".bash_history" | ".zsh_history" | ".python_history" | ".psql_history"
        );
        let log =
            change.target.is_inside(&["var", "log"]) && change.kind == Kind::Write && !change.redirected;
        change.kind != Kind::Mode
            && (history || log && ctx.call().is_some_and(|call| call.is(&["truncate", "shred"])))
    });
    let by_program = ctx.call().is_some_and(|call| {
        call.is(&["history"]) && Options::read(&call.args, "dwar", &[]).has('c')
            || call.is(&["unset"]) && call.has(&["HISTFILE"])
            || call.sets().any(|(name, value)| name == "HISTFILE" && matches!(value.text(), "" | "/dev/null"))
    });
    (wiped || by_program)
        .then(|| ctx.deny("would wipe the record of what was done; leave histories and logs alone"))?
}
