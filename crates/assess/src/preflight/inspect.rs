//! What a platform brings along to be examined.

use std::fmt;
use std::future::ready;
use std::pin::Pin;
use std::sync::Arc;

use tokio::time::timeout;
use tracing::debug;

use super::report::{Check, Finding};
use crate::runner::{self, Asked, Options, Stopped};

/// An endpoint that is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// As plans name it.
    pub endpoint: String,
    /// As findings about the connection name it.
    pub server: String,
}

impl From<&str> for Target {
    fn from(name: &str) -> Self {
        Target { endpoint: name.to_owned(), server: name.to_owned() }
    }
}

/// The user that an endpoint was asked as, or why it did not answer.
pub type Answer = Result<Option<String>, Box<Finding>>;

/// A platform as the preflight asks it. Endpoints are known by their position.
pub trait Inspect: fmt::Debug + Send + Sync + 'static {
    /// A way to one endpoint.
    type Session: Send + Sync;

    /// What was read of one endpoint, as far as it answered: all that the rules look at.
    type Observed: Default + Send + Sync;

    fn targets(&self) -> Vec<Target>;

    /// What is to be said before anything is asked, such as files that cannot be used.
    fn known(&self) -> Vec<Finding> {
        Vec::new()
    }

    /// Sends nothing yet.
    fn connect(&self, position: usize, options: &Options) -> Result<Self::Session, Box<Finding>>;

    /// Logs in, reads, and says as which user; none if there was nothing to read. What was read stays in `observed` when the
    /// rest fails, or takes too long.
    fn observe(
        &self,
        position: usize,
        session: &Self::Session,
        options: &Options,
        observed: &mut Self::Observed,
    ) -> impl Future<Output = Answer> + Send;

    /// What is not known of an endpoint that stopped answering, for the end of a sentence.
    fn unread(&self, _observed: &Self::Observed) -> String {
        "not everything was looked at".to_owned()
    }

    /// The rules: a pure function of what is wanted and what was read.
    fn judge(&self, position: usize, observed: &Self::Observed, options: &Options) -> Vec<Finding>;

    /// Ends the session, for platforms that keep one.
    fn log_out(&self, _session: &Self::Session) -> impl Future<Output = Result<(), String>> + Send {
        ready(Ok(()))
    }
}

/// What an [`Inspection`] answers with, some time later.
pub type Later<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// [`Inspect`] without its types.
pub trait Inspection: fmt::Debug + Send + Sync {
    fn targets(&self) -> Vec<Target>;

    fn known(&self) -> Vec<Finding>;

    /// Everything about one endpoint; nothing if it was stopped.
    fn examine(self: Arc<Self>, position: usize, options: Options, stopped: Stopped) -> Later<Vec<Finding>>;
}

impl<I: Inspect> Inspection for I {
    fn targets(&self) -> Vec<Target> {
        Inspect::targets(self)
    }

    fn known(&self) -> Vec<Finding> {
        Inspect::known(self)
    }

    fn examine(self: Arc<Self>, position: usize, options: Options, stopped: Stopped) -> Later<Vec<Finding>> {
        Box::pin(async move {
            let targets = Inspect::targets(&*self);
            let Some(target) = targets.get(position) else { return Vec::new() };
            let findings = examine(&*self, position, target, &options, stopped).await;
            findings.into_iter().map(|finding| finding.at(&target.endpoint)).collect()
        })
    }
}

async fn examine<I: Inspect>(
    platform: &I,
    position: usize,
    Target { server, .. }: &Target,
    options: &Options,
    stopped: Stopped,
) -> Vec<Finding> {
    let session = match platform.connect(position, options) {
        Ok(session) => session,
        Err(finding) => return vec![*finding],
    };
    let mut observed = I::Observed::default();
    let question = platform.observe(position, &session, options, &mut observed);
    let asked = stopped.or(runner::ask(options, question)).await;
    let (_, limit) = options.shares();
    if let Ok(Err(reason)) = timeout(limit, platform.log_out(&session)).await {
        debug!(server, reason, "logging out");
    }
    let Some(asked) = asked else { return Vec::new() };
    let mut findings = platform.judge(position, &observed, options);
    match asked {
        Asked::Answered(None) => {}
        Asked::Answered(Some(user)) => {
            findings.push(Finding::pass(Check::Connection, server, format!("logged in as `{user}`")));
        }
        Asked::Failed(finding) => findings.push(*finding),
        Asked::Late(limit) => {
            let message = format!("no answer within {limit:?}; {}", platform.unread(&observed));
            let remedy =
                "see whether it is overloaded or a firewall drops packets; give it more time with --timeout";
            findings.push(Finding::failure(Check::Connection, server, message).remedy(remedy));
        }
    }
    // An endpoint about which the rules say nothing was not checked, and must not look as if it had been.
    if findings.is_empty() {
        let message = "not checked: there is nothing that is known to be needed there";
        findings
            .push(Finding::warning(Check::Platform, server, message).remedy("check by hand what is there"));
    }
    findings
}
