//! One call of the stand-in: says what azlin says, and exits as it does.

use std::fs::OpenOptions;
use std::io::{BufRead, IsTerminal, Write};
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use amplihack_config::env::Env;
use serde_json::{Value, json};

use super::grammar::{self, ParsedAzlinCall, Refusal};
use super::service::{Answer, AzlinRequest, ask};
use super::words::{as_json, check_name, power, refused_by_azure, table};
use super::{AzlinCall, Fault, Vm, calls_file};

/// The exit code of a stand-in that cannot play its part.
const BROKEN: u8 = 97;
/// Between two attempts to connect; the real one waits two seconds.
const PAUSE: Duration = Duration::from_millis(50);

/// A failure: its exit code and its words.
type Failed = (u8, String);

/// Plays `args`, of which the first is the directory of the service. Returns the exit code.
pub fn main(env: &Env, args: &[String]) -> u8 {
    let Some((directory, args)) = args.split_first() else {
        return fail(BROKEN, "fake-azlin: it is started by the script of a test");
    };
    let directory = Path::new(directory);
    if let Err(error) = write_down(directory, env, args) {
        return fail(BROKEN, &format!("fake-azlin: {error}"));
    }
    match grammar::parse(args) {
        Err(Refusal::Usage(text)) => fail(2, &text),
        Err(Refusal::NotPlayed(word)) => fail(BROKEN, &format!("fake-azlin: `{word}` is not played")),
        Ok(parsed) => {
            let call = Playing { directory, env, parsed };
            call.play().unwrap_or_else(|(code, text)| fail(code, &text))
        }
    }
}

fn fail(code: u8, text: &str) -> u8 {
    say_err(text);
    code
}

fn say(text: &str) {
    // Whoever does not read what it says is not told.
    let _ = writeln!(std::io::stdout(), "{text}");
}

fn say_err(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

fn write_down(directory: &Path, env: &Env, args: &[String]) -> std::io::Result<()> {
    let text = |word: &std::ffi::OsStr| word.to_string_lossy().into_owned();
    let env = env.iter().map(|(name, value)| (text(name), text(value))).collect();
    let line = serde_json::to_string(&AzlinCall { argv: args.to_vec(), env })?;
    let mut file = OpenOptions::new().append(true).create(true).open(calls_file(directory))?;
    // One write, so that calls at the same time stay apart.
    file.write_all(format!("{line}\n").as_bytes())
}

fn error(text: &str) -> Failed {
    (1, format!("Error: {text}"))
}

struct Playing<'a> {
    directory: &'a Path,
    env: &'a Env,
    parsed: ParsedAzlinCall,
}

