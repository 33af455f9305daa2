//! No secret survives, however it is written.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use proptest::prelude::*;
use rstest::rstest;
use serde_json::json;

use super::Redactor;

#[rstest]
#[case("login as admin with hunter22 failed", "login as admin with <removed> failed")]
#[case("data: aHVudGVyMjI=", "data: <removed>")]
#[case("auth: YWRtaW46aHVudGVyMjI=", "auth: <removed>")]
#[case("Authorization: Bearer abc.def-123", "Authorization: Bearer <removed>")]
#[case("Authorization: Basic bWU6c3dvcmRmaXNo, basic things", "Authorization: Basic <removed>, basic things")]
#[case("kubeadm join --token abcdef.0123456789abcdef x", "kubeadm join --token <removed> x")]
#[case("mysql --password swordfish --token-ttl 24h", "mysql --password <removed> --token-ttl 24h")]
#[case("url?user=a&password=swordfish, next", "url?user=a&password=<removed>, next")]
#[case("via http://me:swordfish@proxy:3128 failed", "via http://***@proxy:3128 failed")]
#[case("got https://h/x.ova?X-Amz-Signature=ab12 late", "got https://h/x.ova?X-Amz-Signature=*** late")]
#[case(r#"{"error":{"password":"swordfish","n":1}}"#, r#"{"error":{"password":"<removed>","n":1}}"#)]
#[case("a\n-----BEGIN EC PRIVATE KEY-----\nMHc\n-----END EC PRIVATE KEY-----\nb\n", "a\n<removed>\nb\n")]
#[case("-----BEGIN RSA PRIVATE KEY-----\ncut off", "<removed>")]
#[case(
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
)]
#[case(
    "time=12:00 stage=control-plane node a.b.c 10.0.0.1:6443",
    "time=12:00 stage=control-plane node a.b.c 10.0.0.1:6443"
)]
fn texts(#[case] text: &str, #[case] expected: &str) {
    let mut redactor = Redactor::default();
    redactor.add("hunter22");
    assert_eq!(redactor.text(text), expected);
}

#[test]
fn objects() {
    let mut value = json!({
        "data": {"password": "a", "user": "b"},
        "spec": {
            "env": [
                {"name": "DATABASE_URL", "value": "c"},
                {"name": "LOGGER_LEVEL", "value": "d"},
                {"name": "HTTP_PROXY", "value": "http://me:swordfish@proxy:3128"},
                {"name": "PW", "valueFrom": {"secretKeyRef": {"name": "kept", "key": "kept"}}},
            ],
            "args": ["--password", "e", "--tls-private-key-file", "/kept", "--token=f", "-v"],
            "secretName": "kept", "userData": "g", "volumes": [{"secret": {"secretName": "kept"}}],
            "passwords": ["h", 1],
        },
    });
    Redactor::default().value(&mut value);
    assert_eq!(
        value,
        json!({
            "data": {"password": "<removed>", "user": "b"},
            "spec": {
                "env": [
                    {"name": "DATABASE_URL", "value": "<removed>"},
                    {"name": "LOGGER_LEVEL", "value": "d"},
                    {"name": "HTTP_PROXY", "value": "http://***@proxy:3128"},
                    {"name": "PW", "valueFrom": {"secretKeyRef": {"name": "kept", "key": "kept"}}},
                ],
                "args": ["--password", "<removed>", "--tls-private-key-file", "/kept", "--token=<removed>", "-v"],
                "secretName": "kept", "userData": "<removed>", "volumes": [{"secret": {"secretName": "kept"}}],
                "passwords": ["<removed>", "<removed>"],
            },
        })
    );
}

