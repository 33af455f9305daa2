//! The vSphere cloud controller manager.

use std::ffi::OsString;
use std::path::Path;

use crate::control_plane::ControlPlane;
use crate::network::free_port;

/// Starts it beside a control plane, with the cloud config as it is. It ends with the control plane.
pub fn start(plane: &mut ControlPlane, cloud_config: &str) -> anyhow::Result<()> {
    let kubeconfig = plane.kubeconfig().to_owned();
    run(plane, cloud_config, &kubeconfig, "--leader-elect=false", Vec::new())
}

/// The same with the rights of somebody, and with a lock, as it runs in a cluster.
pub fn start_as(
    plane: &mut ControlPlane,
    cloud_config: &str,
    kubeconfig: &Path,
    environment: &[(&str, &str)],
) -> anyhow::Result<()> {
    let environment = environment.iter().map(|(name, value)| (*name, OsString::from(value))).collect();
    run(plane, cloud_config, kubeconfig, "--leader-elect=true", environment)
}

fn run(
    plane: &mut ControlPlane,
    cloud_config: &str,
    kubeconfig: &Path,
    lock: &str,
    environment: Vec<(&str, OsString)>,
) -> anyhow::Result<()> {
    let config = plane.scratch().write("cloud.conf", cloud_config)?;
    let kubeconfig = kubeconfig.as_os_str().to_owned();
    let mut arguments: Vec<OsString> = vec!["--cloud-config".into(), config.into()];
    for flag in ["--kubeconfig", "--authentication-kubeconfig", "--authorization-kubeconfig"] {
        arguments.extend([flag.into(), kubeconfig.clone()]);
    }
    arguments.extend(["--cert-dir".into(), plane.scratch().join("ccm").into()]);
    arguments.push(format!("--secure-port={}", free_port()?).into());
    // Tests wait until it has looked for a node a few times.
    arguments.push("--node-monitor-period=1s".into());
    // Who loses its lock ends, and nobody starts it again here.
    arguments
        .extend(["--leader-elect-lease-duration=120s", "--leader-elect-renew-deadline=90s"].map(Into::into));
    arguments.extend(
        ["--cloud-provider=vsphere", "--bind-address=127.0.0.1", lock, "--webhook-secure-port=0", "--v=2"]
            .map(Into::into),
    );
    plane.run_beside(
        "cloud-controller-manager",
        "vsphere-cloud-controller-manager",
        arguments,
        environment,
    )?;
    Ok(())
}
