//! Machines that start, run, move and stop.

use serde_json::{Value, json};

use super::access::Permit;
use super::change::{number, says};
use super::fault::Refusal;
use super::ignition;
use super::kind::Kind;
use super::render::{Extent, ROOT};
use super::route::{Answer, Reply, Request};
use super::work::{Effect, Work};
use super::world::{Caller, Record, World};

/// What is cut from a machine that is shown within an action.
const OUTLINE: [&str; 4] = ["actions", "link", "href", "id"];

impl World {
    pub(super) fn act_on_vm(&mut self, vm: &str, action: &str, request: &Request, caller: &Caller) -> Answer {
        if !Kind::Vm.actions().contains(&action) {
            return Err(Refusal::NoPath);
        }
        self.get(Kind::Vm, vm)?;
        let body = request.body("action")?;
        let permit = match action {
            "start" | "reboot" | "reset" => Permit::RunVm,
            "stop" | "shutdown" | "suspend" => Permit::StopVm,
            "migrate" | "cancelmigration" => Permit::Migrate,
            _ => Permit::EditVm,
        };
        self.allow(caller, permit, Kind::Vm, vm)?;
        match action {
            "start" => self.start(vm, &body, caller),
            "stop" => self.stop(vm, "stop", &body, caller),
            "shutdown" => self.stop(vm, "shutdown", &body, caller),
            "reboot" | "reset" => self.reboot(vm, caller),
            "migrate" => self.migrate(vm, &body, caller),
            "autopincpuandnumanodes" => {
                let status = self.get(Kind::Vm, vm)?.text("status").to_owned();
                if status != "down" {
                    return Err(Refusal::conflict("Cannot edit VM. VM is running."));
                }
                if let Some(record) = self.change(Kind::Vm, vm) {
                    let policy = if says(&body["optimize_cpu_settings"]) == Some(true) {
                        "adjust"
                    } else {
                        "existing"
                    };
                    record.set("auto_pinning_policy", policy);
                }
                self.accepted(vm, None, &body)
            }
            // Real engines can do it; this one cannot.
            other => Err(Refusal::invalid(format!("the simulator does not know the action {other}"))),
        }
    }

    fn accepted(&self, vm: &str, job: Option<&str>, body: &Value) -> Answer {
        let mut shown = self.show(Kind::Vm, self.get(Kind::Vm, vm)?, Extent::Brief);
        if let Some(shown) = shown.as_object_mut() {
            shown.retain(|key, _| OUTLINE.contains(&key.as_str()));
        }
        let mut value = json!({});
        if let Some(job) = job {
            value["job"] = json!({"href": format!("{ROOT}/jobs/{job}"), "id": job});
        }
        value["status"] = "complete".into();
        // The answer repeats what was asked.
        for (key, said) in body.as_object().into_iter().flatten() {
            value[key] = said.clone();
        }
        value["vm"] = shown;
        Reply::new(200, "action", value)
    }

    fn start(&mut self, vm: &str, body: &Value, caller: &Caller) -> Answer {
        let record = self.get(Kind::Vm, vm)?.clone();
        match record.text("status") {
            "down" | "suspended" | "paused" => {}
            "image_locked" => {
                return Err(Refusal::conflict(
                    "Cannot run VM. VM is locked. Please try again in a few minutes.",
                ));
            }
            _ => return Err(Refusal::conflict("Cannot run VM. VM is running.")),
        }
        let asked = ["use_cloud_init", "use_ignition", "use_sysprep"].map(|way| says(&body[way]));
        if asked.iter().filter(|way| **way == Some(true)).count() > 1 {
            return Err(Refusal::conflict(
                "Cannot run VM. Only one of Cloud-Init, Ignition and Sysprep can be used.",
            ));
        }
        for attachment in self.parts(Kind::DiskAttachment, vm) {
            if self.find(Kind::Disk, &attachment.id).is_some_and(|disk| disk.text("status") == "locked") {
                return Err(Refusal::conflict(format!(
                    "Cannot run VM: The following disks are locked: {}. Please try again in a few minutes.",
                    self.disk_name(&attachment.id)
                )));
            }
        }
        let host = self.schedule(&record)?;
        let guest = self.guests.entry(vm.to_owned()).or_default();
        let is_first = !guest.is_initialized || says(&body["use_initialization"]) == Some(true);
        if is_first && !asked.contains(&Some(false)) {
            guest.user_data = ignition::payload(&record);
        }
        guest.is_initialized = true;
        let (now, host_name) = (self.now(), self.host_name(&host));
        let certificate =
            json!({"content": self.ca, "organization": "Test", "subject": format!("O=Test,CN={host_name}")});
        if let Some(record) = self.change(Kind::Vm, vm) {
            record.set("status", "wait_for_launch");
            record.set("host", json!({"id": host}));
            record.set("start_time", now);
            record.set("run_once", "false");
            if let Some(display) = record.doc.get_mut("display").and_then(Value::as_object_mut) {
                display.insert("address".to_owned(), "127.0.0.1".into());
                display.insert("port".to_owned(), "5900".into());
                display.insert("certificate".to_owned(), certificate);
            }
        }
        let text = format!("VM {} was started by {}-authz (Host: {host_name}).", record.name(), caller.user);
        self.tell(153, "normal", text, Some(caller), vm);
        let job = self.job(&format!("Launching VM {}", record.name()), caller);
        for (from, to) in [("wait_for_launch", "powering_up"), ("powering_up", "up")] {
            let effect = Effect::Vm { vm: vm.to_owned(), from, to };
            self.begin(Work::Boot, effect, Some(&job), caller);
        }
        self.accepted(vm, Some(&job), body)
    }

