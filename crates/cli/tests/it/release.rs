//! An install-config that names neither image nor templates: the release says what machines are made from.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use slipway_testkit::ova;
use slipway_testkit::registry::Registry;

use crate::cluster::{CREATE, ZONES, command, config, machines, remove, vcenter};
use crate::files::file;

const REPOSITORY: &str = "ocp/release";
const MANIFEST: &str = "release-manifests/0000_50_installer_coreos-bootimages.yaml";

/// A release image with this OVA: the manifest is not in the uppermost layer.
fn push(registry: &Registry, port: u16, sum: &str) -> String {
    let ova = json!({"disk": {"location": format!("http://127.0.0.1:{port}/rhcos.ova"), "sha256": sum}});
    let artifacts = json!({"vmware": {"release": "9.6", "formats": {"ova": ova}}});
    let stream = json!({"stream": "rhcos-9.6", "architectures": {"x86_64": {"artifacts": artifacts}}});
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "coreos-bootimages"},
        "data": {"releaseVersion": "4.20.1", "stream": stream.to_string()},
    });
    let layer = |name: &str, content: &str| {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        let archive = ova::archive(&[(name, content.as_bytes())]).expect("an archive");
        gzip.write_all(&archive).expect("in memory");
        gzip.finish().expect("in memory")
    };
    let layers =
        [layer("etc/os-release", "base"), layer(MANIFEST, &map.to_string()), layer("usr/bin/x", "above")];
    let digest = registry.push_layers(REPOSITORY, &layers).expect("an image");
    format!("{}/{REPOSITORY}@{digest}", registry.address())
}

fn run(directory: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command: Command = command(directory, arguments);
    let output: Output =
        command.env("XDG_CACHE_HOME", directory.join("cache")).output().expect("the command runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn the_release_names_the_image() {
    let registry = Registry::start_on_loopback().expect("a registry");
    let image = ova::image().expect("an image");
    let sum = ova::sha256(&image);
    let (port, _) = ova::serve(image).expect("a server");
    let release = push(&registry, port, &sum);
    let vcenters = ZONES.map(vcenter);
    let mut config = config(&vcenters);
    let domains = config["platform"]["vsphere"]["failureDomains"].as_array_mut().expect("failure domains");
    for domain in domains {
        remove(&mut domain["topology"], "template");
    }
    config["payload"] = json!({"releaseImage": release});
    config["pullSecret"] = json!(registry.logins());
    let written = |config: &Value| file(config.to_string()).0;

    // Its authority is not known: nothing can be made, and nothing is.
    let unknown = written(&config);
    let (code, stdout, stderr) = run(unknown.path(), &["preflight"]);
    assert_eq!(code, Some(3), "{stdout}{stderr}");
    assert!(stdout.contains("failure[os-image]") && stdout.contains("additionalTrustBundle"), "{stdout}");
    let (code, _, stderr) = run(unknown.path(), &CREATE);
    assert_eq!(code, Some(4), "{stderr}");
    assert!(stderr.contains("cannot be read") && stderr.contains("nothing was changed"), "{stderr}");
    assert!(machines(&vcenters).is_empty());

    let authority = std::fs::read_to_string(registry.ca_file()).expect("an authority");
    config["additionalTrustBundle"] = json!(authority);
    // Without a login the registry shows nothing.
    let mut refused = config.clone();
    refused["pullSecret"] = json!(r#"{"auths": {"other.example": {"auth": "bWU6bWFybGlu"}}}"#);
    let (code, stdout, _) = run(written(&refused).path(), &["preflight"]);
    assert_eq!(code, Some(3), "{stdout}");
    assert!(stdout.contains("no login for it is known") && stdout.contains("pullSecret"), "{stdout}");

    let directory = written(&config);
    let path = directory.path();
    let (code, stdout, stderr) = run(path, &["plan"]);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stdout.contains("import"), "{stdout}");
    let (code, stdout, stderr) = run(path, &CREATE);
    assert_eq!(code, Some(0), "{stdout}{stderr}");
    assert_eq!(machines(&vcenters).len(), 6, "a template on each vCenter, bootstrap and control plane");
    // The image is known now, and needs no registry any more.
    drop(registry);
    let (code, stdout, stderr) = run(path, &["status"]);
    assert!(code == Some(0) && stdout.starts_with("in sync"), "{stdout}{stderr}");
    let (code, stdout, stderr) = run(path, &CREATE);
    assert!(code == Some(0) && stdout.contains("nothing to do"), "{stdout}{stderr}");
    let (code, stdout, stderr) = run(path, &["destroy", "cluster", "--yes"]);
    assert_eq!(code, Some(0), "{stdout}{stderr}");
    assert!(machines(&vcenters).is_empty());
}
