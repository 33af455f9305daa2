//! Quotas and limits of the namespace against the sum of what will be made.

use std::collections::BTreeMap;

use slipway_config::quantity::Quantity;
use slipway_providers::kubevirt::inventory::{Inventory, Limit, Quota};

use super::{Wanted, WantedMachine};
use crate::preflight::report::{Check, Finding};

const MIB: f64 = 1024.0 * 1024.0;

/// What the pod of a machine asks for beside the machine's memory, as KubeVirt estimates it: its processes, the tables of
/// pages, and something for each processor.
const POD_MEMORY: f64 = 250.0 * MIB;
const POD_MEMORY_PER_CORE: f64 = 8.0 * MIB;
const PAGE_TABLES: f64 = 1.0 / 512.0;

/// A processor of a machine, where KubeVirt's configuration cannot be read.
const CPU_ALLOCATION_RATIO: u32 = 10;

pub(super) fn judge(wanted: &Wanted, inventory: &Inventory, is_made: impl Fn(&str) -> bool) -> Vec<Finding> {
    let ratio = inventory.kubevirt.known().and_then(|all| all.first()).map(|one| one.cpu_allocation_ratio);
    let ratio = ratio.unwrap_or(CPU_ALLOCATION_RATIO);
    let to_make: Vec<&WantedMachine> =
        wanted.machines.iter().filter(|machine| !is_made(&machine.name)).collect();
    let mut findings = Vec::new();
    let needs = needs(wanted, &to_make, ratio);
    for quota in inventory.quotas.known().into_iter().flatten() {
        findings.push(judge_quota(quota, &needs, to_make.len()));
    }
    for limit in inventory.limits.known().into_iter().flatten() {
        findings.extend(judge_limit(limit, wanted, &to_make, ratio));
    }
    findings
}

fn amount(text: &str) -> f64 {
    Quantity::parse(text).map_or(0.0, |quantity| quantity.value())
}

fn pod_memory(machine: &WantedMachine) -> f64 {
    let guest = amount(&machine.memory);
    guest + guest * PAGE_TABLES + POD_MEMORY + POD_MEMORY_PER_CORE * f64::from(machine.cores)
}

fn pod_cpu(machine: &WantedMachine, ratio: u32) -> f64 {
    f64::from(machine.cores) / f64::from(ratio)
}

/// What all of it asks for, by the names that quotas use.
fn needs(wanted: &Wanted, machines: &[&WantedMachine], ratio: u32) -> BTreeMap<String, f64> {
    let count = machines.iter().fold(0.0, |count, _| count + 1.0);
    let sum = |of: &dyn Fn(&WantedMachine) -> f64| machines.iter().map(|machine| of(machine)).sum::<f64>();
    let memory = sum(&pod_memory);
    let cpu = sum(&|machine| pod_cpu(machine, ratio));
    let storage = sum(&|machine| amount(&machine.disk)) + amount(&wanted.image_size);
    let mut needs = BTreeMap::from([
        ("requests.memory".to_owned(), memory),
        ("memory".to_owned(), memory),
        ("requests.cpu".to_owned(), cpu),
        ("cpu".to_owned(), cpu),
        ("requests.storage".to_owned(), storage),
        ("persistentvolumeclaims".to_owned(), count + 1.0),
        ("count/persistentvolumeclaims".to_owned(), count + 1.0),
        ("count/datavolumes.cdi.kubevirt.io".to_owned(), count + 1.0),
        ("pods".to_owned(), count),
        ("count/pods".to_owned(), count),
        ("secrets".to_owned(), count),
        ("count/secrets".to_owned(), count),
        ("count/virtualmachines.kubevirt.io".to_owned(), count),
        ("count/virtualmachineinstances.kubevirt.io".to_owned(), count),
    ]);
    if let Some(class) = &wanted.storage_class {
        needs.insert(format!("{class}.storageclass.storage.k8s.io/requests.storage"), storage);
        needs.insert(format!("{class}.storageclass.storage.k8s.io/persistentvolumeclaims"), count + 1.0);
    }
    needs
}

/// Whether it counts the pods of machines: they have requests, and no end.
fn counts_machines(quota: &Quota) -> bool {
    quota.scopes.iter().all(|scope| matches!(scope.as_str(), "NotTerminating" | "NotBestEffort"))
}

