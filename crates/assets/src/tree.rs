//! Files by path.

use std::collections::BTreeMap;

use serde::Serialize;
use slipway_config::yaml::to_yaml;

use crate::Error;

/// Who may read a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// The owner and the group.
    Group,
    /// The owner alone: it holds secrets.
    Owner,
}

/// What a file holds.
#[derive(Clone, PartialEq, Eq)]
pub struct File {
    pub contents: Vec<u8>,
    pub access: Access,
}

impl std::fmt::Debug for File {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "File({:?}, {} bytes)", self.access, self.contents.len())
    }
}

/// Files by path, relative and with forward slashes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tree(BTreeMap<String, File>);

impl Tree {
    pub fn insert(&mut self, path: impl Into<String>, contents: impl Into<Vec<u8>>, access: Access) {
        self.0.insert(path.into(), File { contents: contents.into(), access });
    }

    /// A Kubernetes object, or anything else that has a YAML form.
    pub fn yaml(
        &mut self,
        path: impl Into<String>,
        value: &impl Serialize,
        access: Access,
    ) -> Result<(), Error> {
        let path = path.into();
        match serde_json::to_value(value) {
            Ok(value) => {
                self.insert(path, to_yaml(&value), access);
                Ok(())
            }
            Err(source) => Err(Error::Unwritable { path, source }),
        }
    }

    pub fn get(&self, path: &str) -> Option<&File> {
        self.0.get(path)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &File)> {
        self.0.iter().map(|(path, file)| (path.as_str(), file))
    }

    /// The files below a folder, such as `manifests/`, with their whole paths.
    pub fn below<'a>(&'a self, folder: &'a str) -> impl Iterator<Item = (&'a str, &'a File)> {
        self.iter().filter(move |(path, _)| path.starts_with(folder))
    }

    pub fn extend(&mut self, other: Tree) {
        self.0.extend(other.0);
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
