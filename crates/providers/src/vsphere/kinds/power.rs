//! Machines that run, and have an address.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use slipway_engine::{Cost, Goal, Id, Seen, Step};
use uuid::Uuid;

use super::batch::Turn;
use super::disks::same;
use super::{Action, Kind, KindError, MachineState, State, VCenter, absent, need, step};
use crate::vsphere::MoRef;
use crate::vsphere::fault::FaultKind;
use crate::vsphere::properties::Wanted;
use crate::vsphere::soap::Element;

const POWER_LIMIT: Duration = Duration::from_mins(5);

/// Whether a machine runs. It needs the machine.
#[derive(Debug, Clone)]
pub struct Power {
    /// The name of the machine.
    pub machine: String,
    pub uuid: Uuid,
    pub path: String,
}

impl Power {
    pub(super) fn next(
        &self,
        id: &Id,
        goal: Goal,
        own: Option<&State>,
        address_limit: Duration,
    ) -> Option<Step<Action>> {
        let machine = &self.machine;
        let (on, addressed) = match own {
            Some(State::Power { on, addresses, .. }) => (*on, !addresses.is_empty()),
            _ => (false, false),
        };
        let powered = |action, verb: &str, word: &str, privilege: &str| {
            let mut step = step(id, action, verb, format!("power `{machine}` {word}"));
            step.needs = vec![need(&self.path, &format!("VirtualMachine.Interact.{privilege}"))];
            step.costs = vec![Cost { budget: "tasks".into(), units: 1 }];
            step.limit = POWER_LIMIT;
            step
        };
        match goal {
            Goal::Present if !on => {
                let mut step = powered(Action::PowerOn, "power on", "on", "PowerOn");
                step.undo = Some("`slipway destroy cluster` powers it off".to_owned());
                Some(step)
            }
            Goal::Present if !addressed => {
                let sentence = format!("wait until `{machine}` has an address");
                let mut step = step(id, Action::AwaitAddress, "wait for address", sentence);
                step.limit = address_limit + Duration::from_secs(30);
                Some(step)
            }
            Goal::Absent if on => Some(powered(Action::PowerOff, "power off", "off", "PowerOff")),
            Goal::Present | Goal::Absent => None,
        }
    }

    pub(super) async fn perform(
        &self,
        vcenter: &VCenter,
        seen: &Seen<State>,
        action: Action,
        address_limit: Duration,
    ) -> Result<Option<State>, KindError> {
        let client = &vcenter.client;
        let moref = match (&seen.own, seen.need(Kind::Machine.as_str())) {
            (Some(State::Power { moref, .. }), _) | (_, Some(State::Machine(MachineState { moref, .. }))) => {
                moref.clone()
            }
            _ => return Err(absent("machine")),
        };
        let machine = vcenter.moref(&moref);
        match action {
            Action::PowerOn => {
                let ended = async { client.finish(&client.power_on(&machine).await?, POWER_LIMIT).await };
                already(vcenter, &machine, ended.await, "poweredOn").await?;
                Ok(Some(State::Power { moref, on: true, addresses: Vec::new() }))
            }
            Action::PowerOff => {
                self.check(vcenter, &machine).await?;
                let ended = async { client.finish(&client.power_off(&machine).await?, POWER_LIMIT).await };
                already(vcenter, &machine, ended.await, "poweredOff").await?;
                // Nothing is left to remember: a machine that is off may be gone next time.
                Ok(None)
            }
            Action::AwaitAddress => match vcenter.address_of(&machine, address_limit).await? {
                Some(addresses) => Ok(Some(State::Power { moref, on: true, addresses })),
                None => Err(KindError::SwitchedOff),
            },
            _ => Err(absent("machine")),
        }
    }

    /// Whether it still is the machine that was looked at: another vCenter has the same short ids.
    async fn check(&self, vcenter: &VCenter, machine: &MoRef) -> Result<(), KindError> {
        match vcenter.client.property(machine, "config.instanceUuid").await? {
            Some(found) => same(machine, &self.uuid.to_string(), &found.text),
            // One that is gone is refused by the call itself.
            None => Ok(()),
        }
    }
}

