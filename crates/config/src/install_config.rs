//! The install-config: from text to a validated configuration, or to everything that is wrong with it.
//!
//! Three steps, each in the section's own module: the text becomes `Written…` types, in which every value
//! remembers its place; old forms are rewritten; then `resolve` applies defaults and rules and yields
//! types that builders can use without checking anything again.

mod capabilities;
mod images;
pub mod kubevirt;
mod missing;
mod networking;
mod options;
pub mod ovirt;
mod payload;
mod pem;
mod pool;
mod proxy;
mod vips;
pub mod vsphere;

use std::collections::BTreeMap;

use secrecy::SecretString;

pub use capabilities::{Baseline, Capabilities};
pub use images::{Mirror, SourcePolicy};
pub use missing::Missing;
pub use networking::{ClusterNetwork, Networking, Stack};
pub use options::{CpuPartitioning, Curve, OsImageStream, SignerKey, TrustBundlePolicy};
pub use payload::{ImageRef, KubernetesVersion, Payload, PayloadType};
pub use pool::{Architecture, DiskSetup, Hyperthreading, MachinePool, Pools};
pub use proxy::Proxy;
pub use vips::{LoadBalancer, Vips};

use self::capabilities::WrittenCapabilities;
use self::images::WrittenMirror;
use self::networking::WrittenNetworking;
use self::options::{Publish, WrittenBootstrapInPlace, WrittenPki};
use self::payload::WrittenPayload;
use self::pool::WrittenPool;
use self::proxy::WrittenProxy;
use self::vips::WrittenLoadBalancer;
use self::vsphere::{ByRule, Password, PathLookup};
use crate::decode::{Decode, Decoder, Entries, Field, Ignored, Located, choice, object};
use crate::features::{self, FeatureSet, Features, Gate};
use crate::findings::{Findings, Report, Rule};
use crate::names::{ClusterName, DomainName, subdomain};
use crate::private_url::PrivateUrl;
use crate::shape::Shape;
use crate::yaml::{self, At, Document, Limits};

object! {
    /// The description of a cluster to install.
    WrittenInstallConfig {
        /// The version of this format.
        api_version: ApiVersion as "apiVersion", required;
        /// Accepted for the sake of tools that write it.
        kind: Ignored as "kind";
        /// The name of the cluster.
        metadata: WrittenMetadata as "metadata", required;
        /// The DNS domain the cluster belongs to; its own is `<name>.<baseDomain>`.
        base_domain: DomainName as "baseDomain", required;
        /// What is installed on the machines.
        payload: WrittenPayload as "payload", ours;
        /// The platform the machines run on: exactly one.
        platform: WrittenPlatform as "platform", required;
        /// The control-plane machines.
        control_plane: WrittenPool as "controlPlane";
        /// The compute machines: one pool, named `worker`.
        compute: Entries<WrittenPool> as "compute";
        /// Arbiter machines, which are not made here.
        arbiter: Ignored as "arbiter";
        /// The networks of the cluster.
        networking: WrittenNetworking as "networking";
        /// Credentials for the registries images are pulled from, as a JSON document. Optional for Kubernetes.
        pull_secret: SecretString as "pullSecret";
        /// Public SSH keys for access to the machines, one per line.
        ssh_key: String as "sshKey";
        /// PEM certificates the machines trust in addition.
        additional_trust_bundle: String as "additionalTrustBundle";
        /// When the additional trust bundle is used.
        trust_bundle_policy: TrustBundlePolicy as "additionalTrustBundlePolicy", default "Proxyonly";
        /// The proxies of the cluster.
        proxy: WrittenProxy as "proxy";
        /// Mirrors of image repositories.
        image_digest_sources: Entries<WrittenMirror> as "imageDigestSources";
        /// Mirrors of image repositories, in the old form.
        image_content_sources: Entries<WrittenMirror> as "imageContentSources", deprecated "use `imageDigestSources`";
        /// Who can reach API and ingress.
        publish: Publish as "publish", default "External";
        /// Only with `publish: Mixed`, which the platforms supported here do not have.
        operator_publishing: Ignored as "operatorPublishingStrategy";
        /// Whether the machines run in FIPS mode.
        fips: bool as "fips", default "false";
        /// Which workloads processors are set apart for.
        cpu_partitioning: CpuPartitioning as "cpuPartitioningMode", default "None";
        /// How components get credentials; must not be set on the platforms supported here.
        credentials_mode: Ignored as "credentialsMode";
        /// A cluster of one machine that needs no bootstrap machine.
        bootstrap_in_place: WrittenBootstrapInPlace as "bootstrapInPlace";
        /// Optional components of OpenShift.
        capabilities: WrittenCapabilities as "capabilities";
        /// The feature set.
        feature_set: FeatureSet as "featureSet", default "Default";
        /// Feature gates to switch, as `Name=true`. Only with `featureSet: CustomNoUpgrade`.
        feature_gates: Entries<String> as "featureGates";
        /// The stream of operating system images.
        os_image_stream: OsImageStream as "osImageStream";
        /// Keys of the certificates the installer makes.
        pki: WrittenPki as "pki";
    }
}

