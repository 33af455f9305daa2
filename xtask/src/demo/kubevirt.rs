//! `cargo xtask demo --platform kubevirt`: the main job as a user of a namespace, from an install-config to machines and back.

use std::time::Instant;

use anyhow::{Context, bail};
use slipway_testkit::control_plane::ControlPlane;
use slipway_testkit::kubevirt::{self, StandIn, Tenant};
use slipway_testkit::scratch::Scratch;

use super::{Excerpt, Stage, say};
use crate::command::{cargo, root, run as run_command};
use crate::peers;

const NAMESPACE: &str = "tenant-harbour";

/// Kinds that a cluster could leave something of.
const KINDS: &str = "virtualmachines,virtualmachineinstances,datavolumes,persistentvolumeclaims,secrets";

pub(crate) fn run() -> anyhow::Result<()> {
    let began = Instant::now();
    println!("building what the demo needs: a Kubernetes API server with KubeVirt's definitions, slipway");
    peers::need(&["etcd", "kubernetes", "kubectl", "crds", "kubevirt-crds"])?;
    run_command(&mut cargo(&["build", "--quiet", "--package", "slipway-cli", "--bin", "slipway"]))?;
    let plane = kubevirt::start()?;
    let role = fs_err::read_to_string(root().join("deploy/kubevirt/role.yaml"))?;
    let tenant = Tenant::new(&plane, NAMESPACE, &role)?;
    let stand_in = StandIn::start(plane.kubectl(), NAMESPACE);
    let before = contents(&plane)?;
    let scratch = Scratch::new("demo")?;
    fs_err::create_dir(scratch.join("harbour"))?;
    scratch.write("harbour/install-config.yaml", tenant.install_config("harbour"))?;
    let kubeconfig = tenant.kubeconfig.to_str().context("a path in UTF-8")?.to_owned();
    let environment = vec![("KUBECONFIG", kubeconfig)];
    let mut stage = Stage { folder: scratch.join("."), environment, picture: None };
    let mut slipway = |arguments: &[&str]| stage.slipway(arguments, Excerpt::default());

    say("A namespace, a user with the shipped Role in it, an install-config. Is everything there?");
    slipway(&["preflight", "--dir", "harbour"])?;
    say("What would `create cluster` do?");
    slipway(&["plan", "--dir", "harbour"])?;
    say(
        "Do it. KubeVirt's own controllers are played; the API server, its authorization and its rules are real.",
    );
    slipway(&["create", "cluster", "--dir", "harbour", "--no-wait"])?;
    say("What kubectl sees:");
    let machines = plane.kubectl().run(&["get", "virtualmachineinstances", "--namespace", NAMESPACE])?;
    println!("{}", machines.trim_end());
    let running = machines.lines().filter(|line| line.contains("Running")).count();
    if running != 4 {
        bail!("kubectl sees {running} running machines, not 4");
    }
    say("Run it again: there is nothing left to do.");
    slipway(&["create", "cluster", "--dir", "harbour", "--no-wait"])?;
    say("Destroy it.");
    slipway(&["destroy", "cluster", "--dir", "harbour", "--yes"])?;
    let after = contents(&plane)?;
    if after != before {
        bail!("the namespace is not as it was before: {after}");
    }
    say("The namespace is exactly as it was before.");
    drop(stand_in);
    scratch.settle();
    println!("\nthe demo took {:.0} s", began.elapsed().as_secs_f32());
    Ok(())
}

fn contents(plane: &ControlPlane) -> anyhow::Result<String> {
    plane.kubectl().run(&["get", KINDS, "--namespace", NAMESPACE, "--output=name"])
}
