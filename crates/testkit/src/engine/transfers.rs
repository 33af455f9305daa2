//! Image transfers: a ticket for the daemon, and what becomes of it.

use serde_json::{Value, json};

use super::access::Permit;
use super::change::require;
use super::fault::Refusal;
use super::kind::Kind;
use super::render::Extent;
use super::route::{Answer, Reply, Request};
use super::work::{Effect, Work};
use super::world::{Caller, World};

/// The ticket of a transfer, kept with it.
const TICKET: &str = " ticket";

impl World {
    pub(super) fn add_transfer(&mut self, request: &Request, caller: &Caller) -> Answer {
        let body = request.body("image_transfer")?;
        let id = body["disk"]["id"].as_str().or(body["image"]["id"].as_str()).unwrap_or_default().to_owned();
        if id.is_empty() {
            require(&body, "ImageTransfer", &["disk.id"])?;
        }
        let disk = self.find(Kind::Disk, &id).ok_or_else(|| Refusal::entity("Disk", "id", &id))?.clone();
        self.allow(caller, Permit::EditDisk, Kind::Disk, &id)?;
        if disk.text("status") == "locked" {
            return Err(Refusal::conflict(format!(
                "Cannot transfer Virtual Disk: The following disks are locked: {}. Please try again in a few minutes.",
                disk.name()
            )));
        }
        for attachment in self.all(Kind::DiskAttachment).iter().filter(|one| one.id == id) {
            if self.find(Kind::Vm, &attachment.parent).is_some_and(|vm| vm.text("status") != "down") {
                return Err(Refusal::conflict("Cannot transfer Virtual Disk: Disk is used by a running VM."));
            }
        }
        let host = match &body["host"] {
            Value::Null => self
                .all(Kind::Host)
                .iter()
                .find(|host| host.text("status") == "up")
                .map(|host| host.id.clone()),
            reference => Some(self.meant(Kind::Host, reference, "Host")?.id.clone()),
        };
        let Some(host) = host else {
            return Err(Refusal::conflict(
                "Cannot transfer Virtual Disk. There is no active Host in the Data Center.",
            ));
        };
        let transfer = self.draw();
        let text = |field: &str, default: &str| body[field].as_str().unwrap_or(default).to_owned();
        let doc = json!({"active": "false", "direction": text("direction", "upload"), "format": text("format", disk.text("format")),
            "inactivity_timeout": text("inactivity_timeout", "60"), "phase": "initializing", "shallow": text("shallow", "false"),
            "timeout_policy": text("timeout_policy", "legacy"), "transferred": "0", "disk": {"id": id}, "image": {"id": id},
            "host": {"id": host}, TICKET: ""});
        self.add(Kind::ImageTransfer, &transfer, "", doc);
        if let Some(disk) = self.change(Kind::Disk, &id) {
            disk.set("status", "locked");
        }
        if let Err(error) = self.open_ticket(&transfer) {
            // An engine whose host cannot open the transfer says so in the transfer.
            eprintln!("the image transfer daemon: {error:#}");
            self.transfer_moves(&transfer, "finished_failure");
        } else {
            let effect = Effect::Phase { transfer: transfer.clone(), phase: "transferring" };
            self.begin(Work::Transfer, effect, None, caller);
        }
        self.shown_transfer(201, &transfer)
    }

    fn shown_transfer(&self, status: u16, id: &str) -> Answer {
        let record = self.get(Kind::ImageTransfer, id)?;
        Reply::new(status, "image_transfer", self.show(Kind::ImageTransfer, record, Extent::Full))
    }

    fn open_ticket(&mut self, transfer: &str) -> anyhow::Result<()> {
        let ticket = self.draw();
        let Some(record) = self.find(Kind::ImageTransfer, transfer) else { return Ok(()) };
        let disk = record.reference("disk").to_owned();
        let operation = if record.text("direction") == "download" { "read" } else { "write" };
        let timeout = record.number("inactivity_timeout");
        let size =
            self.find(Kind::Disk, &disk).map(|disk| disk.number("provisioned_size")).unwrap_or_default();
        let file = self.imageio.file(&disk);
        if !file.exists() {
            fs_err::File::create(&file)?.set_len(size)?;
        }
        let body = json!({"uuid": ticket, "size": size, "url": format!("file://{}", file.display()), "timeout": 3600,
            "inactivity_timeout": timeout, "ops": [operation], "transfer_id": transfer, "sparse": true});
        let url = self.imageio.url(&ticket)?;
        self.imageio.control("PUT", &ticket, &body)?;
        if let Some(record) = self.change(Kind::ImageTransfer, transfer) {
            record.set("transfer_url", url.clone());
            // The engine's own daemon; here there is one for both.
            record.set("proxy_url", url);
            record.set(TICKET, ticket);
        }
        Ok(())
    }