object! {
    /// Metadata of the cluster.
    WrittenMetadata {
        /// The name of the cluster, part of all its DNS names.
        name: ClusterName as "name", required;
        /// Ignored.
        creation_timestamp: Ignored as "creationTimestamp";
        /// Ignored.
        labels: BTreeMap<String, Field<String>> as "labels";
        /// Ignored.
        annotations: BTreeMap<String, Field<String>> as "annotations";
    }
}

object! {
    /// The platform the machines run on: exactly one.
    WrittenPlatform {
        /// vSphere, across one to three vCenters.
        vsphere: vsphere::WrittenPlatform as "vsphere";
        /// oVirt.
        ovirt: ovirt::WrittenPlatform as "ovirt";
        /// KubeVirt, as a tenant of another cluster.
        kubevirt: kubevirt::WrittenPlatform as "kubevirt";
        /// No platform: machines, load balancers and DNS are yours. Write `none: {}`.
        none: WrittenNone as "none";
    }
}

object! {
    /// No settings.
    WrittenNone {}
}

choice! {
    /// The version of this format.
    ApiVersion {
        /// The current one.
        V1 = "v1",
        /// An old one, still read.
        V1Beta4 = "v1beta4",
        /// An old one, still read.
        V1Beta3 = "v1beta3",
    }
}

/// The platform of a cluster.
#[derive(Debug, Clone)]
pub enum Platform {
    VSphere(vsphere::Platform),
    Ovirt(ovirt::Platform),
    KubeVirt(kubevirt::Platform),
    None,
}

impl Platform {
    pub fn name(&self) -> &'static str {
        match self {
            Platform::VSphere(_) => "vsphere",
            Platform::Ovirt(_) => "ovirt",
            Platform::KubeVirt(_) => "kubevirt",
            Platform::None => "none",
        }
    }
}

/// A validated install-config, with all defaults filled in.
#[derive(Debug, Clone)]
pub struct InstallConfig {
    pub name: ClusterName,
    pub base_domain: DomainName,
    pub payload: Payload,
    pub platform: Platform,
    pub pools: Pools<MachinePool>,
    pub networking: Networking,
    pub pull_secret: Option<SecretString>,
    pub ssh_keys: Vec<String>,
    pub additional_trust_bundle: Option<String>,
    pub trust_bundle_policy: TrustBundlePolicy,
    pub proxy: Option<Proxy>,
    pub mirrors: Vec<Mirror>,
    pub fips: bool,
    pub cpu_partitioning: CpuPartitioning,
    pub installation_disk: Option<String>,
    pub capabilities: Option<Capabilities>,
    pub features: Features,
    pub os_image_stream: Option<OsImageStream>,
    /// As written; [`InstallConfig::signer_key`] is what signers have.
    pub signer_key: Option<SignerKey>,
}

impl InstallConfig {
    /// The domain all names of the cluster are in.
    pub fn cluster_domain(&self) -> String {
        format!("{}.{}", self.name, self.base_domain)
    }

    /// The kind of key the signers have: the one that is written, or the payload's default.
    pub fn signer_key(&self) -> SignerKey {
        self.signer_key.unwrap_or_else(|| SignerKey::default_of(self.payload.kind()))
    }

