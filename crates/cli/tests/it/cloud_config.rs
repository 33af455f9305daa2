use crate::files::file;
use crate::run::{slipway, transcript_of};

const INI: &str = r#"[Global]
secret-name = "vsphere-creds"
secret-namespace = "kube-system"
insecure-flag = "1"
ip-family = "ipv4,ipv6"
working-dir = "/dc1/vm/old"

[VirtualCenter "vcenter.example.com"]
port = "443"
datacenters = "dc1, dc2"
thumbprint = "AA:BB"
datacentres = "dc3"

[Workspace]
server = "vcenter.example.com"
datacenter = "dc1"
default-datastore = "fast \"one\""

[Labels]
region = "openshift-region"
zone = "openshift-zone"

[Vendor "x"]
colour = "blue"
shape = "round"
"#;

fn transcript(content: &str, arguments: &[&str]) -> String {
    let (directory, _) = file(content);
    transcript_of(slipway(arguments).current_dir(directory.path()), arguments)
}

#[test]
fn validates_ini() {
    insta::assert_snapshot!(transcript(INI, &["cloud-config", "validate", "install-config.yaml"]));
}

#[test]
fn converts_ini_and_says_what_is_left() {
    insta::assert_snapshot!(transcript(INI, &["cloud-config", "convert", "install-config.yaml"]));
}

#[test]
fn converts_for_programs() {
    let ini =
        "[Global]\nsecret-name = a\nsecret-namespace = b\nvm-name = me\n[VirtualCenter \"vc\"]\n[X]\ny = z\n";
    let arguments = ["cloud-config", "convert", "--output", "json", "install-config.yaml"];
    insta::assert_snapshot!(transcript(ini, &arguments));
}

#[test]
fn says_to_programs_what_cannot_be_converted() {
    let arguments = ["cloud-config", "convert", "--output", "json", "install-config.yaml"];
    insta::assert_snapshot!(transcript("[VirtualCenter \"vc\"]\nport = many\n", &arguments));
}

#[test]
fn what_is_neither_is_explained_for_both() {
    insta::assert_snapshot!(transcript(
        "user: [\nserver = vc\n",
        &["cloud-config", "validate", "install-config.yaml"]
    ));
}

#[test]
fn json_has_no_password() {
    let text = "global: {user: me@vsphere.local, password: hunter2}\nvcenter: {vc: {server: vc, insecure-flag: true}}\n";
    let output = transcript(text, &["cloud-config", "validate", "-o", "json", "install-config.yaml"]);
    assert!(!output.contains("hunter2"), "{output}");
    insta::assert_snapshot!(output);
}

#[test]
fn a_file_in_no_format_does_not_show_secrets() {
    let output =
        transcript("[Global\npassword = hunter2 [\n", &["cloud-config", "validate", "install-config.yaml"]);
    assert!(!output.contains("hunter2"), "{output}");
}

#[test]
fn a_broken_file_is_not_converted() {
    insta::assert_snapshot!(transcript(
        "[VirtualCenter \"vc\"]\nport = many\n",
        &["cloud-config", "convert", "install-config.yaml"]
    ));
}
