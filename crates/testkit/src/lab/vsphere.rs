//! A simulated vCenter whose virtual machines are machines of the lab: what is switched on there boots here, from exactly
//! what is in its `guestinfo`; what is switched off is cut; what is destroyed loses its disk. What the machines tell about
//! themselves appears in the vCenter.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use anyhow::{Context, bail};
use serde::Deserialize;
use serde_json::{Value, json};

use super::handover::Firmware;
use super::machine::Guest;
use super::{Lab, Machine};
use crate::vcenter::VCenter;

/// Follows a vCenter until it is dropped.
#[derive(Debug)]
pub struct Hypervisor {
    stop: Arc<AtomicBool>,
    failures: Arc<Mutex<Vec<String>>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Deserialize)]
struct Event {
    seq: u64,
    kind: Kind,
    machine: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    uuid: String,
    #[serde(default)]
    extra_config: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    On,
    Off,
    Suspended,
    Gone,
}

/// What is known of a virtual machine that has run.
#[derive(Debug)]
struct VmRecord {
    machine: Machine,
    reported: Option<Guest>,
    /// Whether it has been said that it went off by itself.
    failed: bool,
}

/// How long a question may wait for news, in milliseconds: machines are asked about themselves as often.
const WAIT: u32 = 500;

impl Hypervisor {
    pub fn follow(lab: &Arc<Lab>, vcenter: &Arc<VCenter>) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let failures = Arc::new(Mutex::new(Vec::new()));
        let (lab, vcenter) = (Arc::clone(lab), Arc::clone(vcenter));
        let (stopped, failed) = (Arc::clone(&stop), Arc::clone(&failures));
        let thread = std::thread::spawn(move || {
            let mut follower = Follower { lab, vcenter, known: BTreeMap::new(), seen: 0 };
            while !stopped.load(Ordering::Relaxed) {
                if let Err(error) = follower.round() {
                    failed.lock().unwrap_or_else(PoisonError::into_inner).push(format!("{error:#}"));
                }
            }
        });
        Hypervisor { stop, failures, thread: Some(thread) }
    }

    /// What went wrong so far.
    pub fn failures(&self) -> Vec<String> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Hypervisor {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        for failure in self.failures() {
            eprintln!("the lab could not follow its vCenter: {failure}");
        }
    }
}

struct Follower {
    lab: Arc<Lab>,
    vcenter: Arc<VCenter>,
    /// By the vCenter's name for them.
    known: BTreeMap<String, VmRecord>,
    seen: u64,
}

impl Follower {
    fn round(&mut self) -> anyhow::Result<()> {
        let question = format!("/machines/events?since={}&wait_ms={WAIT}", self.seen);
        let mut answer = self.vcenter.control("GET", &question, &Value::Null)?;
        let events: Vec<Event> =
            serde_json::from_value(answer["events"].take()).context("events of machines")?;
        for event in events {
            self.seen = event.seq;
            let what = format!("{:?} of {} `{}`", event.kind, event.machine, event.name);
            self.act(event).context(what)?;
        }
        self.report()
    }

    fn act(&mut self, event: Event) -> anyhow::Result<()> {
        match event.kind {
            Kind::On => {
                let machine = self.lab.machine(&event.name)?;
                machine.power_on(&Firmware::from_guestinfo(&event.uuid, &event.extra_config)?)?;
                self.known.insert(event.machine, VmRecord { machine, reported: None, failed: false });
            }
            Kind::Off | Kind::Suspended => {
                if let Some(known) = self.known.get_mut(&event.machine) {
                    known.machine.power_off()?;
                    known.reported = None;
                    self.tell(&event.machine, &json!({"tools": false}))?;
                }
            }
            Kind::Gone => {
                if let Some(known) = self.known.remove(&event.machine) {
                    self.lab.scrap(known.machine.name())?;
                }
            }
        }
        Ok(())
    }

    /// Tells the vCenter what has changed about its guests.
    fn report(&mut self) -> anyhow::Result<()> {
        let mut news = Vec::new();
        for (reference, known) in &mut self.known {
            let guest = known.machine.guest();
            if guest.is_some() && guest != known.reported {
                known.reported.clone_from(&guest);
                news.extend(guest.map(|guest| (reference.clone(), guest)));
            }
        }
        for known in self.known.values_mut().filter(|known| !known.failed) {
            if let Some(words) = known.machine.failure() {
                known.failed = true;
                bail!("{words}");
            }
        }
        for (reference, Guest { hostname, addresses }) in news {
            self.tell(&reference, &json!({"hostname": hostname, "ips": addresses}))?;
        }
        Ok(())
    }

    fn tell(&self, reference: &str, guest: &Value) -> anyhow::Result<()> {
        match self.vcenter.control("POST", &format!("/vms/{reference}/guest"), guest) {
            // Gone in the meantime: that is the next event.
            Err(error) if error.to_string().contains(": 404 ") => Ok(()),
            other => other.map(|_| ()),
        }
    }
}
