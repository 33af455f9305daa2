//! The manifests of the network plugin, which the user brings.

use std::io::Read;
use std::path::Path;

use slipway_assets::kubernetes::NETWORK_FOLDER;
use slipway_assets::{Access, Tree};
use slipway_config::install_config::Payload;

use super::Error;
use super::edited_manifests::{ENDINGS, MAX_FILE_BYTES, MAX_TOTAL_BYTES};
use crate::regular;

/// The files of the directory as they are, in `network/`; `None` if none is named. Vendors publish them with many objects in a
/// file, so they are not looked into: the cluster judges them.
pub(super) fn read(directory: &Path, payload: &Payload) -> Result<Option<Tree>, Error> {
    let Payload::Kubernetes { network_manifests: Some(folder), .. } = payload else { return Ok(None) };
    let path = directory.join(folder);
    let mut reasons = Vec::new();
    let mut tree = Tree::default();
    let mut total = 0;
    let entries = match fs_err::read_dir(&path) {
        Ok(entries) => entries,
        Err(error) => return Err(Error::NetworkManifests(vec![error.to_string()])),
    };
    let mut names = Vec::new();
    for entry in entries {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let ending = name.rsplit_once('.').map(|(_, ending)| ending);
        if !name.starts_with('.') && ending.is_some_and(|ending| ENDINGS.contains(&ending)) {
            names.push(name);
        }
    }
    names.sort();
    for name in names {
        let file = path.join(&name);
        let mut contents = Vec::new();
        let read =
            regular::open(&file).and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_end(&mut contents));
        let problem = match read {
            Err(error) => Some(error.to_string()),
            Ok(_) if contents.len() as u64 > MAX_FILE_BYTES => {
                Some(format!("`{}` is larger than {} MiB", file.display(), MAX_FILE_BYTES >> 20))
            }
            Ok(_) if std::str::from_utf8(&contents).is_err() => {
                Some(format!("`{}` is not UTF-8 text", file.display()))
            }
            Ok(_) => None,
        };
        total += contents.len();
        reasons.extend(problem);
        tree.insert(format!("{NETWORK_FOLDER}{name}"), contents, Access::Group);
    }
    if total > MAX_TOTAL_BYTES {
        reasons.push(format!("`{}` holds more than {} MiB", path.display(), MAX_TOTAL_BYTES >> 20));
    }
    if tree.is_empty() {
        reasons.push(format!("`{}` holds no manifests", path.display()));
    }
    if reasons.is_empty() { Ok(Some(tree)) } else { Err(Error::NetworkManifests(reasons)) }
}
