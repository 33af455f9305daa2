//! Trees as they were last agreed on: `cargo xtask golden` writes them anew.

mod difference;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rstest::rstest;
use serde_json::{Value, json};
use similar::TextDiff;
use slipway_assets::kubernetes::machine_config;
use slipway_assets::names::Role;
use slipway_assets::{Access, Cluster, Error, File, Tree};
use slipway_config::install_config::PayloadType;
use slipway_config::yaml::to_yaml;

use self::difference::{difference, renamed};
use crate::fixtures::{self, EVERYTHING, KUBERNETES, KUBEVIRT, NONE, OVIRT, SEED, VSPHERE};
use crate::ignition::decoded;

/// Files as people see them, by path.
type Shown = BTreeMap<String, String>;

const HINT: &str = "if that is what it should be, run `cargo xtask golden` and review the difference";

fn shown(config: &str) -> (Cluster, Shown) {
    let cluster = fixtures::cluster(config);
    let tree = all_files(&cluster);
    let shown =
        tree.iter().map(|(path, file)| (path.to_owned(), show(&cluster, &tree, path, file))).collect();
    (cluster, shown)
}

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

fn updates() -> bool {
    std::env::var_os("SLIPWAY_GOLDEN").is_some_and(|what| what == "update")
}

/// One of each payload, and with most of the settings there are.
#[rstest]
#[case("vsphere-everything", EVERYTHING)]
#[case("vsphere-kubernetes", KUBERNETES)]
fn whole_trees_are_as_agreed(#[case] name: &str, #[case] config: &str) {
    let (_, shown) = shown(config);
    let root = golden(name);
    if updates() {
        update(&root, &shown);
    }
    let agreed = read(&root);
    assert_eq!(
        agreed.keys().collect::<Vec<_>>(),
        shown.keys().collect::<Vec<_>>(),
        "the files of {name} changed; {HINT}"
    );
    for (path, text) in &shown {
        assert!(agreed[path] == *text, "{name}/{path} changed; {HINT}\n{text}");
    }
}

/// The others are kept as what differs from the tree with everything, whose cluster has another name.
#[rstest]
#[case("vsphere", VSPHERE)]
#[case("vsphere-seed", SEED)]
#[case("ovirt", OVIRT)]
#[case("kubevirt", KUBEVIRT)]
#[case("none", NONE)]
fn other_trees_differ_as_agreed(#[case] name: &str, #[case] config: &str) {
    /// Made once: it takes seconds.
    static BASE: LazyLock<(Cluster, Shown)> = LazyLock::new(|| shown(EVERYTHING));
    let (base_cluster, base) = &*BASE;
    let (cluster, shown) = shown(config);
    let (from, to) = (base_cluster.config.name.as_str(), cluster.config.name.as_str());
    let text = format!(
        "The files of {name} beside those of vsphere-everything, with {to} for {from}.\n\n{}",
        difference(&renamed(base, from, to), &shown)
    );
    let file = golden(&format!("{name}.diff"));
    if updates() {
        fs_err::write(&file, &text).unwrap();
    }
    let agreed = fs_err::read_to_string(&file).unwrap();
    let diff = TextDiff::from_lines(&agreed, &text);
    assert!(agreed == text, "the files of {name} changed; {HINT}\n{}", diff.unified_diff());
}

fn update(root: &Path, shown: &Shown) {
    if root.exists() {
        fs_err::remove_dir_all(root).unwrap();
    }
    for (path, text) in shown {
        let path = root.join(path);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(path, text).unwrap();
    }
}

fn read(root: &Path) -> Shown {
    let mut files = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs_err::read_dir(&folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let text = fs_err::read_to_string(&path).unwrap();
                files.insert(path.strip_prefix(root).unwrap().to_str().unwrap().to_owned(), text);
            }
        }
    }
    files
}

/// Manifests, and what is made from them. The samples of the design name no release to install.
fn all_files(cluster: &Cluster) -> Tree {
    let mut tree = slipway_assets::manifests(cluster).unwrap();
    match slipway_assets::ignition(cluster, &tree) {
        Ok(ignition) => tree.extend(ignition),
        Err(Error::ReleaseImage) => {}
        Err(error) => panic!("{error}"),
    }
    if cluster.config.payload.kind() == PayloadType::Kubernetes {
        for role in Role::ALL {
            let path = format!("machine-config/{}.ign", role.as_str());
            tree.insert(path, machine_config(cluster, role).unwrap(), Access::Owner);
        }
    }
    tree
}

