//! Templates that are made from an image: uploaded once, copied inside the vCenter.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use rstest::rstest;
use serde_json::{Value, json};
use slipway_engine::progress::{Event, Listener};
use slipway_lifecycle::install::{Error, Purpose};
use slipway_lifecycle::platform::ImageError;
use slipway_testkit::ova;
use slipway_testkit::vcenter::VCenter;

use crate::bench::{
    Bench, Moment, administrator, assert_done, assert_same, inventory, process, reasons, requests, start,
};

fn image() -> Vec<u8> {
    ova::image().unwrap()
}

fn serve(content: Vec<u8>) -> (u16, Arc<AtomicUsize>) {
    ova::serve(content).unwrap()
}

/// One vCenter with two compute clusters, and a failure domain in each.
fn bench(port: u16, sha256: &str) -> Bench {
    let mut estate = inventory(0);
    let north = &mut estate["datacenters"][0];
    let other = json!({"name": "second", "drs": {"enabled": true}, "hosts": [{"name": "esy", "count": 2}]});
    north["clusters"].as_array_mut().unwrap().push(other);
    estate["categories"][1]["tags"]
        .as_array_mut()
        .unwrap()
        .push(json!({"name": "far-north", "attach": ["/north/host/second"]}));
    let vcenters = Arc::new(vec![start(0, &estate, &[])]);
    Bench::edited(vcenters, "harbour", |text| {
        let domain = text.find("    - name: north").unwrap();
        let first = text[domain..].replace("        template: /north/vm/rhcos\n", "");
        let second = first
            .replace("name: north", "name: far-north")
            .replace("zone: north", "zone: far-north")
            .replace("/north/host/compute", "/north/host/second");
        let image =
            format!("    clusterOSImage: http://127.0.0.1:{port}/rhcos.ova?sha256={sha256}\n    apiVIPs");
        format!("{}{first}{second}", &text[..domain]).replace("    apiVIPs", &image)
    })
}

fn uploads(vcenter: &VCenter) -> usize {
    let upload = |request: &Value| {
        request["kind"] == "http" && matches!(request["method"].as_str(), Some("PUT" | "POST"))
    };
    requests(vcenter).iter().filter(|request| upload(request)).count()
}

/// The simulator keeps a machine that was marked as a template in the list of its resource pool, even after it is gone.
fn without_pools(snapshot: Vec<BTreeMap<String, Value>>) -> Vec<BTreeMap<String, Value>> {
    let pools = |mut objects: BTreeMap<String, Value>| {
        objects.retain(|key, _| !key.ends_with(" ResourcePool"));
        objects
    };
    snapshot.into_iter().map(pools).collect()
}

/// What listeners hear of the upload.
#[derive(Default)]
struct Percents(Mutex<Vec<(String, u8)>>);

impl Listener for Percents {
    fn tell(&self, event: &Event<'_>) {
        if let Event::Progress { verb, percent, .. } = event {
            self.0.lock().unwrap().push(((*verb).to_owned(), *percent));
        }
    }
}

