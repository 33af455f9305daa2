//! The token that machines join with, on a real API server, under the rights that the manifests give, while the clock moves on.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use kube::api::PostParams;
use kube::config::{AuthInfo, KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use secrecy::{ExposeSecret, SecretString};
use slipway_lifecycle::access::AccessError;
use slipway_operator::machine_config::joining::{JoinError, Joining, Renewal};
use slipway_testkit::control_plane::{ControlPlane, Options};
use slipway_testkit::process::eventually;

const PATIENCE: Duration = Duration::from_mins(1);
const FIRST: &str = "abcdef.0123456789abcdef";
const SECRET: &str = "bootstrap-token-abcdef";
const ACCOUNT: &str = "system:serviceaccount:kube-system:slipway-control-plane";

async fn client_with(plane: &ControlPlane, change: impl FnOnce(&mut AuthInfo)) -> Client {
    let file = Kubeconfig::read_from(plane.kubeconfig()).unwrap();
    let mut config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.unwrap();
    change(&mut config.auth_info);
    Client::try_from(config).unwrap()
}

/// Who the API server takes somebody with a token for.
async fn who(plane: &ControlPlane, token: &SecretString) -> Option<(String, Vec<String>)> {
    let token = token.clone();
    let client =
        client_with(plane, |login| *login = AuthInfo { token: Some(token), ..AuthInfo::default() }).await;
    let api: Api<SelfSubjectReview> = Api::all(client);
    let review = api.create(&PostParams::default(), &SelfSubjectReview::default()).await.ok()?;
    let user = review.status?.user_info?;
    Some((user.username?, user.groups.unwrap_or_default()))
}

/// The same, once the API server has heard of it.
async fn known(plane: &ControlPlane, token: &SecretString) -> (String, Vec<String>) {
    let wait = async {
        loop {
            if let Some(known) = who(plane, token).await {
                return known;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(PATIENCE, wait).await.unwrap()
}

/// The rights of the control plane's account, as they are among the manifests of a cluster.
fn rights() -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../assets/tests/golden/vsphere-kubernetes/manifests");
    let read =
        |kind: &str| fs_err::read_to_string(format!("{folder}/20_slipway-join-token-{kind}.yaml")).unwrap();
    let role = read("role");
    let id = role.split("- bootstrap-token-").nth(1).unwrap().lines().next().unwrap();
    format!("{}\n---\n{}", role.replace(&format!("bootstrap-token-{id}"), SECRET), read("binding"))
}

fn run(plane: &ControlPlane, arguments: &[&str]) {
    let place = ["--namespace", "kube-system"];
    tokio::task::block_in_place(|| plane.kubectl().run(&[arguments, &place].concat()).unwrap());
}

/// Five seconds, most of them for an API server of its own: a shared one has no tokens that others do not see.
#[tokio::test(flavor = "multi_thread")]
async fn a_machine_joins_whenever_it_comes() {
    let plane = tokio::task::block_in_place(|| {
        let plane = ControlPlane::start(Options::default()).unwrap();
        plane.kubectl().apply(&rights()).unwrap();
        // It takes a moment to be in force.
        let may = ["auth", "can-i", "get", &format!("secret/{SECRET}"), "--as", ACCOUNT];
        let may = [&may[..], &["--namespace", "kube-system"]].concat();
        eventually("the rights", PATIENCE, || plane.kubectl().run(&may).map(Some)).unwrap();
        plane
    });
    let account = client_with(&plane, |login| login.impersonate = Some(ACCOUNT.to_owned())).await;
    let server = |name: &str| Joining::new(account.clone(), name, Renewal::Drawn);
    let first = SecretString::from(FIRST);
    let now = Timestamp::now();
    let after = |hours: i64| now + SignedDuration::from_hours(hours);

    // The token of the first day has ended, and was removed.
    assert_eq!(who(&plane, &first).await, None);
    let token = server("a").token(&first, now).await.unwrap();
    assert_ne!(token.expose_secret(), FIRST);
    let (user, groups) = known(&plane, &token).await;
    assert_eq!(user, "system:bootstrap:abcdef", "whom the approver of certificates knows");
    assert!(groups.iter().any(|group| group == "system:bootstrappers:slipway"), "{groups:?}");
    assert!(!groups.iter().any(|group| group.contains("kubeadm")), "{groups:?}");

    // Another server, a moment later and when half of the time is over: it is the same, so that nobody is left behind.
    for (name, hours) in [("b", 0), ("b", 1), ("c", 2), ("a", 3)] {
        let again = server(name).token(&first, after(hours)).await.unwrap();
        assert_eq!(again.expose_secret(), token.expose_secret(), "{hours} hours later");
    }

    // A machine every half an hour, for two days: the token is another one every day nevertheless, and no machine gets one with
    // less than ten minutes left.
    let (mut handed, mut waited) = (BTreeSet::new(), 0);
    for step in 0..96 {
        let at = now + SignedDuration::from_mins(30 * step) + SignedDuration::from_hours(4);
        match server("a").token(&first, at).await {
            Ok(token) => _ = handed.insert(token.expose_secret().to_owned()),
            Err(JoinError::Ending { until }) => {
                assert!(until.duration_since(at) < SignedDuration::from_mins(10), "{until}");
                waited += 1;
            }
            Err(error) => panic!("{error}"),
        }
    }
    assert!((2..=4).contains(&handed.len()) && waited <= 2, "{} tokens, {waited} waited", handed.len());
    let now = now + SignedDuration::from_hours(72);
    let after = |hours: i64| now + SignedDuration::from_hours(hours);

    // The next day, and the one after: nobody has fetched anything for long.
    let next_day = server("a").token(&first, after(24)).await.unwrap();
    assert_ne!(next_day.expose_secret(), token.expose_secret());
    let later = server("b").token(&first, after(48)).await.unwrap();
    assert_ne!(later.expose_secret(), next_day.expose_secret());
    known(&plane, &later).await;
    // One that was never shown: the API server remembers for ten seconds whom it has let in.
    assert_eq!(who(&plane, &next_day).await, None, "what somebody kept is worth nothing");

    // Several servers draw at the same moment: all machines get the same.
    run(&plane, &["delete", "secret", SECRET]);
    let names = ["a", "b", "c", "d", "e", "f"];
    let all = names.map(|name| {
        let (server, first) = (server(name), first.clone());
        tokio::spawn(async move { server.token(&first, now).await })
    });
    let mut drawn = Vec::new();
    for one in all {
        drawn.push(one.await.unwrap().unwrap().expose_secret().to_owned());
    }
    drawn.dedup();
    assert_eq!(drawn.len(), 1, "each has its own");

    // The bootstrap machine has files with the first token, and keeps that one good.
    run(&plane, &["delete", "secret", SECRET]);
    let agent = client_with(&plane, |_| {}).await;
    let kept = Joining::new(agent, "bootstrap", Renewal::Same).token(&first, now).await.unwrap();
    assert_eq!(kept.expose_secret(), FIRST);
    known(&plane, &first).await;

    // The account writes nothing else.
    let other = SecretString::from("ghijkl.0123456789abcdef");
    let error = server("a").token(&other, now).await.unwrap_err();
    assert!(
        matches!(&error, JoinError::Access(AccessError::Api { source, .. }) if source.to_string().contains("forbidden")),
        "{error:?}"
    );

    // An administrator can switch it off.
    let patch = r#"{"stringData": {"usage-bootstrap-authentication": "false"}}"#;
    run(&plane, &["patch", "secret", SECRET, "--patch", patch]);
    let error = server("a").token(&first, now).await.unwrap_err();
    assert!(error.to_string().contains("was switched off"), "{error}");
}
