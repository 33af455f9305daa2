//! Committed files that follow from the code: `cargo xtask docs` and `cargo xtask crds` write them anew.

mod crds;
mod docs;
mod olm;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

#[test]
fn reference_and_manual_pages_are_up_to_date() {
    agree(docs::files(), "docs");
}

#[test]
fn definitions_and_rights_are_up_to_date() {
    agree(crds::files(), "crds");
}

/// Compares the files with those in the repository, or writes them when asked.
fn agree(files: BTreeMap<PathBuf, String>, task: &str) {
    let update = std::env::var_os("SLIPWAY_GENERATED").is_some_and(|what| what == "update");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut stale = Vec::new();
    for (path, content) in files {
        let full = root.join(&path);
        if fs_err::read_to_string(&full).ok().as_deref() == Some(&content) {
            continue;
        }
        if update {
            fs_err::create_dir_all(full.parent().expect("a folder")).expect("made");
            fs_err::write(&full, content).expect("written");
            println!("wrote {}", path.display());
        } else {
            stale.push(path.display().to_string());
        }
    }
    assert!(stale.is_empty(), "out of date, run `cargo xtask {task}`: {}", stale.join(", "));
}
