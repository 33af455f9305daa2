//! One operator at a time: a Lease that its holder renews.
//!
//! Clocks of other machines are not trusted. A lease has run out when it has not changed for its own duration, as seen
//! from here.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::api::PostParams;
use kube::{Api, Client};
use slipway_providers::text::chain;
use tokio::time::{Instant, timeout, timeout_at};

/// The longest that giving up a lease may take.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(5);

/// How fast a holder is replaced.
#[derive(Debug, Clone, Copy)]
pub struct LeaseTimeouts {
    /// After this time without renewal another one takes over.
    pub duration: Duration,
    /// After this time without renewal the holder gives up, before another one can take over.
    pub deadline: Duration,
    /// Between two attempts.
    pub retry: Duration,
}

impl Default for LeaseTimeouts {
    fn default() -> Self {
        LeaseTimeouts {
            duration: Duration::from_secs(15),
            deadline: Duration::from_secs(10),
            retry: Duration::from_secs(2),
        }
    }
}

/// A lease that is wanted, and perhaps held.
#[derive(Debug)]
pub struct Lock {
    leases: Api<Lease>,
    name: String,
    identity: String,
    pace: LeaseTimeouts,
    /// Who was last seen to have it.
    holder: String,
    /// The lease as it was last seen to change, and when.
    seen: Option<(Option<String>, Instant)>,
    /// Just before the server was last told, with success, that it is ours.
    renewed: Instant,
}

/// What is to be done about a lease.
#[derive(Debug, PartialEq, Eq)]
enum Claim {
    Create,
    /// It is ours already: say that we are alive.
    Renew,
    /// Nobody renews it.
    Take,
    Wait,
}

fn claim(spec: Option<&LeaseSpec>, identity: &str, unchanged: Duration) -> Claim {
    let Some(spec) = spec else { return Claim::Create };
    let duration = Duration::from_secs(spec.lease_duration_seconds.unwrap_or(0).try_into().unwrap_or(0));
    match spec.holder_identity.as_deref() {
        Some(holder) if holder == identity => Claim::Renew,
        None | Some("") => Claim::Take,
        Some(_) if unchanged > duration => Claim::Take,
        Some(_) => Claim::Wait,
    }
}

impl Lock {
    pub fn new(client: Client, namespace: &str, name: &str, identity: &str, pace: LeaseTimeouts) -> Self {
        Lock {
            leases: Api::namespaced(client, namespace),
            name: name.to_owned(),
            identity: identity.to_owned(),
            pace,
            holder: String::new(),
            seen: None,
            renewed: Instant::now(),
        }
    }

    /// Waits until the lease is ours.
    pub async fn acquire(&mut self) {
        self.wait(&mut String::new()).await;
    }

    /// Waits for so long; why it is not ours then.
    pub async fn acquire_within(&mut self, patience: Duration) -> Result<(), String> {
        let mut trouble = String::new();
        timeout(patience, self.wait(&mut trouble)).await.map_err(|_| trouble)
    }

    async fn wait(&mut self, trouble: &mut String) {
        loop {
            match self.attempt().await {
                Ok(true) => return,
                Ok(false) => *trouble = format!("`{}` has it", self.holder),
                Err(error) => {
                    tracing::debug!(%error, "the lease cannot be had now");
                    *trouble = chain(&error);
                }
            }
            tokio::time::sleep(self.pace.retry).await;
        }
    }

    /// Renews the lease, and is over when that no longer works.
    pub async fn hold(&mut self) {
        loop {
            tokio::time::sleep(self.pace.retry).await;
            // However slow the answers are: who could not renew it stops before another one starts.
            match timeout_at(self.renewed + self.pace.deadline, self.attempt()).await {
                Ok(Ok(true)) => {}
                Ok(Err(error)) => tracing::warn!(%error, "the lease was not renewed"),
                Ok(Ok(false)) | Err(_) => return,
            }
        }
    }

    /// Gives it up, so that nobody has to wait.
    pub async fn release(&mut self) {
        // Who cannot say so is replaced a little later.
        let _ = self.release_within(RELEASE_TIMEOUT).await;
    }

    /// The same, as long as it may take; why it was not given up then. An attempt that hangs does not use up the time of all.
    pub async fn release_within(&mut self, patience: Duration) -> Result<(), String> {
        let mut trouble = String::new();
        let given_up = async {
            loop {
                match timeout(RELEASE_TIMEOUT, self.give_up()).await {
                    Ok(Ok(())) => return,
                    Ok(Err(error)) => trouble = chain(&error),
                    Err(_) => "the API server does not answer".clone_into(&mut trouble),
                }
                tracing::debug!(trouble, "the lease was not given up");
                tokio::time::sleep(self.pace.retry).await;
            }
        };
        timeout(patience, given_up).await.map_err(|_| trouble)
    }

    async fn give_up(&self) -> Result<(), kube::Error> {
        let Some(mut lease) = self.leases.get_opt(&self.name).await? else { return Ok(()) };
        let spec = lease.spec.get_or_insert_default();
        if spec.holder_identity.as_deref() != Some(&self.identity) {
            return Ok(());
        }
        spec.holder_identity = None;
        spec.renew_time = Some(MicroTime(Timestamp::now()));
        self.leases.replace(&self.name, &PostParams::default(), &lease).await.map(drop)
    }

    /// Whether it is ours after one attempt.
    async fn attempt(&mut self) -> Result<bool, kube::Error> {
        match self.write().await {
            // Somebody was faster, or an earlier word of ours was late: whose it is can be read.
            Err(kube::Error::Api(status)) if status.code == 409 => self.write().await,
            written => written,
        }
    }

