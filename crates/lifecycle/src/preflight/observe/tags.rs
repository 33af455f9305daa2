//! Tags of the objects regions and zones are made of.

use std::collections::BTreeSet;

use slipway_providers::vsphere::{Client, Error, MoRef};

use super::tagged;
use crate::preflight::estate::{Estate, Tags};
use crate::preflight::judge::{REGION, ZONE};
use crate::preflight::wanted::Wanted;

/// What is asked for depends on what is wanted: with one failure domain and no tags named, nothing.
pub(super) async fn read(client: &Client, wanted: &Wanted, estate: &Estate) -> Result<Tags, Error> {
    let mut tags = Tags::default();
    if wanted.sites.iter().any(|site| !site.tag_ids.is_empty()) {
        tags.ids = client.tag_ids().await?;
    }
    if !wanted.zoned {
        return Ok(tags);
    }
    let items = wanted.sites.iter().flat_map(|site| tagged(site, estate));
    let objects: BTreeSet<MoRef> = items.map(|item| client.moref(item.id.clone())).collect();
    let objects: Vec<MoRef> = objects.into_iter().collect();
    let named = client.named_tags_of(&objects, &[REGION, ZONE]).await?;
    tags.attached = named.into_iter().map(|(object, tags)| (object.reference, tags)).collect();
    Ok(tags)
}
