//! `slipway preflight`: whether the vCenters have what a cluster needs, before anything is made.
//!
//! | module | what it holds |
//! |---|---|
//! | [`report`] | findings, their order and their codes |
//! | [`wanted`] | what a configuration wants of each vCenter |
//! | [`needs`] | which privileges the steps need |
//! | `observe` | reading a vCenter, in few calls |
//! | `estate` | what was read, as a plain value |
//! | `judge` | the rules |
//! | `lookup` | names of old configurations, as paths |
//! | `certificate` | how long a vCenter's certificate is valid |
//! | [`network`] | DNS and virtual addresses |

mod certificate;
mod estate;
mod judge;
mod lookup;
pub mod needs;
pub mod network;
mod observe;
pub mod report;
pub mod wanted;

// What the checks of a running cluster share with it.
pub(crate) use self::certificate::{SOON_DAYS, expiry};
pub(crate) use self::estate::Clocks;
pub(crate) use self::judge::count;
pub(crate) use self::judge::server::{BREAKING_SECONDS, NOTABLE_SECONDS, numbers};
pub(crate) use self::observe::{clocks, reason};

use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use secrecy::SecretString;
use slipway_assets::{Credentials, Identity, Login, Named};
use slipway_config::findings;
use slipway_config::install_config::vsphere::VCenter;
use slipway_config::install_config::{self, InstallConfig, Missing, Platform};
use slipway_providers::vsphere::error::Cause;
use slipway_providers::vsphere::{self, Client, Endpoint, Proxy};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tracing::debug;

use self::estate::{Depth, Estate};
use self::needs::Need;
use self::network::Probe;
use self::report::{Check, Finding, Report};
use self::wanted::{Wanted, WantedNetwork};
use crate::cluster::{self, Blueprint, Boot, BrokenFile, endpoint_of};
use crate::create::{Error, read_install_config};
use crate::credentials::{self, Resolved};
use crate::environment::Environment;
use crate::store::{self, INSTALL_CONFIG};

/// What is examined.
#[derive(Debug, Clone)]
pub struct Subject {
    /// The install-config as text: names in it are looked up once vCenters can be asked.
    text: SecretString,
    named: Named,
    /// The machines as their files say, once there are files; or those that cannot be used.
    files: Option<Result<Blueprint, Vec<BrokenFile>>>,
    /// One per vCenter.
    logins: Vec<Login>,
}

impl Subject {
    /// A cluster whose names may be drawn already, and whose files are not written yet.
    pub fn new(
        text: SecretString,
        config: InstallConfig,
        identity: Option<Identity>,
        logins: Vec<Login>,
    ) -> Self {
        let named = match identity {
            Some(identity) => Named { config, identity },
            None => Named::undrawn(config),
        };
        Subject { text, named, files: None, logins }
    }

    /// With the machines as the files of a directory say, if there are any.
    #[must_use]
    pub fn with_files(mut self, directory: &Path) -> Self {
        let is_vsphere = matches!(self.named.config.platform, Platform::VSphere(_));
        if is_vsphere && directory.join("cluster-api/machines").is_dir() {
            let read = Blueprint::read(directory, &self.named, Boot::NotNeeded);
            self.files = Some(read.map_err(|error| match error {
                cluster::Error::Files(broken) => broken,
                other => vec![BrokenFile { path: "cluster-api".to_owned(), message: other.to_string() }],
            }));
        }
        self
    }

    /// The same for a cluster that runs already; none for other platforms than vSphere.
    pub fn checked(&self) -> Option<crate::check::subject::Subject> {
        let identity = Some(&self.named.identity).filter(|identity| !identity.cluster_id.is_nil());
        crate::check::subject::Subject::of_config(&self.named.config, identity, &self.logins)
    }

    /// Which privileges creating, running and destroying the cluster needs of a vCenter that has nothing of it yet.
    pub fn needs(&self, position: usize) -> Result<Vec<Need>, cluster::Error> {
        let blueprint = self.blueprint_of(&self.named)?;
        match Wanted::of(&self.named, &blueprint, position) {
            Some(wanted) => Ok(needs::of(&self.named, &blueprint, &wanted, &|_| false)?),
            None => Ok(Vec::new()),
        }
    }

    /// The machines that will be made: as their files say, or as they would be written.
    fn blueprint_of(&self, named: &Named) -> Result<Blueprint, cluster::Error> {
        match &self.files {
            Some(Ok(blueprint)) => Ok(blueprint.clone()),
            Some(Err(broken)) => Err(cluster::Error::Files(broken.clone())),
            None if matches!(named.config.platform, Platform::VSphere(_)) => Blueprint::of(named),
            None => Ok(Blueprint::default()),
        }
    }