fn judge_quota(quota: &Quota, needs: &BTreeMap<String, f64>, machines: usize) -> Finding {
    if !counts_machines(quota) {
        let scopes: Vec<&str> = quota.scopes.iter().map(String::as_str).collect();
        let message = format!("it does not count machines: its scope is {}", scopes.join(", "));
        return Finding::pass(Check::Quota, quota.name.as_str(), message);
    }
    let short = quota.hard.iter().filter_map(|(resource, hard)| {
        let needed = *needs.get(resource)?;
        let free = amount(hard) - quota.used.get(resource).map_or(0.0, |used| amount(used));
        (needed > free).then(|| {
            let [needed, free] = [needed, free.max(0.0)].map(|number| shown(resource, number));
            format!("{resource}: at least {needed} needed, {free} free of {hard}")
        })
    });
    let short: Vec<String> = short.collect();
    if !short.is_empty() {
        let message = format!("there is no room for {machines} machines, their disks and the image");
        let remedy =
            "ask the administrator of the infrastructure cluster for more, or make machines smaller or fewer";
        return Finding::failure(Check::Quota, quota.name.as_str(), message).remedy(remedy).details(short);
    }
    let limited: Vec<&str> =
        quota.hard.keys().map(String::as_str).filter(|name| name.starts_with("limits.")).collect();
    if !limited.is_empty() {
        let message = format!(
            "it wants limits of every pod ({}), and machines have none of their own",
            limited.join(", ")
        );
        let remedy = "KubeVirt sets them by itself from v1.1 on where a quota asks for them; ask the administrator of an older one";
        return Finding::warning(Check::Quota, quota.name.as_str(), message).remedy(remedy);
    }
    Finding::pass(Check::Quota, quota.name.as_str(), format!("there is room for {machines} machines"))
}

/// Bytes in gibibytes, and everything else as it is.
fn shown(resource: &str, number: f64) -> String {
    let is_bytes = resource.ends_with("memory") || resource.ends_with("storage");
    if is_bytes { format!("{:.1} GiB", number / (1024.0 * MIB)) } else { format!("{number:.1}") }
}

