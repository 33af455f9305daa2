//! Until bootstrap is complete.

use std::collections::BTreeMap;
use std::net::IpAddr;

use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, ListParams};
use kube::{Api, Client, ResourceExt};
use serde_json::Value;
use slipway_assets::kubernetes::record::{Entry, Record, Stage, State};
use slipway_assets::kubernetes::rights::SYSTEM;
use slipway_assets::kubernetes::{COMPLETION_NAME, RECORD_KEY, RECORD_NAME};
use slipway_config::install_config::PayloadType;
use slipway_providers::cluster::AccessError;

use super::{Goal, View, WaitTarget};

/// What one look shows.
#[derive(Debug, Clone)]
pub struct Observed {
    /// Whether the API answers; if not, why.
    pub api: Result<(), String>,
    /// What the agent says, by whichever way it can be heard.
    pub record: Result<Record, String>,
    /// The completion is written.
    pub complete: bool,
    /// OpenShift: whether the bootstrap machine's member has left etcd; `None` where it is not known.
    pub member_left: Option<bool>,
    /// Requests for certificates that are not decided yet: name, and who asks.
    pub pending: Vec<(String, String)>,
}

/// Looks at everything that can be asked.
pub async fn look(subject: &WaitTarget, addresses: &BTreeMap<String, Vec<IpAddr>>) -> Observed {
    let mut seen = Observed {
        api: Ok(()),
        record: Err("the bootstrap machine has not answered".to_owned()),
        complete: false,
        member_left: None,
        pending: Vec::new(),
    };
    if let Err(error) = look_in(subject, &mut seen).await {
        seen.api = Err(subject.explain(&error));
    }
    if seen.record.is_err() && subject.payload == PayloadType::Kubernetes {
        let bootstrap = addresses.get(&format!("{}-bootstrap", subject.infra_id));
        for address in bootstrap.into_iter().flatten().chain(&subject.vips) {
            seen.record = subject.ask_agent(*address).await;
            if seen.record.is_ok() {
                break;
            }
        }
    }
    seen
}

/// What the API says.
async fn look_in(subject: &WaitTarget, seen: &mut Observed) -> Result<(), AccessError> {
    let client = subject.client().await?;
    subject.call("asking for its version", client.apiserver_version()).await?;
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), SYSTEM);
    let datum = |map: Option<ConfigMap>, key: &str| map?.data?.remove(key);
    let completion = subject.call("reading the completion", maps.get_opt(COMPLETION_NAME)).await?;
    seen.complete = datum(completion, "status").as_deref() == Some("complete");
    match subject.payload {
        PayloadType::Kubernetes => {
            let record = subject.call("reading the agent's record", maps.get_opt(RECORD_NAME)).await?;
            if let Some(text) = datum(record, RECORD_KEY) {
                seen.record =
                    serde_json::from_str(&text).map_err(|error| format!("the agent's record: {error}"));
            }
        }
        PayloadType::OpenShift => seen.member_left = member_left(subject, &client).await?,
    }
    let requests: Api<CertificateSigningRequest> = Api::all(client);
    let requests =
        subject.call("listing CertificateSigningRequests", requests.list(&ListParams::default())).await?;
    seen.pending = requests.items.iter().filter(|request| is_pending(request)).map(asker).collect();
    Ok(())
}

fn is_pending(request: &CertificateSigningRequest) -> bool {
    let conditions = request.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.is_none_or(Vec::is_empty)
}

fn asker(request: &CertificateSigningRequest) -> (String, String) {
    (request.name_any(), request.spec.username.clone().unwrap_or_default())
}

async fn member_left(subject: &WaitTarget, client: &Client) -> Result<Option<bool>, AccessError> {
    let kind = GroupVersionKind::gvk("operator.openshift.io", "v1", "Etcd");
    let resource = ApiResource::from_gvk_with_plural(&kind, "etcds");
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    let found = subject.call("reading the state of etcd", async { api.get_opt("cluster").await }).await?;
    let conditions = found.and_then(|found| found.data.pointer("/status/conditions").cloned());
    let conditions = conditions.as_ref().and_then(Value::as_array).cloned().unwrap_or_default();
    let removed = conditions.iter().find(|condition| condition["type"] == "EtcdBootstrapMemberRemoved");
    Ok(removed.map(|condition| condition["status"] == "True"))
}

/// What is waited for.
pub fn judge(seen: &Observed, subject: &WaitTarget) -> View {
    let mut view = View::of(Goal::Bootstrap);
    let record = seen.record.as_ref().ok();
    if subject.payload == PayloadType::Kubernetes {
        match record {
            Some(record) if record.is_over() && seen.complete => {}
            Some(record) => view.waiting.push(stage(record)),
            None => {}
        }
    }
    match &seen.api {
        Err(why) => view.waiting.push(format!("the API ({why})")),
        Ok(()) if !seen.complete => view.waiting.push("the completion of the bootstrap".to_owned()),
        // Without a record the API that answers may be on a machine that is no longer in the cluster.
        Ok(()) if subject.payload == PayloadType::Kubernetes && record.is_none() => {
            view.waiting.push("the bootstrap machine to leave the cluster".to_owned());
        }
        Ok(()) if seen.member_left == Some(false) => {
            view.waiting.push("the bootstrap machine to leave etcd".to_owned());
        }
        Ok(()) => {}
    }
    (view.cause, view.hint) = cause(seen, subject);
    view
}

fn stage(record: &Record) -> String {
    let running = |stage: Stage| match record.entry(stage) {
        Some(Entry { message, .. }) if !message.is_empty() => format!("{}: {message}", stage.sentence()),
        _ => stage.sentence().to_owned(),
    };
    let what = record.next().map_or("the end".to_owned(), running);
    format!("the bootstrap machine, which is {what}")
}

