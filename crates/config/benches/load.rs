//! How long it takes to load and judge an install-config, beside the goal.

#[path = "../tests/it/estate.rs"]
mod estate;

use std::hint::black_box;
use std::time::{Duration, Instant};

use estate::Estate;
use slipway_config::install_config::load;

const ROUNDS: usize = 200;
const GOAL: Duration = Duration::from_millis(10);

fn main() {
    println!("load and judge an install-config with 3 vCenters, median of {ROUNDS} rounds");
    for failure_domains in [10, 100, 1000] {
        let text = serde_json::to_string_pretty(&Estate::large(failure_domains).install_config())
            .unwrap_or_default();
        let mut times: Vec<Duration> = (0..ROUNDS)
            .map(|_| {
                let start = Instant::now();
                black_box(load(black_box(&text)));
                start.elapsed()
            })
            .collect();
        times.sort();
        let median = times[ROUNDS / 2];
        let goal = if failure_domains == 100 { format!("  goal: under {GOAL:?}") } else { String::new() };
        println!("{failure_domains:>5} failure domains {:>6} KiB  {median:>9.2?}{goal}", text.len() / 1024);
    }
}
