//! Whether the objects that steps need are there, and whether the user has the privileges: asked before the first step.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use slipway_engine::{Endpoint, RequiredPrivilege};

use super::{KindError, VCenter, VSphere};
use crate::vsphere::MoRef;

/// A need of a step, and what it is about if that is known already.
#[derive(Debug, Clone)]
pub struct Claim<'a> {
    pub need: &'a RequiredPrivilege,
    /// The object itself, as states name it.
    pub moref: Option<&'a str>,
}

impl VSphere {
    /// Why needs are not met, in the order of the claims; `None` where they are. One call for all privileges, and one for
    /// each object that was not known before.
    pub async fn unmet(
        &self,
        endpoint: &Endpoint,
        user: &str,
        claims: &[Claim<'_>],
    ) -> Result<Vec<Option<String>>, KindError> {
        let vcenter = self.vcenter(endpoint)?;
        let mut objects: BTreeMap<(&str, bool), Result<MoRef, String>> = BTreeMap::new();
        for Claim { need, moref } in claims {
            let key = (&*need.object, is_network(need));
            let Entry::Vacant(unknown) = objects.entry(key) else { continue };
            let found = match moref.filter(|moref| !moref.is_empty()) {
                Some(moref) => Ok(vcenter.moref(moref)),
                None => match vcenter.resolve(need).await {
                    Err(
                        error @ (KindError::Missing { .. }
                        | KindError::MissingNetwork { .. }
                        | KindError::Networks { .. }),
                    ) => Err(error.to_string()),
                    found => Ok(found?),
                },
            };
            unknown.insert(found);
        }
        let morefs: BTreeSet<MoRef> = objects.values().filter_map(|found| found.clone().ok()).collect();
        let held = vcenter.client.privileges(user, &morefs.into_iter().collect::<Vec<_>>()).await?;
        let lacks = |need: &RequiredPrivilege, object: &MoRef| {
            !held.get(object).is_some_and(|privileges| privileges.contains(&*need.privilege))
        };
        let mut reasons: Vec<Option<String>> = Vec::with_capacity(claims.len());
        let mut known: Option<BTreeSet<String>> = None;
        for Claim { need, .. } in claims {
            let reason = match objects.get(&(&*need.object, is_network(need))) {
                Some(Err(reason)) => Some(reason.clone()),
                Some(Ok(object)) if lacks(need, object) => {
                    // Older vCenters lack some privileges, and do not ask for them either.
                    if known.is_none() {
                        known = Some(vcenter.client.known_privileges().await?);
                    }
                    let exists = known.as_ref().is_some_and(|known| known.contains(&*need.privilege));
                    let RequiredPrivilege { object, privilege } = need;
                    exists.then(|| format!("the user {user} lacks {privilege} on {object}"))
                }
                _ => None,
            };
            reasons.push(reason);
        }
        Ok(reasons)
    }
}

/// Networks are named by the compute cluster that reaches them.
fn is_network(need: &RequiredPrivilege) -> bool {
    &*need.privilege == "Network.Assign"
}

impl VCenter {
    /// What a privilege is needed on: what is at the path, or what will be above it when it is made.
    async fn resolve(&self, need: &RequiredPrivilege) -> Result<MoRef, KindError> {
        let path = &*need.object;
        if path == "/" {
            return Ok(self.client.manager("rootFolder").await?);
        }
        if is_network(need) {
            return self.places.network_object(path).await;
        }
        let kind = kind_of(need);
        let Some(datacenter) = datacenter_of(path).filter(|_| kind == "object") else {
            return self.places.object(kind, path).await;
        };
        // Folders and machines are made on the way.
        let mut at = path;
        while at.len() > datacenter.len() {
            if let Some(found) = self.client.find(at).await? {
                return Ok(found);
            }
            at = at.rsplit_once('/').map_or("", |(parent, _)| parent);
        }
        self.places.object("datacenter", datacenter).await
    }
}

/// The datacenter of what is, or will be, among its folders of machines.
fn datacenter_of(path: &str) -> Option<&str> {
    let (datacenter, _) = path.split_once("/vm/").or_else(|| Some((path.strip_suffix("/vm")?, "")))?;
    Some(datacenter).filter(|datacenter| !datacenter.is_empty())
}

fn kind_of(need: &RequiredPrivilege) -> &'static str {
    match &*need.privilege {
        "Datastore.AllocateSpace" => "datastore",
        "Resource.AssignVMToPool" | "VApp.Import" => "resource pool",
        "Host.Inventory.EditCluster" => "compute cluster",
        _ => "object",
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::datacenter_of;

    #[rstest]
    #[case("/dc/vm/a/b", Some("/dc"))]
    #[case("/dc/vm", Some("/dc"))]
    #[case("/eu/dc/vm/a", Some("/eu/dc"))]
    #[case("/vmlab/vm/a", Some("/vmlab"))]
    #[case("/eu/vmdc/vm/a", Some("/eu/vmdc"))]
    #[case("/dc/host/vm1", None)]
    #[case("/vm/a", None)]
    fn a_datacenter_may_be_called_anything(#[case] path: &str, #[case] datacenter: Option<&str>) {
        assert_eq!(datacenter_of(path), datacenter);
    }
}
