//! Answers of the machine-config server, over real TLS.

use std::process::Command;

use rstest::rstest;
use serde_json::Value;
use slipway_operator::runtime::net::Limits;
use slipway_operator::server::machine_config::answer::Outcome;
use slipway_operator::server::machine_config::routes::Demand;
use slipway_operator::server::machine_config::spec::SpecVersion;
use slipway_testkit::peers;

use crate::served::{MASTER_TOKEN, SECRET, Served, WORKER_TOKEN, ignition, tokens};

const IGNITION: &str = "application/vnd.coreos.ignition+json";

fn accept(version: &str) -> String {
    format!("{IGNITION};version={version}, */*;q=0.1")
}

#[tokio::test]
async fn every_version_is_what_ignition_accepts() {
    let served = Served::start(Limits::default(), Demand::Token).await;
    let validate = peers::find("ignition-validate").unwrap();
    for version in SpecVersion::all() {
        let answer =
            served.get("/config/worker", Some(WORKER_TOKEN), Some(&accept(&version.to_string()))).await;
        assert_eq!(answer.status(), 200, "{version}");
        assert_eq!(answer.headers()["content-type"], format!("{IGNITION}; version={version}"));
        assert_eq!(answer.headers()["cache-control"], "no-store");
        let text = answer.text().await.unwrap();
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["ignition"]["version"], version.to_string());
        assert!(text.contains(SECRET));
        // The validator's release knows 3.6 only as an experiment.
        if version < SpecVersion::NEWEST {
            let file = served.path().join("served.json");
            std::fs::write(&file, &text).unwrap();
            let output = Command::new(&validate).arg(&file).output().unwrap();
            assert!(output.status.success(), "{version}: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
    assert_eq!(served.metrics.counted("worker", Outcome::Served), 7);
    served.end().await;
}

#[rstest]
#[case::no_accept("/config/worker", Some(WORKER_TOKEN), None, 200, Outcome::Served)]
#[case::newer_ignition("/config/worker", Some(WORKER_TOKEN), Some("3.9.0, */*;q=0.1"), 200, Outcome::Served)]
#[case::no_token("/config/worker", None, Some("3.2.0"), 401, Outcome::MissingToken)]
#[case::wrong_token("/config/worker", Some("guess"), Some("3.2.0"), 401, Outcome::WrongToken)]
#[case::of_another_role("/config/master", Some(WORKER_TOKEN), Some("3.4.0"), 401, Outcome::WrongToken)]
#[case::role_without_tokens("/config/open", Some(WORKER_TOKEN), None, 401, Outcome::WrongToken)]
#[case::unknown_version("/config/worker", Some(WORKER_TOKEN), Some("2.2.0"), 400, Outcome::UnknownVersion)]
#[case::nobody_learns_versions("/config/worker", None, Some("2.2.0"), 401, Outcome::MissingToken)]
#[case::another_role("/config/infra", Some(WORKER_TOKEN), None, 404, Outcome::UnknownRole)]
#[case::no_role("/config/", Some(WORKER_TOKEN), None, 404, Outcome::NoSuchPath)]
#[case::no_path("/", None, None, 404, Outcome::NoSuchPath)]
#[case::traversal("/config/..%2f..%2fetc%2fpasswd", Some(WORKER_TOKEN), None, 404, Outcome::UnknownRole)]
#[case::tokens("/config/worker.tokens", Some(WORKER_TOKEN), None, 404, Outcome::UnknownRole)]
#[case::key("/config/tls%00", Some(WORKER_TOKEN), None, 404, Outcome::UnknownRole)]
#[tokio::test]
async fn answers(
    #[case] path: &str,
    #[case] token: Option<&str>,
    #[case] version: Option<&str>,
    #[case] status: u16,
    #[case] outcome: Outcome,
) {
    let served = Served::start(Limits::default(), Demand::Token).await;
    let accept = version.map(|version| format!("{IGNITION};version={version}"));
    let answer = served.get(path, token, accept.as_deref()).await;
    assert_eq!(answer.status(), status);
    let text = answer.text().await.unwrap();
    assert_eq!(text.contains(SECRET), outcome == Outcome::Served, "{text}");
    let counted: u64 =
        ["", "worker", "master", "open"].iter().map(|role| served.metrics.counted(role, outcome)).sum();
    assert_eq!(counted, 1);
    assert_eq!(served.metrics.counted("infra", outcome), 0, "whoever asks chooses no labels");
    served.end().await;
}

#[tokio::test]
async fn refusals_say_why() {
    let served = Served::start(Limits::default(), Demand::Token).await;
    let luks =
        ignition("3.4.0").replace("\"files\"", "\"luks\":[{\"name\":\"a\",\"device\":\"/dev/a\"}],\"files\"");
    std::fs::write(served.path().join("master.ign"), luks).unwrap();
    let old = served.get("/config/master", Some(MASTER_TOKEN), Some(&accept("3.1.0"))).await;
    assert_eq!(old.status(), 406);
    let text = old.text().await.unwrap();
    assert_eq!(text, "the configuration, of version 3.4.0, has what 3.1.0 does not know: storage.luks\n");
    assert_eq!(served.metrics.counted("master", Outcome::TooNew), 1);
    let unknown = served.get("/config/master", Some(MASTER_TOKEN), Some(&accept("2.2.0"))).await;
    assert_eq!(unknown.status(), 400);
    let text = unknown.text().await.unwrap();
    assert_eq!(
        text,
        "the Accept header asks for version `2.2.0` of Ignition's specification; there are 3.0.0 to 3.6.0\n"
    );
    served.end().await;
}

#[tokio::test]
async fn files_are_read_again_when_they_change() {
    let served = Served::start(Limits::default(), Demand::Token).await;
    let status = async |token: &str| served.get("/config/worker", Some(token), None).await.status().as_u16();
    let write = |name: &str, text: &str| {
        // As the installer does it: beside, and then in its place.
        std::fs::write(served.path().join("new"), text).unwrap();
        std::fs::rename(served.path().join("new"), served.path().join(name)).unwrap();
    };
    assert_eq!(status(WORKER_TOKEN).await, 200);
    write("worker.tokens", &tokens("another"));
    assert_eq!(status(WORKER_TOKEN).await, 401, "the token was withdrawn");
    assert_eq!(status("another").await, 200);
    write("worker.ign", "half a file");
    assert_eq!(status("another").await, 503, "what is broken is not replaced by what was there");
    write("worker.ign", &ignition("3.5.0"));
    let answer = served.get("/config/worker", Some("another"), None).await;
    assert_eq!(answer.headers()["content-type"], format!("{IGNITION}; version=3.5.0"));
    write("worker.tokens", "another");
    assert_eq!(status("another").await, 503);
    std::fs::remove_file(served.path().join("worker.ign")).unwrap();
    assert_eq!(status("another").await, 404);
    assert_eq!(served.metrics.counted("worker", Outcome::Unavailable), 2);
    served.end().await;
}

#[tokio::test]
async fn without_a_token_only_by_consent() {
    let served = Served::start(Limits::default(), Demand::Nothing).await;
    assert_eq!(served.get("/config/open", None, None).await.status(), 200);
    assert_eq!(served.get("/healthz", None, None).await.text().await.unwrap(), "ok\n");
    served.end().await;
}

#[tokio::test]
async fn other_methods_get_nothing() {
    let served = Served::start(Limits::default(), Demand::Token).await;
    let machine = served.machine([127, 0, 0, 1]);
    let post = machine.post(served.url("/config/worker")).bearer_auth(WORKER_TOKEN).send().await.unwrap();
    assert_eq!(post.status(), 405);
    assert_eq!(served.metrics.counted("", Outcome::OtherMethod), 1);
    let head = machine.head(served.url("/config/worker")).bearer_auth(WORKER_TOKEN).send().await.unwrap();
    assert_eq!(head.status(), 200);
    assert!(head.text().await.unwrap().is_empty());
    served.end().await;
}
