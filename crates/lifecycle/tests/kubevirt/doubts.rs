//! Nothing is removed or made on doubt.

use serde_json::json;
use slipway_lifecycle::install::Purpose;

use crate::bench::{Bench, Tenancy, plane};
use crate::directory::Subject;
use crate::doubt::{self, Meddled};

impl Meddled for Bench {
    fn machine_name(&self, role: &str) -> String {
        self.name(role)
    }

    fn lose_marks(&self, role: &str) {
        let machine = self.name(role);
        self.tenancy.kubectl(&[
            "label",
            "virtualmachine",
            &machine,
            "slipway.dev/cluster-",
            "slipway.dev/id-",
        ]);
    }

    fn vanish(&self, role: &str) {
        self.tenancy.kubectl(&["delete", "virtualmachine", &self.name(role)]);
    }

    fn take_a_name(&self) -> String {
        let name = self.name("bootstrap-ignition");
        self.tenancy.kubectl(&["create", "secret", "generic", &name, "--from-literal=mine=1"]);
        name
    }
}

#[test]
fn a_machine_without_its_labels_keeps_everything_from_going() {
    doubt::a_machine_without_marks_keeps_everything_from_going(&Bench::new("harbour"));
}

#[test]
fn a_name_that_is_taken_is_left_alone() {
    let bench = Bench::new("harbour");
    doubt::a_name_that_is_taken_is_left_alone(&bench);
    let secret = bench.tenancy.object("secret", &bench.name("bootstrap-ignition"));
    assert_eq!(secret["data"], json!({"mine": "MQ=="}));
}

#[test]
fn a_machine_that_vanished_is_not_made_again_unasked() {
    doubt::a_machine_that_vanished_is_not_made_again_unasked(&Bench::new("harbour"));
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
