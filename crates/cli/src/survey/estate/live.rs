//! Real vCenters.

use secrecy::SecretString;
use slipway_lifecycle::platform::vsphere::survey::{self, Session};

use super::raw_mode::RawModeGuard;
use super::{ContactResult, Estate, Failure, Lists, Target};
use crate::output::Printer;
use crate::runtime::Runtime;

/// vCenters, asked over the network.
#[derive(Debug)]
pub(crate) struct Live<'a> {
    runtime: Runtime,
    printer: &'a Printer,
}

impl<'a> Live<'a> {
    pub(crate) fn new(printer: &'a Printer) -> anyhow::Result<Self> {
        Ok(Live { runtime: Runtime::new()?, printer })
    }

    /// Waits for an answer, unless the user wants to stop.
    fn wait<T>(&self, answer: impl Future<Output = T>, wished: impl Future<Output = ()>) -> Option<T> {
        self.runtime.block_on(async {
            tokio::select! {
                answer = answer => Some(answer),
                () = wished => None,
            }
        })
    }
}

impl Estate for Live<'_> {
    fn contact(&mut self, target: &Target) -> Result<ContactResult, Failure> {
        let hush = RawModeGuard::new();
        let greeting = self.wait(survey::contact(target), hush.wished());
        match greeting.filter(|_| !hush.end()) {
            Some(greeting) => Ok(greeting?),
            None => Err(Failure::Interrupted),
        }
    }

    fn read(&mut self, target: &Target, user: &str, password: &SecretString) -> Result<Lists, Failure> {
        let session = Session::new(target, user, password)?;
        let hush = RawModeGuard::new();
        let lists = self.wait(session.read(), hush.wished());
        let announce = async {
            hush.wished().await;
            // The cursor of a hushed terminal does not go back by itself.
            self.printer.say(&format!(
                "ending the session on {} … (Ctrl-C again leaves at once)\r\n",
                target.label()
            ));
            hush.watched().await;
        };
        self.wait(session.log_out(), announce);
        match lists.filter(|_| !hush.end()) {
            Some(lists) => Ok(lists?),
            None => Err(Failure::Interrupted),
        }
    }
}