impl Playing<'_> {
    fn play(&self) -> Result<u8, Failed> {
        let Answer::Begin { fault, resource_group, bare_list } =
            self.ask(&AzlinRequest::Begin { command: self.parsed.command.to_owned() })?
        else {
            return Err((BROKEN, "fake-azlin: no settings".to_owned()));
        };
        match fault {
            Some(Fault::Auth) => {
                return Err(error(
                    "az account show failed: ERROR: AADSTS70043: The refresh token has expired or is invalid due to sign-in \
                     frequency checks by conditional access. To re-authenticate, please run: az login",
                ));
            }
            Some(Fault::Throttled) => {
                return Err(error(
                    "az command failed: ERROR: (TooManyRequests) The request is being throttled. Status: 429. Retry after 17 \
                     seconds.",
                ));
            }
            Some(Fault::Slow(milliseconds)) if self.parsed.command != "new" => {
                sleep(Duration::from_millis(milliseconds));
            }
            _ => {}
        }
        let group = self.parsed.value("--resource-group").map(str::to_owned).or(resource_group);
        let Some(group) = group else {
            return Err(error("no resource group: use --resource-group, a context, or the configuration"));
        };
        match self.parsed.command {
            "new" => self.create(group, fault),
            "list" => self.list(&group, bare_list),
            "show" => self.show(),
            "connect" => self.connect(),
            "cp" => self.copy(),
            "kill" | "delete" => self.kill(fault),
            "start" => self.power(true),
            "stop" => self.power(false),
            command => Err((BROKEN, format!("fake-azlin: `{command}` is not played"))),
        }
    }

    fn ask(&self, request: &AzlinRequest) -> Result<Answer, Failed> {
        ask(self.directory, request).map_err(|error| (BROKEN, format!("fake-azlin: {error}")))
    }

    fn vms(&self) -> Result<Vec<Vm>, Failed> {
        match self.ask(&AzlinRequest::List)? {
            Answer::Vms(vms) => Ok(vms),
            _ => Err((BROKEN, "fake-azlin: no machines".to_owned())),
        }
    }

    /// The machine of that name, session or address.
    fn vm(&self, id: &str) -> Result<Vm, Failed> {
        let id = id.split(':').next().unwrap_or(id);
        let found = self.vms()?.into_iter().find(|vm| vm.name == id || vm.ip == id);
        found.ok_or_else(|| error(&format!("VM '{id}' not found")))
    }

    fn create(&self, resource_group: String, fault: Option<Fault>) -> Result<u8, Failed> {
        if self.parsed.has("--pool") {
            return Err((BROKEN, "fake-azlin: `--pool` is not played".to_owned()));
        }
        let Some(name) = self.parsed.value("--name").map(str::to_owned) else {
            return Err((BROKEN, "fake-azlin: names are given by the caller".to_owned()));
        };
        check_name(&name).map_err(|text| error(&text))?;
        let location = self.parsed.value("--region").unwrap_or("westus2").to_owned();
        let vm_size = self.size();
        if let Some(text) = refused_by_azure(fault, &vm_size, &location) {
            return Err(error(&format!("az vm create failed: ERROR: {text}")));
        }
        let public = self.parsed.has("--public") || self.parsed.has("--no-bastion");
        say_err(&format!("Creating VM '{name}' ({vm_size}) in {location}..."));
        let vm = Vm { name, resource_group, location, vm_size, public, ..Vm::default() };
        let name = vm.name.clone();
        let delay = if let Some(Fault::Slow(milliseconds)) = fault { milliseconds } else { 0 };
        if let Answer::Exists = self.ask(&AzlinRequest::Create { vm: Box::new(vm), delay })? {
            return Err(error(&format!("VM '{name}' already exists")));
        }
        match fault {
            Some(Fault::TimedOut) => return Err(error("az command timed out after 120 seconds: vm create")),
            Some(Fault::NoEgress) => {
                return Err(error(&format!(
                    "VM '{name}' was created but has no outbound internet access; delete it with: azlin kill {name}"
                )));
            }
            _ => {}
        }
        let vm = self.vm(&name)?;
        say(&table(&["Name", "Size", "Region", "IP"], &[vec![&vm.name, &vm.vm_size, &vm.location, &vm.ip]]));
        say(&format!("VM '{name}' is ready. Connect with: azlin connect {name}"));
        if self.parsed.has("--no-auto-connect") { Ok(0) } else { self.connect_to(&vm) }
    }

    fn size(&self) -> String {
        if let Some(size) = self.parsed.value("--vm-size") {
            return size.to_owned();
        }
        let tier = self.parsed.value("--size").unwrap_or("l");
        let cores = match tier {
            "xs" => 2,
            "s" => 4,
            "m" => 8,
            "xl" => 32,
            "xxl" => 64,
            _ => 16,
        };
        let by_tier = if tier.starts_with('x') && tier != "xs" { "e" } else { "d" };
        match self.parsed.value("--vm-family").unwrap_or(by_tier) {
            "e" => format!("Standard_E{cores}as_v5"),
            _ => format!("Standard_D{cores}s_v5"),
        }
    }

    fn list(&self, group: &str, bare: bool) -> Result<u8, Failed> {
        for flag in ["--tag", "--vm-pattern"] {
            if self.parsed.has(flag) {
                return Err((BROKEN, format!("fake-azlin: `{flag}` is not played")));
            }
        }
        let everything = self.parsed.has("--show-all-vms");
        let vms = self.vms()?.into_iter().filter(|vm| everything || vm.resource_group == group);
        let (shown, hidden): (Vec<Vm>, Vec<Vm>) = vms.partition(|vm| vm.running || self.parsed.has("--all"));
        let shown: Vec<(Vm, Vec<String>)> =
            shown.into_iter().map(|vm| (vm.clone(), self.tmux(&vm))).collect();
        match self.parsed.value("--output") {
            Some("json") => {
                let vms: Vec<Value> = shown.iter().map(|(vm, tmux)| as_json(vm, tmux)).collect();
                let object = json!({ "vms": vms, "filters": {
                    "hidden_not_running": hidden.len(), "dropped_by_tag": 0, "dropped_by_pattern": 0 } });
                let value = if bare { Value::Array(vms) } else { object };
                say(&format!("{value:#}"));
            }
            Some("csv") => {
                say("name,power_state,ip,location,vm_size");
                for (vm, _) in &shown {
                    say(&format!("{},{},{},{},{}", vm.name, power(vm), vm.ip, vm.location, vm.vm_size));
                }
            }
            _ => {
                let rows: Vec<Vec<&str>> = shown
                    .iter()
                    .map(|(vm, _)| vec![&*vm.name, power(vm), &*vm.ip, &*vm.location, &*vm.vm_size])
                    .collect();
                say(&table(&["Session", "State", "IP", "Region", "Size"], &rows));
            }
        }
        Ok(0)
    }

    /// What runs in tmux there, for which each machine is logged in to unless told not to.
    fn tmux(&self, vm: &Vm) -> Vec<String> {
        if self.parsed.has("--no-tmux") || !vm.running {
            return Vec::new();
        }
        let mut ssh = self.ssh("ssh");
        ssh.arg("-oConnectTimeout=5").arg(format!("azureuser@{}", vm.ip)).arg("tmux list-sessions -F '#S'");
        let output = ssh.stdin(std::process::Stdio::null()).output();
        let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        text.unwrap_or_default().lines().map(str::to_owned).collect()
    }

    fn show(&self) -> Result<u8, Failed> {
        let vm = self.vm(&self.parsed.positionals[0])?;
        say(&format!("{:#}", as_json(&vm, &[])));
        Ok(0)
    }

    fn connect(&self) -> Result<u8, Failed> {
        let vm = self.vm(&self.parsed.positionals[0])?;
        self.connect_to(&vm)
    }

    /// Any end but a good one counts as a lost connection, and the command is run again.
    fn connect_to(&self, vm: &Vm) -> Result<u8, Failed> {
        if !self.parsed.has("--no-status") {
            say_err(&format!("Connecting to {} ({})...\x1b]0;{}\x07", vm.name, vm.ip, vm.name));
        }
        let tries = self.parsed.value("--max-retries").and_then(|number| number.parse().ok()).unwrap_or(3);
        let mut left: u32 = if self.parsed.has("--no-reconnect") { 0 } else { tries };
        loop {
            let code = self.connect_once(vm)?;
            if code == 0 || left == 0 || !self.reconnects(&vm.name) {
                return Ok(code);
            }
            left -= 1;
            sleep(PAUSE);
        }
    }

    fn connect_once(&self, vm: &Vm) -> Result<u8, Failed> {
        let mut ssh = self.ssh("ssh");
        if let Some(key) = self.parsed.value("--key") {
            ssh.args(["-i", key]);
        }
        ssh.arg(format!("{}@{}", self.parsed.value("--user").unwrap_or("azureuser"), vm.ip));
        match &self.parsed.rest {
            Some(words) => ssh.args(words),
            // What tmux says to somebody without a terminal.
            None => {
                ssh.arg("test -t 0 && exec bash -l; echo 'open terminal failed: not a terminal' >&2; exit 1")
            }
        };
        let status = ssh.status().map_err(|why| error(&format!("failed to run ssh: {why}")))?;
        Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(255))
    }

    /// Nobody who answers means yes.
    fn reconnects(&self, name: &str) -> bool {
        say_err(&format!("Connection to {name} lost. Reconnect? [Y/n]"));
        let mut answer = String::new();
        if !self.parsed.has("--yes") {
            let _ = std::io::stdin().lock().read_line(&mut answer);
        }
        !answer.trim().eq_ignore_ascii_case("n")
    }

    fn copy(&self) -> Result<u8, Failed> {
        let sides = &self.parsed.positionals;
        let remote = sides.iter().filter(|side| side.contains(':')).count();
        if remote != 1 {
            return Err(error("exactly one side of a copy is VM:path"));
        }
        let mut scp = self.ssh("scp");
        for side in sides {
            match side.split_once(':') {
                Some((name, path)) => scp.arg(format!("azureuser@{}:{path}", self.vm(name)?.ip)),
                None => scp.arg(side),
            };
        }
        if self.parsed.has("--dry-run") {
            say(&format!("Would copy {} to {}", sides[0], sides[1]));
            return Ok(0);
        }
        let status = scp.status().map_err(|why| error(&format!("failed to run scp: {why}")))?;
        if status.success() { Ok(0) } else { Err(error("scp failed.")) }
    }

    /// The system's programs, which ask nobody. The host keys of machines that come and go are not kept.
    fn ssh(&self, program: &str) -> Command {
        let mut command = Command::new(Path::new("/usr/bin").join(program));
        command.args([
            "-q",
            "-oBatchMode=yes",
            "-oStrictHostKeyChecking=no",
            "-oUserKnownHostsFile=/dev/null",
        ]);
        command.env_clear().envs(self.env.iter());
        command
    }

    fn kill(&self, fault: Option<Fault>) -> Result<u8, Failed> {
        let name = &self.parsed.positionals[0];
        if !self.parsed.has("--force") {
            if !std::io::stdin().is_terminal() {
                return Err(error(&format!("refusing to delete '{name}' without a terminal; use --force")));
            }
            say_err(&format!("Delete VM '{name}' and its resources? [y/N]"));
            let mut answer = String::new();
            let _ = std::io::stdin().lock().read_line(&mut answer);
            if !answer.trim().eq_ignore_ascii_case("y") {
                say("Cancelled.");
                return Ok(0);
            }
        }
        if let Answer::NoSuchVm = self.ask(&AzlinRequest::Delete { name: name.clone() })? {
            say(&format!("VM '{name}' does not exist; nothing to delete."));
            return Ok(0);
        }
        if fault == Some(Fault::Leftovers) {
            return Err(error(&format!(
                "VM '{name}' was deleted, but these resources could not be and may still be billing: {name}-os-disk, \
                 {name}-nic"
            )));
        }
        say(&format!("Deleted VM '{name}'."));
        Ok(0)
    }

    fn power(&self, on: bool) -> Result<u8, Failed> {
        let name = self.parsed.positionals[0].clone();
        match self.ask(&AzlinRequest::Power { name: name.clone(), on })? {
            Answer::NoSuchVm => Err(error(&format!("VM '{name}' not found"))),
            _ => Ok(0),
        }
    }
}
