//! What is asked of a vCenter while its questions are answered.

pub(crate) mod certificate;
mod live;
mod raw_mode;

use secrecy::SecretString;
use slipway_lifecycle::platform::vsphere::survey;

pub(crate) use live::Live;
pub(crate) use slipway_lifecycle::platform::vsphere::survey::{
    Certificate, ContactResult, Datacenter, Datastore, Lists, Target,
};

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Failure {
    VCenter(survey::Failure),
    /// Ctrl-C while waiting.
    Interrupted,
}

impl From<survey::Failure> for Failure {
    fn from(failure: survey::Failure) -> Self {
        Failure::VCenter(failure)
    }
}

/// Asks vCenters, or plays them in a test. Every call ends within a deadline.
pub(crate) trait Estate {
    fn contact(&mut self, target: &Target) -> Result<ContactResult, Failure>;

    /// Logs in, reads everything the lists are made of, and logs out.
    fn read(&mut self, target: &Target, user: &str, password: &SecretString) -> Result<Lists, Failure>;
}