    fn host_name(&self, host: &str) -> String {
        self.find(Kind::Host, host).map(|host| host.name().to_owned()).unwrap_or_default()
    }

    /// The first host that can take a machine, or why none can.
    fn schedule(&self, vm: &Record) -> Result<String, Refusal> {
        let pinned = vm.doc.get("placement_policy").and_then(|policy| policy["hosts"]["host"].as_array());
        let pinned: Vec<&str> = pinned.into_iter().flatten().filter_map(|host| host["id"].as_str()).collect();
        let may_leave =
            vm.doc.get("placement_policy").is_none_or(|policy| policy["affinity"] == "migratable");
        let cores = ["cores", "sockets", "threads"]
            .map(|part| vm.doc.get("cpu").and_then(|cpu| number(&cpu["topology"][part])).unwrap_or(1))
            .iter()
            .product::<u64>();
        let mut reasons = Vec::new();
        let mut candidates: Vec<(usize, &Record)> = Vec::new();
        for host in self.all(Kind::Host) {
            if host.reference("cluster") != vm.reference("cluster") || host.text("status") != "up" {
                continue;
            }
            if !pinned.is_empty() && !may_leave && !pinned.contains(&host.id.as_str()) {
                continue;
            }
            let there: Vec<&Record> = self
                .all(Kind::Vm)
                .iter()
                .filter(|other| other.reference("host") == host.id && other.id != vm.id)
                .collect();
            let used: u64 = there.iter().map(|other| other.number("memory")).sum();
            let has =
                host.doc.get("cpu").and_then(|cpu| number(&cpu["topology"]["cores"])).unwrap_or_default();
            let because = |filter: &str, why: &str| {
                format!("The host {} did not satisfy internal filter {filter} because {why}.", host.name())
            };
            if cores > has {
                reasons.push(because("CPU", "it has an insufficient amount of CPU cores to run the VM"));
            } else if used + vm.number("memory") > host.number("memory") {
                reasons.push(because("Memory", "its available memory is too low to run the VM"));
            } else if let Some(why) = self.affinity_forbids(vm, host, &there) {
                reasons.push(because("VmAffinityGroups", why));
            } else {
                candidates.push((there.len(), host));
            }
        }
        if let Some((_, host)) =
            candidates.into_iter().min_by_key(|(load, host)| (*load, host.name().to_owned()))
        {
            return Ok(host.id.clone());
        }
        let details = if reasons.is_empty() {
            String::new()
        } else {
            format!(" See below for details:, {}", reasons.join(", "))
        };
        Err(Refusal::conflict(format!(
            "Cannot run VM. There is no host that satisfies current scheduling constraints.{details}"
        )))
    }

