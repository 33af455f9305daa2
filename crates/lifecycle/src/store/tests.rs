//! The store with trees made by hand.

use std::collections::BTreeMap;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use slipway_assets::random::Random;
use slipway_assets::{Access, Identity, Pki, Tree};
use tempfile::TempDir;

use super::{Conflict, Digest, Error, FileResult, Inputs, Reason, State, Step, Store};

struct Fixed;

impl Random for Fixed {
    fn fill(&self, buffer: &mut [u8]) {
        buffer.fill(7);
    }
}

fn now() -> Timestamp {
    "2026-11-15T12:00:00Z".parse().unwrap()
}

fn new_state() -> State {
    let identity = Identity::new(&"harbour".parse().unwrap(), now(), &Fixed);
    let pki: Pki = serde_json::from_value(serde_json::json!({"created": now(), "files": {}})).unwrap();
    State::new("harbour".to_owned(), identity, Digest::of(b""), pki)
}

/// `path=contents` for each file; secrets are those whose name says so.
fn tree(files: &[(&str, &str)]) -> Tree {
    let mut tree = Tree::default();
    for (path, contents) in files {
        let access = if path.contains("secret") { Access::Owner } else { Access::Group };
        tree.insert(*path, *contents, access);
    }
    tree
}

struct Directory(TempDir);

