//! The token that machines join with, on a real API server, under the rights that the manifests give, while the clock moves on.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use kube::Api;
use kube::api::PostParams;
use kube::config::AuthInfo;
use secrecy::{ExposeSecret, SecretString};
use slipway_assets::names::Role;
use slipway_operator::server::machine_config::joining::{JoinError, Joining, Renewal};
use slipway_providers::cluster::AccessError;
use slipway_testkit::control_plane::{ControlPlane, Options};

use crate::{certificates, control_plane, rights, shipped};

const TIMEOUT: Duration = Duration::from_mins(1);
const ACCOUNT: &str = "slipway-machine-config";

/// Who the API server takes somebody with a token for.
async fn who(plane: &ControlPlane, token: &SecretString) -> Option<(String, Vec<String>)> {
    let token = token.clone();
    let client =
        shipped::client_with(plane, |login| *login = AuthInfo { token: Some(token), ..AuthInfo::default() })
            .await;
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
    tokio::time::timeout(TIMEOUT, wait).await.unwrap()
}

fn run(plane: &ControlPlane, arguments: &[&str]) {
    let place = ["--namespace", "kube-system"];
    tokio::task::block_in_place(|| plane.kubectl().run(&[arguments, &place].concat()).unwrap());
}

/// Most of the time is for an API server of its own: a shared one has no tokens that others do not see. What else is asked of the
/// accounts in the manifests is asked here as well.
#[tokio::test(flavor = "multi_thread")]
async fn a_machine_joins_whenever_it_comes() {
    let plane = tokio::task::block_in_place(|| {
        let plane = ControlPlane::start(Options::default()).unwrap();
        // The last one takes longest to be in force.
        shipped::apply(
            &plane,
            &[
                "slipway-machine-config",
                "slipway-certificates",
                "slipway-control-plane",
                "slipway-node",
                "slipway-csr-approver",
            ],
        );
        plane
    });
    rights::are_exactly_these(&plane).await;
    certificates::are_renewed_one_machine_after_the_other(&plane).await;
    control_plane::machines_leave_etcd_before_they_go(&plane).await;
    let account = shipped::account(&plane, ACCOUNT).await;
    let server = |name: &str| Joining::new(account.clone(), name, Renewal::Drawn);
    let id = rights::facts().bootstrap_tokens.worker;
    let (first_token, secret) = (format!("{id}.0123456789abcdef"), format!("bootstrap-token-{id}"));
    let first = SecretString::from(first_token.as_str());
    let now = Timestamp::now();
    let after = |hours: i64| now + SignedDuration::from_hours(hours);

    // The token of the first day has ended, and was removed.
    assert_eq!(who(&plane, &first).await, None);
    let token = server("a").token(&first, now).await.unwrap();
    assert_ne!(token.expose_secret(), first_token);
    let (user, groups) = known(&plane, &token).await;
    assert_eq!(user, format!("system:bootstrap:{id}"), "whom the approver of certificates knows");
    assert!(groups.iter().any(|group| group == "system:bootstrappers:slipway"), "{groups:?}");
    assert!(!groups.iter().any(|group| group.contains("kubeadm")), "{groups:?}");

    // The other role has its own, from the same server.
    let both = server("a");
    let masters = SecretString::from(format!("{}.0123456789abcdef", rights::facts().bootstrap_tokens.master));
    assert_eq!(both.token(&first, now).await.unwrap().expose_secret(), token.expose_secret());
    let of_masters = both.token(&masters, now).await.unwrap();
    assert_eq!(known(&plane, &of_masters).await.0, rights::facts().bootstrapper(Role::Master));

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
    run(&plane, &["delete", "secret", &secret]);
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
    run(&plane, &["delete", "secret", &secret]);
    let agent = shipped::client_with(&plane, |_| {}).await;
    let kept = Joining::new(agent, "bootstrap", Renewal::Same).token(&first, now).await.unwrap();
    assert_eq!(kept.expose_secret(), first_token);
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
    run(&plane, &["patch", "secret", &secret, "--patch", patch]);
    let error = server("a").token(&first, now).await.unwrap_err();
    assert!(error.to_string().contains("was switched off"), "{error}");
}
