use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rstest::rstest;
use secrecy::ExposeSecret;
use slipway_assets::Credentials;
use slipway_config::install_config::{InstallConfig, load};
use tempfile::TempDir;

use super::{Error, Resolved, digest, resolve};
use crate::environment::Environment;

fn example(name: &str) -> InstallConfig {
    let path = format!("{}/../../examples/{name}", env!("CARGO_MANIFEST_DIR"));
    load(&std::fs::read_to_string(path).unwrap().replace("/run/secrets/vcenter-south", "south"))
        .config
        .unwrap()
}

/// Files that only the owner reads.
fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, contents) in files {
        put(folder.path(), name, contents, 0o600);
    }
    folder
}

fn put(folder: &Path, name: &str, contents: &str, mode: u32) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, contents).unwrap();
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
}

/// A message without the name of the folder.
fn shown(error: &Error, folder: &TempDir) -> String {
    let text =
        [vec![error.to_string()], error.details(), error.hint().into_iter().collect()].concat().join("\n");
    text.replace(folder.path().to_str().unwrap(), "DIR")
}

const PASSWORDS: [(&str, &str); 2] =
    [("VCENTER_NORTH_PASSWORD", "north secret"), ("VCENTER_EAST_PASSWORD", "east")];

#[test]
fn passwords_of_vcenters() {
    let folder = folder(&[]);
    put(folder.path(), "south", " south secret \n", 0o644);
    let config = example("vsphere-multi-vcenter.yaml");
    let Resolved { credentials, warnings } =
        resolve(&config, folder.path(), &PASSWORDS.into_iter().collect()).unwrap();
    let Credentials::VSphere(logins) = &credentials else { panic!() };
    let passwords: Vec<&str> = logins.iter().map(|login| login.password.expose_secret()).collect();
    // One line break goes, nothing else does.
    assert_eq!(passwords, ["north secret", " south secret ", "east"]);
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].starts_with("everyone on this machine can read"), "{warnings:?}");
    let first = digest(&credentials);
    put(folder.path(), "south", "other\n", 0o600);
    let other = resolve(&config, folder.path(), &PASSWORDS.into_iter().collect()).unwrap();
    assert!(other.warnings.is_empty());
    assert_ne!(digest(&other.credentials), first);
}

#[test]
fn secrets_in_an_install_config_that_others_read_are_told() {
    let folder = folder(&[("south", "secret")]);
    let config = example("vsphere-multi-vcenter.yaml");
    let warnings = |config: &InstallConfig| {
        let resolved = resolve(config, folder.path(), &PASSWORDS.into_iter().collect()).unwrap();
        resolved.warnings.join("\n").replace(folder.path().to_str().unwrap(), "DIR")
    };
    for (mode, told) in [(0o600, false), (0o640, true), (0o604, true)] {
        put(folder.path(), "install-config.yaml", "", mode);
        assert_eq!(warnings(&config).contains("others on this machine can read"), told, "{mode:o}");
    }
    insta::assert_snapshot!(warnings(&config), @"others on this machine can read `DIR/install-config.yaml`, which has secrets in it; `chmod 600 DIR/install-config.yaml` keeps them to you");
    // Without the pull secret there is nothing to hide: all passwords are elsewhere.
    let harmless = InstallConfig { pull_secret: None, ..config };
    assert_eq!(warnings(&harmless), "");
}

#[test]
fn all_missing_passwords_are_named() {
    let folder = folder(&[]);
    let config = example("vsphere-multi-vcenter.yaml");
    let environment = Environment::from_iter([PASSWORDS[0], ("VCENTER_EAST_PASSWORD", "")]);
    let error = resolve(&config, folder.path(), &environment).unwrap_err();
    insta::assert_snapshot!(shown(&error, &folder));
    put(folder.path(), "south", "\n", 0o600);
    let error = resolve(&config, folder.path(), &PASSWORDS.into_iter().collect()).unwrap_err();
    assert!(shown(&error, &folder).contains("`DIR/south` is empty"), "{error}");
}

const OVIRT: &str = "ovirt_url: https://engine.example.com/ovirt-engine/api\novirt_username: admin@internal\n\
                     ovirt_password: hunter2\novirt_pem_url: https://engine.example.com/x\n";

