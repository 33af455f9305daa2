//! What the machine-config server hands out.

use super::machine::text;
use super::{DISCOVERY_FILE, JOIN_FILE, JOIN_TOKEN_FILE, kubeadm, kubeconfig, machine, pem};
use crate::ignition::config::{Builder, PRIVATE, PROGRAM, PUBLIC};
use crate::names::Role;
use crate::onprem::Part;
use crate::pki::bootstrap_token;
use crate::{Cluster, Error};

/// The configuration of the machines of a role. It holds no key that signs: with the token a machine asks for a
/// certificate, and control-plane machines fetch what is encrypted with the certificate key.
pub(super) fn node(cluster: &Cluster, role: Role) -> Result<Vec<u8>, Error> {
    let mut builder = Builder::default();
    let part = match role {
        Role::Master => Part::ControlPlane,
        Role::Worker => Part::Compute,
    };
    machine::add(&mut builder, cluster, part)?;
    builder.file(DISCOVERY_FILE, PUBLIC, kubeconfig::discovery(cluster)?);
    builder.file(JOIN_TOKEN_FILE, PRIVATE, format!("{}\n", pem(cluster, &bootstrap_token(role))?));
    builder.file(JOIN_FILE, PRIVATE, kubeadm::join(cluster, role)?);
    builder.file("/usr/local/bin/slipway-join.sh", PROGRAM, text!("bin/slipway-join.sh"));
    builder.file("/usr/local/bin/slipway-member.sh", PROGRAM, text!("bin/slipway-member.sh"));
    builder.unit("slipway-join.service", text!("units/slipway-join.service"), true);
    Ok(builder.bytes())
}
