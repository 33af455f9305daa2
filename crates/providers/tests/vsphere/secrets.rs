//! Nothing secret is logged, by us or by what we use, however much is logged.

use std::io::Write;
use std::sync::{Arc, Mutex};

use secrecy::{ExposeSecret, SecretString};
use serde_json::json;
use slipway_providers::vsphere::Client;
use slipway_testkit::vcenter::VCenter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::FmtSpan;

use crate::{authorities, endpoint, estate, login};

#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Kept {
    type Writer = Kept;

    fn make_writer(&'a self) -> Kept {
        self.clone()
    }
}

#[tokio::test]
async fn logs_hold_no_secrets() {
    const PASSWORD: &str = "swordfish-and-chips";
    let mut estate = estate(1);
    estate["users"] = json!([{"name": "ops", "password": PASSWORD, "groups": ["Administrators"]}]);
    let vcenter = VCenter::start(&estate).unwrap();
    let kept = Kept::default();
    tracing_log::LogTracer::init().unwrap();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_span_events(FmtSpan::FULL)
        .with_writer(kept.clone())
        .finish();
    // One thread runs everything, so it hears everything.
    let listening = tracing::subscriber::set_default(subscriber);
    let client = Client::new(endpoint(&vcenter, authorities(&vcenter)), login("ops@vsphere.local", PASSWORD));
    let client = client.unwrap();
    let root = client.manager("rootFolder").await.unwrap();
    client.property(&root, "name").await.unwrap();
    client.categories().await.unwrap();
    let token = client.token().await.unwrap();
    client.log_in_by_token(&token).await.unwrap();
    client.user().await.unwrap();
    let directory = client.directory().await.unwrap();
    directory.create("node", "", &SecretString::from("halibut-1")).await.unwrap();
    client.policies().await.unwrap();
    vcenter.control("POST", "/sessions/expire", &json!({})).unwrap();
    client.user().await.unwrap();
    client.logout().await.unwrap();
    drop(listening);
    let log = String::from_utf8(kept.0.lock().unwrap().clone()).unwrap();
    assert!(log.contains("method=\"LoginByToken\"") && log.contains("hyper"), "it hears:\n{log}");
    let assertion = token.expose_secret();
    let base64 = "b3BzQHZzcGhlcmUubG9jYWw6";
    for secret in [PASSWORD, "halibut-1", base64, "Assertion", "vmware_soap_session", &assertion[..40]] {
        let line = log.lines().find(|line| line.contains(secret));
        assert_eq!(line, None, "{secret}");
    }
    // The ids of sessions are known to the simulator.
    let requests = vcenter.control("GET", "/requests", &serde_json::Value::Null).unwrap();
    let sessions =
        requests["requests"].as_array().unwrap().iter().filter_map(|call| call["session"].as_str());
    let sessions: std::collections::BTreeSet<&str> = sessions.filter(|session| session.len() > 8).collect();
    assert!(!sessions.is_empty());
    assert!(sessions.iter().all(|session| !log.contains(session)), "{sessions:?}");
}
