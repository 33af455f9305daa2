//! The questions every platform has, and how text questions are asked.

use std::path::Path;
use std::rc::Rc;

use secrecy::{ExposeSecret, SecretString};
use slipway_lifecycle::install_config::PlatformKind;

use super::draft::{Draft, Question};
use super::prompt::{Ask, Check, Echo, Stop, Tone};
use super::rules::judge;
use super::{By, Survey};
use crate::input;

/// The default of OpenShift.
const MACHINE_NETWORK: &str = "10.0.0.0/16";

const PLATFORMS: [(PlatformKind, &str); 4] = [
    (PlatformKind::VSphere, "vsphere: one to three vCenters"),
    (PlatformKind::Ovirt, "ovirt"),
    (PlatformKind::KubeVirt, "kubevirt: virtual machines of another cluster"),
    (PlatformKind::None, "none: machines of your own"),
];

/// Puts an answer where it belongs.
pub(super) type Put = Rc<dyn Fn(&mut Draft, &str)>;

/// A question that is answered with text.
pub(super) struct TextQuestion {
    pub(super) question: Question,
    pub(super) ask: Ask,
    pub(super) default: Option<String>,
    /// The flag, and what was given with it.
    pub(super) given: Option<(&'static str, String)>,
    /// The field the answer goes to.
    pub(super) field: String,
    pub(super) put: Put,
}

impl Survey<'_> {
    pub(super) fn ask(&mut self, question: Question) -> Result<By, Stop> {
        match question {
            Question::SshKey => self.ssh_key(),
            Question::Platform => self.platform(),
            Question::MachineNetwork => self.machine_network(),
            Question::ApiVip => self.address(question, "Virtual IP of the API"),
            Question::IngressVip => self.address(question, "Virtual IP of the ingress"),
            Question::BaseDomain => self.text(TextQuestion {
                question,
                ask: Ask::new("Base domain")
                    .help("the DNS domain the cluster belongs to, such as example.com"),
                default: None,
                given: self.flags.base_domain.clone().map(|value| ("--base-domain", value)),
                field: "baseDomain".to_owned(),
                put: Rc::new(|draft, text| draft.base_domain = Some(text.to_owned())),
            }),
            Question::Name => self.text(TextQuestion {
                question,
                ask: Ask::new("Cluster name").help("the first part of all names of the cluster"),
                default: None,
                given: self.flags.name.clone().map(|value| ("--name", value)),
                field: "metadata.name".to_owned(),
                put: Rc::new(|draft, text| draft.name = Some(text.to_owned())),
            }),
            Question::PullSecret => self.pull_secret(),
            question => self.ask_vsphere(question),
        }
    }

    /// Asks for text until the rules accept it; a flag's value must pass them too.
    pub(super) fn text(&mut self, text: TextQuestion) -> Result<By, Stop> {
        let TextQuestion { question, ask, default, given, field, put } = text;
        let check = self.check(&field, put.clone());
        if let Some((flag, value)) = given {
            match check(&value) {
                Ok(()) => {
                    self.prompter.say(Tone::Info, &format!("{}: {value} ({flag})", ask.message));
                    put(&mut self.draft, &value);
                    return Ok(By::Itself);
                }
                Err(reason) => self.prompter.say(Tone::Error, &format!("{flag}: {reason}")),
            }
        }
        let default = self.earlier.get(&question).cloned().or(default);
        let answer = self.prompter.text(&ask, default.as_deref(), check)?;
        put(&mut self.draft, &answer);
        for warning in judge(&self.draft, &self.flags, &field).warnings {
            self.prompter.say(Tone::Warning, &warning);
        }
        self.earlier.insert(question, answer);
        Ok(By::User)
    }

    /// Judges an answer by the install-config it would lead to.
    pub(super) fn check(&self, field: &str, put: Put) -> Check {
        let (draft, flags, field) = (self.draft.clone(), self.flags.clone(), field.to_owned());
        Rc::new(move |text| {
            if text.is_empty() {
                return Err("an answer is needed".to_owned());
            }
            let mut candidate = draft.clone();
            put(&mut candidate, text);
            judge(&candidate, &flags, &field).result()
        })
    }

    fn ssh_key(&mut self) -> Result<By, Stop> {
        self.draft.ssh_key_settled = true;
        let put: Put = Rc::new(|draft, key| draft.ssh_key = Some(key.trim().to_owned()));
        let check = self.check("sshKey", put.clone());
        if let Some(key) = self.flags.ssh_key.clone() {
            match check(key.trim()) {
                Ok(()) => {
                    put(&mut self.draft, &key);
                    return Ok(By::Itself);
                }
                Err(reason) => self.prompter.say(Tone::Error, &format!("--ssh-key-file: {reason}")),
            }
        }
        let keys = std::mem::take(&mut self.ssh_keys);
        let (usable, odd): (Vec<_>, Vec<_>) =
            keys.into_iter().partition(|(_, key)| check(key.trim()).is_ok());
        self.ssh_keys.clone_from(&usable);
        for (path, _) in odd {
            self.prompter.say(Tone::Info, &format!("{path} is not offered: it is not an SSH public key"));
        }
        if usable.is_empty() {
            self.prompter
                .say(Tone::Info, "no SSH public key in ~/.ssh; --ssh-key-file takes one from elsewhere");
            return Ok(By::Itself);
        }
        let mut options: Vec<String> = usable.iter().map(|(path, _)| path.clone()).collect();
        options.push("none".to_owned());
        let ask = Ask::new("SSH public key").help("for access to the machines");
        let chosen = self.pick(Question::SshKey, &ask, &options)?;
        if let Some((_, key)) = usable.get(chosen) {
            put(&mut self.draft, key);
        }
        Ok(By::User)
    }

