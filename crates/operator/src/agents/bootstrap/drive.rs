//! One stage after the other, from where the record says.

use std::time::Duration;

use jiff::Timestamp;
use slipway_assets::kubernetes::record::Stage;
use slipway_providers::text::chain;
use tokio::sync::watch;

use super::{Ledger, StageError};
use crate::runtime::stop::ordered;

/// Pauses after failures: the first one, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(30));

/// What the stages do. Each can be run again whatever it has done before.
pub trait Steps: Sync {
    fn perform(&self, stage: Stage) -> impl Future<Output = Result<(), StageError>> + Send;
}

/// Runs the stages that are left, each until it succeeds. Whether all are done, or it was told to end.
pub async fn drive(
    steps: &impl Steps,
    ledger: &Ledger,
    mut stop: watch::Receiver<bool>,
) -> std::io::Result<bool> {
    let (mut pause, longest) = PAUSES;
    while let Some(stage) = ledger.record().next() {
        ledger.begin(stage, Timestamp::now())?;
        let performed = tokio::select! {
            performed = steps.perform(stage) => performed,
            () = ordered(&mut stop) => return Ok(false),
        };
        match performed {
            Ok(()) => {
                ledger.end(stage, Ok(()), Timestamp::now())?;
                pause = PAUSES.0;
            }
            Err(error) => {
                let reason = chain(&error);
                tracing::error!(stage = stage.as_str(), "{reason}");
                ledger.end(stage, Err(&reason), Timestamp::now())?;
                tokio::select! {
                    () = tokio::time::sleep(pause) => {}
                    () = ordered(&mut stop) => return Ok(false),
                }
                pause = (pause * 2).min(longest);
            }
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use rstest::rstest;
    use slipway_assets::kubernetes::RECORD_FILE;
    use slipway_assets::kubernetes::record::{Record, Stage, State};
    use tokio::sync::watch;

    use super::{Steps, drive};
    use crate::agents::bootstrap::{Ledger, StageError};
    use crate::runtime::host::Files;

    /// When the power goes.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Cut {
        Before,
        Within,
    }

    /// Notes what was done; at one place the power goes.
    struct Toy {
        done: Mutex<Vec<Stage>>,
        cut: Option<(Stage, Cut)>,
        power: watch::Sender<bool>,
    }

    impl Toy {
        fn new(cut: Option<(Stage, Cut)>) -> (Self, watch::Receiver<bool>) {
            let (power, stop) = watch::channel(false);
            (Toy { done: Mutex::default(), cut, power }, stop)
        }

        fn done(&self) -> Vec<Stage> {
            self.done.lock().unwrap().clone()
        }
    }

    impl Steps for Toy {
        async fn perform(&self, stage: Stage) -> Result<(), StageError> {
            if self.cut == Some((stage, Cut::Before)) {
                self.power.send_replace(true);
                std::future::pending::<()>().await;
            }
            self.done.lock().unwrap().push(stage);
            if self.cut == Some((stage, Cut::Within)) {
                self.power.send_replace(true);
                std::future::pending::<()>().await;
            }
            Ok(())
        }
    }

    fn now() -> jiff::Timestamp {
        "2026-11-16T12:00:00Z".parse().unwrap()
    }

    /// After a power cut anywhere everything is done in the end, in order, and only the stage it hit is done twice.
    #[tokio::test]
    async fn a_power_cut_anywhere() {
        for stage in Stage::ALL {
            for cut in [Cut::Before, Cut::Within] {
                let folder = tempfile::tempdir().unwrap();
                let files = Files::below(folder.path());
                let ledger = Ledger::open(files.clone(), now()).unwrap();
                let (toy, stop) = Toy::new(Some((stage, cut)));
                assert!(!drive(&toy, &ledger, stop).await.unwrap());
                let mut done = toy.done();
                let written: Record = serde_json::from_str(&files.read(RECORD_FILE).unwrap()).unwrap();
                assert_eq!(written.next(), Some(stage), "the disk knows where it was");
                assert_eq!(written.entry(stage).unwrap().state, State::Running);
                drop(ledger);

                let ledger = Ledger::open(files, now()).unwrap();
                let (toy, stop) = Toy::new(None);
                assert!(drive(&toy, &ledger, stop).await.unwrap());
                assert_eq!(toy.done(), Stage::ALL[Stage::ALL.iter().position(|s| *s == stage).unwrap()..]);
                done.extend(toy.done());
                done.dedup();
                assert_eq!(done, Stage::ALL, "{stage:?} {cut:?}");
                assert!(ledger.record().is_over());
                assert_eq!(ledger.record().entry(stage).unwrap().attempts, 2);
            }
        }
    }

    /// Fails a number of times.
    struct Stubborn(Mutex<u32>);

    impl Steps for Stubborn {
        async fn perform(&self, stage: Stage) -> Result<(), StageError> {
            let mut left = self.0.lock().unwrap();
            if stage == Stage::Api && *left > 0 {
                *left -= 1;
                return Err(StageError::Other("the API server does not answer".to_owned()));
            }
            Ok(())
        }
    }

    #[rstest]
    #[case(1)]
    #[case(8)]
    #[tokio::test(start_paused = true)]
    async fn what_fails_is_tried_again(#[case] times: u32) {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(Files::below(folder.path()), now()).unwrap();
        let (_power, stop) = watch::channel(false);
        assert!(drive(&Stubborn(Mutex::new(times)), &ledger, stop).await.unwrap());
        assert_eq!(ledger.record().entry(Stage::Api).unwrap().attempts, times + 1);
    }

    /// A record that was cut off is a reason to stop: nobody knows what was done.
    #[test]
    fn a_broken_record_is_not_begun_anew() {
        let folder = tempfile::tempdir().unwrap();
        let files = Files::below(folder.path());
        files.write(RECORD_FILE, 0o644, "{\"began\":").unwrap();
        assert!(Ledger::open(files, now()).is_err());
    }
}
