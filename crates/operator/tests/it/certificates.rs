//! Certificates of the control plane are renewed in time, one machine after the other, under the rights that the manifests give.
//! kubeadm, the kubelet and etcd are left out here; the lab has them.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::{SignedDuration, Timestamp};
use kube::Client;
use rcgen::{CertificateParams, KeyPair};
use serde_json::{Value, json};
use slipway_operator::controllers::certificates::neighbours::HealthScope;
use slipway_operator::controllers::certificates::renewer::RenewError;
use slipway_operator::controllers::certificates::{Metrics, Neighbours, Renewer};
use slipway_operator::runtime::host::{Files, ProgramError, Programs};
use slipway_operator::runtime::lease::{LeaseTimeouts, Lock};
use slipway_testkit::control_plane::ControlPlane;

use crate::shipped;

const MARK: &str = "/var/lib/slipway/renewing-certificates";
const ETCD: &str = "/etc/kubernetes/manifests/etcd.yaml";

/// A control-plane machine: its files, and what is not well about its neighbours.
#[derive(Clone)]
struct Toy {
    files: Files,
    name: &'static str,
    run: Arc<Mutex<Vec<String>>>,
    trouble: Arc<Mutex<Option<String>>>,
    /// The power goes while kubeadm writes.
    cut: Arc<Mutex<bool>>,
}

impl Toy {
    fn new(folder: PathBuf, name: &'static str, days: i64) -> Self {
        let files = Files::below(folder);
        let toy = Toy { files, name, run: Arc::default(), trouble: Arc::default(), cut: Arc::default() };
        toy.files.write(ETCD, 0o600, "apiVersion: v1\nkind: Pod\nmetadata: {name: etcd}\n").unwrap();
        toy.certify(400);
        toy.certify_as("scheduler.conf", days);
        toy
    }

    fn certify(&self, days: i64) {
        for file in ["pki/apiserver.crt", "pki/etcd/server.crt", "scheduler.conf"] {
            self.certify_as(file, days);
        }
    }

    /// A certificate with so many days left.
    fn certify_as(&self, file: &str, days: i64) {
        let until = Timestamp::now() + SignedDuration::from_hours(24 * days);
        let date = until.to_zoned(jiff::tz::TimeZone::UTC).date();
        let mut params = CertificateParams::default();
        params.not_after = rcgen::date_time_ymd(
            i32::from(date.year()),
            u8::try_from(date.month()).unwrap(),
            u8::try_from(date.day()).unwrap(),
        );
        let pem = params.self_signed(&KeyPair::generate().unwrap()).unwrap().pem();
        let text = if file.starts_with("pki/") {
            pem
        } else {
            let user = json!({"name": "u", "user": {"client-certificate-data": STANDARD.encode(pem)}});
            json!({"apiVersion": "v1", "kind": "Config", "users": [user]}).to_string()
        };
        self.files.write(format!("/etc/kubernetes/{file}"), 0o600, &text).unwrap();
    }

    fn renewer(&self, client: &Client) -> Renewer<Toy, Toy> {
        let files = self.files.clone();
        Renewer::among(client.clone(), self.name, files, self.clone(), self.clone(), Metrics::default())
    }

    fn run(&self) -> Vec<String> {
        self.run.lock().unwrap().clone()
    }
}

impl Programs for Toy {
    async fn run(&self, program: &str, arguments: &[&str], _: Duration) -> Result<(), ProgramError> {
        assert_eq!(arguments[0], self.files.at("/").to_str().unwrap(), "the machine's own kubeadm");
        self.run.lock().unwrap().push(format!("{program} {}", arguments[3..].join(" ")));
        assert!(self.files.exists(MARK), "after a power cut it is known what was begun");
        if std::mem::take(&mut *self.cut.lock().unwrap()) {
            self.files.write("/etc/kubernetes/pki/apiserver.crt", 0o600, "-----BEGIN").unwrap();
            return Err(ProgramError::TooSlow { program: program.to_owned(), patience: Duration::ZERO });
        }
        self.certify(365);
        Ok(())
    }
}

impl Neighbours for Toy {
    async fn trouble(&self, scope: HealthScope) -> Option<String> {
        (scope == HealthScope::All).then(|| self.trouble.lock().unwrap().clone()).flatten()
    }
}