    /// Rules that are enforced.
    fn affinity_forbids(&self, vm: &Record, host: &Record, there: &[&Record]) -> Option<&'static str> {
        for group in self.all(Kind::AffinityGroup).iter().filter(|group| self.is_member(&group.id, &vm.id)) {
            let rule = &group.doc["vms_rule"];
            if rule["enabled"] == "true" && rule["enforcing"] == "true" {
                let is_beside = there.iter().any(|other| self.is_member(&group.id, &other.id));
                let elsewhere = self.all(Kind::Vm).iter().any(|other| {
                    other.id != vm.id
                        && self.is_member(&group.id, &other.id)
                        && !other.reference("host").is_empty()
                        && other.reference("host") != host.id
                });
                match rule["positive"].as_str() {
                    Some("true") if elsewhere => return Some("it did not match positive affinity rules"),
                    Some("false") if is_beside => return Some("it did not match negative affinity rules"),
                    _ => {}
                }
            }
            let hosts = &group.doc["hosts_rule"];
            if hosts["enabled"] == "true" && hosts["enforcing"] == "true" {
                let is_named = self.is_member(&group.id, &host.id);
                if (hosts["positive"] == "true") != is_named {
                    return Some("it did not match the VM to host affinity rules");
                }
            }
        }
        None
    }

    fn stop(&mut self, vm: &str, how: &str, body: &Value, caller: &Caller) -> Answer {
        let record = self.get(Kind::Vm, vm)?.clone();
        let by = format!("{}-authz", caller.user);
        let verb = if how == "stop" { "Stopping" } else { "Shutting down" };
        match record.text("status") {
            "down" => {
                let text = format!("VM {} is already down; {how} was skipped.", record.name());
                self.tell(254, "warning", text, Some(caller), vm);
                let job = self.job(&format!("{verb} VM {}", record.name()), caller);
                self.job_ends(&job, "finished");
                return self.accepted(vm, Some(&job), body);
            }
            "image_locked" => {
                return Err(Refusal::conflict(format!(
                    "Cannot {how} VM. VM is locked. Please try again in a few minutes."
                )));
            }
            "migrating" if how == "shutdown" => {
                return Err(Refusal::conflict("Cannot shutdown VM. VM is being migrated."));
            }
            _ => {}
        }
        self.set_vm(vm, "powering_down");
        let (code, text) = if how == "stop" {
            (
                33,
                format!(
                    "VM {} powered off by {by} (Host: {}).",
                    record.name(),
                    self.host_name(record.reference("host"))
                ),
            )
        } else {
            (
                73,
                format!(
                    "VM shutdown initiated by {by} on VM {} (Host: {}).",
                    record.name(),
                    self.host_name(record.reference("host"))
                ),
            )
        };
        self.tell(code, "normal", text, Some(caller), vm);
        let job = self.job(&format!("{verb} VM {}", record.name()), caller);
        let work = if how == "stop" { Work::Stop } else { Work::Shutdown };
        let effect = Effect::Vm { vm: vm.to_owned(), from: "powering_down", to: "down" };
        self.begin(work, effect, Some(&job), caller);
        self.accepted(vm, Some(&job), body)
    }

    fn reboot(&mut self, vm: &str, caller: &Caller) -> Answer {
        let record = self.get(Kind::Vm, vm)?.clone();
        if !matches!(record.text("status"), "up" | "powering_up") {
            return Err(Refusal::conflict("Cannot reboot VM. VM is not running."));
        }
        self.set_vm(vm, "reboot_in_progress");
        let text = format!("User {}-authz initiated reboot of VM {}.", caller.user, record.name());
        self.tell(157, "normal", text, Some(caller), vm);
        let effect = Effect::Vm { vm: vm.to_owned(), from: "reboot_in_progress", to: "up" };
        self.begin(Work::Boot, effect, None, caller);
        self.accepted(vm, None, &json!({}))
    }

    fn migrate(&mut self, vm: &str, body: &Value, caller: &Caller) -> Answer {
        let record = self.get(Kind::Vm, vm)?.clone();
        if record.text("status") != "up" {
            return Err(Refusal::conflict("Cannot migrate VM. VM is not running."));
        }
        let here = record.reference("host").to_owned();
        let target = match &body["host"] {
            Value::Null => self
                .all(Kind::Host)
                .iter()
                .find(|host| {
                    host.id != here
                        && host.text("status") == "up"
                        && host.reference("cluster") == record.reference("cluster")
                })
                .map(|host| host.id.clone()),
            reference => Some(self.meant(Kind::Host, reference, "Host")?.id.clone()),
        };
        let Some(target) = target else {
            return Err(Refusal::conflict(
                "Cannot migrate VM. There is no host that satisfies current scheduling constraints.",
            ));
        };
        self.set_vm(vm, "migrating");
        let text = format!("Migration initiated by {}-authz of VM {}.", caller.user, record.name());
        self.tell(62, "normal", text, Some(caller), vm);
        let job = self.job(&format!("Migrating VM {}", record.name()), caller);
        self.begin(Work::Migration, Effect::Migrated { vm: vm.to_owned(), host: target }, Some(&job), caller);
        self.accepted(vm, Some(&job), body)
    }
}
