//! The cloud config of an OpenShift cluster, in YAML or INI: what old Machines leave out.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client};
use slipway_config::driver_config::cloud::{EffectiveVCenter, read};
use slipway_config::ids::{REGION_CATEGORY, ZONE_CATEGORY};
use slipway_providers::cluster::{call, or_absent};
use slipway_providers::vsphere::machine_spec::Defaults;

use super::problem::Problem;
use crate::runtime::shared::Shared;

/// Where clusters have it, the newest place first: namespace, name and key.
const PLACES: [(&str, &str, &str); 2] = [
    ("openshift-config-managed", "kube-cloud-config", "cloud.conf"),
    ("openshift-config", "cloud-provider-config", "config"),
];
/// How long what was read is taken as it is.
const READ_INTERVAL: Duration = Duration::from_mins(10);
const RETRY_INTERVAL: Duration = Duration::from_secs(30);

/// How a server is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Trust {
    pub(super) port: u16,
    pub(super) thumbprint: Option<String>,
    pub(super) insecure: bool,
}

/// What matters of a cloud config.
#[derive(Debug, Default)]
struct Said {
    defaults: Defaults,
    vcenters: Vec<EffectiveVCenter>,
    /// Categories of the tags that name regions and zones.
    categories: [String; 2],
}

/// The cloud config, read now and then.
pub(super) struct Cloud {
    client: Client,
    said: Shared<Arc<Said>, Problem>,
}

impl Cloud {
    pub(super) fn new(client: Client) -> Self {
        Cloud { client, said: Shared::default() }
    }

    /// What it says where a Machine says nothing.
    pub(super) async fn defaults(&self) -> Result<Defaults, Problem> {
        Ok(self.read().await?.defaults.clone())
    }

    /// How a server is reached.
    pub(super) async fn trust(&self, server: &str) -> Result<Trust, Problem> {
        Ok(self.read().await?.trust(server))
    }

    /// The categories of the tags that name regions and zones.
    pub(super) async fn categories(&self) -> Result<[String; 2], Problem> {
        Ok(self.read().await?.categories.clone())
    }

    async fn read(&self) -> Result<Arc<Said>, Problem> {
        let stands = |answer: &Result<Arc<Said>, Problem>, _| {
            Some(if answer.is_ok() { READ_INTERVAL } else { RETRY_INTERVAL })
        };
        self.said.get(Box::pin(find(&self.client)), stands).await
    }
}

/// A cluster without one has an empty one.
async fn find(client: &Client) -> Result<Arc<Said>, Problem> {
    for (namespace, name, key) in PLACES {
        let maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
        let found = or_absent(call(&format!("reading the ConfigMap `{name}`"), maps.get_opt(name)).await)?;
        if let Some(text) = found.and_then(|map| map.data?.remove(key)) {
            return Ok(Arc::new(Said::of(&text)));
        }
    }
    Ok(Arc::new(Said::of("")))
}

impl Said {
    fn of(text: &str) -> Self {
        let config = read(text).config.unwrap_or_default();
        let (workspace, vcenters) = (&config.legacy.workspace, config.effective());
        // With one vCenter there is no doubt which.
        let server = match (&*workspace.server, &vcenters[..]) {
            ("", [only]) => only.server.clone(),
            (server, _) => server.to_owned(),
        };
        let defaults = Defaults {
            server,
            datacenter: workspace.datacenter.clone(),
            datastore: workspace.default_datastore.clone(),
            folder: workspace.folder.clone(),
            resource_pool: workspace.resourcepool_path.clone(),
        };
        let or = |own: &str, default: &str| if own.is_empty() { default.to_owned() } else { own.to_owned() };
        let categories = [or(&config.labels.region, REGION_CATEGORY), or(&config.labels.zone, ZONE_CATEGORY)];
        Said { defaults, vcenters, categories }
    }

    fn trust(&self, server: &str) -> Trust {
        let found = self.vcenters.iter().find(|vcenter| vcenter.server.eq_ignore_ascii_case(server));
        found.map_or(Trust { port: 443, thumbprint: None, insecure: false }, |vcenter| Trust {
            port: vcenter.port,
            thumbprint: Some(vcenter.thumbprint.clone()).filter(|text| !text.is_empty()),
            insecure: vcenter.insecure,
        })
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::{Said, Trust};

    const INI: &str = "[Global]\nsecret-name = \"vsphere-creds\"\nsecret-namespace = \"kube-system\"\ninsecure-flag = \"1\"\n\n\
                       [Workspace]\nserver = vc.example.com\ndatacenter = dc1\ndefault-datastore = fast\nfolder = /dc1/vm/old\n\
                       resourcepool-path = /dc1/host/compute/Resources\n\n[VirtualCenter \"vc.example.com\"]\ndatacenters = dc1\n";
    const YAML: &str = "global:\n  secretName: vsphere-creds\n  secretNamespace: kube-system\nvcenter:\n  vc.example.com:\n    server: \
                        vc.example.com\n    port: 8443\n    datacenters: [dc1]\n";

    #[rstest]
    #[case::ini(INI, "dc1", 443, true)]
    #[case::yaml(YAML, "", 8443, false)]
    fn both_formats_are_read(
        #[case] text: &str,
        #[case] datacenter: &str,
        #[case] port: u16,
        #[case] insecure: bool,
    ) {
        let said = Said::of(text);
        assert_eq!(
            (said.defaults.server.as_str(), said.defaults.datacenter.as_str()),
            ("vc.example.com", datacenter)
        );
        assert_eq!(said.trust("VC.example.com"), Trust { port, thumbprint: None, insecure });
        assert_eq!(said.trust("other"), Trust { port: 443, thumbprint: None, insecure: false });
        assert_eq!(said.categories, ["openshift-region", "openshift-zone"]);
    }
}
