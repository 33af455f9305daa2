//! How a host is installed, with the real values.

use std::path::Path;

use serde::Serialize;
use slipway_lifecycle::bare_metal::digest;

use crate::args::Add;
use crate::output::{FAINT, HEADING, NAME};

/// What is done by hand.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Steps {
    node: String,
    ignition: String,
    /// As coreos-installer wants to have it.
    digest: String,
    steps: Vec<Step>,
}

#[derive(Debug, Serialize)]
struct Step {
    what: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<String>,
}

impl Steps {
    pub(super) fn new(args: &Add, file: &Path, ignition: &[u8]) -> Self {
        let digest = digest(ignition);
        let (name, device) = (&args.bare_metal, &args.device);
        let file = file.display().to_string();
        let step = |what: String, command: Option<String>| Step { what, command };
        let image = "oc -n openshift-machine-config-operator get configmap coreos-bootimages -o jsonpath='{.data.stream}' \
                     | jq -r .architectures.x86_64.artifacts.metal.formats.iso.disk.location";
        let mut steps = vec![
            step(
                "download the live image of the operating system the cluster has; on OpenShift this says where it is"
                    .to_owned(),
                Some(image.to_owned()),
            ),
            step(format!("boot {name} from it"), None),
        ];
        let from = if let Some(url) = &args.ignition_url {
            steps.push(step(format!("put {file} where {name} finds it, at {url}"), None));
            // With its digest the file may come over any way: another one is refused.
            format!("--ignition-url={url} --ignition-hash={digest}")
        } else {
            steps.push(step(format!("take {file} to {name}, to /tmp/{name}.ign"), None));
            format!("--ignition-file=/tmp/{name}.ign")
        };
        let install = format!("sudo coreos-installer install {device} {from} --platform=metal");
        steps.push(step(format!("on {name}, install it"), Some(install)));
        steps.push(step("start it anew, from its disk".to_owned(), Some("sudo systemctl reboot".to_owned())));
        let addresses: Vec<String> = args.address.iter().map(ToString::to_string).collect();
        let approval = format!("approve its certificates, for {name} and {}", addresses.join(", "));
        steps.push(if args.no_wait {
            step(approval, Some("slipway node approve".to_owned()))
        } else {
            step(format!("{approval}: this command asks"), None)
        });
        Steps { node: name.clone(), ignition: file, digest, steps }
    }

    pub(super) fn text(&self) -> String {
        let mut text =
            format!("{HEADING}{}{HEADING:#}: its configuration is in {}\n", self.node, self.ignition);
        for (number, Step { what, command }) in self.steps.iter().enumerate() {
            text.push_str(&format!("  {}. {what}\n", number + 1));
            if let Some(command) = command {
                text.push_str(&format!("       {NAME}{command}{NAME:#}\n"));
            }
        }
        text.push_str(&format!(
            "{FAINT}Pods with vSphere volumes cannot run there: `slipway check` finds those that might.{FAINT:#}\n"
        ));
        text
    }
}
