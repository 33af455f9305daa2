//! Tags and categories, and what they are attached to, in as few calls as the API allows.

use std::collections::{BTreeMap, BTreeSet};

use reqwest::Method;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::client::Client;
use super::error::{Cause, Error};
use super::fault::Fault;
use super::moref::{MoRef, Reference};

const TAGGING: &str = "/rest/com/vmware/cis/tagging";

/// Objects per call: the service has limits of its own, and a long call is a lost call.
const BATCH: usize = 500;

/// Reads at the same time.
const MAX_PARALLEL_READS: usize = 8;

/// Fewer tags are read sooner than it is asked which of them are in a category.
const WORTH_A_LIST: usize = 3;

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

    fn reference(&self) -> Reference {
        Reference::new(&self.kind, &self.id)
    }
}

#[derive(Debug, Deserialize)]
struct Attached {
    object_id: ObjectId,
    /// Null for an object without tags.
    tag_ids: Option<Vec<String>>,
}

#[derive(Debug, Deserialize)]
struct Carriers {
    tag_id: String,
    object_ids: Option<Vec<ObjectId>>,
}

/// What calls for several objects answer: they do not fail, they tell.
#[derive(Debug, Deserialize)]
struct Batch {
    success: bool,
    #[serde(default)]
    error_messages: Vec<Message>,
}

#[derive(Debug, Deserialize)]
struct Message {
    default_message: String,
}

/// A method of the API without a body.
const NOTHING: Option<&()> = None;

impl Client {
    /// All categories.
    pub async fn categories(&self) -> Result<Vec<Category>, Error> {
        let ids: Vec<String> = self.rest(Method::GET, &format!("{TAGGING}/category"), NOTHING).await?;
        self.each_of("category", ids).await
    }

    /// The category of that name. The API knows no search: all of them are read.
    pub async fn category_named(&self, name: &str) -> Result<Option<Category>, Error> {
        Ok(self.categories().await?.into_iter().find(|category| category.name == name))
    }

    /// Makes a category of which an object has one tag at most. The kinds are those of managed objects.
    pub async fn create_category(
        &self,
        name: &str,
        description: &str,
        kinds: &[&str],
    ) -> Result<String, Error> {
        let types: Vec<String> = kinds.iter().map(|kind| format!("urn:vim25:{kind}")).collect();
        let spec = json!({"create_spec": {
            "name": name, "description": description, "cardinality": "SINGLE", "associable_types": types,
        }});
        self.rest(Method::POST, &format!("{TAGGING}/category"), Some(&spec)).await
    }

    /// Removes a category and all of its tags.
    pub async fn delete_category(&self, id: &str) -> Result<(), Error> {
        self.rest(Method::DELETE, &place("category", id), NOTHING).await
    }

    /// A tag by its id.
    pub async fn tag(&self, id: &str) -> Result<Tag, Error> {
        self.rest(Method::GET, &place("tag", id), NOTHING).await
    }

    /// The tags of a category.
    pub async fn tags_in(&self, category: &str) -> Result<Vec<Tag>, Error> {
        self.each_of("tag", self.tag_ids_in(category).await?).await
    }

    async fn tag_ids_in(&self, category: &str) -> Result<Vec<String>, Error> {
        let path = format!("{}?~action=list-tags-for-category", place("tag", category));
        let body = json!({"category_id": category});
        let ids: Option<Vec<String>> = self.rest(Method::POST, &path, Some(&body)).await?;
        Ok(ids.unwrap_or_default())
    }

    /// The tag of that name in a category.
    pub async fn tag_named(&self, category: &str, name: &str) -> Result<Option<Tag>, Error> {
        Ok(self.tags_in(category).await?.into_iter().find(|tag| tag.name == name))
    }

    pub async fn create_tag(&self, category: &str, name: &str, description: &str) -> Result<String, Error> {
        let spec =
            json!({"create_spec": {"name": name, "description": description, "category_id": category}});
        self.rest(Method::POST, &format!("{TAGGING}/tag"), Some(&spec)).await
    }

    /// Removes a tag from everything it is attached to, and for good.
    pub async fn delete_tag(&self, id: &str) -> Result<(), Error> {
        self.rest(Method::DELETE, &place("tag", id), NOTHING).await
    }

    /// Attaches a tag to objects. One that has it already is no problem.
    pub async fn attach(&self, tag: &str, objects: &[MoRef]) -> Result<(), Error> {
        let path = format!("{}?~action=attach-tag-to-multiple-objects", place("tag-association", tag));
        for batch in objects.chunks(BATCH) {
            let objects: Vec<ObjectId> = batch.iter().map(ObjectId::of).collect();
            self.batch(&path, &json!({"object_ids": objects})).await?;
        }
        Ok(())
    }

    /// Attaches several tags to one object.
    pub async fn attach_all(&self, tags: &[String], object: &MoRef) -> Result<(), Error> {
        self.change_tags("attach-multiple-tags-to-object", tags, object).await
    }

    /// Takes tags from an object.
    pub async fn detach(&self, tags: &[String], object: &MoRef) -> Result<(), Error> {
        self.change_tags("detach-multiple-tags-from-object", tags, object).await
    }

    async fn change_tags(&self, action: &str, tags: &[String], object: &MoRef) -> Result<(), Error> {
        if tags.is_empty() {
            return Ok(());
        }
        let path = format!("{TAGGING}/tag-association?~action={action}");
        self.batch(&path, &json!({"object_id": ObjectId::of(object), "tag_ids": tags})).await
    }

