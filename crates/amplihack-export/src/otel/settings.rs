//! OpenTelemetry's own variables: the collector's address, its headers, and the service to which the traces belong.

use std::time::Duration;

use amplihack_config::env::Env;
use amplihack_config::secret::Secret;

use crate::ExportError;

/// The path at which a collector takes traces.
const PATH: &str = "/v1/traces";
/// Time that a collector may take, unless a variable sets another.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The collector to which traces are sent.
#[derive(Debug, Clone)]
pub struct TraceCollector {
    /// The whole address, as in `http://127.0.0.1:4318/v1/traces`.
    pub url: String,
    /// Sent besides; they may hold credentials.
    pub headers: Vec<(String, Secret)>,
    /// Time that the collector may take.
    pub timeout: Duration,
}

/// Settings of an export.
#[derive(Debug, Clone)]
pub struct OtelSettings {
    /// The collector that the environment names; `None` if it names none, or if no traces are wanted.
    pub collector: Option<TraceCollector>,
    /// Attributes of the service in every export: names and values.
    pub resource: Vec<(String, String)>,
    headers: Vec<(String, Secret)>,
    timeout: Duration,
}

impl OtelSettings {
    /// Nothing is said: no collector, the service is `amplihack`.
    pub fn without_collector() -> Self {
        Self {
            collector: None,
            resource: service_attributes(Vec::new(), None),
            headers: Vec::new(),
            timeout: TIMEOUT,
        }
    }

    /// Settings from `env`. The variables for traces alone win over those for all signals.
    pub fn from_env(env: &Env) -> Result<Self, ExportError> {
        let text = |name| env.text(name).map(str::trim).filter(|text| !text.is_empty());
        let either =
            |names: [&'static str; 2]| names.into_iter().find_map(|name| text(name).map(|text| (name, text)));
        let pairs = |found: Option<(&'static str, &str)>| match found {
            Some((name, text)) => parse_pairs(text).ok_or(ExportError::Variable {
                name,
                form: "name=value, with commas between and other characters as %XX",
            }),
            None => Ok(Vec::new()),
        };
        let headers = pairs(either(["OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"]))?;
        let headers = headers.into_iter().map(|(name, value)| (name, Secret::new(value))).collect();
        let timeout = match either(["OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT"]) {
            Some((name, text)) => text
                .parse()
                .map(Duration::from_millis)
                .map_err(|_| ExportError::Variable { name, form: "milliseconds" })?,
            None => TIMEOUT,
        };
        let named = "OTEL_RESOURCE_ATTRIBUTES";
        let resource = pairs(text(named).map(|text| (named, text)))?;
        let settings = Self {
            collector: None,
            resource: service_attributes(resource, text("OTEL_SERVICE_NAME")),
            headers,
            timeout,
        };
        let unwanted = text("OTEL_SDK_DISABLED").is_some_and(|text| text.eq_ignore_ascii_case("true"))
            || text("OTEL_TRACES_EXPORTER") == Some("none");
        // By OpenTelemetry's specification the address for traces is whole, and the one for all signals gets the path.
        let whole = text("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT").map(str::to_owned);
        let url = whole.or_else(|| text("OTEL_EXPORTER_OTLP_ENDPOINT").map(with_path));
        if let Some((name, "grpc")) =
            either(["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"])
            // A protocol matters only where something is sent: a machine may set it for other programs.
            && url.is_some()
            && !unwanted
        {
            return Err(ExportError::Variable { name, form: "http/json; gRPC is not spoken" });
        }
        let collector = url.filter(|_| !unwanted).map(|url| settings.collector_with_url(url));
        Ok(Self { collector, ..settings })
    }

    /// The collector at `endpoint`, whose path `/v1/traces` may be left out.
    pub fn collector_at(&self, endpoint: &str) -> TraceCollector {
        self.collector_with_url(with_path(endpoint))
    }

    fn collector_with_url(&self, url: String) -> TraceCollector {
        TraceCollector { url, headers: self.headers.clone(), timeout: self.timeout }
    }
}

/// The attributes of the service: `name` wins over one in `given`, and there is always one.
fn service_attributes(mut given: Vec<(String, String)>, name: Option<&str>) -> Vec<(String, String)> {
    const NAME: &str = "service.name";
    const VERSION: &str = "service.version";
    if let Some(name) = name {
        given.retain(|(known, _)| known != NAME);
        given.insert(0, (NAME.to_owned(), name.to_owned()));
    }
    for (known, value) in [(VERSION, env!("CARGO_PKG_VERSION")), (NAME, "amplihack")] {
        if !given.iter().any(|(given, _)| given == known) {
            given.insert(0, (known.to_owned(), value.to_owned()));
        }
    }
    given
}

fn with_path(endpoint: &str) -> String {
    let base = endpoint.trim_end_matches('/');
    if base.ends_with(PATH) { base.to_owned() } else { format!("{base}{PATH}") }
}

/// `name=value` with commas between; values are percent-encoded. The last of a name counts.
fn parse_pairs(text: &str) -> Option<Vec<(String, String)>> {
    let mut found: Vec<(String, String)> = Vec::new();
    for pair in text.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=')?;
        let (name, value) = (decode_percent(name.trim())?, decode_percent(value.trim())?);
        found.retain(|(known, _)| *known != name);
        found.push((name, value));
    }
    Some(found)
}

