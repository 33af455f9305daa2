//! Container images from programs: one layer, in the archive format that containerd imports.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use serde_json::json;

/// A container image to be made.
#[derive(Debug, Clone)]
pub struct Image {
    name: String,
    entry: Vec<String>,
    command: Vec<String>,
    /// Number of the user, and of its group; empty for root.
    user: String,
    environment: Vec<String>,
    files: Vec<(Source, String)>,
}

#[derive(Debug, Clone)]
enum Source {
    /// On this host.
    Host(PathBuf),
    /// In the root of the machines.
    Root(String),
    Text(String),
}

impl Image {
    /// An image without anything in it.
    pub fn new(name: &str, entry: &[&str]) -> Self {
        Image {
            name: name.to_owned(),
            entry: entry.iter().map(|&word| word.to_owned()).collect(),
            command: Vec::new(),
            user: String::new(),
            environment: vec!["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".to_owned()],
            files: Vec::new(),
        }
    }

    /// A program of this host, with the libraries it needs.
    #[must_use]
    pub fn program(mut self, source: &Path, target: &str) -> Self {
        self.files.push((Source::Host(source.to_owned()), target.to_owned()));
        self
    }

    /// A program of the machines' root, with the libraries it needs.
    #[must_use]
    pub fn of_root(mut self, path: &str) -> Self {
        self.files.push((Source::Root(path.to_owned()), path.to_owned()));
        self
    }

    #[must_use]
    pub fn text(mut self, text: &str, target: &str) -> Self {
        self.files.push((Source::Text(text.to_owned()), target.to_owned()));
        self
    }

    #[must_use]
    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.environment.push(format!("{name}={value}"));
        self
    }

    /// What is run where nobody says otherwise.
    #[must_use]
    pub fn command(mut self, words: Vec<String>) -> Self {
        self.command = words;
        self
    }

    #[must_use]
    pub fn user(mut self, user: &str) -> Self {
        user.clone_into(&mut self.user);
        self
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Writes the archive; what is taken from the machines' root is looked for in `root`.
    pub(super) fn write(&self, root: &Path, archive: &Path) -> anyhow::Result<()> {
        let layer = archive.with_extension("layer");
        let content = self.content(root)?;
        write_layer(&content, &layer).with_context(|| format!("making image {}", self.name))?;
        let digest = digest(&layer)?;
        let mut settings = json!({"Env": self.environment, "Entrypoint": self.entry});
        if !self.command.is_empty() {
            settings["Cmd"] = json!(self.command);
        }
        if !self.user.is_empty() {
            settings["User"] = json!(self.user);
        }
        let config = json!({
            "architecture": if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" },
            "os": "linux",
            "config": settings,
            "rootfs": {"type": "layers", "diff_ids": [format!("sha256:{digest}")]},
            "history": [{"created": "1970-01-01T00:00:00Z"}],
        });
        let manifest = json!([{"Config": "config.json", "RepoTags": [self.name], "Layers": ["layer.tar"]}]);
        let mut outer = tar::Builder::new(fs_err::File::create(archive)?);
        for (name, value) in [("config.json", config), ("manifest.json", manifest)] {
            let text = value.to_string();
            outer.append_data(
                &mut header(tar::EntryType::Regular, text.len() as u64, 0o644),
                name,
                text.as_bytes(),
            )?;
        }
        outer.append_path_with_name(&layer, "layer.tar")?;
        outer.into_inner()?.flush()?;
        Ok(fs_err::remove_file(layer)?)
    }

    /// Every file of the image by its path, with where it is now.
    fn content(&self, root: &Path) -> anyhow::Result<BTreeMap<String, Content>> {
        let mut content = BTreeMap::new();
        for (source, target) in &self.files {
            let (path, top) = match source {
                Source::Text(text) => {
                    content.insert(target.clone(), Content::Text(text.clone()));
                    continue;
                }
                Source::Host(path) => (path.clone(), None),
                Source::Root(path) => (root.join(path.trim_start_matches('/')), Some(root)),
            };
            for library in libraries(&path, top)? {
                let found = top.map_or_else(|| PathBuf::from(&library), |top| inside(top, &library));
                content.entry(library).or_insert(Content::File(found));
            }
            content.insert(target.clone(), Content::File(top.map_or(path, |top| inside(top, target))));
        }
        Ok(content)
    }
}

#[derive(Debug)]
enum Content {
    File(PathBuf),
    Text(String),
}

/// A path in the machines' root, whose links mean that root.
fn inside(root: &Path, path: &str) -> PathBuf {
    let mut at = root.join(path.trim_start_matches('/'));
    while let Ok(target) = std::fs::read_link(&at) {
        at = match target.strip_prefix("/") {
            Ok(absolute) => root.join(absolute),
            Err(_) => at.parent().unwrap_or(root).join(target),
        };
    }
    at
}

/// What the loader would load, as paths in the program's own world. A static program needs nothing.
fn libraries(program: &Path, root: Option<&Path>) -> anyhow::Result<Vec<String>> {
    let output = match root {
        Some(root) => {
            let path = Path::new("/").join(program.strip_prefix(root)?);
            Command::new("chroot").arg(root).arg("ldd").arg(path).output()?
        }
        None => Command::new("ldd").arg(program).output()?,
    };
    if !program.exists() {
        bail!("{} is not there", program.display());
    }
    // It fails for programs that are not dynamic.
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if text.contains("not found") {
        bail!("{} lacks libraries:\n{text}", program.display());
    }
    let paths = text.lines().filter_map(|line| line.split_whitespace().find(|word| word.starts_with('/')));
    Ok(paths.map(str::to_owned).collect())
}

fn header(kind: tar::EntryType, size: u64, mode: u32) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(kind);
    header.set_size(size);
    header.set_mode(mode);
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    header
}

fn write_layer(content: &BTreeMap<String, Content>, layer: &Path) -> anyhow::Result<()> {
    let mut tar = tar::Builder::new(fs_err::File::create(layer)?);
    let mut folders: Vec<PathBuf> = ["/etc", "/run", "/tmp", "/var"].map(PathBuf::from).to_vec();
    for path in content.keys() {
        folders.extend(Path::new(path).ancestors().skip(1).map(Path::to_owned));
    }
    folders.sort();
    folders.dedup();
    for folder in folders.iter().filter_map(|folder| folder.strip_prefix("/").ok()) {
        if folder.as_os_str().is_empty() {
            continue;
        }
        let mode = if folder == Path::new("tmp") { 0o1777 } else { 0o755 };
        tar.append_data(&mut header(tar::EntryType::Directory, 0, mode), folder, std::io::empty())?;
    }
    for (path, content) in content {
        let path = path.trim_start_matches('/');
        match content {
            Content::Text(text) => {
                let mut header = header(tar::EntryType::Regular, text.len() as u64, 0o755);
                tar.append_data(&mut header, path, text.as_bytes())?;
            }
            Content::File(source) => {
                let file = fs_err::File::open(source)?;
                let size = file.metadata()?.len();
                tar.append_data(&mut header(tar::EntryType::Regular, size, 0o755), path, file)?;
            }
        }
    }
    tar.into_inner()?.flush()?;
    Ok(())
}

/// By a program: ours would take a minute for an image when it is not optimised.
fn digest(file: &Path) -> anyhow::Result<String> {
    let output = Command::new("sha256sum").arg(file).output().context("starting sha256sum")?;
    let text = String::from_utf8(output.stdout)?;
    text.split(' ')
        .next()
        .filter(|digest| digest.len() == 64)
        .map(str::to_owned)
        .context("sha256sum says nothing")
}
