//! Disks and volumes.

use super::super::change::Kind;
use super::super::marks::UNKNOWN;
use super::super::{Arg, Call, Ctx, Hit, place};

pub(super) fn device(ctx: &Ctx<'_>) -> Option<Hit> {
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
    let on_device = |arg: &&Arg| {
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
