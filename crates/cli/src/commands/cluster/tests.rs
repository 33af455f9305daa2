//! A platform that only tests know, from a plan to nothing left: through the same seam as the real ones, shown by the same
//! commands.

use std::path::Path;
use std::sync::Arc;

use slipway_config::ids::InfraId;
use slipway_engine::journal::{Entry, JournalError, Record, Task};
use slipway_engine::progress::Nobody;
use slipway_engine::{Endpoint, FileJournal, Id, Journal};
use slipway_lifecycle::install::{AnyRun, Error, Installation, Purpose, Run, Target, Through, Timeouts};
use slipway_lifecycle::preflight::network::{ExpectedNetwork, ThisMachine};
use slipway_lifecycle::preflight::{Options, Platform, Request, examine};
use slipway_providers::provider::Provider;

use super::toy::{Files, Thing, Toy};
use super::{carry_out, create, exit_of, plan_text, preview, status, tally};
use crate::args::{Color, Format};
use crate::commands::preflight;
use crate::exit::Exit;
use crate::output::Printer;
use crate::runtime::Runtime;

/// A cluster on the sites, with the journal of its directory.
fn run(toy: &Toy, directory: &Path) -> Run<Files> {
    Run::new(Target {
        cluster: "c1".to_owned(),
        infra_id: InfraId::try_from("c1-x7k2p".to_owned()).unwrap(),
        spec: Files::default(),
        unread: None,
        platform: toy.clone(),
        journal: FileJournal::open(&directory.join("journal.jsonl")).unwrap(),
        temporary_journal: None,
        store: None,
        bootstrapped: false,
        warnings: Vec::new(),
    })
}

/// What a command opens.
fn open(toy: &Toy, directory: &Path) -> Box<dyn Installation> {
    AnyRun::boxed(run(toy, directory))
}

/// A journal that fails at an entry, as if the process had died there: before it is written, or after.
struct Death {
    at: usize,
    written: bool,
}

struct Dying<'j> {
    journal: &'j mut FileJournal<Thing>,
    /// How many entries are written until then.
    left: usize,
    written: bool,
}

impl Through<Thing> for Death {
    fn journal<'j>(
        &self,
        own: &'j mut FileJournal<Thing>,
    ) -> impl Journal<Thing, Error = JournalError> + use<'j> {
        Dying { journal: own, left: self.at, written: self.written }
    }
}

impl Journal<Thing> for Dying<'_> {
    type Error = JournalError;

    async fn append(&mut self, entries: Vec<Entry<Thing>>) -> Result<(), JournalError> {
        for entry in entries {
            let died = || JournalError::from(std::io::Error::other("the process died"));
            if self.left == 0 && !self.written {
                return Err(died());
            }
            self.journal.append(vec![entry]).await?;
            if self.left == 0 {
                return Err(died());
            }
            self.left -= 1;
        }
        Ok(())
    }

    fn record(&self, id: &Id) -> Option<&Record<Thing>> {
        self.journal.record(id)
    }

    fn task(&self, id: &Id) -> Option<&Task> {
        self.journal.task(id)
    }
}

fn names(toy: &Toy) -> Vec<String> {
    toy.sites().things.keys().map(ToString::to_string).collect()
}

fn printer() -> Printer {
    Printer::new(Color::Never, Format::Text, true, false)
}

fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

#[test]
fn a_platform_of_its_own_is_shown_by_the_same_commands() {
    let (toy, directory) = (Toy::default(), tempfile::tempdir().unwrap());
    let (runtime, printer) = (Runtime::new().unwrap(), printer());
    let timeouts = Timeouts::default();

    let (installation, first) =
        preview(open(&toy, directory.path()), Purpose::Create, &[], &runtime, &printer).unwrap();
    let words = installation.words();
    assert_eq!(tally(&first.plan, words), "8 steps on 2 sites");
    insta::assert_snapshot!(plain(&plan_text(&first.plan)));

    let applied = carry_out(installation, &first, &[], timeouts, &runtime, &printer).unwrap();
    assert_eq!(exit_of(&applied), Exit::Ok);
    insta::assert_snapshot!(plain(&create::table(&applied.machines, words)));

    // A site that is down leaves its part unknown, and the rest as it is.
    toy.sites().down.insert(Endpoint::from("west"));
    let (installation, observed) =
        preview(open(&toy, directory.path()), Purpose::Create, &[], &runtime, &printer).unwrap();
    insta::assert_snapshot!(plain(&status::table(&status::rows(&observed))));
    runtime.block_on(installation.close());
    let refused = preview(open(&toy, directory.path()), Purpose::Destroy, &[], &runtime, &printer);
    assert_eq!(refused.map(drop).unwrap_err().unwrap(), Exit::Infrastructure);
    assert_eq!(names(&toy).len(), 8, "nothing was removed");

    toy.sites().down.clear();
    for purpose in [Purpose::DestroyBootstrap, Purpose::Destroy] {
        let (installation, planned) =
            preview(open(&toy, directory.path()), purpose, &[], &runtime, &printer).unwrap();
        let applied = carry_out(installation, &planned, &[], timeouts, &runtime, &printer).unwrap();
        assert_eq!(exit_of(&applied), Exit::Ok, "{purpose:?}");
    }
    assert_eq!(names(&toy), Vec::<String>::new());
}