/// A file for people: what is encoded is decoded, and what is different in every run has a name.
fn show(cluster: &Cluster, tree: &Tree, path: &str, file: &File) -> String {
    let text = std::str::from_utf8(&file.contents).unwrap();
    let mut value = match Path::new(path).extension().and_then(|extension| extension.to_str()) {
        Some("ign") => show_ignition(tree, &serde_json::from_str(text).unwrap()),
        Some("json" | "yaml" | "yml") => fixtures::yaml(text),
        _ if path == "auth/kubeconfig" => fixtures::yaml(text),
        _ => json!(text),
    };
    if value["kind"] == "Secret"
        && let Some(data) = value["data"].as_object_mut()
    {
        for entry in data.values_mut() {
            let decoded = STANDARD.decode(entry.as_str().unwrap()).unwrap();
            *entry = json!(String::from_utf8(decoded).unwrap());
        }
    }
    let names: Vec<(String, String)> = cluster
        .pki
        .files()
        // Bundles first: they contain the others.
        .filter(|(name, _)| name.contains("bundle"))
        .chain(cluster.pki.files().filter(|(name, _)| !name.contains("bundle")))
        .map(|(name, pem)| (pem.to_owned(), name.to_owned()))
        .collect();
    scrub(&mut value, &names);
    let access = match file.access {
        Access::Group => "",
        Access::Owner => "# for the owner alone\n",
    };
    format!("{access}{}", to_yaml(&value))
}

/// Longest file that is shown in full; larger ones are scripts, which have a place of their own.
const SHOWN: usize = 1500;

/// What is only in one place is shown in any case.
const ALWAYS: [&str; 2] = ["kubeadm-init.yaml", "kubeadm-join.yaml"];

/// A configuration with its files decoded; those that are shown elsewhere, or are long, are only named.
fn show_ignition(tree: &Tree, config: &Value) -> Value {
    let mut config = config.clone();
    let files = config.pointer_mut("/storage/files").and_then(Value::as_array_mut);
    for file in files.into_iter().flatten() {
        let path = file["path"].as_str().unwrap_or_default();
        let path = path.trim_start_matches("/opt/openshift/").trim_start_matches("/etc/slipway/").to_owned();
        let resources = [file.pointer("/contents"), file.pointer("/append/0")];
        let Some(resource) = resources.into_iter().flatten().next() else { continue };
        let contents = decoded(resource);
        let shown = match tree.get(&path) {
            Some(same) if same.contents == contents => format!("as {path}"),
            _ if path.starts_with("tls/") => format!("<{}>", path.trim_start_matches("tls/")),
            // All of a kind are the same here.
            _ if path.strip_suffix(".key").is_some() => "<a key>".to_owned(),
            _ if contents.len() > SHOWN && !ALWAYS.contains(&path.as_str()) => {
                format!("{} lines", String::from_utf8(contents).unwrap().lines().count())
            }
            _ => String::from_utf8(contents).unwrap(),
        };
        let members = file.as_object_mut().unwrap();
        let how = if members.contains_key("append") { "append" } else { "contents" };
        members.insert(how.to_owned(), json!(shown));
    }
    config
}

fn scrub(value: &mut Value, names: &[(String, String)]) {
    match value {
        Value::String(text) => {
            for (pem, name) in names {
                let plain = format!("<{name}>");
                let encoded = format!("<base64 of {name}>");
                *text = text.replace(&STANDARD.encode(pem), &encoded).replace(pem.trim(), &plain);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| scrub(item, names)),
        Value::Object(members) => members.values_mut().for_each(|member| scrub(member, names)),
        _ => {}
    }
}

#[test]
fn two_runs_are_the_same_to_the_byte() {
    let cluster = fixtures::cluster(EVERYTHING);
    assert!(all_files(&cluster) == all_files(&cluster));
}

/// Secrets are in files that only their owner reads, and nowhere else.
#[test]
fn secrets_are_in_private_files_only() {
    for (name, config) in fixtures::ALL {
        let cluster = fixtures::cluster(config);
        let secrets =
            ["s3cr3t", fixtures::PASSWORD, "dXNlcjpwYXNzd29yZA==", cluster.identity.kubeadmin_hash.expose()];
        let keys = cluster.pki.files().filter(|(_, pem)| pem.contains("PRIVATE KEY")).map(|(_, pem)| pem);
        let secrets: Vec<String> = secrets
            .into_iter()
            .chain(keys)
            .flat_map(|text| [text.to_owned(), STANDARD.encode(text)])
            .collect();
        let tree = all_files(&cluster);
        for (path, file) in tree.iter().filter(|(_, file)| file.access == Access::Group) {
            let value = fixtures::yaml(std::str::from_utf8(&file.contents).unwrap()).to_string();
            let value: Value = serde_json::from_str(&value).unwrap();
            for secret in &secrets {
                assert!(!strings(&value).any(|text| text.contains(secret)), "{name}: {path} holds a secret");
            }
        }
    }
}

fn strings(value: &Value) -> Box<dyn Iterator<Item = &str> + '_> {
    match value {
        Value::String(text) => Box::new(std::iter::once(text.as_str())),
        Value::Array(items) => Box::new(items.iter().flat_map(strings)),
        Value::Object(members) => Box::new(members.values().flat_map(strings)),
        _ => Box::new(std::iter::empty()),
    }
}
