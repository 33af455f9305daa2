//! Real vCenters.

use std::error::Error as StdError;
use std::time::Duration;

use secrecy::SecretString;
use slipway_providers::vsphere::error::{Cause, Error};
use slipway_providers::vsphere::{Client, Endpoint, FaultKind, Login, certificate};

use super::hush::Hush;
use super::read;
use super::{Estate, Failure, Greeting, Inventory, Target};
use crate::output::Printer;
use crate::runtime::Runtime;

/// The longest one call may take.
const CALL: Duration = Duration::from_secs(20);
/// The longest a first contact may take, with all attempts.
const GREETING: Duration = Duration::from_secs(45);
/// The longest reading an inventory may take.
const READING: Duration = Duration::from_mins(3);
/// The longest leaving may take.
const GOODBYE: Duration = Duration::from_secs(5);

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

    /// Waits for an answer, for so long, unless the user wants to stop.
    fn wait<T>(
        &self,
        deadline: Duration,
        answer: impl Future<Output = Result<T, Failure>>,
        wished: impl Future<Output = ()>,
    ) -> Result<T, Failure> {
        self.runtime.block_on(async {
            tokio::select! {
                answer = tokio::time::timeout(deadline, answer) => answer.unwrap_or_else(|_| Err(Failure::Other {
                    message: format!("no answer within {} seconds", deadline.as_secs()),
                    hint: Some("the server is busy or a firewall drops packets; try again later".to_owned()),
                })),
                () = wished => Err(Failure::Interrupted),
            }
        })
    }
}

impl Estate for Live<'_> {
    fn greet(&mut self, target: &Target) -> Result<Greeting, Failure> {
        let hush = Hush::new();
        let greet = async {
            // Nobody logs in on the first contact.
            let content = async { client(target, "", &SecretString::default())?.content().await.cloned() };
            let error = match content.await {
                Ok(content) => return Ok(Greeting::Trusted(content.about.full_name)),
                Err(error) => error,
            };
            let reason = match &error.source {
                Cause::Untrusted(reason) => reason.to_string(),
                // A small container image, for instance.
                Cause::Setup(_) if target.thumbprint.is_none() && target.tls.is_none() => {
                    "this system trusts no authority".to_owned()
                }
                _ => return Err(failure(&error)),
            };
            let certificate = certificate::fetch(&endpoint(target), CALL).await;
            let certificate = certificate.map_err(|message| Failure::Other { message, hint: None })?;
            Ok(Greeting::Untrusted { reason, certificate: Box::new(certificate) })
        };
        let greeting = self.wait(GREETING, greet, hush.wished());
        if hush.end() { Err(Failure::Interrupted) } else { greeting }
    }

    fn read(&mut self, target: &Target, user: &str, password: &SecretString) -> Result<Inventory, Failure> {
        let client = client(target, user, password).map_err(|error| failure(&error))?;
        let hush = Hush::new();
        let read = async { read::inventory(&client).await.map_err(|error| failure(&error)) };
        let inventory = self.wait(READING, read, hush.wished());
        let announce = async {
            hush.wished().await;
            // The cursor of a hushed terminal does not go back by itself.
            self.printer.say(&format!(
                "ending the session on {} … (Ctrl-C again leaves at once)\r\n",
                target.label()
            ));
            hush.watched().await;
        };
        let leave = async { client.logout().await.map_err(|error| failure(&error)) };
        // A session that cannot be ended now ends by itself.
        let _ = self.wait(GOODBYE, leave, announce);
        if hush.end() { Err(Failure::Interrupted) } else { inventory }
    }
}

fn client(target: &Target, user: &str, password: &SecretString) -> Result<Client, Error> {
    let login = Login { user: user.to_owned(), password: password.clone() };
    Client::new(endpoint(target), login)
}

fn endpoint(target: &Target) -> Endpoint {
    Endpoint { timeout: CALL, ..Endpoint::new(&target.server, target.port.unwrap_or(443), &target.trust()) }
}

fn failure(error: &Error) -> Failure {
    if let Some(fault) = error.fault()
        && fault.kind == FaultKind::InvalidLogin
    {
        return Failure::Login(fault.to_string());
    }
    let mut message = error.source.to_string();
    let mut cause = StdError::source(&error.source);
    while let Some(inner) = cause {
        let words = inner.to_string();
        if !message.contains(&words) {
            message = format!("{message}: {words}");
        }
        cause = inner.source();
    }
    Failure::Other { message, hint: error.hint().map(str::to_owned) }
}
