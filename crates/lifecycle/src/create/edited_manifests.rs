//! The manifests as the user left them: edits, deletions and additions included.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::Read;
use std::path::Path;

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use slipway_assets::{Access, Tree};
use slipway_config::findings::{Finding, Rule, Severity};
use slipway_config::yaml::from_yaml;

use super::Error;
use crate::store::{self, Digest, Future, Plan};

/// The folders whose files go into the bootstrap machine's configuration. Only what lies flat in them counts,
/// as OpenShift's own installer has it.
const FOLDERS: [&str; 2] = ["manifests", "openshift"];
/// Its overrides are added to.
const CLUSTER_VERSION: &str = "manifests/cvo-overrides.yaml";

/// What the scripts of the bootstrap machine read by name: without it they end there, where it is hard to see.
const ESSENTIAL: [&str; 7] = [
    CLUSTER_VERSION,
    "manifests/cloud-provider-config.yaml",
    "manifests/cluster-config.yaml",
    "manifests/cluster-infrastructure-02-config.yml",
    "manifests/cluster-network-02-config.yml",
    "manifests/openshift-config-secret-pull-secret.yaml",
    "openshift/99_feature-gate.yaml",
];

pub(super) const ENDINGS: [&str; 3] = ["yaml", "yml", "json"];

/// No object of Kubernetes is larger.
pub(super) const MAX_FILE_BYTES: u64 = 4 << 20;
pub(super) const MAX_TOTAL_BYTES: usize = 32 << 20;
const MAX_FILES: usize = 10_000;

/// A manifest that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    pub path: String,
    /// Line and column, where the trouble is at a place.
    pub place: Option<(usize, usize)>,
    pub message: String,
    pub hint: Option<String>,
    /// It is not there at all.
    pub missing: bool,
}

impl Broken {
    fn whole(path: String, message: String) -> Self {
        Broken { path, place: None, message, hint: None, missing: false }
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Some((line, column)) => write!(f, "{}:{line}:{column}: {}", self.path, self.message)?,
            None => write!(f, "{}: {}", self.path, self.message)?,
        }
        self.hint.as_ref().map_or(Ok(()), |hint| write!(f, "; {hint}"))
    }
}

/// What was found in the folders.
#[derive(Debug, Default)]
pub(super) struct EditedManifests {
    pub(super) manifests: Tree,
    /// Files that are not manifests, or have nothing in them.
    pub(super) ignored: Vec<String>,
}

impl EditedManifests {
    /// Of all names and contents.
    pub(super) fn digest(&self) -> Digest {
        digest(&self.manifests)
    }
}

/// Of all names and contents.
pub(super) fn digest(tree: &Tree) -> Digest {
    let mut hasher = Sha256::new();
    for (path, file) in tree.iter() {
        hasher.update((path.len() as u64).to_le_bytes());
        hasher.update(path);
        hasher.update((file.contents.len() as u64).to_le_bytes());
        hasher.update(&file.contents);
    }
    Digest::finish(hasher)
}

/// Reads the folders as they will be once `plan` has been carried out.
pub(super) fn read(directory: &Path, plan: &Plan) -> Result<EditedManifests, Error> {
    let mut carried = EditedManifests::default();
    let mut broken = Vec::new();
    let mut total = 0;
    let mut seen: BTreeMap<Key, String> = BTreeMap::new();
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
                    let message = format!("larger than {} MiB", MAX_FILE_BYTES >> 20);
                    broken.push(Broken::whole(path, message));
                    continue;
                };
                file
            }
        };
        total += contents.len();
        if total > MAX_TOTAL_BYTES || carried.manifests.len() >= MAX_FILES {
            let message = format!(
                "more than {} MiB or {MAX_FILES} files in manifests/ and openshift/ up to here",
                MAX_TOTAL_BYTES >> 20
            );
            broken.push(Broken::whole(path, message));
            break;
        }
        match judge(&path, &contents) {
            Err(reason) => broken.push(reason),
            Ok(None) => {
                carried.ignored.push(path);
                continue;
            }
            Ok(Some(key)) => match seen.entry(key) {
                Entry::Vacant(entry) => {
                    entry.insert(path.clone());
                }
                Entry::Occupied(entry) => {
                    let (_, kind, _, name) = entry.key();
                    let message = format!("holds {kind} `{name}`, as {} does", entry.get());
                    let hint = Some("remove one of them".to_owned());
                    let place = str::from_utf8(&contents).ok().map(|text| place_of(text, "kind"));
                    broken.push(Broken { place, hint, ..Broken::whole(path.clone(), message) });
                }
            },
        }
        carried.manifests.insert(path, contents, access);
    }
    // What is named already is there, but cannot be used.
    let there = |path: &str| {
        carried.manifests.get(path).is_some() || broken.iter().any(|broken: &Broken| broken.path == path)
    };
    let missing = ESSENTIAL.into_iter().filter(|path| plan.generates(path) && !there(path));
    let missing = missing.map(|path| {
        let (why, hint) = if carried.ignored.iter().any(|ignored| ignored == path) {
            ("empty", "delete it, then --force writes it again")
        } else {
            ("deleted", "--force writes it again")
        };
        let message = format!("{why}, but the bootstrap machine cannot do without it");
        Broken { hint: Some(hint.to_owned()), missing: true, ..Broken::whole(path.to_owned(), message) }
    });
    let missing: Vec<Broken> = missing.collect();
    broken.extend(missing);
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
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut contents)?;
    Ok((contents.len() as u64 <= MAX_FILE_BYTES).then_some((contents, access)))
}

