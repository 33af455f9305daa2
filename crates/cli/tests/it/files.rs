//! Files for the tests, and the examples.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use tempfile::TempDir;

/// An example of the repository, changed.
pub(crate) fn example(name: &str, edits: &[(&str, &str)]) -> String {
    let path = format!("{}/../../examples/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("the example");
    edits.iter().fold(text, |text, (from, to)| {
        assert!(text.contains(from), "the example has no {from:?}");
        text.replacen(from, to, 1)
    })
}

/// A file that lives as long as its directory.
pub(crate) fn file(content: impl AsRef<[u8]>) -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("install-config.yaml");
    std::fs::write(&path, content).expect("the file");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).expect("the file");
    (directory, path)
}
