//! The vCenter itself.

use jiff::Timestamp;
use secrecy::ExposeSecret;
use slipway_assets::Login;
use slipway_providers::vsphere::error::Cause;
use slipway_providers::vsphere::{Error, FaultKind};

use super::super::catalog::{Check, Reason};
use super::super::estate::Estate;
use super::super::report::{Action, Finding, Verdicts};
use super::super::subject::{NoLogin, VCenter};
use crate::preflight::{BREAKING_SECONDS, Clocks, NOTABLE_SECONDS, SOON_DAYS, numbers, reason};

/// Below the first the storage driver does not work; below the second it will not soon.
pub(super) const OLDEST: [u32; 3] = [6, 7, 3];
pub(super) const AGEING: [u32; 3] = [7, 0, 2];
/// So many sessions of one user are a leak: a vCenter has about a thousand for everybody.
const MANY_SESSIONS: usize = 100;

pub(super) fn judge(estate: &Estate, now: Timestamp) -> Verdicts {
    let mut verdicts = Verdicts::default();
    verdicts.add(Check::Connection, None);
    verdicts.add(Check::VCenterVersion, version(estate));
    verdicts.add(Check::Certificate, certificate(estate, now));
    verdicts.add(Check::Clock, clock(estate.clocks));
    verdicts.add(Check::Sessions, sessions(estate));
    verdicts.add(Check::Tasks, tasks(estate));
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

fn version(estate: &Estate) -> Option<Finding> {
    let Estate { api_version, version, build, .. } = estate;
    let check = Check::VCenterVersion;
    // The version of 6.7 U3 is 6.7.0, that of its interface 6.7.3.
    let Some(number) = numbers(api_version).or_else(|| numbers(version)) else {
        let message = format!("the version `{version}` cannot be understood");
        return Some(Finding::unknown(check, version, message));
    };
    let named = format!("vCenter {version}, build {build}");
    let remedy = "upgrade the vCenter to 8.0 or later";
    if number < OLDEST {
        let message = format!("{named}, is too old for the storage driver: 6.7 U3 is the first that works");
        let finding = Finding::failure(check, version, message).remedy(remedy);
        return Some(finding.means(Action::BlockUpgradeOrDegrade, Reason::CheckDeprecatedVcenter));
    }
    if number < AGEING {
        let message = format!("{named}, is too old for newer drivers: 7.0.2 is the first that works");
        let finding = Finding::warning(check, version, message).remedy(remedy);
        return Some(finding.means(Action::BlockUpgrade, Reason::CheckDeprecatedVcenter));
    }
    (number[0] < 8).then(|| {
        Finding::warning(check, version, format!("{named}, is no longer maintained by its vendor"))
            .remedy(remedy)
    })
}

fn certificate(estate: &Estate, now: Timestamp) -> Option<Finding> {
    let check = Check::Certificate;
    let expires = match &estate.expires {
        Ok(expires) => *expires,
        Err(reason) => {
            let message = format!("how long the certificate is valid is not known: {reason}");
            return Some(Finding::unknown(check, "certificate", message));
        }
    };
    let days = expires.duration_since(now).as_hours() / 24;
    let remedy = "replace the vCenter's certificate; where its thumbprint is configured, change that too";
    if expires <= now {
        let message = format!("the certificate expired at {expires:.0}");
        return Some(Finding::failure(check, "certificate", message).remedy(remedy));
    }
    (days < SOON_DAYS).then(|| {
        let message = format!("the certificate expires in {days} days, at {expires:.0}");
        Finding::warning(check, "certificate", message).remedy(remedy)
    })
}

fn clock(clocks: Option<Clocks>) -> Option<Finding> {
    let Some(Clocks { theirs, ours }) = clocks else {
        return Some(Finding::unknown(Check::Clock, "clock", "the vCenter did not say what time it is"));
    };
    let difference = theirs.duration_since(ours).as_secs();
    if difference.abs() <= NOTABLE_SECONDS {
        return None;
    }
    let direction = if difference < 0 { "behind" } else { "ahead of" };
    let message = format!("the clock is {} seconds {direction} the one here", difference.abs());
    let remedy = "make vCenter, ESXi hosts, nodes and this machine follow the same time servers";
    Some(if difference.abs() > BREAKING_SECONDS {
        let message = format!("{message}: certificates and tokens are refused when clocks differ that much");
        Finding::failure(Check::Clock, "clock", message).remedy(remedy)
    } else {
        Finding::warning(Check::Clock, "clock", message).remedy(remedy)
    })
}

fn sessions(estate: &Estate) -> Option<Finding> {
    // Who may not see sessions is not asked for more rights because of this.
    let count = estate.sessions.filter(|count| *count >= MANY_SESSIONS)?;
    let user = &estate.user;
    let message = format!("`{user}` has {count} sessions: somebody logs in and never out");
    let remedy = format!(
        "give every program a user of its own to see which one it is, and see that `{user}` has \
         Sessions.ValidateSession"
    );
    Some(Finding::warning(Check::Sessions, user, message).remedy(remedy))
}

fn tasks(estate: &Estate) -> Option<Finding> {
    let reason = estate.tasks.as_ref().err()?;
    let message = format!("`{}` cannot see tasks: {reason}", estate.user);
    let remedy = "give the user System.Read on the root folder: drivers wait for tasks they have started";
    Some(Finding::failure(Check::Tasks, "tasks", message).remedy(remedy))
}
