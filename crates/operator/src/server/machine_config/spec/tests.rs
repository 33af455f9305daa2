use rstest::rstest;
use serde_json::{Value, json};

use super::{Config, SpecError, SpecVersion};

fn config(minor: u8, rest: &Value) -> Config {
    let mut value = json!({"ignition": {"version": format!("3.{minor}.0")}});
    merge(&mut value, rest);
    Config::parse(value.to_string().as_bytes()).unwrap()
}

fn merge(value: &mut Value, other: &Value) {
    match (value, other) {
        (Value::Object(members), Value::Object(others)) => {
            for (key, other) in others {
                merge(members.entry(key.clone()).or_insert(Value::Null), other);
            }
        }
        (value, other) => *value = other.clone(),
    }
}

/// Each feature: the version it came with, and how the one before that names it.
#[rstest]
#[case::headers(1, json!({"ignition": {"config": {"merge": [{"source": "https://a/", "httpHeaders": [{"name": "A", "value": "b"}]}]}}}), "ignition.config.merge.0.httpHeaders")]
#[case::proxy(1, json!({"ignition": {"proxy": {"httpProxy": "http://p"}}}), "ignition.proxy")]
#[case::mount_options(1, json!({"storage": {"filesystems": [{"device": "/dev/a", "mountOptions": ["ro"]}]}}), "storage.filesystems.0.mountOptions")]
#[case::sha256(1, json!({"storage": {"files": [{"path": "/a", "contents": {"source": "https://a/", "verification": {"hash": "sha256-00"}}}]}}), "storage.files.0.contents.verification.hash")]
#[case::luks(2, json!({"storage": {"luks": [{"name": "a", "device": "/dev/a"}]}}), "storage.luks")]
#[case::resize(2, json!({"storage": {"disks": [{"device": "/dev/a", "partitions": [{"number": 1, "resize": true}]}]}}), "storage.disks.0.partitions.0.resize")]
#[case::deleted_user(2, json!({"passwd": {"users": [{"name": "a", "shouldExist": false}]}}), "passwd.users.0.shouldExist")]
#[case::gs(2, json!({"storage": {"files": [{"path": "/a", "contents": {"source": "gs://a/b"}}]}}), "storage.files.0.contents.source")]
#[case::kernel_arguments(3, json!({"kernelArguments": {"shouldExist": ["a"]}}), "kernelArguments")]
#[case::no_file_system(3, json!({"storage": {"filesystems": [{"device": "/dev/a", "format": "none"}]}}), "storage.filesystems.0.format")]
#[case::absent_target(3, json!({"storage": {"links": [{"path": "/a"}]}}), "an absent `target`")]
#[case::discard(4, json!({"storage": {"luks": [{"name": "a", "device": "/dev/a", "discard": true}]}}), "storage.luks.0.discard")]
#[case::arn(4, json!({"storage": {"files": [{"path": "/a", "contents": {"source": "arn:aws:s3:::a/b"}}]}}), "storage.files.0.contents.source")]
#[case::cex(5, json!({"storage": {"luks": [{"name": "a", "device": "/dev/a", "cex": {"enabled": true}}]}}), "storage.luks.0.cex")]
#[case::setuid(6, json!({"storage": {"files": [{"path": "/a", "mode": 0o4755}]}}), "storage.files.0.mode")]
fn a_feature_is_not_lost(#[case] since: u8, #[case] rest: Value, #[case] part: &str) {
    let newest = config(SpecVersion::NEWEST.minor, &rest);
    for to in SpecVersion::all() {
        let result = newest.in_version(to);
        if to.minor >= since {
            let text = result.unwrap();
            assert_eq!(Config::parse(&text).unwrap().version(), to);
        } else {
            let Err(SpecError::TooNew { parts, .. }) = result else { panic!("{to}: {result:?}") };
            // Before there was LUKS at all, that is what is missing.
            assert!(parts.iter().any(|known| part.starts_with(known.as_str())), "{to}: {parts:?}");
        }
    }
}

#[test]
fn all_parts_are_named_at_once() {
    let rest = json!({"kernelArguments": {}, "storage": {"luks": [{"name": "a", "device": "/dev/a"}]}});
    let error = config(3, &rest).in_version(SpecVersion::new(1)).unwrap_err();
    let text =
        "the configuration, of version 3.3.0, has what 3.1.0 does not know: kernelArguments, storage.luks";
    assert_eq!(error.to_string(), text);
}

#[test]
fn what_is_plain_goes_everywhere_unchanged() {
    let rest = json!({
        "passwd": {"users": [{"name": "core", "sshAuthorizedKeys": ["ssh-ed25519 AAAA"]}]},
        "storage": {"files": [{"path": "/etc/a", "mode": 0o644, "overwrite": true, "contents": {"source": "data:,a"}}]},
        "systemd": {"units": [{"name": "a.service", "enabled": true, "contents": "[Service]"}]},
    });
    for from in SpecVersion::all() {
        for to in SpecVersion::all() {
            let text = config(from.minor, &rest).in_version(to).unwrap();
            let mut expected = json!({"ignition": {"version": to.to_string()}});
            merge(&mut expected, &rest);
            assert_eq!(serde_json::from_slice::<Value>(&text).unwrap(), expected);
        }
    }
}

/// Bits that were ignored must not make a program setuid because a newer machine asks.
#[test]
fn special_bits_do_not_come_to_life() {
    let rest = json!({"storage": {"files": [{"path": "/a", "mode": 0o4755}]}});
    let text = config(5, &rest).in_version(SpecVersion::new(6)).unwrap();
    let value: Value = serde_json::from_slice(&text).unwrap();
    assert_eq!(value.pointer("/storage/files/0/mode"), Some(&json!(0o755)));
    let text = config(5, &rest).in_version(SpecVersion::new(3)).unwrap();
    let value: Value = serde_json::from_slice(&text).unwrap();
    assert_eq!(value.pointer("/storage/files/0/mode"), Some(&json!(0o4755)));
}

/// A key that no version knows is what Ignition ignores; it is not a reason to refuse.
#[test]
fn unknown_keys_are_no_features() {
    let config = config(4, &json!({"futile": true}));
    assert!(config.in_version(SpecVersion::OLDEST).is_ok());
}

#[rstest]
#[case::no_json("pull-secret", "JSON is broken at line 1, column 1")]
#[case::no_version("{}", "it has no text at ignition.version")]
#[case::old(r#"{"ignition": {"version": "2.2.0"}}"#, "version `2.2.0`; known are 3.0.0 to 3.6.0")]
#[case::experimental(r#"{"ignition": {"version": "3.7.0-experimental"}}"#, "version `3.7.0-experimental`")]
#[case::wrong_type(
    r#"{"ignition": {"version": "3.2.0"}, "storage": "pull-secret"}"#,
    "a value of another type"
)]
#[case::missing(r#"{"ignition": {"version": "3.2.0"}, "storage": {"files": [{}]}}"#, "an absent `path`")]
fn what_cannot_be_used(#[case] text: &str, #[case] reason: &str) {
    let error = Config::parse(text.as_bytes()).unwrap_err().to_string();
    assert!(error.contains(reason), "{error}");
    assert!(!error.contains("pull-secret"), "{error}");
}
