//! The check whether a prompt arrived, and how much of it is as it was sent.

use super::dialect::RequestText;

/// The form in which a prompt stands in the requests of a run, best find of all.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ObservedDelivery {
    /// A user's text is the prompt, byte for byte.
    Exact,
    /// The prompt is part of a longer text, or of one that is not the user's.
    Contained {
        /// The role of the text.
        role: String,
        /// The text before the prompt.
        before: String,
        /// The text after the prompt.
        after: String,
    },
    /// The prompt without its trailing blanks is a text or part of one.
    TrimmedEnd {
        /// The role of the text.
        role: String,
        /// The text before the prompt.
        before: String,
        /// The text after the prompt.
        after: String,
    },
    /// Neither the prompt nor the prompt without its trailing blanks is in any text.
    Missing,
}

/// Looks for `expected` in these texts; a user's text counts before anybody else's.
pub(crate) fn find_delivery(said: &[RequestText], expected: &str) -> ObservedDelivery {
    if said.iter().any(|said| said.role == "user" && said.text == expected) {
        return ObservedDelivery::Exact;
    }
    if let Some((role, before, after)) = find_in_texts(said, expected) {
        return ObservedDelivery::Contained { role, before, after };
    }
    match find_in_texts(said, expected.trim_end()) {
        Some((role, before, after)) => ObservedDelivery::TrimmedEnd { role, before, after },
        None => ObservedDelivery::Missing,
    }
}

fn find_in_texts(said: &[RequestText], needle: &str) -> Option<(String, String, String)> {
    if needle.is_empty() {
        return None;
    }
    let user = said.iter().filter(|said| said.role == "user");
    let others = said.iter().filter(|said| said.role != "user");
    user.chain(others).find_map(|said| {
        let (before, after) = said.text.split_once(needle)?;
        Some((said.role.clone(), before.to_owned(), after.to_owned()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(texts: &[(&str, &str)]) -> Vec<RequestText> {
        texts
            .iter()
            .map(|(role, text)| RequestText { role: (*role).to_owned(), text: (*text).to_owned() })
            .collect()
    }

    fn parts(role: &str, before: &str, after: &str) -> (String, String, String) {
        (role.to_owned(), before.to_owned(), after.to_owned())
    }

    #[test]
    fn the_best_find_wins() {
        let expected = "it's\n";
        let (role, before, after) = parts("user", "<now>\n\n", "");
        let trimmed = ObservedDelivery::TrimmedEnd { role, before, after };
        let texts = [
            ("user", "<now>\n\nit's"),
            ("system", "say it's\n twice"),
            ("user", "[it's\n]"),
            ("user", "it's\n"),
        ];
        assert_eq!(find_delivery(&said(&texts), expected), ObservedDelivery::Exact);
        let (role, before, after) = parts("user", "[", "]");
        assert_eq!(
            find_delivery(&said(&texts[..3]), expected),
            ObservedDelivery::Contained { role, before, after }
        );
        let (role, before, after) = parts("system", "say ", " twice");
        assert_eq!(
            find_delivery(&said(&texts[..2]), expected),
            ObservedDelivery::Contained { role, before, after }
        );
        assert_eq!(find_delivery(&said(&texts[..1]), expected), trimmed);
        assert_eq!(find_delivery(&said(&texts[..1]), "its"), ObservedDelivery::Missing);
    }

    #[test]
    fn nothing_is_not_found_everywhere() {
        assert_eq!(find_delivery(&said(&[("user", "x")]), " \n"), ObservedDelivery::Missing);
        assert_eq!(find_delivery(&said(&[("user", "x")]), ""), ObservedDelivery::Missing);
    }

    #[test]
    fn the_same_text_in_another_role_is_not_exact() {
        let (role, before, after) = parts("developer", "", "");
        assert_eq!(
            find_delivery(&said(&[("developer", "P")]), "P"),
            ObservedDelivery::Contained { role, before, after }
        );
    }
}