/// Group, kind, namespace and name: what tells an object from others.
type Key = (String, String, String, String);

/// The object in a manifest, told from others; `None` if all of it is commented out. What it says is for the
/// cluster to judge.
fn judge(path: &str, contents: &[u8]) -> Result<Option<Key>, Broken> {
    let broken = |place, message: &str, hint: Option<&str>| Broken {
        path: path.to_owned(),
        place,
        message: message.to_owned(),
        hint: hint.map(str::to_owned),
        missing: false,
    };
    let Ok(text) = std::str::from_utf8(contents) else {
        return Err(broken(None, "not UTF-8 text", None));
    };
    if text.trim().is_empty() {
        return Ok(None);
    }
    if Path::new(path).extension().is_some_and(|ending| ending == "json")
        && let Err(error) = serde_json::from_str::<serde::de::IgnoredAny>(text)
    {
        let message = error.to_string();
        // The place is told apart from the message.
        let message = message.split(" at line ").next().unwrap_or_default();
        let place = Some((error.line(), error.column()));
        return Err(broken(place, message, Some("check quotes, commas and colons before this place")));
    }
    let object = match from_yaml(text) {
        Ok(Value::Null) => return Ok(None),
        Ok(object) => object,
        Err(report) => {
            let errors = |finding: &&Finding| finding.severity == Severity::Error;
            let Some(finding) = report.findings.iter().find(errors) else {
                return Err(broken(None, "not YAML", None));
            };
            let place = Some((finding.position.line, finding.position.column));
            return match finding.rule {
                Rule::DocumentEmpty => Ok(None),
                Rule::YamlDocuments => Err(broken(place, "a second document starts here", Some(APART))),
                _ => Err(broken(place, &finding.message, finding.hint.as_deref())),
            };
        }
    };
    key_of(path, &object)
        .map(Some)
        .map_err(|(field, message, hint)| broken(Some(place_of(text, field)), &message, Some(hint)))
}

const APART: &str = "put each object into a separate file";

