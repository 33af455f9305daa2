//! How the pods of a driver are.

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{DaemonSet, Deployment};
use k8s_openapi::api::core::v1::PodTemplateSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use semver::Version;
use slipway_assets::drivers::object::{DRIVER_LABEL, VERSION_LABEL};
use slipway_assets::drivers::{cloud, storage};
use slipway_config::matrix::Driver;

/// On pods: when they were replaced because the driver was not well.
pub const REDEPLOYED: &str = "slipway.dev/redeployed";

/// A kind, a namespace and a name.
pub type ObjectKey = (&'static str, &'static str, &'static str);

/// What runs of a driver, in the order it is upgraded.
pub fn places(driver: Driver) -> &'static [ObjectKey] {
    const CLOUD: [ObjectKey; 1] = [("DaemonSet", cloud::NAMESPACE, cloud::DAEMON_SET)];
    const STORAGE: [ObjectKey; 3] = [
        ("Deployment", storage::NAMESPACE, storage::CONTROLLER),
        ("DaemonSet", storage::NAMESPACE, storage::NODE),
        ("Deployment", storage::NAMESPACE, storage::WEBHOOK),
    ];
    match driver {
        Driver::CloudProvider => &CLOUD,
        Driver::StorageProvider => &STORAGE,
    }
}

/// Pods of one kind, counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Workload {
    pub kind: &'static str,
    pub namespace: String,
    pub name: String,
    /// Whether it carries our label.
    pub ours: bool,
    pub version: Option<Version>,
    /// Whether its controller has seen the last change.
    pub observed: bool,
    pub desired: u32,
    pub updated: u32,
    pub available: u32,
    pub redeployed: Option<Timestamp>,
}

impl Workload {
    pub fn of_daemon_set(object: &DaemonSet) -> Self {
        let status = object.status.clone().unwrap_or_default();
        let template = object.spec.as_ref().map(|spec| &spec.template);
        Workload {
            observed: is_observed(&object.metadata, status.observed_generation),
            desired: count(Some(status.desired_number_scheduled)),
            updated: count(status.updated_number_scheduled),
            available: count(status.number_available),
            ..Workload::new("DaemonSet", &object.metadata, template)
        }
    }

    pub fn of_deployment(object: &Deployment) -> Self {
        let status = object.status.clone().unwrap_or_default();
        let spec = object.spec.as_ref();
        Workload {
            observed: is_observed(&object.metadata, status.observed_generation),
            desired: count(spec.map(|spec| spec.replicas.unwrap_or(1))),
            updated: count(status.updated_replicas),
            available: count(status.available_replicas),
            ..Workload::new("Deployment", &object.metadata, spec.map(|spec| &spec.template))
        }
    }

    fn new(kind: &'static str, metadata: &ObjectMeta, template: Option<&PodTemplateSpec>) -> Self {
        let label = |name| metadata.labels.as_ref().and_then(|labels| labels.get(name));
        let annotations = template.and_then(|template| template.metadata.as_ref()?.annotations.as_ref());
        Workload {
            kind,
            namespace: metadata.namespace.clone().unwrap_or_default(),
            name: metadata.name.clone().unwrap_or_default(),
            ours: label(DRIVER_LABEL).is_some(),
            version: label(VERSION_LABEL).and_then(|version| version.parse().ok()),
            redeployed: annotations
                .and_then(|annotations| annotations.get(REDEPLOYED))
                .and_then(|time| time.parse().ok()),
            ..Workload::default()
        }
    }

    pub fn is_at(&self, place: &ObjectKey) -> bool {
        (self.kind, self.namespace.as_str(), self.name.as_str()) == *place
    }

    /// All pods are of the newest kind and available, except on nodes that are silent anyway.
    pub fn is_complete(&self, silent: u32) -> bool {
        let silent = if self.kind == "DaemonSet" { silent } else { 0 };
        self.observed && self.updated >= self.desired.saturating_sub(silent) && self.is_well(silent)
    }

    fn is_well(&self, silent: u32) -> bool {
        self.available + silent >= self.desired
    }

    /// Something of it works. On nodes there may be nothing to do.
    pub fn serves(&self) -> bool {
        self.available > 0 || (self.desired == 0 && self.observed && self.kind == "DaemonSet")
    }

    pub fn describe(&self) -> String {
        format!(
            "{} {}/{}: {} of {} available, {} up to date",
            self.kind, self.namespace, self.name, self.available, self.desired, self.updated
        )
    }
}

fn is_observed(metadata: &ObjectMeta, observed: Option<i64>) -> bool {
    observed.unwrap_or(0) >= metadata.generation.unwrap_or(0)
}

fn count(number: Option<i32>) -> u32 {
    number.and_then(|number| u32::try_from(number).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::Workload;

    #[rstest]
    #[case::done("Deployment", true, [3, 3, 3], 0, true, true)]
    #[case::not_seen("Deployment", false, [3, 3, 3], 0, false, true)]
    #[case::rolling("Deployment", true, [3, 1, 3], 0, false, true)]
    #[case::down("Deployment", true, [3, 3, 0], 0, false, false)]
    #[case::silent_node("DaemonSet", true, [10, 9, 9], 1, true, true)]
    #[case::no_nodes("DaemonSet", true, [0, 0, 0], 0, true, true)]
    #[case::new("DaemonSet", false, [0, 0, 0], 0, false, false)]
    fn health(
        #[case] kind: &'static str,
        #[case] observed: bool,
        #[case] numbers: [u32; 3],
        #[case] silent: u32,
        #[case] complete: bool,
        #[case] serves: bool,
    ) {
        let [desired, updated, available] = numbers;
        let workload = Workload { kind, observed, desired, updated, available, ..Workload::default() };
        assert_eq!((workload.is_complete(silent), workload.serves()), (complete, serves));
    }
}