/// What the preflight is asked: the sites, and nothing of the network around them.
fn request(platform: Platform) -> Request {
    let network = ExpectedNetwork {
        domain: "c1.example.com".to_owned(),
        api: Vec::new(),
        ingress: Vec::new(),
        managed: false,
        machine_networks: Vec::new(),
        by_name: false,
        begun: false,
    };
    Request { cluster: "c1".to_owned(), platform, network, findings: Vec::new() }
}

#[test]
fn a_platform_of_its_own_is_examined_by_the_same_commands() {
    let (toy, runtime, printer) = (Toy::default(), Runtime::new().unwrap(), printer());
    let examined = |platform: Platform| {
        let looking = examine(request(platform), Options::default(), ThisMachine, std::future::pending());
        runtime.block_on(looking).unwrap()
    };
    let before_create = |platform: Platform| {
        create::preflight(request(platform), Timeouts::default(), Toy::WORDS, false, &runtime, &printer)
    };
    let sites = || Platform::Inspected(Arc::new(toy.clone()));

    let report = examined(sites());
    assert_eq!(preflight::exit_of(&report), Exit::Ok);
    insta::assert_snapshot!(plain(&preflight::text(&report, true)));
    assert_eq!(before_create(sites()).unwrap(), None);

    toy.sites().down.insert(Endpoint::from("west"));
    toy.sites().full.insert(Endpoint::from("east"));
    let report = examined(sites());
    assert_eq!(preflight::exit_of(&report), Exit::Infrastructure);
    insta::assert_snapshot!(plain(&preflight::text(&report, false)));
    assert_eq!(before_create(sites()).unwrap(), Some(Exit::Infrastructure));

    // Without rules it is not ready, but not checked.
    let report = examined(Platform::NotInspected { name: "toy", endpoints: "the sites" });
    assert_eq!(preflight::exit_of(&report), Exit::NotChecked);
    insta::assert_snapshot!(plain(&preflight::text(&report, false)));
}

#[test]
fn a_crash_at_any_entry_of_the_journal_makes_nothing_twice() {
    let runtime = Runtime::new().unwrap();
    let whole = {
        let (toy, directory) = (Toy::default(), tempfile::tempdir().unwrap());
        finish(&toy, directory.path(), Purpose::Create, &runtime);
        names(&toy)
    };
    for (at, written) in (0..16).flat_map(|at| [(at, false), (at, true)]) {
        let (toy, directory) = (Toy::default(), tempfile::tempdir().unwrap());
        for purpose in [Purpose::Create, Purpose::Destroy] {
            let context = format!("{purpose:?}, cut at entry {at}, written: {written}");
            let death = Death { at, written };
            // With a runtime of its own: a process that dies takes everything along that it was doing.
            let process = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let cut = process.block_on(async {
                let mut run = run(&toy, directory.path());
                let planned = run.plan(purpose, &[]).await.unwrap();
                let options = planned.options(&[], Timeouts::default());
                run.apply_through(&death, planned, &options, &Nobody, std::future::pending()).await
            });
            drop(process);
            assert!(matches!(cut, Err(Error::Journal(_))), "{context}: {cut:?}");
            finish(&toy, directory.path(), purpose, &runtime);
            let left = if purpose == Purpose::Create { whole.clone() } else { Vec::new() };
            assert_eq!(names(&toy), left, "{context}");
        }
        let made = &toy.sites().made;
        assert!(made.values().all(|count| *count == 1), "cut at entry {at}, written: {written}: {made:?}");
    }
}

fn finish(toy: &Toy, directory: &Path, purpose: Purpose, runtime: &Runtime) {
    let outcome = runtime.block_on(async {
        let mut run = run(toy, directory);
        let planned = run.plan(purpose, &[]).await.unwrap();
        run.apply(planned, &[], Timeouts::default(), &Nobody, std::future::pending()).await.unwrap()
    });
    assert!(outcome.is_done(), "{:?}", outcome.ends);
}

/// A plan as the first release saved it (commit 086e3d1) says what to do instead of being taken for something else.
#[test]
fn a_plan_of_the_first_release_is_refused() {
    let plan = serde_json::json!({
        "version": 1,
        "steps": [{
            "resource": {"endpoint": "vc1", "kind": "power", "name": "harbour-x7k2p-master-0"},
            "action": "await-address", "verb": "wait for address",
            "sentence": "wait until `harbour-x7k2p-master-0` has an address",
            "limit": {"secs": 930, "nanos": 0}, "after": [],
        }],
        "stops": [{
            "resource": {"endpoint": "vc1", "kind": "apart", "name": "/north/host/compute: harbour-x7k2p-control-plane"},
            "reason": "it waits for machine `harbour-x7k2p-master-0` on vc1",
        }],
        "unknown": [],
        "seen": {"power `harbour-x7k2p-master-0` on vc1": "0f"},
    });
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("harbour.plan");
    fs_err::write(&path, plan.to_string()).unwrap();
    let error = create::read_plan(&path).unwrap_err().to_string();
    assert!(error.contains("by another version of slipway (format 1)"), "{error}");
    assert!(error.contains("slipway plan --save"), "{error}");
}
