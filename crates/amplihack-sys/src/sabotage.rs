//! Faults that break a promise on request, so that the tests of that promise can be tried against it.
//!
//! `docs/compliance.md` names the fault of each promise, and `cargo xtask compliance` runs the tests of a promise in a build with
//! the feature `sabotage`, with its fault chosen. Without the feature [`is_active`] is a constant, and no code of any fault is in the
//! program.

#[cfg(all(feature = "sabotage", not(debug_assertions)))]
compile_error!(
    "the feature `sabotage` breaks promises on request; it is for debug builds of `cargo xtask compliance` only"
);

/// Reports whether `fault` was chosen for this process: never, without the feature `sabotage`.
#[cfg(not(feature = "sabotage"))]
#[inline]
pub const fn is_active(_fault: &str) -> bool {
    false
}

/// Reports whether `fault` was chosen for this process.
///
/// The choice is the content of one file, whose path is fixed when the program is built. No variable is asked: many descendants of a
/// test run with an empty environment. The file is read once per process.
#[cfg(feature = "sabotage")]
pub fn is_active(fault: &str) -> bool {
    static CHOSEN: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    let chosen = CHOSEN.get_or_init(|| {
        let file = option_env!("AMPLIHACK_SABOTAGE_FILE");
        file.and_then(|file| std::fs::read_to_string(file).ok()).unwrap_or_default()
    });
    !chosen.is_empty() && chosen.trim() == fault
}

#[cfg(all(test, not(feature = "sabotage")))]
mod tests {
    /// The compiler evaluates it: what a fault guards is not built.
    const NEVER: bool = super::is_active("delivery-auto-threshold");

    #[test]
    fn without_the_feature_no_fault_can_be_chosen() {
        assert!(!NEVER && !super::is_active("") && !super::is_active("anything"));
    }
}
