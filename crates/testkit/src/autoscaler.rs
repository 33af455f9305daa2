//! The cluster autoscaler, for MachineSets of OpenShift's kind.

use std::ffi::OsString;

use crate::control_plane::ControlPlane;
use crate::machine_api::NAMESPACE;
use crate::network::free_port;
use crate::process::Process;

/// Starts it as cluster administrator, impatient. It ends with the control plane.
pub fn start(plane: &mut ControlPlane) -> anyhow::Result<&mut Process> {
    let mut arguments: Vec<OsString> = Vec::new();
    // The cluster whose pods it looks at, and the one that has the MachineSets, are the same.
    for flag in ["--kubeconfig", "--cloud-config"] {
        arguments.extend([flag.into(), plane.kubeconfig().into()]);
    }
    arguments.push(format!("--node-group-auto-discovery=clusterapi:namespace={NAMESPACE}").into());
    arguments.push(format!("--address=127.0.0.1:{}", free_port()?).into());
    arguments.extend(
        [
            "--cloud-provider=clusterapi",
            "--leader-elect=false",
            "--scan-interval=2s",
            "--new-pod-scale-up-delay=0s",
            "--scale-down-delay-after-add=5s",
            "--scale-down-unneeded-time=5s",
            "--unremovable-node-recheck-timeout=5s",
            "--v=2",
        ]
        .map(Into::into),
    );
    let environment = vec![("CAPI_GROUP", "machine.openshift.io".into())];
    plane.run_beside("cluster-autoscaler", "cluster-autoscaler", arguments, environment)
}