    /// Something in the file is for its owner's eyes only.
    pub fn has_inline_secrets(&self) -> bool {
        let passwords = match &self.platform {
            Platform::VSphere(platform) => {
                let inline = |vcenter: &vsphere::VCenter| matches!(vcenter.password, Password::Inline(_));
                platform.vcenters.iter().any(inline)
                    || platform.os_image.as_ref().is_some_and(|image| image.url.is_private())
            }
            _ => false,
        };
        let mut proxies = self.proxy.iter().flat_map(|proxy| [&proxy.http, &proxy.https]).flatten();
        passwords || self.pull_secret.is_some() || proxies.any(PrivateUrl::is_private)
    }

    /// The form of an install-config, for `explain` and the JSON Schema.
    pub fn shape() -> Shape {
        WrittenInstallConfig::shape()
    }
}

/// The result of reading an install-config: what was found, and the configuration if it can be used.
#[derive(Debug)]
pub struct Loaded {
    pub config: Option<InstallConfig>,
    pub report: Report,
}

/// Reads and judges an install-config. Asks no endpoint: names become inventory paths by rule.
pub fn load(text: &str) -> Loaded {
    load_with(text, &ByRule)
}

/// Like [`load`], with inventory paths looked up by `lookup`.
pub fn load_with(text: &str, lookup: &dyn PathLookup) -> Loaded {
    let mut findings = Findings::default();
    let document = yaml::parse(text, Limits::default(), &mut findings);
    let config = document.as_ref().and_then(|document| {
        let written = WrittenInstallConfig::decode(&mut Decoder::new(document, &mut findings), At::ROOT)?;
        let config = resolve(&written, document, lookup, &mut findings)?;
        Some((written, config)).filter(|_| !findings.has_errors())
    });
    if let Some((written, config)) = &config {
        missing::notes(config, written, &mut findings);
    }
    let config = config.map(|(_, config)| config);
    if config.is_none() && !findings.has_errors() {
        let message =
            "this install-config cannot be used, but no rule says why: that is a mistake in slipway";
        findings
            .error(Rule::Unexplained, At::ROOT, message)
            .hint("please report it, with the file but without its secrets");
    }
    Loaded { config, report: findings.report(document.as_ref(), text) }
}

/// What every rule can look at and report to.
#[derive(Debug)]
pub(crate) struct Check<'a> {
    pub(crate) document: &'a Document,
    pub(crate) findings: &'a mut Findings,
    pub(crate) features: &'a Features,
}

impl Check<'_> {
    /// The node holds something that must not be shown.
    pub(crate) fn conceal(&mut self, at: At) {
        self.findings.conceal(self.document.value_span(at));
    }

    /// Reports a field whose feature gate is off.
    pub(crate) fn gate(&mut self, gate: Gate, at: At, what: &str) {
        if !self.features.enabled(gate) {
            let hint = self.features.how_to_enable(gate);
            let message = format!("{what} needs the feature gate {}", gate.name());
            self.findings.error(Rule::FeatureGateOff, at, message).hint(hint);
        }
    }
}

