//! The JSON Schema, judged by a validator that is not ours.

use rstest::rstest;
use serde_json::{Map, Value, json};
use slipway_config::findings::Findings;
use slipway_config::yaml::{self, At, Document, Limits, Style};

use crate::files::example;
use crate::run::slipway;

fn schema() -> Value {
    let output = slipway(&["schema"]).output().expect("the command runs");
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// The document as an editor sees it.
fn to_json(document: &Document, at: At) -> Value {
    match document.value(at) {
        yaml::Value::Scalar { text, style: Style::Text } => json!(&**text),
        value @ yaml::Value::Scalar { text, .. } if !value.is_null() => {
            serde_json::from_str(text).unwrap_or_else(|_| json!(&**text))
        }
        yaml::Value::Scalar { .. } => Value::Null,
        yaml::Value::List(items) => items.iter().map(|item| to_json(document, *item)).collect(),
        yaml::Value::Map(entries) => {
            let members = entries.iter().map(|entry| (entry.key.to_string(), to_json(document, entry.at)));
            Value::Object(members.collect::<Map<_, _>>())
        }
    }
}

fn read(text: &str) -> Value {
    let document = yaml::parse(text, Limits::default(), &mut Findings::default()).expect("YAML");
    to_json(&document, At::ROOT)
}

#[test]
fn is_a_valid_schema() {
    jsonschema::draft7::meta::validate(&schema()).expect("a draft 7 schema");
}

#[rstest]
#[case("vsphere-multi-vcenter.yaml")]
#[case("vsphere-kubernetes.yaml")]
#[case("seed-multi-vcenter.yaml")]
#[case("ovirt.yaml")]
#[case("kubevirt.yaml")]
#[case("none.yaml")]
fn accepts_the_examples(#[case] name: &str) {
    let validator = jsonschema::draft7::new(&schema()).expect("a validator");
    let config = read(&example(name, &[]));
    let errors: Vec<String> = validator.iter_errors(&config).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

#[rstest]
#[case::unknown("none.yaml", ("baseDomain:", "baseDomian:"))]
#[case::missing("none.yaml", ("apiVersion: v1\n", ""))]
#[case::kind("none.yaml", ("replicas: 3", "replicas: three"))]
#[case::choice("none.yaml", ("apiVersion: v1", "apiVersion: v2"))]
#[case::negative("none.yaml", ("replicas: 3", "replicas: -1"))]
#[case::name("none.yaml", ("name: pontoon", "name: Pontoon"))]
#[case::list("none.yaml", ("- name: worker\n  replicas: 0", "  name: worker"))]
#[case::engine_object("ovirt.yaml", ("ovirt_cluster_id: 3b9f2c5e-0c1d-4f6a-9a57-2f1e6d8c4b10", "ovirt_cluster_id: []"))]
#[case::quantity("kubevirt.yaml", ("memory: 32Gi", "memory: 32GB"))]
#[case::port("vsphere-multi-vcenter.yaml", ("passwordEnv: VCENTER_NORTH_PASSWORD", "port: 40000"))]
#[case::networks("vsphere-multi-vcenter.yaml", ("networks: [cluster-net]", "networks: [a,b,c,d,e,f,g,h,i,j,k]"))]
fn refuses_mistakes(#[case] name: &str, #[case] edit: (&str, &str)) {
    let validator = jsonschema::draft7::new(&schema()).expect("a validator");
    assert!(!validator.is_valid(&read(&example(name, &[edit]))));
}

#[test]
fn is_the_one_in_the_reference() {
    let reference = include_str!("../../../../docs/reference/install-config.schema.json");
    assert_eq!(schema(), serde_json::from_str::<Value>(reference).expect("JSON"));
}

/// The schema of compatibility matrices takes the one that is built in, and no other fields.
#[test]
fn of_matrices() {
    let schema: Value =
        serde_json::from_str(include_str!("../../../../docs/reference/matrix.schema.json")).expect("JSON");
    jsonschema::draft7::meta::validate(&schema).expect("a draft 7 schema");
    let validator = jsonschema::draft7::new(&schema).expect("a validator");
    let matrix = slipway_config::matrix::EMBEDDED;
    let errors: Vec<String> = validator.iter_errors(&read(matrix)).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    for (from, to) in [
        ("mostVCenters", "vcenters"),
        ("version: 3.7.0", "version: new"),
        ("  line: \"3.7\"\n", "  line: 7\n"),
    ] {
        assert!(!validator.is_valid(&read(&matrix.replace(from, to))), "{from}");
    }
}
