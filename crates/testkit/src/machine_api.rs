//! OpenShift's own controllers of Machines.

use std::ffi::OsString;

use crate::control_plane::ControlPlane;
use crate::network::free_port;
use crate::process::Process;

/// Where Machines are.
pub const NAMESPACE: &str = "openshift-machine-api";

/// One of its programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Controller {
    MachineSets,
    HealthChecks,
    NodeLinks,
    /// Makes and drains Machines on vCenters.
    VSphere,
}

/// Starts one as cluster administrator, without its webhooks. It ends with the control plane. `environment` is what else it
/// is told, such as whom to trust.
pub fn start<'p>(
    plane: &'p mut ControlPlane,
    controller: Controller,
    environment: &[(&str, OsString)],
) -> anyhow::Result<&'p mut Process> {
    let (program, more): (_, &[&str]) = match controller {
        Controller::MachineSets => {
            ("mapi-machineset", &["--metrics-bind-address=0", "--webhook-enabled=false"])
        }
        Controller::HealthChecks => ("mapi-machine-healthcheck", &["--metrics-bind-address=0"]),
        Controller::NodeLinks => ("mapi-nodelink", &[]),
        Controller::VSphere => ("mapi-vsphere", &["--metrics-bind-address=0"]),
    };
    let mut arguments: Vec<OsString> = vec![format!("--namespace={NAMESPACE}").into()];
    arguments.extend(["--kubeconfig".into(), plane.kubeconfig().into()]);
    arguments.extend(more.iter().map(Into::into));
    if controller != Controller::NodeLinks {
        arguments.push(format!("--health-addr=127.0.0.1:{}", free_port()?).into());
    }
    plane.run_beside(program, program, arguments, environment.to_vec())
}
