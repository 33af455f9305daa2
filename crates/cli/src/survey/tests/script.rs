//! People and vCenters that do what a test says.

use std::collections::{BTreeMap, VecDeque};

use jiff::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use slipway_lifecycle::platform::vsphere::survey::{self, Cluster, Validity};

use crate::survey::estate::{
    Certificate, ContactResult, Datacenter, Datastore, Estate, Failure, Lists, Target,
};
use crate::survey::prompt::{Ask, Check, Echo, Prompter, Stop, Tone};

/// What the user does at a prompt.
#[derive(Debug, Clone, Copy)]
pub(super) enum Do {
    Type(&'static str),
    /// The default, or the option under the cursor.
    Enter,
    Pick(&'static str),
    Yes,
    No,
    Back,
    Abort,
}

/// Answers prompts in order, and notes everything that is shown.
#[derive(Debug, Default)]
pub(super) struct Script {
    steps: VecDeque<(&'static str, Do)>,
    pub(super) transcript: String,
}

impl Script {
    pub(super) fn new(steps: impl IntoIterator<Item = (&'static str, Do)>) -> Self {
        Script { steps: steps.into_iter().collect(), transcript: String::new() }
    }

    /// Whether everything was asked that should have been.
    pub(super) fn is_done(&self) -> bool {
        self.steps.is_empty()
    }

    fn note(&mut self, line: &str) {
        self.transcript.push_str(line);
        self.transcript.push('\n');
    }

    fn step(&mut self, ask: &Ask) -> Result<Do, Stop> {
        let (part, step) = self.steps.pop_front().unwrap_or(("", Do::Abort));
        assert!(
            ask.message.contains(part),
            "expected {part:?}, was asked {:?} after\n{}",
            ask.message,
            self.transcript
        );
        match step {
            Do::Back => {
                self.note(&format!("? {} <back>", ask.message));
                Err(Stop::Back)
            }
            Do::Abort => {
                self.note(&format!("? {} <abort>", ask.message));
                Err(Stop::Abort)
            }
            step => Ok(step),
        }
    }
}

impl Prompter for Script {
    fn text(&mut self, ask: &Ask, default: Option<&str>, check: Check) -> Result<String, Stop> {
        loop {
            let text = match self.step(ask)? {
                Do::Enter => default.unwrap_or_default().to_owned(),
                Do::Type(text) => text.to_owned(),
                other => panic!("{other:?} at {}", ask.message),
            };
            self.note(&format!("? {} {text}", ask.message));
            match check(&text) {
                Ok(()) => return Ok(text),
                Err(reason) => self.note(&format!("# {reason}")),
            }
        }
    }

    fn secret(&mut self, ask: &Ask, _echo: Echo, check: Check) -> Result<SecretString, Stop> {
        loop {
            let Do::Type(text) = self.step(ask)? else { panic!("a secret is typed") };
            self.note(&format!("? {} ********", ask.message));
            match check(text) {
                Ok(()) => return Ok(text.into()),
                Err(reason) => self.note(&format!("# {reason}")),
            }
        }
    }

    fn select(&mut self, ask: &Ask, options: &[String], start: usize) -> Result<usize, Stop> {
        let chosen = match self.step(ask)? {
            Do::Enter => start,
            Do::Pick(part) => {
                options.iter().position(|option| option.contains(part)).expect("such an option")
            }
            other => panic!("{other:?} at {}", ask.message),
        };
        self.note(&format!("? {} [{}] {}", ask.message, options.join(" | "), options[chosen]));
        Ok(chosen)
    }

    fn confirm(&mut self, ask: &Ask, default: bool) -> Result<bool, Stop> {
        let answer = match self.step(ask)? {
            Do::Enter => default,
            Do::Yes => true,
            Do::No => false,
            other => panic!("{other:?} at {}", ask.message),
        };
        self.note(&format!("? {} {}", ask.message, if answer { "yes" } else { "no" }));
        Ok(answer)
    }

    fn say(&mut self, tone: Tone, line: &str) {
        let prefix = match tone {
            Tone::Plain => "",
            Tone::Info => "info: ",
            Tone::Warning => "warning: ",
            Tone::Error => "error: ",
            Tone::Hint => "hint: ",
        };
        self.note(format!("{prefix}{line}").trim_end());
    }
}

/// vCenters by server name.
#[derive(Debug, Default)]
pub(super) struct Fake {
    pub(super) inventories: BTreeMap<&'static str, VecDeque<Lists>>,
    /// Servers whose certificate the system does not trust.
    pub(super) untrusted: Vec<&'static str>,
    /// Logins that were tried, and under which trust.
    pub(super) logins: Vec<(String, String, Option<String>)>,
}

pub(super) const PASSWORD: &str = "hunter2";
const FINGERPRINT: &str =
    "AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB";

impl Estate for Fake {
    fn contact(&mut self, target: &Target) -> Result<ContactResult, Failure> {
        if !self.inventories.contains_key(target.server.as_str()) {
            let hint = Some("check the name".to_owned());
            let message = "the server cannot be reached".to_owned();
            return Err(survey::Failure::Other { message, hint }.into());
        }
        let pinned = target.thumbprint.as_deref() == Some(FINGERPRINT);
        if !pinned && self.untrusted.contains(&target.server.as_str()) {
            let certificate = Box::new(Certificate {
                subject: format!("CN={}", target.server),
                issuer: "CN=CA".to_owned(),
                names: vec![target.server.clone()],
                validity: Some(Validity { not_before: Timestamp::UNIX_EPOCH, not_after: Timestamp::MAX }),
                sha256: FINGERPRINT.to_owned(),
            });
            return Ok(ContactResult::Untrusted {
                reason: "its issuer is not trusted".to_owned(),
                certificate,
            });
        }
        Ok(ContactResult::Trusted("VMware vCenter Server 8.0.3".to_owned()))
    }

    fn read(&mut self, target: &Target, user: &str, password: &SecretString) -> Result<Lists, Failure> {
        self.logins.push((target.server.clone(), user.to_owned(), target.thumbprint.clone()));
        if password.expose_secret() != PASSWORD {
            return Err(survey::Failure::Login("incorrect user name or password".to_owned()).into());
        }
        let versions = self.inventories.get_mut(target.server.as_str()).expect("such a vCenter");
        Ok(if versions.len() > 1 { versions.pop_front() } else { versions.front().cloned() }
            .expect("an inventory"))
    }
}

/// A datacenter with clusters that all have the same datastores and networks.
pub(super) fn inventory(
    datacenter: &str,
    clusters: &[&str],
    datastores: &[&str],
    networks: &[&str],
) -> Lists {
    let datastores: Vec<Datastore> = datastores
        .iter()
        .map(|name| Datastore {
            path: format!("/{datacenter}/datastore/{name}"),
            space: Some((400 << 30, 1000 << 30)),
        })
        .collect();
    let cluster = |name: &&str| Cluster {
        path: format!("/{datacenter}/host/{name}"),
        datastores: datastores.clone(),
        networks: networks.iter().map(|name| (*name).to_owned()).collect(),
        zone: None,
    };
    let clusters = clusters.iter().map(cluster).collect();
    Lists { datacenters: vec![Datacenter { name: datacenter.to_owned(), region: None, clusters }] }
}