    /// Looks at the lease, and writes that it is ours where it may be.
    async fn write(&mut self) -> Result<bool, kube::Error> {
        let limit = self.pace.deadline / 2;
        let late = |_| kube::Error::Service("the API server does not answer in time".into());
        let lease = timeout(limit, self.leases.get_opt(&self.name)).await.map_err(late)??;
        let version = lease.as_ref().and_then(|lease| lease.metadata.resource_version.clone());
        let unchanged = match &self.seen {
            Some((seen, since)) if *seen == version => since.elapsed(),
            _ => {
                self.seen = Some((version, Instant::now()));
                Duration::ZERO
            }
        };
        let claim = claim(lease.as_ref().and_then(|lease| lease.spec.as_ref()), &self.identity, unchanged);
        let (now, asked) = (MicroTime(Timestamp::now()), Instant::now());
        let written = match (claim, lease) {
            (Claim::Wait, lease) => {
                let spec = lease.and_then(|lease| lease.spec);
                self.holder = spec.and_then(|spec| spec.holder_identity).unwrap_or_default();
                return Ok(false);
            }
            (_, None) => {
                let lease = Lease {
                    metadata: ObjectMeta { name: Some(self.name.clone()), ..ObjectMeta::default() },
                    spec: Some(self.taken(None, now)),
                };
                timeout(limit, self.leases.create(&PostParams::default(), &lease)).await
            }
            (claim, Some(mut lease)) => {
                let spec = lease.spec.take().unwrap_or_default();
                lease.spec = Some(match claim {
                    Claim::Renew => LeaseSpec { renew_time: Some(now), ..spec },
                    _ => self.taken(Some(&spec), now),
                });
                timeout(limit, self.leases.replace(&self.name, &PostParams::default(), &lease)).await
            }
        };
        let lease = written.map_err(late)??;
        self.seen = Some((lease.metadata.resource_version, Instant::now()));
        self.renewed = asked;
        Ok(true)
    }

    fn taken(&self, before: Option<&LeaseSpec>, now: MicroTime) -> LeaseSpec {
        LeaseSpec {
            holder_identity: Some(self.identity.clone()),
            lease_duration_seconds: i32::try_from(self.pace.duration.as_secs()).ok(),
            acquire_time: Some(now.clone()),
            renew_time: Some(now),
            lease_transitions: Some(
                before.map_or(0, |before| before.lease_transitions.unwrap_or(0).saturating_add(1)),
            ),
            ..LeaseSpec::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::time::Duration;

    use axum::http::{Method, Request, Response};
    use k8s_openapi::api::coordination::v1::LeaseSpec;
    use kube::Client;
    use kube::client::Body;
    use rstest::rstest;
    use serde_json::json;
    use tokio::time::Instant;

    use super::{Claim, LeaseTimeouts, Lock, claim};

    #[rstest]
    #[case::released("", 0, Claim::Take)]
    #[case::ours("me", 99, Claim::Renew)]
    #[case::alive("you", 14, Claim::Wait)]
    #[case::silent("you", 16, Claim::Take)]
    fn who_may_hold_it(#[case] holder: &str, #[case] seconds: u64, #[case] expected: Claim) {
        let spec = LeaseSpec {
            holder_identity: Some(holder.to_owned()),
            lease_duration_seconds: Some(15),
            ..LeaseSpec::default()
        };
        assert_eq!(claim(Some(&spec), "me", Duration::from_secs(seconds)), expected);
        assert_eq!(claim(None, "me", Duration::ZERO), Claim::Create);
    }

    /// The API server is away for a while, as when its certificates were just renewed.
    #[tokio::test(start_paused = true)]
    async fn who_has_time_gives_it_up_when_the_server_is_back() {
        let since = Instant::now();
        let restarting = tower::service_fn(move |request: Request<Body>| async move {
            if since.elapsed() < Duration::from_secs(50) {
                std::future::pending::<()>().await;
            }
            let spec = json!({"holderIdentity": "me", "leaseDurationSeconds": 600});
            let lease = json!({"metadata": {"name": "one", "resourceVersion": "7"}, "spec": spec});
            let written =
                if request.method() == Method::PUT { json!({"metadata": {"name": "one"}}) } else { lease };
            Ok::<_, Infallible>(Response::new(Body::from(written.to_string().into_bytes())))
        });
        let mut lock =
            Lock::new(Client::new(restarting, "default"), "default", "one", "me", LeaseTimeouts::default());
        let trouble = lock.release_within(Duration::from_secs(20)).await.unwrap_err();
        assert_eq!(trouble, "the API server does not answer");
        lock.release_within(Duration::from_mins(2)).await.unwrap();
        assert!(since.elapsed() < Duration::from_mins(1), "{:?}", since.elapsed());
    }

    /// An API server that takes seconds for every answer, and refuses every word about the lease as too late.
    #[tokio::test(start_paused = true)]
    async fn who_cannot_renew_it_stops_in_time() {
        let slow = tower::service_fn(async |request: Request<Body>| {
            tokio::time::sleep(Duration::from_secs(4)).await;
            let (code, answer) = if request.method() == Method::GET {
                let metadata = json!({"name": "one", "resourceVersion": "7"});
                (
                    200,
                    json!({"metadata": metadata, "spec": {"holderIdentity": "me", "leaseDurationSeconds": 15}}),
                )
            } else {
                (409, json!({"kind": "Status", "code": 409, "reason": "Conflict"}))
            };
            let body = Body::from(answer.to_string().into_bytes());
            Ok::<_, Infallible>(Response::builder().status(code).body(body).unwrap())
        });
        let pace = LeaseTimeouts::default();
        let mut lock = Lock::new(Client::new(slow, "default"), "default", "one", "me", pace);
        let since = Instant::now();
        lock.hold().await;
        assert_eq!(since.elapsed(), pace.deadline);
    }
}
