//! Nothing is removed or made on doubt.

use serde_json::json;
use slipway_lifecycle::install::{Directly, Error, Purpose};

use crate::bench::{Bench, Tenancy, plane};

#[test]
fn a_machine_without_its_labels_keeps_everything_from_going() {
    let bench = Bench::new("harbour");
    bench.run(Purpose::Create);
    let machine = bench.name("master-1");
    let bare = ["label", "virtualmachine", &machine, "slipway.dev/cluster-", "slipway.dev/id-"];
    bench.tenancy.kubectl(&bare);
    let before = bench.tenancy.contents();
    let error = bench.run_with(Purpose::Destroy, &Directly).unwrap_err();
    let Error::Unreadable { endpoints } = error else { panic!("{error}") };
    assert!(endpoints.join(" ").contains(&machine), "{endpoints:?}");
    assert_eq!(bench.tenancy.contents(), before);
    let planned = bench.plan(Purpose::Create).unwrap();
    assert!(planned.plan.steps.is_empty());
    assert!(!planned.plan.unknown.is_empty() || !planned.plan.stops.is_empty());
}

#[test]
fn a_name_that_is_taken_is_left_alone() {
    let bench = Bench::new("harbour");
    let name = bench.name("bootstrap-ignition");
    bench.tenancy.kubectl(&["create", "secret", "generic", &name, "--from-literal=mine=1"]);
    let outcome = bench.run_with(Purpose::Create, &Directly).unwrap();
    let taken = outcome.ends.iter().filter(|(id, end)| *id.name == *name && !end.is_done()).count();
    assert_eq!(taken, 1, "{:#?}", outcome.ends);
    let secret = bench.tenancy.object("secret", &name);
    assert_eq!(secret["data"], json!({"mine": "MQ=="}));
    bench.run(Purpose::Destroy);
    let left: Vec<String> = bench.tenancy.contents().into_iter().collect();
    assert_eq!(left, [format!("secret/{name}")]);
}

#[test]
fn a_machine_that_vanished_is_not_made_again_unasked() {
    let bench = Bench::new("harbour");
    bench.run(Purpose::Create);
    bench.tenancy.kubectl(&["delete", "virtualmachine", &bench.name("master-0")]);
    let planned = bench.plan(Purpose::Create).unwrap();
    assert!(planned.plan.steps.is_empty(), "{:#?}", planned.plan.steps);
    assert!(planned.plan.stops.iter().any(|stop| stop.cause.message.contains("is not there now")));
    bench.run(Purpose::Destroy);
    assert!(bench.tenancy.contents().is_empty());
}

#[test]
fn without_a_rule_nothing_is_begun() {
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "slipway-tenant"},
        "rules": [
            {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get"]},
            {"apiGroups": ["kubevirt.io", "cdi.kubevirt.io", ""], "resources": ["*"], "verbs": ["get", "list"]},
        ],
    });
    let bench = Bench::edited(Tenancy::with_role(&role.to_string()), "harbour", |text| text).unwrap();
    let planned = bench.plan(Purpose::Create).unwrap();
    assert!(planned.plan.steps.is_empty(), "{:#?}", planned.plan.steps);
    let told = planned.plan.stops.iter().any(|stop| {
        stop.cause.message.contains("may not create virtualmachines.kubevirt.io")
            || stop.cause.message.contains("may not create datavolumes.cdi.kubevirt.io")
    });
    assert!(told, "{:#?}", planned.plan.stops);
    assert!(plane().kubectl().run(&["get", "namespace", &bench.tenancy.namespace]).is_ok());
    assert!(bench.tenancy.contents().is_empty());
}
