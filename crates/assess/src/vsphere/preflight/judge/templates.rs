//! What machines are cloned from.

use slipway_providers::vsphere::inventory::{Item, Machine};

use super::places::Found;
use crate::preflight::report::{Check, Finding};
use crate::vsphere::preflight::expected::{ExpectedDomain, Template};
use crate::vsphere::preflight::snapshot::VCenterSnapshot;

/// The first virtual hardware that works.
const OLDEST_HARDWARE: u32 = 15;

pub(super) fn judge(
    site: &ExpectedDomain,
    found: &Found<'_>,
    stream: Option<u32>,
    snapshot: &VCenterSnapshot,
) -> Vec<Finding> {
    let (Template::Given(name), Some(_)) = (&site.template, found.datacenter) else { return Vec::new() };
    match &named(name, &site.datacenter, snapshot)[..] {
        [only] => one(site, only, stream),
        [] => {
            let message = format!(
                "the template `{name}` is not there, or `{}` may not see it",
                snapshot.privileges.user
            );
            let remedy =
                "correct `topology.template`, or give `clusterOSImage` instead to have an image imported";
            vec![Finding::failure(Check::Template, name, message).remedy(remedy)]
        }
        several => {
            let message =
                format!("there are {} of the name `{name}` in `{}`", several.len(), site.datacenter);
            let finding = Finding::failure(Check::Template, name, message)
                .details(several.iter().map(|item| item.path.clone()))
                .remedy("write the path of one of them in `topology.template`");
            vec![finding]
        }
    }
}

/// Machines and templates by path, or by name within a datacenter.
pub(super) fn named<'a>(name: &str, datacenter: &str, snapshot: &'a VCenterSnapshot) -> Vec<&'a Item> {
    let below = format!("{datacenter}/vm/");
    let path = if name.starts_with('/') { name.to_owned() } else { format!("{below}{name}") };
    let machines = || snapshot.inventory.items().iter().filter(|item| item.machine().is_some());
    let exact: Vec<&Item> = machines().filter(|item| item.path == path).collect();
    if !exact.is_empty() || name.contains('/') {
        return exact;
    }
    machines().filter(|item| item.path.starts_with(&below) && item.is_called(name)).collect()
}

fn one(site: &ExpectedDomain, item: &Item, stream: Option<u32>) -> Vec<Finding> {
    let path = &item.path;
    let fail = |message: String, remedy: &str| {
        Finding::failure(Check::Template, path, format!("the template `{path}` {message}")).remedy(remedy)
    };
    let Some(facts) = item.machine() else { return Vec::new() };
    let mut findings = Vec::new();
    if !facts.template {
        let message =
            format!("`{path}` is a machine, not a template: starting it would change what is cloned");
        findings.push(Finding::warning(Check::Template, path, message).remedy("mark it as a template"));
    }
    match facts.hardware {
        None => findings.push(Finding::unknown(
            Check::Template,
            path,
            format!("the hardware version of `{path}` is not known"),
        )),
        Some(version) if version < OLDEST_HARDWARE => findings.push(fail(
            format!("has hardware version {version}, and {OLDEST_HARDWARE} is the first that works"),
            "upgrade its virtual hardware, or import the image anew",
        )),
        Some(_) => {}
    }
    let smallest = site.machines.iter().map(|machine| machine.os_disk_gib).min();
    match (&facts.disks_gib[..], smallest) {
        ([size], Some(wanted)) if *size > wanted => findings.push(fail(
            format!("has a disk of {size} GiB, and machines are to have {wanted} GiB: disks cannot shrink"),
            "raise `osDisk.diskSizeGB`, or use a template with a smaller disk",
        )),
        ([_], _) => {}
        (disks, _) => findings.push(fail(
            format!("has {} disks instead of one", disks.len()),
            "use a template made from the image of the operating system, with its one disk",
        )),
    }
    findings.extend(release(path, facts, stream));
    if findings.is_empty() {
        let note = match (stream, &facts.product) {
            (Some(_), Some(product)) => format!("the template fits; its release is {product}"),
            _ => "the template fits; which release it must be for is not known".to_owned(),
        };
        findings.push(Finding::pass(Check::Template, path, note));
    }
    findings
}

/// The image may be of the release, or one behind: it is updated when the machine first boots.
fn release(path: &str, facts: &Machine, stream: Option<u32>) -> Option<Finding> {
    let stream = stream?;
    let remedy = "use the image of the release, or give `clusterOSImage` instead to have it imported";
    let product = facts.product.as_deref().and_then(|version| version.split('.').next()?.parse::<u32>().ok());
    let Some(product) = product else {
        let message = format!("which release the template `{path}` is for is not known: it does not say so");
        return Some(Finding::warning(Check::Template, path, message).remedy(remedy));
    };
    let message = format!("the template `{path}` is for release {product}, and {stream} is installed");
    match stream.checked_sub(product) {
        Some(0) => None,
        Some(1) => Some(Finding::warning(Check::Template, path, message).remedy(remedy)),
        Some(_) | None => Some(Finding::failure(Check::Template, path, message).remedy(remedy)),
    }
}
