//! Feature sets and feature gates.

use std::collections::BTreeMap;

use crate::decode::{Entries, Field, choice, closest};
use crate::findings::{Findings, Rule};
use crate::yaml::printable;

choice! {
    /// A named selection of features.
    FeatureSet {
        /// What is on by default.
        Default = "Default",
        /// Default plus what is close to being finished. The cluster can never be upgraded.
        TechPreviewNoUpgrade = "TechPreviewNoUpgrade",
        /// Everything there is. The cluster can never be upgraded.
        DevPreviewNoUpgrade = "DevPreviewNoUpgrade",
        /// Chosen one by one with `featureGates`. The cluster can never be upgraded.
        CustomNoUpgrade = "CustomNoUpgrade",
        /// The community distribution's set; not available in this build.
        Okd = "OKD",
    }
}

/// A gate that decides about something in the install-config.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Gate {
    VSphereMultiVCenters,
    VSphereMultiNetworks,
    VSphereMultiDisk,
    VSphereHostVmGroupZonal,
    VSphereMixedNodeEnv,
    VSphereMultiVCenterDay2,
    VSphereStaticIps,
    OnPremDnsRecords,
    ConfigurablePki,
    MultiDiskSetup,
    ClusterApiInstall,
}

/// The smallest feature set a gate is on in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Maturity {
    Default,
    TechPreview,
    /// The feature is always there and the gate no longer asked.
    Retired,
}

/// One row of the table of gates.
#[derive(Debug, Clone, Copy)]
pub struct GateInfo {
    pub gate: Gate,
    pub name: &'static str,
    pub maturity: Maturity,
}

/// The gates, with the maturity they have in openshift/api in 2026.
pub const GATES: [GateInfo; 11] = [
    GateInfo { gate: Gate::VSphereMultiVCenters, name: "VSphereMultiVCenters", maturity: Maturity::Default },
    GateInfo { gate: Gate::VSphereMultiNetworks, name: "VSphereMultiNetworks", maturity: Maturity::Default },
    GateInfo { gate: Gate::VSphereMultiDisk, name: "VSphereMultiDisk", maturity: Maturity::Default },
    GateInfo {
        gate: Gate::VSphereHostVmGroupZonal,
        name: "VSphereHostVMGroupZonal",
        maturity: Maturity::Default,
    },
    GateInfo { gate: Gate::VSphereMixedNodeEnv, name: "VSphereMixedNodeEnv", maturity: Maturity::Default },
    GateInfo {
        gate: Gate::VSphereMultiVCenterDay2,
        name: "VSphereMultiVCenterDay2",
        maturity: Maturity::TechPreview,
    },
    GateInfo { gate: Gate::VSphereStaticIps, name: "VSphereStaticIPs", maturity: Maturity::Retired },
    GateInfo { gate: Gate::OnPremDnsRecords, name: "OnPremDNSRecords", maturity: Maturity::TechPreview },
    GateInfo { gate: Gate::ConfigurablePki, name: "ConfigurablePKI", maturity: Maturity::TechPreview },
    GateInfo { gate: Gate::MultiDiskSetup, name: "MultiDiskSetup", maturity: Maturity::TechPreview },
    GateInfo { gate: Gate::ClusterApiInstall, name: "ClusterAPIInstall", maturity: Maturity::Retired },
];

impl Gate {
    pub fn info(self) -> GateInfo {
        GATES[GATES.iter().position(|info| info.gate == self).unwrap_or_default()]
    }

    pub fn name(self) -> &'static str {
        self.info().name
    }
}

/// The features a cluster is installed with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Features {
    pub set: FeatureSet,
    /// Gates switched one by one; only with [`FeatureSet::CustomNoUpgrade`].
    pub custom: BTreeMap<String, bool>,
    /// What was wanted could not be read, so nothing is held against a gate.
    unknown: bool,
}

impl Default for Features {
    fn default() -> Self {
        Features { set: FeatureSet::Default, custom: BTreeMap::new(), unknown: false }
    }
}

impl Features {
    pub fn enabled(&self, gate: Gate) -> bool {
        let info = gate.info();
        if self.unknown {
            return true;
        }
        if let Some(&on) = self.custom.get(info.name) {
            return on || info.maturity == Maturity::Retired;
        }
        info.maturity != Maturity::TechPreview || self.tech_preview()
    }