/// What tells an object from others, or the field that is wrong, what is wrong with it and what to do.
fn key_of(path: &str, object: &Value) -> Result<Key, (&'static str, String, &'static str)> {
    if !object.is_object() {
        let message = "not a Kubernetes object, which is a mapping".to_owned();
        return Err(("", message, "a manifest starts with `apiVersion` and `kind`"));
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (version, kind) = (text(&object["apiVersion"]), text(&object["kind"]));
    let metadata = &object["metadata"];
    let (namespace, name) = (text(&metadata["namespace"]), text(&metadata["name"]));
    if kind == "List" || (kind.ends_with("List") && object["items"].is_array()) {
        return Err(("kind", format!("a {kind}, not a single object"), APART));
    }
    let fields = [("apiVersion", &version), ("kind", &kind), ("metadata.name", &name)];
    let missing: Vec<String> =
        fields.iter().filter(|(_, value)| value.is_empty()).map(|(field, _)| format!("`{field}`")).collect();
    if !missing.is_empty() {
        let message = format!("not a Kubernetes object without {}", missing.join(" and "));
        return Err(("kind", message, "add what is missing, as text"));
    }
    if path == CLUSTER_VERSION {
        let spec = &object["spec"];
        if !spec.is_null() && !spec.is_object() {
            return Err((
                "spec",
                "`spec` is not a mapping".to_owned(),
                "see `oc explain clusterversion.spec`",
            ));
        }
        if !spec["overrides"].is_null() && !spec["overrides"].is_array() {
            let message = "`spec.overrides` is not a list".to_owned();
            return Err(("overrides", message, "see `oc explain clusterversion.spec.overrides`"));
        }
    }
    let group = version.split_once('/').map_or("", |(group, _)| group).to_owned();
    Ok((group, kind, namespace, name))
}

/// Line and column of a field, else of the first line that says something.
fn place_of(text: &str, field: &str) -> (usize, usize) {
    let lines = || text.lines().enumerate().map(|(number, line)| (number + 1, line, line.trim_start()));
    let says = |line: &str| !line.is_empty() && !line.starts_with('#') && line != "---";
    let is_field = |line: &str| {
        let line = line.trim_start_matches(['{', '"', ' ']);
        line.strip_prefix(field).is_some_and(|rest| rest.starts_with([':', '"']))
    };
    let found =
        lines().find(|(_, _, line)| is_field(line)).or_else(|| lines().find(|(_, _, line)| says(line)));
    found.map_or((1, 1), |(number, whole, line)| (number, whole.len() - line.len() + 1))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::{ESSENTIAL, judge};

    /// Rendered on the bootstrap machine itself.
    const RENDERED: [&str; 1] = ["cluster-authentication-02-config.yaml"];

    #[test]
    fn what_the_scripts_name_is_essential() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../assets/files/bootstrap/lib/bootkube.d");
        let mut named = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let script = std::fs::read_to_string(entry.unwrap().path()).unwrap();
            for after in script.split("/assets/manifests/").skip(1) {
                let name = after.split([' ', ')', '"', '\n']).next().unwrap();
                // All manifests are in one folder there.
                let is_essential = ESSENTIAL.iter().any(|path| path.rsplit_once('/').unwrap().1 == name);
                assert!(is_essential || RENDERED.contains(&name), "{name}");
                named += 1;
            }
        }
        assert!(named >= ESSENTIAL.len());
    }

    const OBJECT: &str = "apiVersion: v1\nkind: A\nmetadata: {name: a}\n";

    #[rstest]
    #[case::yaml("a.yaml", OBJECT, "object")]
    #[case::in_one_document(
        "a.yaml",
        "# first\n---\napiVersion: v1\nkind: A\nmetadata: {name: a}\n",
        "object"
    )]
    #[case::json(
        "a.json",
        "{\"apiVersion\": \"v1\", \"kind\": \"A\", \"metadata\": {\"name\": \"a\"}}",
        "object"
    )]
    #[case::comments("a.yaml", "# kind: A\n", "nothing")]
    #[case::empty("a.json", " \n", "nothing")]
    #[case::an_empty_document("a.yaml", "---\n# kind: A\n", "nothing")]
    #[case::template("a.yaml", "kind: {{ kind }}\n", "a.yaml:1:8: ")]
    #[case::twice("a.yaml", "kind: A\nkind: B\n", "a.yaml:2:1: ")]
    #[case::not_json("a.json", "{\n  \"kind\": A}", "a.json:2:11: expected value")]
    #[case::several(
        "a.yaml",
        "kind: A\n---\nkind: B\n",
        "a.yaml:2:1: a second document starts here; put each object into a separate file"
    )]
    #[case::list(
        "a.yaml",
        "apiVersion: v1\nkind: List\nitems: []\n",
        "a.yaml:2:1: a List, not a single object; put each object into a separate file"
    )]
    #[case::typed_list("a.json", "{\n\"kind\": \"SecretList\", \"items\": []}", "a.json:2:1: a SecretList, ")]
    #[case::no_name(
        "a.yaml",
        "# mine\napiVersion: v1\n",
        "a.yaml:2:1: not a Kubernetes object without `kind` and `metadata.name`; "
    )]
    #[case::not_a_mapping(
        "a.yaml",
        "- kind: A\n",
        "a.yaml:1:1: not a Kubernetes object, which is a mapping; "
    )]
    #[case::overrides(
        "manifests/cvo-overrides.yaml",
        "apiVersion: v1\nkind: A\nmetadata: {name: a}\nspec:\n  overrides: 1\n",
        "manifests/cvo-overrides.yaml:5:3: `spec.overrides` is not a list; "
    )]
    fn one_object_per_manifest(#[case] path: &str, #[case] text: &str, #[case] expected: &str) {
        let judged = match judge(path, text.as_bytes()) {
            Ok(Some(_)) => "object".to_owned(),
            Ok(None) => "nothing".to_owned(),
            Err(broken) => broken.to_string(),
        };
        assert!(judged.starts_with(expected), "{judged}");
    }
}
