//! Waiting for tasks: one call for all of them, whatever happens meanwhile.

use std::time::Duration;

use serde_json::{Value, json};
use slipway_providers::vsphere::error::{Cause, Retry};
use slipway_providers::vsphere::soap::Body;
use slipway_providers::vsphere::tasks::Task;
use slipway_providers::vsphere::{Client, MoRef, Reference};
use slipway_testkit::vcenter::VCenter;

use crate::{calls, client, estate, machines};

/// Longer than any machine that runs tests is busy with something else.
const TIMEOUT: Duration = Duration::from_mins(3);

/// Power operations take so long.
fn slow(machines: usize, milliseconds: u32) -> Value {
    let mut estate = estate(machines);
    estate["task_ms"] = json!({"PowerOffVM_Task": milliseconds});
    estate
}

async fn power_off(client: &Client, machine: &MoRef) -> Task {
    client.start(machine, "PowerOffVM_Task", &Body::new()).await.unwrap()
}

/// From now on tasks are accepted and do not end, until [`go_on`].
fn hold(vcenter: &VCenter) {
    vcenter.control("POST", "/freeze", &json!({"kind": "task"})).unwrap();
}

fn go_on(vcenter: &VCenter) {
    vcenter.control("POST", "/thaw", &Value::Null).unwrap();
}

