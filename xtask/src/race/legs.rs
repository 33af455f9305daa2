//! What is measured of each.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use super::racer::{Kind, Racer, wait_until_running};
use crate::site;

const MADE: usize = 200;
const SETTLED: usize = 1000;
/// Of three vCenters together.
const SPREAD: usize = 60;
/// After that long, what has been made counts.
const MAKE_LIMIT: Duration = Duration::from_mins(10);
const CLONE_LIMIT: Duration = Duration::from_mins(10);
const DEAD_LIMIT: Duration = Duration::from_mins(3);
/// The others look at everything every ten minutes.
const QUIET: Duration = Duration::from_secs(630);
/// How long logins are counted, in two halves: is it still trying?
const HALF: Duration = Duration::from_mins(1);

/// When the first call came that clones a machine; never, if it was not in time.
#[derive(Debug, Clone, Copy)]
pub(super) struct FirstClone(pub(super) Option<Duration>);

/// The figures of one of them. What was not measured is absent.
#[derive(Debug, Default)]
pub(super) struct Figures {
    /// How many, in what time, with how many calls.
    pub(super) made: Option<(usize, Duration, u64)>,
    /// The first clone of a new machine with none, 200 and 1,000 settled ones, and right after a restart beside 1,000.
    pub(super) first: [Option<FirstClone>; 4],
    /// Per settled machine and hour.
    pub(super) settled_calls: Option<f64>,
    /// Resident, at most: with 200, with 1,000.
    pub(super) memory_kib: [Option<u64>; 2],
    /// Machines on two vCenters while the third answers, and while it does not.
    pub(super) beside: Option<[Option<Duration>; 2]>,
    /// Logins in the first minute and in the second.
    pub(super) logins: Option<[u64; 2]>,
}

/// Makes machines and lets them settle.
pub(super) fn make(kind: Kind, operator: &Path, figures: &mut Figures) -> anyhow::Result<Racer> {
    println!("{}: {MADE} machines", kind.title());
    let racer = Racer::start(kind, operator, 1)?;
    figures.first[0] = Some(FirstClone(racer.first_clone(0, CLONE_LIMIT)?));
    let before = racer.own + 1;
    wait_until_running(racer.vcenters(), before, MAKE_LIMIT)?;
    site::forget_calls(racer.vcenters())?;
    let began = Instant::now();
    racer.add(1..MADE + 1)?;
    wait_until_running(racer.vcenters(), before + MADE, MAKE_LIMIT)?;
    let (took, calls) = (began.elapsed(), site::calls(racer.vcenters())?);
    figures.made = Some((site::running(racer.vcenters())? - before, took, calls));
    racer.settle()?;
    figures.first[1] = Some(FirstClone(racer.first_clone(MADE + 1, CLONE_LIMIT)?));
    figures.memory_kib[0] = Some(racer.memory_kib()?);
    println!("  {figures:?}");
    Ok(racer)
}

/// Calls while nothing is to be done.
pub(super) struct Quiet {
    began: Instant,
}

impl Quiet {
    pub(super) fn begin(racers: &[Racer]) -> anyhow::Result<Self> {
        for racer in racers {
            // With the one that was asked for last.
            racer.settle()?;
            site::forget_calls(racer.vcenters())?;
        }
        Ok(Quiet { began: Instant::now() })
    }

    /// Calls of each per machine and hour.
    #[expect(clippy::cast_precision_loss, reason = "the numbers are small")]
    pub(super) fn end(self, racers: &[Racer]) -> anyhow::Result<Vec<f64>> {
        if racers.is_empty() {
            return Ok(Vec::new());
        }
        println!("waiting until {} s have passed in which nothing was to be done", QUIET.as_secs());
        std::thread::sleep(QUIET.saturating_sub(self.began.elapsed()));
        let hours = self.began.elapsed().as_secs_f64() / 3600.0;
        let per_machine = |racer: &Racer| -> anyhow::Result<f64> {
            let machines = site::running(racer.vcenters())?;
            let calls = site::calls(racer.vcenters())? as f64 / machines as f64 / hours;
            println!("{}: {calls:.1} calls per settled machine and hour", racer.kind.title());
            Ok(calls)
        };
        racers.iter().map(per_machine).collect()
    }
}

/// One more machine beside many that were there before the controller.
pub(super) fn settled(kind: Kind, operator: &Path, figures: &mut Figures) -> anyhow::Result<()> {
    println!("{}: {SETTLED} settled machines", kind.title());
    let mut racer = Racer::prepare(kind, operator, 1)?;
    racer.seed(SETTLED)?;
    racer.run()?;
    racer.settle()?;
    figures.first[2] = Some(FirstClone(racer.first_clone(SETTLED, CLONE_LIMIT)?));
    figures.memory_kib[1] = Some(racer.memory_kib()?);
    racer.settle()?;
    racer.run()?;
    figures.first[3] = Some(FirstClone(racer.first_clone(SETTLED + 1, CLONE_LIMIT)?));
    println!("  {figures:?}");
    Ok(())
}

/// One of three vCenters takes calls and answers none.
pub(super) fn dead(kind: Kind, operator: &Path, figures: &mut Figures) -> anyhow::Result<()> {
    println!("{}: one of three vCenters does not answer", kind.title());
    let racer = Racer::start(kind, operator, 3)?;
    let (others, wanted) = (&racer.vcenters()[1..], SPREAD * 2 / 3);
    let mut took = [None; 2];
    for (turn, took) in took.iter_mut().enumerate() {
        if turn == 1 {
            racer.vcenters()[0].control("POST", "/freeze", &json!({}))?;
        }
        let (before, all) = (site::running(others)?, site::running(racer.vcenters())? + SPREAD);
        let began = Instant::now();
        racer.add(turn * SPREAD..(turn + 1) * SPREAD)?;
        let in_time = wait_until_running(others, before + wanted, DEAD_LIMIT)?;
        *took = in_time.map(|_| began.elapsed());
        if turn == 0 {
            wait_until_running(racer.vcenters(), all, DEAD_LIMIT)?;
        }
    }
    racer.vcenters()[0].control("POST", "/thaw", &json!({}))?;
    figures.beside = Some(took);
    println!("  {took:?}");
    Ok(())
}

/// Every login is refused, as after somebody has changed the password.
pub(super) fn password(kind: Kind, operator: &Path, figures: &mut Figures) -> anyhow::Result<()> {
    println!("{}: every login is refused", kind.title());
    let racer = Racer::start(kind, operator, 1)?;
    let vcenter = &racer.vcenters()[0];
    let refused = json!({"on": {"method": "Login"}, "fault": {"type": "InvalidLogin"}});
    vcenter.control("POST", "/faults", &refused)?;
    vcenter.control("POST", "/sessions/expire", &json!({}))?;
    site::forget_calls(racer.vcenters())?;
    racer.add(0..3)?;
    let mut logins = [0; 2];
    for logins in &mut logins {
        std::thread::sleep(HALF);
        *logins = site::calls_of(racer.vcenters(), "Login")?;
        site::forget_calls(racer.vcenters())?;
    }
    figures.logins = Some(logins);
    println!("  {logins:?} logins");
    Ok(())
}
