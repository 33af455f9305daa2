//! What was made beside what is found. Here an object that cannot be read by its name is gone, as long as the namespace is
//! the one it was made in.

use slipway_engine::journal::Written;

use crate::kubevirt::KindError;
use crate::kubevirt::infra::Infra;
use crate::kubevirt::kinds::{Kind, State};
use crate::provider::{Missing, Remembered};

/// The kinds that are made, and journaled.
const MADE: [Kind; 3] = [Kind::Image, Kind::Secret, Kind::Machine];

pub(super) async fn missing(infra: &Infra, records: &[Remembered<State>]) -> Result<Missing, KindError> {
    let namespace = infra.instance().await?.to_owned();
    let mut missing = Missing::default();
    for one in records {
        let object = match &one.state {
            // Of what was only begun nothing may have come; if something did, its marks tell.
            None | Some(Written::State(State::Power(_))) => continue,
            Some(Written::Unreadable(_)) => {
                missing.unseen.push(one.unseen());
                continue;
            }
            Some(Written::State(State::Object(object))) => object,
        };
        if object.namespace != namespace {
            missing.unseen.push(one.unseen());
            continue;
        }
        let Some(kind) = MADE.into_iter().find(|kind| kind.is(&one.id)) else { continue };
        if infra.is_there(kind, &one.id.name, &object.uid).await? {
            missing.hidden.push(format!("{kind} `{}` is there without the cluster's labels", one.id.name));
        }
    }
    Ok(missing)
}
