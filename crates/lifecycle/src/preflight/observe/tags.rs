//! Tags of the objects regions and zones are made of.

use std::collections::{BTreeMap, BTreeSet};

use reqwest::Method;
use slipway_providers::vsphere::tags::Category;
use slipway_providers::vsphere::{Client, Error, MoRef};

use super::tagged;
use crate::preflight::estate::{Estate, Tags};
use crate::preflight::wanted::Wanted;

const TAGGING: &str = "/rest/com/vmware/cis/tagging";

/// A method of the API without a body.
const NOTHING: Option<&()> = None;

/// What is asked for depends on what is wanted: with one failure domain and no tags named, nothing.
pub(super) async fn read(client: &Client, wanted: &Wanted, estate: &Estate) -> Result<Tags, Error> {
    let mut tags = Tags::default();
    if wanted.sites.iter().any(|site| !site.tag_ids.is_empty()) {
        tags.ids = client.rest(Method::GET, &format!("{TAGGING}/tag"), NOTHING).await?;
    }
    if !wanted.zoned {
        return Ok(tags);
    }
    let items = wanted.sites.iter().flat_map(|site| tagged(site, estate));
    let objects: BTreeSet<MoRef> = items.map(|item| client.moref(item.id.clone())).collect();
    let objects: Vec<MoRef> = objects.into_iter().collect();
    let attached = client.tags_of(&objects).await?;
    let ids: BTreeSet<&String> = attached.values().flatten().collect();
    let mut names: BTreeMap<&String, (String, String)> = BTreeMap::new();
    let mut categories: BTreeMap<String, String> = BTreeMap::new();
    for id in ids {
        let tag = client.tag(id).await?;
        if !categories.contains_key(&tag.category_id) {
            let path = format!("{TAGGING}/category/id:{}", tag.category_id);
            let category: Category = client.rest(Method::GET, &path, NOTHING).await?;
            categories.insert(category.id, category.name);
        }
        let category = categories.get(&tag.category_id).cloned().unwrap_or_default();
        names.insert(id, (category, tag.name));
    }
    for (object, ids) in &attached {
        let named = ids.iter().filter_map(|id| names.get(id).cloned()).collect();
        tags.attached.insert(object.reference.clone(), named);
    }
    Ok(tags)
}