/// The first real cause: what the agent says, then requests for certificates that are not approved, then the way to the
/// API.
fn cause(seen: &Observed, subject: &WaitTarget) -> (Option<String>, Option<String>) {
    let failed = seen.record.as_ref().ok().and_then(|record| {
        record.stages.iter().find(|entry| entry.state == State::Failed).map(|entry| {
            format!(
                "the bootstrap machine fails at `{}`, {} times so far: {}",
                entry.stage.as_str(),
                entry.attempts,
                entry.message
            )
        })
    });
    if failed.is_some() {
        let hint = "look at it there: journalctl --unit slipway-bootstrap.service; or run `slipway gather`";
        return (failed, Some(hint.to_owned()));
    }
    let machines = seen.record.as_ref().ok().and_then(|record| record.entry(Stage::Machines));
    if let Some(entry) = machines.filter(|entry| entry.state == State::Running && !entry.message.is_empty()) {
        let hint =
            "look at the console of the machine that is behind: Ignition says there what it cannot reach";
        return (Some(entry.message.clone()), Some(hint.to_owned()));
    }
    if !seen.pending.is_empty() && seen.api.is_ok() {
        let names: Vec<String> =
            seen.pending.iter().take(5).map(|(name, who)| format!("{name} of {who}")).collect();
        let cause = format!(
            "{} requests for certificates are pending, such as {}",
            seen.pending.len(),
            names.join(", ")
        );
        return (Some(cause), Some("see why, and approve what is right: slipway node approve".to_owned()));
    }
    let unheard = match (&seen.api, &seen.record) {
        (Err(api), Err(agent)) if subject.payload == PayloadType::Kubernetes => {
            Some(format!("{api}; and the agent of the bootstrap machine does not answer either: {agent}"))
        }
        (Err(api), _) => Some(api.clone()),
        _ => None,
    };
    (unheard, Some("look at the console of the bootstrap machine, or run `slipway gather`".to_owned()))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use jiff::Timestamp;
    use slipway_assets::kubernetes::record::{Record, Stage};
    use slipway_config::install_config::PayloadType;

    use super::{Observed, judge};
    use crate::wait::WaitTarget;

    fn subject(payload: PayloadType) -> WaitTarget {
        WaitTarget::of_kubeconfig(Path::new("/nowhere"), payload, 3)
    }

    fn now() -> Timestamp {
        "2026-11-16T12:00:00Z".parse().unwrap()
    }

    /// Done up to a stage.
    fn record(until: Option<Stage>) -> Record {
        let mut record = Record::new(now());
        for stage in Stage::ALL {
            record.begin(stage, now());
            if Some(stage) == until {
                break;
            }
            record.end(stage, Ok(()), now());
        }
        record
    }

    fn seen(record: Result<Record, String>) -> Observed {
        Observed { api: Ok(()), record, complete: true, member_left: None, pending: Vec::new() }
    }

    #[test]
    fn completion_alone_is_not_enough() {
        let kubernetes = subject(PayloadType::Kubernetes);
        let view = judge(&seen(Ok(record(Some(Stage::LeaveEtcd)))), &kubernetes);
        assert_eq!(
            view.waiting,
            ["the bootstrap machine, which is leaving etcd"],
            "it must not be removed while it votes"
        );
        assert!(judge(&seen(Ok(record(None))), &kubernetes).is_done());
        assert!(!judge(&seen(Err(String::new())), &kubernetes).is_done());
        let openshift = subject(PayloadType::OpenShift);
        assert!(judge(&seen(Err(String::new())), &openshift).is_done());
        let votes = Observed { member_left: Some(false), ..seen(Err(String::new())) };
        assert_eq!(judge(&votes, &openshift).waiting, ["the bootstrap machine to leave etcd"]);
    }

    #[test]
    fn the_first_real_cause_is_told() {
        let kubernetes = subject(PayloadType::Kubernetes);
        let dead = Err("nothing listens at api:6443 yet".to_owned());
        let base = Observed { api: dead.clone(), complete: false, ..seen(Err("no answer".to_owned())) };
        let cause = |seen: &Observed| judge(seen, &kubernetes).cause.unwrap();
        assert!(cause(&base).starts_with("nothing listens at api:6443 yet; and the agent"));

        let mut failed = record(Some(Stage::ControlPlane));
        failed.end(Stage::ControlPlane, Err("`kubeadm` failed: no image"), now());
        let view = judge(&Observed { record: Ok(failed), ..base.clone() }, &kubernetes);
        assert_eq!(
            view.cause.unwrap(),
            "the bootstrap machine fails at `control-plane`, 1 times so far: `kubeadm` failed: no image"
        );
        assert_eq!(
            view.waiting[0],
            "the bootstrap machine, which is starting the first control plane with kubeadm: `kubeadm` failed: no image"
        );

        let mut behind = record(Some(Stage::Machines));
        behind.say(Stage::Machines, "2 of 3 control-plane machines are in; a-master-2 has not asked");
        let pending = vec![("csr-1".to_owned(), "system:bootstrap:abc".to_owned())];
        let seen = Observed { api: Ok(()), record: Ok(behind), pending: pending.clone(), ..base.clone() };
        assert!(cause(&seen).contains("a-master-2 has not asked"), "which machine is behind");

        let seen = Observed { api: Ok(()), pending, ..base };
        assert!(cause(&seen).contains("csr-1 of system:bootstrap:abc"));
    }
}