    fn vcenters(&self) -> &[VCenter] {
        match &self.named.config.platform {
            Platform::VSphere(platform) => &platform.vcenters,
            _ => &[],
        }
    }
}

/// What says the time.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// How vCenters are asked.
#[derive(Clone)]
pub struct Options {
    /// The longest one call may take.
    pub call: Duration,
    /// The longest everything may take.
    pub whole: Duration,
    /// The longest leaving may take. It is kept of the whole, a quarter of it at most.
    pub goodbye: Duration,
    pub proxy: Proxy,
    pub clock: Clock,
    /// Machines of this very cluster run already, of an earlier run: it is theirs to answer on its addresses.
    pub machines_run: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            call: Duration::from_mins(1),
            whole: Duration::from_mins(2),
            goodbye: Duration::from_secs(5),
            proxy: Proxy::FromEnvironment,
            clock: Arc::new(Timestamp::now),
            machines_run: false,
        }
    }
}

impl Options {
    /// The time for asking, and for leaving.
    pub(crate) fn shares(&self) -> (Duration, Duration) {
        let goodbye = self.goodbye.min(self.whole / 4);
        (self.whole.saturating_sub(goodbye), goodbye)
    }
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options")
            .field("call", &self.call)
            .field("whole", &self.whole)
            .finish_non_exhaustive()
    }
}

/// What is known of a directory before anybody is asked.
#[derive(Debug)]
pub struct Opened {
    pub subject: Subject,
    /// What was found in the install-config; no errors.
    pub report: findings::Report,
    /// What the user should know about credentials.
    pub warnings: Vec<String>,
}

/// Reads the install-config of a directory, how to log in, and the names that were drawn. Changes nothing there, and
/// does not wait for whoever works in it.
pub fn open(directory: &Path, environment: &Environment) -> Result<Opened, Error> {
    let text = read_install_config(directory)?;
    let loaded = install_config::load(&text);
    let Some(config) = loaded.config else {
        return Err(Error::InstallConfig {
            path: directory.join(INSTALL_CONFIG),
            report: Box::new(loaded.report),
        });
    };
    let Resolved { credentials, warnings } = match &config.platform {
        Platform::VSphere(_) => credentials::resolve(&config, directory, environment)?,
        // Nobody logs in to the others here.
        _ => Resolved { credentials: Credentials::None, warnings: Vec::new() },
    };
    let logins = match credentials {
        Credentials::VSphere(logins) => logins,
        _ => Vec::new(),
    };
    let state = store::peek(directory)?.filter(|state| state.cluster == config.name.as_str());
    let subject = Subject::new(text.into(), config, state.map(|state| state.identity), logins);
    let subject = subject.with_files(directory);
    Ok(Opened { subject, report: loaded.report, warnings })
}

/// Asks all vCenters and the network at once. What one of them does not answer is a finding about that one. `None` if it was
/// cancelled: then all sessions are ended, too.
pub async fn examine<P: Probe>(
    subject: Subject,
    options: Options,
    probe: P,
    cancelled: impl Future<Output = ()>,
) -> Option<Report> {
    let cluster = subject.named.config.name.to_string();
    let subject = Arc::new(subject);
    let (stop, stopped) = watch::channel(false);
    let mut tasks = JoinSet::new();
    let wanted = WantedNetwork { begun: options.machines_run, ..WantedNetwork::of(&subject.named.config) };
    let network = network::examine(wanted, Arc::new(probe));
    let (whole, stopping) = (options.whole, stopped.clone());
    tasks.spawn(async move {
        let late = |_| vec![Finding::unknown(Check::Dns, "network", format!("no answer within {whole:?}"))];
        let looked = until(stopping, timeout(whole, network)).await;
        looked.map_or_else(Vec::new, |found| found.unwrap_or_else(late))
    });
    for position in 0..subject.vcenters().len() {
        let (subject, options, stopped) = (subject.clone(), options.clone(), stopped.clone());
        tasks.spawn(async move {
            let Some(vcenter) = subject.vcenters().get(position) else { return Vec::new() };
            let endpoint = endpoint_of(vcenter).to_string();
            let mut findings = examine_one(&subject, position, vcenter, &options, stopped).await;
            for finding in &mut findings {
                finding.endpoint = Some(endpoint.clone());
            }
            findings
        });
    }
    let mut findings = incomplete(&subject.named.config);
    findings.extend(other_platform(&subject.named.config.platform));
    if let Some(Err(broken)) = &subject.files {
        findings.extend(broken.iter().map(unusable));
    }
    let mut cancelled = pin!(cancelled);
    loop {
        tokio::select! {
            done = tasks.join_next() => match done {
                None => break,
                Some(Ok(found)) => findings.extend(found),
                Some(Err(error)) => {
                    let message = format!("a check broke off, which is a mistake in slipway: {error}");
                    let finding = Finding::unknown(Check::Platform, "slipway", message);
                    findings.push(finding.remedy("please report it"));
                }
            },
            () = &mut cancelled, if !*stopped.borrow() => drop(stop.send_replace(true)),
        }
    }
    let was_cancelled = *stopped.borrow();
    (!was_cancelled).then(|| Report::new(cluster, findings))
}

