//! What the accounts of a cluster's own programs may do, asked of a real API server: exactly what the list says.

use std::collections::BTreeSet;

use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec, SelfSubjectRulesReview,
    SelfSubjectRulesReviewSpec,
};
use kube::api::PostParams;
use kube::{Api, Client};
use rstest::rstest;
use serde_json::json;
use slipway_assets::kubernetes::ClusterFacts;
use slipway_assets::kubernetes::rights::{Account, accounts};
use slipway_testkit::control_plane::ControlPlane;

use crate::shipped;

const NAMESPACES: [&str; 4] = ["default", "kube-system", "openshift-machine-api", "slipway-system"];

/// What none of them may do: one line each, as `kubectl auth can-i` is asked. kubectl itself knows neither signers nor kinds that
/// are not served.
const FORBIDDEN: [&str; 15] = [
    "list secrets -n kube-system",
    "get secrets/bootstrap-token-zzzzzz -n kube-system",
    "create secrets -n kube-system",
    "list secrets -n slipway-system",
    "patch configmaps/kubeadm-config -n kube-system",
    "list configmaps -n kube-system",
    "create pods -n kube-system",
    "create pods --subresource=exec -n kube-system",
    "patch daemonsets.apps -n kube-system",
    "patch nodes",
    "delete nodes",
    "approve signers.certificates.k8s.io/kubernetes.io/kube-apiserver-client",
    "delete clusterrolebindings/cluster-admin",
    "create clusterrolebindings",
    "impersonate users",
];

/// What some may do, others may not.
const OF_SOME: [(&str, &str); 14] = [
    ("slipway-control-plane", "list machines.machine.openshift.io -n openshift-machine-api"),
    ("slipway-control-plane", "patch machines.machine.openshift.io -n openshift-machine-api"),
    ("slipway-control-plane", "get secrets/machine-config-master -n kube-system"),
    ("slipway-control-plane", "patch secrets/master-user-data -n openshift-machine-api"),
    ("slipway-control-plane", "update leases.coordination.k8s.io/slipway-control-plane -n kube-system"),
    (
        "slipway-csr-approver",
        "approve signers.certificates.k8s.io/kubernetes.io/kube-apiserver-client-kubelet",
    ),
    ("slipway-csr-approver", "approve signers.certificates.k8s.io/kubernetes.io/kubelet-serving"),
    ("slipway-csr-approver", "list machines.machine.openshift.io -n openshift-machine-api"),
    ("slipway-csr-approver", "get configmaps/bootstrap -n kube-system"),
    ("slipway-csr-approver", "patch certificatesigningrequests.certificates.k8s.io --subresource=approval"),
    ("slipway-csr-approver", "patch configmaps/slipway-first-keys -n slipway-system"),
    ("slipway-machine-config", "get secrets/machine-config-master -n kube-system"),
    ("slipway-machine-config", "get secrets/machine-config-server-tls -n kube-system"),
    ("slipway-certificates", "update leases.coordination.k8s.io/slipway-certificates -n kube-system"),
];

/// The ids of the tokens in the manifests, and with them the facts that the accounts depend on.
pub(crate) fn facts() -> ClusterFacts {
    let role = shipped::files("slipway-machine-config").join("\n");
    let mut ids =
        role.split("- bootstrap-token-").skip(1).map(|rest| rest.lines().next().unwrap().to_owned());
    let (master, worker) = (ids.next().unwrap(), ids.next().unwrap());
    assert_ne!(master, worker, "each role has its own");
    serde_json::from_value(json!({
        "name": "dinghy", "infraId": "dinghy-x", "domain": "dinghy.example.com", "platform": "vsphere",
        "version": "v1.34.4", "controlPlaneReplicas": 1, "computeReplicas": 0,
        "bootstrapTokens": {"master": master, "worker": worker},
        "onprem": {
            "domain": "dinghy.example.com", "apiVips": ["10.0.0.2"], "ingressVips": ["10.0.0.3"],
            "ingressProbe": "http://localhost:80/",
        },
    }))
    .unwrap()
}

/// Group, resource, name and verb of everything somebody may do in a namespace.
type Deeds = BTreeSet<(String, String, String, String)>;

