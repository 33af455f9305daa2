//! How a configuration reaches a machine, and how much of it fits.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use slipway_config::install_config::Platform;

use super::config::gzip;
use super::pointer::hostname_wrapper;
use crate::{Cluster, Error};

/// How a configuration is written into the channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    Plain,
    /// `guestinfo.ignition.config.data.encoding` is `gzip+base64`.
    GzipBase64,
}

impl Encoding {
    /// The word Ignition knows it by.
    pub fn as_str(self) -> &'static str {
        match self {
            Encoding::Plain => "",
            Encoding::GzipBase64 => "gzip+base64",
        }
    }
}

/// A configuration as the platform takes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Encoded {
    pub data: Vec<u8>,
    pub encoding: Encoding,
}

/// A way into the machine.
struct Channel {
    name: &'static str,
    encoding: Encoding,
    limit: usize,
}

const MIB: usize = 1 << 20;

fn channel(platform: &Platform) -> Option<Channel> {
    match platform {
        // ESXi keeps guestinfo in the .vmx file, which may have 1 MiB (`tools.setInfo.sizeLimit`, vSphere
        // Security guide); 64 KiB stay for the rest of it. Single values beyond 64 KiB work although
        // open-vm-tools names that as the longest message: openshift-install has put several hundred KiB
        // into one since 4.6.
        Platform::VSphere(_) => Some(Channel {
            name: "guestinfo of the virtual machine",
            encoding: Encoding::GzipBase64,
            limit: MIB - (64 << 10),
        }),
        // The engine stores a custom script of any length, but hands it to libvirt as base64 in the
        // machine's XML, and a string of libvirt's protocol ends at 4 MiB (REMOTE_STRING_MAX). Half of that
        // leaves room for base64 and for the machine. Must stay JSON: the engine edits it.
        Platform::Ovirt(_) => {
            Some(Channel { name: "custom script of the machine", encoding: Encoding::Plain, limit: 2 * MIB })
        }
        // MaxSecretSize of the Kubernetes API. Config drives are read by Ignition as they are.
        Platform::KubeVirt(_) => {
            Some(Channel { name: "Secret with the user data", encoding: Encoding::Plain, limit: MIB })
        }
        // The user brings it to the machine.
        Platform::None => None,
    }
}

/// A configuration in the form that the platform's machines read.
pub fn encoded_for(platform: &Platform, ignition: &[u8]) -> Encoded {
    let encoding = channel(platform).map_or(Encoding::Plain, |channel| channel.encoding);
    let data = match encoding {
        Encoding::Plain => ignition.to_vec(),
        Encoding::GzipBase64 => STANDARD.encode(gzip(ignition)).into_bytes(),
    };
    Encoded { data, encoding }
}

/// Refuses a `bootstrap.ign` that does not fit, and names what takes the space.
pub(crate) fn check(cluster: &Cluster, bootstrap: &[u8], largest: &[(&str, usize)]) -> Result<(), Error> {
    let platform = &cluster.config.platform;
    let Some(channel) = channel(platform) else { return Ok(()) };
    let size = match platform {
        // There it goes into a wrapper, like the configurations of all machines.
        Platform::KubeVirt(_) => hostname_wrapper(bootstrap, &cluster.bootstrap_name()).len(),
        _ => encoded_for(platform, bootstrap).data.len(),
    };
    if size <= channel.limit {
        return Ok(());
    }
    let files: Vec<String> =
        largest.iter().map(|(path, size)| format!("{path} ({} KiB)", size.div_ceil(1024))).collect();
    Err(Error::TooLarge {
        what: "bootstrap.ign".to_owned(),
        reason: format!(
            "has {} KiB when compressed, and the {} takes {} KiB; most of it is {}",
            size.div_ceil(1024),
            channel.name,
            channel.limit / 1024,
            files.join(", ")
        ),
    })
}
