//! The steps with generators made by hand.

#![expect(clippy::unnecessary_wraps, reason = "generators can fail")]

mod certificates;
mod keys;
mod kubernetes;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use secrecy::ExposeSecret;
use slipway_assets::pki::{Extent, PkiError, SHORTEST_VALIDITY};
use slipway_assets::random::Random;
use slipway_assets::{Access, Cluster, Credentials, Named, Pki, Tree};
use slipway_config::install_config::InstallConfig;
use tempfile::TempDir;

use super::{Error, Generators, Outcome, Request, create_ignition_with, create_manifests_with};
use crate::environment::Environment;
use crate::store::{self, FileResult};

/// Counts upwards, from run to run.
#[derive(Default)]
struct Counting(std::sync::atomic::AtomicU8);

impl Random for Counting {
    fn fill(&self, buffer: &mut [u8]) {
        for byte in buffer {
            *byte = self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
    }
}

const CONFIG: &str = "\
apiVersion: v1
baseDomain: example.com
metadata:
  name: pontoon
platform:
  none: {}
pullSecret: '{\"auths\":{\"registry.example.com\":{\"auth\":\"dXNlcjpwYXNzd29yZA==\"}}}'
";

struct Directory {
    folder: TempDir,
    random: Counting,
    environment: Environment,
    now: Timestamp,
}

impl Directory {
    fn new(config: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("install-config.yaml");
        std::fs::write(&path, config).unwrap();
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o600)).unwrap();
        let now = "2026-11-15T12:00:00Z".parse().unwrap();
        Directory { folder, random: Counting::default(), environment: Environment::default(), now }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn at(&self, path: &str) -> PathBuf {
        self.path().join(path)
    }

    fn put(&self, path: &str, contents: &str) {
        std::fs::create_dir_all(self.at(path).parent().unwrap()).unwrap();
        std::fs::write(self.at(path), contents).unwrap();
    }

    fn get(&self, path: &str) -> String {
        std::fs::read_to_string(self.at(path)).unwrap()
    }

    fn request(&self, force: bool) -> Request<'_> {
        Request {
            directory: self.path(),
            force,
            now: self.now,
            random: &self.random,
            environment: &self.environment,
            command: "slipway test",
        }
    }

    fn manifests(&self, force: bool) -> Result<Outcome, Error> {
        create_manifests_with(&self.request(force), &GENERATORS)
    }

    fn ignition(&self, force: bool) -> Result<Outcome, Error> {
        create_ignition_with(&self.request(force), &GENERATORS)
    }
}

const GENERATORS: Generators<'static> =
    Generators { keys: &keys, manifests: &manifests, ignition: &ignition };

/// A certificate that can be told from the one before.
fn keys(pki: &mut Pki, _: &InstallConfig, _: Extent, _: &dyn Random) -> Result<(), PkiError> {
    if pki.pem("root-ca.crt").is_empty() {
        let now = pki.expires() - SHORTEST_VALIDITY;
        put_keys(pki, &serde_json::json!({"root-ca.crt": format!("made at {now}")}));
    }
    Ok(())
}

fn put_keys(pki: &mut Pki, files: &serde_json::Value) {
    let created = pki.expires() - SHORTEST_VALIDITY;
    *pki = serde_json::from_value(serde_json::json!({"created": created, "files": files})).unwrap();
}

/// A Kubernetes object with one more line.
fn object(name: &str, line: &str) -> String {
    format!("apiVersion: v1\nkind: Test\nmetadata: {{name: {name}}}\n{line}\n")
}

fn manifests(cluster: &Cluster) -> Result<Tree, slipway_assets::Error> {
    let Named { config, identity } = &cluster.named;
    let mut tree = Tree::default();
    let mut put = |path: &str, line: String, access| {
        let (_, name) = path.rsplit_once('/').unwrap();
        tree.insert(path, object(name, &line), access);
    };
    put("manifests/cluster.yaml", format!("infra: {}", identity.infra_id), Access::Group);
    put("manifests/domain.yaml", format!("domain: {}", config.cluster_domain()), Access::Group);
    put("manifests/fips.yaml", format!("fips: {}", config.fips), Access::Group);
    put("manifests/cluster-config.yaml", "data: {}".to_owned(), Access::Group);
    put("openshift/99_feature-gate.yaml", "spec: {}".to_owned(), Access::Group);
    put("openshift/machine.yaml", "spec: {}".to_owned(), Access::Group);
    put(&format!("openshift/{}.yaml", identity.infra_id), "spec: {}".to_owned(), Access::Group);
    if let Credentials::VSphere(logins) = &cluster.credentials {
        let password = logins[0].password.expose_secret();
        put("openshift/secret.yaml", format!("password: {password}"), Access::Owner);
    }
    Ok(tree)
}