    async fn batch(&self, path: &str, body: &Value) -> Result<(), Error> {
        let result: Option<Batch> = self.rest(Method::POST, path, Some(body)).await?;
        let Some(Batch { success: false, error_messages }) = result else { return Ok(()) };
        let words: Vec<&str> = error_messages.iter().map(|message| &*message.default_message).collect();
        let method = path.split("~action=").last().unwrap_or(path);
        Err(self.error(method, Fault::of_rest("error", &words.join("; "))))
    }

    /// The ids of the tags of each object; objects without tags have an empty list.
    pub async fn tags_of(&self, objects: &[MoRef]) -> Result<BTreeMap<MoRef, Vec<String>>, Error> {
        let path = format!("{TAGGING}/tag-association?~action=list-attached-tags-on-objects");
        let mut tags: BTreeMap<MoRef, Vec<String>> =
            objects.iter().map(|object| (object.clone(), Vec::new())).collect();
        for batch in objects.chunks(BATCH) {
            let objects: Vec<ObjectId> = batch.iter().map(ObjectId::of).collect();
            let body = json!({"object_ids": objects});
            let attached: Option<Vec<Attached>> = self.rest(Method::POST, &path, Some(&body)).await?;
            for Attached { object_id, tag_ids } in attached.into_iter().flatten() {
                tags.insert(self.moref(object_id.reference()), tag_ids.unwrap_or_default());
            }
        }
        Ok(tags)
    }

    /// Category and name of each object's tags, of these categories only. One call for many objects, one for each of
    /// these tags, and up to three for each category; what else is attached, however much, costs no more.
    pub async fn named_tags_of(
        &self,
        objects: &[MoRef],
        categories: &[&str],
    ) -> Result<BTreeMap<MoRef, Vec<(String, String)>>, Error> {
        let attached = self.tags_of(objects).await?;
        let names = self.names_of(attached.values().flatten().cloned().collect(), categories).await?;
        let named = attached
            .into_iter()
            .map(|(object, ids)| (object, ids.iter().filter_map(|id| names.get(id).cloned()).collect()));
        Ok(named.collect())
    }

    /// Category and name of those tags that are in one of the categories. The API tells of one tag at a time, but which
    /// tags are in a category it tells at once: of a category nobody asked for, one tag is read.
    async fn names_of(
        &self,
        mut ids: BTreeSet<String>,
        categories: &[&str],
    ) -> Result<BTreeMap<String, (String, String)>, Error> {
        let mut names = BTreeMap::new();
        while let Some(id) = ids.pop_first() {
            // What is gone meanwhile is left out.
            let Some(tag) = self.each_of::<Tag>("tag", vec![id]).await?.pop() else { continue };
            let category: Option<Category> =
                self.each_of("category", vec![tag.category_id.clone()]).await?.pop();
            let few = ids.len() < WORTH_A_LIST;
            let all = if few { Vec::new() } else { self.tag_ids_in(&tag.category_id).await? };
            let (siblings, others): (BTreeSet<_>, _) = ids.into_iter().partition(|id| all.contains(id));
            ids = others;
            let asked = category.filter(|category| categories.contains(&category.name.as_str()));
            let Some(Category { name: category, .. }) = asked else { continue };
            let siblings: Vec<Tag> = self.each_of("tag", siblings.into_iter().collect()).await?;
            let named = [tag].into_iter().chain(siblings);
            names.extend(named.map(|tag| (tag.id, (category.clone(), tag.name))));
        }
        Ok(names)
    }

    /// The ids of all tags.
    pub async fn tag_ids(&self) -> Result<BTreeSet<String>, Error> {
        self.rest(Method::GET, &format!("{TAGGING}/tag"), NOTHING).await
    }

    /// What each of the tags is attached to.
    pub async fn objects_of(&self, tags: &[String]) -> Result<BTreeMap<String, Vec<MoRef>>, Error> {
        let path = format!("{TAGGING}/tag-association?~action=list-attached-objects-on-tags");
        let mut objects: BTreeMap<String, Vec<MoRef>> =
            tags.iter().map(|tag| (tag.clone(), Vec::new())).collect();
        for batch in tags.chunks(BATCH) {
            let carriers: Option<Vec<Carriers>> =
                self.rest(Method::POST, &path, Some(&json!({"tag_ids": batch}))).await?;
            for Carriers { tag_id, object_ids } in carriers.into_iter().flatten() {
                let carriers = object_ids.into_iter().flatten().map(|object| self.moref(object.reference()));
                objects.insert(tag_id, carriers.collect());
            }
        }
        Ok(objects)
    }

    /// Reads many things of which the API tells one at a time, a few at once. What is gone meanwhile is left out.
    async fn each_of<T: DeserializeOwned + Send + 'static>(
        &self,
        kind: &str,
        ids: Vec<String>,
    ) -> Result<Vec<T>, Error> {
        let mut found = Vec::with_capacity(ids.len());
        for ids in ids.chunks(MAX_PARALLEL_READS) {
            let mut reads = JoinSet::new();
            for (index, id) in ids.iter().enumerate() {
                let (client, path) = (self.clone(), place(kind, id));
                reads.spawn(async move { (index, client.rest::<T>(Method::GET, &path, NOTHING).await) });
            }
            let mut answers = BTreeMap::new();
            while let Some(answer) = reads.join_next().await {
                let (index, answer) =
                    answer.map_err(|error| self.error(kind, Cause::Setup(error.to_string())))?;
                match answer {
                    Ok(value) => drop(answers.insert(index, value)),
                    Err(error) if error.is_not_found() => {}
                    Err(error) => return Err(error),
                }
            }
            found.extend(answers.into_values());
        }
        Ok(found)
    }
}

/// Where a thing is; its id comes from a user's file at times.
fn place(kind: &str, id: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b":-_.".contains(&byte);
    let id: String = id
        .bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect();
    format!("{TAGGING}/{kind}/id:{id}")
}
