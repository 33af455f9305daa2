//! Tags of the objects regions and zones are made of.

use std::collections::BTreeSet;

use slipway_config::ids::{InfraId, REGION_CATEGORY, ZONE_CATEGORY};
use slipway_providers::vsphere::{Client, Error, MoRef};

use super::tagged;
use crate::vsphere::by_reference;
use crate::vsphere::preflight::expected::ExpectedObjects;
use crate::vsphere::preflight::snapshot::{Tags, VCenterSnapshot};

/// What is asked for depends on what is wanted: with one failure domain and no tags named, nothing.
pub(super) async fn read(
    client: &Client,
    wanted: &ExpectedObjects,
    snapshot: &VCenterSnapshot,
) -> Result<Tags, Error> {
    let mut tags = Tags::default();
    if wanted.sites.iter().any(|site| !site.tag_ids.is_empty()) {
        tags.ids = client.tag_ids().await?;
    }
    let zones =
        wanted.sites.iter().filter(|_| wanted.zoned).flat_map(|site| tagged(site, &snapshot.inventory));
    // Folders of an earlier run are known by the cluster's own tag.
    let own = wanted.infra_id.as_ref().map(InfraId::tag_category);
    let folders =
        wanted.sites.iter().filter(|_| own.is_some()).filter_map(|site| snapshot.inventory.at(&site.folder));
    let items = zones.chain(folders);
    let objects: BTreeSet<MoRef> = items.map(|item| client.moref(item.id.clone())).collect();
    let objects: Vec<MoRef> = objects.into_iter().collect();
    if objects.is_empty() {
        return Ok(tags);
    }
    let categories: Vec<&str> = [REGION_CATEGORY, ZONE_CATEGORY].into_iter().chain(own.as_deref()).collect();
    let named = client.named_tags_of(&objects, &categories).await?;
    tags.attached = by_reference(named);
    Ok(tags)
}