fn decode_percent(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        if *first == b'%' {
            let (digits, after) = rest.split_at_checked(2)?;
            bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
            rest = after;
        } else {
            bytes.push(*first);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Result<OtelSettings, ExportError> {
        OtelSettings::from_env(
            &variables.iter().fold(Env::empty(), |env, (name, value)| env.with_variable(*name, *value)),
        )
    }

    fn url(variables: &[(&str, &str)]) -> Option<String> {
        of(variables).unwrap().collector.map(|collector| collector.url)
    }

    #[test]
    fn the_path_is_added_to_an_endpoint_of_all_signals_and_not_to_one_of_traces() {
        assert_eq!(url(&[]), None);
        for given in
            ["http://x:4318", "http://x:4318/", "http://x:4318/v1/traces", "http://x:4318/v1/traces/"]
        {
            assert_eq!(url(&[("OTEL_EXPORTER_OTLP_ENDPOINT", given)]).unwrap(), "http://x:4318/v1/traces");
            assert_eq!(OtelSettings::without_collector().collector_at(given).url, "http://x:4318/v1/traces");
        }
        let both = [
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://t/own"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://x"),
        ];
        assert_eq!(url(&both).unwrap(), "http://t/own");
        assert_eq!(url(&[("OTEL_EXPORTER_OTLP_ENDPOINT", " ")]), None);
    }

    #[test]
    fn traces_that_are_not_wanted_are_not_sent() {
        let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://x");
        for unwanted in [("OTEL_SDK_DISABLED", "TRUE"), ("OTEL_TRACES_EXPORTER", "none")] {
            assert_eq!(url(&[endpoint, unwanted]), None);
            assert_eq!(url(&[endpoint, unwanted, ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")]), None);
        }
        assert!(url(&[endpoint, ("OTEL_SDK_DISABLED", "false"), ("OTEL_TRACES_EXPORTER", "otlp")]).is_some());
        assert!(url(&[endpoint, ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")]).is_some());
        let error = of(&[endpoint, ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")]).unwrap_err().to_string();
        assert!(error.contains("OTEL_EXPORTER_OTLP_PROTOCOL"), "{error}");
    }

    #[test]
    fn headers_are_read_as_opentelemetry_has_them() {
        let read = |text| {
            let settings =
                of(&[("OTEL_EXPORTER_OTLP_HEADERS", text), ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://x")]);
            let headers = settings.unwrap().collector.unwrap().headers;
            headers.into_iter().map(|(name, value)| format!("{name}: {}", value.expose())).collect::<Vec<_>>()
        };
        assert_eq!(read("a=b, c = d%20e=f%2C ,"), ["a: b", "c: d e=f,"]);
        assert_eq!(read("a=b,a=c"), ["a: c"]);
        assert_eq!(read(""), [""; 0]);
        for wrong in ["s3cret", "s3cret=%", "a=s3cret%zz", "a=s3cret%ff"] {
            let error = of(&[("OTEL_EXPORTER_OTLP_HEADERS", wrong)]).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("s3cret"), "{error:?}");
        }
        let shown = format!("{:?}", of(&[("OTEL_EXPORTER_OTLP_HEADERS", "a=s3cret")]).unwrap());
        assert!(!shown.contains("s3cret"), "{shown}");
    }

    #[test]
    fn the_service_has_a_name_whatever_is_said() {
        let resource = |variables: &[(&str, &str)]| {
            let found = of(variables).unwrap().resource;
            found
                .into_iter()
                .filter(|(name, _)| name != "service.version")
                .map(|(name, value)| format!("{name}={value}"))
                .collect::<Vec<_>>()
        };
        assert_eq!(resource(&[]), ["service.name=amplihack"]);
        let attributes = ("OTEL_RESOURCE_ATTRIBUTES", "service.name=a,deployment.environment.name=x%2Cy");
        assert_eq!(resource(&[attributes]), ["service.name=a", "deployment.environment.name=x,y"]);
        let named = ("OTEL_SERVICE_NAME", "b");
        assert_eq!(resource(&[attributes, named]), ["service.name=b", "deployment.environment.name=x,y"]);
        assert!(of(&[("OTEL_EXPORTER_OTLP_TIMEOUT", "soon")]).is_err());
        let quick = of(&[("OTEL_EXPORTER_OTLP_TIMEOUT", "250")]).unwrap().collector_at("http://x");
        assert_eq!(quick.timeout, Duration::from_millis(250));
    }
}
