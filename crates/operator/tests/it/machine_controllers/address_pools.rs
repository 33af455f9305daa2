//! Static addresses from a pool: given once, told to the claim, and at rest when the claim has gone.

use serde_json::{Value, json};

use super::harness::Place;

fn claim(name: &str) -> Value {
    json!({
        "apiVersion": "ipam.cluster.x-k8s.io/v1beta1", "kind": "IPAddressClaim", "metadata": {"name": name},
        "spec": {"poolRef": {"apiGroup": "slipway.dev", "kind": "AddressPool", "name": "blue"}},
    })
}

fn given(place: &Place, name: &str) -> Option<String> {
    place.get("ipaddressclaim", name)["status"]["addressRef"]["name"].as_str().map(str::to_owned)
}

fn pool(addresses: &Value, quarantine: &str) -> Value {
    json!({
        "apiVersion": "slipway.dev/v1alpha1", "kind": "AddressPool", "metadata": {"name": "blue"},
        "spec": {"addresses": addresses, "prefix": 24, "gateway": "10.0.0.1", "quarantine": quarantine},
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_is_given_once_and_rests() {
    let place = Place::new();
    tokio::task::block_in_place(|| {
        let plane = place.plane;
        let names = [
            "cluster-api/ipaddressclaims.ipam.cluster.x-k8s.io",
            "cluster-api/ipaddresses.ipam.cluster.x-k8s.io",
        ];
        plane.install_definitions(&names).unwrap();
        let ours = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/crds/addresspools.slipway.dev.yaml");
        plane.kubectl().apply(&fs_err::read_to_string(ours).unwrap()).unwrap();
        plane.wait_for_definitions().unwrap();
    });
    let running = place.start("address-pools").await;
    tokio::task::block_in_place(|| {
        place.apply(&[claim("a"), claim("b"), claim("c"), pool(&json!(["10.0.0.1-10.0.0.3"]), "1h")]);
        let told = place.condition("addresspool", "blue", "Ready", "Exhausted");
        assert!(told["message"].as_str().unwrap().contains("for 1 claims"), "{told}");
        let mut names: Vec<String> = ["a", "b", "c"].iter().filter_map(|name| given(&place, name)).collect();
        names.sort();
        assert_eq!(names, ["blue-10-0-0-2", "blue-10-0-0-3"], "the gateway is no machine's");
        let address = place.get("ipaddress.ipam.cluster.x-k8s.io", "blue-10-0-0-2");
        assert_eq!(
            (&address["spec"]["address"], &address["spec"]["prefix"], &address["spec"]["gateway"]),
            (&json!("10.0.0.2"), &json!(24), &json!("10.0.0.1"))
        );

        // One machine goes. Its address rests, though another claim waits for one.
        let gone = ["a", "b", "c"].into_iter().find(|name| given(&place, name).is_some()).unwrap();
        let its = given(&place, gone).unwrap();
        let waits = ["a", "b", "c"].into_iter().find(|name| given(&place, name).is_none()).unwrap();
        place.run(&["delete", "ipaddressclaim", gone]);
        place.wait("it rests", || {
            let status = place.get("addresspool", "blue")["status"].clone();
            (status["quarantined"] == 1 && status["used"] == 1).then_some(())
        });
        assert_eq!(given(&place, waits), None);
        place.apply(&[pool(&json!(["10.0.0.1-10.0.0.3"]), "0s")]);
        place.wait("it is given again", || given(&place, waits).filter(|name| *name == its));
        place.condition("addresspool", "blue", "Ready", "Ready");

        place.apply(&[pool(&json!(["some"]), "1h")]);
        let told = place.condition("addresspool", "blue", "Ready", "InvalidSpec");
        assert!(told["message"].as_str().unwrap().contains("`some`"), "{told}");
    });
    running.stop().await;
}
