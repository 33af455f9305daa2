//! Appliances: from an archive to a machine.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, SHA256, digest};
use serde_json::{Value, json};
use slipway_providers::vsphere::Client;
use slipway_providers::vsphere::error::Cause;
use slipway_providers::vsphere::import::{ImportError, ImportSpec};
use slipway_providers::vsphere::machines::Provisioning;
use slipway_providers::vsphere::ova::{Ova, OvaError};
use slipway_testkit::ova::{self, DESCRIPTOR};
use slipway_testkit::vcenter::VCenter;

use crate::{calls, client, estate};

const TIMEOUT: Duration = Duration::from_mins(1);

/// More than what is read ahead.
fn disk() -> Vec<u8> {
    (0..9_000_000_u32).map(|index| index.wrapping_mul(2_654_435_761).to_be_bytes()[0]).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn manifest(disk: &[u8]) -> String {
    let (one, other) = (digest(&SHA256, DESCRIPTOR.as_bytes()), digest(&SHA1_FOR_LEGACY_USE_ONLY, disk));
    format!("SHA256(a.ovf)= {}\nSHA1(disk.vmdk)= {}\n", hex(one.as_ref()), hex(other.as_ref()))
}

fn archive(vcenter: &VCenter, files: &[(&str, &[u8])]) -> PathBuf {
    vcenter.scratch().write("a.ova", ova::archive(files).unwrap()).unwrap()
}

async fn spec(client: &Client) -> ImportSpec {
    let at = async |path| client.find(path).await.unwrap().unwrap();
    ImportSpec {
        name: "template".to_owned(),
        folder: at("/dc1/vm").await,
        pool: at("/dc1/host/compute/Resources").await,
        datastore: at("/dc1/datastore/fast").await,
        host: None,
        networks: BTreeMap::from([("VM Network".to_owned(), at("/dc1/network/net").await)]),
        provisioning: Provisioning::Thin,
        instance_uuid: None,
        extra_config: BTreeMap::new(),
    }
}

#[tokio::test]
async fn an_appliance_becomes_a_machine() {
    let vcenter = VCenter::start(&estate(0)).unwrap();
    let client = client(&vcenter);
    let disk = disk();
    let manifest = manifest(&disk);
    let files: [(&str, &[u8]); 3] =
        [("a.ovf", DESCRIPTOR.as_bytes()), ("a.mf", manifest.as_bytes()), ("disk.vmdk", &disk)];
    let ova = Ova::open(&archive(&vcenter, &files)).unwrap();
    assert_eq!(ova.networks(), ["VM Network"]);
    let mut percents = Vec::new();
    let machine =
        client.import(&ova, &spec(&client).await, TIMEOUT, |percent| percents.push(percent)).await.unwrap();
    assert_eq!(client.paths(std::slice::from_ref(&machine)).await.unwrap(), ["/dc1/vm/template"]);
    assert!(percents.is_sorted() && percents.last() == Some(&100), "{percents:?}");
    let hardware = client.hardware(std::slice::from_ref(&machine)).await.unwrap();
    assert_eq!(hardware[&machine].version, Some(15));
    assert_eq!((calls(&vcenter, "HttpNfcLeaseComplete"), calls(&vcenter, "HttpNfcLeaseAbort")), (1, 0));
    let requests = vcenter.control("GET", "/requests", &Value::Null).unwrap();
    let upload = requests["requests"].as_array().unwrap().iter().find(|request| request["kind"] == "http");
    assert_eq!(upload.unwrap()["bytes_in"], 9_000_000);
    client.mark_as_template(&machine).await.unwrap();
}

/// A disk that is not what the manifest says is given up, whatever was uploaded of it.
#[tokio::test]
async fn a_damaged_disk_is_noticed() {
    let vcenter = VCenter::start(&estate(0)).unwrap();
    let client = client(&vcenter);
    let mut disk = disk();
    let manifest = manifest(&disk);
    disk[8_999_999] ^= 1;
    let files: [(&str, &[u8]); 3] =
        [("a.ovf", DESCRIPTOR.as_bytes()), ("disk.vmdk", &disk), ("a.mf", manifest.as_bytes())];
    let ova = Ova::open(&archive(&vcenter, &files)).unwrap();
    let error = client.import(&ova, &spec(&client).await, TIMEOUT, |_| {}).await.unwrap_err();
    assert!(matches!(&error, ImportError::Ova(OvaError::Damaged { file, .. }) if file == "disk.vmdk"));
    assert_eq!((calls(&vcenter, "HttpNfcLeaseComplete"), calls(&vcenter, "HttpNfcLeaseAbort")), (0, 1));
}

#[tokio::test]
async fn an_upload_that_fails_is_given_up() {
    let vcenter = VCenter::start(&estate(0)).unwrap();
    let client = client(&vcenter);
    let disk = disk();
    let files: [(&str, &[u8]); 2] = [("a.ovf", DESCRIPTOR.as_bytes()), ("disk.vmdk", &disk)];
    let ova = Ova::open(&archive(&vcenter, &files)).unwrap();
    let rule = json!({"on": {"kind": "http", "path": "/nfc"}, "fault": {"http_status": 500}});
    vcenter.control("POST", "/faults", &rule).unwrap();
    let error = client.import(&ova, &spec(&client).await, TIMEOUT, |_| {}).await.unwrap_err();
    let ImportError::Call(error) = error else { panic!("{error:?}") };
    assert!(matches!(error.source, Cause::Status { .. } | Cause::Broken(_)), "{error:?}");
    assert_eq!(calls(&vcenter, "HttpNfcLeaseAbort"), 1);
}

/// So is one that somebody has lost interest in.
#[tokio::test]
async fn a_dropped_import_is_given_up() {
    let vcenter = VCenter::start(&estate(0)).unwrap();
    let client = client(&vcenter);
    let disk = disk();
    let files: [(&str, &[u8]); 2] = [("a.ovf", DESCRIPTOR.as_bytes()), ("disk.vmdk", &disk)];
    let ova = Ova::open(&archive(&vcenter, &files)).unwrap();
    let rule = json!({"on": {"kind": "http", "path": "/nfc"}, "fault": {"delay_ms": 60_000}});
    vcenter.control("POST", "/faults", &rule).unwrap();
    let spec = spec(&client).await;
    let import = client.import(&ova, &spec, TIMEOUT, |_| {});
    let deadline = tokio::time::Instant::now() + TIMEOUT;
    let uploads = async {
        let of_upload = |request: &Value| request["kind"] == "http";
        let asked = || vcenter.control("GET", "/requests", &Value::Null).unwrap()["requests"].take();
        while !asked().as_array().unwrap().iter().any(of_upload) {
            assert!(tokio::time::Instant::now() < deadline, "nothing is uploaded");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        outcome = import => panic!("it has ended: {outcome:?}"),
        () = uploads => {}
    }
    while calls(&vcenter, "HttpNfcLeaseAbort") == 0 {
        assert!(tokio::time::Instant::now() < deadline, "nobody gave it up");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn what_cannot_be_imported_is_said_before_anything_is_made() {
    let vcenter = VCenter::start(&estate(0)).unwrap();
    let client = client(&vcenter);
    let open = |files: &[(&str, &[u8])]| Ova::open(&archive(&vcenter, files));
    let ovf: (&str, &[u8]) = ("a.ovf", DESCRIPTOR.as_bytes());
    assert!(matches!(open(&[("disk.vmdk", b"x")]), Err(OvaError::NoDescriptor { .. })));
    assert!(matches!(open(&[ovf, ("a.mf", b"nonsense")]), Err(OvaError::Manifest { line: 1, .. })));
    let wrong = format!("SHA1(a.ovf)= {}", "0".repeat(40));
    assert!(matches!(open(&[ovf, ("a.mf", wrong.as_bytes())]), Err(OvaError::Damaged { .. })));
    let unlisted = format!("SHA1(b.ovf)= {}", "0".repeat(40));
    assert!(matches!(open(&[ovf, ("a.mf", unlisted.as_bytes())]), Err(OvaError::Unlisted { .. })));
    let mut spec = spec(&client).await;
    spec.networks.clear();
    let ova = open(&[ovf, ("disk.vmdk", b"x")]).unwrap();
    let error = client.import(&ova, &spec, TIMEOUT, |_| {}).await.unwrap_err();
    assert_eq!(error.to_string(), "no network is given for `VM Network` of the appliance");
    assert_eq!(calls(&vcenter, "ImportVApp"), 0);
}
