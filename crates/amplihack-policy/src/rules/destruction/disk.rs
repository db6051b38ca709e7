//! Disks and volumes.

use super::super::change::PathChangeKind;
use super::super::marks::UNKNOWN;
use super::super::{CallArg, CommandCall, RuleContext, RuleHit, place};

pub(super) fn check_device(ctx: &RuleContext<'_>) -> Option<RuleHit> {
    if let Some(change) =
        ctx.changes().find(|change| change.kind != PathChangeKind::Mode && place::is_device(&change.target))
    {
        return ctx
            .deny(format!(
                "would overwrite the device {}; write to an image file",
                change.target.display_text()
            ))
            .map(|hit| hit.with_span(change.span));
    }
    let call = ctx.call()?;
    let formats = call.program.starts_with("mkfs")
        || call.is_any_of(&[
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
    let reads = call.has_any(&[
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
    // Each of these programs also only shows a device: a listing harms nothing.
    if !formats || reads {
        return None;
    }
    // Making a file system in a file is everyday work; a name that is only known at run time may be any device.
    let on_device = |arg: &&CallArg| {
        let target = ctx.script.target(call, arg);
        place::is_device(&target) || target.is_inside(&["dev"]) || arg.text().starts_with(UNKNOWN)
    };
    let arg = call.operands().find(on_device)?;
    ctx.deny(format!(
        "would format or repartition {}; work on an image file",
        arg.text().replace(UNKNOWN, "a device that is only known at run time")
    ))
    .map(|hit| hit.with_span(arg.span))
}

/// Volumes that are named without `/dev`.
fn drops_volume(call: &CommandCall<'_>) -> bool {
    match call.program.as_str() {
        "lvremove" | "vgremove" | "pvremove" => !call.has_any(&["-t", "--test", "--help"]),
        "zfs" | "zpool" => call.arg_text(0) == Some("destroy") && !call.has_any(&["-n", "-nv", "-nvr"]),
        "btrfs" => call.arg_text(0) == Some("subvolume") && call.has_any(&["delete"]),
        _ => false,
    }
}
