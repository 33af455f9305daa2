//! Secrets: logins to the platform, the first administrator, and what machines boot from.

use std::collections::BTreeMap;

use k8s_openapi::api::rbac::v1::{PolicyRule, Role as RbacRole};
use secrecy::ExposeSecret;
use slipway_config::install_config::Platform;

use crate::drivers::CREDENTIALS_NAME;
use crate::names::{MACHINES_NAMESPACE, Role};
use crate::objects::{map, secret, within};
use crate::{Access, Cluster, Credentials, Error, Tree, ignition};

pub(super) fn add(cluster: &Cluster, tree: &mut Tree) -> Result<(), Error> {
    add_login(cluster, tree)?;
    let hash = map([("kubeadmin", cluster.identity.kubeadmin_hash.expose())]);
    let kubeadmin = secret(within("kube-system", "kubeadmin"), "Opaque", hash);
    tree.yaml("openshift/99_kubeadmin-password-secret.yaml", &kubeadmin, Access::Owner)?;
    add_user_data(cluster, tree)
}

/// The login to the platform, and who may read it.
pub(crate) fn add_login(cluster: &Cluster, tree: &mut Tree) -> Result<(), Error> {
    if let Some((name, platform, data)) = platform_login(cluster) {
        let login = secret(within("kube-system", name), "Opaque", data);
        tree.yaml("openshift/99_cloud-creds-secret.yaml", &login, Access::Owner)?;
        let reader = RbacRole {
            metadata: within("kube-system", format!("{platform}-creds-secret-reader")),
            rules: Some(vec![PolicyRule {
                api_groups: Some(vec![String::new()]),
                resources: Some(vec!["secrets".to_owned()]),
                resource_names: Some(vec![name.to_owned()]),
                verbs: vec!["get".to_owned()],
                ..PolicyRule::default()
            }]),
        };
        tree.yaml("openshift/99_role-cloud-creds-secret-reader.yaml", &reader, Access::Group)?;
    }
    Ok(())
}

/// What machines that are made later boot from.
pub(crate) fn add_user_data(cluster: &Cluster, tree: &mut Tree) -> Result<(), Error> {
    for role in Role::ALL {
        let pointer = String::from_utf8_lossy(&ignition::pointer(cluster, role)).into_owned();
        let data = map([("userData", pointer.as_str()), ("disableTemplating", "true")]);
        let name = format!("{}-user-data", role.as_str());
        let user_data = secret(within(MACHINES_NAMESPACE, name), "Opaque", data);
        let path = format!("openshift/99_openshift-cluster-api_{}-user-data-secret.yaml", role.as_str());
        tree.yaml(path, &user_data, Access::Owner)?;
    }
    Ok(())
}

/// Name of the Secret, how its reader is called after the platform, and its data.
fn platform_login(cluster: &Cluster) -> Option<(&'static str, &'static str, BTreeMap<String, String>)> {
    match (&cluster.credentials, &cluster.config.platform) {
        (Credentials::VSphere(logins), Platform::VSphere(platform)) => {
            let entries = platform.vcenters.iter().zip(logins).flat_map(|(vcenter, login)| {
                [
                    (format!("{}.username", vcenter.server), login.user.clone()),
                    (format!("{}.password", vcenter.server), login.password.expose_secret().to_owned()),
                ]
            });
            Some((CREDENTIALS_NAME, "vsphere", entries.collect()))
        }
        (Credentials::Ovirt(engine), _) => {
            let data = map([
                ("ovirt_url", engine.url.as_str()),
                ("ovirt_username", &engine.login.user),
                ("ovirt_password", engine.login.password.expose_secret()),
                ("ovirt_insecure", if engine.insecure { "true" } else { "false" }),
                ("ovirt_ca_bundle", engine.ca_bundle.as_deref().unwrap_or_default()),
            ]);
            Some(("ovirt-credentials", "ovirt", data))
        }
        (Credentials::KubeVirt(infra), _) => {
            let data = map([("kubeconfig", infra.kubeconfig.expose_secret())]);
            Some(("kubevirt-credentials", "kubevirt", data))
        }
        _ => None,
    }
}
