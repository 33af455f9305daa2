//! The manifests as the user left them: edits, deletions and additions included.

use std::collections::BTreeSet;
use std::fmt;
use std::io::Read;
use std::path::Path;

use sha2::{Digest as _, Sha256};
use slipway_assets::{Access, Tree};
use slipway_config::findings::{Findings, Rule, Severity};
use slipway_config::yaml::{self, Limits};

use super::Error;
use crate::store::{self, Digest, Future, Plan};

/// The folders whose files go into the bootstrap machine's configuration. Only what lies flat in them counts,
/// as OpenShift's own installer has it.
const FOLDERS: [&str; 2] = ["manifests", "openshift"];
const ENDINGS: [&str; 3] = ["yaml", "yml", "json"];

/// No object of Kubernetes is larger, and a file may hold several.
const LARGEST_FILE: u64 = 4 << 20;
const LARGEST_TOTAL: usize = 32 << 20;
const MOST_FILES: usize = 10_000;

/// A manifest that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    pub path: String,
    /// Line and column, where the trouble is at a place.
    pub place: Option<(usize, usize)>,
    pub message: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Some((line, column)) => write!(f, "{}:{line}:{column}: {}", self.path, self.message),
            None => write!(f, "{}: {}", self.path, self.message),
        }
    }
}

/// What was found in the folders.
#[derive(Debug, Default)]
pub(super) struct Carried {
    pub(super) manifests: Tree,
    /// Files that are not manifests.
    pub(super) ignored: Vec<String>,
}

impl Carried {
    /// Of all names and contents.
    pub(super) fn digest(&self) -> Digest {
        let mut hasher = Sha256::new();
        for (path, file) in self.manifests.iter() {
            hasher.update((path.len() as u64).to_le_bytes());
            hasher.update(path);
            hasher.update((file.contents.len() as u64).to_le_bytes());
            hasher.update(&file.contents);
        }
        Digest::finish(hasher)
    }
}

/// Reads the folders as they will be once `plan` has been carried out.
pub(super) fn read(directory: &Path, plan: &Plan) -> Result<Carried, Error> {
    let mut carried = Carried::default();
    let mut broken = Vec::new();
    let mut total = 0;
    let planned = plan.writes().map(|(path, _)| path);
    let mut paths: BTreeSet<String> =
        planned.filter(|path| FOLDERS.contains(&folder(path))).map(str::to_owned).collect();
    for folder in FOLDERS {
        list(directory, folder, &mut paths, &mut carried.ignored)?;
    }
    for path in paths {
        let (contents, access) = match plan.future(&path) {
            Future::Gone => continue,
            Future::Written(file) => (file.contents.clone(), file.access),
            Future::AsItIs => {
                let Some(file) = read_file(&directory.join(&path))? else {
                    let message = format!("larger than {} MiB", LARGEST_FILE >> 20);
                    broken.push(Broken { path, place: None, message });
                    continue;
                };
                file
            }
        };
        total += contents.len();
        if total > LARGEST_TOTAL || carried.manifests.len() >= MOST_FILES {
            let message = format!(
                "more than {} MiB or {MOST_FILES} files in manifests/ and openshift/ up to here",
                LARGEST_TOTAL >> 20
            );
            broken.push(Broken { path, place: None, message });
            break;
        }
        broken.extend(judge(&path, &contents));
        carried.manifests.insert(path, contents, access);
    }
    if broken.is_empty() { Ok(carried) } else { Err(Error::Manifests(broken)) }
}

fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The manifests in a folder, and what else is in there.
fn list(
    directory: &Path,
    folder: &str,
    manifests: &mut BTreeSet<String>,
    ignored: &mut Vec<String>,
) -> Result<(), Error> {
    let full = directory.join(folder);
    match fs_err::symlink_metadata(&full) {
        Ok(metadata) if metadata.is_symlink() => return Err(store::Error::SymbolicLink { path: full }.into()),
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error.into()),
    }
    for entry in fs_err::read_dir(full)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let ending = name.rsplit_once('.').map(|(_, ending)| ending);
        let is_manifest = !name.starts_with('.')
            && ending.is_some_and(|ending| ENDINGS.contains(&ending))
            && entry.file_name().to_str().is_some();
        let path = format!("{folder}/{name}");
        if is_manifest && kind.is_symlink() {
            return Err(store::Error::SymbolicLink { path: entry.path() }.into());
        }
        if is_manifest && kind.is_file() {
            manifests.insert(path);
        } else {
            ignored.push(if kind.is_dir() { format!("{path}/") } else { path });
        }
    }
    Ok(())
}

