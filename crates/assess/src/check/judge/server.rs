//! The vCenter itself.

use jiff::Timestamp;
use secrecy::ExposeSecret;
use slipway_providers::vsphere::error::Cause;
use slipway_providers::vsphere::{Error, FaultKind, Login};

use super::super::catalog::{Check, Reason};
use super::super::report::{Action, Finding, Meaning, Verdicts};
use super::super::snapshot::VCenterSnapshot;
use super::super::target::{NoLogin, VCenter};
use crate::finding::{Judgement, Outcome};
use crate::text::reason;
use crate::vsphere::version::{UPGRADE, maintained, numbers};
use crate::vsphere::{certificate, clock};

/// Below the first the storage driver does not work; below the second it will not soon.
pub(super) const OLDEST: [u32; 3] = [6, 7, 3];
pub(super) const AGEING: [u32; 3] = [7, 0, 2];
/// So many sessions of one user are a leak: a vCenter has about a thousand for all users together.
const MANY_SESSIONS: usize = 100;

pub(super) fn judge(snapshot: &VCenterSnapshot, now: Timestamp) -> Verdicts {
    let mut verdicts = Verdicts::default();
    verdicts.add(Check::Connection, None);
    let (judgement, meaning) = version(snapshot);
    let found = judgement.outcome != Outcome::Pass;
    let finding =
        || Finding { meaning, ..Finding::judged(Check::VCenterVersion, &snapshot.version, judgement) };
    verdicts.add(Check::VCenterVersion, found.then(finding));
    verdicts.judge(Check::Certificate, "certificate", certificate::judge(&snapshot.expires, now));
    verdicts.judge(Check::Clock, "clock", clock::judge(snapshot.clocks));
    verdicts.add(Check::Sessions, sessions(snapshot));
    verdicts.add(Check::Tasks, tasks(snapshot));
    verdicts
}

/// A vCenter that could not be asked.
pub(in crate::check) fn unreached(server: &str, error: &Error) -> Finding {
    let message = format!("{}; nothing else is known about this vCenter", reason(error));
    let refused = error.fault().is_some_and(|fault| fault.kind == FaultKind::InvalidLogin);
    let why = if refused { Reason::InvalidCredentials } else { Reason::VsphereConnectionFailed };
    let remedy = match (&error.source, error.hint()) {
        (Cause::Setup(_), _) => "correct how its certificate is verified",
        (_, Some(hint)) => hint,
        (_, None) => "run it again; if it stays, look after the vCenter",
    };
    let finding = Finding::failure(Check::Connection, server, message).remedy(remedy).at(server);
    finding.means(Action::BlockUpgradeOrDegrade, why)
}

/// A vCenter that went on too long.
pub(in crate::check) fn late(server: &str, limit: std::time::Duration) -> Finding {
    let message = format!("no answer within {limit:?}; nothing else is known about this vCenter");
    let finding = Finding::failure(Check::Connection, server, message).at(server);
    finding
        .remedy("see whether it is overloaded or a firewall drops packets; give it more time with --timeout")
        .means(Action::BlockUpgradeOrDegrade, Reason::VsphereConnectionFailed)
}

/// What is wrong with a login before it is used. Drivers fail on these in ways that are hard to understand.
pub(in crate::check) fn credentials(vcenter: &VCenter) -> Vec<Finding> {
    let server = vcenter.server.as_str();
    let finding = |message: String, why, remedy: &str| {
        let finding = Finding::failure(Check::Credentials, server, message).remedy(remedy).at(server);
        finding.means(Action::Degrade, why)
    };
    let Login { user, password } = match &vcenter.login {
        Ok(login) => login,
        Err(NoLogin::Refused(why)) => {
            let message = format!("{why}; nothing else is known about this vCenter");
            let finding = Finding::failure(Check::Connection, server, message).at(server);
            let finding = finding.remedy("correct user and password, and see that the account is not locked");
            return vec![finding.means(Action::BlockUpgradeOrDegrade, Reason::InvalidCredentials)];
        }
        Err(NoLogin::Missing(why)) => {
            let remedy = "give a user and a password for this vCenter";
            return vec![finding(why.clone(), Reason::OpenshiftApiError, remedy)];
        }
    };
    let mut findings = Vec::new();
    if user.contains(['\n', '\r']) {
        let message = "the user's name has a line break in it".to_owned();
        let remedy = "write the Secret again without a line break at the end: `printf %s`, not `echo`";
        findings.push(finding(message, Reason::UsernameWithNewLine, remedy));
    } else if !user.contains(['@', '\\']) {
        let message = format!("the user `{user}` has no domain, and the storage driver refuses it");
        let remedy = "write it as `name@domain`";
        findings.push(finding(message, Reason::UsernameWithoutDomain, remedy));
    }
    if password.expose_secret().contains(['\n', '\r']) {
        let message = format!("the password of `{}` has a line break in it", user.trim());
        let remedy = "write the Secret again without a line break at the end: `printf %s`, not `echo`";
        findings.push(finding(message, Reason::PasswordWithNewLine, remedy));
    }
    findings
}

fn version(snapshot: &VCenterSnapshot) -> (Judgement, Meaning) {
    let VCenterSnapshot { api_version, version, build, .. } = snapshot;
    // The version of 6.7 U3 is 6.7.0, that of its interface 6.7.3.
    let Some(number) = numbers(api_version).or_else(|| numbers(version)) else {
        let message = format!("the version `{version}` cannot be understood");
        return (Judgement::unknown(message), Meaning::default());
    };
    let named = format!("vCenter {version}, build {build}");
    let means = |action| Meaning { action, reason: Reason::CheckDeprecatedVcenter };
    if number < OLDEST {
        let message = format!("{named}, is too old for the storage driver: 6.7 U3 is the first that works");
        return (Judgement::failure(message).remedy(UPGRADE), means(Action::BlockUpgradeOrDegrade));
    }
    if number < AGEING {
        let message = format!("{named}, is too old for newer drivers: 7.0.2 is the first that works");
        return (Judgement::warning(message).remedy(UPGRADE), means(Action::BlockUpgrade));
    }
    (maintained(number, named), Meaning::default())
}

fn sessions(snapshot: &VCenterSnapshot) -> Option<Finding> {
    // Who may not see sessions is not asked for more rights because of this.
    let count = snapshot.sessions.filter(|count| *count >= MANY_SESSIONS)?;
    let user = &snapshot.privileges.user;
    let message = format!("`{user}` has {count} sessions: a program logs in and never logs out");
    let remedy = format!(
        "give every program its own user to see which one it is, and see that `{user}` has \
         Sessions.ValidateSession"
    );
    Some(Finding::warning(Check::Sessions, user, message).remedy(remedy))
}

fn tasks(snapshot: &VCenterSnapshot) -> Option<Finding> {
    let reason = snapshot.tasks.as_ref().err()?;
    let message = format!("`{}` cannot see tasks: {reason}", snapshot.privileges.user);
    let remedy = "give the user System.Read on the root folder: drivers wait for tasks they have started";
    Some(Finding::failure(Check::Tasks, "tasks", message).remedy(remedy))
}
