//! The controller is killed before and after every write of its journal. Whatever was begun, a Machine has one virtual machine, and none
//! when it is gone.

use serde_json::json;

use super::gate::{At, Gate};
use super::world::{World, calls, virtual_machines};

/// More writes than a Machine's making or going needs.
const MAX_WRITES: usize = 24;

/// Whether the controller was killed, or had nothing more to write.
fn cut(world: &mut World, at: At, is_over: impl Fn(&World) -> bool) -> bool {
    let gate = Gate::at(at);
    world.start_through(gate.clone());
    let stopped = world.runtime.handle().clone();
    let stopped = stopped.spawn({
        let gate = gate.clone();
        async move { gate.stopped().await }
    });
    loop {
        if stopped.is_finished() {
            world.kill();
            return true;
        }
        if is_over(world) {
            // What follows the last write needs none.
            stopped.abort();
            world.kill();
            println!("{} writes", gate.writes());
            return false;
        }
        std::thread::yield_now();
    }
}

#[test]
fn a_machine_has_one_virtual_machine_wherever_it_is_cut_off() {
    let mut world = World::new();
    let mut made = 0;
    for kind in [At::Before as fn(usize) -> At, At::After as fn(usize) -> At] {
        for number in 0..MAX_WRITES {
            let (at, name) = (kind(number), format!("m-{made}-{number}"));
            world.machine(&name, "127.0.0.1", "north");
            made += 1;
            let is_made = |world: &World| {
                let machine = world.get(&name);
                machine["status"]["phase"] == "Provisioned"
                    && machine["status"]["providerStatus"]["instanceState"] == "poweredOn"
            };
            let was_cut = cut(&mut world, at, is_made);
            if was_cut {
                world.start();
                world.wait_until_made(&name);
                world.stop();
            }
            let machine = world.get(&name);
            let found = virtual_machines(&world.north, "north");
            let own: Vec<_> = found.iter().filter(|(found, _)| *found == name).collect();
            assert_eq!(own.len(), 1, "{at:?}: {found:?}");
            assert_eq!(own[0].1["props"]["instanceUuid"], machine["metadata"]["uid"], "{at:?}");
            assert_eq!(calls(&world.north, "CloneVM_Task"), made, "{at:?}: one copy for each machine");
            if !was_cut {
                break;
            }
        }
    }
    let all: Vec<String> =
        virtual_machines(&world.north, "north").into_iter().map(|(name, _)| name).collect();
    let mut cuts = (0..MAX_WRITES).flat_map(|number| [At::Before(number), At::After(number)]);
    for name in all {
        world.delete(&name);
        let at = cuts.next().unwrap_or(At::Before(MAX_WRITES));
        let uid = world.get(&name)["metadata"]["uid"].clone();
        if cut(&mut world, at, |world| world.get(&name).is_null()) {
            world.start();
            world.wait_until_gone(&name);
            world.stop();
        }
        let left = virtual_machines(&world.north, "north");
        assert!(left.iter().all(|(_, machine)| machine["props"]["instanceUuid"] != uid), "{at:?}: {left:?}");
    }
    assert_eq!(virtual_machines(&world.north, "north").len(), 0);
    assert_eq!(world.north.calls().unwrap()["Destroy_Task"], json!(made), "each once");
}
