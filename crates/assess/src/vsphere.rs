//! What preflight and check read and judge alike on a vCenter. The rules are pure, and say nothing about which check asked.
//!
//! | module | what it holds |
//! |---|---|
//! | `certificate` | until when a vCenter's certificate is valid |
//! | `clock` | whether its clock agrees with ours |
//! | `datastores` | whether datastores can be used |
//! | `managers` | who we are there, and what the vCenter says of itself |
//! | `places` | what failure domains name, and whether it is there |
//! | [`preflight`] | what a cluster needs before it is made |
//! | `privileges` | what the user lacks |
//! | `session` | asking a vCenter, and leaving it |
//! | `tags` | regions and zones |
//! | `version` | numbers of versions, and how old is too old |

pub(crate) mod certificate;
pub(crate) mod clock;
pub(crate) mod datastores;
pub(crate) mod managers;
pub(crate) mod places;
pub mod preflight;
pub(crate) mod privileges;
pub(crate) mod session;
pub(crate) mod tags;
pub(crate) mod version;

use std::collections::BTreeMap;

use slipway_providers::vsphere::{MoRef, Reference};

/// What a part of a vCenter answered; why not, if it did not.
pub type Part<T> = Result<T, String>;

/// Category and name of each object's tags.
pub type ObjectTags = BTreeMap<Reference, Vec<(String, String)>>;

/// Within one vCenter its name says nothing.
pub(crate) fn by_reference<T>(map: BTreeMap<MoRef, T>) -> BTreeMap<Reference, T> {
    map.into_iter().map(|(moref, value)| (moref.reference, value)).collect()
}
