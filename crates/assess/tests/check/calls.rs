//! How many calls a round takes.

use std::time::{Duration, Instant};

use serde_json::Value;
use slipway_assess::check::Context;
use slipway_assess::check::target::VCenter as Checked;
use slipway_providers::vsphere::pool::Pool;
use slipway_providers::vsphere::properties::PropertySpec;
use slipway_providers::vsphere::soap::Body;
use slipway_providers::vsphere::{Client, Endpoint, Login, Proxy};
use slipway_testkit::vcenter::{ADMINISTRATOR, VCenter};
use tokio::task::JoinSet;

use crate::bench::{
    calls, cluster, domain, id, inventory, options, problems, round, sessions, start, start_all, subject,
};

fn endpoint(checked: &Checked) -> Endpoint {
    Endpoint {
        server: checked.server.as_str().into(),
        port: checked.port,
        trust: checked.trust.clone(),
        proxy: Proxy::None,
        timeout: Duration::from_mins(1),
    }
}

/// Pages beyond the first.
fn more_pages(nodes: usize) -> usize {
    nodes / 500
}

#[tokio::test]
async fn a_round_takes_few_calls() {
    let vcenters = start_all(2, 20);
    let (subject, cluster) = (subject(&vcenters), cluster(2, 20));
    let mut context = Context::new(options());
    assert_eq!(problems(&context.round(&subject, Some(&cluster)).await), Vec::<String>::new());
    let first: Vec<usize> = vcenters.iter().map(calls).collect();
    for vcenter in &vcenters {
        vcenter.control("DELETE", "/requests", &Value::Null).unwrap();
    }
    assert_eq!(problems(&context.round(&subject, Some(&cluster)).await), Vec::<String>::new());
    let second: Vec<usize> = vcenters.iter().map(calls).collect();
    context.close().await;
    for (vcenter, (first, second)) in vcenters.iter().zip(first.iter().zip(&second)) {
        assert!(first + 2 <= 20 + 3, "{first} and two to log out: {}", vcenter.calls().unwrap());
        assert!(second < first, "{second}: a session and counters are kept");
        assert_eq!(vcenter.calls().unwrap()["FetchUserPrivilegeOnEntities"], 1);
        assert_eq!(sessions(vcenter), (0, 0));
    }
}

/// With clients that another part of the program holds, a round neither logs in nor out.
#[tokio::test]
async fn a_session_that_is_there_is_used() {
    let vcenters = start_all(1, 2);
    let (subject, cluster) = (subject(&vcenters), cluster(1, 2));
    let pool = Pool::default();
    let checked = &subject.vcenters[0];
    let held = pool.lease(endpoint(checked), checked.login.clone().unwrap()).unwrap();
    held.client().user().await.unwrap();
    let mut context = Context::sharing(options(), pool.clone());
    assert_eq!(problems(&context.round(&subject, Some(&cluster)).await), Vec::<String>::new());
    context.close().await;
    let calls = vcenters[0].calls().unwrap();
    assert_eq!((&calls["Login"], &calls["Logout"]), (&1.into(), &Value::Null), "{calls}");
    held.client().user().await.unwrap();
    drop(held);
    pool.departed().await;
    assert_eq!(sessions(&vcenters[0]), (0, 0));
}

/// Calls grow with failure domains and pages of machines, and with nothing else.
#[tokio::test]
async fn calls_grow_slowly() {
    let nodes = 600;
    let mut estate = inventory(0, nodes);
    let mut clusters = Vec::new();
    let mut tags = Vec::new();
    for zone in 0..4 {
        let mut cluster = estate["datacenters"][0]["clusters"][0].clone();
        cluster["name"] = format!("compute-{zone}").into();
        cluster["hosts"][0]["name"] = format!("esx-{zone}").into();
        cluster["groups"] = Value::Array(Vec::new());
        cluster["rules"] = Value::Array(Vec::new());
        clusters.push(cluster);
        tags.push(serde_json::json!({"name": format!("zone-{zone}"), "attach": [format!("/dc1/host/compute-{zone}")]}));
    }
    estate["datacenters"][0]["clusters"] = clusters.into();
    estate["categories"][1]["tags"] = tags.into();
    for (number, vm) in estate["datacenters"][0]["vms"].as_array_mut().unwrap().iter_mut().enumerate() {
        vm["cluster"] = format!("compute-{}", number % 4).into();
    }
    let vcenters = [start("127.0.0.1", &estate, &[])];
    let mut subject = subject(&vcenters);
    subject.domains = (0..4).map(|zone| domain(zone, "127.0.0.1")).collect();
    for (zone, domain) in subject.domains.iter_mut().enumerate() {
        domain.cluster = Some(format!("/dc1/host/compute-{zone}"));
    }
    assert_eq!(problems(&round(&subject, &cluster(1, nodes)).await), Vec::<String>::new());
    let made = calls(&vcenters[0]);
    assert!(made <= 20 + 3 * 4 + more_pages(nodes), "{made}: {}", vcenters[0].calls().unwrap());
}

