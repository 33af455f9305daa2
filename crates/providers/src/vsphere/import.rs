//! Importing an appliance: the vCenter makes the machine, and its disks are uploaded to the host that will hold them.

mod upload;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use thiserror::Error;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout_at};
use tracing::{debug, warn};

use super::client::Client;
use super::error::{Cause, Error};
use super::fault::Fault;
use super::machines::Provisioning;
use super::moref::{MoRef, Reference};
use super::ova::{Ova, OvaError};
use super::properties::PropertySpec;
use super::soap::{Body, Element, Malformed};
use upload::{FileItem, Target};

/// How often the vCenter hears that the upload is alive: it gives a lease up after some minutes.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(10);

/// An upload that does not move for so long is given up.
const STALL_TIMEOUT: Duration = Duration::from_mins(2);

/// What an appliance becomes.
#[derive(Debug, Clone)]
pub struct ImportSpec {
    pub name: String,
    pub folder: MoRef,
    pub pool: MoRef,
    pub datastore: MoRef,
    pub host: Option<MoRef>,
    /// For every network of the descriptor, the one to use.
    pub networks: BTreeMap<String, MoRef>,
    pub provisioning: Provisioning,
    /// What it is known by from the first moment on, whatever becomes of the upload.
    pub instance_uuid: Option<String>,
    pub extra_config: BTreeMap<String, String>,
}