#[test]
fn an_engine_by_variable_and_by_default() {
    let folder = folder(&[
        ("other.yaml", OVIRT),
        (".ovirt/ovirt-config.yaml", &format!("{OVIRT}ovirt_cafile: ca.pem\novirt_insecure: false\n")),
        (".ovirt/ca.pem", "PEM"),
    ]);
    let home = folder.path().to_str().unwrap();
    let config = example("ovirt.yaml");
    let by_default = resolve(&config, folder.path(), &Environment::from_iter([("HOME", home)])).unwrap();
    let Credentials::Ovirt(engine) = by_default.credentials else { panic!() };
    assert_eq!(engine.url, "https://engine.example.com/ovirt-engine/api");
    assert_eq!(engine.login.password.expose_secret(), "hunter2");
    assert_eq!((engine.insecure, engine.ca_bundle.as_deref()), (false, Some("PEM")));
    let other = folder.path().join("other.yaml");
    let environment = Environment::from_iter([("HOME", home), ("OVIRT_CONFIG", other.to_str().unwrap())]);
    let Credentials::Ovirt(engine) = resolve(&config, folder.path(), &environment).unwrap().credentials
    else {
        panic!()
    };
    assert_eq!(engine.ca_bundle, None);
}

#[rstest]
#[case::absent("absent", None)]
#[case::not_yaml("not-yaml", Some("ovirt_url: [\n"))]
#[case::not_a_mapping("not-a-mapping", Some("hunter2\n"))]
#[case::incomplete(
    "incomplete",
    Some(
        "ovirt_url: http://engine\novirt_username: admin\novirt_insecure: maybe\novirt_cafile: absent.pem\n"
    )
)]
fn what_is_wrong_with_an_engine(#[case] name: &str, #[case] text: Option<&str>) {
    let folder = folder(&[]);
    if let Some(text) = text {
        put(folder.path(), ".ovirt/ovirt-config.yaml", text, 0o600);
    }
    let environment = Environment::from_iter([("HOME", folder.path().to_str().unwrap())]);
    let error = resolve(&example("ovirt.yaml"), folder.path(), &environment).unwrap_err();
    let shown = shown(&error, &folder);
    assert!(!shown.contains("hunter2"), "{shown}");
    insta::assert_snapshot!(format!("ovirt_{name}"), shown);
}

/// Good for a hundred years, and its key is thrown away.
const CERTIFICATE: &str = "\
-----BEGIN CERTIFICATE-----
MIIBeDCCAR2gAwIBAgIUb8I6zG9LpN8Fn0rj0jr4uC+MbGEwCgYIKoZIzj0EAwIw
EDEOMAwGA1UEAwwFaW5mcmEwIBcNMjYxMTE4MjAzMjI5WhgPMjEyNjEwMjUyMDMy
MjlaMBAxDjAMBgNVBAMMBWluZnJhMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE
F2jNa5Ucfqy9c7If46B7Svo/NFX0qCN2CF6IKAYZBK9Ua1ergwcli2Fp4E/Z4BrG
JeKy5XcDEoITmOdGdkNX26NTMFEwHQYDVR0OBBYEFJ0sKvEyfNsUMZwIUHVzqa4G
x/FqMB8GA1UdIwQYMBaAFJ0sKvEyfNsUMZwIUHVzqa4Gx/FqMA8GA1UdEwEB/wQF
MAMBAf8wCgYIKoZIzj0EAwIDSQAwRgIhAJfIdSpQ7lDrz/sYeCmBDVbtTSXNIbId
dF2/kNkl6QhGAiEA/NwYQqmgeWX5UystvMrmL+RM9gJdZz2eQi7zjV0WcL8=
-----END CERTIFICATE-----
";

