//! Cluster API and its vSphere provider, with their real resource definitions.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use crate::control_plane::ControlPlane;
use crate::kubectl::stream;
use crate::network::free_port;
use crate::peers;
use crate::process::eventually;

/// A manager and the definitions it converts.
struct Manager {
    program: &'static str,
    definitions: &'static str,
    namespace: &'static str,
    /// Labels that say which contracts the definitions follow; kustomize adds them elsewhere.
    contracts: &'static [&'static str],
}

const MANAGERS: [Manager; 2] = [
    Manager {
        program: "cluster-api-controller-manager",
        definitions: "cluster-api",
        namespace: "capi-system",
        contracts: &["v1beta1", "v1beta2"],
    },
    Manager {
        program: "capv-manager",
        definitions: "cluster-api-provider-vsphere",
        namespace: "capv-system",
        contracts: &["v1beta1"],
    },
];

/// Further arguments of the managers.
#[derive(Debug, Clone, Copy, Default)]
pub struct Flags {
    pub core: &'static [&'static str],
    pub vsphere: &'static [&'static str],
}

/// The processes of the managers.
#[derive(Debug, Clone, Copy)]
pub struct Managers {
    pub core: u32,
    pub vsphere: u32,
}

/// Starts both beside a control plane with a private network: their webhooks listen on all interfaces. They
/// end with the control plane.
pub fn start(plane: &mut ControlPlane) -> anyhow::Result<Managers> {
    start_with(plane, Flags::default())
}

/// The same, with further arguments.
pub fn start_with(plane: &mut ControlPlane, flags: Flags) -> anyhow::Result<Managers> {
    if plane.network_of().is_none() {
        bail!(
            "Cluster API's webhooks listen on all interfaces; start the control plane with a private network"
        );
    }
    let files = peers::find("crd-files")?;
    let certificates = plane.scratch().join("webhook");
    fs_err::create_dir_all(&certificates)?;
    let identity = plane.authority().issue("webhook", None, &["127.0.0.1", "localhost"])?;
    fs_err::write(certificates.join("tls.crt"), identity.certificate)?;
    fs_err::write(certificates.join("tls.key"), identity.key)?;
    let mut ids = [0; 2];
    for ((manager, flags), id) in MANAGERS.into_iter().zip([flags.core, flags.vsphere]).zip(&mut ids) {
        let port = free_port()?;
        install(plane, &files.join(manager.definitions), &manager, port)?;
        plane.kubectl().run(&["create", "namespace", manager.namespace])?;
        let mut arguments: Vec<OsString> = vec!["--kubeconfig".into(), plane.kubeconfig().into()];
        arguments.extend(["--webhook-cert-dir".into(), certificates.clone().into()]);
        arguments.push(format!("--webhook-port={port}").into());
        arguments.push(format!("--health-addr=127.0.0.1:{}", free_port()?).into());
        arguments.extend(
            ["--leader-elect=false", "--insecure-diagnostics", "--diagnostics-address=127.0.0.1:0"]
                .map(Into::into),
        );
        arguments.extend(flags.iter().map(Into::into));
        let environment = vec![("POD_NAMESPACE", manager.namespace.into()), ("POD_NAME", "manager".into())];
        *id = plane.run_beside(manager.program, manager.program, arguments, environment)?.id();
    }
    // Converting is what an object needs first; it works as soon as the webhooks answer.
    let kubectl = plane.kubectl().clone();
    eventually("the webhooks answer", Duration::from_mins(3), || {
        kubectl.run(&["get", "machines.v1beta1.cluster.x-k8s.io,vspheremachines", "--all-namespaces"])?;
        Ok(Some(()))
    })?;
    let [core, vsphere] = ids;
    Ok(Managers { core, vsphere })
}

fn install(plane: &ControlPlane, files: &Path, manager: &Manager, port: u16) -> anyhow::Result<()> {
    let kubectl = plane.kubectl();
    let folder = files.to_str().context("a path in UTF-8")?;
    kubectl.run(&["apply", "--server-side", "--filename", folder])?;
    let labels: serde_json::Map<_, _> = manager
        .contracts
        .iter()
        .map(|version| (format!("cluster.x-k8s.io/{version}"), json!(version)))
        .collect();
    let definitions = kubectl.json(&["get", "customresourcedefinitions"])?;
    let mut additions = Vec::new();
    for entry in fs_err::read_dir(files)? {
        let name = entry?.file_name().to_string_lossy().trim_end_matches(".yaml").to_owned();
        let all = definitions["items"].as_array().into_iter().flatten();
        let definition = all.into_iter().find(|one| one["metadata"]["name"] == *name);
        let definition = definition.with_context(|| format!("no definition of {name}"))?;
        let mut addition = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": name, "labels": labels},
        });
        if definition["spec"]["versions"].as_array().is_some_and(|versions| versions.len() > 1) {
            let client = json!({"url": format!("https://127.0.0.1:{port}/convert"), "caBundle": STANDARD.encode(plane.authority().certificate())});
            addition["spec"]["conversion"] = json!({"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": client}});
        }
        additions.push(addition);
    }
    // All at once, by somebody else: what the files say stays. They are parts of definitions, and no whole ones.
    let additions = plane.scratch().write(&format!("{}.yaml", manager.program), stream(&additions))?;
    let additions = additions.to_str().context("a path in UTF-8")?;
    let who = ["--field-manager=kustomize", "--force-conflicts", "--validate=false"];
    kubectl.run(&[&["apply", "--server-side", "--filename", additions], &who[..]].concat())?;
    Ok(())
}