/// Why an appliance was not imported. Nothing is left of it.
#[derive(Debug, Error)]
pub enum ImportError {
    #[error(transparent)]
    Call(#[from] Error),
    #[error(transparent)]
    Ova(#[from] OvaError),
    #[error("no network is given for `{0}` of the appliance")]
    Network(String),
    #[error("the vCenter refuses the appliance: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Refused(Vec<Fault>),
    #[error("the vCenter wants no upload of `{0}`, which the appliance has")]
    Unwanted(String),
    #[error("the upload of `{file}` has not moved for {STALL_TIMEOUT:?}")]
    Stalled { file: String },
    #[error("the import has not ended within {0:?}")]
    Late(Duration),
}

impl Client {
    /// Imports an appliance as a machine, powered off. `progress` is told percents. When it fails or is dropped,
    /// the vCenter is told to forget what was made so far.
    pub async fn import(
        &self,
        ova: &Ova,
        spec: &ImportSpec,
        limit: Duration,
        mut progress: impl FnMut(u8),
    ) -> Result<MoRef, ImportError> {
        let end = Instant::now() + limit;
        let (import, items) = self.import_spec(ova, spec).await?;
        let body = Body::new()
            .echo("spec", &import)
            .reference("folder", &spec.folder.reference)
            .optional(spec.host.as_ref(), |body, host| body.reference("host", &host.reference));
        let reply = self.call(&spec.pool, "ImportVApp", &body).await?;
        let lease = reply.need("returnval").map_err(|cause| self.error("ImportVApp", cause))?;
        let lease = Lease { client: self.clone(), moref: self.moref(Reference::of(lease)), settled: false };
        match timeout_at(end, lease.fill(ova, &items, &mut progress)).await {
            Ok(Ok(machine)) => {
                lease.complete().await?;
                Ok(machine)
            }
            Ok(Err(error)) => {
                lease.abort(&error).await;
                Err(error)
            }
            Err(_) => {
                let error = ImportError::Late(limit);
                lease.abort(&error).await;
                Err(error)
            }
        }
    }

    /// What the vCenter makes of the descriptor: the machine, and the files it wants.
    async fn import_spec(
        &self,
        ova: &Ova,
        spec: &ImportSpec,
    ) -> Result<(Element, Vec<FileItem>), ImportError> {
        let method = "CreateImportSpec";
        let mut mappings = Vec::new();
        for name in ova.networks() {
            let network = spec.networks.get(name).ok_or_else(|| ImportError::Network(name.clone()))?;
            mappings.push(Body::new().text("name", name).reference("network", &network.reference));
        }
        let provisioning = match spec.provisioning {
            Provisioning::Thin => "thin",
            Provisioning::Thick => "thick",
            Provisioning::EagerlyZeroed => "eagerZeroedThick",
        };
        let parameters = Body::new()
            .text("locale", "")
            .text("deploymentOption", "")
            .text("entityName", &spec.name)
            .optional(spec.host.as_ref(), |body, host| body.reference("hostSystem", &host.reference))
            .each(&mappings, |body, mapping| body.object("networkMapping", mapping))
            .text("diskProvisioning", provisioning);
        let body = Body::new()
            .text("ovfDescriptor", ova.descriptor())
            .reference("resourcePool", &spec.pool.reference)
            .reference("datastore", &spec.datastore.reference)
            .typed("cisp", "OvfCreateImportSpecParams", &parameters);
        let manager = self.manager("ovfManager").await?;
        let reply = self.read(&manager, method, &body).await?;
        let result = reply.need("returnval").map_err(|cause| self.error(method, cause))?;
        let errors: Vec<Fault> = result.all("error").map(Fault::of_method).collect();
        if !errors.is_empty() {
            return Err(ImportError::Refused(errors));
        }
        for warning in result.all("warning") {
            debug!(server = %self.server(), warning = %Fault::of_method(warning), "about the appliance");
        }
        let import = result.need("importSpec").map_err(|cause| self.error(method, cause))?;
        let import = marked(import.clone(), spec);
        Ok((import, result.all("fileItem").map(FileItem::of).collect()))
    }
}

/// Fields of a machine's configuration before its instance UUID, and after its extra configuration, in the order of
/// vSphere's schema.
const BEFORE_UUID: [&str; 5] = ["changeVersion", "name", "version", "createDate", "uuid"];
const AFTER_EXTRA_CONFIG: [&str; 22] = [
    "swapPlacement",
    "bootOptions",
    "vAppConfig",
    "ftInfo",
    "repConfig",
    "vAppConfigRemoved",
    "vAssertsEnabled",
    "changeTrackingEnabled",
    "firmware",
    "maxMksConnections",
    "guestAutoLockEnabled",
    "managedBy",
    "memoryReservationLockedToMax",
    "nestedHVEnabled",
    "vPMCEnabled",
    "scheduledHardwareUpgradeInfo",
    "vmProfile",
    "messageBusTunnelEnabled",
    "crypto",
    "migrateEncryption",
    "sgxInfo",
    "ftEncryptionMode",
];

/// Puts the marks into what the vCenter made of the descriptor.
fn marked(mut import: Element, spec: &ImportSpec) -> Element {
    let config = import.children.iter_mut().find(|child| &*child.name == "configSpec");
    let Some(config) = config else { return import };
    let leaf = |name: &str, kind: Option<&str>, text: &str| Element {
        name: name.into(),
        kind: kind.map(Into::into),
        text: text.into(),
        ..Element::default()
    };
    if let Some(uuid) = &spec.instance_uuid {
        config.children.retain(|child| &*child.name != "instanceUuid");
        let place = config.children.iter().take_while(|child| BEFORE_UUID.contains(&&*child.name)).count();
        config.children.insert(place, leaf("instanceUuid", None, uuid));
    }
    let options = spec.extra_config.iter().map(|(key, value)| Element {
        name: "extraConfig".into(),
        kind: Some("OptionValue".into()),
        children: vec![leaf("key", None, key), leaf("value", Some("string"), value)],
        ..Element::default()
    });
    let place = config.children.iter().position(|child| AFTER_EXTRA_CONFIG.contains(&&*child.name));
    let place = place.unwrap_or(config.children.len());
    config.children.splice(place..place, options);
    import
}

/// The right to upload, for as long as it is used. Dropped before it is settled, it is given up.
#[derive(Debug)]
struct Lease {
    client: Client,
    moref: MoRef,
    settled: bool,
}

impl Lease {
    /// Uploads all files; the result is the machine.
    async fn fill(
        &self,
        ova: &Ova,
        items: &[FileItem],
        progress: &mut impl FnMut(u8),
    ) -> Result<MoRef, ImportError> {
        let info = self.ready().await?;
        let machine = info.need("entity").map_err(|cause| self.client.error("ImportVApp", cause))?;
        let targets: Vec<Target> = info.all("deviceUrl").map(Target::of).collect();
        let mut total = 0;
        for item in items {
            total += ova.size(&item.path)?;
        }
        let sent = Arc::new(AtomicU64::new(0));
        for item in items {
            let target = targets.iter().find(|target| target.key == item.device);
            let target = target.ok_or_else(|| ImportError::Unwanted(item.path.clone()))?;
            let upload = upload::send(&self.client, ova, item, target, &sent);
            self.alive_while(upload, &item.path, &sent, total, progress).await?;
        }
        self.report(100).await;
        progress(100);
        Ok(self.client.moref(Reference::of(machine)))
    }

    /// Tells the vCenter and the caller how far it is, while it goes on.
    async fn alive_while(
        &self,
        upload: impl Future<Output = Result<(), ImportError>>,
        file: &str,
        sent: &AtomicU64,
        total: u64,
        progress: &mut impl FnMut(u8),
    ) -> Result<(), ImportError> {
        let mut ticks = interval(KEEP_ALIVE_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut last, mut moved) = (sent.load(Ordering::Relaxed), Instant::now());
        tokio::pin!(upload);
        loop {
            tokio::select! {
                biased;
                result = &mut upload => return result,
                _ = ticks.tick() => {}
            }
            let now = sent.load(Ordering::Relaxed);
            if now != last {
                (last, moved) = (now, Instant::now());
            } else if moved.elapsed() > STALL_TIMEOUT {
                return Err(ImportError::Stalled { file: file.to_owned() });
            }
            // All of it is only said at the end.
            let percent = now.saturating_mul(100).checked_div(total).unwrap_or_default().min(99);
            let percent = u8::try_from(percent).unwrap_or(99);
            progress(percent);
            tokio::select! {
                biased;
                result = &mut upload => return result,
                () = self.report(percent) => {}
            }
        }
    }

    async fn report(&self, percent: u8) {
        // The next one may get through.
        let body = Body::new().text("percent", percent);
        if let Err(error) = self.client.call(&self.moref, "HttpNfcLeaseProgress", &body).await {
            warn!(server = %self.client.server(), %error, "the vCenter did not accept the progress of the upload");
        }
    }

    /// Waits until the machine is made and the hosts take files.
    async fn ready(&self) -> Result<Element, ImportError> {
        let method = "ImportVApp";
        let specs = [PropertySpec { kind: "HttpNfcLease", properties: &["state", "error", "info"] }];
        let mut watch = self.client.watch(std::slice::from_ref(&self.moref), &specs).await?;
        let mut known = BTreeMap::new();
        let outcome = loop {
            for change in watch.next().await? {
                known.extend(change.properties);
            }
            let value = |name: &str| known.get(name).and_then(Option::as_ref);
            match value("state").map_or("", |state| &*state.text) {
                "ready" => break value("info").cloned().ok_or(Cause::from(Malformed::Missing("info"))),
                "error" => {
                    break Err(value("error").map_or_else(Fault::unknown, Fault::of_method).into());
                }
                "done" => break Err(Malformed::Missing("lease").into()),
                _ => {}
            }
        };
        watch.end().await;
        Ok(outcome.map_err(|cause| self.client.error(method, cause))?)
    }

    async fn complete(mut self) -> Result<(), Error> {
        let result = self.client.call(&self.moref, "HttpNfcLeaseComplete", &Body::new()).await;
        // Whether it acted or not, there is nothing to give up any more.
        self.settled = true;
        result.map(drop)
    }

    async fn abort(mut self, error: &ImportError) {
        debug!(server = %self.client.server(), %error, "giving the import up");
        self.settled = true;
        give_up(&self.client, &self.moref).await;
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if self.settled {
            return;
        }
        // If nobody can be told, the vCenter gives the lease up by itself after some minutes.
        let (client, lease) = (self.client.clone(), self.moref.clone());
        self.client.spawn_detached(async move { give_up(&client, &lease).await });
    }
}

async fn give_up(client: &Client, lease: &MoRef) {
    if let Err(error) = client.call(lease, "HttpNfcLeaseAbort", &Body::new()).await {
        warn!(server = %client.server(), %error, "the import is not given up; it will be in some minutes");
    }
}
