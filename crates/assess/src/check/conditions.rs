//! What findings mean for the drivers of the cluster: whether they are degraded, may be upgraded, may be installed.

use std::collections::BTreeSet;

use super::catalog::Reason;
use super::report::{Action, Finding, Round};

/// What holds for the drivers. Everything that counts is in `reasons`, not only the worst.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriverConditions {
    pub degraded: State,
    pub upgradeable: State,
    /// Whether the storage driver may be installed where it is not yet.
    pub installable: State,
    pub reasons: Vec<EffectReason>,
}

/// A condition without its type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    /// None is `Unknown`.
    pub status: Option<bool>,
    /// The reason of the worst finding, or `AsExpected`.
    pub reason: String,
    pub message: String,
}

/// A finding that counts, and what it leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct EffectReason {
    pub effect: Effect,
    pub reason: Reason,
}

/// What a finding leads to, as metrics name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    Degraded,
    UpgradeUnknown,
    UpgradeBlocked,
    InstallBlocked,
}

impl Effect {
    pub fn as_str(self) -> &'static str {
        match self {
            Effect::Degraded => "degraded",
            Effect::UpgradeUnknown => "upgrade_unknown",
            Effect::UpgradeBlocked => "upgrade_blocked",
            Effect::InstallBlocked => "install_blocked",
        }
    }
}

/// The effects of one finding. What would degrade a driver that is there blocks the upgrade where it is not.
fn effects(finding: &Finding, installed: bool) -> &'static [Effect] {
    // A vCenter that cannot be asked leaves the answer unknown.
    let mute = matches!(finding.meaning.reason, Reason::VsphereConnectionFailed | Reason::InvalidCredentials);
    match (finding.meaning.action, installed) {
        (Action::Nothing, _) => &[],
        (Action::BlockUpgradeOrDegrade, false) if mute => &[Effect::UpgradeUnknown, Effect::InstallBlocked],
        (Action::BlockUpgrade, _) | (Action::BlockUpgradeOrDegrade, false) => &[Effect::UpgradeBlocked],
        (Action::BlockInstall, _) => &[Effect::UpgradeBlocked, Effect::InstallBlocked],
        (Action::Degrade, _) | (Action::BlockUpgradeOrDegrade, true) => {
            &[Effect::Degraded, Effect::UpgradeBlocked, Effect::InstallBlocked]
        }
    }
}

/// `installed` says whether our storage driver is there.
pub fn verdict(round: &Round, installed: bool) -> DriverConditions {
    let state = |effect: Effect, status: Option<bool>| {
        let counting: Vec<&Finding> =
            round.findings.iter().filter(|finding| effects(finding, installed).contains(&effect)).collect();
        let worst = counting.iter().max_by_key(|finding| finding.meaning.action)?;
        let messages: BTreeSet<String> = counting
            .iter()
            .map(|finding| match (&finding.node, &finding.endpoint) {
                (Some(node), _) => format!("node {node}: {}", finding.message),
                (None, Some(server)) => format!("vCenter {server}: {}", finding.message),
                (None, None) => finding.message.clone(),
            })
            .collect();
        let reason = worst.meaning.reason.as_str().to_owned();
        Some(State { status, reason, message: shortened(&messages) })
    };
    let fine = |status: bool, message: &str| State {
        status: Some(status),
        reason: "AsExpected".to_owned(),
        message: message.to_owned(),
    };
    let reasons: BTreeSet<EffectReason> = round
        .findings
        .iter()
        .flat_map(|finding| {
            let effects = effects(finding, installed).iter();
            effects.map(|effect| EffectReason { effect: *effect, reason: finding.meaning.reason })
        })
        .collect();
    DriverConditions {
        degraded: state(Effect::Degraded, Some(true)).unwrap_or_else(|| fine(false, "all checks passed")),
        upgradeable: state(Effect::UpgradeBlocked, Some(false))
            .or_else(|| state(Effect::UpgradeUnknown, None))
            .unwrap_or_else(|| fine(true, "nothing stands in the way")),
        installable: state(Effect::InstallBlocked, Some(false))
            .unwrap_or_else(|| fine(true, "nothing stands in the way")),
        reasons: reasons.into_iter().collect(),
    }
}

/// A condition's message has room for 32768 characters, far more than a reader needs.
const MESSAGES: usize = 10;

fn shortened(messages: &BTreeSet<String>) -> String {
    let shown: Vec<&str> = messages.iter().take(MESSAGES).map(String::as_str).collect();
    match messages.len().saturating_sub(MESSAGES) {
        0 => shown.join("; "),
        more => format!("{}; and {more} more", shown.join("; ")),
    }
}
