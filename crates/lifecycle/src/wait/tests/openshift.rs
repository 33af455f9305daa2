//! Waiting for an OpenShift cluster: a real API server with OpenShift's own definitions, whose objects change while it is waited.

use std::sync::Mutex;
use std::time::Duration;

use serde_json::{Value, json};
use slipway_config::install_config::PayloadType;
use slipway_testkit::control_plane::{ControlPlane, Options};

use crate::wait::{Error, Goal, Listener, View, WaitTarget, WaitTimeouts, for_install};

const LONG_AGO: &str = "2026-11-16T11:00:00Z";
/// Short enough to be used up by a test.
const SHORT: Duration = Duration::from_secs(2);
/// Longer than a busy machine takes to change a few objects.
const LONG: Duration = Duration::from_mins(2);

/// Conditions as operators write them.
fn conditions(all: &[(&str, &str, &str)], time: &str) -> Value {
    let condition = |(kind, status, message): &(&str, &str, &str)| json!({"type": kind, "status": status, "reason": "AsExpected", "message": message, "lastTransitionTime": time});
    all.iter().map(condition).collect()
}

fn put(plane: &ControlPlane, object: &Value) {
    plane.kubectl().apply_value(object).unwrap();
    let file = plane.scratch().write("status.json", object.to_string()).unwrap();
    let arguments = [
        "apply",
        "--server-side",
        "--subresource=status",
        "--force-conflicts",
        "--filename",
        file.to_str().unwrap(),
    ];
    plane.kubectl().run(&arguments).unwrap();
}

fn version(plane: &ControlPlane, all: &[(&str, &str, &str)]) {
    put(
        plane,
        &json!({
            "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": {"name": "version"},
            "spec": {"clusterID": "5d0c1f00-0000-4000-8000-3cecef112233"},
            "status": {
                "conditions": conditions(all, LONG_AGO), "availableUpdates": null, "observedGeneration": 1,
                "versionHash": "x", "desired": {"version": "4.20.3", "image": "quay.io/ocp-release:4.20.3"},
            },
        }),
    );
}

fn operator(
    plane: &ControlPlane,
    name: &str,
    [available, progressing, degraded]: [&str; 3],
    message: &str,
    time: &str,
) {
    let all = [
        ("Available", available, message),
        ("Progressing", progressing, message),
        ("Degraded", degraded, message),
    ];
    put(
        plane,
        &json!({
            "apiVersion": "config.openshift.io/v1", "kind": "ClusterOperator", "metadata": {"name": name}, "spec": {},
            "status": {"conditions": conditions(&all, time)},
        }),
    );
}

const DONE: [(&str, &str, &str); 3] = [
    ("Available", "True", "Done applying 4.20.3"),
    ("Progressing", "False", "Cluster version is 4.20.3"),
    ("Failing", "False", ""),
];
const WELL: [&str; 3] = ["True", "False", "False"];

/// Changes the cluster whenever it is told how it is.
struct Course<F> {
    views: Mutex<Vec<View>>,
    next: F,
}

impl<F: Fn(usize) + Sync> Listener for Course<F> {
    fn tell(&self, view: &View) {
        let mut views = self.views.lock().unwrap();
        views.push(view.clone());
        (self.next)(views.len());
    }
}

async fn wait<F: Fn(usize) + Sync>(
    plane: &ControlPlane,
    install: Duration,
    next: F,
) -> (Result<View, Error>, Vec<View>) {
    let subject = WaitTarget::of_kubeconfig(plane.kubeconfig(), PayloadType::OpenShift, 3);
    let patience = WaitTimeouts { install, pause: Duration::from_millis(50), ..WaitTimeouts::default() };
    let course = Course { views: Mutex::default(), next };
    let result = for_install(&subject, patience, &course, std::future::pending()).await;
    (result, course.views.into_inner().unwrap())
}

fn stuck(result: Result<View, Error>) -> View {
    match result {
        Err(Error::Stuck { view, after }) if after == SHORT => *view,
        other => panic!("it was not given up: {other:?}"),
    }
}

/// Giving up takes its time: one API server for all of it. That what moves gets more time is shown by the tests of `ProgressTimer`.
#[tokio::test(flavor = "multi_thread")]
async fn an_openshift_cluster_becomes_complete() {
    let plane = ControlPlane::start(Options::default()).unwrap();
    plane
        .install_definitions(&[
            "openshift/clusterversions.config.openshift.io",
            "openshift/clusteroperators.config.openshift.io",
        ])
        .unwrap();

    // A version that fails: what it says is the cause, or the operator that is in its way.
    let failing = [
        ("Available", "False", ""),
        ("Progressing", "True", "Unable to apply 4.20.3"),
        ("Failing", "True", "Could not update deployment \"openshift-ingress/router\""),
    ];
    version(&plane, &failing);
    let (result, _) = wait(&plane, SHORT, |_| {}).await;
    let view = stuck(result);
    assert_eq!(view.goal, Goal::Install);
    assert_eq!(view.cause.unwrap(), "Could not update deployment \"openshift-ingress/router\"");
    assert!(view.hint.unwrap().contains("oc get clusterversion"));

    // The counts go up, then all is well.
    operator(&plane, "ingress", ["False", "True", "True"], "no router is ready", LONG_AGO);
    let (result, views) = wait(&plane, LONG, |count| {
        if count < 4 {
            let words = format!("Working towards 4.20.3: {} of 903 done", 10 * count);
            version(
                &plane,
                &[("Available", "False", ""), ("Progressing", "True", &words), ("Failing", "False", "")],
            );
            return;
        }
        operator(&plane, "ingress", WELL, "", LONG_AGO);
        version(&plane, &DONE);
    })
    .await;
    assert!(result.unwrap().is_done());
    let working = &views[1];
    assert!(working.waiting[0].starts_with("the cluster version: Working towards 4.20.3: "), "{working:?}");
    assert_eq!(
        working.cause.as_deref(),
        Some("the cluster operator ingress is degraded: no router is ready")
    );

    // The version is there: one operator is degraded, another works, and a third has just come to rest.
    operator(&plane, "ingress", ["True", "False", "True"], "the certificate has expired", LONG_AGO);
    operator(
        &plane,
        "etcd",
        ["True", "True", "False"],
        "NodeInstallerProgressing: 1 node is at revision 6",
        LONG_AGO,
    );
    // Ahead of our clock, so that it stays so however long this takes.
    let just_now = (jiff::Timestamp::now() + jiff::SignedDuration::from_mins(10)).to_string();
    operator(&plane, "network", WELL, "", &just_now);
    let (result, _) = wait(&plane, SHORT, |_| {}).await;
    let view = stuck(result);
    assert_eq!(view.goal, Goal::Operators);
    assert_eq!(
        view.waiting,
        [
            "the cluster operator etcd is at work: NodeInstallerProgressing: 1 node is at revision 6",
            "the cluster operator ingress is degraded: the certificate has expired",
            "the cluster operator network became stable only a moment ago",
        ]
    );

    // One after the other comes to rest.
    let (result, views) = wait(&plane, LONG, |count| match count {
        1 => operator(&plane, "etcd", WELL, "", LONG_AGO),
        2 => operator(&plane, "ingress", WELL, "", LONG_AGO),
        _ => operator(&plane, "network", WELL, "", LONG_AGO),
    })
    .await;
    assert!(result.unwrap().is_done());
    let left: Vec<usize> = views.iter().map(|view| view.waiting.len()).collect();
    assert_eq!(left, [3, 2, 1, 0]);
}
