//! Tags and categories, and what they are attached to, in as few calls as the API allows.

use std::collections::BTreeMap;

use reqwest::Method;
use serde::{Deserialize, Serialize};

use super::client::Client;
use super::error::Error;
use super::moref::{MoRef, Reference};

const TAGGING: &str = "/rest/com/vmware/cis/tagging";

/// Objects per call: the service has limits of its own, and a long call is a lost call.
const BATCH: usize = 500;

/// A category of tags.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Category {
    pub id: String,
    pub name: String,
    #[serde(default)]
    pub description: String,
    pub cardinality: String,
    /// Kinds of objects it is for; none means all.
    #[serde(default)]
    pub associable_types: Vec<String>,
}

/// A tag.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Tag {
    pub id: String,
    pub name: String,
    #[serde(default)]
    pub description: String,
    pub category_id: String,
}

/// An object as the REST API names it.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct ObjectId {
    id: String,
    #[serde(rename = "type")]
    kind: String,
}

impl ObjectId {
    fn of(moref: &MoRef) -> Self {
        ObjectId { id: moref.reference.id.to_string(), kind: moref.reference.kind.to_string() }
    }
}

#[derive(Debug, Deserialize)]
struct Attached {
    object_id: ObjectId,
    /// Null for an object without tags.
    tag_ids: Option<Vec<String>>,
}

#[derive(Serialize)]
struct Objects {
    object_ids: Vec<ObjectId>,
}

/// A method of the API without a body.
const NOTHING: Option<&()> = None;

impl Client {
    /// All categories.
    pub async fn categories(&self) -> Result<Vec<Category>, Error> {
        let ids: Vec<String> = self.rest(Method::GET, &format!("{TAGGING}/category"), NOTHING).await?;
        let mut categories = Vec::new();
        for id in ids {
            categories.push(self.rest(Method::GET, &format!("{TAGGING}/category/id:{id}"), NOTHING).await?);
        }
        Ok(categories)
    }

    /// A tag by its id.
    pub async fn tag(&self, id: &str) -> Result<Tag, Error> {
        self.rest(Method::GET, &format!("{TAGGING}/tag/id:{id}"), NOTHING).await
    }

    /// The ids of the tags of each object; objects without tags have an empty list.
    pub async fn tags_of(&self, objects: &[MoRef]) -> Result<BTreeMap<MoRef, Vec<String>>, Error> {
        let path = format!("{TAGGING}/tag-association?~action=list-attached-tags-on-objects");
        let mut tags: BTreeMap<MoRef, Vec<String>> =
            objects.iter().map(|object| (object.clone(), Vec::new())).collect();
        for batch in objects.chunks(BATCH) {
            let body = Objects { object_ids: batch.iter().map(ObjectId::of).collect() };
            let attached: Option<Vec<Attached>> = self.rest(Method::POST, &path, Some(&body)).await?;
            for Attached { object_id, tag_ids } in attached.into_iter().flatten() {
                tags.insert(
                    self.moref(Reference::new(&object_id.kind, &object_id.id)),
                    tag_ids.unwrap_or_default(),
                );
            }
        }
        Ok(tags)
    }
}