fn judge_limit(limit: &Limit, wanted: &Wanted, machines: &[&WantedMachine], ratio: u32) -> Vec<Finding> {
    let mut problems = Vec::new();
    let mut compare = |name: &str, resource: &str, number: f64| {
        let [most, least] = [&limit.max, &limit.min].map(|bounds| bounds.get(resource));
        if let Some(most) = most.filter(|most| number > amount(most)) {
            problems
                .push(format!("{name}: {} of {resource}, at most {most} allowed", shown(resource, number)));
        }
        if let Some(least) = least.filter(|least| number < amount(least)) {
            problems
                .push(format!("{name}: {} of {resource}, at least {least} needed", shown(resource, number)));
        }
    };
    match limit.kind.as_str() {
        "Pod" | "Container" => {
            for machine in machines {
                compare(&machine.name, "memory", pod_memory(machine));
                compare(&machine.name, "cpu", pod_cpu(machine, ratio));
            }
        }
        "PersistentVolumeClaim" => {
            compare("the image", "storage", amount(&wanted.image_size));
            for machine in machines {
                compare(&machine.name, "storage", amount(&machine.disk));
            }
        }
        _ => {}
    }
    if let Some(memory) = limit.default.get("memory").filter(|_| limit.kind == "Container") {
        let killed = machines.iter().filter(|machine| pod_memory(machine) > amount(memory));
        problems.extend(killed.map(|machine| {
            format!("{}: its pod would get the default limit of {memory} memory, and be killed", machine.name)
        }));
    }
    if problems.is_empty() {
        return Vec::new();
    }
    let message = format!("its limits for each {} do not fit", limit.kind);
    let remedy =
        "ask the administrator of the infrastructure cluster to change it, or change the sizes of machines";
    vec![Finding::failure(Check::Quota, limit.name.as_str(), message).remedy(remedy).details(problems)]
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use slipway_providers::kubevirt::inventory::{Inventory, Limit, Quota, Seen};

    use super::super::{Wanted, WantedMachine};
    use super::judge;
    use crate::finding::Outcome;
    use crate::preflight::report::Finding;

    fn amounts(all: &[(&str, &str)]) -> std::collections::BTreeMap<String, String> {
        all.iter().map(|(name, amount)| ((*name).to_owned(), (*amount).to_owned())).collect()
    }

    fn wanted() -> Wanted {
        let machine = |name: &str| WantedMachine {
            name: name.to_owned(),
            cores: 4,
            memory: "16Gi".to_owned(),
            disk: "100Gi".to_owned(),
        };
        Wanted {
            image_size: "20Gi".to_owned(),
            storage_class: Some("fast".to_owned()),
            machines: ["a", "b"].map(machine).into(),
            ..Wanted::default()
        }
    }

    fn findings(quotas: Vec<Quota>, limits: Vec<Limit>, made: &str) -> Vec<Finding> {
        let inventory = Inventory {
            kubevirt: Seen::Forbidden,
            profiles: Seen::Forbidden,
            classes: Seen::Forbidden,
            attachments: Seen::Forbidden,
            quotas: Seen::Known(quotas),
            limits: Seen::Known(limits),
        };
        judge(&wanted(), &inventory, |name| name == made)
    }

    #[rstest]
    #[case::room(&[("requests.memory", "40Gi"), ("requests.cpu", "1")], &[], "", Outcome::Pass)]
    #[case::what_the_pod_takes(&[("requests.memory", "32Gi")], &[], "", Outcome::Failure)]
    #[case::used(&[("requests.memory", "40Gi")], &[("requests.memory", "10Gi")], "", Outcome::Failure)]
    #[case::one_is_there(&[("requests.memory", "40Gi")], &[("requests.memory", "17Gi")], "a", Outcome::Pass)]
    #[case::processors(&[("requests.cpu", "700m")], &[], "", Outcome::Failure)]
    #[case::disks(&[("fast.storageclass.storage.k8s.io/requests.storage", "219Gi")], &[], "", Outcome::Failure)]
    #[case::disks_fit(&[("requests.storage", "220Gi")], &[], "", Outcome::Pass)]
    #[case::objects(&[("count/virtualmachines.kubevirt.io", "1")], &[], "", Outcome::Failure)]
    #[case::limits(&[("limits.memory", "100Gi")], &[], "", Outcome::Warning)]
    #[case::others(&[("services", "0")], &[], "", Outcome::Pass)]
    fn quotas(
        #[case] hard: &[(&str, &str)],
        #[case] used: &[(&str, &str)],
        #[case] made: &str,
        #[case] expected: Outcome,
    ) {
        let quota =
            Quota { name: "quota".to_owned(), hard: amounts(hard), used: amounts(used), ..Quota::default() };
        let findings = findings(vec![quota], Vec::new(), made);
        let [finding] = findings.as_slice() else { panic!("{findings:?}") };
        assert_eq!(finding.outcome, expected, "{finding:?}");
    }

    #[test]
    fn a_quota_for_other_pods_does_not_matter() {
        let quota = Quota {
            name: "jobs".to_owned(),
            hard: amounts(&[("pods", "0")]),
            scopes: ["Terminating".to_owned()].into(),
            ..Quota::default()
        };
        let findings = findings(vec![quota], Vec::new(), "");
        assert_eq!(findings[0].outcome, Outcome::Pass, "{findings:?}");
    }

    #[rstest]
    #[case::too_large("Pod", &[("memory", "16Gi")], &[], &[], 2)]
    #[case::large_enough("Pod", &[("memory", "17Gi")], &[], &[], 0)]
    #[case::too_small("Container", &[], &[("cpu", "1")], &[], 2)]
    #[case::claims("PersistentVolumeClaim", &[("storage", "50Gi")], &[], &[], 2)]
    #[case::all_claims("PersistentVolumeClaim", &[("storage", "10Gi")], &[], &[], 3)]
    #[case::killed("Container", &[], &[], &[("memory", "1Gi")], 2)]
    #[case::of_pods_it_is_no_default("Pod", &[], &[], &[("memory", "1Gi")], 0)]
    fn limits(
        #[case] kind: &str,
        #[case] max: &[(&str, &str)],
        #[case] min: &[(&str, &str)],
        #[case] default: &[(&str, &str)],
        #[case] problems: usize,
    ) {
        let [min, max, default] = [min, max, default].map(amounts);
        let limit = Limit { name: "range".to_owned(), kind: kind.to_owned(), min, max, default };
        let findings = findings(Vec::new(), vec![limit], "");
        let found: usize = findings.iter().map(|finding| finding.details.len()).sum();
        assert_eq!(found, problems, "{findings:?}");
    }
}