/// What others do for each node: find it, read it, its pool, its host, its cluster; ten nodes at a time.
async fn naively(vcenter: &VCenter, nodes: usize) -> (usize, Duration) {
    let subject = subject(std::slice::from_ref(vcenter));
    let login = Login { user: ADMINISTRATOR.0.to_owned(), password: ADMINISTRATOR.1.into() };
    let client = Client::new(endpoint(&subject.vcenters[0]), login).unwrap();
    client.user().await.unwrap();
    vcenter.control("DELETE", "/requests", &Value::Null).unwrap();
    let started = Instant::now();
    let mut tasks = JoinSet::new();
    for number in 0..nodes {
        if tasks.len() == 10 {
            tasks.join_next().await.unwrap().unwrap();
        }
        let client = client.clone();
        tasks.spawn(async move { one_by_one(&client, number).await });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    let took = started.elapsed();
    let made = calls(vcenter);
    client.logout().await.unwrap();
    (made, took)
}

async fn one_by_one(client: &Client, number: usize) {
    let index = client.manager("searchIndex").await.unwrap();
    let body = Body::new().text("uuid", id(0, number)).text("vmSearch", true).text("instanceUuid", false);
    let reply = client.read(&index, "FindByUuid", &body).await.unwrap();
    let found = slipway_providers::vsphere::Reference::of(reply.child("returnval").unwrap());
    let vm = client.moref(found);
    let properties = ["config.extraConfig", "config.flags", "config.version", "runtime.host", "resourcePool"];
    let read = async |object: slipway_providers::vsphere::MoRef, properties: &[&str]| {
        let specs = [PropertySpec { kind: &object.reference.kind.clone(), properties }];
        client.retrieve(&[object], &specs).await.unwrap().remove(0)
    };
    let vm = read(vm, &properties).await;
    read(vm.reference("resourcePool").unwrap(), &["name"]).await;
    let host = read(vm.reference("runtime.host").unwrap(), &["name", "parent", "config.product"]).await;
    read(host.reference("parent").unwrap(), &["name"]).await;
}

/// `cargo xtask bench checks` prints these figures.
#[tokio::test]
#[ignore = "takes minutes"]
async fn bench() {
    let sizes = std::env::var("SLIPWAY_BENCH_NODES").unwrap_or_else(|_| "100,1000,5000".to_owned());
    let mut per_node = Vec::new();
    for nodes in sizes.split(',').map(|size| size.parse::<usize>().unwrap()) {
        let vcenter = start("127.0.0.1", &inventory(0, nodes), &[]);
        let vcenters = [vcenter];
        let (subject, cluster) = (subject(&vcenters), cluster(1, nodes));
        vcenters[0].control("DELETE", "/requests", &Value::Null).unwrap();
        let started = Instant::now();
        let found = round(&subject, &cluster).await;
        let took = started.elapsed();
        assert_eq!(problems(&found), Vec::<String>::new());
        let made = calls(&vcenters[0]);
        assert!(made <= 23 + more_pages(nodes), "{made}");
        let (others, theirs) = naively(&vcenters[0], nodes).await;
        println!("nodes: {nodes}");
        println!("calls per vcenter: {made}");
        println!(
            "calls per vcenter, naively: {others} ({:.0} times as many)",
            ratio(number(others), number(made))
        );
        println!(
            "wall time: {:.2} s, naively {:.2} s ({:.1} times as long)",
            took.as_secs_f64(),
            theirs.as_secs_f64(),
            ratio(theirs.as_secs_f64(), took.as_secs_f64())
        );
        per_node.push((nodes, took.as_secs_f64() / number(nodes)));
    }
    // Linear: a node of many costs no more than twice a node of few.
    let (first, last) = (per_node[0], *per_node.last().unwrap());
    assert!(last.1 <= first.1 * 2.0, "{first:?} {last:?}");
}

fn number(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap())
}

fn ratio(theirs: f64, ours: f64) -> f64 {
    theirs / ours.max(f64::MIN_POSITIVE)
}
