//! Many Machines on three vCenters, there and away again; and a new one beside many that are settled. `cargo xtask scale` has it with a
//! thousand, every run of the tests with some.

use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use slipway_testkit::process::eventually;
use slipway_testkit::vcenter::VCenter;

use super::super::world::{MACHINES, World, calls, inventory, machine, virtual_machines};

/// How many, unless `cargo xtask scale` says so.
const SOME: usize = 30;
const TIMEOUT: Duration = Duration::from_mins(20);
/// The budget of tasks on a vCenter.
const MAX_TASKS: u64 = 128;
/// A new machine does not wait behind settled ones for longer.
const FIRST_CALL: Duration = Duration::from_secs(2);
const SITES: [(&str, &str); 3] = [("127.0.0.1", "north"), ("localhost", "south"), ("127.0.0.2", "west")];

fn count() -> usize {
    std::env::var("SLIPWAY_MACHINES").ok().and_then(|text| text.parse().ok()).unwrap_or(SOME)
}

fn wait_for_count(world: &World, count: usize) {
    let line = format!("slipway_machines{{phase=\"Provisioned\"}} {count}");
    eventually(&line, TIMEOUT, || Ok(world.metrics_text().contains(&line).then_some(()))).unwrap();
}

#[test]
fn many_come_and_go_on_three_vcenters() {
    let mut world = World::new();
    let west = inventory("west", "44444444-0000-4000-8000-000000000004", "10.1.0.0/16");
    let west =
        VCenter::start_at(IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2)), &west, &["--tls-name", "127.0.0.2"])
            .unwrap();
    world.connect("west", "127.0.0.2", &west);
    let south = world.south.take().unwrap();
    let count = count();
    let machines: Vec<Value> = (0..count)
        .map(|number| {
            let (server, site) = SITES[number % SITES.len()];
            machine(&format!("m-{number}"), server, site, &json!({}))
        })
        .collect();
    world.start();
    let began = Instant::now();
    world.plane.kubectl().apply_all(&machines).unwrap();
    wait_for_count(&world, count);
    println!("{count} machines were made in {:.1} s", began.elapsed().as_secs_f32());
    let vcenters = [(&world.north, "north"), (&south, "south"), (&west, "west")];
    let mut made = 0;
    for (vcenter, site) in vcenters {
        let here = virtual_machines(vcenter, site).len();
        let stats = vcenter.control("GET", "/stats", &Value::Null).unwrap();
        let peak = stats["peak_running_tasks"].as_u64().unwrap();
        println!("{site}: {here} machines, {peak} tasks at most, {} requests", stats["requests"]);
        assert!(peak <= MAX_TASKS, "{stats:#}");
        assert_eq!(calls(vcenter, "CloneVM_Task"), u64::try_from(here).unwrap());
        assert_eq!(calls(vcenter, "Login"), 1);
        made += here;
    }
    assert_eq!(made, count);

    // All are settled: a new one has its first call soon, and the others have none.
    world.north.control("DELETE", "/requests", &Value::Null).unwrap();
    let began = Instant::now();
    world.machine("new", "127.0.0.1", "north");
    let about = |method: &str| calls(&world.north, method) > 0;
    eventually("its first call", TIMEOUT, || {
        Ok((about("FindAllByUuid") || about("FindByUuid") || about("CloneVM_Task")).then_some(()))
    })
    .unwrap();
    let took = began.elapsed();
    println!("the first call for a new machine beside {count} came after {:.2} s", took.as_secs_f32());
    assert!(took < FIRST_CALL, "{took:?}");
    world.wait_until_made("new");
    let stats = world.north.control("GET", "/stats", &Value::Null).unwrap();
    println!("calls for it, and none for the others: {}", stats["by_method"]);
    assert!(stats["requests"].as_u64().unwrap() <= 24, "{stats:#}");

    let began = Instant::now();
    world
        .plane
        .kubectl()
        .run(&["delete", "machines", "--all", "--namespace", MACHINES, "--wait=false"])
        .unwrap();
    eventually("all are gone", TIMEOUT, || {
        let left =
            world.plane.kubectl().run(&["get", "machines", "--namespace", MACHINES, "--output=name"])?;
        Ok(left.trim().is_empty().then_some(()))
    })
    .unwrap();
    println!("{} machines were removed in {:.1} s", count + 1, began.elapsed().as_secs_f32());
    for (vcenter, site) in vcenters {
        assert_eq!(virtual_machines(vcenter, site).len(), 0);
        let stats = vcenter.control("GET", "/stats", &Value::Null).unwrap();
        assert!(stats["peak_running_tasks"].as_u64().unwrap() <= MAX_TASKS, "{stats:#}");
    }
    world.stop();
}
