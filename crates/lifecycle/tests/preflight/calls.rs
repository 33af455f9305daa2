//! How many calls it takes, and that nothing stays open.

use std::time::Duration;

use rstest::rstest;
use serde_json::{Value, json};
use slipway_testkit::vcenter::{ADMINISTRATOR, VCenter};

use crate::bench::{
    config, inventory, options, problems, run, run_until, sessions, start, start_all, topology,
};

/// Requests by SOAP and REST since the start.
fn requests(vcenter: &VCenter) -> u64 {
    vcenter.control("GET", "/stats", &Value::Null).unwrap()["requests"].as_u64().unwrap()
}

#[tokio::test]
async fn all_is_well_and_few_calls_say_so() {
    let vcenters = start_all(2);
    let report = run(&config(&vcenters)).await;
    assert_eq!(problems(&report), Vec::<String>::new());
    for vcenter in &vcenters {
        let calls = vcenter.calls().unwrap();
        assert!(requests(vcenter) <= 20 + 3, "{calls}");
        assert_eq!(calls["FetchUserPrivilegeOnEntities"], 1);
        assert_eq!(sessions(vcenter), (0, 0), "{calls}");
    }
}

/// Tags are read one by one; those that are of no interest are not read.
#[tokio::test]
async fn tags_of_others_cost_next_to_nothing() {
    let mut estate = inventory(0);
    let attach = ["/dc1", "/dc1/host/compute", "/dc1/host"];
    let others: Vec<Value> =
        (0..40).map(|number| json!({"name": format!("cost-{number}"), "attach": attach})).collect();
    estate["categories"][2]["tags"] = json!(others);
    let vcenters = [start("127.0.0.1", &estate, &[]), start("127.0.0.2", &inventory(1), &[])];
    let report = run(&config(&vcenters)).await;
    assert_eq!(problems(&report), Vec::<String>::new());
    for vcenter in &vcenters {
        assert!(requests(vcenter) <= 20 + 3, "{}", vcenter.calls().unwrap());
    }
}

/// A template without a path and tags by their ids cost the most.
#[tokio::test]
async fn the_dearest_failure_domain_keeps_within_bounds() {
    let vcenters = start_all(2);
    let id = "urn:vmomi:InventoryServiceTag:00000000-0000-0000-0000-000000000000:GLOBAL";
    let mut config = config(&vcenters);
    for position in 0..2 {
        let topology = topology(&mut config, position);
        (topology["template"], topology["tagIDs"]) = (json!("rhcos"), json!([id]));
    }
    let found = problems(&run(&config).await);
    assert_eq!(
        found,
        [format!("127.0.0.1: Failure tag-ids {id}"), format!("127.0.0.2: Failure tag-ids {id}")]
    );
    for vcenter in &vcenters {
        assert!(requests(vcenter) <= 20, "{}", vcenter.calls().unwrap());
    }
}

/// Failure domains that share a vCenter cost next to nothing.
#[tokio::test]
async fn calls_grow_slowly_with_failure_domains() {
    let mut estate = inventory(0);
    let tags: Vec<Value> = (0..8).map(|zone| json!({"name": format!("zone-{zone}")})).collect();
    estate["categories"][1]["tags"] = json!(tags);
    let mut clusters = Vec::new();
    for zone in 0..8 {
        let mut cluster = estate["datacenters"][0]["clusters"][0].clone();
        cluster["name"] = json!(format!("compute-{zone}"));
        cluster["hosts"][0]["name"] = json!(format!("esx-{zone}"));
        cluster["groups"] = json!([]);
        clusters.push(cluster);
        estate["categories"][1]["tags"][zone]["attach"] = json!([format!("/dc1/host/compute-{zone}")]);
    }
    estate["datacenters"][0]["clusters"] = json!(clusters);
    estate["datacenters"][0]["vms"][0]["cluster"] = json!("compute-0");
    let vcenters = [start("127.0.0.1", &estate, &[])];
    let mut config = config(&vcenters);
    let domains = &mut config["platform"]["vsphere"]["failureDomains"];
    let domain = |zone: usize| {
        let mut domain = domains[0].clone();
        let name = json!(format!("zone-{zone}"));
        (domain["name"], domain["zone"]) = (name.clone(), name);
        domain["topology"]["computeCluster"] = json!(format!("/dc1/host/compute-{zone}"));
        domain["topology"]["template"] = json!("rhcos");
        domain
    };
    *domains = (0..8).map(domain).collect();
    let report = run(&config).await;
    assert_eq!(problems(&report), Vec::<String>::new());
    let calls = vcenters[0].calls().unwrap();
    assert!(requests(&vcenters[0]) <= 20 + 3 * 8, "{calls}");
    assert_eq!(sessions(&vcenters[0]), (0, 0));
}

/// Sessions end when a call fails halfway, too.
#[tokio::test]
async fn a_failure_leaves_no_session() {
    let vcenters = start_all(1);
    let rule = json!({
        "on": {"kind": "soap", "method": "CreateContainerView"}, "fault": {"type": "NoPermission", "privilegeId": "System.View"},
    });
    vcenters[0].control("POST", "/faults", &rule).unwrap();
    let report = run(&config(&vcenters)).await;
    assert_eq!(problems(&report), ["127.0.0.1: Failure connection 127.0.0.1"]);
    assert_eq!(sessions(&vcenters[0]), (0, 0));
    assert_eq!(vcenters[0].calls().unwrap()["Logout"], 1);
}

/// The same when the user interrupts it, even while the login is on its way.
#[rstest]
#[case::logging_in("Login", 400)]
#[case::reading("CreateContainerView", 60_000)]
#[tokio::test]
async fn a_cancelled_one_leaves_no_session(#[case] method: &str, #[case] delay: u64) {
    let vcenters = start_all(2);
    for vcenter in &vcenters {
        let rule = json!({"on": {"kind": "soap", "method": method}, "fault": {"delay_ms": delay}});
        vcenter.control("POST", "/faults", &rule).unwrap();
    }
    let everyone_is_asked = async {
        while vcenters.iter().any(|vcenter| vcenter.calls().unwrap()[method].is_null()) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let report = run_until(&config(&vcenters), ADMINISTRATOR, None, options(), everyone_is_asked).await;
    assert_eq!(report, None);
    for vcenter in &vcenters {
        assert_eq!(sessions(vcenter), (0, 0));
        assert_eq!(vcenter.calls().unwrap()["Logout"], 1);
    }
}
