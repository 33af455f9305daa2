//! Whether datastores can be used.

use slipway_providers::vsphere::inventory::Item;

use crate::finding::Judgement;

/// What keeps a datastore from being used, if anything does.
pub(crate) fn unusable(item: &Item) -> Option<Judgement> {
    let datastore = item.datastore()?;
    if datastore.accessible.is_none() {
        return Some(Judgement::unknown(format!("the state of the datastore `{}` is not shown", item.path)));
    }
    let (what, remedy) = if datastore.accessible == Some(false) {
        ("is not accessible: no host reaches it", "connect it, or name another one")
    } else if datastore.maintenance {
        ("is in maintenance mode, or enters it", "end its maintenance, or name another one")
    } else {
        return None;
    };
    Some(Judgement::failure(format!("the datastore `{}` {what}", item.path)).remedy(remedy))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use slipway_providers::vsphere::Reference;
    use slipway_providers::vsphere::inventory::{Datastore, Facts, Item};

    use super::unusable;

    #[rstest]
    #[case::fine(Some(true), false, None)]
    #[case::unreached(Some(false), true, Some("is not accessible"))]
    #[case::maintenance(Some(true), true, Some("maintenance"))]
    #[case::hidden(None, false, Some("is not shown"))]
    fn states(#[case] accessible: Option<bool>, #[case] maintenance: bool, #[case] expected: Option<&str>) {
        let facts = Facts::Datastore(Datastore { accessible, maintenance, ..Datastore::default() });
        let id = Reference::new("Datastore", "datastore-1");
        let judged = unusable(&Item { id, path: "/dc/datastore/a".to_owned(), facts });
        assert_eq!(judged.is_some(), expected.is_some());
        assert!(judged.is_none_or(|judged| judged.message.contains(expected.unwrap())));
    }
}
