//! Classes of storage, and whether their volumes can be accessed as machines need.

use slipway_providers::kubevirt::inventory::{Inventory, Seen, StorageClass, StorageProfile};

use super::Wanted;
use super::judge::instead;
use crate::preflight::report::{Check, Finding};

const WITHOUT_CDI: &str =
    "the Containerized Data Importer (CDI) is not installed there, which imports the image and clones disks";

pub(super) fn judge(wanted: &Wanted, inventory: &Inventory) -> Vec<Finding> {
    let profiles = match &inventory.profiles {
        Seen::Known(profiles) => Some(profiles.as_slice()),
        Seen::Forbidden => None,
        Seen::NotServed => {
            let remedy = "ask the administrator of the infrastructure cluster to install it";
            return vec![Finding::failure(Check::Storage, "CDI", WITHOUT_CDI).remedy(remedy)];
        }
    };
    let classes = inventory.classes.known().map(Vec::as_slice);
    vec![match &wanted.storage_class {
        Some(name) => named(name, wanted, profiles, classes),
        None => default(wanted, profiles, classes),
    }]
}

fn named(
    name: &str,
    wanted: &Wanted,
    profiles: Option<&[StorageProfile]>,
    classes: Option<&[StorageClass]>,
) -> Finding {
    let of_classes = classes.map(|all| all.iter().map(|class| &class.name).collect::<Vec<_>>());
    let of_profiles = profiles.map(|all| all.iter().map(|profile| &profile.name).collect::<Vec<_>>());
    match of_classes.or(of_profiles) {
        None => {
            let message = "the user may not read which storage classes there are";
            let remedy =
                "ask the administrator whether it is there, and whether its volumes can be accessed so";
            Finding::warning(Check::Storage, name, message).remedy(remedy)
        }
        Some(there) if !there.iter().any(|one| *one == name) => {
            let message = format!("there is no such storage class{}", instead(there));
            Finding::failure(Check::Storage, name, message).remedy("correct `storageClass`")
        }
        Some(_) => access(name, wanted, profiles),
    }
}

fn default(
    wanted: &Wanted,
    profiles: Option<&[StorageProfile]>,
    classes: Option<&[StorageClass]>,
) -> Finding {
    let Some(classes) = classes else {
        let message = "no storage class is named, and the user may not read whether there is a default";
        let remedy = match profiles {
            Some(profiles) => {
                let names = instead(profiles.iter().map(|profile| &profile.name));
                format!("name one with `storageClass`{names}")
            }
            None => "name one with `storageClass`".to_owned(),
        };
        return Finding::warning(Check::Storage, "the default", message).remedy(remedy);
    };
    if let Some(class) = classes.iter().find(|class| class.is_default) {
        return access(&class.name, wanted, profiles);
    }
    let there = instead(classes.iter().map(|class| &class.name));
    let message = format!("no storage class is named, and none is the default{there}");
    Finding::failure(Check::Storage, "the default", message).remedy("name one with `storageClass`")
}

