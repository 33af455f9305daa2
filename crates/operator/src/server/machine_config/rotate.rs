//! New tokens in a running cluster: the hash goes to the Secret of the role, the token into the pointer that new machines get.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client, ResourceExt};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use slipway_assets::kubernetes::{MACHINE_CONFIG_NAMESPACE, MACHINE_CONFIG_SECRET, TOKENS_KEY};
use slipway_assets::names::MACHINES_NAMESPACE;
use slipway_providers::cluster::{AccessError, call, merge};

use super::role::Role;
use super::token::{TokenError, TokenHash, Tokens, generate};

/// How long a token of the control plane is good in a running cluster. Its machines are all there: one that is replaced gets a
/// token of its own.
pub const MASTER_TOKEN_LIFETIME: SignedDuration = SignedDuration::from_hours(24);
/// Where pointers are that machines of a cluster are made with, and under which key.
const USER_DATA_KEY: &str = "userData";
/// Two rotations at the same moment: one waits for the other.
const MAX_TRIES: u32 = 5;

/// A token that was not replaced, or not everywhere.
#[derive(Debug, thiserror::Error)]
pub enum RotateError {
    #[error(transparent)]
    Access(#[from] AccessError),
    #[error("there is no Secret `{name}` in `{namespace}`")]
    Missing { name: String, namespace: &'static str },
    #[error("the tokens in the Secret `{name}`")]
    Tokens { name: String, source: TokenError },
    #[error("making a token")]
    NoToken(#[source] TokenError),
    #[error("others change the Secret `{name}` all the time")]
    Contended { name: String },
    #[error("the Secret `{name}` has no pointer to `/config/{role}` under `{USER_DATA_KEY}`")]
    NoPointer { name: String, role: Role },
    #[error(
        "the new token is valid, but the Ignition configuration of new machines still has the old one; run the rotation again"
    )]
    PointerLeft(#[source] Box<RotateError>),
}

/// A new token.
#[derive(Debug)]
pub struct Rotated {
    pub token: SecretString,
    /// The Secret whose pointer has it now, if the cluster has one.
    pub pointer: Option<String>,
}

/// Makes a token for a role. Those before it are good for `keep`; no token of the role is good for longer than `life`.
pub async fn rotate(
    client: &Client,
    role: &Role,
    now: Timestamp,
    keep: SignedDuration,
    life: Option<SignedDuration>,
) -> Result<Rotated, RotateError> {
    let token = generate().map_err(RotateError::NoToken)?;
    change_tokens(client, role, |tokens| {
        let new = tokens.rotated(TokenHash::of(&token), now, keep);
        life.map_or_else(|| new.clone(), |life| new.ended_by(after(now, life)))
    })
    .await?;
    // In this order: a pointer never has a token that is not good.
    let pointer = point(client, role, &token).await;
    let pointer = pointer.map_err(|error| RotateError::PointerLeft(Box::new(error)))?;
    Ok(Rotated { token, pointer })
}

/// Gives the tokens of a role an end, unless they have an earlier one.
pub async fn end(client: &Client, role: &Role, last: Timestamp) -> Result<(), RotateError> {
    change_tokens(client, role, |tokens| tokens.ended_by(last)).await
}

fn after(now: Timestamp, time: SignedDuration) -> Timestamp {
    now.checked_add(time).unwrap_or(Timestamp::MAX)
}

async fn change_tokens(
    client: &Client,
    role: &Role,
    change: impl Fn(&Tokens) -> Tokens,
) -> Result<(), RotateError> {
    let name = format!("{MACHINE_CONFIG_SECRET}-{role}");
    let changed = edit(client, MACHINE_CONFIG_NAMESPACE, &name, TOKENS_KEY, |text| {
        let tokens = Tokens::parse(text);
        let tokens = tokens.map_err(|source| RotateError::Tokens { name: name.clone(), source })?;
        Ok(change(&tokens).to_string())
    });
    if changed.await? {
        Ok(())
    } else {
        Err(RotateError::Missing { name, namespace: MACHINE_CONFIG_NAMESPACE })
    }
}

/// Puts a token into the pointer of new machines.
async fn point(client: &Client, role: &Role, token: &SecretString) -> Result<Option<String>, RotateError> {
    let name = format!("{role}-user-data");
    let changed = edit(client, MACHINES_NAMESPACE, &name, USER_DATA_KEY, |text| {
        with_token(text, role, token)
            .ok_or_else(|| RotateError::NoPointer { name: name.clone(), role: role.clone() })
    });
    Ok(changed.await?.then_some(name))
}

/// Changes a key of a Secret, and nothing that somebody else changes meanwhile. `false` if there is no such Secret.
async fn edit(
    client: &Client,
    namespace: &str,
    name: &str,
    key: &str,
    change: impl Fn(&str) -> Result<String, RotateError>,
) -> Result<bool, RotateError> {
    let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
    for _ in 0..MAX_TRIES {
        let found = call(&format!("reading the Secret `{name}`"), secrets.get_opt(name)).await?;
        let Some(found) = found else { return Ok(false) };
        let version = found.resource_version();
        let bytes = found.data.unwrap_or_default().remove(key).unwrap_or_default().0;
        let old = String::from_utf8_lossy(&bytes);
        let new = change(&old)?;
        if new == old {
            return Ok(true);
        }
        let patch = json!({"metadata": {"resourceVersion": version}, "data": {key: STANDARD.encode(new)}});
        match merge(&secrets, name, &format!("writing the Secret `{name}`"), &patch).await {
            Ok(()) => return Ok(true),
            Err(error) if error.is_conflict() => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(RotateError::Contended { name: name.to_owned() })
}

/// A pointer with another token, if it points to the configuration of the role.
fn with_token(pointer: &str, role: &Role, token: &SecretString) -> Option<String> {
    let mut value: Value = serde_json::from_str(pointer).ok()?;
    let path = format!("/config/{role}");
    let merged = value.pointer_mut("/ignition/config/merge").and_then(Value::as_array_mut)?;
    let server =
        merged.iter_mut().find(|one| one["source"].as_str().is_some_and(|url| url.ends_with(&path)))?;
    let header = json!({"name": "Authorization", "value": format!("Bearer {}", token.expose_secret())});
    let headers = server.as_object_mut()?.entry("httpHeaders").or_insert_with(|| json!([])).as_array_mut()?;
    headers.retain(|header| {
        !header["name"].as_str().is_some_and(|name| name.eq_ignore_ascii_case("authorization"))
    });
    headers.push(header);
    Some(value.to_string())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::with_token;

    fn pointer(role: &str, headers: &Value) -> Value {
        let source = format!("https://10.0.0.2:22623/config/{role}");
        json!({"ignition": {"version": "3.2.0", "config": {"merge": [{"source": source, "httpHeaders": headers}]}}})
    }

    #[rstest]
    #[case::old(json!([{"name": "Authorization", "value": "Bearer old"}]))]
    #[case::none(json!([]))]
    #[case::twice(json!([{"name": "authorization", "value": "a"}, {"name": "Authorization", "value": "b"}]))]
    fn pointed(#[case] headers: Value) {
        let role = "worker".parse().unwrap();
        let text = with_token(&pointer("worker", &headers).to_string(), &role, &"new".into()).unwrap();
        let expected = pointer("worker", &json!([{"name": "Authorization", "value": "Bearer new"}]));
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), expected);
    }

    #[rstest]
    #[case::another_role(&pointer("master", &json!([])).to_string())]
    #[case::no_pointer(r#"{"ignition": {"version": "3.2.0"}}"#)]
    #[case::no_json("#cloud-config")]
    fn left_alone(#[case] text: &str) {
        assert_eq!(with_token(text, &"worker".parse().unwrap(), &"new".into()), None);
    }
}
