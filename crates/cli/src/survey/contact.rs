//! The way into a vCenter: its certificate is looked at before anything secret is sent, and a password is tried at once.

use std::collections::BTreeMap;

use jiff::Timestamp;
use secrecy::SecretString;
use slipway_lifecycle::platform::vsphere::survey;

use super::estate::{Certificate, ContactResult, Estate, Failure, Lists, Target, certificate};
use super::prompt::{Ask, Prompter, Stop, Tone};

/// Wrong passwords until the survey ends: vCenters lock accounts after a few more.
const ATTEMPTS: u32 = 3;

/// How often a vCenter refused a user.
#[derive(Debug, Default)]
pub(super) struct Refusals(BTreeMap<(String, String), u32>);

/// The prompts, and the vCenters that answers are tried on.
pub(super) struct Contact<'a> {
    pub(super) prompter: &'a mut dyn Prompter,
    pub(super) estate: &'a mut dyn Estate,
    pub(super) now: Timestamp,
}

/// What came of a password.
pub(super) enum Tried {
    In(Box<Lists>),
    /// It is not the right one.
    Refused,
    /// It could not be determined; it can be tried again.
    Unclear,
}

impl Contact<'_> {
    /// Whether the vCenter answers, with a certificate that is trusted. One that the user trusts is pinned.
    pub(super) fn reach(&mut self, target: &mut Target) -> Result<bool, Stop> {
        let label = target.label();
        self.prompter.say(Tone::Plain, &format!("connecting to {label} …"));
        loop {
            match self.estate.contact(target) {
                Ok(ContactResult::Trusted(product)) => {
                    self.prompter.say(Tone::Info, &format!("{label} is a {product}"));
                    return Ok(true);
                }
                Ok(ContactResult::Untrusted { reason, certificate }) => {
                    if !self.trusts(&label, &reason, &certificate)? {
                        self.prompter.say(Tone::Info, &format!("nothing was sent to {label}"));
                        let hint =
                            "name another one, or add its authority to those the system trusts and try again";
                        self.prompter.say(Tone::Hint, hint);
                        return Ok(false);
                    }
                    target.thumbprint = Some(certificate.sha256);
                }
                Err(failure) => {
                    self.tell(&label, failure)?;
                    return Ok(false);
                }
            }
        }
    }

    /// Shows a certificate and asks whether it is the right one.
    fn trusts(&mut self, label: &str, reason: &str, certificate: &Certificate) -> Result<bool, Stop> {
        self.prompter.say(Tone::Warning, &format!("the certificate of {label} is not trusted: {reason}"));
        for line in certificate::lines(certificate, self.now) {
            self.prompter.say(Tone::Plain, &line);
        }
        let ask = Ask::new("Trust this certificate, and no other?")
            .help("compare the fingerprint with the one the vCenter's administrator sees; it is pinned");
        match self.prompter.confirm(&ask, false) {
            Err(Stop::Back) => Ok(false),
            answer => answer,
        }
    }

    pub(super) fn tell(&mut self, label: &str, failure: Failure) -> Result<(), Stop> {
        let (message, hint) = match failure {
            Failure::Interrupted => return Err(Stop::Abort),
            Failure::VCenter(survey::Failure::Login(message)) => (message, None),
            Failure::VCenter(survey::Failure::Other { message, hint }) => (message, hint),
        };
        self.prompter.say(Tone::Error, &format!("{label}: {message}"));
        if let Some(hint) = hint {
            self.prompter.say(Tone::Hint, &hint);
        }
        Ok(())
    }

    /// Tries a password, and reads the lists with it. Three times wrong is the end.
    pub(super) fn log_in(
        &mut self,
        target: &Target,
        user: &str,
        password: &SecretString,
        refusals: &mut Refusals,
    ) -> Result<Tried, Stop> {
        let label = target.label();
        self.prompter.say(Tone::Plain, &format!("logging in to {label} as {user} …"));
        let key = (label.clone(), user.to_owned());
        match self.estate.read(target, user, password) {
            Ok(inventory) => {
                refusals.0.remove(&key);
                Ok(Tried::In(Box::new(inventory)))
            }
            Err(Failure::VCenter(survey::Failure::Login(words))) => {
                self.prompter.say(Tone::Error, &format!("{label} refuses {user}: {words}"));
                let refused = refusals.0.entry(key).or_default();
                *refused += 1;
                if *refused < ATTEMPTS {
                    return Ok(Tried::Refused);
                }
                Err(Stop::Failed {
                    error: anyhow::anyhow!("{label} refused {user} {ATTEMPTS} times"),
                    hint: Some(
                        "check user and password, and that the account is not locked; nothing was written"
                            .to_owned(),
                    ),
                })
            }
            Err(failure) => {
                self.tell(&label, failure)?;
                if self.prompter.confirm(&Ask::new("Try again?"), true)? {
                    Ok(Tried::Unclear)
                } else {
                    Err(Stop::Back)
                }
            }
        }
    }
}