fn resolve(
    written: &WrittenInstallConfig,
    document: &Document,
    lookup: &dyn PathLookup,
    findings: &mut Findings,
) -> Option<InstallConfig> {
    let features = features::resolve(&written.feature_set, &written.feature_gates, findings);
    let payload = payload::resolve(&written.payload, findings);
    let kind = payload.as_ref().map_or(PayloadType::OpenShift, Payload::kind);
    let networking = networking::resolve(&written.networking, kind, findings);
    let platform_name = written.platform.get().and_then(platform_name);
    let (written_pools, pools) =
        pool::resolve(&written.control_plane, &written.compute, platform_name, kind, findings);
    let name = written.metadata.get().and_then(|metadata| metadata.name.located());
    let mut check = Check { document, findings, features: &features };

    if let Some(version) = written.api_version.located().filter(|version| version.value != ApiVersion::V1) {
        check
            .findings
            .warning(
                Rule::Deprecated,
                version.at,
                format!("`{}` is an old version of this format", version.value),
            )
            .hint("write `apiVersion: v1`");
    }
    cluster_name(name, &written.base_domain, platform_name, &mut check);
    if platform_name.is_some_and(|platform| platform != "vsphere") {
        disk_setup_elsewhere(pools.as_ref(), &mut check);
    } else if kind == PayloadType::OpenShift {
        pool::disk_setup_gate(&written_pools, &mut check);
    }
    let platform = platform(
        written.platform.located(),
        &vsphere::Around {
            name: name.map(|name| &name.value),
            payload: kind,
            networking: networking.as_ref(),
            written_pools: &written_pools,
            pools: pools.as_ref(),
            lookup,
        },
        &mut check,
    );
    let proxy = proxy::resolve(&written.proxy, networking.as_ref(), &mut check);
    let pull_secret = pull_secret(&written.pull_secret, payload.as_ref(), &mut check);
    let registries = written.pull_secret.get().and_then(images::registries);
    let mirrors = images::mirrors(
        &written.image_digest_sources,
        &written.image_content_sources,
        registries.as_ref(),
        &mut check,
    );
    let ssh_keys = match &written.ssh_key {
        Field::Absent => Some(Vec::new()),
        Field::Invalid(_) => None,
        Field::Set(keys) => pem::check_ssh_keys(keys, written.fips.cloned_or(false), &mut check),
    };
    let trust_bundle_valid = match &written.additional_trust_bundle {
        Field::Absent => true,
        Field::Invalid(_) => false,
        Field::Set(bundle) => pem::check_certificates(bundle, &mut check),
    };
    if kind == PayloadType::Kubernetes {
        payload::only_for(written.capabilities.at(), "capabilities", PayloadType::OpenShift, check.findings);
    }
    let capabilities = match kind {
        PayloadType::OpenShift => capabilities::resolve(&written.capabilities, platform_name, &mut check),
        PayloadType::Kubernetes => Some(None),
    };
    let signer_key = options::signer_key(&written.pki, kind, &mut check);
    options::bootstrap_in_place(&written.bootstrap_in_place, platform_name, pools.as_ref(), &mut check);
    options::publish(&written.publish, &mut check);
    let clouds = "it is for public clouds";
    options::not_here(written.operator_publishing.at(), "operatorPublishingStrategy", clouds, &mut check);
    options::not_here(written.credentials_mode.at(), "credentialsMode", clouds, &mut check);
    let arbiters = "arbiter machines are not supported";
    options::not_here(written.arbiter.at(), "arbiter", arbiters, &mut check);
    let observability = "no release that is known here has it";
    let observed = written.networking.get().and_then(|networking| networking.network_observability.at());
    options::not_here(observed, "networkObservability", observability, &mut check);
    let fencing = "a control plane of two machines with fencing is not supported";
    for pool in [written_pools.control_plane, written_pools.compute].into_iter().flatten() {
        options::not_here(pool.value.fencing.at(), "fencing", fencing, &mut check);
    }

    if !trust_bundle_valid || written.fips.is_invalid() {
        return None;
    }
    Some(InstallConfig {
        name: name?.value.clone(),
        base_domain: written.base_domain.get()?.clone(),
        payload: payload?,
        platform: platform?,
        pools: pools?,
        networking: networking?,
        pull_secret: pull_secret?,
        ssh_keys: ssh_keys?,
        additional_trust_bundle: written.additional_trust_bundle.get().cloned(),
        trust_bundle_policy: written.trust_bundle_policy.cloned_or(TrustBundlePolicy::ProxyOnly),
        proxy: proxy?,
        mirrors: mirrors?,
        fips: written.fips.cloned_or(false),
        cpu_partitioning: written.cpu_partitioning.cloned_or(CpuPartitioning::None),
        installation_disk: written
            .bootstrap_in_place
            .get()
            .and_then(|in_place| in_place.installation_disk.get().cloned()),
        capabilities: capabilities?,
        os_image_stream: written.os_image_stream.get().copied(),
        signer_key: signer_key?,
        features,
    })
}

/// The platform, when exactly one is given.
fn platform_name(written: &WrittenPlatform) -> Option<&'static str> {
    let given = given_platforms(written);
    if let [(name, _)] = given.as_slice() { Some(name) } else { None }
}

