//! A simulated oVirt engine: its REST API, its logins, and the work that its hosts would do.
//!
//! What it is held to is not its clients: exchanges that a real engine was recorded with, the official Python SDK, the published
//! model of the API, and the engine's own image transfer daemon. What it does not know is refused, never made up.
//!
//! What it does not have: snapshots, pools, several versions of the API, quotas that are used up, Gluster, hosts that are installed or fenced. Lists of
//! what is not modelled are empty, and actions that are not are refused. Texts are those of a 4.5 engine where one was recorded, and written
//! from memory of its messages elsewhere: rely on the status.
//!
//! | module | what it holds |
//! |---|---|
//! | [`inventory`] | what there is before a test |
//! | `server`, `access` | TLS, logins, formats; users, tokens, roles |
//! | `schema`, `xml` | what requests may say, in JSON and XML |
//! | `route`, `parts`, `change` | from paths to what answers them |
//! | `search`, `render` | the search language; how objects are shown |
//! | `machines`, `running`, `storage`, `groups`, `transfers` | what can be done |
//! | `world`, `kind`, `work` | what there is, and work that takes time |
//! | `fault`, `trouble` | how it refuses, and what goes wrong because a test says so |
//! | `imageio`, `ignition` | where disks are uploaded to; what machines boot with |
//! | `judge` | the published model of the API |

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::Context;
use serde_json::Value;
use tokio::sync::watch;

use crate::pki::Authority;
use crate::scratch::Scratch;

mod access;
mod change;
mod fault;
mod groups;
mod ignition;
mod imageio;
pub mod inventory;
pub mod judge;
mod kind;
mod machines;
mod parts;
mod render;
mod route;
mod running;
pub mod schema;
mod search;
mod server;
mod storage;
mod transfers;
mod trouble;
mod work;
mod world;
mod xml;

pub use access::{ADMIN, Grant, KEYCLOAK_ADMIN, Login};
pub use inventory::Inventory;
pub use trouble::Fault;
pub use work::Work;

use access::Access;
use kind::Kind;
use route::Request;
use server::{Shared, hold};
use world::{Caller, World};

/// A request that was answered, below `/ovirt-engine/api`.
#[derive(Debug, Clone)]
pub struct Call {
    pub method: String,
    pub path: String,
    pub query: Vec<(String, String)>,
    pub status: u16,
    /// Nobody where the login failed.
    pub user: String,
    pub correlation_id: String,
    pub request: String,
    pub reply: String,
}

/// A running engine. It ends when it is dropped.
#[derive(Debug)]
pub struct Engine {
    shared: Arc<Shared>,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
    ca_file: PathBuf,
    scratch: Scratch,
}

impl Engine {
    /// On a free port of the loopback device.
    pub fn start(inventory: &Inventory) -> anyhow::Result<Self> {
        Engine::start_at(([127, 0, 0, 1], 0).into(), inventory)
    }