impl Directory {
    fn new() -> Self {
        Directory(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn at(&self, path: &str) -> PathBuf {
        self.path().join(path)
    }

    fn put(&self, path: &str, contents: &str) {
        let full = self.at(path);
        std::fs::create_dir_all(full.parent().unwrap()).unwrap();
        std::fs::write(full, contents).unwrap();
    }

    fn get(&self, path: &str) -> String {
        std::fs::read_to_string(self.at(path)).unwrap()
    }

    fn mode(&self, path: &str) -> u32 {
        std::fs::metadata(self.at(path)).unwrap().permissions().mode() & 0o7777
    }

    /// Everything outside of our own folder.
    fn files(&self) -> BTreeMap<String, String> {
        fn walk(root: &Path, folder: &Path, files: &mut BTreeMap<String, String>) {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
                if path.is_dir() {
                    if name != ".slipway" {
                        files.insert(format!("{name}/"), String::new());
                        walk(root, &path, files);
                    }
                } else {
                    files.insert(name, std::fs::read_to_string(&path).unwrap());
                }
            }
        }
        let mut files = BTreeMap::new();
        walk(self.path(), self.path(), &mut files);
        files
    }

    fn run(&self, files: &[(&str, &str)], force: bool) -> Result<Vec<(String, FileResult)>, Error> {
        self.run_with_fuse(files, force, None)
    }

    fn run_with_fuse(
        &self,
        files: &[(&str, &str)],
        force: bool,
        fuse: Option<u32>,
    ) -> Result<Vec<(String, FileResult)>, Error> {
        let mut store = Store::open(self.path(), "slipway test", now())?;
        *store.disk.fuse.lock().unwrap() = fuse;
        let mut state = store.state()?.unwrap_or_else(new_state);
        let inputs = Inputs::from([("the input".to_owned(), Digest::of(format!("{files:?}").as_bytes()))]);
        let plan = store.plan(&state, Step::Manifests, tree(files), inputs, force)?;
        plan.check(force)?;
        store.execute(&mut state, plan, now())
    }
}

fn conflicts(result: Result<Vec<(String, FileResult)>, Error>) -> (Vec<(String, Reason)>, Vec<String>) {
    match result {
        Err(Error::Conflicts { conflicts, changed }) => {
            (conflicts.into_iter().map(|Conflict { path, reason }| (path, reason)).collect(), changed)
        }
        other => panic!("{other:?}"),
    }
}

fn fates(result: Result<Vec<(String, FileResult)>, Error>) -> Vec<(String, FileResult)> {
    result.unwrap()
}

#[test]
fn writes_once_and_then_rests() {
    let directory = Directory::new();
    let files = [("a.json", "1"), ("manifests/secret.yaml", "s")];
    let first = fates(directory.run(&files, false));
    assert_eq!(
        first,
        [("a.json".into(), FileResult::Written), ("manifests/secret.yaml".into(), FileResult::Written)]
    );
    let state = directory.get(".slipway/state.json");
    let second = fates(directory.run(&files, false));
    assert!(second.iter().all(|(_, fate)| *fate == FileResult::Unchanged), "{second:?}");
    assert_eq!(directory.get(".slipway/state.json"), state);
}

#[test]
fn modes_do_not_depend_on_the_umask_being_kind() {
    let directory = Directory::new();
    let files = [("manifests/open.yaml", "o"), ("manifests/secret.yaml", "s")];
    directory.run(&files, false).unwrap();
    for (path, mode) in [
        (".slipway", 0o700),
        (".slipway/state.json", 0o600),
        (".slipway/lock", 0o600),
        ("manifests", 0o750),
        ("manifests/open.yaml", 0o640),
        ("manifests/secret.yaml", 0o600),
    ] {
        // A stricter umask may take more away.
        assert_eq!(directory.mode(path) & !mode, 0, "{path} is {:o}", directory.mode(path));
    }
    // An editor wrote the files anew, for everyone; or someone was generous with one that is as it was.
    directory.put("manifests/secret.yaml", "edited");
    for (path, lax, strict) in [
        ("manifests/secret.yaml", 0o644, 0o600),
        ("manifests/open.yaml", 0o666, 0o640),
        ("manifests/open.yaml", 0o600, 0o600),
    ] {
        std::fs::set_permissions(directory.at(path), PermissionsExt::from_mode(lax)).unwrap();
        directory.run(&files, false).unwrap();
        assert_eq!(directory.mode(path), strict, "{path}");
    }
}

#[test]
fn edits_and_deletions_stay_while_nothing_else_changes() {
    let directory = Directory::new();
    let files = [("m/a.yaml", "a"), ("m/b.yaml", "b"), ("m/c.yaml", "c")];
    directory.run(&files, false).unwrap();
    directory.put("m/a.yaml", "edited");
    directory.put("m/mine.yaml", "mine");
    std::fs::remove_file(directory.at("m/b.yaml")).unwrap();
    for _ in 0..2 {
        let fates = fates(directory.run(&files, false));
        assert_eq!(
            fates.iter().map(|(_, fate)| *fate).collect::<Vec<_>>(),
            [FileResult::EditKept, FileResult::DeletionKept, FileResult::Unchanged]
        );
    }
    assert_eq!(directory.get("m/a.yaml"), "edited");
    assert_eq!(directory.get("m/mine.yaml"), "mine");
    assert!(!directory.at("m/b.yaml").exists());
}

#[test]
fn a_conflict_stops_everything_and_names_all_files() {
    let directory = Directory::new();
    directory.run(&[("m/a", "a"), ("m/b", "b"), ("m/c", "c"), ("m/d", "d")], false).unwrap();
    directory.put("m/a", "edited");
    std::fs::remove_file(directory.at("m/b")).unwrap();
    directory.put("m/new", "mine");
    directory.put("m/same", "same");
    let before = (directory.files(), directory.get(".slipway/state.json"));
    let changed = [("m/a", "a2"), ("m/b", "b2"), ("m/c", "c2"), ("m/new", "n"), ("m/same", "same")];
    let (found, inputs) = conflicts(directory.run(&changed, false));
    assert_eq!(
        found,
        [("m/a".into(), Reason::Edited), ("m/b".into(), Reason::Deleted), ("m/new".into(), Reason::NotOurs)]
    );
    assert_eq!(inputs, ["the input"]);
    assert_eq!((directory.files(), directory.get(".slipway/state.json")), before);

    let forced = fates(directory.run(&changed, true));
    assert_eq!(
        forced,
        [
            ("m/a".into(), FileResult::Overwritten),
            ("m/b".into(), FileResult::Written),
            ("m/c".into(), FileResult::Written),
            ("m/d".into(), FileResult::Removed),
            ("m/new".into(), FileResult::Overwritten),
            ("m/same".into(), FileResult::Unchanged),
        ]
    );
    assert_eq!(directory.get("m/a"), "a2");
    assert_eq!(directory.get(".slipway/backup/20261115T120000Z/m/a"), "edited");
    assert_eq!(directory.get(".slipway/backup/20261115T120000Z/m/new"), "mine");
    assert_eq!(directory.mode(".slipway/backup/20261115T120000Z/m/a"), 0o600);
    // The next backup does not overwrite this one.
    directory.put("m/a", "edited again");
    directory.run(&[("m/a", "a3")], true).unwrap();
    assert_eq!(directory.get(".slipway/backup/20261115T120000Z/m/a"), "edited");
    assert_eq!(directory.get(".slipway/backup/20261115T120000Z-2/m/a"), "edited again");
}

#[test]
fn what_is_no_longer_generated_goes() {
    let directory = Directory::new();
    directory.put("mine/a", "my folder");
    std::fs::remove_file(directory.at("mine/a")).unwrap();
    directory.run(&[("mine/x", "x"), ("ours/deep/y", "y"), ("k", "k")], false).unwrap();
    let fates = fates(directory.run(&[("k", "k")], false));
    assert_eq!(
        fates,
        [
            ("k".into(), FileResult::Unchanged),
            ("mine/x".into(), FileResult::Removed),
            ("ours/deep/y".into(), FileResult::Removed),
        ]
    );
    let files: Vec<String> = directory.files().into_keys().collect();
    assert_eq!(files, ["k", "mine/"]);
}

#[test]
fn what_is_no_longer_generated_but_edited_goes_by_force() {
    let directory = Directory::new();
    directory.run(&[("m/x", "x"), ("m/y", "y"), ("k", "k")], false).unwrap();
    directory.put("m/x", "edited");
    let before = directory.files();
    let error = directory.run(&[("k", "k")], false).unwrap_err();
    assert_eq!(error.to_string(), "1 file would be removed");
    let (found, inputs) = conflicts(Err(error));
    assert_eq!(found, [("m/x".into(), Reason::NoLongerGenerated)]);
    assert_eq!(inputs, ["the input"]);
    assert_eq!(directory.files(), before);

    let forced = fates(directory.run(&[("k", "k")], true));
    assert_eq!(forced[1..], [("m/x".into(), FileResult::Removed), ("m/y".into(), FileResult::Removed)]);
    assert_eq!(directory.files().into_keys().collect::<Vec<_>>(), ["k"]);
    assert_eq!(directory.get(".slipway/backup/20261115T120000Z/m/x"), "edited");
    // Nothing is left of it in the state either.
    assert_eq!(fates(directory.run(&[("k", "k")], false)), [("k".into(), FileResult::Unchanged)]);
}

/// Cuts the power before every change of a run that removes an edited file by force.
#[test]
fn a_crash_while_an_edit_is_removed_is_survived() {
    for fuse in 0.. {
        let directory = Directory::new();
        directory.run(&[("m/x", "x"), ("k", "k")], false).unwrap();
        directory.put("m/x", "edited");
        let ended = directory.run_with_fuse(&[("k", "k")], true, Some(fuse)).is_ok();
        directory.run(&[("k", "k")], true).unwrap();
        assert_eq!(directory.files().into_keys().collect::<Vec<_>>(), ["k"], "fuse {fuse}");
        // A backup that was begun is not gone on with.
        let backups = ["20261115T120000Z", "20261115T120000Z-2"];
        let kept =
            backups.map(|name| std::fs::read_to_string(directory.at(&format!(".slipway/backup/{name}/m/x"))));
        assert!(kept.iter().flatten().any(|text| text == "edited"), "fuse {fuse}");
        if ended {
            break;
        }
    }
}

/// Cuts the power before every single change of two runs, and lets a third one with other inputs follow.
#[test]
fn a_crash_anywhere_is_survived() {
    let first = [("m/a", "a"), ("m/b", "b"), ("n/c", "c"), ("e", "e"), ("d", "d")];
    let second = [("m/a", "a2"), ("m/b", "b"), ("o/f", "f"), ("e", "e2")];
    let third = [("m/a", "a3"), ("o/f", "f3"), ("d", "d3")];
    let expected = |files: &[(&str, &str)]| {
        let directory = Directory::new();
        directory.run(files, false).unwrap();
        directory.files()
    };
    let mut crashes = 0;
    for fuse in 0.. {
        let directory = Directory::new();
        let first_ended = directory.run_with_fuse(&first, false, Some(fuse)).is_ok();
        // With the same inputs as without the crash, and with others, nothing looks like an edit.
        directory.run(&first, false).unwrap();
        assert_eq!(directory.files(), expected(&first), "fuse {fuse}");
        let second_ended = directory.run_with_fuse(&second, false, Some(fuse)).is_ok();
        if fuse % 2 == 0 {
            directory.run(&third, false).unwrap();
            assert_eq!(directory.files(), expected(&third), "fuse {fuse}");
        } else {
            directory.run(&second, false).unwrap();
            assert_eq!(directory.files(), expected(&second), "fuse {fuse}");
        }
        assert!(!directory.at(".slipway/tmp/file").exists());
        if first_ended && second_ended {
            break;
        }
        crashes += 1;
    }
    assert!(crashes > 15, "only {crashes} places to crash");
}

#[test]
fn an_edit_after_a_crash_is_an_edit() {
    let directory = Directory::new();
    let files = [("a", "a"), ("b", "b")];
    // State (2), a (2), then b is about to be renamed.
    directory.run_with_fuse(&files, false, Some(4)).unwrap_err();
    assert_eq!(directory.get("a"), "a");
    directory.put("a", "edited");
    let fates = fates(directory.run(&files, false));
    assert_eq!(fates, [("a".into(), FileResult::EditKept), ("b".into(), FileResult::Written)]);
}

#[test]
fn the_identity_is_saved_before_any_file_is_written() {
    let directory = Directory::new();
    directory.run_with_fuse(&[("a", "a")], false, Some(2)).unwrap_err();
    assert!(directory.at(".slipway/state.json").exists() && !directory.at("a").exists());
}

#[test]
fn links_are_not_followed() {
    let outside = tempfile::tempdir().unwrap();
    for link in ["m", "m/deep", "m/deep/a", ".slipway", ".slipway/state.json"] {
        let directory = Directory::new();
        std::fs::create_dir_all(directory.at(link).parent().unwrap()).unwrap();
        symlink(outside.path(), directory.at(link)).unwrap();
        match directory.run(&[("m/deep/a", "a")], true) {
            Err(Error::SymbolicLink { path }) => assert_eq!(path, directory.at(link)),
            other => panic!("{link}: {other:?}"),
        }
    }
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
}

#[test]
fn folders_and_files_in_each_others_place() {
    let directory = Directory::new();
    directory.put("m", "a file");
    assert!(matches!(directory.run(&[("m/a", "a")], true), Err(Error::NotAFolder { .. })));
    let directory = Directory::new();
    directory.put("m/a/x", "in a folder");
    assert!(matches!(directory.run(&[("m/a", "a")], true), Err(Error::NotAFile { .. })));
}

#[test]
fn paths_that_lead_elsewhere_are_refused() {
    for path in ["../a", "/a", "m/../../a", "", "m//a", ".slipway/state.json", "install-config.yaml"] {
        let directory = Directory::new();
        assert!(matches!(directory.run(&[(path, "a")], true), Err(Error::ForbiddenPath { .. })), "{path}");
    }
}

#[test]
fn a_second_process_is_told_who_holds_the_directory() {
    let directory = Directory::new();
    let first = Store::open(directory.path(), "slipway create manifests --dir x", now()).unwrap();
    let error = Store::open(directory.path(), "other", now()).unwrap_err().to_string();
    let pid = std::process::id();
    assert!(error.contains(&format!("process {pid} on ")), "{error}");
    assert!(error.contains("`slipway create manifests --dir x` since 2026-11-15T12:00:00Z"), "{error}");
    drop(first);
    // What is left in the file means nothing.
    Store::open(directory.path(), "other", now()).unwrap();
    directory.put(".slipway/lock", "garbage");
    let _held = Store::open(directory.path(), "other", now()).unwrap();
}

#[test]
fn a_state_that_cannot_be_read_is_left_alone() {
    for (text, said) in [
        ("garbage", "it is not JSON (line 1"),
        ("{\"format\": 1", "it ends too early"),
        ("{}", "a value is missing or of the wrong kind"),
        ("{\"format\": 1}", "a value is missing"),
        ("{\"format\": 99, \"slipway\": \"7.0.0\"}", "was written by slipway 7.0.0, which is newer"),
    ] {
        let directory = Directory::new();
        directory.put(".slipway/state.json", text);
        let error = directory.run(&[("a", "a")], true).unwrap_err();
        assert!(error.to_string().contains(said), "{error}");
        assert!(error.to_string().contains("state.json") && error.hint().is_some(), "{error}");
        assert_eq!(directory.get(".slipway/state.json"), text);
        assert!(!directory.at("a").exists());
    }
}

#[test]
fn a_state_with_other_keys_is_damaged() {
    let directory = Directory::new();
    directory.run(&[("a", "a")], false).unwrap();
    let good = directory.get(".slipway/state.json");
    let parsed: serde_json::Value = serde_json::from_str(&good).unwrap();
    // Another form of the same is the same.
    directory.put(".slipway/state.json", &parsed.to_string());
    directory.run(&[("a", "a")], false).unwrap();
    for pointer in ["/pki/files", "/identity/kubeadmin_hash", "/cluster"] {
        let mut other = parsed.clone();
        let value = other.pointer_mut(pointer).unwrap();
        *value = match pointer {
            "/pki/files" => serde_json::json!({"root-ca.crt": "garbage"}),
            _ => serde_json::json!("other"),
        };
        directory.put(".slipway/state.json", &other.to_string());
        let error = directory.run(&[("a", "b")], true).unwrap_err();
        assert!(error.to_string().ends_with("are not those that were saved"), "{error}");
        assert!(error.hint().unwrap().contains("restore the file"), "{error}");
        assert_eq!(directory.get("a"), "a");
    }
    // A state of old has no checksum, and gets one.
    let mut old = parsed.clone();
    old.as_object_mut().unwrap().remove("checksum").unwrap();
    directory.put(".slipway/state.json", &old.to_string());
    directory.run(&[("a", "a")], false).unwrap();
    assert_eq!(directory.get(".slipway/state.json"), good);
}

#[test]
fn a_state_does_not_lead_out_of_the_directory() {
    let directory = Directory::new();
    directory.run(&[("a", "a")], false).unwrap();
    let state = directory.get(".slipway/state.json").replace("\"a\":", "\"../a\":");
    directory.put(".slipway/state.json", &state);
    assert!(matches!(directory.run(&[], true), Err(Error::Damaged { .. })));
}
