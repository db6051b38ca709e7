//! Web addresses: where a fetch would really go, and whether it may.

use std::net::{Ipv4Addr, Ipv6Addr};

use amplihack_verdict::{Decision, RuleId, Verdict};

/// The user's lists of domains; a domain stands for itself and everything below it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DomainLists {
    /// Never fetched.
    pub deny: Vec<String>,
    /// Fetched without asking. A denied domain stays denied.
    pub allow: Vec<String>,
}

impl DomainLists {
    /// From two lists as `XPIA_BLACKLIST_DOMAINS` and `XPIA_WHITELIST_DOMAINS` hold them: domains with commas or blanks between.
    pub fn from_text(deny: &str, allow: &str) -> Self {
        let domains = |text: &str| {
            text.split([',', ' ', '\n', '\t', ';'])
                .map(|domain| domain.trim().trim_start_matches("*.").trim_matches('.').to_ascii_lowercase())
                .filter(|domain| !domain.is_empty())
                .collect()
        };
        Self { deny: domains(deny), allow: domains(allow) }
    }
}

/// Addresses at which clouds hand out a machine's credentials.
const METADATA_V4: &[Ipv4Addr] = &[
    Ipv4Addr::new(169, 254, 169, 254),
    Ipv4Addr::new(169, 254, 170, 2),
    Ipv4Addr::new(169, 254, 170, 23),
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(192, 0, 0, 192),
    Ipv4Addr::new(168, 63, 129, 16),
];
const METADATA_V6: &[Ipv6Addr] = &[
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23),
    Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254),
];
const METADATA_NAMES: &[&str] = &[
    "metadata",
    "metadata.google.internal",
    "metadata.goog",
    "metadata.azure.internal",
    "instance-data",
    "instance-data.ec2.internal",
];

/// Name services that answer with the address that is written in the name.
const ECHO_SERVICES: &[&str] = &["nip.io", "sslip.io", "xip.io", "localtest.me"];

/// An address, taken apart as a browser does.
struct FetchAddress {
    scheme: String,
    userinfo: String,
    host: FetchHost,
}

enum FetchHost {
    Name(String),
    V4(Ipv4Addr),
    V6(Ipv6Addr),
}

/// The verdict on fetching `url`: none for everyday addresses, private ones and this machine's too.
pub fn judge_url(url: &str, lists: &DomainLists) -> Verdict {
    let deny = |rule, reason: String| Verdict::new(Decision::Deny, RuleId::new(rule), reason, Vec::new());
    let Some(address) = take_apart(url) else {
        return deny(
            "fetch/unreadable",
            "the address cannot be read; give it as https://host/path".to_owned(),
        );
    };
    if !matches!(address.scheme.as_str(), "http" | "https") {
        return deny(
            "fetch/scheme",
            format!(
                "{}: is not fetched, only http and https; read local files with the read tool",
                address.scheme
            ),
        );
    }
    let host = address.host.text();
    if address.host.is_metadata() {
        return deny(
            "fetch/metadata",
            format!("{host} hands out this machine's cloud credentials; it is never fetched"),
        );
    }
    if is_listed(&host, &lists.deny) {
        return deny("fetch/denied-domain", format!("{host} is on the user's list of denied domains"));
    }
    if disguises_host(&address.userinfo) {
        return deny(
            "fetch/userinfo",
            format!(
                "the address shows another host in front of an @ and goes to {host}; leave that part out"
            ),
        );
    }
    // In front of the user's allowed domains: allowing a domain allows no key to be sent there.
    if amplihack_secrets::find_credentials(url.as_bytes()).iter().any(|found| found.rule.is_provider()) {
        let reason = format!("the address carries a credential to {host}; a person has to agree to send it");
        return Verdict::new(Decision::Ask, RuleId::new("fetch/secret"), reason, Vec::new());
    }
    if is_listed(&host, &lists.allow) {
        let reason = format!("{host} is on the user's list of allowed domains");
        return Verdict::new(Decision::Allow, RuleId::new("fetch/allowed-domain"), reason, Vec::new());
    }
    Verdict::no_objection()
}

/// Reports whether `url` leads to an address at which clouds hand out a machine's credentials.
pub(crate) fn is_metadata(url: &str) -> bool {
    take_apart(url).is_some_and(|address| address.host.is_metadata())
}

/// The host that `url` really goes to: lower case, without port, addresses in their usual form.
pub fn host_of(url: &str) -> Option<String> {
    take_apart(url).map(|address| address.host.text())
}

pub(crate) fn is_listed(host: &str, domains: &[String]) -> bool {
    domains.iter().any(|domain| is_within_domain(host, domain))
}