#[test]
fn an_image_is_uploaded_once_and_copied() {
    let image = image();
    let sum = ova::sha256(&image);
    let (port, served) = serve(image);
    let bench = bench(port, &sum);
    let before = bench.snapshot();
    process(async {
        let mut project = bench.open(Purpose::Create).unwrap();
        let planned = project.plan(Purpose::Create, &[]).await.unwrap();
        let needed = || project.needed_image(&planned).unwrap();
        assert!(needed().url.expose().contains("/rhcos.ova"));
        assert!(!needed().cached);
        project.fetch_image().await.unwrap();
        assert!(needed().cached, "one that is there is still verified");
        project.fetch_image().await.unwrap();
        project.close().await;
    });
    assert_eq!(
        served.load(Ordering::Relaxed),
        1,
        "the image that is there is verified, and not downloaded again"
    );
    let percents = Percents::default();
    let outcome = process(async {
        let mut project = bench.open(Purpose::Create).unwrap();
        let planned = project.plan(Purpose::Create, &[]).await.unwrap();
        project.apply(planned, &[], bench.patience, &percents, std::future::pending()).await.unwrap()
    });
    assert_done(&outcome);
    assert_eq!(uploads(&bench.vcenters[0]), 1, "one disk, once");
    assert_eq!(percents.0.into_inner().unwrap().last(), Some(&("import template".to_owned(), 100)));
    let template = |zone: &str| {
        let path = format!("/north/vm/{0}/{0}-rhcos-europe-{zone}", bench.infra_id);
        let object = bench.vcenters[0].object(&path).unwrap().unwrap_or_else(|| panic!("no {path}"));
        assert_eq!(object["tags"].as_array().unwrap().len(), 1, "{object}");
        object
    };
    for zone in ["north", "far-north"] {
        let observed = crate::bench::read_back(&bench.vcenters[0]);
        let path = template(zone)["path"].clone();
        let machine =
            observed["vms"].as_array().unwrap().iter().find(|machine| machine["path"] == path).unwrap();
        assert_eq!(machine["template"], true);
        assert_eq!(machine["extra_config"]["slipway.dev/cluster"], bench.infra_id.as_str());
    }
    assert_eq!(bench.machines(0).len(), 6, "bootstrap, three control-plane machines, two templates");
    assert_done(&bench.run(Purpose::Create).unwrap());

    // An administrator works on the template: it is no import that was cut off.
    let path = template("north")["path"].as_str().unwrap().to_owned();
    let convert = |verb: &str| administrator(&bench.vcenters[0], &[verb, &path]);
    convert("machine");
    let told = reasons(&bench.run(Purpose::Create).unwrap());
    assert!(told.iter().any(|line| line.contains("was converted to a machine")), "{told:?}");
    assert!(bench.vcenters[0].object(&path).unwrap().is_some(), "it is left alone");
    convert("template");
    assert_done(&bench.run(Purpose::Create).unwrap());
    bench.destroy();
    assert_same(&without_pools(before), &without_pools(bench.snapshot()), "after destroy");
}

/// The process ends after every call, the import included, or before one call after the other, and the next one begins as
/// `create cluster` does: with a preflight.
#[rstest]
#[case::after_the_call(Moment::Performed)]
#[case::before_the_call(Moment::Intended)]
fn an_import_that_was_cut_off_does_not_stand_in_its_own_way(#[case] moment: Moment) {
    let image = image();
    let sum = ova::sha256(&image);
    let (port, _) = serve(image);
    let bench = bench(port, &sum);
    let before = bench.snapshot();
    process(async {
        let project = bench.open(Purpose::Create).unwrap();
        project.fetch_image().await.unwrap();
        project.close().await;
    });
    let mut runs = 0;
    // One that ends before its first call gets nowhere.
    let at = |runs: usize| if moment == Moment::Intended { runs } else { 0 };
    while bench.die_at(Purpose::Create, (at(runs), moment)) {
        runs += 1;
        assert!(runs < 100, "it continues for ever");
        assert_eq!(bench.obstacles(), Vec::<String>::new(), "after {runs} runs");
    }
    assert!(runs > if moment == Moment::Intended { 3 } else { 5 }, "{runs}");
    assert_eq!(bench.obstacles(), Vec::<String>::new(), "at the end");
    assert_eq!(bench.machines(0).len(), 6, "bootstrap, three control-plane machines, two templates");
    bench.destroy();
    assert_same(&without_pools(before), &without_pools(bench.snapshot()), "after destroy");
}

#[test]
fn an_image_that_is_not_the_right_one_is_refused() {
    let (port, _) = serve(image());
    let bench = bench(port, &"0".repeat(64));
    process(async {
        let project = bench.open(Purpose::Create).unwrap();
        let error = project.fetch_image().await.unwrap_err();
        assert!(matches!(error, Error::Image(ImageError::Checksum { .. })), "{error:?}");
        project.close().await;
    });
    let images = bench.path(".cache/slipway/images");
    assert_eq!(std::fs::read_dir(images).unwrap().count(), 0, "nothing of it is kept");
}
