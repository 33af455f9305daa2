//! What was made beside what is found. Here a machine that is not found by its id is gone, as long as the cluster is the one
//! it was made in and the user sees it.

use slipway_engine::journal::Written;

use crate::ovirt::kinds::{Kind, KindError, State};
use crate::ovirt::read::id;
use crate::ovirt::scope::Scope;
use crate::provider::{Missing, Remembered};

pub(super) async fn missing(scope: &Scope, records: &[Remembered<State>]) -> Result<Missing, KindError> {
    let cluster = scope.cluster().await?.id.clone();
    let mut missing = Missing::default();
    for one in records {
        let state = match &one.state {
            // Of what was only begun nothing may have come; if something did, its marks tell.
            None | Some(Written::State(State::Power(_))) => continue,
            Some(Written::Unreadable(_)) => {
                missing.unseen.push(one.unseen());
                continue;
            }
            Some(Written::State(state)) => state,
        };
        let Some(object) = state.object() else { continue };
        if object.cluster != cluster || !scope.is_visible(&cluster).await? {
            missing.unseen.push(one.unseen());
            continue;
        }
        let is_there = if Kind::Tag.is(&one.id) {
            scope.tags().await?.iter().any(|tag| id(tag) == object.id)
        } else if Kind::AffinityGroup.is(&one.id) {
            scope.groups().await?.iter().any(|group| id(group) == object.id)
        } else {
            scope.is_machine_there(&object.id).await?
        };
        if is_there {
            let reason =
                format!("{} `{}` is there under another name or without its marks", one.id.kind, one.id.name);
            missing.hidden.push(reason);
        }
    }
    Ok(missing)
}
