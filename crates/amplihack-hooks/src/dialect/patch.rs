//! The files that a patch in Codex's own format names.

use std::path::PathBuf;

const HEADS: &[&str] = &["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];

/// Every file that `patch` would make, change, remove or move to.
pub(super) fn patch_paths(patch: &str) -> Vec<PathBuf> {
    patch
        .lines()
        .filter_map(|line| HEADS.iter().find_map(|head| line.trim_start().strip_prefix(head)))
        .map(|path| PathBuf::from(path.trim()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_four_heads_name_files() {
        let patch = "*** Begin Patch\n*** Add File: a b.txt\n+x\n*** Update File: /etc/hosts\n*** Move to: c\n@@\n-*** not\n*** Delete File: d\n*** End Patch\n";
        assert_eq!(patch_paths(patch), ["a b.txt", "/etc/hosts", "c", "d"].map(PathBuf::from));
    }
}