fn given_platforms(written: &WrittenPlatform) -> Vec<(&'static str, At)> {
    let WrittenPlatform { vsphere, ovirt, kubevirt, none } = written;
    [("vsphere", vsphere.at()), ("ovirt", ovirt.at()), ("kubevirt", kubevirt.at()), ("none", none.at())]
        .into_iter()
        .filter_map(|(name, at)| Some((name, at?)))
        .collect()
}

fn platform(
    written: Option<&Located<WrittenPlatform>>,
    around: &vsphere::Around<'_>,
    check: &mut Check<'_>,
) -> Option<Platform> {
    let written = written?;
    let unknown =
        matches!(check.document.value(written.at), yaml::Value::Map(entries) if !entries.is_empty());
    match given_platforms(&written.value).as_slice() {
        // Whatever is there instead has been reported.
        [] if unknown => None,
        [] => {
            check
                .findings
                .error(Rule::PlatformCount, written.at, "no platform is given")
                .hint("add one of vsphere, ovirt, kubevirt, or `none: {}`");
            None
        }
        [_] => {
            let WrittenPlatform { vsphere, ovirt, kubevirt, none } = &written.value;
            if let Some(platform) = vsphere.located() {
                vsphere::resolve(platform.clone(), around, check).map(Platform::VSphere)
            } else if let Some(platform) = ovirt.located() {
                ovirt::resolve(platform, around.networking, around.written_pools, check).map(Platform::Ovirt)
            } else if let Some(platform) = kubevirt.located() {
                kubevirt::resolve(platform, around.networking, around.written_pools, check)
                    .map(Platform::KubeVirt)
            } else {
                none.get().map(|_| Platform::None)
            }
        }
        [(first, place), (second, at), ..] => {
            check
                .findings
                .error(Rule::PlatformCount, *at, format!("two platforms, {first} and {second}"))
                .on_key()
                .hint("a cluster is on one platform; remove the other")
                .related(*place, "the other one");
            None
        }
    }
}

/// Only vSphere has data disks to set up.
fn disk_setup_elsewhere(pools: Option<&Pools<MachinePool>>, check: &mut Check<'_>) {
    let pools = pools.into_iter().flat_map(|pools| [&pools.control_plane, &pools.compute]);
    for setup in pools.flat_map(|pool| &pool.disk_setup) {
        check
            .findings
            .error(Rule::DiskSetup, setup.disk().at, "only machines on vSphere have data disks")
            .hint("remove `diskSetup`");
    }
}

/// The name with its domain is a DNS name, and a single label where machine names demand it.
fn cluster_name(
    name: Option<&Located<ClusterName>>,
    base_domain: &Field<DomainName>,
    platform: Option<&str>,
    check: &mut Check<'_>,
) {
    let Some(name) = name else { return };
    if platform == Some("vsphere") && name.value.as_str().contains('.') {
        check
            .findings
            .error(
                Rule::ClusterNameDot,
                name.at,
                format!("`{}` contains a dot, which vSphere does not allow", name.value),
            )
            .hint(format!("write `{}`", name.value.as_str().replace('.', "-")));
    }
    if let Some(domain) = base_domain.get()
        && let Err(bad) = subdomain(&format!("{}.{domain}", name.value))
    {
        check
            .findings
            .error(Rule::DnsName, name.at, format!("`{}.{domain}`: {}", name.value, bad.reason))
            .hint("shorten the name or the domain");
    }
}

#[expect(clippy::option_option, reason = "absent and unusable are different things")]
fn pull_secret(
    written: &Field<SecretString>,
    payload: Option<&Payload>,
    check: &mut Check<'_>,
) -> Option<Option<SecretString>> {
    match written {
        Field::Invalid(_) => None,
        Field::Set(secret) => images::check_pull_secret(secret, check).then(|| Some(secret.value.clone())),
        Field::Absent => {
            if payload.is_some_and(|payload| payload.kind() == PayloadType::OpenShift) {
                check
                    .findings
                    .missing(At::ROOT, "pullSecret", "`pullSecret` is required for OpenShift")
                    .hint("add the JSON document with your registry credentials, in single quotes");
                return None;
            }
            Some(None)
        }
    }
}