/// A machine that is on already is as good as one that was powered on. It is looked at: a suspended one, or one that
/// another task is busy with, is refused in the same words.
async fn already(
    vcenter: &VCenter,
    machine: &MoRef,
    ended: Result<Option<MoRef>, crate::vsphere::Error>,
    wanted: &str,
) -> Result<(), KindError> {
    let Err(error) = ended else { return Ok(()) };
    if error.fault().is_some_and(|fault| fault.kind == FaultKind::InvalidPowerState) {
        let power = vcenter.client.property(machine, "runtime.powerState").await?;
        if power.is_some_and(|power| &*power.text == wanted) {
            return Ok(());
        }
    }
    Err(error.into())
}

/// The addresses a guest reports, but for those that only mean something on its own link.
pub(super) fn addresses(guest_net: Option<&Element>) -> Vec<IpAddr> {
    let cards = guest_net.map(|net| net.children.as_slice()).unwrap_or_default();
    let texts = cards.iter().flat_map(|card| card.all("ipAddress"));
    let usable = |address: &IpAddr| match address {
        IpAddr::V4(address) => {
            !address.is_link_local() && !address.is_loopback() && !address.is_unspecified()
        }
        IpAddr::V6(address) => {
            !address.is_unicast_link_local() && !address.is_loopback() && !address.is_unspecified()
        }
    };
    let mut found: Vec<IpAddr> = texts.filter_map(|text| text.text.parse().ok()).filter(usable).collect();
    let mut known = std::collections::BTreeSet::new();
    found.retain(|address| known.insert(*address));
    found
}

impl VCenter {
    /// Waits for a machine's addresses, in one call with all others that wait since the same moment. `None`: it was switched
    /// off meanwhile.
    async fn address_of(&self, machine: &MoRef, limit: Duration) -> Result<Option<Vec<IpAddr>>, KindError> {
        let client = self.client.clone();
        let follow = move |mut turn: Turn<MoRef, Option<Vec<IpAddr>>>| async move {
            let machines: Vec<MoRef> = turn.requests().cloned().collect();
            let wanted =
                [Wanted { kind: "VirtualMachine", properties: &["guest.net", "runtime.powerState"] }];
            let mut watch = match client.watch(&machines, &wanted).await {
                Ok(watch) => watch,
                Err(error) => return turn.fail(error.into()),
            };
            let end = tokio::time::Instant::now() + limit;
            loop {
                let changes = tokio::select! {
                    changes = tokio::time::timeout_at(end, watch.next()) => changes,
                    // The watch ends with the session.
                    () = client.closed() => return,
                };
                let changes = match changes {
                    Ok(Ok(changes)) => changes,
                    Ok(Err(error)) => return turn.fail(error.into()),
                    Err(_) => {
                        watch.end().await;
                        let hint = "the guest has no network, no VMware Tools, or does not start";
                        return turn.fail(KindError::NoAddress { limit, hint });
                    }
                };
                let found: BTreeMap<MoRef, Option<Vec<IpAddr>>> = changes
                    .into_iter()
                    .filter_map(|change| {
                        let property = |name| change.properties.get(name).and_then(Option::as_ref);
                        let found = addresses(property("guest.net"));
                        let is_off =
                            property("runtime.powerState").is_some_and(|power| &*power.text == "poweredOff");
                        match (found.is_empty(), is_off) {
                            (_, true) => Some((change.moref, None)),
                            (false, _) => Some((change.moref, Some(found))),
                            (true, false) => None,
                        }
                    })
                    .collect();
                // With the last answer the caller may leave: nothing is to be done after it.
                if turn.requests().all(|machine| found.contains_key(machine)) {
                    watch.end().await;
                    return turn.answer_from(&found);
                }
                turn.answer_from(&found);
            }
        };
        self.guests.ask(machine.clone(), |work| self.client.spawn_detached(work), follow).await
    }
}
