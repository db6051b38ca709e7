//! Scenario and run in the first part of a request path: `/<scenario>~<run>/<what the client adds>`.

use amplihack_sys::push_text;

use super::script::ModelScenario;

/// The destination of a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ModelRoute<'a> {
    pub scenario: ModelScenario,
    pub run: String,
    /// The client's own path, with its leading slash.
    pub rest: &'a str,
}

/// The path part of a base URL.
pub(crate) fn base_path(scenario: ModelScenario, run: &str) -> String {
    let mut path = format!("/{scenario}~");
    for byte in run.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.') {
            path.push(byte.into());
        } else {
            push_text!(path, "%{byte:02X}");
        }
    }
    path
}

/// Reads a request path; `None` if it does not start as [`base_path`] writes it.
pub(crate) fn parse_route(path: &str) -> Option<ModelRoute<'_>> {
    let first = path.strip_prefix('/')?;
    let (first, rest) = first.split_at(first.find('/').unwrap_or(first.len()));
    let (scenario, run) = first.split_once('~')?;
    Some(ModelRoute { scenario: scenario.parse().ok()?, run: percent_decode(run)?, rest })
}

fn percent_decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        if byte == b'%' {
            let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &rest[2..];
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_run_name_survives_the_path() {
        for run in ["r1", "", "a/b ~c", "ünï%41"] {
            let path = format!("{}/v1/messages", base_path(ModelScenario::Turns(2), run));
            let route =
                ModelRoute { scenario: ModelScenario::Turns(2), run: run.to_owned(), rest: "/v1/messages" };
            assert_eq!(parse_route(&path), Some(route), "{path}");
        }
    }

    #[test]
    fn other_paths_go_nowhere() {
        for path in ["", "/", "/v1/messages", "/text/v1", "/nosuch~r/v1", "/text~%4/v1", "/text~%FF/v1"] {
            assert_eq!(parse_route(path), None, "{path}");
        }
        assert_eq!(parse_route("/text~r").map(|route| route.rest), Some(""));
    }
}
