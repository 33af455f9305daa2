//! What needs no registry. A real one is asked in the tests of the command.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use rstest::rstest;
use serde_json::json;
use slipway_config::install_config::{Mirror, OsImageStream, SourcePolicy};

use super::{layer, places, stream};

const SUM: &str = "0123456789abcdef0123456789ABCDEF0123456789abcdef0123456789abcdef";

fn mirror(source: &str, mirrors: &[&str], policy: Option<SourcePolicy>) -> Mirror {
    let mirrors = mirrors.iter().map(|mirror| (*mirror).to_owned()).collect();
    Mirror { source: source.to_owned(), mirrors, source_policy: policy }
}

#[rstest]
#[case::by_tag("quay.io/ocp/release:4.20", &["quay.io/ocp/release:4.20"])]
#[case::elsewhere("quay.io/other/release@sha256:1", &["quay.io/other/release@sha256:1"])]
#[case::longest_first(
    "quay.io/ocp/release:4.20@sha256:1",
    &["b.example/ocp@sha256:1", "a.example:5000/all/release@sha256:1", "quay.io/ocp/release@sha256:1"]
)]
#[case::not_a_part_of_a_name("quay.io/ocp/release-2@sha256:1", &["a.example:5000/all/release-2@sha256:1", "quay.io/ocp/release-2@sha256:1"])]
#[case::never_the_source("registry.ci/x/y@sha256:1", &["c.example/y@sha256:1", "d.example/z/y@sha256:1"])]
fn where_a_release_is_looked_for(#[case] image: &str, #[case] expected: &[&str]) {
    let mirrors = [
        mirror("quay.io/ocp", &["a.example:5000/all"], None),
        mirror("quay.io/ocp/release", &["b.example/ocp"], Some(SourcePolicy::AllowContactingSource)),
        mirror("registry.ci/x", &["c.example", "d.example/z"], Some(SourcePolicy::NeverContactSource)),
    ];
    assert_eq!(places(image, &mirrors), expected);
}

/// A layer with these files.
fn packed(files: &[(&str, &str)]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (name, content) in files {
        let mut header = tar::Header::new_ustar();
        header.set_size(content.len() as u64);
        archive.append_data(&mut header, name, content.as_bytes()).unwrap();
    }
    archive.into_inner().unwrap()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[rstest]
#[case::there(&[("etc/os-release", "x"), ("release-manifests/0000_50_installer_coreos-bootimages.yaml", "it")], Some("it"))]
#[case::with_a_dot(&[("./release-manifests/0000_50_installer_coreos-bootimages.yaml", "it")], Some("it"))]
#[case::elsewhere(&[("manifests/0000_50_installer_coreos-bootimages.yaml", "no")], None)]
#[case::another(&[("release-manifests/image-references", "no")], None)]
fn a_file_in_a_layer(#[case] files: &[(&str, &str)], #[case] expected: Option<&str>) {
    let layer = packed(files);
    for layer in [gzip(&layer), layer] {
        assert_eq!(layer::boot_images(&layer).unwrap().as_deref(), expected);
    }
}

#[test]
fn a_broken_layer_is_an_error() {
    let whole = gzip(&packed(&[("a", &"x".repeat(10_000))]));
    assert!(layer::boot_images(&whole[..whole.len() / 2]).is_err());
    assert!(layer::boot_images(&[0x28, 0xb5, 0x2f, 0xfd, 0]).unwrap_err().to_string().contains("zstd"));
}

/// The metadata of a stream with one OVA.
fn metadata(name: &str, sum: &str) -> serde_json::Value {
    let ova =
        json!({"location": format!("https://images.example/{name}.ova"), "sha256": sum, "signature": ""});
    json!({
        "stream": name, "metadata": {"last-modified": "2026-01-01T00:00:00Z"},
        "architectures": {
            "aarch64": {"artifacts": {"metal": {"release": "9", "formats": {"iso": {"disk": {"location": "x", "sha256": "y"}}}}}},
            "x86_64": {
                "artifacts": {"vmware": {"release": "9", "formats": {"ova": {"disk": ova}}}},
                "images": {"aws": {"regions": {}}},
            },
        },
    })
}

fn manifest(data: &serde_json::Value) -> String {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "coreos-bootimages"}, "data": data})
        .to_string()
}

fn ova(data: &serde_json::Value, wanted: Option<OsImageStream>) -> Result<String, String> {
    let image = stream::ova("release", &manifest(data), wanted).map_err(|error| error.to_string())?;
    assert_eq!(image.sha256.as_deref(), Some(SUM.to_ascii_lowercase().as_str()));
    Ok(image.url.expose().to_owned())
}

#[test]
fn the_ova_of_a_stream() {
    let nine = metadata("rhel-9", SUM);
    let old = json!({"stream": nine.to_string()});
    let streams = json!({"rhel-9": nine, "rhel-10": metadata("rhel-10", SUM)});
    let new = json!({"stream": nine.to_string(), "streams": streams.to_string()});
    let (is_9, is_10) = ("https://images.example/rhel-9.ova", "https://images.example/rhel-10.ova");
    assert_eq!(ova(&old, None).as_deref(), Ok(is_9));
    assert_eq!(ova(&old, Some(OsImageStream::Rhel9)).as_deref(), Ok(is_9));
    assert_eq!(ova(&new, None).as_deref(), Ok(is_9));
    assert_eq!(ova(&new, Some(OsImageStream::Rhel10)).as_deref(), Ok(is_10));
    // Another system than the one that was asked for is none.
    let refused = ova(&old, Some(OsImageStream::Rhel10)).unwrap_err();
    assert!(refused.contains("stream `rhel-10`"), "{refused}");
}

#[rstest]
#[case::nothing(json!({}), "it has no `stream`")]
#[case::not_json(json!({"stream": "{"}), "its `stream` is odd")]
#[case::no_vmware(json!({"stream": json!({"stream": "s", "architectures": {"x86_64": {}}}).to_string()}), "has no OVA for x86_64 in its stream `s`")]
#[case::no_sum(json!({"stream": metadata("s", "12").to_string()}), "the checksum of its OVA is none")]
fn what_cannot_be_used(#[case] data: serde_json::Value, #[case] expected: &str) {
    let error = ova(&data, None).unwrap_err();
    assert!(error.contains(expected), "{error}");
}
