//! Whether what the steps of a plan need is there and allowed. Found out before the first step, so that nothing is half
//! made or half removed for want of a privilege.

use std::collections::BTreeMap;

use futures_util::future::join_all;
use slipway_engine::{Endpoint, Id, Plan, World};

use crate::provider::Accounts;
use crate::vsphere::kinds::{Action, Claim, MachineState, State, VSphere};

/// Steps of one vCenter and what they need.
type Claims = Vec<(Id, slipway_engine::RequiredPrivilege, Option<String>)>;

/// Why resources cannot be worked on. Where that cannot be told, the steps are tried.
pub(super) async fn holds(
    platform: &VSphere,
    users: &Accounts,
    plan: &Plan<Action>,
    world: &World<State>,
) -> BTreeMap<Id, String> {
    let mut claims: BTreeMap<Endpoint, Claims> = BTreeMap::new();
    for planned in &plan.steps {
        let id = &planned.step.resource;
        // What a step is about is known if it is about the machine itself.
        let moref = match world.get(id).state() {
            Some(
                State::Machine(MachineState { moref, .. })
                | State::Power { moref, .. }
                | State::Folder { moref, .. },
            ) => Some(moref.clone()),
            _ => None,
        };
        for need in &planned.step.privileges {
            let own = moref.clone().filter(|_| need.object.ends_with(&format!("/{}", last(id))));
            claims.entry(id.endpoint.clone()).or_default().push((id.clone(), need.clone(), own));
        }
    }
    let asked = claims.into_iter().filter_map(|(endpoint, claims)| {
        let Some(Ok(user)) = users.get(&endpoint) else { return None };
        Some(async move {
            let list: Vec<Claim<'_>> =
                claims.iter().map(|(_, need, moref)| Claim { need, moref: moref.as_deref() }).collect();
            let reasons = platform.unmet(&endpoint, user, &list).await.unwrap_or_default();
            let ids = claims.iter().map(|(id, ..)| id.clone());
            ids.zip(reasons).filter_map(|(id, reason)| Some((id, reason?))).collect::<Vec<_>>()
        })
    });
    let mut holds: BTreeMap<Id, Vec<String>> = BTreeMap::new();
    for (id, reason) in join_all(asked).await.into_iter().flatten() {
        let reasons = holds.entry(id).or_default();
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    holds.into_iter().map(|(id, reasons)| (id, reasons.join("; "))).collect()
}

/// The name of what a resource is, without its folder.
fn last(id: &Id) -> &str {
    id.name.rsplit('/').next().unwrap_or_default()
}
