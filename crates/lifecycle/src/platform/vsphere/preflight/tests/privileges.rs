//! What the user may do.

use rstest::rstest;
use slipway_assess::vsphere::preflight::needs::NeededPrivilege;

use super::{brief, entities, estate, id, needs, problems, report, wanted};

/// Every privilege on every object, one at a time.
#[test]
fn each_missing_privilege_is_named_alone() {
    let wanted = &wanted();
    let needs = needs(wanted);
    let mut estate = estate();
    estate.privileges.known = needs.iter().map(|need| need.privilege.clone()).collect();
    for held in estate.privileges.held.as_mut().unwrap().values_mut() {
        held.clone_from(&estate.privileges.known);
    }
    let objects = entities(&needs, &estate);
    assert!(objects.len() >= 5, "{objects:?}");
    let mut tried = 0;
    for object in objects {
        let path = estate.inventory.item(&object).unwrap().path.clone();
        for privilege in &estate.privileges.known {
            let mut estate = estate.clone();
            estate.privileges.held.as_mut().unwrap().get_mut(&object).unwrap().remove(privilege);
            let found = problems(wanted, &estate);
            let needed = needs.iter().any(|need| {
                need.privilege == *privilege
                    && entities(std::slice::from_ref(need), &estate) == [object.clone()]
            });
            if !needed {
                assert_eq!(found, [], "{privilege} on {path}");
                continue;
            }
            tried += 1;
            let [finding] = &found[..] else { panic!("{privilege} on {path}: {found:#?}") };
            assert_eq!(finding.object, path);
            assert!(finding.message.ends_with(&format!("lacks {privilege} on `{path}`")), "{finding:?}");
            assert!(finding.message.contains("`VSPHERE.LOCAL\\slipway`"));
        }
    }
    assert!(tried > 30, "{tried}");
}

#[test]
fn what_is_missing_on_an_object_is_said_together() {
    let mut estate = estate();
    let held = estate.privileges.held.as_mut().unwrap().get_mut(&id("Folder", "group-v1")).unwrap();
    held.remove("Folder.Create");
    held.remove("VirtualMachine.Inventory.Delete");
    let found = problems(&wanted(), &estate);
    let [finding] = &found[..] else { panic!("{found:#?}") };
    assert_eq!(
        finding.message,
        "`VSPHERE.LOCAL\\slipway` lacks Folder.Create, VirtualMachine.Inventory.Delete on `/dc1/vm`"
    );
    assert_eq!(
        finding.details,
        [
            "Folder.Create: needed to create the folder of the machines",
            "VirtualMachine.Inventory.Delete: needed to remove machines",
        ]
    );
}

#[test]
fn a_version_that_does_not_know_a_privilege_does_not_need_it() {
    let mut estate = estate();
    let held = estate.privileges.held.as_mut().unwrap();
    held.get_mut(&id("Folder", "group-d1")).unwrap().remove("Cns.Searchable");
    assert_eq!(problems(&wanted(), &estate).len(), 1);
    estate.privileges.known.remove("Cns.Searchable");
    assert_eq!(problems(&wanted(), &estate), []);
}

/// Folders may be missing at any depth; what should be there and is not is reported by others.
#[rstest]
#[case("/", Some("/"))]
#[case("/dc1/vm/a/b/c", Some("/dc1/vm"))]
#[case("/dc1/vm/templates/new", Some("/dc1/vm/templates"))]
#[case("/dc1/vm/rhcos", Some("/dc1/vm/templates/rhcos"))]
#[case("/dc1/host/compute/net", Some("/dc1/network/net"))]
#[case("/dc1/host/other", None)]
#[case("/dc1/host/compute/other", None)]
#[case("/dc2/vm/a", None)]
fn a_need_is_judged_where_it_will_be(#[case] object: &str, #[case] expected: Option<&str>) {
    let need = NeededPrivilege {
        endpoint: String::new(),
        object: object.to_owned(),
        privilege: String::new(),
        step: String::new(),
        left_out: None,
    };
    let estate = estate();
    let found = entities(&[need], &estate);
    let paths: Vec<&str> = found.iter().map(|id| estate.inventory.item(id).unwrap().path.as_str()).collect();
    assert_eq!(paths, Vec::from_iter(expected));
}

#[test]
fn rules_that_keep_machines_apart_can_be_left_out() {
    let mut estate = estate();
    let held = estate.privileges.held.as_mut().unwrap();
    held.get_mut(&id("ClusterComputeResource", "domain-c1")).unwrap().remove("Host.Inventory.EditCluster");
    let found = problems(&wanted(), &estate);
    assert_eq!(found.iter().map(brief).collect::<Vec<_>>(), ["Warning anti-affinity /dc1/host/compute"]);
    assert!(found[0].message.contains("will not be kept on different hosts"));
    assert!(report(&wanted(), &estate).is_clear());
}