/// Reports whether `host` is `domain` or a name below it.
fn is_within_domain(host: &str, domain: &str) -> bool {
    host.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// Reports whether the text in front of an `@` pretends to be the host.
fn disguises_host(userinfo: &str) -> bool {
    let name = userinfo.split(':').next().unwrap_or(userinfo);
    let encoded = userinfo.contains("%2f") || userinfo.contains("%2F") || userinfo.contains("%40");
    encoded
        || name
            .rsplit_once('.')
            .is_some_and(|(_, top)| top.len() >= 2 && top.bytes().all(|byte| byte.is_ascii_alphabetic()))
}

/// By the WHATWG rules that matter: control characters and blanks at the ends go, tabs and newlines anywhere, `\` is `/`.
fn take_apart(url: &str) -> Option<FetchAddress> {
    let clean: String = url
        .trim_matches(|c: char| c <= ' ')
        .chars()
        .filter(|c| !matches!(c, '\t' | '\n' | '\r'))
        .map(|c| if c == '\\' { '/' } else { c })
        .collect();
    let (scheme, rest) = match clean.split_once(':') {
        // `host:8080/path` and `host/a:b` have no scheme.
        Some((scheme, rest)) if is_scheme(scheme) && !rest.starts_with(|c: char| c.is_ascii_digit()) => {
            (scheme.to_ascii_lowercase(), rest)
        }
        _ => ("https".to_owned(), clean.as_str()),
    };
    let rest = rest.trim_start_matches('/');
    if !matches!(scheme.as_str(), "http" | "https") {
        return Some(FetchAddress { scheme, userinfo: String::new(), host: FetchHost::Name(String::new()) });
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    let (userinfo, place) = authority.rsplit_once('@').unwrap_or(("", authority));
    let host = match place.strip_prefix('[') {
        Some(inner) => FetchHost::V6(inner.split(']').next()?.split('%').next()?.parse().ok()?),
        None => name_or_v4(place.split(':').next()?)?,
    };
    Some(FetchAddress { scheme, userinfo: userinfo.to_owned(), host })
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-'))
        && text != "localhost"
}

fn name_or_v4(raw: &str) -> Option<FetchHost> {
    let bytes = percent_decoded(raw);
    let text = String::from_utf8(bytes).ok()?;
    let mut name = String::new();
    for c in text.chars() {
        unicode_normalization::char::decompose_compatible(c, |part| match part {
            // Full stops of other scripts end labels; soft hyphens and blanks without width are dropped.
            '\u{3002}' | '\u{ff0e}' | '\u{ff61}' => name.push('.'),
            '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}' => {}
            part => name.extend(part.to_lowercase()),
        });
    }
    let name = name.strip_suffix('.').unwrap_or(&name);
    if name.is_empty()
        || name.contains(|c: char| c <= ' ' || matches!(c, '<' | '>' | '"' | '^' | '`' | '{' | '|' | '}'))
    {
        return None;
    }
    Some(parse_ipv4(name).map_or_else(|| FetchHost::Name(name.to_owned()), FetchHost::V4))
}

fn percent_decoded(text: &str) -> Vec<u8> {
    let (bytes, mut out, mut at) = (text.as_bytes(), Vec::new(), 0);
    while at < bytes.len() {
        let code = text
            .get(at + 1..at + 3)
            .filter(|_| bytes[at] == b'%')
            .and_then(|code| u8::from_str_radix(code, 16).ok());
        out.push(code.unwrap_or(bytes[at]));
        at += if code.is_some() { 3 } else { 1 };
    }
    out
}

/// An IPv4 address in any form that `inet_aton` and browsers take: 1 to 4 parts, decimal, octal or hexadecimal.
fn parse_ipv4(name: &str) -> Option<Ipv4Addr> {
    let parts: Vec<u64> = name.split('.').map(parse_number).collect::<Option<_>>()?;
    let (&last, front) = parts.split_last()?;
    if front.len() > 3 || front.iter().any(|&part| part > 255) || last >= 1 << (8 * (4 - front.len())) {
        return None;
    }
    let mut address = last;
    for (at, &part) in front.iter().enumerate() {
        address |= part << (8 * (3 - at));
    }
    u32::try_from(address).ok().map(Ipv4Addr::from)
}

fn parse_number(part: &str) -> Option<u64> {
    match part.strip_prefix("0x") {
        Some("") => Some(0),
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None if part.len() > 1 && part.starts_with('0') => u64::from_str_radix(part, 8).ok(),
        None => part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse().ok())?,
    }
}

impl FetchHost {
    fn text(&self) -> String {
        match self {
            Self::Name(name) => name.clone(),
            Self::V4(address) => address.to_string(),
            Self::V6(address) => format!("[{address}]"),
        }
    }

    fn is_metadata(&self) -> bool {
        match self {
            Self::V4(address) => METADATA_V4.contains(address),
            Self::V6(address) => {
                METADATA_V6.contains(address)
                    || inner_v4(*address).is_some_and(|inner| METADATA_V4.contains(&inner))
            }
            Self::Name(name) => METADATA_NAMES.contains(&name.as_str()) || echoes_metadata(name),
        }
    }
}

/// The IPv4 address in a mapped, compatible, NAT64 or 6to4 one.
fn inner_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let ([0, 0, 0, 0, 0, 0 | 0xffff, high, low]
    | [0, 0, 0, 0, 0xffff, 0, high, low]
    | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
    | [0x2002, high, low, ..]) = address.segments()
    else {
        return None;
    };
    Some(Ipv4Addr::from(u32::from(high) << 16 | u32::from(low)))
}