    pub fn start_at(address: SocketAddr, inventory: &Inventory) -> anyhow::Result<Self> {
        let scratch = Scratch::new("engine")?;
        let authority = Authority::new("oVirt Engine CA")?;
        let names = ["localhost".to_owned(), address.ip().to_string()];
        let identity = authority.issue("engine", None, &names.each_ref().map(String::as_str))?;
        let acceptor = server::acceptor(&identity)?;
        let listener =
            std::net::TcpListener::bind(address).with_context(|| format!("listening at {address}"))?;
        listener.set_nonblocking(true)?;
        let authority_name = listener.local_addr()?.to_string();
        let imageio = imageio::Imageio::new(&scratch, &authority)?;
        let mut world = World::new(Access::new(inventory.login), imageio, authority.certificate());
        inventory::furnish(&mut world, inventory);
        let ca_file = scratch.write("ca.crt", authority.certificate())?;
        let shared = Arc::new(Shared {
            world: Mutex::new(world),
            faults: Mutex::default(),
            calls: Mutex::default(),
            is_down: false.into(),
            is_held: watch::channel(false).0,
            authority: authority_name,
            ca: authority.certificate(),
            judge: judge::published(),
            objections: Mutex::default(),
        });
        let (stop, stopped) = watch::channel(false);
        let (ready, is_ready) = mpsc::channel();
        let served = shared.clone();
        let thread = std::thread::Builder::new().name("engine".to_owned()).spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
            let Ok(runtime) = runtime else { return };
            runtime.block_on(async move {
                let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
                // Nobody waits any more if the test has ended.
                let _ = ready.send(());
                server::serve(listener, acceptor, served, stopped).await;
            });
            runtime.shutdown_background();
        })?;
        is_ready.recv().context("the engine did not start")?;
        scratch.settle();
        Ok(Engine { shared, stop, thread: Some(thread), ca_file, scratch })
    }

    /// Where its API is.
    pub fn url(&self) -> String {
        format!("https://{}{}", self.shared.authority, render::ROOT)
    }

    /// Host and port.
    pub fn address(&self) -> &str {
        &self.shared.authority
    }

    /// The authority that signed its certificate, in PEM.
    pub fn ca(&self) -> &str {
        &self.shared.ca
    }

    pub fn ca_file(&self) -> &Path {
        &self.ca_file
    }

    pub fn scratch(&self) -> &Scratch {
        &self.scratch
    }

    /// An ordinary user, or one with the roles that are given.
    pub fn add_user(&self, name: &str, password: &str, grants: Vec<Grant>) {
        let mut world = hold(&self.shared.world);
        let id = world.draw();
        world.access.add(name, password, grants, &id);
        inventory::add_user(&mut world, name, &id);
    }

    /// Every request of the API, in the order they were answered.
    pub fn calls(&self) -> Vec<Call> {
        hold(&self.shared.calls).clone()
    }

    pub fn forget_calls(&self) {
        hold(&self.shared.calls).clear();
    }

    /// What requests and answers said beyond the published model of the API. Nothing where the model is not there.
    pub fn objections(&self) -> Vec<String> {
        hold(&self.shared.objections).clone()
    }

    /// How long work of a kind takes. At first it takes no time: an answer still says that it is under way, and the next one that it is done.
    pub fn pace(&self, work: Work, takes: Duration) {
        hold(&self.shared.world).queue.paces.insert(work, takes);
    }

    /// No work ends until [`thaw`](Engine::thaw).
    pub fn freeze(&self) {
        hold(&self.shared.world).queue.is_frozen = true;
    }

    pub fn thaw(&self) {
        let mut world = hold(&self.shared.world);
        world.queue.is_frozen = false;
        world.settle();
    }

    /// All work that is under way ends, also while it is frozen.
    pub fn finish_work(&self) {
        hold(&self.shared.world).finish();
    }

    /// Moves its clock: tokens, times, work that is due.
    pub fn advance(&self, by: Duration) {
        let mut world = hold(&self.shared.world);
        world.advance(by);
        world.settle();
    }

    pub fn fault(&self, fault: Fault) {
        if fault.trouble == trouble::Trouble::Hold {
            self.shared.is_held.send_replace(true);
        }
        hold(&self.shared.faults).push(fault);
    }

    /// Rules that no request has used up.
    pub fn forget_faults(&self) {
        hold(&self.shared.faults).clear();
    }

    /// Requests that are held go on.
    pub fn release(&self) {
        self.shared.is_held.send_replace(false);
    }

    /// No token is good any more.
    pub fn expire_tokens(&self) {
        hold(&self.shared.world).access.forget_tokens();
    }

    /// How many tokens are good.
    pub fn token_count(&self) -> usize {
        hold(&self.shared.world).access.token_count()
    }

    /// Tokens end when they were not used for that long.
    pub fn idle_limit(&self, limit: Duration) {
        hold(&self.shared.world).access.idle_limit = i64::try_from(limit.as_millis()).unwrap_or(i64::MAX);
    }

    /// The engine is stopped, while the web server before it is not.
    pub fn go_down(&self) {
        self.shared.is_down.store(true, Ordering::Relaxed);
        self.expire_tokens();
    }

    pub fn come_up(&self) {
        self.shared.is_down.store(false, Ordering::Relaxed);
    }

    /// The next events are never written.
    pub fn lose_events(&self, count: u32) {
        hold(&self.shared.world).events_to_lose = count;
    }

    /// An object as an administrator sees it.
    pub fn get(&self, path: &str) -> Option<Value> {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let request = Request {
            method: "GET".to_owned(),
            segments: path.split('/').filter(|segment| !segment.is_empty()).map(str::to_owned).collect(),
            query: server::form(query),
            is_xml: false,
            body: String::new(),
        };
        let mut world = hold(&self.shared.world);
        world.settle();
        let user = world.access.administrator();
        let caller = Caller { user, correlation: String::new(), is_filtered: false, all_content: false };
        world.answer(&request, &caller).ok().map(|reply| reply.value)
    }

    /// The items of a list.
    pub fn list(&self, path: &str) -> Vec<Value> {
        let items = |list: Value| list.as_object()?.values().next()?.as_array().cloned();
        self.get(path).and_then(items).unwrap_or_default()
    }

    /// The id of something that has a name.
    pub fn id(&self, collection: &str, name: &str) -> Option<String> {
        let kind = Kind::of_collection(collection)?;
        hold(&self.shared.world).named(kind, name).map(|record| record.id.clone())
    }

    pub fn vm_status(&self, name: &str) -> Option<String> {
        let mut world = hold(&self.shared.world);
        world.settle();
        world.named(Kind::Vm, name).map(|vm| vm.text("status").to_owned())
    }

    /// What a machine found on its configuration drive when it was started.
    pub fn user_data(&self, vm: &str) -> Option<String> {
        let world = hold(&self.shared.world);
        let id = &world.named(Kind::Vm, vm)?.id;
        world.guests.get(id)?.user_data.clone()
    }

    /// The guest agent of a machine tells the addresses of its first NIC.
    pub fn guest_reports(&self, vm: &str, addresses: &[&str]) {
        let mut world = hold(&self.shared.world);
        world.settle();
        if let Some(id) = world.named(Kind::Vm, vm).map(|vm| vm.id.clone()) {
            world.guests.entry(id).or_default().addresses =
                addresses.iter().map(|one| (*one).to_owned()).collect();
        }
    }

    /// A machine ends by itself.
    pub fn vm_fails(&self, name: &str) {
        let mut world = hold(&self.shared.world);
        if let Some(id) = world.named(Kind::Vm, name).map(|vm| vm.id.clone()) {
            world.stops(&id);
            let text =
                format!("VM {name} is down with error. Exit message: Lost connection with qemu process.");
            world.tell(119, "error", text, None, &id);
        }
    }

    pub fn set_vm_status(&self, name: &str, status: &str) {
        self.set(Kind::Vm, name, "status", status);
    }

    pub fn set_host_status(&self, name: &str, status: &str) {
        self.set(Kind::Host, name, "status", status);
    }

    /// Of a storage domain in its data center.
    pub fn set_storage_status(&self, name: &str, status: &str) {
        self.set(Kind::StorageDomain, name, inventory::STATUS_THERE, status);
    }

    fn set(&self, kind: Kind, name: &str, field: &str, value: &str) {
        let mut world = hold(&self.shared.world);
        if let Some(id) = world.named(kind, name).map(|record| record.id.clone())
            && let Some(record) = world.change(kind, &id)
        {
            record.set(field, value);
        }
    }

    /// What was uploaded to a disk.
    pub fn disk_file(&self, disk: &str) -> Option<PathBuf> {
        let file = hold(&self.shared.world).imageio.file(disk);
        file.exists().then_some(file)
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.release();
        self.stop.send_replace(true);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        let objections = self.objections();
        if !std::thread::panicking() {
            assert!(
                objections.is_empty(),
                "beyond the published model of the API:\n{}",
                objections.join("\n")
            );
        }
    }
}
