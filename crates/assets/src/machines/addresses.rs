//! Static addresses: a claim and an address per entry, bound to each other from the start.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use slipway_api::cluster_api::{
    IpAddress, IpAddressClaim, IpAddressClaimSpec, IpAddressClaimStatus, IpAddressSpec,
};
use slipway_api::provider_spec::{AddressPool, VSphereProviderSpec};
use slipway_api::{LocalReference, TypedReference};
use slipway_config::install_config::vsphere::Host;

use super::NAMESPACE;
use crate::objects::within;
use crate::{Access, Error, Tree};

/// No such pool exists: the addresses were given out before the cluster was.
const POOL_GROUP: &str = "installer.openshift.io";
const POOL_KIND: &str = "IPPool";

/// Keeps the claim while the machine is there.
const FINALIZER: &str = "machine.openshift.io/ip-claim-protection";

/// The machine's first card gets its addresses and name servers from pools.
pub(super) fn ask_pools(host: &Host, spec: &mut VSphereProviderSpec) {
    if let Some(device) = spec.network.devices.first_mut() {
        device.nameservers = host.nameservers.iter().map(ToString::to_string).collect();
        device.addresses_from_pools = (0..host.addresses.len())
            .map(|index| AddressPool {
                group: POOL_GROUP.to_owned(),
                resource: POOL_KIND.to_owned(),
                name: pool_name(index),
            })
            .collect();
    }
}

/// Claims and addresses of one machine.
pub(super) fn add(
    machine: &str,
    host: &Host,
    spec: &mut VSphereProviderSpec,
    tree: &mut Tree,
) -> Result<(), Error> {
    ask_pools(host, spec);
    for (index, net) in host.addresses.iter().enumerate() {
        let name = format!("{machine}-claim-0-{index}");
        let pool_ref = TypedReference {
            api_group: POOL_GROUP.to_owned(),
            kind: POOL_KIND.to_owned(),
            name: pool_name(index),
        };
        let claim = IpAddressClaim {
            metadata: ObjectMeta { finalizers: Some(vec![FINALIZER.to_owned()]), ..within(NAMESPACE, &name) },
            spec: IpAddressClaimSpec { pool_ref: pool_ref.clone() },
            status: Some(IpAddressClaimStatus { address_ref: LocalReference::new(&name) }),
        };
        tree.yaml(format!("openshift/99_openshift-machine-api_claim-{name}.yaml"), &claim, Access::Group)?;
        let gateway = host.gateways.iter().find(|gateway| gateway.is_ipv4() == net.addr().is_ipv4());
        let address = IpAddress {
            metadata: within(NAMESPACE, &name),
            spec: IpAddressSpec {
                claim_ref: LocalReference::new(&name),
                pool_ref,
                address: net.addr().to_string(),
                prefix: net.prefix_len(),
                gateway: gateway.map(ToString::to_string),
            },
        };
        tree.yaml(
            format!("openshift/99_openshift-machine-api_address-{name}.yaml"),
            &address,
            Access::Group,
        )?;
    }
    Ok(())
}

fn pool_name(index: usize) -> String {
    format!("default-{index}")
}
