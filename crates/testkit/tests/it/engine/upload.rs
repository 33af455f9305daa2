//! An image goes to the engine's own transfer daemon by its own client, and becomes a template.

use std::process::Command;

use serde_json::json;
use slipway_testkit::engine::Engine;
use slipway_testkit::engine::inventory::Inventory;
use slipway_testkit::python;

use super::client::{Wire, machine};

/// Writes standard input's worth of bytes with two requests, as one that was interrupted would, and asks for a checksum.
const UPLOAD: &str = r#"
import http.client, json, ssl, sys, urllib.parse
url, ca, path = sys.argv[1:]
place = urllib.parse.urlparse(url)
def ask(method, body=None, headers={}, suffix=""):
    connection = http.client.HTTPSConnection(place.hostname, place.port, context=ssl.create_default_context(cafile=ca))
    connection.request(method, place.path + suffix, body, headers)
    answer = connection.getresponse()
    return answer.status, answer.read().decode()
data = open(path, "rb").read()
half = len(data) // 2
told = [ask("OPTIONS")[0]]
told.append(ask("PUT", data[:half], {"Content-Range": "bytes 0-%d/*" % (half - 1)})[0])
told.append(ask("PUT", data[half:], {"Content-Range": "bytes %d-%d/*" % (half, len(data) - 1)})[0])
told.append(ask("PATCH", json.dumps({"op": "flush"}), {"Content-Type": "application/json"})[0])
print(json.dumps(told))
"#;

#[test]
fn an_image_is_uploaded_through_the_real_daemon() {
    let engine = Engine::start(&Inventory::default()).unwrap();
    let wire = Wire::new(&engine);
    let image: Vec<u8> = (0..=250_u8).cycle().take(1 << 20).collect();
    let file = engine.scratch().write("image.raw", &image).unwrap();
    let domain = engine.id("storagedomains", "data1").unwrap();
    let vm = wire.post("/vms", &machine("seed"))["id"].as_str().unwrap().to_owned();
    let disk = json!({"bootable": true, "interface": "virtio_scsi", "disk": {"name": "image", "format": "raw", "provisioned_size": image.len(),
                      "storage_domains": {"storage_domain": [{"id": domain}]}}});
    let disk = wire.post(&format!("/vms/{vm}/diskattachments"), &disk)["id"].as_str().unwrap().to_owned();

    let transfer = wire.post(
        "/imagetransfers",
        &json!({"disk": {"id": disk}, "direction": "upload", "inactivity_timeout": 120}),
    );
    assert_eq!(transfer["phase"], "initializing", "{transfer}");
    let place = format!("/imagetransfers/{}", transfer["id"].as_str().unwrap());
    let transfer = wire.get(&place);
    assert_eq!(transfer["phase"], "transferring");
    assert_eq!(wire.get(&format!("/disks/{disk}"))["status"], "locked");
    let output = Command::new(python::find().unwrap())
        .args(["-c", UPLOAD, transfer["transfer_url"].as_str().unwrap()])
        .args([engine.ca_file(), &file])
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8_lossy(&output.stdout).trim(),
        "[200, 200, 200, 200]",
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(wire.get(&place)["transferred"], image.len().to_string());
    wire.post(&format!("{place}/finalize"), &json!({}));
    assert_eq!(wire.get(&place)["phase"], "finished_success");
    assert_eq!(wire.get(&format!("/disks/{disk}"))["status"], "ok");
    assert_eq!(std::fs::read(engine.disk_file(&disk).unwrap()).unwrap(), image);

    wire.post("/templates", &json!({"name": "ours", "vm": {"id": vm}}));
    let template = engine.id("templates", "ours").unwrap();
    assert_eq!(wire.get(&format!("/templates/{template}"))["status"], "ok");
}

/// What is cancelled leaves no disk behind.
#[test]
fn an_upload_that_is_cancelled_takes_its_disk_with_it() {
    let engine = Engine::start(&Inventory::default()).unwrap();
    let wire = Wire::new(&engine);
    let domain = engine.id("storagedomains", "data1").unwrap();
    let disk = json!({"name": "image", "format": "cow", "provisioned_size": 1 << 20, "storage_domains": {"storage_domain": [{"id": domain}]}});
    let disk = wire.post("/disks", &disk)["id"].as_str().unwrap().to_owned();
    let transfer = wire.post("/imagetransfers", &json!({"disk": {"id": disk}}));
    let place = format!("/imagetransfers/{}", transfer["id"].as_str().unwrap());
    wire.post(&format!("{place}/cancel"), &json!({}));
    assert_eq!(wire.get(&place)["phase"], "finished_cleanup");
    assert_eq!(wire.ask("GET", &format!("/disks/{disk}"), "").unwrap().status, 404);
}
