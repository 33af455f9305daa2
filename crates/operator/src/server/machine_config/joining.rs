//! The token that a machine joins a cluster of kubeadm's with.
//!
//! Such a token ends by itself, the first one a day after the cluster was started. A configuration that is handed out later
//! carries one that is good for a while from then on: it is drawn when the one before has ended, and lives only as long as
//! machines fetch configurations. Where they fetch all the time, it is let end after a day; the last minutes of it are handed out
//! to no machine, so that none is on its way with it when the next one is drawn. Its id, which certificates are asked for
//! under, stays the same.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client, ResourceExt};
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;
use slipway_assets::kubernetes::rights::SYSTEM;
use slipway_assets::kubernetes::{BOOTSTRAPPERS, JOIN_TOKEN_SECRET};
use slipway_assets::random::OsRandom;
use slipway_assets::random::Random;
use slipway_providers::cluster::{AccessError, Manager, apply, call, manager_name};
use tokio::sync::Mutex;

/// How long a token is good for from the moment a machine gets it.
const TOKEN_LIFETIME: SignedDuration = SignedDuration::from_hours(2);
/// What a machine needs to boot and to join. A token with less is given more time.
const MIN_LIFETIME: SignedDuration = SignedDuration::from_hours(1);
/// How old a token may be and still be given more time.
const MAX_AGE: SignedDuration = SignedDuration::from_hours(24);
/// What a machine that got a token as old as that has left to join at least.
const LAST_CALL: SignedDuration = SignedDuration::from_mins(10);
/// When the secret half was drawn: the Secret is older than what is in it.
const DRAWN: &str = "slipway.dev/drawn";
/// How long a look is good for: hundreds of machines ask at once.
const CACHE_TIME: Duration = Duration::from_secs(2);
/// Letters and digits of the secret half of a token: 82 bits.
const SECRET_LENGTH: usize = 16;
/// Of several servers that draw a token at the same moment one wins, and the others take that one.
const MAX_TRIES: u32 = 5;

/// Why there is no token.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    #[error("the bootstrap token in the server's configuration is not `<id>.<secret>`")]
    Malformed,
    #[error(transparent)]
    Access(#[from] AccessError),
    #[error("the Secret `{name}` was switched off: its `usage-bootstrap-authentication` is not `true`")]
    SwitchedOff { name: String },
    #[error("others change the Secret `{name}` all the time")]
    Contended { name: String },
    #[error("the token is a day old and ends at {until}; machines get the next one from then on")]
    Ending { until: Timestamp },
}

/// Where the secret half of a token that has ended comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Renewal {
    /// From the first token: configurations that are files have it.
    Same,
    /// It is drawn.
    Drawn,
}

/// Keeps the tokens of a cluster.
#[derive(Debug, Clone)]
pub struct Joining {
    api: Api<Secret>,
    /// Tells servers apart: what one has drawn, another does not overwrite unseen.
    manager: String,
    renewal: Renewal,
    /// What was read last, by the id of the token: each role has its own.
    known: Arc<Mutex<BTreeMap<String, (Instant, SecretString)>>>,
}

impl Joining {
    pub fn new(client: Client, identity: &str, renewal: Renewal) -> Self {
        let manager = manager_name("slipway-joining", identity);
        Joining { api: Api::namespaced(client, SYSTEM), manager, renewal, known: Arc::default() }
    }

    /// A token that is good for an hour at least. `first` is the one the cluster was started with.
    pub async fn token(&self, first: &SecretString, now: Timestamp) -> Result<SecretString, JoinError> {
        let (id, _) = first.expose_secret().split_once('.').ok_or(JoinError::Malformed)?;
        let mut known = self.known.lock().await;
        if let Some((read, token)) = known.get(id)
            && read.elapsed() < CACHE_TIME
        {
            return Ok(token.clone());
        }
        let token = self.look(first, now).await?;
        known.insert(id.to_owned(), (Instant::now(), token.clone()));
        Ok(token)
    }

