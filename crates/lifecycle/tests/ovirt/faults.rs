//! An engine that fails in every way.

use std::time::Duration;

use slipway_testkit::engine::{Fault, Work};

use crate::bench::Bench;
use crate::dice::Dice;
use crate::storm::{Stormy, Weather};

/// Here; `SLIPWAY_SEEDS` asks for more.
const SEEDS: u64 = 50;

const METHODS: [&str; 4] = ["GET", "POST", "PUT", "DELETE"];
const PATHS: [&str; 8] = [
    "/vms",
    "/vms",
    "/vms/*/start",
    "/vms/*/tags",
    "/vms/*/diskattachments",
    "/clusters/*/affinitygroups",
    "/tags",
    "",
];
const LOCKED: &str = "[Cannot edit VM. Related operation is currently in progress. Please try again later.]";

impl Stormy for Bench {
    fn trouble(&self, dice: &mut Dice) {
        let (method, path) = (*dice.pick(&METHODS), *dice.pick(&PATHS));
        let fault = Fault::new(method, path).times(u32::try_from(1 + dice.below(3)).unwrap());
        match dice.below(9) {
            0 => self.engine.fault(fault.cut()),
            1 => self.engine.fault(fault.lose_answer()),
            2 => self.engine.fault(fault.status(503).html()),
            3 => self.engine.fault(fault.status(409).detail(LOCKED)),
            4 => self.engine.fault(fault.status(500).detail("[Internal Engine Error]")),
            5 => self.engine.expire_tokens(),
            6 => self.engine.lose_events(5),
            7 => {
                let work = *dice.pick(&[Work::Disk, Work::Clone, Work::Boot, Work::Stop]);
                self.engine.pace(work, Duration::from_millis(20 + dice.below(300) as u64));
            }
            _ => {
                self.engine.go_down();
                self.engine.come_up();
            }
        }
    }

    fn calm(&self) {
        self.engine.forget_faults();
        for work in [Work::Disk, Work::Clone, Work::Boot, Work::Stop] {
            self.engine.pace(work, Duration::ZERO);
        }
        self.engine.finish_work();
    }
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().unwrap())
}

#[test]
fn any_weather_ends_in_a_cluster_or_in_nothing() {
    let seeds = match number("SLIPWAY_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("SLIPWAY_SEEDS").unwrap_or(SEEDS),
    };
    let Weather { seeds, made } = Weather::of(&Bench::new("barge"), seeds);
    println!("{seeds} seeds: {made} clusters created at once");
    // Rough weather, but not a flood: most of it passes.
    assert!(seeds < 50 || made * 2 > seeds, "{made} of {seeds}");
}