/// What comes of it, unless everything is to stop before.
async fn until<T>(mut stopped: watch::Receiver<bool>, work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        done = work => Some(done),
        Ok(_) = stopped.wait_for(|stopped| *stopped) => None,
    }
}

/// What can be left out as long as only files are wanted.
fn incomplete(config: &InstallConfig) -> Vec<Finding> {
    let finding = |missing: &Missing| {
        let (check, object, domains) = match missing {
            Missing::ReleaseImage => (Check::ReleaseImage, "payload.releaseImage", &[][..]),
            Missing::OsImage { failure_domains } => {
                (Check::OsImage, "platform.vsphere.clusterOSImage", failure_domains.as_slice())
            }
        };
        let finding = Finding::failure(check, object, missing.to_string()).remedy(missing.hint());
        Finding { failure_domains: domains.iter().map(ToString::to_string).collect(), ..finding }
    };
    config.missing_for_machines().iter().map(finding).collect()
}

/// What is not looked at yet must not look like passed.
fn other_platform(platform: &Platform) -> Vec<Finding> {
    let what = match platform {
        Platform::VSphere(_) | Platform::None => return Vec::new(),
        Platform::Ovirt(_) => "the oVirt engine",
        Platform::KubeVirt(_) => "the infrastructure cluster",
    };
    let message = format!(
        "not checked: asking {what} is not supported yet; only DNS and virtual addresses were looked at"
    );
    vec![Finding::warning(Check::Platform, platform.name(), message).remedy("check by hand what is there")]
}

/// A file of the cluster that was edited, and cannot be used any more.
fn unusable(BrokenFile { path, message }: &BrokenFile) -> Finding {
    let remedy = "mend the file, or delete it and run `slipway create manifests`";
    Finding::failure(Check::Files, path, message.as_str()).remedy(remedy)
}

async fn examine_one(
    subject: &Subject,
    position: usize,
    vcenter: &VCenter,
    options: &Options,
    stopped: watch::Receiver<bool>,
) -> Vec<Finding> {
    let endpoint = Endpoint {
        proxy: options.proxy.clone(),
        timeout: options.call.min(options.whole),
        ..Endpoint::new(vcenter.server.as_str(), vcenter.port.get(), &vcenter.tls)
    };
    let Some(Login { user, password }) = subject.logins.get(position).cloned() else { return Vec::new() };
    let client = match Client::new(endpoint.clone(), vsphere::Login { user, password }) {
        Ok(client) => client,
        Err(error) => return vec![unreachable(&error, None)],
    };
    let mut seen = None;
    let expiry = expiry(&endpoint, endpoint.timeout);
    let ask = ask(&client, subject, position, options, &mut seen);
    let (asking, goodbye) = options.shares();
    let asked = until(stopped, async { tokio::join!(timeout(asking, expiry), timeout(asking, ask)) }).await;
    // Sessions are few and outlive us by half an hour: time is kept for ending them.
    if let Ok(Err(error)) = timeout(goodbye, client.logout()).await {
        debug!(server = %client.server(), error = %reason(&error), "logging out");
    }
    let Some((expiry, asked)) = asked else { return Vec::new() };
    let mut findings = Vec::new();
    if let Some(estate) = &seen {
        let Terms { wanted, needs, names } = Terms::of(subject, position, estate);
        findings.extend(names);
        findings.extend(wanted.into_iter().flat_map(|wanted| judge::judge(&wanted, &needs, estate)));
    }
    findings.extend(match (asked, &seen) {
        (Ok(Ok(())), None) => None,
        (Ok(Ok(())), Some(estate)) => {
            let message = format!("logged in as `{}`", estate.user);
            Some(Finding::pass(Check::Connection, vcenter.server.to_string(), message))
        }
        (Ok(Err(error)), seen) => Some(unreachable(&error, seen.as_ref())),
        (Err(_), seen) => {
            let message = format!("no answer within {asking:?}; {}", unseen(seen.as_ref()));
            let remedy =
                "see whether it is overloaded or a firewall drops packets; give it more time with --timeout";
            Some(Finding::failure(Check::Connection, vcenter.server.to_string(), message).remedy(remedy))
        }
    });
    match expiry {
        Ok(Ok(expires)) => findings.push(certificate::judge(expires, (options.clock)())),
        Ok(Err(reason)) if seen.is_some() => {
            let message = format!("how long the certificate is valid is not known: {reason}");
            findings.push(Finding::unknown(Check::Certificate, "certificate", message));
        }
        // Who cannot be reached has been reported.
        Ok(Err(_)) | Err(_) => {}
    }
    findings
}