    async fn look(&self, first: &SecretString, now: Timestamp) -> Result<SecretString, JoinError> {
        let (id, first) = first.expose_secret().split_once('.').ok_or(JoinError::Malformed)?;
        let name = format!("{JOIN_TOKEN_SECRET}-{id}");
        for _ in 0..MAX_TRIES {
            let found = call(&format!("reading the Secret `{name}`"), self.api.get_opt(&name)).await?;
            let (secret, drawn) = match judge(found.as_ref(), self.renewal, now) {
                Step::SwitchedOff => return Err(JoinError::SwitchedOff { name }),
                Step::Use(secret) => return Ok(format!("{id}.{secret}").into()),
                Step::Wait(until) => return Err(JoinError::Ending { until }),
                Step::Extend(secret) => (secret, found.as_ref().and_then(drawn).unwrap_or(now)),
                Step::Replace if self.renewal == Renewal::Same => (first.to_owned(), now),
                Step::Replace => (OsRandom.letters(SECRET_LENGTH), now),
            };
            if self.write(&name, id, (&secret, drawn), found.as_ref(), now).await? {
                tracing::info!(secret = name, until = %(now + TOKEN_LIFETIME), "the token that machines join with is good again");
                return Ok(format!("{id}.{secret}").into());
            }
        }
        Err(JoinError::Contended { name })
    }