/// Lists what it was given.
fn ignition(cluster: &Cluster, manifests: &Tree) -> Result<Tree, slipway_assets::Error> {
    let mut tree = Tree::default();
    let lines: String = manifests
        .iter()
        .map(|(path, file)| format!("{path}: {}", String::from_utf8_lossy(&file.contents)))
        .collect();
    let root = cluster.pki.pem("root-ca.crt");
    tree.insert("bootstrap.ign", format!("{lines}{root}\n"), Access::Owner);
    tree.insert("master.ign", "{}\n", Access::Owner);
    tree.insert("auth/kubeconfig", root, Access::Owner);
    Ok(tree)
}

fn fate(outcome: &Outcome, path: &str) -> Option<FileResult> {
    outcome.files.iter().find(|(file, _)| file == path).map(|(_, fate)| *fate)
}

fn conflicts(result: Result<Outcome, Error>) -> Vec<String> {
    match result {
        Err(Error::Store(store::Error::Conflicts { conflicts, .. })) => {
            conflicts.into_iter().map(|conflict| conflict.path).collect()
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_drawn_is_drawn_once() {
    let directory = Directory::new(CONFIG);
    let first = directory.ignition(false).unwrap();
    assert_eq!(fate(&first, "manifests/cluster.yaml"), Some(FileResult::Written));
    assert_eq!(fate(&first, "bootstrap.ign"), Some(FileResult::Written));
    let state = directory.get(".slipway/state.json");
    let second = directory.ignition(false).unwrap();
    assert!(second.files.iter().all(|(_, fate)| *fate == FileResult::Unchanged), "{second:?}");
    assert_eq!(directory.get(".slipway/state.json"), state);
    assert_eq!(first.infra_id, second.infra_id);
    // The user's file is as it was.
    assert_eq!(directory.get("install-config.yaml"), CONFIG);
}

#[test]
fn edits_deletions_and_additions_flow_into_ignition() {
    let directory = Directory::new(CONFIG);
    directory.manifests(false).unwrap();
    directory.put("manifests/cluster.yaml", &object("cluster", "edited: true"));
    directory.put("openshift/mine.yml", &object("mine", "mine: true"));
    directory.put("openshift/notes.txt", "not a manifest");
    directory.put("openshift/.mine.yaml.swp", "");
    directory.put("openshift/deep/x.yaml", "x: 1\n");
    std::fs::remove_file(directory.at("openshift/machine.yaml")).unwrap();
    let outcome = directory.ignition(false).unwrap();
    assert_eq!(fate(&outcome, "manifests/cluster.yaml"), Some(FileResult::EditKept));
    assert_eq!(fate(&outcome, "openshift/machine.yaml"), Some(FileResult::DeletionKept));
    let ignored: Vec<&str> = outcome
        .files
        .iter()
        .filter(|(_, fate)| *fate == FileResult::Ignored)
        .map(|(path, _)| path.as_str())
        .collect();
    assert_eq!(ignored, ["openshift/.mine.yaml.swp", "openshift/deep/", "openshift/notes.txt"]);
    let bootstrap = directory.get("bootstrap.ign");
    assert!(
        bootstrap.contains("manifests/cluster.yaml: ") && bootstrap.contains("edited: true\n"),
        "{bootstrap}"
    );
    assert!(bootstrap.contains("openshift/mine.yml: ") && bootstrap.contains("mine: true\n"), "{bootstrap}");
    assert!(!bootstrap.contains("machine.yaml") && !bootstrap.contains("x: 1"), "{bootstrap}");
}

#[test]
fn results_that_were_deleted_are_made_again() {
    let directory = Directory::new(CONFIG);
    directory.ignition(false).unwrap();
    let paths = ["bootstrap.ign", "master.ign", "auth/kubeconfig"];
    let before = paths.map(|path| directory.get(path));
    for path in paths {
        std::fs::remove_file(directory.at(path)).unwrap();
    }
    let again = directory.ignition(false).unwrap();
    assert_eq!(paths.map(|path| fate(&again, path)), [Some(FileResult::Written); 3]);
    assert_eq!(paths.map(|path| directory.get(path)), before);
    assert!(again.warnings.is_empty(), "{:?}", again.warnings);
}

#[test]
fn force_brings_deleted_manifests_back() {
    let directory = Directory::new(CONFIG);
    directory.manifests(false).unwrap();
    std::fs::remove_file(directory.at("openshift/machine.yaml")).unwrap();
    let kept = directory.manifests(false).unwrap();
    assert_eq!(fate(&kept, "openshift/machine.yaml"), Some(FileResult::DeletionKept));
    let forced = directory.ignition(true).unwrap();
    assert_eq!(fate(&forced, "openshift/machine.yaml"), Some(FileResult::Written));
    assert_eq!(forced.warnings, ["written again by force, though deleted: openshift/machine.yaml"]);
    assert!(directory.get("bootstrap.ign").contains("openshift/machine.yaml"));
}

#[test]
fn a_changed_install_config_reaches_ignition() {
    let directory = Directory::new(CONFIG);
    directory.ignition(false).unwrap();
    directory.put("install-config.yaml", &CONFIG.replace("platform:", "fips: true\nplatform:"));
    let outcome = directory.ignition(false).unwrap();
    assert_eq!(fate(&outcome, "manifests/fips.yaml"), Some(FileResult::Written));
    assert!(directory.get("bootstrap.ign").contains("fips: true"));
    assert!(outcome.warnings.is_empty() && outcome.backup.is_none(), "{outcome:?}");

    directory.put("manifests/fips.yaml", "edited: true\n");
    directory.put("install-config.yaml", CONFIG);
    let before = directory.get("bootstrap.ign");
    assert_eq!(conflicts(directory.ignition(false)), ["manifests/fips.yaml"]);
    assert_eq!(directory.get("manifests/fips.yaml"), "edited: true\n");
    assert_eq!(directory.get("bootstrap.ign"), before);
    let forced = directory.ignition(true).unwrap();
    assert_eq!(fate(&forced, "manifests/fips.yaml"), Some(FileResult::Overwritten));
    assert_eq!(
        std::fs::read_to_string(directory.at(&forced.backup.unwrap()).join("manifests/fips.yaml")).unwrap(),
        "edited: true\n"
    );
}

/// Manifests could be written, but what comes after them could not: nothing is.
#[test]
fn a_conflict_in_the_last_step_leaves_the_first_alone() {
    let directory = Directory::new(CONFIG);
    directory.ignition(false).unwrap();
    directory.put("bootstrap.ign", "edited");
    directory.put("install-config.yaml", &CONFIG.replace("platform:", "fips: true\nplatform:"));
    assert_eq!(conflicts(directory.ignition(false)), ["bootstrap.ign"]);
    assert!(directory.get("manifests/fips.yaml").contains("fips: false"));
}

#[test]
fn results_that_do_not_match_the_manifests_are_named() {
    let directory = Directory::new(CONFIG);
    directory.ignition(false).unwrap();
    assert!(directory.manifests(false).unwrap().warnings.is_empty());
    std::fs::remove_file(directory.at("master.ign")).unwrap();
    directory.put("install-config.yaml", &CONFIG.replace("platform:", "fips: true\nplatform:"));
    let expected = format!(
        "auth/, bootstrap.ign no longer match the manifests; to create them again: slipway create ignition-configs --dir {}",
        directory.path().display()
    );
    // And not only once.
    for _ in 0..2 {
        assert_eq!(directory.manifests(false).unwrap().warnings, [expected.as_str()]);
    }
    directory.ignition(false).unwrap();
    assert!(directory.manifests(false).unwrap().warnings.is_empty());
    directory.put("manifests/mine.yaml", &object("mine", "spec: {}"));
    assert_eq!(directory.manifests(false).unwrap().warnings.len(), 1);
}

#[test]
fn an_edited_pointer_is_kept_with_a_warning() {
    let directory = Directory::new(CONFIG);
    directory.ignition(false).unwrap();
    directory.put("master.ign", "{\"edited\": true}\n");
    let outcome = directory.ignition(false).unwrap();
    assert_eq!(fate(&outcome, "master.ign"), Some(FileResult::EditKept));
    assert_eq!(outcome.warnings.len(), 1);
    let warning = &outcome.warnings[0];
    assert!(warning.contains("master.ign") && warning.contains("master-user-data"), "{warning}");
    assert!(warning.contains("MachineConfig in openshift/"), "{warning}");
}

#[test]
fn a_cluster_without_compute_machines_is_pointed_out() {
    let none = "compute:\n- name: worker\n  replicas: 0\n";
    let directory = Directory::new(&format!("{CONFIG}{none}"));
    assert_eq!(directory.manifests(false).unwrap().warnings, [super::NO_COMPUTE]);
    let directory = Directory::new(CONFIG);
    assert!(directory.manifests(false).unwrap().warnings.is_empty());
}

/// A comment is no change.
#[test]
fn what_makes_no_difference_is_no_conflict() {
    let directory = Directory::new(CONFIG);
    directory.manifests(false).unwrap();
    directory.put("manifests/domain.yaml", "edited: true\n");
    directory.put("install-config.yaml", &format!("# a comment\n{CONFIG}"));
    assert_eq!(
        fate(&directory.manifests(false).unwrap(), "manifests/domain.yaml"),
        Some(FileResult::EditKept)
    );
}

#[test]
fn another_cluster_needs_another_directory() {
    let directory = Directory::new(CONFIG);
    let first = directory.manifests(false).unwrap();
    let edited = format!("openshift/{}.yaml", first.infra_id);
    directory.put(&edited, &object("edited", "spec: {}"));
    directory.put("install-config.yaml", &CONFIG.replace("pontoon", "raft"));
    let error = directory.manifests(false).unwrap_err();
    assert!(
        matches!(&error, Error::OtherCluster { was, is, .. } if was == "pontoon" && is == "raft"),
        "{error}"
    );
    let forced = directory.manifests(true).unwrap();
    assert_ne!(forced.infra_id, first.infra_id);
    assert!(forced.infra_id.starts_with("raft-"), "{}", forced.infra_id);
    assert!(forced.warnings[0].starts_with("started over"), "{:?}", forced.warnings);
    // Unedited files of the other cluster are not in the way.
    assert_eq!(fate(&forced, "manifests/cluster.yaml"), Some(FileResult::Written));
    let backup = forced.backup.unwrap();
    assert!(directory.get(&format!("{backup}/state.json")).contains(&first.infra_id));
    // Edited ones do not stay among those of the new cluster.
    assert!(!directory.at(&edited).exists() && directory.at(&backup).join(&edited).exists());
    directory.ignition(false).unwrap();
    assert!(!directory.get("bootstrap.ign").contains(&first.infra_id));
}

/// Nothing is copied aside by a run that stops at a conflict.
#[test]
fn a_conflict_leaves_no_backup() {
    let directory = Directory::new(CONFIG);
    directory.manifests(false).unwrap();
    directory.put("manifests/domain.yaml", "edited: true\n");
    directory.put("install-config.yaml", &CONFIG.replace("example.com", "example.org"));
    assert_eq!(conflicts(directory.manifests(false)), ["manifests/domain.yaml"]);
    assert!(!directory.at(".slipway/backup").exists());
}

#[test]
fn manifests_that_cannot_be_used_are_all_named() {
    let directory = Directory::new(CONFIG);
    directory.manifests(false).unwrap();
    directory.put("manifests/a.yaml", "kind: [\n");
    directory.put("openshift/b.json", "{\n\"kind\" 1}\n");
    directory.put("openshift/c.yaml", "a: 1\n---\nb: 1\n");
    directory.put("openshift/d.yaml", "kind: List\napiVersion: v1\nitems: []\n");
    directory.put("openshift/e.yaml", &object("domain.yaml", "mine: true"));
    directory.put("openshift/f.yaml", "# nothing\n");
    let error = directory.ignition(false).unwrap_err();
    assert_eq!(error.to_string(), "5 manifests cannot be used");
    assert_eq!(
        error.details(),
        [
            "manifests/a.yaml:1:7: this is not valid YAML: unclosed bracket '['; check indentation, quotes and the colon before this place",
            "openshift/b.json:2:8: expected `:`; check quotes, commas and colons before this place",
            "openshift/c.yaml:2:1: a second document starts here; put each object into a separate file",
            "openshift/d.yaml:1:1: a List, not a single object; put each object into a separate file",
            "openshift/e.yaml:2:1: holds Test `domain.yaml`, as manifests/domain.yaml does; remove one of them",
        ]
    );
    assert!(!directory.at("bootstrap.ign").exists());
}

#[test]
fn the_bootstrap_machine_is_not_left_without_what_it_needs() {
    let directory = Directory::new(CONFIG);
    directory.manifests(false).unwrap();
    std::fs::remove_file(directory.at("manifests/cluster-config.yaml")).unwrap();
    directory.put("openshift/99_feature-gate.yaml", "# no gates\n");
    let error = directory.ignition(false).unwrap_err();
    assert_eq!(error.to_string(), "2 manifests are missing");
    assert_eq!(
        error.details(),
        [
            "manifests/cluster-config.yaml: deleted, but the bootstrap machine cannot do without it; --force writes it again",
            "openshift/99_feature-gate.yaml: empty, but the bootstrap machine cannot do without it; delete it, then --force writes it again",
        ]
    );
    assert!(!directory.at("bootstrap.ign").exists());
    std::fs::remove_file(directory.at("openshift/99_feature-gate.yaml")).unwrap();
    directory.ignition(true).unwrap();
    assert!(directory.get("bootstrap.ign").contains("manifests/cluster-config.yaml"));
}

#[test]
fn manifests_with_nothing_in_them_are_ignored() {
    let directory = Directory::new(CONFIG);
    directory.manifests(false).unwrap();
    directory.put("openshift/machine.yaml", "# not needed\n");
    directory.put("openshift/mine.yaml", "");
    let outcome = directory.ignition(false).unwrap();
    for path in ["openshift/machine.yaml", "openshift/mine.yaml"] {
        assert_eq!(fate(&outcome, path), Some(FileResult::Ignored));
        assert_eq!(outcome.files.iter().filter(|(file, _)| file == path).count(), 1);
        assert!(!directory.get("bootstrap.ign").contains(path));
    }
}

#[test]
fn manifests_are_bounded_and_not_links() {
    let directory = Directory::new(CONFIG);
    directory.put("manifests/large.yaml", &"#".repeat((4 << 20) + 1));
    let error = directory.ignition(false).unwrap_err();
    assert_eq!(error.details(), ["manifests/large.yaml: larger than 4 MiB"]);
    std::fs::remove_file(directory.at("manifests/large.yaml")).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", directory.at("manifests/link.yaml")).unwrap();
    let error = directory.ignition(false).unwrap_err();
    assert!(matches!(error, Error::Store(store::Error::SymbolicLink { .. })), "{error}");
}

#[test]
fn an_install_config_that_is_a_pipe_is_not_waited_for() {
    let directory = Directory::new(CONFIG);
    let path = directory.at("install-config.yaml");
    std::fs::remove_file(&path).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    let error = directory.manifests(false).unwrap_err();
    assert_eq!(error.to_string(), format!("`{}` is a named pipe, not a file", path.display()));
    assert!(!directory.at(".slipway").exists());
}

#[test]
fn nothing_is_left_behind_by_a_bad_install_config() {
    let directory = Directory::new(&CONFIG.replace("none: {}", "nine: {}"));
    match directory.manifests(false) {
        Err(Error::InstallConfig { report, .. }) => assert!(report.has_errors()),
        other => panic!("{other:?}"),
    }
    assert!(!directory.at(".slipway").exists());
    std::fs::remove_file(directory.at("install-config.yaml")).unwrap();
    assert!(matches!(directory.manifests(false), Err(Error::NoInstallConfig { .. })));
    assert!(!directory.at(".slipway").exists());
}

const KUBERNETES: &str = "\
apiVersion: v1
baseDomain: example.com
metadata:
  name: pontoon
platform:
  none: {}
payload:
  type: Kubernetes
  version: v1.34.4
  slipwayImage: registry.example.com/slipway:v1
  networkManifests: cni
";