fn echoes_metadata(name: &str) -> bool {
    ECHO_SERVICES.iter().any(|service| is_within_domain(name, service))
        && METADATA_V4.iter().any(|address| {
            let dotted = address.to_string();
            name.contains(&dotted)
                || name.contains(&dotted.replace('.', "-"))
                || name.contains(&format!("{:08x}", u32::from(*address)))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(url: &str) -> Option<String> {
        let lists = DomainLists::from_text("evil.example, *.bad.test", "good.example");
        judge_url(url, &lists).rule.map(|rule| rule.to_string())
    }

    #[test]
    fn metadata_addresses_are_known_in_every_spelling() {
        for url in [
            "http://169.254.169.254/latest/meta-data/",
            "http://2852039166/",
            "http://0xa9fea9fe/x",
            "http://0xA9.0xFE.0xA9.0xFE",
            "http://0251.0376.0251.0376/",
            "http://169.254.43518/",
            "http://169.16689662",
            "http://169.254.169.254./",
            "http://169.254.169.254:80/x",
            "http://user@169.254.169.254/",
            "http://[::ffff:169.254.169.254]/",
            "http://[::ffff:a9fe:a9fe]:80/",
            "http://[64:ff9b::a9fe:a9fe]/",
            "http://[fd00:ec2::254]/latest",
            "http://100.100.100.200/",
            "http://metadata.google.internal/computeMetadata/v1/",
            "HTTP://METADATA.GOOGLE.INTERNAL.",
            "http:\\\\169.254.169.254\\x",
            "http:/169.254.169.254",
            "  http://169.254.\t169.254/",
            "http://%31%36%39.254.169.254/",
            "http://１６９.２５４.１６９.２５４/",
            "http://169。254。169。254/",
            "http://169.254.169.254.nip.io/",
            "http://a-169-254-169-254.sslip.io",
            "169.254.169.254/latest",
        ] {
            assert_eq!(rule(url).as_deref(), Some("fetch/metadata"), "{url}");
        }
    }

    #[test]
    fn everyday_and_private_addresses_are_free() {
        for url in [
            "https://docs.rs/serde",
            "http://localhost:3000/x?y=1",
            "http://127.0.0.1:8080",
            "http://[::1]:9000/",
            "http://192.168.1.10/",
            "http://169.254.1.1/",
            "https://notevil.example/",
            "https://evil.example.org/",
            "https://example.com/a?u=user@b.c",
            "https://medium.com/@name/post",
            "example.com/path",
            "localhost:8080/health",
            "https://user:pw@git.example.com/r.git",
            "https://bücher.example/",
            "https://example.com/?next=http://169.254.169.254/",
        ] {
            assert_eq!(rule(url), None, "{url}");
        }
    }

    #[test]
    fn lists_schemes_and_disguises() {
        for (url, expected) in [
            ("https://evil.example/", "fetch/denied-domain"),
            ("https://a.b.EVIL.example./x", "fetch/denied-domain"),
            ("https://x.bad.test", "fetch/denied-domain"),
            ("https://good.example/", "fetch/allowed-domain"),
            ("https://api.good.example/", "fetch/allowed-domain"),
            ("https://good.example@evil.example/", "fetch/denied-domain"),
            ("https://google.com@other.example/", "fetch/userinfo"),
            ("https://google.com%2Fx@other.example/", "fetch/userinfo"),
            ("file:///etc/passwd", "fetch/scheme"),
            ("FILE:/etc/passwd", "fetch/scheme"),
            ("gopher://x/1", "fetch/scheme"),
            ("ftp://example.com/a", "fetch/scheme"),
            ("javascript:alert(1)", "fetch/scheme"),
            ("", "fetch/unreadable"),
            ("http://", "fetch/unreadable"),
            ("http://[::zz]/", "fetch/unreadable"),
        ] {
            assert_eq!(rule(url).as_deref(), Some(expected), "{url}");
        }
        let token = format!("https://x.example/?t={}{}", "ghp_", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
        assert_eq!(rule(&token).as_deref(), Some("fetch/secret"));
    }

    #[test]
    fn the_host_is_the_one_that_is_asked() {
        for (url, host) in [
            ("https://User:pw@Example.COM:8443/a?b#c", Some("example.com")),
            ("https://a.example\\@b.example/", Some("a.example")),
            ("http://0x7f.1/", Some("127.0.0.1")),
            ("http://[::1]:80/", Some("[::1]")),
            ("http:///x.example/", Some("x.example")),
            ("http://1.2.3.4.5/", Some("1.2.3.4.5")),
            (" ", None),
        ] {
            assert_eq!(host_of(url).as_deref(), host, "{url}");
        }
    }
}