/// A secret may be a word that names have in them: fields stay readable, and none is lost.
#[test]
fn keys_survive() {
    let mut redactor = Redactor::default();
    for secret in ["cluster", "harbour", "hunter22", "x7k2p9"] {
        redactor.add(secret);
    }
    let mut value = json!({
        "cluster": "cluster", "clusterName": 1, "kubernetes.io/cluster-service": true,
        "harbour-master-0": {"cluster": 2}, "harbour-master-1": {"cluster": 3},
        "hunter22": 4, "a/hunter22": 5, "x7k2p9": 6, "myhunter22s": 7,
        "https://me:swordfish@r.example.com": 8,
    });
    redactor.value(&mut value);
    assert_eq!(
        value,
        json!({
            "cluster": "<removed>", "clusterName": 1, "kubernetes.io/cluster-service": true,
            "harbour-master-0": {"cluster": 2}, "harbour-master-1": {"cluster": 3},
            "<removed>": 4, "a/<removed>": 5, "<removed> 2": 6, "myhunter22s": 7,
            "https://***@r.example.com": 8,
        })
    );
}

#[test]
fn what_a_pull_secret_holds_is_known() {
    let mut redactor = Redactor::default();
    redactor.add(r#"{"auths": {"r.example.com": {"auth": "dXNlcjpzd29yZGZpc2g="}}}"#);
    for text in ["dXNlcjpzd29yZGZpc2g=", "with swordfish", "c3dvcmRmaXNo"] {
        let shown = redactor.text(text);
        assert!(shown.ends_with("<removed>"), "{text}: {shown}");
    }
}

/// How programs write text into other text.
fn forms(secret: &str) -> Vec<String> {
    let json = |text: &str| {
        let quoted = serde_json::to_string(text).unwrap();
        quoted[1..quoted.len() - 1].to_owned()
    };
    let percent = |text: &str, kept: &str| -> String {
        let escaped = |c: char| c.to_string().bytes().map(|byte| format!("%{byte:02x}")).collect::<String>();
        let one = |c: char| if c.is_ascii_alphanumeric() || kept.contains(c) { c.into() } else { escaped(c) };
        text.chars().map(one).collect()
    };
    let xml = |text: &str| {
        text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&#34;").replace('\'', "&apos;")
    };
    let go = |text: &str| json(text).replace('&', "\\u0026").replace('<', "\\u003c").replace('>', "\\u003e");
    vec![
        secret.to_owned(),
        json(secret),
        json(&json(secret)),
        go(secret),
        percent(secret, "-._~"),
        percent(secret, "-._~$&+,;=!*'()"),
        percent(secret, "").replace("%20", "+"),
        secret.bytes().map(|byte| format!("%{byte:02X}")).collect(),
        xml(secret),
        xml(&json(secret)),
        json(&percent(secret, "-._~")),
    ]
}

proptest! {
    #[test]
    fn no_known_secret_survives(
        secret in "[ -~äß€😀]{0,10}[!-~]{6,16}",
        rest in "[0-9]{0,6}",
        before in "[ -~]{0,12}",
        after in "[ -~]{0,12}",
        user in "[a-z]{0,5}",
    ) {
        let secret = secret.trim().to_owned();
        let longer = format!("{secret}{rest}");
        let mut redactor = Redactor::default();
        redactor.add(&secret);
        redactor.add(&longer);
        for known in [&secret, &longer] {
            for form in forms(known) {
                let shown = redactor.text(&format!("{before} {form} {after}"));
                prop_assert!(!shown.contains(form.as_str()), "{known:?} as {form:?}: {shown}");
            }
            let login = format!("{user}:{known}\n");
            for encoded in [STANDARD.encode(&login), URL_SAFE_NO_PAD.encode(&login), STANDARD.encode(known)] {
                let shown = redactor.text(&format!("{before} {encoded} {after}"));
                prop_assert!(!shown.contains(encoded.trim_end_matches('=')), "{encoded}: {shown}");
            }
        }
        // Nothing of the longer one is left where both match.
        if !rest.is_empty() {
            let shown = redactor.text(&format!("x {longer} y"));
            prop_assert!(!shown.contains(&rest), "{rest}: {shown}");
        }
    }
}
