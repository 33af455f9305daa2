//! The constant files of the bootstrap machine.

use super::config::{Builder, PROGRAM, PUBLIC};

/// The text of a file under `files/bootstrap`.
macro_rules! text {
    ($($part:literal),+) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/files/bootstrap/", $($part),+))
    };
}

/// Files of one folder, with their names.
macro_rules! folder {
    ($folder:literal: $($name:literal),+ $(,)?) => {
        &[$(($name, text!($folder, $name))),+]
    };
}

type Folder = &'static [(&'static str, &'static str)];

const BIN: Folder = folder!("bin/":
    "approve-csr.sh",
    "bootkube.sh",
    "crio-configure.sh",
    "kubelet.sh",
    "node-image-overlay.sh",
    "node-image-pull.sh",
    "release-image-download.sh",
    "report-progress.sh",
);

const LIB: Folder = folder!("lib/": "bootstrap-complete.yaml", "release.sh", "stages.sh");

const BOOTKUBE: Folder = folder!("lib/bootkube.d/":
    "10-manifests.sh",
    "20-api.sh",
    "21-auth-api.sh",
    "30-config.sh",
    "40-cvo.sh",
    "50-etcd.sh",
    "60-kube-apiserver.sh",
    "61-kube-controller-manager.sh",
    "62-kube-scheduler.sh",
    "63-ingress.sh",
    "64-node-tuning.sh",
    "70-mco.sh",
    "71-cco.sh",
    "80-dns.sh",
    "81-wait-for-etcd.sh",
    "82-cluster-bootstrap.sh",
    "83-cvo-overrides.sh",
    "84-wait-for-ceo.sh",
    "90-reach-api.sh",
);

const PROGRESS: Folder = folder!("lib/progress.d/":
    "10-wait-for-bootkube.sh",
    "20-wait-for-api.sh",
    "30-report.sh",
);

/// Units that something else starts.
const UNITS: Folder = folder!("units/":
    "bootkube.service",
    "node-image-finish.service",
    "node-image-overlay.service",
    "node-image-overlay.target",
    "node-image-pull.service",
    "release-image.service",
);

const ENABLED_UNITS: Folder = folder!("units/":
    "approve-csr.service",
    "crio-configure.service",
    "kubelet.service",
    "progress.service",
);

/// What every bootstrap machine has.
pub(super) fn add(builder: &mut Builder) {
    let places = [
        ("/usr/local/bin", PROGRAM, BIN),
        ("/usr/local/lib/slipway", PUBLIC, LIB),
        ("/usr/local/lib/slipway/bootkube.d", PUBLIC, BOOTKUBE),
        ("/usr/local/lib/slipway/progress.d", PUBLIC, PROGRESS),
    ];
    for (folder, mode, files) in places {
        for (name, contents) in files {
            builder.file(format!("{folder}/{name}"), mode, contents);
        }
    }
    builder.file("/etc/systemd/system-generators/node-image", PROGRAM, text!("bin/node-image-generator"));
    builder.append("/etc/motd", PUBLIC, text!("etc/motd"));
    for (name, contents) in UNITS {
        builder.unit(name, contents, false);
    }
    for (name, contents) in ENABLED_UNITS {
        builder.unit(name, contents, true);
    }
    // With a certificate of the root CA the journal can be read even when no login works.
    builder.enable("systemd-journal-gatewayd.socket");
    builder.dropin(
        "systemd-journal-gatewayd.service",
        "certs.conf",
        text!("units/journal-gatewayd-certs.conf"),
    );
}

/// What makes the machine ask its own DNS server first, where one runs on it.
pub(super) fn add_local_dns(builder: &mut Builder, platform: &str) {
    let conf = format!("/etc/NetworkManager/conf.d/99-{platform}.conf");
    builder.file(conf, PUBLIC, text!("etc/local-dns.conf"));
    let dispatcher = "/etc/NetworkManager/dispatcher.d/30-local-dns-prepender";
    builder.file(dispatcher, PROGRAM, text!("bin/30-local-dns-prepender"));
}
