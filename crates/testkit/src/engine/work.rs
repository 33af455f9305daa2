//! Work that takes time: it is begun by a request and ends by the clock, or when a test says so.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::kind::Kind;
use super::parts::domain_of;
use super::world::{Caller, Event, World};

/// Kinds of work, for how long they take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Work {
    /// Making, extending and removing disks.
    Disk,
    /// Making a machine from a template.
    Clone,
    /// Making a template from a machine.
    Template,
    /// From the start of a machine until it is up.
    Boot,
    /// A shutdown by the guest.
    Shutdown,
    /// Powering off.
    Stop,
    Migration,
    /// Opening and closing image transfers.
    Transfer,
}

/// What happens at the end of a piece of work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Effect {
    DiskReady { disk: String, size: Option<u64> },
    VmMade { vm: String },
    TemplateMade { template: String, vm: String },
    Vm { vm: String, from: &'static str, to: &'static str },
    Migrated { vm: String, host: String },
    Phase { transfer: String, phase: &'static str },
    DiskGone { disk: String },
}

#[derive(Debug)]
struct Piece {
    due: i64,
    effect: Effect,
    job: Option<String>,
    caller: Option<Caller>,
}

#[derive(Debug, Default)]
pub(super) struct Queue {
    pieces: Vec<Piece>,
    pub(super) paces: BTreeMap<Work, Duration>,
    pub(super) is_frozen: bool,
}

impl World {
    /// Begins a piece of work. The share says which part of its time it takes.
    pub(super) fn begin(&mut self, work: Work, effect: Effect, job: Option<&str>, caller: &Caller) {
        let pace = self.queue.paces.get(&work).copied().unwrap_or_default();
        let due = self.now() + i64::try_from(pace.as_millis()).unwrap_or(i64::MAX / 2);
        let (job, caller) = (job.map(str::to_owned), Some(caller.clone()));
        self.queue.pieces.push(Piece { due, effect, job, caller });
    }

    /// Ends what is due.
    pub(super) fn settle(&mut self) {
        if !self.queue.is_frozen {
            let now = self.now();
            self.end_where(|piece| piece.due <= now);
        }
    }

    /// Ends everything.
    pub(super) fn finish(&mut self) {
        self.end_where(|_| true);
    }

    fn end_where(&mut self, is_over: impl Fn(&Piece) -> bool) {
        // What ends may begin something else.
        while let Some(index) = self.queue.pieces.iter().position(&is_over) {
            let piece = self.queue.pieces.remove(index);
            self.end(piece.effect, piece.caller.as_ref());
            if let Some(job) = piece.job
                && !self.queue.pieces.iter().any(|other| other.job.as_deref() == Some(&job))
            {
                self.job_ends(&job, "finished");
            }
        }
    }

