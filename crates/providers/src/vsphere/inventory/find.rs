//! Finding objects: by path, or by name where only a name is known. Nothing ambiguous is guessed.

use std::collections::BTreeMap;

use futures_util::future::try_join_all;
use thiserror::Error;
use uuid::Uuid;

use super::PLACED;
use crate::vsphere::client::Client;
use crate::vsphere::error::Error;
use crate::vsphere::moref::{MoRef, Reference};
use crate::vsphere::paths::unescape;
use crate::vsphere::properties::{Object, PropertySpec};
use crate::vsphere::soap::{Body, Element};

/// Why an object was not found by its name.
#[derive(Debug, Error)]
pub enum LookupError {
    #[error(transparent)]
    Call(#[from] Error),
    #[error("there is no {kind} `{name}` on {vcenter}")]
    Missing { kind: String, name: String, vcenter: String },
    #[error("there are {} of `{name}` on {vcenter}: {}", paths.len(), paths.join(", "))]
    Ambiguous { name: String, vcenter: String, paths: Vec<String> },
}

/// Up to so many machines are looked up one by one, at the same time: a vCenter has an index of their ids.
const MAX_SINGLE_LOOKUPS: usize = 8;

impl Client {
    /// The object at an inventory path, as vCenter stores it. `None` if there is none, or none the user may see.
    pub async fn find(&self, path: &str) -> Result<Option<MoRef>, Error> {
        let index = self.manager("searchIndex").await?;
        let body = Body::new().text("inventoryPath", path.trim_start_matches('/'));
        let reply = self.read(&index, "FindByInventoryPath", &body).await?;
        Ok(reply.child("returnval").map(|found| self.moref(Reference::of(found))))
    }

    /// The machines with these instance UUIDs, wherever they are: a few are asked for one by one, many in one pass.
    pub async fn machines_by_uuid(&self, uuids: &[Uuid]) -> Result<BTreeMap<Uuid, MoRef>, Error> {
        if uuids.len() > MAX_SINGLE_LOOKUPS {
            let root = self.manager("rootFolder").await?;
            let specs = [PropertySpec { kind: "VirtualMachine", properties: &["config.instanceUuid"] }];
            let machines = self.retrieve_below(&root, &specs).await?;
            let known = machines.into_iter().filter_map(|machine| {
                let uuid: Uuid = machine.text("config.instanceUuid").parse().ok()?;
                uuids.contains(&uuid).then_some((uuid, machine.moref))
            });
            return Ok(known.collect());
        }
        let index = self.manager("searchIndex").await?;
        let find = |uuid: &Uuid| {
            let body = Body::new().text("uuid", uuid).text("vmSearch", true).text("instanceUuid", true);
            let (index, uuid) = (&index, *uuid);
            async move { Ok((uuid, self.read(index, "FindByUuid", &body).await?)) }
        };
        let replies = try_join_all(uuids.iter().map(find)).await?.into_iter();
        let found = |(uuid, reply): (Uuid, Element)| {
            let found = reply.child("returnval")?;
            Some((uuid, self.moref(Reference::of(found))))
        };
        Ok(replies.filter_map(found).collect())
    }

    /// The one object of a kind with this name, below `root`.
    pub async fn find_named(&self, root: &MoRef, kind: &str, name: &str) -> Result<MoRef, LookupError> {
        let objects = self.retrieve_below(root, &[PropertySpec { kind, properties: &PLACED }]).await?;
        let matching: Vec<&Object> =
            objects.iter().filter(|object| unescape(object.text("name")) == name).collect();
        match matching[..] {
            [only] => Ok(only.moref.clone()),
            [] => Err(LookupError::Missing {
                kind: kind.to_owned(),
                name: name.to_owned(),
                vcenter: self.server().to_string(),
            }),
            _ => {
                let morefs: Vec<MoRef> = matching.iter().map(|object| object.moref.clone()).collect();
                let mut paths = self.paths(&morefs).await?;
                paths.sort();
                Err(LookupError::Ambiguous {
                    name: name.to_owned(),
                    vcenter: self.server().to_string(),
                    paths,
                })
            }
        }
    }

    /// The inventory paths of objects, level by level: as many calls as the deepest of them has parents.
    pub async fn paths(&self, objects: &[MoRef]) -> Result<Vec<String>, Error> {
        let specs = [PropertySpec { kind: "ManagedEntity", properties: &PLACED }];
        let mut known: BTreeMap<MoRef, (String, Option<MoRef>)> = BTreeMap::new();
        let mut level: Vec<MoRef> = objects.to_vec();
        while !level.is_empty() {
            let mut above = Vec::new();
            for object in self.retrieve(&level, &specs).await? {
                let parent = object.reference("parent");
                above.extend(parent.iter().filter(|parent| !known.contains_key(*parent)).cloned());
                known.insert(object.moref.clone(), (object.text("name").to_owned(), parent));
            }
            above.sort();
            above.dedup();
            above.retain(|moref| !known.contains_key(moref));
            level = above;
        }
        Ok(objects.iter().map(|object| path(object, &known)).collect())
    }
}

/// The names from the top down, without that of the root folder, which nobody writes.
fn path(object: &MoRef, known: &BTreeMap<MoRef, (String, Option<MoRef>)>) -> String {
    let mut names = Vec::new();
    let mut current = known.get(object);
    while let Some((name, parent)) = current {
        if parent.is_some() {
            names.push(name.as_str());
        }
        current = parent.as_ref().and_then(|parent| known.get(parent));
    }
    names.reverse();
    format!("/{}", names.join("/"))
}
