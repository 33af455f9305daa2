//! Machines that run, and have an address.

use std::net::IpAddr;
use std::time::Duration;

use slipway_engine::{Context, Cost, Goal, Id, Next, Observed, Wait};
use uuid::Uuid;

use super::disks::same;
use super::{Action, Kind, KindError, MachineState, State, VCenter, absent, need, reason, step};
use crate::vsphere::fault::FaultKind;
use crate::vsphere::properties::PropertySpec;
use crate::vsphere::soap::Element;
use crate::vsphere::{Client, MoRef};

const POWER_TIMEOUT: Duration = Duration::from_mins(5);

/// A vCenter tells of new addresses; this is for what it does not tell.
const LOOK_INTERVAL: Duration = Duration::from_secs(30);

/// Whether a machine runs. It needs the machine.
#[derive(Debug, Clone)]
pub struct Power {
    /// The name of the machine.
    pub machine: String,
    pub uuid: Uuid,
    pub path: String,
    /// Whether it is in sync only once its guest has an address.
    pub addressed: bool,
    /// How long its guest may take to shut down before the plug is pulled. `None`: it is not asked.
    pub shutdown: Option<Duration>,
}

impl Power {
    /// One that runs and has an address, or whose plug is pulled.
    pub fn new(machine: String, uuid: Uuid, path: String) -> Self {
        Power { machine, uuid, path, addressed: true, shutdown: None }
    }

    pub(super) fn next(
        &self,
        id: &Id,
        goal: Goal,
        own: Option<&State>,
        address_limit: Duration,
    ) -> Next<Action> {
        let machine = &self.machine;
        let (on, addressed) = match own {
            Some(State::Power { on, addresses, .. }) => (*on, !addresses.is_empty()),
            _ => (false, false),
        };
        let powered = |action, verb: &str, word: &str, privilege: &str| {
            let mut step = step(id, action, verb, format!("power `{machine}` {word}"));
            step.privileges = vec![need(&self.path, &format!("VirtualMachine.Interact.{privilege}"))];
            step.costs = vec![Cost { budget: "tasks".into(), units: 1 }];
            step.limit = POWER_TIMEOUT;
            step
        };
        match goal {
            Goal::Present if !on => {
                let mut step = powered(Action::PowerOn, "power on", "on", "PowerOn");
                step.undo = Some("`slipway destroy cluster` powers it off".to_owned());
                Next::Step(Box::new(step))
            }
            Goal::Present if self.addressed && !addressed => {
                Next::Wait(Box::new(self.address(address_limit)))
            }
            Goal::Absent if on => {
                let mut step = powered(Action::PowerOff, "power off", "off", "PowerOff");
                step.limit += self.shutdown.unwrap_or_default();
                Next::Step(Box::new(step))
            }
            Goal::Present | Goal::Absent => Next::Done,
        }
    }

    /// The guest gets its address by itself.
    fn address(&self, limit: Duration) -> Wait {
        Wait {
            reason: reason::NO_ADDRESS,
            sentence: format!("until `{}` has an address", self.machine),
            look_again: LOOK_INTERVAL,
            limit,
            overdue: format!(
                "there was no address within {}: the guest has no network, no VMware Tools, or does not start",
                spoken(limit)
            ),
            remedy: Some("look at the machine's console; then run the same command again".to_owned()),
        }
    }

    pub(super) async fn perform(
        &self,
        vcenter: &VCenter,
        observed: &Observed<State>,
        action: Action,
        context: &Context,
    ) -> Result<Option<State>, KindError> {
        let client = &vcenter.client;
        let moref = match (&observed.own, observed.dependency(Kind::Machine.as_str())) {
            (Some(State::Power { moref, .. }), _) | (_, Some(State::Machine(MachineState { moref, .. }))) => {
                moref.clone()
            }
            _ => return Err(absent("machine")),
        };
        let machine = vcenter.moref(&moref);
        match action {
            Action::PowerOn => {
                let ended = async {
                    let task = client.power_on(&machine).await?;
                    vcenter.finish(context, &task, POWER_TIMEOUT).await
                };
                already(vcenter, &machine, ended.await, "poweredOn").await?;
                Ok(Some(State::Power { moref, on: true, addresses: Vec::new() }))
            }
            Action::PowerOff => {
                self.check(vcenter, &machine).await?;
                if let Some(limit) = self.shutdown
                    && shut_down(client, &machine, limit).await?
                {
                    return Ok(None);
                }
                let ended = async {
                    let task = client.power_off(&machine).await?;
                    vcenter.finish(context, &task, POWER_TIMEOUT).await
                };
                already(vcenter, &machine, ended.await, "poweredOff").await?;
                // Nothing is left to remember: a machine that is off may be gone next time.
                Ok(None)
            }
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

/// Asks the guest to shut down and waits for it. Whether it did; one without VMware Tools cannot be asked.
async fn shut_down(client: &Client, machine: &MoRef, limit: Duration) -> Result<bool, KindError> {
    let asked = async {
        client.shut_down(machine).await?;
        let power = [PropertySpec { kind: "VirtualMachine", properties: &["runtime.powerState"] }];
        // It has no task: the power state tells.
        let mut watch = client.watch(std::slice::from_ref(machine), &power).await?;
        loop {
            let changes = watch.next().await?;
            let mut powers =
                changes.iter().filter_map(|change| change.properties.get("runtime.powerState")?.as_ref());
            if powers.next_back().is_some_and(|power| &*power.text == "poweredOff") {
                watch.end().await;
                return Ok(());
            }
        }
    };
    match tokio::time::timeout(limit, asked).await {
        Ok(Ok(())) => Ok(true),
        // What cannot be asked, or does not follow, loses its power.
        Err(_) => Ok(false),
        Ok(Err(error)) if crate::vsphere::Error::fault(&error).is_some() => Ok(false),
        Ok(Err(error)) => Err(error.into()),
    }
}

/// `90 s`, `15 min`.
fn spoken(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds => format!("{} min", seconds / 60),
    }
}

/// A machine that is on already is as good as one that was powered on. It is looked at: a suspended one, or one that
/// another task is busy with, is refused in the same words.
async fn already(
    vcenter: &VCenter,
    machine: &MoRef,
    ended: Result<Option<MoRef>, crate::vsphere::Error>,
    desired: &str,
) -> Result<(), KindError> {
    let Err(error) = ended else { return Ok(()) };
    if error.fault().is_some_and(|fault| fault.kind == FaultKind::InvalidPowerState) {
        let power = vcenter.client.property(machine, "runtime.powerState").await?;
        if power.is_some_and(|power| &*power.text == desired) {
            return Ok(());
        }
    }
    Err(error.into())
}

/// The addresses a guest reports, but for those that only mean something on its own link.
pub(in crate::vsphere) fn addresses(guest_net: Option<&Element>) -> Vec<IpAddr> {
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
