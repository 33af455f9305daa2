//! Names of the old form, looked up on the vCenter.

use serde_json::{Value, json};
use slipway_testkit::vcenter::VCenter;

use crate::bench::{config, inventory, problems, run, start, topology};

/// Without paths, as they were once written.
fn by_name(vcenters: &[VCenter]) -> Value {
    let mut config = config(vcenters);
    let topology = topology(&mut config, 0);
    (topology["computeCluster"], topology["datastore"]) = (json!("compute"), json!("fast"));
    config
}

#[tokio::test]
async fn names_stand_for_paths() {
    let vcenters = [start("127.0.0.1", &inventory(0), &[])];
    assert_eq!(problems(&run(&by_name(&vcenters)).await), Vec::<String>::new());
}

/// What lies elsewhere is found and judged, but the files of the cluster would be wrong.
#[tokio::test]
async fn a_name_that_is_elsewhere_is_told_with_its_path() {
    let mut estate = inventory(0);
    estate["categories"] = json!([]);
    estate["datacenters"][0]["clusters"][0]["folder"] = json!("racks");
    estate["datacenters"][0]["clusters"][0]["hosts"][0]["version"] = json!("7.0.1");
    let vcenters = [start("127.0.0.1", &estate, &[])];
    let report = run(&by_name(&vcenters)).await;
    assert_eq!(
        problems(&report),
        [
            "127.0.0.1: Failure names compute",
            "127.0.0.1: Failure hosts /dc1/host/racks/compute/esx-0",
            "127.0.0.1: Failure hosts /dc1/host/racks/compute/esx-1",
            "127.0.0.1: Failure hosts /dc1/host/racks/compute/esx-2",
        ]
    );
    assert!(report.findings[0].remedy.as_deref().unwrap().contains("`/dc1/host/racks/compute`"));
}

#[tokio::test]
async fn of_two_none_is_guessed() {
    let mut estate = inventory(0);
    estate["datacenters"][0]["folders"]["vm"] = json!(["templates", "blue/team", "red/team"]);
    let vcenters = [start("127.0.0.1", &estate, &[])];
    let mut config = by_name(&vcenters);
    topology(&mut config, 0)["folder"] = json!("team");
    let report = run(&config).await;
    assert_eq!(problems(&report), ["127.0.0.1: Failure names team"]);
    assert_eq!(report.findings[0].details, ["/dc1/vm/blue/team", "/dc1/vm/red/team"]);
}
