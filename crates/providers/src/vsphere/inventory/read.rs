//! Reading objects: all of them in one pass, and more about those that matter.

use super::facts::Facts;
use super::items::{Inventory, Item};
use super::parse::absorb;
use super::paths::Paths;
use super::scope::Scope;
use crate::vsphere::client::Client;
use crate::vsphere::error::Error;
use crate::vsphere::moref::{MoRef, Reference};
use crate::vsphere::properties::{Object, PropertySpec};

/// Everything in the scope, as far as the user may see it: one view, read page by page.
pub async fn read(client: &Client, scope: &Scope) -> Result<Inventory, Error> {
    let root = client.manager("rootFolder").await?;
    let properties = scope.properties();
    let objects = client.retrieve_below(&root, &specs(&properties)).await?;
    let mut inventory = Inventory::default();
    inventory.add(Item { id: root.reference, path: "/".to_owned(), facts: Facts::Nothing });
    inventory.take_in(&objects);
    Ok(inventory)
}

type Properties = std::collections::BTreeMap<&'static str, Vec<&'static str>>;

fn specs(properties: &Properties) -> Vec<PropertySpec<'_>> {
    properties.iter().map(|(kind, properties)| PropertySpec { kind, properties }).collect()
}

impl Inventory {
    /// More about single objects, known or not, in one call; in none where there are no objects.
    pub async fn learn(
        &mut self,
        client: &Client,
        objects: impl IntoIterator<Item = Reference>,
        scope: &Scope,
    ) -> Result<(), Error> {
        let objects: Vec<MoRef> = objects.into_iter().map(|id| client.moref(id)).collect();
        let properties = scope.properties();
        let read = client.retrieve(&objects, &specs(&properties)).await?;
        self.take_in(&read);
        Ok(())
    }

    /// Everything in the scope below an object, as far as the user may see it.
    pub async fn learn_below(&mut self, client: &Client, top: &MoRef, scope: &Scope) -> Result<(), Error> {
        let properties = scope.properties();
        let read = client.retrieve_below(top, &specs(&properties)).await?;
        self.take_in(&read);
        Ok(())
    }

    /// Objects in any order. What is known of them already stays.
    fn take_in(&mut self, objects: &[Object]) {
        let mut paths = Paths::known(self.items().iter().map(|item| (&item.id, item.path.as_str())));
        paths.add(objects);
        for object in objects {
            let id = &object.moref.reference;
            if let Some(facts) = self.facts_mut(id) {
                absorb(facts, object);
                continue;
            }
            let mut facts = Facts::Nothing;
            absorb(&mut facts, object);
            let path = paths.get(id).unwrap_or_else(|| object.text("name")).to_owned();
            self.add(Item { id: id.clone(), path, facts });
        }
    }
}