/// Waits until the server holds a waiting call.
async fn waiting(vcenter: &VCenter, calls_before: u64) {
    let deadline = tokio::time::Instant::now() + TIMEOUT;
    while calls(vcenter, "WaitForUpdatesEx") <= calls_before {
        assert!(tokio::time::Instant::now() < deadline, "nobody waits");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_tasks_share_their_wait() {
    const TASKS: u64 = 200;
    let vcenter = VCenter::start(&slow(200, 300)).unwrap();
    let client = client(&vcenter);
    let machines = machines(&client).await;
    vcenter.control("DELETE", "/requests", &Value::Null).unwrap();
    let waits: Vec<_> = machines
        .into_iter()
        .map(|machine| {
            let client = client.clone();
            tokio::spawn(async move {
                let task = power_off(&client, &machine).await;
                client.finish(&task, TIMEOUT).await
            })
        })
        .collect();
    for wait in waits {
        wait.await.unwrap().unwrap();
    }
    let stats = vcenter.control("GET", "/stats", &Value::Null).unwrap();
    let total = stats["requests"].as_u64().unwrap();
    assert_eq!(calls(&vcenter, "PowerOffVM_Task"), TASKS);
    assert!(total <= 2 * TASKS, "{stats}");
    assert_eq!(calls(&vcenter, "CreatePropertyCollector"), 1);
    assert_eq!(calls(&vcenter, "CreateListView"), 1);
    // Nobody waits, so nothing is asked.
    let waits = calls(&vcenter, "WaitForUpdatesEx");
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(calls(&vcenter, "WaitForUpdatesEx"), waits);
    let active = vcenter.control("GET", "/stats", &Value::Null).unwrap();
    assert_eq!(active["active_requests"], 0, "{active}");
}

/// The list on the server goes with the session; a new one has what is outstanding.
#[tokio::test]
async fn a_wait_survives_its_session() {
    let vcenter = VCenter::start(&estate(3)).unwrap();
    hold(&vcenter);
    let client = client(&vcenter);
    let machines = machines(&client).await;
    let mut tasks = Vec::new();
    for machine in &machines {
        tasks.push(power_off(&client, machine).await);
    }
    let expire = async {
        waiting(&vcenter, 1).await;
        vcenter.control("POST", "/sessions/expire", &json!({})).unwrap();
        go_on(&vcenter);
    };
    let (outcomes, ()) = tokio::join!(client.finish_all(&tasks, TIMEOUT), expire);
    assert!(outcomes.len() == 3 && outcomes.values().all(Result::is_ok), "{outcomes:?}");
    assert_eq!(calls(&vcenter, "CreateListView"), 2);
    assert_eq!(calls(&vcenter, "Login"), 2);
}

/// Also one that expires while nobody waits.
#[tokio::test]
async fn the_list_is_used_again() {
    let vcenter = VCenter::start(&estate(3)).unwrap();
    let client = client(&vcenter);
    let machines = machines(&client).await;
    for machine in &machines[..2] {
        let task = power_off(&client, machine).await;
        client.finish(&task, TIMEOUT).await.unwrap();
    }
    assert_eq!(calls(&vcenter, "CreateListView"), 1);
    vcenter.control("POST", "/sessions/expire", &json!({})).unwrap();
    let task = power_off(&client, &machines[2]).await;
    client.finish(&task, TIMEOUT).await.unwrap();
    assert_eq!(calls(&vcenter, "CreateListView"), 2);
}

/// Nobody can say how it ended: that is neither success nor failure.
#[tokio::test]
async fn a_forgotten_task_is_its_own_outcome() {
    let vcenter = VCenter::start(&slow(1, 300)).unwrap();
    let client = client(&vcenter);
    let machines = machines(&client).await;
    let known = power_off(&client, &machines[0]).await;
    let gone =
        Task { moref: client.moref(Reference::new("Task", "task-999999")), method: "CloneVM_Task".into() };
    let outcomes = client.finish_all(&[gone.clone(), known.clone()], TIMEOUT).await;
    let error = outcomes[&gone.moref].as_ref().unwrap_err();
    assert!(matches!(error.source, Cause::Forgotten { .. }), "{error:?}");
    assert!(error.may_have_acted());
    assert!(outcomes[&known.moref].is_ok(), "{outcomes:?}");
}

#[tokio::test]
async fn several_may_wait_for_one_task_also_when_it_is_over() {
    let vcenter = VCenter::start(&slow(1, 300)).unwrap();
    let client = client(&vcenter);
    let machines = machines(&client).await;
    let task = power_off(&client, &machines[0]).await;
    let (one, other) = tokio::join!(client.finish(&task, TIMEOUT), client.finish(&task, TIMEOUT));
    assert!(one.is_ok() && other.is_ok(), "{one:?} {other:?}");
    client.finish(&task, TIMEOUT).await.unwrap();
}

#[tokio::test]
async fn a_wait_that_is_given_up_is_forgotten() {
    let vcenter = VCenter::start(&estate(2)).unwrap();
    hold(&vcenter);
    let client = client(&vcenter);
    let machines = machines(&client).await;
    let task = power_off(&client, &machines[0]).await;
    let error = client.finish(&task, Duration::from_millis(300)).await.unwrap_err();
    assert!(matches!(error.source, Cause::Timeout(_)), "{error:?}");
    // Somebody who leaves in the middle of it.
    tokio::select! {
        outcome = client.finish(&task, TIMEOUT) => panic!("it has ended: {outcome:?}"),
        () = waiting(&vcenter, calls(&vcenter, "WaitForUpdatesEx")) => {}
    }
    let deadline = tokio::time::Instant::now() + TIMEOUT;
    while calls(&vcenter, "DestroyView") == 0 {
        assert!(tokio::time::Instant::now() < deadline, "the list is left behind");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    // The task goes on, and others can be awaited.
    go_on(&vcenter);
    let next = power_off(&client, &machines[1]).await;
    let outcomes = client.finish_all(&[task, next], TIMEOUT).await;
    assert!(outcomes.values().all(Result::is_ok), "{outcomes:?}");
}

#[tokio::test]
async fn a_vcenter_that_dies_fails_the_waits() {
    let vcenter = VCenter::start(&slow(1, 60_000)).unwrap();
    let client = client(&vcenter);
    let machines = machines(&client).await;
    let task = power_off(&client, &machines[0]).await;
    let die = async {
        waiting(&vcenter, 1).await;
        drop(vcenter);
    };
    let (outcome, ()) = tokio::join!(client.finish(&task, TIMEOUT), die);
    let error = outcome.unwrap_err();
    assert!(matches!(error.source, Cause::Unheard(_)), "{error:?}");
    assert!(error.may_have_acted() && error.retry() == Retry::Later(None), "{error:?}");
}

#[tokio::test]
async fn a_logout_ends_the_waits() {
    let vcenter = VCenter::start(&slow(1, 60_000)).unwrap();
    let client = client(&vcenter);
    let machines = machines(&client).await;
    let task = power_off(&client, &machines[0]).await;
    let leave = async {
        waiting(&vcenter, 1).await;
        client.logout().await.unwrap();
    };
    let (outcome, ()) = tokio::join!(client.finish(&task, TIMEOUT), leave);
    assert!(matches!(outcome.unwrap_err().source, Cause::LoggedOut));
    let stats = vcenter.control("GET", "/stats", &Value::Null).unwrap();
    assert_eq!(stats["soap_sessions"], 0, "{stats}");
    assert_eq!(calls(&vcenter, "Login"), 1, "nobody came back");
}

#[tokio::test]
async fn progress_is_told() {
    let vcenter = VCenter::start(&estate(1)).unwrap();
    hold(&vcenter);
    let client = client(&vcenter);
    let machines = machines(&client).await;
    let task = power_off(&client, &machines[0]).await;
    let advance = async {
        waiting(&vcenter, 1).await;
        let body = Body::new().text("percentDone", 40);
        client.call(&task.moref, "UpdateProgress", &body).await.unwrap();
    };
    let mut seen = Vec::new();
    let told = |percent| {
        seen.push(percent);
        go_on(&vcenter);
    };
    let (outcome, ()) = tokio::join!(client.finish_with(&task, TIMEOUT, told), advance);
    outcome.unwrap();
    assert_eq!(seen, [40]);
}
