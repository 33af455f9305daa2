//! Who may do what.

use std::time::Duration;

use serde_json::{Value, json};
use slipway_testkit::engine::inventory::{Inventory, Vm};
use slipway_testkit::engine::{ADMIN, Engine, Grant, KEYCLOAK_ADMIN, Login};

use super::client::{Wire, machine};

#[test]
fn each_engine_has_one_form_of_login() {
    for (login, right, wrong) in
        [(Login::Internal, ADMIN, KEYCLOAK_ADMIN), (Login::Keycloak, KEYCLOAK_ADMIN, ADMIN)]
    {
        let engine = Engine::start(&Inventory { login, ..Inventory::default() }).unwrap();
        let wire = Wire::anonymous(&engine);
        assert_eq!(wire.log_in(&engine, right.0, right.1).status, 200);
        for (user, password) in [wrong, (right.0, "wrong"), ("admin", right.1)] {
            let refused = wire.log_in(&engine, user, password);
            assert_eq!(
                (refused.status, refused.json()["error_code"].as_str()),
                (400, Some("access_denied")),
                "{user}"
            );
        }
    }
}

#[test]
fn tokens_end_when_they_are_idle_revoked_or_forgotten() {
    let engine = Engine::start(&Inventory::default()).unwrap();
    let mut wire = Wire::new(&engine);
    let status = |wire: &Wire| wire.ask("GET", "/vms", "").unwrap().status;
    engine.advance(Duration::from_mins(29));
    assert_eq!(status(&wire), 200);
    engine.advance(Duration::from_mins(29));
    assert_eq!(status(&wire), 200);
    engine.advance(Duration::from_mins(31));
    let refused = wire.ask("GET", "/vms", "").unwrap();
    assert!(refused.status == 401 && refused.kind.starts_with("text/html"), "{refused:?}");
    assert!(refused.text.contains("invalid_grant"));

    wire.token = Wire::new(&engine).token;
    assert_eq!(status(&wire), 200);
    engine.go_down();
    assert_eq!(status(&wire), 503);
    engine.come_up();
    assert_eq!(status(&wire), 401);
}

/// An ordinary user sees what there are roles on, and is told so where a list is not filtered.
#[test]
fn users_see_and_do_what_their_roles_permit() {
    let vms = vec![Vm::new("mine", "Default"), Vm::new("theirs", "Default")];
    let engine = Engine::start(&Inventory { vms, ..Inventory::default() }).unwrap();
    let [mine, theirs] = ["mine", "theirs"].map(|name| engine.id("vms", name).unwrap());
    let grant = Grant { role: "UserVmManager".to_owned(), on: Some(("vms".to_owned(), mine.clone())) };
    engine.add_user("alice@internal", "pw", vec![grant]);
    let mut wire = Wire::anonymous(&engine);
    wire.token =
        wire.log_in(&engine, "alice@internal", "pw").json()["access_token"].as_str().unwrap().to_owned();

    let refused = wire.ask("GET", "/vms", "").unwrap();
    assert_eq!(refused.status, 403);
    assert_eq!(refused.json()["detail"], "query execution failed due to insufficient permissions.");
    let filtered = [("filter", "true")];
    let list = |path: &str| wire.ask_with("GET", path, "", &filtered).unwrap().json();
    let names = |list: &Value| {
        let items = list.as_object().unwrap().values().next().map(|items| items.as_array().unwrap().clone());
        items
            .unwrap_or_default()
            .iter()
            .map(|one| one["name"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&list("/vms")), ["mine"]);
    assert_eq!(names(&list("/clusters")), ["Default"]);
    assert_eq!(list("/storagedomains"), json!({}));
    assert_eq!(wire.ask_with("GET", &format!("/vms/{theirs}"), "", &filtered).unwrap().status, 404);

    assert_eq!(wire.ask("POST", &format!("/vms/{mine}/start"), "{}").unwrap().status, 200);
    let refused = wire.ask("POST", &format!("/vms/{theirs}/start"), "{}").unwrap();
    assert_eq!((refused.status, &refused.json()["status"]), (403, &json!("failed")));
    let refused = wire.ask("POST", "/vms", &machine("new").to_string()).unwrap();
    assert_eq!(refused.json()["detail"], "[User is not authorized to perform this action.]");
}
