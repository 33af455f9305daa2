//! The static pods that hold the virtual addresses, balance the API and answer for names.

use k8s_openapi::api::core::v1::{
    Capabilities, Container, HTTPGetAction, HostPathVolumeSource, Pod, PodSpec, Probe, ResourceRequirements,
    SecurityContext, Toleration, Volume, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::{BALANCER_HEALTH_PORT, DNS_HEALTH_PORT, Part};
use crate::objects::{map, within};

/// Where the configurations are on a machine.
pub const CONFIG_FOLDER: &str = "/etc/slipway/onprem";
/// Where the process ids are.
const RUN_FOLDER: &str = "/run/slipway";

/// A program of the image.
struct Program {
    name: &'static str,
    command: &'static [&'static str],
    capabilities: &'static [&'static str],
    /// Port on the machine itself, and path.
    health: Option<(u16, &'static str)>,
    memory: &'static str,
}

const KEEPALIVED: Program = Program {
    name: "keepalived",
    command: &[
        "keepalived",
        "--dont-fork",
        "--vrrp",
        "--log-console",
        "--use-file=/etc/slipway/onprem/keepalived.conf",
        "--pid=/run/slipway/keepalived.pid",
        "--vrrp_pid=/run/slipway/keepalived-vrrp.pid",
    ],
    capabilities: &["NET_ADMIN", "NET_RAW", "NET_BROADCAST", "SETUID", "SETGID"],
    health: None,
    memory: "32Mi",
};

const HAPROXY: Program = Program {
    name: "haproxy",
    command: &["haproxy", "-W", "-f", "/etc/slipway/onprem/haproxy.cfg", "-p", "/run/slipway/haproxy.pid"],
    capabilities: &["NET_BIND_SERVICE"],
    // Without a server behind it the balancer is not ready, but a restart would not help.
    health: None,
    memory: "64Mi",
};

const COREDNS: Program = Program {
    name: "coredns",
    command: &["coredns", "-conf", "/etc/slipway/onprem/Corefile"],
    capabilities: &["NET_BIND_SERVICE"],
    health: Some((DNS_HEALTH_PORT, "/health")),
    memory: "64Mi",
};

/// The pods of a machine, all of one image. They use the machine's network, and read what is in [`CONFIG_FOLDER`]: place
/// them where the kubelet looks once the configurations are there. A program reads its configuration again on SIGHUP
/// (keepalived), on SIGUSR2 (haproxy), or by itself (CoreDNS); process ids are those of the machine.
pub fn static_pods(part: Part, image: &str) -> Vec<Pod> {
    let programs: &[&Program] = match part {
        // There is one API server, and it runs here.
        Part::Bootstrap | Part::Compute => &[&KEEPALIVED, &COREDNS],
        Part::ControlPlane => &[&KEEPALIVED, &HAPROXY, &COREDNS],
    };
    programs.iter().map(|program| pod(program, image)).collect()
}

fn pod(program: &Program, image: &str) -> Pod {
    let Program { name, command, capabilities, health, memory } = program;
    let quantity = |text: &str| Quantity(text.to_owned());
    let requests = [("cpu".to_owned(), quantity("20m")), ("memory".to_owned(), quantity(memory))];
    let container = Container {
        name: (*name).to_owned(),
        image: Some(image.to_owned()),
        // The image is on the machine already: the unit that installs the agent has fetched it.
        image_pull_policy: Some("IfNotPresent".to_owned()),
        command: Some(command.iter().map(|&word| word.to_owned()).collect()),
        liveness_probe: health.map(|(port, path)| probe(port, path)),
        // The bootstrap machine hands the API's address over when this is ready, and the whole cluster waits for that.
        readiness_probe: (*name == HAPROXY.name).then(|| Probe {
            initial_delay_seconds: None,
            period_seconds: Some(2),
            ..probe(BALANCER_HEALTH_PORT, "/haproxy_ready")
        }),
        resources: Some(ResourceRequirements {
            requests: Some(requests.into()),
            ..ResourceRequirements::default()
        }),
        security_context: Some(SecurityContext {
            allow_privilege_escalation: Some(false),
            capabilities: Some(Capabilities {
                add: Some(capabilities.iter().map(|&capability| capability.to_owned()).collect()),
                drop: Some(vec!["ALL".to_owned()]),
            }),
            read_only_root_filesystem: Some(true),
            run_as_user: Some(0),
            ..SecurityContext::default()
        }),
        volume_mounts: Some(vec![mount("config", CONFIG_FOLDER, true), mount("run", RUN_FOLDER, false)]),
        ..Container::default()
    };
    Pod {
        metadata: ObjectMeta {
            labels: Some(map([("app.kubernetes.io/name", *name), ("app.kubernetes.io/part-of", "slipway")])),
            ..within("kube-system", format!("slipway-{name}"))
        },
        spec: Some(PodSpec {
            containers: vec![container],
            host_network: Some(true),
            host_pid: Some(true),
            // What they answer for others they cannot ask for themselves.
            dns_policy: Some("Default".to_owned()),
            priority_class_name: Some("system-node-critical".to_owned()),
            tolerations: Some(vec![Toleration {
                operator: Some("Exists".to_owned()),
                ..Toleration::default()
            }]),
            volumes: Some(vec![volume("config", CONFIG_FOLDER), volume("run", RUN_FOLDER)]),
            ..PodSpec::default()
        }),
        ..Pod::default()
    }
}

fn probe(port: u16, path: &str) -> Probe {
    Probe {
        http_get: Some(HTTPGetAction {
            host: Some("127.0.0.1".to_owned()),
            port: IntOrString::Int(port.into()),
            path: Some(path.to_owned()),
            ..HTTPGetAction::default()
        }),
        initial_delay_seconds: Some(10),
        ..Probe::default()
    }
}

fn mount(name: &str, path: &str, read_only: bool) -> VolumeMount {
    VolumeMount {
        name: name.to_owned(),
        mount_path: path.to_owned(),
        read_only: read_only.then_some(true),
        ..VolumeMount::default()
    }
}

fn volume(name: &str, path: &str) -> Volume {
    let host_path =
        HostPathVolumeSource { path: path.to_owned(), type_: Some("DirectoryOrCreate".to_owned()) };
    Volume { name: name.to_owned(), host_path: Some(host_path), ..Volume::default() }
}
