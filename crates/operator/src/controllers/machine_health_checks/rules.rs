//! What a health check says, read once. Pure.

use jiff::SignedDuration;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::core::Selector;
use slipway_api::openshift::MachineHealthCheckSpec;
use slipway_assess::machines::time;
use thiserror::Error;

/// How long a machine may take to become a node, unless the check says otherwise.
const STARTUP_TIMEOUT: SignedDuration = SignedDuration::from_mins(10);

/// Why a check cannot be followed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(super) enum Problem {
    #[error("the selector cannot be read: {0}")]
    Selector(String),
    #[error("`{field}` is `{text}`; write a time such as `5m`")]
    Time { field: &'static str, text: String },
    #[error("`maxUnhealthy` is `{0}`; write a number, or a share such as `40%`")]
    MaxUnhealthy(String),
    #[error(
        "`remediationTemplate` is set; only replacing machines by their set is supported, so nothing is done"
    )]
    Template,
}

/// A check that can be followed.
#[derive(Debug, Clone)]
pub(super) struct Rules {
    pub(super) selector: Selector,
    pub(super) conditions: Vec<Condition>,
    /// `None` is for ever.
    pub(super) startup: Option<SignedDuration>,
    pub(super) max: Max,
}

/// A condition of a node that makes it unhealthy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Condition {
    pub(super) about: String,
    pub(super) status: String,
    pub(super) timeout: SignedDuration,
}

/// How many may be unhealthy for any to be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Max {
    Count(usize),
    Percent(usize),
}

impl Max {
    fn of(value: Option<&IntOrString>) -> Result<Self, Problem> {
        let wrong = |text: &str| Problem::MaxUnhealthy(text.to_owned());
        match value {
            None => Ok(Max::Percent(100)),
            Some(IntOrString::Int(count)) => {
                usize::try_from(*count).map(Max::Count).map_err(|_| wrong(&count.to_string()))
            }
            Some(IntOrString::String(text)) => {
                let number = |digits: &str| digits.parse::<usize>().map_err(|_| wrong(text));
                match text.strip_suffix('%') {
                    Some(share) => number(share).map(|share| Max::Percent(share.min(100))),
                    None => number(text).map(Max::Count),
                }
            }
        }
    }

    /// How many that is of a number of machines. A share is rounded down.
    pub(super) fn of_total(self, total: usize) -> usize {
        match self {
            Max::Count(count) => count,
            Max::Percent(share) => total * share / 100,
        }
    }
}

impl Rules {
    pub(super) fn of(spec: &MachineHealthCheckSpec) -> Result<Self, Problem> {
        if spec.remediation_template.is_some() {
            return Err(Problem::Template);
        }
        let selector = Selector::try_from(spec.selector.clone())
            .map_err(|error| Problem::Selector(error.to_string()))?;
        let read = |field: &'static str, text: &str| {
            time::parse(text).ok_or_else(|| Problem::Time { field, text: text.to_owned() })
        };
        let startup = match spec.node_startup_timeout.as_deref() {
            None => Some(STARTUP_TIMEOUT),
            Some(text) => {
                Some(read("nodeStartupTimeout", text)?).filter(|time| *time != SignedDuration::ZERO)
            }
        };
        let conditions = spec.unhealthy_conditions.iter().map(|one| {
            let timeout = read("unhealthyConditions.timeout", &one.timeout)?;
            Ok(Condition { about: one.type_.clone(), status: one.status.clone(), timeout })
        });
        Ok(Rules {
            selector,
            conditions: conditions.collect::<Result<_, Problem>>()?,
            startup,
            max: Max::of(spec.max_unhealthy.as_ref())?,
        })
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::{Problem, Rules};

    fn rules(spec: Value) -> Result<Rules, Problem> {
        Rules::of(&serde_json::from_value(spec).unwrap())
    }

    #[rstest]
    #[case::default(json!({}), 7, 7)]
    #[case::count(json!({"maxUnhealthy": 2}), 7, 2)]
    #[case::count_as_text(json!({"maxUnhealthy": "2"}), 7, 2)]
    #[case::share(json!({"maxUnhealthy": "40%"}), 7, 2)]
    #[case::share_of_few(json!({"maxUnhealthy": "40%"}), 2, 0)]
    #[case::none(json!({"maxUnhealthy": 0}), 7, 0)]
    #[case::too_much(json!({"maxUnhealthy": "300%"}), 7, 7)]
    fn shares_are_rounded_down(#[case] spec: Value, #[case] total: usize, #[case] expected: usize) {
        assert_eq!(rules(spec).unwrap().max.of_total(total), expected);
    }

    #[rstest]
    #[case::max(json!({"maxUnhealthy": "some"}), "`maxUnhealthy` is `some`; write a number, or a share such as `40%`")]
    #[case::negative(json!({"maxUnhealthy": -1}), "`maxUnhealthy` is `-1`; write a number, or a share such as `40%`")]
    #[case::startup(json!({"nodeStartupTimeout": "soon"}), "`nodeStartupTimeout` is `soon`; write a time such as `5m`")]
    #[case::timeout(
        json!({"unhealthyConditions": [{"type": "Ready", "status": "False", "timeout": "1d"}]}),
        "`unhealthyConditions.timeout` is `1d`; write a time such as `5m`"
    )]
    fn what_cannot_be_read_is_told(#[case] spec: Value, #[case] expected: &str) {
        assert_eq!(rules(spec).unwrap_err().to_string(), expected);
    }

    #[test]
    fn a_startup_of_zero_is_for_ever() {
        assert_eq!(rules(json!({"nodeStartupTimeout": "0"})).unwrap().startup, None);
        assert_eq!(rules(json!({"nodeStartupTimeout": "0s"})).unwrap().startup, None);
        assert_eq!(rules(json!({})).unwrap().startup.unwrap().as_mins(), 10);
        assert_eq!(rules(json!({"remediationTemplate": {"name": "a"}})).unwrap_err(), Problem::Template);
    }
}