/// Fills `seen`, as far as the vCenter answers.
async fn ask(
    client: &Client,
    subject: &Subject,
    position: usize,
    options: &Options,
    seen: &mut Option<Estate>,
) -> Result<(), vsphere::Error> {
    let Ok(blueprint) = subject.blueprint_of(&subject.named) else { return Ok(()) };
    let Some(expected) = Wanted::of(&subject.named, &blueprint, position) else { return Ok(()) };
    let estate = observe::observe(client, &expected, &options.clock, options.whole / 2, seen).await?;
    let Terms { needs, .. } = Terms::of(subject, position, estate);
    let entities = judge::entities(&needs, estate).into_iter().map(|id| client.moref(id));
    let held = client.privileges(&estate.user, &entities.collect::<Vec<_>>()).await;
    estate.privileges = held
        .map(|held| held.into_iter().map(|(moref, privileges)| (moref.reference, privileges)).collect())
        .map_err(|error| reason(&error));
    estate.depth = Depth::Privileges;
    Ok(())
}

/// What a vCenter is judged by, once its inventory says what names mean.
struct Terms {
    wanted: Option<Wanted>,
    needs: Vec<Need>,
    /// What is to be said about names.
    names: Vec<Finding>,
}

impl Terms {
    fn of(subject: &Subject, position: usize, estate: &Estate) -> Self {
        let (mut config, mut names) = (None, Vec::new());
        if let Some(vcenter) = subject.vcenters().get(position)
            && estate.depth >= Depth::Inventory
        {
            (config, names) = lookup::resolve(&subject.text, &vcenter.server.to_string(), &estate.inventory);
        }
        let named = match config {
            Some(config) => Named { config, identity: subject.named.identity.clone() },
            None => subject.named.clone(),
        };
        let is_there = |path: &str| estate.inventory.at(path).is_some();
        let derived = subject.blueprint_of(&named).map_err(|error| error.details().join("; "));
        let derived = derived.and_then(|blueprint| {
            let Some(wanted) = Wanted::of(&named, &blueprint, position) else { return Ok(None) };
            let needs =
                needs::of(&named, &blueprint, &wanted, &is_there).map_err(|error| error.to_string())?;
            Ok(Some((wanted, needs)))
        });
        match derived {
            Ok(Some((wanted, needs))) => Terms { wanted: Some(wanted), needs, names },
            Ok(None) => Terms { wanted: None, needs: Vec::new(), names },
            // What will be made is not known, so that nothing can be said about it.
            Err(message) => {
                if !matches!(subject.files, Some(Err(_))) {
                    names.push(Finding::unknown(Check::Files, "cluster-api", message));
                }
                Terms { wanted: None, needs: Vec::new(), names }
            }
        }
    }
}

/// What the findings about a vCenter do not cover.
fn unseen(seen: Option<&Estate>) -> String {
    match seen {
        None => "nothing else is known about this vCenter".to_owned(),
        Some(estate) => format!("not looked at: {}", estate.depth.beyond().join(", ")),
    }
}

fn unreachable(error: &vsphere::Error, seen: Option<&Estate>) -> Finding {
    let message = format!("{}; {}", reason(error), unseen(seen));
    let finding = Finding::failure(Check::Connection, error.server.to_string(), message);
    match (&error.source, error.hint()) {
        (Cause::Setup(_), _) => finding.remedy("correct `tls` of this vCenter in install-config.yaml"),
        (_, Some(hint)) => finding.remedy(hint),
        (_, None) => finding.remedy("run it again; if it stays, look after the vCenter"),
    }
}
