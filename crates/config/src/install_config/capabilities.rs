//! `capabilities`: optional components of OpenShift.

use std::fmt;

use super::Check;
use crate::decode::{BadText, Entries, Field, FromText, Located, closest, object, text};
use crate::findings::Rule;
use crate::shape::Text;
use crate::yaml::printable;

object! {
    /// Optional components of OpenShift.
    WrittenCapabilities {
        /// The set to start from.
        baseline: Baseline as "baselineCapabilitySet", default "vCurrent";
        /// Components on top of the set.
        additional: Entries<String> as "additionalEnabledCapabilities";
    }
}

/// Components that need another one.
const REQUIRES: [(&str, &str); 2] =
    [("marketplace", "OperatorLifecycleManager"), ("baremetal", "MachineAPI")];

/// Every component, and the first version whose set has it: no later set leaves one out again. From `ClusterVersionCapabilitySets`
/// in openshift/api (config/v1, 2026); the ClusterVersion takes no other names.
const COMPONENTS: [(&str, u32); 17] = [
    ("baremetal", 11),
    ("MachineAPI", 11),
    ("marketplace", 11),
    ("openshift-samples", 11),
    ("Console", 12),
    ("CSISnapshot", 12),
    ("Insights", 12),
    ("Storage", 12),
    ("NodeTuning", 13),
    ("Build", 14),
    ("DeploymentConfig", 14),
    ("ImageRegistry", 14),
    ("CloudCredential", 15),
    ("OperatorLifecycleManager", 15),
    ("CloudControllerManager", 16),
    ("Ingress", 16),
    ("OperatorLifecycleManagerV1", 18),
];

/// The versions that have a set of their own.
const FIRST_SET: u32 = 11;
const LAST_SET: u32 = 18;

/// What a cluster cannot do without, and whether that is so on the platform none too.
const NEEDED: [(&str, bool); 3] =
    [("CloudCredential", false), ("CloudControllerManager", false), ("Ingress", true)];

/// `None`, `vCurrent` or `v4.<minor>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Baseline {
    None,
    Minor(u32),
    Current,
}

impl Baseline {
    fn has(self, component: &str) -> bool {
        COMPONENTS.iter().any(|(name, since)| *name == component && self >= Baseline::Minor(*since))
    }
}

impl FromText for Baseline {
    const TEXT: Text = Text::new("None, vCurrent or v4.11 to v4.18").pattern(r"^(None|vCurrent|v4\.1[1-8])$");

    fn from_text(text: &str) -> Result<Self, BadText> {
        let set = |minor: &u32| (FIRST_SET..=LAST_SET).contains(minor);
        let minor = |text: &str| text.strip_prefix("v4.")?.parse::<u32>().ok().filter(set);
        match text {
            "None" => Ok(Baseline::None),
            "vCurrent" => Ok(Baseline::Current),
            _ => minor(text).map(Baseline::Minor).ok_or_else(|| {
                BadText::new("there is no such set of capabilities").rule(Rule::Capabilities).hint(format!(
                    "write vCurrent, None, or v4.{FIRST_SET} to v4.{LAST_SET}; later versions have no sets of their own"
                ))
            }),
        }
    }
}

text!(Baseline);

impl fmt::Display for Baseline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Baseline::None => f.write_str("None"),
            Baseline::Minor(minor) => write!(f, "v4.{minor}"),
            Baseline::Current => f.write_str("vCurrent"),
        }
    }
}

/// Optional components of OpenShift.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capabilities {
    pub baseline: Baseline,
    pub additional: Vec<String>,
}

#[expect(clippy::option_option, reason = "absent and unusable are different things")]
pub(super) fn resolve(
    written: &Field<WrittenCapabilities>,
    platform: Option<&str>,
    check: &mut Check<'_>,
) -> Option<Option<Capabilities>> {
    let set = match written {
        Field::Absent => return Some(None),
        Field::Invalid(_) => return None,
        Field::Set(set) => set,
    };
    let WrittenCapabilities { baseline, additional } = &set.value;
    for component in additional.items() {
        known(component, check);
    }
    if baseline.is_invalid() || additional.is_partial() {
        return None;
    }
    let chosen = baseline.cloned_or(Baseline::Current);
    let added = |name: &str| additional.items().find(|added| added.value == name);
    let has = |name: &str| chosen.has(name) || added(name).is_some();
    let at = baseline.at().unwrap_or(set.at);
    let missing: Vec<&str> = NEEDED
        .into_iter()
        .filter(|(name, everywhere)| (*everywhere || platform != Some("none")) && !has(name))
        .map(|(name, _)| name)
        .collect();
    if !missing.is_empty() {
        let names = missing.join(", ");
        check
            .findings
            .error(Rule::Capabilities, at, format!("this set leaves out what the cluster needs: {names}"))
            .hint(format!("add to `additionalEnabledCapabilities`: {names}"));
    }
    for (name, needed) in REQUIRES.into_iter().filter(|(name, needed)| has(name) && !has(needed)) {
        let at = added(name).map_or(at, |component| component.at);
        check
            .findings
            .error(Rule::Capabilities, at, format!("{name} does not work without {needed}"))
            .hint(format!("add {needed} to `additionalEnabledCapabilities`"));
    }
    let additional = additional.items().map(|component| component.value.clone()).collect();
    Some(Some(Capabilities { baseline: chosen, additional }))
}

fn known(component: &Located<String>, check: &mut Check<'_>) {
    let names = || COMPONENTS.iter().map(|(name, _)| *name);
    if names().any(|name| name == component.value) {
        return;
    }
    let hint = match closest(&component.value, names()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("the capabilities are {}", names().collect::<Vec<_>>().join(", ")),
    };
    check
        .findings
        .error(
            Rule::Capabilities,
            component.at,
            format!("OpenShift has no capability `{}`", printable(&component.value)),
        )
        .hint(hint);
}
