//! Links that a script makes and then goes through: `ln -s ~/.config/amplihack c; echo x > c/policy.toml`.

use super::call::{CallArg, CommandCall};
use super::change::PathChange;
use super::options::CommandOptions;
use super::script::JudgedScript;
use super::target::PathTarget;

/// Links of one script that are followed.
const LINKS: usize = 64;

/// A link that a script makes.
pub(crate) struct ScriptLink {
    /// The command that makes it.
    index: usize,
    /// The place where it stands.
    place: PathTarget,
    /// The place to which it leads.
    to: PathTarget,
}

/// Every link that the script makes, symbolic, hard or by a mount.
pub(super) fn script_links(script: &JudgedScript<'_>) -> Vec<ScriptLink> {
    let calls = script.calls.iter().filter(|call| call.is_any_of(&["ln", "mount", "link", "cp"]));
    calls.flat_map(|call| of_call(script, call)).take(LINKS).collect()
}

fn of_call(script: &JudgedScript<'_>, call: &CommandCall<'_>) -> Vec<ScriptLink> {
    let options = CommandOptions::read(&call.args, "tSo", &["target-directory", "suffix"]);
    let makes = match call.program.as_str() {
        "mount" => {
            ["bind", "rbind", "move"].iter().any(|long| options.has_long(long)) || options.has_short('B')
        }
        "cp" => {
            options.has_short('s')
                || options.has_short('l')
                || options.has_long("symbolic-link")
                || options.has_long("link")
        }
        _ => true,
    };
    if !makes {
        return Vec::new();
    }
    let mut operands = options.operands.clone();
    let into = match options.value('t', "target-directory") {
        Some(into) if !call.is_any_of(&["mount"]) => Some(CallArg::from_text(&super::marks::mark_path(into))),
        // `ln -s TARGET` puts it here under its own name.
        _ if operands.len() == 1 => Some(CallArg::from_text(".")),
        _ => operands.pop().cloned(),
    };
    let Some(into) = into else { return Vec::new() };
    let place = script.target(call, &into);
    operands
        .into_iter()
        .flat_map(|source| {
            let to = script.target(call, source);
            let mut inside = place.clone();
            inside.parts.push(to.name().to_owned());
            // A symbolic link's target counts from where the link stands.
            let beside = script.target_in(source.marked_text(), parent_path(&place).as_deref());
            [(place.clone(), to.clone()), (inside, to), (place.clone(), beside)]
        })
        .filter(|(place, to)| place.parts != to.parts)
        .map(|(place, to)| ScriptLink { index: call.index, place, to })
        .collect()
}

fn parent_path(place: &PathTarget) -> Option<std::path::PathBuf> {
    place.path()?.parent().map(std::path::Path::to_path_buf)
}

/// The places that a change is made to by the links of the script: one step, from the link to what it leads to. Who makes a link, the
/// command at `index`, only names what it leads to.
pub(super) fn linked_targets<'s>(
    script: &'s JudgedScript<'_>,
    index: Option<usize>,
    change: &'s PathChange,
) -> impl Iterator<Item = PathTarget> + 's {
    let target = &change.target;
    let links = script.links().iter().filter(move |link| Some(link.index) != index);
    links.filter_map(move |ScriptLink { place, to, .. }| {
        // What is done to a link is done to what it leads to, unless the link itself goes.
        let least = place.parts.len() + usize::from(change.takes_away());
        let reaches = target.rooted == place.rooted
            && target.parts.len() >= least
            && target.parts.starts_with(&place.parts);
        reaches.then(|| {
            let mut parts = to.parts.clone();
            parts.extend_from_slice(&target.parts[place.parts.len()..]);
            PathTarget { parts, rooted: to.rooted, raw: target.raw.clone() }
        })
    })
}