/// `None` if there is more of it than anyone would look at.
fn read_file(path: &Path) -> Result<Option<(Vec<u8>, Access)>, Error> {
    use std::os::unix::fs::PermissionsExt;

    let file = fs_err::File::open(path)?;
    let shared = file.metadata()?.permissions().mode() & 0o077 != 0;
    let access = if shared { Access::Group } else { Access::Owner };
    let mut contents = Vec::new();
    file.take(LARGEST_FILE + 1).read_to_end(&mut contents)?;
    Ok((contents.len() as u64 <= LARGEST_FILE).then_some((contents, access)))
}

/// Whether a manifest is YAML or JSON at all. What it says is for the cluster to judge.
fn judge(path: &str, contents: &[u8]) -> Option<Broken> {
    let broken = |place, message: String| Some(Broken { path: path.to_owned(), place, message });
    let Ok(text) = std::str::from_utf8(contents) else {
        return broken(None, "not UTF-8 text".to_owned());
    };
    if Path::new(path).extension().is_some_and(|ending| ending == "json") {
        let error = serde_json::from_str::<serde::de::IgnoredAny>(text).err()?;
        let message = error.to_string();
        // The place is told apart from the message.
        let message = message.split(" at line ").next().unwrap_or_default().to_owned();
        return broken(Some((error.line(), error.column())), message);
    }
    documents(text).find_map(|(line, document)| {
        let mut findings = Findings::default();
        yaml::parse(document, Limits::default(), &mut findings);
        let report = findings.report(None, document);
        let finding = report.findings.into_iter().find(|finding| {
            // A file in which all is commented out is fine.
            finding.severity == Severity::Error && finding.rule != Rule::DocumentEmpty
        })?;
        broken(Some((finding.position.line + line, finding.position.column)), finding.message)
    })
}

/// The documents of a YAML file, with the number of lines before each. Three dashes at the start of a line
/// always begin a new one, whatever stands before them.
fn documents(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut starts = vec![(0, 0)];
    let mut offset = 0;
    for (line, content) in text.split_inclusive('\n').enumerate() {
        if line > 0 && (content.trim_end() == "---" || content.starts_with("--- ")) {
            starts.push((line, offset));
        }
        offset += content.len();
    }
    let ends: Vec<usize> = starts.iter().skip(1).map(|(_, offset)| *offset).chain([text.len()]).collect();
    starts.into_iter().zip(ends).map(|((line, start), end)| (line, &text[start..end]))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::judge;

    #[rstest]
    #[case::yaml("a.yaml", "kind: A\n", None)]
    #[case::several("a.yaml", "# first\n---\nkind: A\n--- # next\nkind: B\n---\n", None)]
    #[case::comments("a.yaml", "# kind: A\n", None)]
    #[case::template("a.yaml", "kind: {{ kind }}\n", Some((1, 8)))]
    #[case::in_the_second("a.yml", "kind: A\n---\nkind: [\n", Some((3, 7)))]
    #[case::twice("a.yaml", "kind: A\nkind: B\n", Some((2, 1)))]
    #[case::json("a.json", "{\"kind\": \"A\"}", None)]
    #[case::not_json("a.json", "{\n  \"kind\": A}", Some((2, 11)))]
    fn manifests_are_yaml_or_json(
        #[case] path: &str,
        #[case] text: &str,
        #[case] place: Option<(usize, usize)>,
    ) {
        let broken = judge(path, text.as_bytes());
        assert_eq!(broken.as_ref().and_then(|broken| broken.place), place, "{broken:?}");
        assert_eq!(broken.is_some(), place.is_some());
    }
}
