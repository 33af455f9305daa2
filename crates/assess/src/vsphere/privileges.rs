//! What the user lacks on objects of a vCenter.

use std::collections::{BTreeMap, BTreeSet};

use slipway_providers::vsphere::Reference;

use super::Part;
use crate::finding::Judgement;

/// What a user may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Privileges {
    /// With its domain.
    pub user: String,
    /// What this version knows: older ones lack some, and work without them.
    pub known: BTreeSet<String>,
    /// By object; why it is not known, if it could not be read.
    pub held: Part<BTreeMap<Reference, BTreeSet<String>>>,
}

impl Privileges {
    /// Nothing is known of a user's privileges yet.
    pub(crate) fn of(user: String, known: BTreeSet<String>) -> Self {
        Privileges { user, known, held: Ok(BTreeMap::new()) }
    }

    pub(crate) fn lacks(&self, object: &Reference, privilege: &str) -> bool {
        let held = self.held.as_ref().ok().and_then(|held| held.get(object));
        self.known.contains(privilege) && !held.is_some_and(|held| held.contains(privilege))
    }

    /// Why nothing can be said, if that is so.
    pub(crate) fn unread(&self) -> Option<Judgement> {
        let reason = self.held.as_ref().err()?;
        Some(Judgement::unknown(format!("what `{}` may do could not be read: {reason}", self.user)))
    }

    /// What the lack of these privileges on an object means. `spread` is what else the role must do.
    pub(crate) fn lacking(&self, privileges: &[&str], path: &str, spread: &str) -> Judgement {
        let user = &self.user;
        let these = if privileges.len() == 1 { "this privilege" } else { "these privileges" };
        Judgement::failure(format!("`{user}` lacks {} on `{path}`", privileges.join(", ")))
            .remedy(format!("give `{user}` a role with {these} on `{path}`{spread}"))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use slipway_providers::vsphere::Reference;

    use super::Privileges;

    #[test]
    fn only_what_the_vcenter_knows_can_be_lacking() {
        let folder = Reference::new("Folder", "group-v1");
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        let privileges = Privileges {
            user: "me".to_owned(),
            known: set(&["a", "b"]),
            held: Ok(BTreeMap::from([(folder.clone(), set(&["a"]))])),
        };
        for (privilege, lacks) in [("a", false), ("b", true), ("new", false)] {
            assert_eq!(privileges.lacks(&folder, privilege), lacks, "{privilege}");
        }
        assert!(privileges.lacks(&Reference::new("Folder", "group-v2"), "a"), "nothing is known of it");
    }
}