/// As the kubelet does: a manifest that changes is another pod.
fn kubelet(toy: &Toy) -> tokio::task::JoinHandle<()> {
    let toy = toy.clone();
    let mut seen = toy.files.read(ETCD).unwrap();
    tokio::spawn(async move {
        for number in 0.. {
            let found = toy.files.read(ETCD).unwrap();
            if found != seen {
                let pod = format!("/var/log/pods/kube-system_etcd-{}_{number}/0.log", toy.name);
                toy.files.write(pod, 0o600, "").unwrap();
                seen = found;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
}

/// Of a control plane that has the account.
pub(crate) async fn are_renewed_one_machine_after_the_other(plane: &ControlPlane) {
    let folder = tempfile::tempdir().unwrap();
    let client = shipped::account(plane, "slipway-certificates").await;
    let toy = |name: &'static str, days| Toy::new(folder.path().join(name), name, days);
    let (fresh, old, cut) = (toy("fresh", 200), toy("old", 89), toy("cut", 300));
    let kubelets = [kubelet(&old), kubelet(&cut)];

    fresh.renewer(&client).round().await.unwrap();
    assert!(fresh.run().is_empty(), "it is not time yet");

    // As long as another machine has its turn, or any is not well, nothing happens.
    let pace = LeaseTimeouts { duration: Duration::from_mins(10), ..LeaseTimeouts::default() };
    let mut other = Lock::new(client.clone(), "kube-system", "slipway-certificates", "other", pace);
    other.acquire().await;
    let mut renewer = old.renewer(&client);
    let waits = tokio::time::timeout(Duration::from_secs(1), renewer.round()).await;
    assert!(waits.is_err() && old.run().is_empty(), "it is another's turn");
    let error = old.renewer(&client).with_turn_timeout(Duration::from_secs(1)).round().await.unwrap_err();
    assert!(matches!(&error, RenewError::NoTurn { trouble, .. } if trouble == "`other` has it"), "{error}");
    over_is_over(folder.path(), plane).await;
    other.release().await;
    *old.trouble.lock().unwrap() = Some("etcd on fresh is not healthy".to_owned());
    let error = renewer.round().await.unwrap_err();
    assert!(matches!(error, RenewError::Unwell(_)), "{error}");
    assert!(old.run().is_empty() && !old.files.exists(MARK));
    *old.trouble.lock().unwrap() = None;

    renewer.round().await.unwrap();
    assert_eq!(old.run(), ["chroot kubeadm certs renew all"]);
    assert!(old.files.read(ETCD).unwrap().contains("slipway.dev/certificates-until"));
    assert!(!old.files.exists(MARK));
    renewer.round().await.unwrap();
    assert_eq!(old.run().len(), 1, "once is enough");

    // The power went after kubeadm had done its work: the pods still have the old certificates.
    cut.files.write(MARK, 0o600, "").unwrap();
    cut.renewer(&client).round().await.unwrap();
    assert!(cut.run().is_empty() && !cut.files.exists(MARK));
    assert!(cut.files.read(ETCD).unwrap().contains("slipway.dev/certificates-until"));

    let said: Value = tokio::task::block_in_place(|| {
        let place = ["--namespace", "kube-system"];
        plane.kubectl().json(&[&["get", "configmap", "slipway-certificates"], &place[..]].concat()).unwrap()
    });
    for (name, days) in [("fresh", 200), ("old", 365), ("cut", 300)] {
        let entry: Value = serde_json::from_str(said["data"][name].as_str().unwrap()).unwrap();
        let until: Timestamp = entry["until"].as_str().unwrap().parse().unwrap();
        let left = Timestamp::now().duration_until(until).as_hours() / 24;
        assert!((days - 2..=days).contains(&left), "{name}: {entry}");
    }
    for kubelet in kubelets {
        kubelet.abort();
    }
    near_the_end_a_lost_machine_holds_nobody_up(folder.path(), &client).await;
    half_a_file_is_put_back(folder.path(), &client).await;
    pods_are_waited_for_again(folder.path(), &client).await;
}

/// Certificates that have ended are renewed though it is another's turn, nobody is well, and the API refuses everything.
async fn over_is_over(folder: &Path, plane: &ControlPlane) {
    let over = Toy::new(folder.join("over"), "over", -1);
    *over.trouble.lock().unwrap() = Some("etcd on fresh is not healthy".to_owned());
    let kubelet = kubelet(&over);
    let client = shipped::account(plane, "nobody-in-particular").await;
    let mut renewer = over.renewer(&client).with_turn_timeout(Duration::from_secs(1));
    renewer.round().await.unwrap();
    assert_eq!(over.run(), ["chroot kubeadm certs renew all"]);
    kubelet.abort();
}

async fn near_the_end_a_lost_machine_holds_nobody_up(folder: &Path, client: &Client) {
    let urgent = Toy::new(folder.join("urgent"), "urgent", 13);
    *urgent.trouble.lock().unwrap() = Some("etcd on lost is not healthy".to_owned());
    let kubelet = kubelet(&urgent);
    urgent.renewer(client).round().await.unwrap();
    assert_eq!(urgent.run().len(), 1);
    kubelet.abort();
}

async fn half_a_file_is_put_back(folder: &Path, client: &Client) {
    let half = Toy::new(folder.join("half"), "half", 89);
    *half.cut.lock().unwrap() = true;
    let kubelet = kubelet(&half);
    let mut renewer = half.renewer(client);
    let error = renewer.round().await.unwrap_err();
    assert!(matches!(error, RenewError::Program(_)), "{error}");
    renewer.round().await.unwrap();
    assert_eq!(half.run().len(), 2);
    assert!(!half.files.exists(MARK));
    kubelet.abort();
}

/// A kubelet that starts no pod: however often it is tried, nothing is over before it does.
async fn pods_are_waited_for_again(folder: &Path, client: &Client) {
    let late = Toy::new(folder.join("late"), "late", 89);
    for _ in 0..2 {
        let mut renewer = late.renewer(client);
        let waits = tokio::time::timeout(Duration::from_secs(2), renewer.round()).await;
        assert!(waits.is_err() && late.files.exists(MARK), "{waits:?}");
    }
    late.files.write("/var/log/pods/kube-system_etcd-late_1/0.log", 0o600, "").unwrap();
    late.renewer(client).round().await.unwrap();
    assert_eq!(late.run().len(), 1);
    assert!(!late.files.exists(MARK));
}