async fn deeds(plane: &ControlPlane, account: &str, namespace: &str) -> Deeds {
    let api: Api<SelfSubjectRulesReview> = Api::all(shipped::account(plane, account).await);
    let spec = SelfSubjectRulesReviewSpec { namespace: Some(namespace.to_owned()) };
    let review = SelfSubjectRulesReview { spec, ..SelfSubjectRulesReview::default() };
    let rules = api.create(&PostParams::default(), &review).await.unwrap().status.unwrap().resource_rules;
    let mut deeds = Deeds::new();
    for rule in rules {
        let names =
            rule.resource_names.filter(|names| !names.is_empty()).unwrap_or_else(|| vec![String::new()]);
        for group in rule.api_groups.iter().flatten() {
            for resource in rule.resources.iter().flatten() {
                for (name, verb) in
                    names.iter().flat_map(|name| rule.verbs.iter().map(move |verb| (name, verb)))
                {
                    deeds.insert((group.clone(), resource.clone(), name.clone(), verb.clone()));
                }
            }
        }
    }
    deeds
}

fn expected(account: &Account, namespace: &str) -> Deeds {
    let here = account.rights.iter().filter(|right| right.namespace.is_none_or(|place| place == namespace));
    here.flat_map(|right| {
        let names = if right.names.is_empty() { vec![String::new()] } else { right.names.clone() };
        names.into_iter().flat_map(move |name| {
            right.verbs.iter().map(move |verb| {
                (right.group.to_owned(), right.resource.to_owned(), name.clone(), (*verb).to_owned())
            })
        })
    })
    .collect()
}

/// Of a control plane that has the accounts.
pub(crate) async fn are_exactly_these(plane: &ControlPlane) {
    let accounts = accounts(&facts());
    for namespace in NAMESPACES {
        // What everybody may: asking about oneself.
        let common = deeds(plane, "nobody-in-particular", namespace).await;
        for account in &accounts {
            let deeds = deeds(plane, account.name, namespace).await;
            let own: Deeds = deeds.difference(&common).cloned().collect();
            assert_eq!(own, expected(account, namespace), "{} in {namespace}", account.name);
        }
    }
    for account in &accounts {
        let client = shipped::account(plane, account.name).await;
        for question in FORBIDDEN {
            assert!(!may(&client, question).await, "{} may {question}", account.name);
        }
        for (_, question) in OF_SOME {
            let expected = OF_SOME.contains(&(account.name, question));
            assert_eq!(may(&client, question).await, expected, "{}: {question}", account.name);
        }
    }
}

/// Whether the API server lets a client do something.
async fn may(client: &Client, question: &str) -> bool {
    let mut attributes = ResourceAttributes::default();
    let mut words = question.split(' ');
    attributes.verb = words.next().map(str::to_owned);
    let what = words.next().unwrap();
    let (what, name) = what.split_once('/').map_or((what, None), |(what, name)| (what, Some(name)));
    let (resource, group) = what.split_once('.').unwrap_or((what, ""));
    (attributes.resource, attributes.group) = (Some(resource.to_owned()), Some(group.to_owned()));
    attributes.name = name.map(str::to_owned);
    while let Some(word) = words.next() {
        match word.strip_prefix("--subresource=") {
            Some(subresource) => attributes.subresource = Some(subresource.to_owned()),
            None => attributes.namespace = words.next().map(str::to_owned),
        }
    }
    let spec = SelfSubjectAccessReviewSpec {
        resource_attributes: Some(attributes),
        ..SelfSubjectAccessReviewSpec::default()
    };
    let review = SelfSubjectAccessReview { spec, ..SelfSubjectAccessReview::default() };
    let api: Api<SelfSubjectAccessReview> = Api::all(client.clone());
    api.create(&PostParams::default(), &review).await.unwrap().status.unwrap().allowed
}

/// The list itself: nothing is given without a name that could be given with one.
#[rstest]
#[case::secrets("secrets")]
#[case::maps("configmaps")]
#[case::leases("leases")]
#[case::bindings("clusterrolebindings")]
#[case::signers("signers")]
fn named_only(#[case] resource: &str) {
    for account in accounts(&facts()) {
        for right in account.rights.iter().filter(|right| right.resource == resource) {
            assert!(!right.names.is_empty(), "{}: {right:?}", account.name);
        }
    }
}
