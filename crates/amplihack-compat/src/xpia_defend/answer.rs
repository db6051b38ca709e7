//! The answer: what was found, how bad it is, and what follows from that.

use amplihack_verdict::Span;
use serde_json::{Map, Value, json};

/// The severity of a threat; a greater one is worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum XpiaRisk {
    #[default]
    None,
    Low,
    Medium,
    High,
    Critical,
}

impl XpiaRisk {
    /// Returns the name of the risk in answers.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }
}

/// A threat that was found.
#[derive(Debug)]
pub(crate) struct XpiaThreat {
    pub(crate) kind: String,
    pub(crate) severity: XpiaRisk,
    pub(crate) description: String,
    pub(crate) location: Option<Span>,
    pub(crate) mitigation: String,
}

/// The whole answer.
#[derive(Debug, Default)]
pub(crate) struct XpiaAnswer {
    pub(crate) threats: Vec<XpiaThreat>,
    pub(crate) recommendations: Vec<String>,
    pub(crate) metadata: Map<String, Value>,
}

impl XpiaAnswer {
    /// The worst of what was found.
    pub(crate) fn worst_risk(&self) -> XpiaRisk {
        self.threats.iter().map(|threat| threat.severity).max().unwrap_or_default()
    }

    /// Callers block from high on, whatever this says: so this says the same.
    pub(crate) fn is_valid(&self) -> bool {
        self.worst_risk() < XpiaRisk::High
    }

    pub(crate) fn as_json(&self) -> Value {
        let threats = self.threats.iter().map(|threat| {
            json!({
                "threat_type": threat.kind,
                "severity": threat.severity.name(),
                "description": threat.description,
                "location": threat.location.map(|span| json!({ "start": span.start, "end": span.end })),
                "mitigation": threat.mitigation,
            })
        });
        json!({
            "is_valid": self.is_valid(),
            "risk_level": self.worst_risk().name(),
            "threats": threats.collect::<Vec<_>>(),
            "recommendations": self.recommendations,
            "metadata": self.metadata,
            "timestamp": jiff::Timestamp::now().to_string(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn from_high_on_nothing_is_valid() {
        for (severity, valid) in [
            (XpiaRisk::Low, true),
            (XpiaRisk::Medium, true),
            (XpiaRisk::High, false),
            (XpiaRisk::Critical, false),
        ] {
            let threat = XpiaThreat {
                kind: "k".to_owned(),
                severity,
                description: String::new(),
                location: None,
                mitigation: String::new(),
            };
            let answer = XpiaAnswer { threats: vec![threat], ..XpiaAnswer::default() };
            assert_eq!(
                (answer.is_valid(), answer.as_json()["risk_level"].as_str()),
                (valid, Some(severity.name()))
            );
        }
        assert!(XpiaAnswer::default().is_valid());
    }
}
