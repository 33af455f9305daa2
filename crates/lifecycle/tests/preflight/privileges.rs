//! Every privilege, taken away in turn.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use slipway_assets::Named;
use slipway_config::install_config::load;
use slipway_lifecycle::platform::vsphere::preflight::{Expectations, NeededPrivilege};
use slipway_lifecycle::preflight::report::{Check, Outcome};

use crate::bench::{config, inventory, options, problems, remove, run_as, start, topology};

const PASSWORD: &str = "pw";

/// Where a need is felt on this estate.
fn place(need: &NeededPrivilege) -> &str {
    match need.object.as_str() {
        "/dc1/host/compute/net" => "/dc1/network/net",
        object if object.starts_with("/dc1/vm/") && !object.contains("templates") => "/dc1/vm",
        object => object,
    }
}

/// Users who may do everything but one thing at one place.
fn users(lacks: &[(String, String)], all: &BTreeSet<String>) -> Value {
    let mut estate = inventory(0);
    let mut roles = vec![json!({"name": "everything", "privileges": all})];
    let mut permissions = Vec::new();
    let mut users = Vec::new();
    for (number, (object, privilege)) in lacks.iter().enumerate() {
        let user = format!("user-{number}");
        let but: Vec<&String> = all.iter().filter(|held| *held != privilege).collect();
        roles.push(json!({"name": user, "privileges": but}));
        let principal = format!("{user}@vsphere.local");
        let mut permit = |entity: &str, role: &str, propagate: bool| {
            permissions.push(
                json!({"principal": principal, "role": role, "entity": entity, "propagate": propagate}),
            );
        };
        if object == "/" {
            permit("/", &user, true);
            permit("/dc1", "everything", true);
        } else {
            permit("/", "everything", true);
            permit(object, &user, false);
        }
        users.push(json!({"name": user, "password": PASSWORD}));
    }
    estate["users"] = json!(users);
    estate["roles"] = json!(roles);
    estate["permissions"] = json!(permissions);
    estate
}

/// With a template of the user, and with one that is imported.
#[tokio::test]
async fn each_missing_privilege_is_named_where_it_is_missing() {
    let imported = |config: &mut Value| {
        remove(topology(config, 0), "template");
        config["platform"]["vsphere"]["clusterOSImage"] = json!("https://127.0.0.1/rhcos.ova");
    };
    each_in_turn(|_| {}).await;
    each_in_turn(imported).await;
}

async fn each_in_turn(edit: fn(&mut Value)) {
    let vcenters = [start("127.0.0.1", &inventory(0), &[])];
    let config_of = |vcenters: &[_]| {
        let mut config = config(vcenters);
        edit(&mut config);
        config
    };
    let loaded = load(&config_of(&vcenters).to_string());
    let planned = Expectations::new("".into(), Named::undrawn(loaded.config.unwrap()));
    let needs = planned.needs(0).unwrap();
    let lacks: BTreeSet<(String, String)> =
        needs.iter().map(|need| (place(need).to_owned(), need.privilege.clone())).collect();
    let lacks: Vec<(String, String)> = lacks.into_iter().collect();
    let all: BTreeSet<String> = needs.iter().map(|need| need.privilege.clone()).collect();
    assert!(lacks.len() > 30, "{lacks:?}");

    let vcenters = [start("127.0.0.1", &users(&lacks, &all), &[])];
    let config = config_of(&vcenters);
    for (number, (object, privilege)) in lacks.iter().enumerate() {
        let user = format!("user-{number}@vsphere.local");
        let report = run_as(&config, (&user, PASSWORD), None, options()).await;
        let found: Vec<_> =
            report.findings.iter().filter(|finding| finding.outcome != Outcome::Pass).collect();
        let [finding] = found[..] else { panic!("{privilege} on {object}: {:#?}", problems(&report)) };
        assert_eq!(&finding.object, object);
        assert!(
            finding.message.ends_with(&format!("lacks {privilege} on `{object}`")),
            "{}",
            finding.message
        );
        assert!(finding.message.to_lowercase().contains(&format!("user-{number}`")), "{}", finding.message);
        let (check, outcome) = match privilege.as_str() {
            "Host.Inventory.EditCluster" => (Check::AntiAffinity, Outcome::Warning),
            _ => (Check::Privileges, Outcome::Failure),
        };
        assert_eq!((finding.check, finding.outcome), (check, outcome));
    }
}

/// A privilege that this version does not know is not asked for.
#[tokio::test]
async fn old_versions_need_fewer_privileges() {
    let mut estate = users(&[("/".to_owned(), "Cns.Searchable".to_owned())], &BTreeSet::new());
    estate["vcenter"] = json!({"privileges_unknown": ["Cns.Searchable"]});
    estate["roles"] = json!([]);
    estate["users"] = json!([{"name": "user-0", "password": PASSWORD}]);
    estate["permissions"] =
        json!([{"principal": "user-0@vsphere.local", "role": "Admin", "entity": "/", "propagate": true}]);
    let vcenters = [start("127.0.0.1", &estate, &[])];
    let report = run_as(&config(&vcenters), ("user-0@vsphere.local", PASSWORD), None, options()).await;
    assert_eq!(problems(&report), Vec::<String>::new());
}

/// Who may only look is told everything at once, object by object.
#[tokio::test]
async fn who_may_only_look_is_told_everything() {
    let mut estate = inventory(0);
    estate["users"] = json!([{"name": "reader", "password": PASSWORD}]);
    estate["permissions"] = json!([{"principal": "reader@vsphere.local", "role": "ReadOnly", "entity": "/"}]);
    let vcenters = [start("127.0.0.1", &estate, &[])];
    let report = run_as(&config(&vcenters), ("reader@vsphere.local", PASSWORD), None, options()).await;
    assert_eq!(
        problems(&report),
        [
            "127.0.0.1: Failure privileges /",
            "127.0.0.1: Failure privileges /dc1/datastore/fast",
            "127.0.0.1: Failure privileges /dc1/host/compute/Resources",
            "127.0.0.1: Failure privileges /dc1/network/net",
            "127.0.0.1: Failure privileges /dc1/vm",
            "127.0.0.1: Failure privileges /dc1/vm/templates/rhcos",
            "127.0.0.1: Warning anti-affinity /dc1/host/compute",
        ]
    );
}
