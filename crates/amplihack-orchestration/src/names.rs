//! Names in a sentence.

/// The most names that one sentence has.
const MOST: usize = 5;

/// The first of `names`, and how many there are besides.
pub(crate) fn first_names<N: AsRef<str>>(names: &[N]) -> String {
    let shown = names.iter().take(MOST).map(AsRef::as_ref).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(MOST) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_beyond_the_fifth_are_counted() {
        assert_eq!(first_names(&["a", "b", "c", "d", "e"]), "a, b, c, d, e");
        assert_eq!(first_names(&["a", "b", "c", "d", "e", "f", "g"]), "a, b, c, d, e and 2 more");
        assert_eq!(first_names::<&str>(&[]), "");
    }
}
