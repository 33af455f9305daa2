//! The feed of a vCenter: one call that waits for changes of all machines that are waited for.

use std::collections::BTreeMap;

use slipway_engine::Id;
use slipway_engine::feed::{Changes, Followed};

use super::power::addresses;
use super::{Desired, KindError, State, VCenter};
use crate::vsphere::MoRef;
use crate::vsphere::properties::PropertySpec;
use crate::vsphere::watch::{Change, ChangeKind};

/// How a machine was seen.
#[derive(Debug, Clone, Copy)]
struct Observed {
    on: bool,
    addressed: bool,
}

impl Observed {
    /// Whether a machine is other than it was seen. A change names only what has changed.
    fn differs(self, change: &Change) -> bool {
        let power = change.properties.get("runtime.powerState").and_then(Option::as_ref);
        let turned = power.is_some_and(|power| (&*power.text != "poweredOff") != self.on);
        let network = change.properties.get("guest.net");
        let moved = network.is_some_and(|network| addresses(network.as_ref()).is_empty() == self.addressed);
        change.kind == ChangeKind::Leave || turned || moved
    }
}

impl VCenter {
    /// Tells of machines that were powered on or off, and of those that got their first address or lost their last.
    pub(super) async fn follow(
        &self,
        resources: &[Followed<Desired, State>],
        changes: &Changes,
    ) -> Result<(), KindError> {
        let mut open: BTreeMap<MoRef, (&Id, Observed)> = BTreeMap::new();
        for Followed { resource, observed } in resources {
            if let Some(State::Power { moref, on, addresses }) = observed {
                let observed = Observed { on: *on, addressed: !addresses.is_empty() };
                open.insert(self.moref(moref), (&resource.id, observed));
            }
        }
        let machines: Vec<MoRef> = open.keys().cloned().collect();
        if machines.is_empty() {
            return std::future::pending().await;
        }
        let desired =
            [PropertySpec { kind: "VirtualMachine", properties: &["guest.net", "runtime.powerState"] }];
        let mut watch = self.client.watch(&machines, &desired).await?;
        loop {
            let news = tokio::select! {
                news = watch.next() => news?,
                // The watch ends with the session.
                () = self.client.closed() => return Ok(()),
            };
            let mut changed = Vec::new();
            for change in news {
                if let Some((id, observed)) = open.get(&change.moref)
                    && observed.differs(&change)
                {
                    changed.push(*id);
                    open.remove(&change.moref);
                }
            }
            // With the last one the run may end: nothing is to be done after it.
            if open.is_empty() {
                watch.end().await;
                for id in &changed {
                    changes.tell(id);
                }
                return Ok(());
            }
            for id in &changed {
                changes.tell(id);
            }
        }
    }
}