    pub(super) fn act_on_transfer(&mut self, transfer: &str, action: &str, caller: &Caller) -> Answer {
        let record = self.get(Kind::ImageTransfer, transfer)?.clone();
        self.allow(caller, Permit::EditDisk, Kind::Disk, record.reference("disk"))?;
        let is = |phases: &[&str]| phases.contains(&record.text("phase"));
        let wrong = || {
            Refusal::conflict(format!("Cannot {action} image transfer in phase {}.", record.text("phase")))
        };
        match action {
            "extend" if is(&["transferring", "resuming", "initializing"]) => {
                let body = json!({"timeout": 3600});
                let asked = self.imageio.control("PATCH", record.text(TICKET), &body);
                asked.map_err(|error| Refusal::conflict(format!("Cannot extend image transfer: {error}")))?;
            }
            "pause" if is(&["transferring", "initializing"]) => self.transfer_moves(transfer, "paused_user"),
            "resume" if is(&["paused_user", "paused_system"]) => {
                self.transfer_moves(transfer, "transferring");
            }
            "finalize" if is(&["transferring", "paused_user", "paused_system"]) => {
                self.transfer_moves(transfer, "finalizing_success");
                let effect = Effect::Phase { transfer: transfer.to_owned(), phase: "finished_success" };
                self.begin(Work::Transfer, effect, None, caller);
            }
            "cancel" if !record.text("phase").starts_with("fin") => {
                self.transfer_moves(transfer, "cancelled_user");
                let effect = Effect::Phase { transfer: transfer.to_owned(), phase: "finished_cleanup" };
                self.begin(Work::Transfer, effect, None, caller);
            }
            "extend" | "pause" | "resume" | "finalize" | "cancel" => return Err(wrong()),
            _ => return Err(Refusal::NoPath),
        }
        Reply::complete()
    }

    /// A transfer enters a phase.
    pub(super) fn transfer_moves(&mut self, transfer: &str, phase: &str) {
        let Some(record) = self.find(Kind::ImageTransfer, transfer).cloned() else { return };
        // Something else happened to it meanwhile.
        if phase == "transferring"
            && !matches!(record.text("phase"), "initializing" | "paused_user" | "paused_system")
        {
            return;
        }
        let (ticket, disk) = (record.text(TICKET).to_owned(), record.reference("disk").to_owned());
        if !ticket.is_empty() && matches!(phase, "finalizing_success" | "cancelled_user") {
            self.note_progress(transfer, &ticket);
            // The daemon may have ended the ticket itself.
            let _ = self.imageio.control("DELETE", &ticket, &Value::Null);
        }
        if let Some(record) = self.change(Kind::ImageTransfer, transfer) {
            record.set("phase", phase);
            record.set("active", (phase == "transferring").to_string());
        }
        match phase {
            "finished_success" => {
                let written =
                    std::fs::metadata(self.imageio.file(&disk)).map(|data| data.len()).unwrap_or_default();
                if let Some(record) = self.change(Kind::Disk, &disk) {
                    record.set("status", "ok");
                    record.set("actual_size", written.to_string());
                    record.set("total_size", written.to_string());
                }
            }
            // What was uploaded half is of no use.
            "finished_failure" => self.set_disk(&disk, "illegal"),
            "finished_cleanup" if record.text("direction") == "upload" => {
                let _ = std::fs::remove_file(self.imageio.file(&disk));
                self.disk_goes(&disk);
            }
            "finished_cleanup" => self.set_disk(&disk, "ok"),
            _ => {}
        }
    }

    fn set_disk(&mut self, disk: &str, status: &str) {
        if let Some(record) = self.change(Kind::Disk, disk) {
            record.set("status", status);
        }
    }

    fn note_progress(&mut self, transfer: &str, ticket: &str) {
        let Ok(status) = self.imageio.control("GET", ticket, &Value::Null) else { return };
        let transferred = status["transferred"].as_u64().unwrap_or_default();
        if let Some(record) = self.change(Kind::ImageTransfer, transfer) {
            record.set("transferred", transferred.to_string());
        }
    }

    /// Before a transfer is shown: how far it is.
    pub(super) fn look_at_transfers(&mut self) {
        let open: Vec<(String, String)> = self
            .all(Kind::ImageTransfer)
            .iter()
            .filter(|record| record.text("phase") == "transferring")
            .map(|record| (record.id.clone(), record.text(TICKET).to_owned()))
            .collect();
        for (transfer, ticket) in &open {
            self.note_progress(transfer, ticket);
        }
    }
}