    /// Features on the way to being finished are on.
    pub fn tech_preview(&self) -> bool {
        self.unknown || matches!(self.set, FeatureSet::TechPreviewNoUpgrade | FeatureSet::DevPreviewNoUpgrade)
    }

    /// How to switch a gate on, for hints.
    pub fn how_to_enable(&self, gate: Gate) -> String {
        let name = gate.name();
        match self.custom.get(name) {
            Some(false) => format!("remove `{name}=false` from `featureGates`"),
            _ if self.set == FeatureSet::CustomNoUpgrade => format!("add `{name}=true` to `featureGates`"),
            _ => format!("set `featureSet: CustomNoUpgrade` and `featureGates: [{name}=true]`"),
        }
    }
}

/// Reads `featureSet` and `featureGates`.
pub(crate) fn resolve(
    set: &Field<FeatureSet>,
    gates: &Field<Entries<String>>,
    findings: &mut Findings,
) -> Features {
    let chosen = set.cloned_or(FeatureSet::Default);
    if let (FeatureSet::Okd, Some(at)) = (chosen, set.at()) {
        findings
            .error(
                Rule::FeatureSet,
                at,
                "the feature set OKD is only for builds of the community distribution",
            )
            .hint("remove the field, or choose TechPreviewNoUpgrade, DevPreviewNoUpgrade or CustomNoUpgrade");
    }
    if let (true, Some(at)) = (chosen.as_str().ends_with("NoUpgrade"), set.at()) {
        findings.warning(
            Rule::NoUpgrade,
            at,
            format!("with {chosen} the cluster can never be upgraded, and the setting cannot be undone"),
        );
    }
    let mut custom = BTreeMap::new();
    if let (Some(at), false, false) = (gates.at(), chosen == FeatureSet::CustomNoUpgrade, set.is_invalid())
        && !gates.is_empty()
    {
        findings
            .error(
                Rule::FeatureGatesForbidden,
                at,
                "`featureGates` is only allowed with `featureSet: CustomNoUpgrade`",
            )
            .hint("set `featureSet: CustomNoUpgrade`, or remove `featureGates`");
        return Features { set: chosen, custom, unknown: true };
    }
    for entry in gates.items() {
        let Some((name, value)) =
            entry.value.split_once('=').filter(|(name, value)| !name.is_empty() && !value.contains('='))
        else {
            findings
                .error(
                    Rule::FeatureGate,
                    entry.at,
                    format!("`{}` is not of the form Name=true", printable(&entry.value)),
                )
                .hint("write the gate's name, `=`, and true or false");
            continue;
        };
        let Some(on) = go_bool(value) else {
            findings
                .error(
                    Rule::FeatureGate,
                    entry.at,
                    format!("`{}` is neither true nor false", printable(value)),
                )
                .hint(format!("write `{}=true` or `{}=false`", printable(name), printable(name)));
            continue;
        };
        check_known(name, entry.at, findings);
        if custom.insert(name.to_owned(), on).is_some_and(|before| before != on) {
            findings
                .error(
                    Rule::FeatureGate,
                    entry.at,
                    format!("the gate `{}` is switched both on and off", printable(name)),
                )
                .hint("keep one of the two");
        }
    }
    Features { set: chosen, custom, unknown: set.is_invalid() || gates.is_partial() }
}

fn check_known(name: &str, at: crate::yaml::At, findings: &mut Findings) {
    match GATES.iter().find(|info| info.name == name) {
        Some(info) if info.maturity == Maturity::Retired => {
            findings.note(
                Rule::FeatureGateRetired,
                at,
                format!("the gate `{name}` has no effect any more; what it enabled is always on"),
            );
        }
        Some(_) => {}
        // Gates belong to the release; only a near miss of one that matters here is suspicious.
        None => {
            if let Some(near) = closest(name, GATES.iter().map(|info| info.name)) {
                findings
                    .warning(
                        Rule::FeatureGateUnknown,
                        at,
                        format!("no gate `{}` is known here", printable(name)),
                    )
                    .hint(format!("did you mean `{near}`?"));
            }
        }
    }
}

/// What Go's `strconv.ParseBool` accepts.
fn go_bool(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}
