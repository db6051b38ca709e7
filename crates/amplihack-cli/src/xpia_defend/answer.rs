//! The answer: what was found, how bad it is, and what follows from that.

use amplihack_policy::Span;
use serde_json::{Map, Value, json};

/// How bad something is; a greater one is worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum Risk {
    #[default]
    None,
    Low,
    Medium,
    High,
    Critical,
}

impl Risk {
    /// Its name in answers.
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

/// One thing that was found.
#[derive(Debug)]
pub(crate) struct Threat {
    pub(crate) kind: String,
    pub(crate) severity: Risk,
    pub(crate) description: String,
    pub(crate) location: Option<Span>,
    pub(crate) mitigation: String,
}

/// The whole answer.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) threats: Vec<Threat>,
    pub(crate) recommendations: Vec<String>,
    pub(crate) metadata: Map<String, Value>,
}

impl Answer {
    /// The worst of what was found.
    pub(crate) fn risk(&self) -> Risk {
        self.threats.iter().map(|threat| threat.severity).max().unwrap_or_default()
    }

    /// Callers block from high on, whatever this says: so this says the same.
    pub(crate) fn is_valid(&self) -> bool {
        self.risk() < Risk::High
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
            "risk_level": self.risk().name(),
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
        for (severity, valid) in
            [(Risk::Low, true), (Risk::Medium, true), (Risk::High, false), (Risk::Critical, false)]
        {
            let threat = Threat {
                kind: "k".to_owned(),
                severity,
                description: String::new(),
                location: None,
                mitigation: String::new(),
            };
            let answer = Answer { threats: vec![threat], ..Answer::default() };
            assert_eq!(
                (answer.is_valid(), answer.as_json()["risk_level"].as_str()),
                (valid, Some(severity.name()))
            );
        }
        assert!(Answer::default().is_valid());
    }
}
