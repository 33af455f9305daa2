//! The process itself: two copies, one acts; health, readiness, metrics and logs; a signal ends it.

use std::process::{Child, Command, Stdio};

use serde_json::Value;
use slipway_testkit::control_plane::ControlPlane;
use slipway_testkit::network::free_port;
use slipway_testkit::process::eventually;

use super::estate::{NAMESPACE, TIMEOUT, install};

pub(super) struct Copy {
    child: Child,
    port: u16,
    log: std::path::PathBuf,
}

impl Copy {
    pub(super) fn start(plane: &ControlPlane, name: &str) -> Self {
        let account = format!("system:serviceaccount:{NAMESPACE}:slipway-operator");
        let kubeconfig = plane.kubeconfig_for(&account, Some("system:serviceaccounts")).unwrap();
        let port = free_port().unwrap();
        let log = plane.scratch().join(&format!("{name}.log"));
        // One that was built otherwise, if somebody wants to know about that.
        let program = std::env::var_os("SLIPWAY_OPERATOR");
        let program = program.unwrap_or_else(|| env!("CARGO_BIN_EXE_slipway-operator").into());
        let child = Command::new(program)
            .args([
                "run",
                "--log-format=json",
                "--identity",
                name,
                "--health-listen",
                &format!("127.0.0.1:{port}"),
            ])
            .arg("--kubeconfig")
            .arg(kubeconfig)
            .stdin(Stdio::null())
            .stderr(fs_err::File::create(&log).unwrap().into_parts().0)
            .spawn()
            .unwrap();
        Copy { child, port, log }
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    fn get(&self, path: &str) -> anyhow::Result<(u16, String)> {
        let url = format!("http://127.0.0.1:{}{path}", self.port);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let answer = reqwest::get(url).await?;
            Ok((answer.status().as_u16(), answer.text().await?))
        })
    }

    fn leads(&self) -> anyhow::Result<bool> {
        Ok(self.get("/metrics")?.1.contains("slipway_leading 1"))
    }

    fn terminate(&mut self) -> Option<i32> {
        Command::new("kill").arg(self.child.id().to_string()).status().unwrap();
        self.child.wait().unwrap().code()
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        // Ended already, if all went well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn one_copy_acts_and_the_other_takes_over() {
    let plane = ControlPlane::start(slipway_testkit::control_plane::Options::default()).unwrap();
    install(&plane);
    let mut first = Copy::start(&plane, "first");
    eventually("the first leads", TIMEOUT, || Ok(first.leads()?.then_some(()))).unwrap();
    let mut second = Copy::start(&plane, "second");
    eventually("the second is ready", TIMEOUT, || Ok((second.get("/readyz")?.0 == 200).then_some(())))
        .unwrap();
    assert_eq!(second.get("/healthz").unwrap().0, 200);
    assert!(!second.leads().unwrap());

    assert_eq!(first.terminate(), Some(0));
    let holder = || {
        let lease = plane.kubectl().json(&["get", "lease", "slipway-operator", "--namespace", NAMESPACE]);
        lease.unwrap()["spec"]["holderIdentity"].take()
    };
    // The lease was given up, so nobody waits for its end.
    assert_ne!(holder(), "first");
    eventually("the second leads", TIMEOUT, || Ok(second.leads()?.then_some(()))).unwrap();
    assert_eq!(holder(), "second");
    assert_eq!(second.terminate(), Some(0));
    let log = fs_err::read_to_string(&second.log).unwrap();
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.iter().any(|line| line["message"] == "leading"), "{log}");
    let forbidden: Vec<&Value> = lines.iter().filter(|line| line.to_string().contains("orbidden")).collect();
    assert!(forbidden.is_empty(), "rights are missing: {forbidden:#?}");
}