    /// Whether it was written; it is not if somebody else was there in the meantime.
    async fn write(
        &self,
        name: &str,
        id: &str,
        (secret, drawn): (&str, Timestamp),
        found: Option<&Secret>,
        now: Timestamp,
    ) -> Result<bool, JoinError> {
        // To the second: what kubeadm writes, and what is read by everybody.
        let until = now
            .checked_add(TOKEN_LIFETIME)
            .unwrap_or(Timestamp::MAX)
            .strftime("%Y-%m-%dT%H:%M:%SZ")
            .to_string();
        let data = [
            ("token-id", id),
            ("token-secret", secret),
            ("expiration", &until),
            ("usage-bootstrap-authentication", "true"),
            ("auth-extra-groups", BOOTSTRAPPERS),
            ("description", "machines of the cluster that ask for their first certificate"),
        ];
        let data: serde_json::Map<String, serde_json::Value> =
            data.iter().map(|(key, value)| ((*key).to_owned(), json!(STANDARD.encode(value)))).collect();
        let mut object = json!({
            "apiVersion": "v1", "kind": "Secret", "type": "bootstrap.kubernetes.io/token",
            "metadata": {"name": name, "namespace": SYSTEM, "annotations": {DRAWN: drawn.to_string()}},
            "data": data,
        });
        let mut manager = Manager::yielding(&self.manager);
        if let Some(version) = found.and_then(ResourceExt::resource_version) {
            object["metadata"]["resourceVersion"] = json!(version);
            manager = Manager::forcing(&self.manager);
        }
        let doing = format!("writing the Secret `{name}`");
        match apply(&self.api, manager, name, &doing, &object).await {
            Ok(_) => Ok(true),
            Err(error) if error.is_conflict() => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

/// What to do about a token.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    Use(String),
    /// It is still good, and not for long.
    Extend(String),
    /// There is none, or it has ended: nobody is on the way with it.
    Replace,
    /// It has been given more time for long enough, and is about to end.
    Wait(Timestamp),
    /// Somebody does not want machines to join.
    SwitchedOff,
}

/// When the secret half was drawn. A Secret that does not say so is as old as its token.
fn drawn(secret: &Secret) -> Option<Timestamp> {
    let said = secret.annotations().get(DRAWN).and_then(|text| text.parse().ok());
    said.or_else(|| secret.creation_timestamp().map(|time| time.0))
}

fn judge(found: Option<&Secret>, renewal: Renewal, now: Timestamp) -> Step {
    let Some(data) = found.and_then(|secret| secret.data.as_ref()) else { return Step::Replace };
    let text = |key: &str| {
        data.get(key).and_then(|ByteString(bytes)| String::from_utf8(bytes.clone()).ok()).unwrap_or_default()
    };
    if text("usage-bootstrap-authentication") != "true" {
        return Step::SwitchedOff;
    }
    let (secret, groups) = (text("token-secret"), text("auth-extra-groups"));
    if secret.is_empty() || !groups.split(',').any(|group| group == BOOTSTRAPPERS) {
        return Step::Replace;
    }
    match (data.contains_key("expiration"), text("expiration").parse::<Timestamp>()) {
        (false, _) => Step::Use(secret),
        (true, Ok(until)) if now.duration_until(until) >= MIN_LIFETIME => Step::Use(secret),
        (true, Ok(until)) if until > now => {
            let age = found.and_then(drawn).map(|drawn| drawn.duration_until(now)).unwrap_or_default();
            match renewal {
                Renewal::Drawn if age >= MAX_AGE && now.duration_until(until) < LAST_CALL => {
                    Step::Wait(until)
                }
                Renewal::Drawn if age >= MAX_AGE => Step::Use(secret),
                _ => Step::Extend(secret),
            }
        }
        _ => Step::Replace,
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Secret;
    use rstest::rstest;
    use serde_json::json;

    use super::{Renewal, STANDARD, Step, judge};
    use base64::Engine;

    const NOW: &str = "2026-11-17T12:00:00Z";
    const OURS: &str = "system:bootstrappers:slipway";

    fn secret(usage: &str, groups: &str, until: Option<&str>) -> Secret {
        let mut data = json!({
            "token-secret": STANDARD.encode("s"), "usage-bootstrap-authentication": STANDARD.encode(usage),
            "auth-extra-groups": STANDARD.encode(groups),
        });
        if let Some(until) = until {
            data["expiration"] = json!(STANDARD.encode(until));
        }
        serde_json::from_value(json!({"data": data})).unwrap()
    }

    #[rstest]
    #[case::long("true", OURS, Some("2026-11-18T11:00:00Z"), Step::Use("s".to_owned()))]
    #[case::just_enough("true", OURS, Some("2026-11-17T13:00:00Z"), Step::Use("s".to_owned()))]
    #[case::for_ever("true", OURS, None, Step::Use("s".to_owned()))]
    #[case::nearly_over("true", OURS, Some("2026-11-17T12:59:59Z"), Step::Extend("s".to_owned()))]
    #[case::over("true", OURS, Some(NOW), Step::Replace)]
    #[case::no_time("true", OURS, Some("soon"), Step::Replace)]
    #[case::two_groups("true", &format!("{OURS},system:bootstrappers:x"), None, Step::Use("s".to_owned()))]
    #[case::of_others("true", "system:bootstrappers:kubeadm:default-node-token", None, Step::Replace)]
    #[case::switched_off("false", OURS, None, Step::SwitchedOff)]
    fn judged(
        #[case] usage: &str,
        #[case] groups: &str,
        #[case] until: Option<&str>,
        #[case] expected: Step,
    ) {
        let now = NOW.parse().unwrap();
        assert_eq!(judge(Some(&secret(usage, groups, until)), Renewal::Drawn, now), expected);
        assert_eq!(judge(None, Renewal::Drawn, now), Step::Replace);
    }

    /// Where machines come all the time, a token that is a day old ends nevertheless.
    #[rstest]
    #[case::young("2026-11-16T12:00:01Z", "2026-11-17T12:05:00Z", Step::Extend("s".to_owned()))]
    #[case::old("2026-11-16T12:00:00Z", "2026-11-17T12:30:00Z", Step::Use("s".to_owned()))]
    #[case::last_call("2026-11-16T12:00:00Z", "2026-11-17T12:10:00Z", Step::Use("s".to_owned()))]
    #[case::too_late("2026-11-16T12:00:00Z", "2026-11-17T12:09:59Z", Step::Wait("2026-11-17T12:09:59Z".parse().unwrap()))]
    #[case::over("2026-11-16T12:00:00Z", NOW, Step::Replace)]
    fn ages(#[case] drawn: &str, #[case] until: &str, #[case] expected: Step) {
        let mut said = secret("true", OURS, Some(until));
        said.metadata = serde_json::from_value(json!({
            "creationTimestamp": "2026-01-01T00:00:00Z", "annotations": {"slipway.dev/drawn": drawn},
        }))
        .unwrap();
        let mut unsaid = said.clone();
        unsaid.metadata = serde_json::from_value(json!({"creationTimestamp": drawn})).unwrap();
        let now = NOW.parse().unwrap();
        for secret in [&said, &unsaid] {
            assert_eq!(judge(Some(secret), Renewal::Drawn, now), expected);
            // Files have the first token: it is kept good as long as they are handed out.
            let kept = if expected == Step::Replace { Step::Replace } else { Step::Extend("s".to_owned()) };
            assert_eq!(judge(Some(secret), Renewal::Same, now), kept);
        }
    }
}