/// What CDI knows of the storage behind a class.
fn access(name: &str, wanted: &Wanted, profiles: Option<&[StorageProfile]>) -> Finding {
    let mode = wanted.access_mode.as_str();
    let profile = profiles.and_then(|profiles| profiles.iter().find(|profile| profile.name == name));
    let modes = profile.map(|profile| &profile.access_modes).filter(|modes| !modes.is_empty());
    let Some(modes) = modes else {
        let message =
            format!("whether its volumes can be {mode} is not known: CDI has no profile of this storage");
        let remedy = "ask the administrator; a volume that cannot stays Pending";
        return Finding::warning(Check::Storage, name, message).remedy(remedy);
    };
    if modes.contains(mode) {
        return Finding::pass(Check::Storage, name, format!("its volumes can be {mode}"));
    }
    let offered: Vec<&str> = modes.iter().map(String::as_str).collect();
    let message = format!("its volumes cannot be {mode}, only {}", offered.join(", "));
    let remedy = if wanted.migrates() {
        "choose another `storageClass`, or write `persistentVolumeAccessMode: ReadWriteOnce` and do without live migration"
    } else {
        "choose another `storageClass`, or another `persistentVolumeAccessMode`"
    };
    Finding::failure(Check::Storage, name, message).remedy(remedy)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use slipway_providers::kubevirt::inventory::{Inventory, Seen, StorageClass, StorageProfile};

    use super::super::Wanted;
    use super::judge;
    use crate::finding::Outcome;

    fn profiles(all: &[(&str, &[&str])]) -> Seen<Vec<StorageProfile>> {
        let profile = |(name, modes): &(&str, &[&str])| StorageProfile {
            name: (*name).to_owned(),
            access_modes: modes.iter().map(|mode| (*mode).to_owned()).collect(),
        };
        Seen::Known(all.iter().map(profile).collect())
    }

    fn classes(all: &[(&str, bool)]) -> Seen<Vec<StorageClass>> {
        let class = |(name, is_default): &(&str, bool)| StorageClass {
            name: (*name).to_owned(),
            is_default: *is_default,
        };
        Seen::Known(all.iter().map(class).collect())
    }

    const RWX: &[&str] = &["ReadWriteMany", "ReadWriteOnce"];
    const RWO: &[&str] = &["ReadWriteOnce"];

    #[rstest]
    #[case::fits(Some("fast"), profiles(&[("fast", RWX)]), Seen::Forbidden, Outcome::Pass, "can be ReadWriteMany")]
    #[case::only_once(Some("fast"), profiles(&[("fast", RWO)]), Seen::Forbidden, Outcome::Failure, "only ReadWriteOnce")]
    #[case::unknown_storage(Some("fast"), profiles(&[("fast", &[])]), Seen::Forbidden, Outcome::Warning, "no profile")]
    #[case::absent(Some("fast"), profiles(&[("slow", RWX)]), Seen::Forbidden, Outcome::Failure, "there is `slow`")]
    #[case::unreadable(Some("fast"), Seen::Forbidden, Seen::Forbidden, Outcome::Warning, "may not read")]
    #[case::classes_know_better(Some("fast"), profiles(&[("fast", RWX)]), classes(&[("slow", true)]), Outcome::Failure, "`slow`")]
    #[case::default(None, profiles(&[("slow", RWX)]), classes(&[("fast", false), ("slow", true)]), Outcome::Pass, "can be")]
    #[case::no_default(None, profiles(&[("fast", RWX)]), classes(&[("fast", false)]), Outcome::Failure, "none is the default")]
    #[case::default_unreadable(None, profiles(&[("fast", RWX)]), Seen::Forbidden, Outcome::Warning, "whether there is a default")]
    #[case::no_cdi(Some("fast"), Seen::NotServed, Seen::Forbidden, Outcome::Failure, "not installed")]
    fn classes_are_judged(
        #[case] class: Option<&str>,
        #[case] profiles: Seen<Vec<StorageProfile>>,
        #[case] classes: Seen<Vec<StorageClass>>,
        #[case] expected: Outcome,
        #[case] words: &str,
    ) {
        let wanted = Wanted {
            storage_class: class.map(ToOwned::to_owned),
            access_mode: "ReadWriteMany".to_owned(),
            ..Wanted::default()
        };
        let inventory = Inventory {
            kubevirt: Seen::Forbidden,
            profiles,
            classes,
            attachments: Seen::Forbidden,
            quotas: Seen::Forbidden,
            limits: Seen::Forbidden,
        };
        let findings = judge(&wanted, &inventory);
        let [finding] = findings.as_slice() else { panic!("{findings:?}") };
        assert_eq!(finding.outcome, expected, "{finding:?}");
        assert!(finding.message.contains(words), "{finding:?}");
    }
}
