//! The record on the disk, and who is told about it.

use std::io;
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use slipway_assets::kubernetes::RECORD_FILE;
use slipway_assets::kubernetes::record::{Record, Stage};
use tokio::sync::watch;

use crate::runtime::host::Files;

/// Keeps the record. What is on the disk is never ahead of what was done.
#[derive(Debug)]
pub struct Ledger {
    files: Files,
    record: Mutex<Record>,
    told: watch::Sender<Record>,
}

impl Ledger {
    /// Reads the record, or begins one.
    pub fn open(files: Files, now: Timestamp) -> io::Result<Self> {
        let record = match files.read_if_there(RECORD_FILE)? {
            Some(text) => serde_json::from_str(&text).map_err(io::Error::other)?,
            None => Record::new(now),
        };
        let ledger = Ledger { files, told: watch::Sender::new(record.clone()), record: Mutex::new(record) };
        ledger.change(|_| true)?;
        Ok(ledger)
    }

    pub fn record(&self) -> Record {
        self.told.borrow().clone()
    }

    /// Everything that is written from now on.
    pub fn follow(&self) -> watch::Receiver<Record> {
        self.told.subscribe()
    }

    pub fn begin(&self, stage: Stage, now: Timestamp) -> io::Result<()> {
        tracing::info!(stage = stage.as_str(), "{}", stage.sentence());
        self.change(|record| {
            record.begin(stage, now);
            true
        })
    }

    pub fn end(&self, stage: Stage, result: Result<(), &str>, now: Timestamp) -> io::Result<()> {
        self.change(|record| {
            record.end(stage, result, now);
            true
        })
    }

    /// Says what a stage waits for. If it cannot be written, the stage goes on all the same.
    pub fn say(&self, stage: Stage, message: &str) {
        let mut news = false;
        let written = self.change(|record| {
            news = record.say(stage, message);
            news
        });
        if news {
            tracing::info!(stage = stage.as_str(), "{message}");
        }
        if let Err(error) = written {
            tracing::warn!(%error, "the record cannot be written");
        }
    }

    fn change(&self, change: impl FnOnce(&mut Record) -> bool) -> io::Result<()> {
        let mut record = self.record.lock().unwrap_or_else(PoisonError::into_inner);
        let mut new = record.clone();
        if !change(&mut new) {
            return Ok(());
        }
        let mut text = serde_json::to_string_pretty(&new)?;
        text.push('\n');
        self.files.write(RECORD_FILE, 0o644, &text)?;
        *record = new.clone();
        self.told.send_replace(new);
        Ok(())
    }
}