    fn end(&mut self, effect: Effect, by: Option<&Caller>) {
        match effect {
            Effect::DiskReady { disk, size } => {
                if let Some(record) = self.change(Kind::Disk, &disk) {
                    record.set("status", "ok");
                    if let Some(size) = size {
                        record.set("provisioned_size", size.to_string());
                    }
                }
                let owners = self.all(Kind::DiskAttachment).iter().filter(|one| one.id == disk);
                let owner = owners.map(|one| one.parent.clone()).find(|id| self.find(Kind::Vm, id).is_some());
                if let Some(vm) = owner
                    && size.is_none()
                {
                    let text = format!(
                        "The disk {} was successfully added to VM {}.",
                        self.disk_name(&disk),
                        self.vm_name(&vm)
                    );
                    let mut about = self.around_vm(&vm);
                    let domain = self.find(Kind::Disk, &disk).map(|disk| domain_of(disk).to_owned());
                    about.extend(domain.map(|domain| (Kind::StorageDomain, domain)));
                    self.event(&Event { code: 97, severity: "normal", text, by, about: &about });
                }
            }
            Effect::VmMade { vm } => {
                let disks: Vec<String> =
                    self.parts(Kind::DiskAttachment, &vm).map(|disk| disk.id.clone()).collect();
                for disk in disks {
                    if let Some(disk) = self.change(Kind::Disk, &disk) {
                        disk.set("status", "ok");
                    }
                }
                self.set_vm(&vm, "down");
                self.tell(
                    53,
                    "normal",
                    format!("VM {} creation has been completed.", self.vm_name(&vm)),
                    by,
                    &vm,
                );
            }
            Effect::TemplateMade { template, vm } => {
                let disks: Vec<String> =
                    self.parts(Kind::DiskAttachment, &template).map(|disk| disk.id.clone()).collect();
                for disk in disks {
                    if let Some(disk) = self.change(Kind::Disk, &disk) {
                        disk.set("status", "ok");
                    }
                }
                let name = match self.change(Kind::Template, &template) {
                    Some(record) => {
                        record.set("status", "ok");
                        record.name().to_owned()
                    }
                    None => String::new(),
                };
                self.set_vm(&vm, "down");
                let text =
                    format!("Creation of Template {name} from VM {} has been completed.", self.vm_name(&vm));
                let about = self.around_template(&template, &vm);
                self.event(&Event { code: 51, severity: "normal", text, by, about: &about });
            }
            Effect::Vm { vm, from, to } => self.vm_moves(&vm, from, to, by),
            Effect::Migrated { vm, host } => {
                if self.find(Kind::Vm, &vm).is_some_and(|vm| vm.text("status") == "migrating") {
                    self.set_vm(&vm, "up");
                    if let Some(record) = self.change(Kind::Vm, &vm) {
                        record.set("host", json!({"id": host}));
                    }
                    self.tell(
                        63,
                        "normal",
                        format!("Migration completed (VM: {}).", self.vm_name(&vm)),
                        by,
                        &vm,
                    );
                }
            }
            Effect::Phase { transfer, phase } => self.transfer_moves(&transfer, phase),
            Effect::DiskGone { disk } => self.disk_goes(&disk),
        }
    }

    fn vm_moves(&mut self, vm: &str, from: &str, to: &'static str, by: Option<&Caller>) {
        let Some(record) = self.find(Kind::Vm, vm) else { return };
        // Something else happened to it meanwhile.
        if record.text("status") != from {
            return;
        }
        let host = self
            .find(Kind::Host, record.reference("host"))
            .map(|host| host.name().to_owned())
            .unwrap_or_default();
        let name = record.name().to_owned();
        match to {
            "up" => {
                self.set_vm(vm, "up");
                self.tell(32, "normal", format!("VM {name} started on Host {host}"), by, vm);
            }
            "down" => {
                // It still names the host it was on.
                let mut about = self.around_vm(vm);
                about.retain(|(kind, _)| *kind != Kind::DataCenter);
                let text = format!("VM {name} is down.  ");
                self.stops(vm);
                self.event(&Event { code: 61, severity: "normal", text, by: None, about: &about });
            }
            _ => self.set_vm(vm, to),
        }
    }

    /// A machine that does not run any more.
    pub(super) fn stops(&mut self, vm: &str) {
        let now = self.now();
        if let Some(record) = self.change(Kind::Vm, vm) {
            record.set("status", "down");
            record.set("stop_time", now);
            for field in ["host", "start_time", "run_once"] {
                record.doc.shift_remove(field);
            }
            if let Some(display) = record.doc.get_mut("display").and_then(Value::as_object_mut) {
                for field in ["address", "certificate", "port"] {
                    display.shift_remove(field);
                }
            }
        }
        if let Some(guest) = self.guests.get_mut(vm) {
            guest.addresses.clear();
        }
    }

    pub(super) fn set_vm(&mut self, vm: &str, status: &str) {
        if let Some(record) = self.change(Kind::Vm, vm) {
            record.set("status", status);
        }
    }

    pub(super) fn vm_name(&self, vm: &str) -> String {
        self.find(Kind::Vm, vm).map(|record| record.name().to_owned()).unwrap_or_default()
    }

    pub(super) fn disk_name(&self, disk: &str) -> String {
        self.find(Kind::Disk, disk).map(|record| record.name().to_owned()).unwrap_or_default()
    }

    /// An event about a machine.
    pub(super) fn tell(
        &mut self,
        code: u32,
        severity: &'static str,
        text: String,
        by: Option<&Caller>,
        vm: &str,
    ) {
        let about = self.around_vm(vm);
        self.event(&Event { code, severity, text, by, about: &about });
    }
}