    fn platform(&mut self) -> Result<By, Stop> {
        if let Some(platform) = self.flags.platform {
            self.draft.platform = Some(platform);
            return Ok(By::Itself);
        }
        let options: Vec<String> = PLATFORMS.iter().map(|(_, label)| (*label).to_owned()).collect();
        loop {
            let chosen = self.pick(Question::Platform, &Ask::new("Platform"), &options)?;
            let flags = match PLATFORMS[chosen].0 {
                PlatformKind::Ovirt => {
                    "--ovirt-cluster-id, --ovirt-storage-domain-id, --vnic-profile-id, --network, --api-vip, \
                     --ingress-vip"
                }
                PlatformKind::KubeVirt => "--namespace, --storage-class, --network, --api-vip, --ingress-vip",
                platform => {
                    self.draft.platform = Some(platform);
                    return Ok(By::User);
                }
            };
            let platform = PLATFORMS[chosen].0.as_str();
            let line = format!("there are no questions for {platform} yet; its answers are given as flags");
            self.prompter.say(Tone::Error, &line);
            self.prompter.say(Tone::Hint, &format!("start again with --platform {platform} and {flags}"));
        }
    }

    fn machine_network(&mut self) -> Result<By, Stop> {
        if !self.flags.machine_networks.is_empty() {
            self.draft.machine_networks.clone_from(&self.flags.machine_networks);
            match judge(&self.draft, &self.flags, "networking").result() {
                Ok(()) => return Ok(By::Itself),
                Err(reason) => self.prompter.say(Tone::Error, &format!("--machine-network: {reason}")),
            }
        }
        self.text(TextQuestion {
            question: Question::MachineNetwork,
            ask: Ask::new("Machine network").help(
                "the network machines and virtual IPs are in; for IPv4 and IPv6 two, with a comma between them",
            ),
            default: Some(MACHINE_NETWORK.to_owned()),
            given: None,
            field: "networking".to_owned(),
            put: Rc::new(|draft, text| draft.machine_networks = listed(text)),
        })
    }

    fn address(&mut self, question: Question, message: &str) -> Result<By, Stop> {
        let (flag, given, field) = match question {
            Question::ApiVip => ("--api-vip", self.flags.api_vips.clone(), "platform.vsphere.apiVIPs"),
            _ => ("--ingress-vip", self.flags.ingress_vips.clone(), "platform.vsphere.ingressVIPs"),
        };
        let set = move |draft: &mut Draft, vips: Vec<String>| match question {
            Question::ApiVip => draft.api_vips = vips,
            _ => draft.ingress_vips = vips,
        };
        if !given.is_empty() {
            set(&mut self.draft, given);
            match judge(&self.draft, &self.flags, field).result() {
                Ok(()) => return Ok(By::Itself),
                Err(reason) => self.prompter.say(Tone::Error, &format!("{flag}: {reason}")),
            }
        }
        let networks = &self.draft.machine_networks;
        let both =
            networks.iter().any(|net| net.contains(':')) && networks.iter().any(|net| net.contains('.'));
        let help = match &networks[..] {
            [one, other] if both => {
                format!("a free address of {one} and one of {other}, with a comma between them")
            }
            networks => format!("a free address of {}", networks.join(", ")),
        };
        self.text(TextQuestion {
            question,
            ask: Ask::new(message).help(help),
            default: None,
            given: None,
            field: field.to_owned(),
            put: Rc::new(move |draft, text| set(draft, listed(text))),
        })
    }

    fn pull_secret(&mut self) -> Result<By, Stop> {
        let put: Put = Rc::new(|draft, text| draft.pull_secret = Some(SecretString::from(text.trim())));
        let check = self.check("pullSecret", put.clone());
        if let Some(secret) = self.flags.pull_secret.clone() {
            match check(secret.expose_secret()) {
                Ok(()) => {
                    self.draft.pull_secret = Some(secret);
                    return Ok(By::Itself);
                }
                Err(reason) => self.prompter.say(Tone::Error, &format!("--pull-secret-file: {reason}")),
            }
        }
        let ask = Ask::new("Pull secret").help("paste the JSON document; it is not shown");
        let secret = self.prompter.secret(&ask, Echo::Nothing, check)?;
        put(&mut self.draft, secret.expose_secret());
        Ok(By::User)
    }

    /// A choice, starting where it was before.
    pub(super) fn pick(&mut self, question: Question, ask: &Ask, options: &[String]) -> Result<usize, Stop> {
        let earlier = self.earlier.get(&question);
        let start = earlier.and_then(|earlier| options.iter().position(|option| option == earlier));
        let chosen = self.prompter.select(ask, options, start.unwrap_or_default())?;
        self.earlier.insert(question, options[chosen].clone());
        Ok(chosen)
    }
}

/// What has commas between it. Nothing but commas is left as it is, so that the rules object to it.
fn listed(text: &str) -> Vec<String> {
    let parts: Vec<String> =
        text.split(',').map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect();
    if parts.is_empty() { vec![text.to_owned()] } else { parts }
}

/// The public keys in a user's home directory, sorted by path.
pub(crate) fn ssh_keys(home: Option<&Path>) -> Vec<(String, String)> {
    let Some(folder) = home.map(|home| home.join(".ssh")) else { return Vec::new() };
    // Without such a folder there are no keys.
    let Ok(entries) = fs_err::read_dir(folder) else { return Vec::new() };
    let mut keys: Vec<(String, String)> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "pub"))
        .filter_map(|path| Some((path.display().to_string(), input::read(&path).ok()?)))
        .collect();
    keys.sort();
    keys
}
