//! What is remembered from one run to the next.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use slipway_assets::{Identity, Pki};

use super::reconcile::{Digest, Trace};
use super::{Error, is_plain};

/// The format this version writes, and the newest it reads.
const FORMAT: u32 = 1;

/// The version of this build.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A step of the way from an install-config to a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    Manifests,
    IgnitionConfigs,
}

/// The state of an asset directory. Holds every key of the cluster: for the owner's eyes only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct State {
    format: u32,
    /// The version that wrote it.
    slipway: String,
    /// The name of the cluster everything was drawn for.
    pub cluster: String,
    pub identity: Identity,
    /// What the certificates were made from.
    pub certificates_for: Digest,
    /// The same in words, by what people call it; not in states of old.
    #[serde(default)]
    pub named_in_certificates: BTreeMap<String, String>,
    pub pki: Pki,
    /// Over identity and certificates, which nothing else would notice a change of. Not in states of old.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    checksum: Option<Digest>,
    #[serde(default)]
    pub steps: BTreeMap<Step, Generated>,
    /// The bootstrap machine has done its work, and was removed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub bootstrapped: bool,
    /// Directories that were made here and may go when they are empty.
    #[serde(default)]
    pub directories: BTreeSet<String>,
    /// What the release image said machines boot from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release_os_image: Option<ReleaseOsImage>,
}

/// The OS image of a release, as its manifests name it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReleaseOsImage {
    /// The release image that was asked.
    pub release: String,
    pub url: String,
    pub sha256: Option<String>,
}

/// What a step generated, and from what.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Generated {
    /// The inputs, by what people call them.
    pub inputs: Inputs,
    pub files: BTreeMap<String, Trace>,
}

/// Digests of inputs, by what people call them.
pub type Inputs = BTreeMap<String, Digest>;

impl State {
    pub fn new(cluster: String, identity: Identity, certificates_for: Digest, pki: Pki) -> Self {
        State {
            format: FORMAT,
            slipway: VERSION.to_owned(),
            cluster,
            identity,
            certificates_for,
            named_in_certificates: BTreeMap::new(),
            pki,
            checksum: None,
            steps: BTreeMap::new(),
            bootstrapped: false,
            directories: BTreeSet::new(),
            release_os_image: None,
        }
    }

    /// Reads a state; `path` is for messages.
    pub(super) fn read(text: &str, path: &Path) -> Result<Self, Error> {
        // Only as much as every format has; a newer one may have changed everything else.
        #[derive(Deserialize)]
        struct Head {
            format: u32,
            #[serde(default)]
            slipway: String,
        }
        let damaged = |reason: String| Error::Damaged { path: path.to_owned(), reason };
        let head: Head = serde_json::from_str(text).map_err(|error| damaged(place(&error)))?;
        if head.format > FORMAT {
            return Err(Error::Newer { path: path.to_owned(), slipway: head.slipway });
        }
        let state: State = serde_json::from_str(text).map_err(|error| damaged(place(&error)))?;
        // Over what the file says rather than what was understood of it: a later version may understand more.
        let said: Value = serde_json::from_str(text).map_err(|error| damaged(place(&error)))?;
        if state.checksum.as_ref().is_some_and(|checksum| *checksum != drawn(&said)) {
            return Err(damaged(
                "the names, keys or certificates in it are not those that were saved".to_owned(),
            ));
        }
        let paths = state.steps.values().flat_map(|step| step.files.keys()).chain(&state.directories);
        if let Some(bad) = paths.into_iter().find(|path| !is_plain(path)) {
            return Err(damaged(format!("`{bad}` is not the path of a generated file")));
        }
        Ok(state)
    }

    pub(super) fn to_text(&self) -> String {
        let mut state = State { slipway: VERSION.to_owned(), ..self.clone() };
        // Plain data with text for keys always has a JSON form.
        state.checksum = Some(drawn(&serde_json::to_value(&state).unwrap_or_default()));
        let mut text = serde_json::to_string_pretty(&state).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Which inputs of a step are not what they were.
    pub fn changed_inputs(&self, step: Step, inputs: &Inputs) -> Vec<String> {
        let Some(generated) = self.steps.get(&step) else { return Vec::new() };
        let names: BTreeSet<&String> = generated.inputs.keys().chain(inputs.keys()).collect();
        let changed = names.into_iter().filter(|name| generated.inputs.get(*name) != inputs.get(*name));
        changed.cloned().collect()
    }
}

/// A checksum over what was drawn. The order of keys and white space make no difference.
fn drawn(state: &Value) -> Digest {
    fn add(value: &Value, hasher: &mut Sha256) {
        match value {
            Value::Object(members) => {
                let members: BTreeMap<&String, &Value> = members.iter().collect();
                hasher.update(format!("{{{}", members.len()));
                for (key, value) in members {
                    hasher.update(Value::from(key.as_str()).to_string());
                    add(value, hasher);
                }
            }
            Value::Array(items) => {
                hasher.update(format!("[{}", items.len()));
                for item in items {
                    add(item, hasher);
                }
            }
            plain => hasher.update(format!("={plain}")),
        }
    }
    let mut hasher = Sha256::new();
    for part in ["cluster", "identity", "pki"] {
        add(&state[part], &mut hasher);
    }
    Digest::finish(hasher)
}

/// Where the text stops being a state. What stands there is not repeated: it may be a key.
fn place(error: &serde_json::Error) -> String {
    use serde_json::error::Category;
    let what = match error.classify() {
        Category::Eof => "it ends too early",
        Category::Data => "a value is missing or of the wrong kind",
        Category::Io | Category::Syntax => "it is not JSON",
    };
    format!("{what} (line {}, column {})", error.line(), error.column())
}
