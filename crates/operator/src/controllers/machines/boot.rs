//! What a machine boots from, and the addresses that pools give it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{DynamicObject, PostParams};
use kube::core::ApiResource;
use kube::{Api, Client, ResourceExt};
use secrecy::SecretString;
use serde_json::{Value, json};
use slipway_api::cluster_api::{IpAddress, IpAddressClaim};
use slipway_engine::Reason;
use slipway_providers::cluster::{AccessError, call, merge};
use slipway_providers::vsphere::kinds::Ignition;
use slipway_providers::vsphere::machine_spec::{Claimed, PoolReference};

use super::pace::Pace;
use super::problem::{INVALID, Problem};
use super::subject::Subject;

/// The key of a Secret with what machines boot from.
const USER_DATA: &str = "userData";
/// ESXi keeps it in the machine's configuration, which may have 1 MiB.
const MAX_USER_DATA: usize = 700 << 10;
/// Keeps a claim while its machine is there.
const CLAIM_FINALIZER: &str = "machine.openshift.io/ip-claim-protection";

/// The Ignition configuration of a machine, as its guest reads it.
pub(super) async fn ignition(client: &Client, subject: &Subject) -> Result<Ignition, Problem> {
    let name = &subject.spec.user_data_secret;
    let secrets: Api<Secret> = Api::namespaced(client.clone(), &subject.namespace);
    let found = call(&format!("reading the Secret `{name}`"), secrets.get_opt(name)).await?;
    let data = found.and_then(|secret| secret.data?.remove(USER_DATA));
    let data = data.ok_or_else(|| {
        let message =
            format!("there is no Secret `{name}` with a key `{USER_DATA}` in {}", subject.namespace);
        Problem::new(Reason::new("UserDataMissing"), message)
    })?;
    if data.0.len() > MAX_USER_DATA {
        let message = format!(
            "`{USER_DATA}` of the Secret `{name}` has {} KiB, and {} are possible",
            data.0.len() >> 10,
            MAX_USER_DATA >> 10
        );
        return Err(Problem::new(Reason::new("UserDataTooLarge"), message));
    }
    Ok(Ignition { data: SecretString::from(STANDARD.encode(&data.0)), encoding: "base64" })
}

/// A claim of a machine: its name, its card, and its pool.
fn claims(subject: &Subject) -> impl Iterator<Item = (String, usize, &PoolReference)> {
    let devices = subject.spec.devices.iter().enumerate();
    devices.flat_map(move |(device, card)| {
        let pools = card.pools.iter().enumerate();
        pools.map(move |(pool, reference)| {
            (format!("{}-claim-{device}-{pool}", subject.name), device, reference)
        })
    })
}

/// The addresses of a machine's claims, which are made if they are not there. One that has no address yet is waited for.
pub(super) async fn claimed(client: &Client, subject: &Subject, pace: Pace) -> Result<Vec<Claimed>, Problem> {
    let mut claimed = Vec::new();
    let mut open = Vec::new();
    for (name, device, pool) in claims(subject) {
        match address(client, subject, &name, pool).await? {
            Some(spec) => claimed.push(read(&name, device, &spec)?),
            None => open.push(name),
        }
    }
    if open.is_empty() {
        return Ok(claimed);
    }
    let message = format!("the IPAddressClaims {} have no address yet", open.join(", "));
    Err(Problem::new(Reason::new("WaitingForIPAddress"), message).again_after(pace.first))
}

fn api<K: kube::Resource<DynamicType = ()>>(client: &Client, namespace: &str) -> Api<DynamicObject> {
    Api::namespaced_with(client.clone(), namespace, &ApiResource::erase::<K>(&()))
}

/// The spec of the address that a claim was given.
async fn address(
    client: &Client,
    subject: &Subject,
    name: &str,
    pool: &PoolReference,
) -> Result<Option<Value>, Problem> {
    let claims = api::<IpAddressClaim>(client, &subject.namespace);
    let doing = format!("reading the IPAddressClaim `{name}`");
    let claim = if let Some(claim) = call(&doing, claims.get_opt(name)).await? {
        claim
    } else {
        let object = serde_json::from_value(claim_object(subject, name, pool));
        let object = object.map_err(|error| Problem::new(INVALID, error.to_string()))?;
        let doing = format!("making the IPAddressClaim `{name}`");
        call(&doing, claims.create(&PostParams::default(), &object)).await?
    };
    let Some(given) = claim.data.pointer("/status/addressRef/name").and_then(Value::as_str) else {
        return Ok(None);
    };
    let addresses = api::<IpAddress>(client, &subject.namespace);
    let found = call(&format!("reading the IPAddress `{given}`"), addresses.get_opt(given)).await?;
    Ok(found.map(|address| address.data["spec"].clone()))
}

fn claim_object(subject: &Subject, name: &str, pool: &PoolReference) -> Value {
    json!({
        "apiVersion": "ipam.cluster.x-k8s.io/v1beta1", "kind": "IPAddressClaim",
        "metadata": {
            "name": name, "namespace": subject.namespace, "finalizers": [CLAIM_FINALIZER],
            "ownerReferences": [{
                "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine", "name": subject.name,
                "uid": subject.uid, "controller": true,
            }],
        },
        "spec": {"poolRef": {"apiGroup": pool.group, "kind": pool.kind, "name": pool.name}},
    })
}

fn read(name: &str, device: usize, spec: &Value) -> Result<Claimed, Problem> {
    let text = |key: &str| spec[key].as_str().unwrap_or_default();
    let address = format!("{}/{}", text("address"), spec["prefix"]);
    let bad = |what: &str| {
        let message = format!("the IPAddress of the claim `{name}` has the {what} `{address}`");
        Problem::new(Reason::new("IPAddressInvalid"), message)
    };
    let gateway = match text("gateway") {
        "" => None,
        gateway => Some(gateway.parse().map_err(|_| bad("gateway beside the address"))?),
    };
    Ok(Claimed { device, address: address.parse().map_err(|_| bad("address"))?, gateway })
}

/// The machine is gone: its addresses may be given to others.
pub(super) async fn release(client: &Client, subject: &Subject) -> Result<(), AccessError> {
    let api = api::<IpAddressClaim>(client, &subject.namespace);
    for (name, ..) in claims(subject) {
        let found = call(&format!("reading the IPAddressClaim `{name}`"), api.get_opt(&name)).await?;
        let Some(claim) = found.filter(|claim| claim.finalizers().iter().any(|one| one == CLAIM_FINALIZER))
        else {
            continue;
        };
        let left: Vec<&String> = claim.finalizers().iter().filter(|one| *one != CLAIM_FINALIZER).collect();
        let change = json!({"metadata": {"finalizers": left, "resourceVersion": claim.resource_version()}});
        merge(&api, &name, &format!("releasing the IPAddressClaim `{name}`"), &change).await?;
    }
    Ok(())
}