const KUBECONFIG: &str = "\
apiVersion: v1
kind: Config
current-context: tenant
preferences: {}
clusters:
- name: other
  cluster: {server: https://other.example.com}
- name: infra
  cluster:
    server: https://infra.example.com:6443
    certificate-authority: pki/ca.crt
    extensions: [{name: x, extension: {}}]
contexts:
- {name: admin, context: {cluster: other, user: admin}}
- {name: tenant, context: {cluster: infra, user: tenant, namespace: tenant-raft}}
users:
- name: admin
  user: {token: not-for-you}
- name: tenant
  user:
    client-certificate: pki/tenant.crt
    client-key-data: a2V5
";

fn kubevirt(folder: &TempDir, list: &str) -> Result<Resolved, Error> {
    let environment = Environment::from_iter([("KUBECONFIG", list)]);
    resolve(&example("kubevirt.yaml"), folder.path(), &environment)
}

#[test]
fn a_kubeconfig_is_cut_down_to_what_is_needed() {
    let folder = folder(&[
        (".kube/config", KUBECONFIG),
        (".kube/pki/ca.crt", CERTIFICATE),
        (".kube/pki/tenant.crt", CERTIFICATE),
    ]);
    let environment = Environment::from_iter([("HOME", folder.path().to_str().unwrap())]);
    let resolved = resolve(&example("kubevirt.yaml"), folder.path(), &environment).unwrap();
    let Credentials::KubeVirt(infra) = resolved.credentials else { panic!() };
    assert_eq!(infra.server, "https://infra.example.com:6443");
    insta::assert_snapshot!(infra.kubeconfig.expose_secret());
}

#[test]
fn the_first_of_several_kubeconfigs_wins() {
    let first = "current-context: tenant\nusers: [{name: tenant, user: {tokenFile: token}}]\n";
    let folder = folder(&[
        ("first", first),
        ("second", KUBECONFIG),
        ("token", "t0ken\n"),
        ("pki/ca.crt", CERTIFICATE),
    ]);
    let list =
        ["first", "absent", "second"].map(|name| folder.path().join(name).display().to_string()).join(":");
    let resolved = kubevirt(&folder, &list).unwrap();
    let Credentials::KubeVirt(infra) = resolved.credentials else { panic!() };
    let kubeconfig = infra.kubeconfig.expose_secret();
    assert!(kubeconfig.contains("token: t0ken\n") && !kubeconfig.contains("client-key"), "{kubeconfig}");
    assert_eq!(
        resolved.warnings,
        ["the token of user `tenant` is copied; make sure that it does not expire"]
    );
}

#[rstest]
#[case::absent("absent", &[])]
#[case::no_context("no-context", &[("current-context: tenant\n", "")])]
#[case::unknown_context("unknown-context", &[("current-context: tenant\n", "current-context: x\n")])]
#[case::unknown_user("unknown-user", &[("user: tenant,", "user: x,")])]
#[case::plugin("plugin", &[("client-key-data: a2V5", "exec: {command: login}")])]
#[case::provider("provider", &[("client-key-data: a2V5", "auth-provider: {name: oidc}")])]
#[case::missing_files("missing-files", &[])]
#[case::broken_certificates("broken-certificates", &[
    ("certificate-authority: pki/ca.crt", "certificate-authority-data: bm90IFBFTQ=="),
    ("client-certificate: pki/tenant.crt", "client-certificate-data: '%'"),
])]
#[case::no_credentials("no-credentials", &[("client-certificate: pki/tenant.crt", "x: y")])]
fn what_is_wrong_with_a_kubeconfig(#[case] name: &str, #[case] edits: &[(&str, &str)]) {
    let text = edits.iter().fold(KUBECONFIG.to_owned(), |text, (from, to)| text.replace(from, to));
    let folder = folder(&[]);
    if name != "absent" {
        put(folder.path(), "config", &text, 0o600);
    }
    let error = kubevirt(&folder, folder.path().join("config").to_str().unwrap()).unwrap_err();
    insta::assert_snapshot!(format!("kubeconfig_{name}"), shown(&error, &folder));
}

#[test]
fn a_server_that_is_this_machine_is_pointed_out() {
    let text = KUBECONFIG.replace("infra.example.com", "localhost");
    let folder = folder(&[("config", &text), ("pki/ca.crt", CERTIFICATE), ("pki/tenant.crt", CERTIFICATE)]);
    let resolved = kubevirt(&folder, folder.path().join("config").to_str().unwrap()).unwrap();
    assert!(resolved.warnings[0].contains("https://localhost:6443"), "{:?}", resolved.warnings);
}
