//! 500 machines fetch their configuration at the same moment. Prints how long it took and what the server needed;
//! fails if one of them is refused.

use std::net::IpAddr;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use reqwest::{Certificate, Client};
use slipway_testkit::network::free_port;
use slipway_testkit::pki::Authority;
use tokio::sync::Barrier;

const MACHINES: u16 = 500;
/// As large as a control-plane machine's.
const SIZE: usize = 300 << 10;
const GOAL: Duration = Duration::from_secs(30);

/// A process that ends with us.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    match bench().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn bench() -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    let operator = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_slipway-operator"));
        command.current_dir(directory.path()).args(["--log-level", "warn"]);
        command
    };
    let authority = Authority::new("root-ca")?;
    let identity = authority.issue("machine-config-server", None, &["127.0.0.1"])?;
    let config = format!(
        r#"{{"ignition":{{"version":"3.2.0"}},"storage":{{"files":[{{"path":"/etc/a","contents":{{"source":"data:,{}"}}}}]}}}}"#,
        "a".repeat(SIZE)
    );
    for (name, text) in
        [("tls.crt", &identity.certificate), ("tls.key", &identity.key), ("worker.ign", &config)]
    {
        std::fs::write(directory.path().join(name), text)?;
    }
    let token = operator().args(["machine-config-token", "--dir", ".", "--role", "worker"]).output()?;
    ensure!(token.status.success(), "making a token: {}", String::from_utf8_lossy(&token.stderr));
    let token = String::from_utf8(token.stdout)?.trim().to_owned();
    let address = format!("127.0.0.1:{}", free_port()?);
    let mut server = operator();
    server.args([
        "machine-config-server",
        "--dir",
        ".",
        "--tls-cert",
        "tls.crt",
        "--tls-key",
        "tls.key",
        "--listen",
        &address,
    ]);
    let server = Server(server.stdin(Stdio::null()).spawn()?);
    let ca = Certificate::from_pem(authority.certificate().as_bytes())?;
    let url = format!("https://{address}/config/worker");
    wait(&client(&ca, [127, 0, 0, 1])?, &format!("https://{address}/healthz")).await?;
    let before = peak(&server)?;

    let barrier = Arc::new(Barrier::new(usize::from(MACHINES) + 1));
    let mut machines = Vec::new();
    for number in 0..MACHINES {
        let [high, low] = number.to_be_bytes();
        let client = client(&ca, [127, 1, high, low + u8::from(low == 0)])?;
        let (barrier, url, token) = (Arc::clone(&barrier), url.clone(), token.clone());
        machines.push(tokio::spawn(async move {
            barrier.wait().await;
            let began = Instant::now();
            let request = client.get(url).bearer_auth(token);
            let answer =
                request.header("Accept", "application/vnd.coreos.ignition+json;version=3.4.0, */*;q=0.1");
            let answer = answer.send().await?.error_for_status()?;
            let size = answer.bytes().await?.len();
            anyhow::Ok((size, began.elapsed()))
        }));
    }
    barrier.wait().await;
    let began = Instant::now();
    let (mut times, mut refused) = (Vec::new(), Vec::new());
    for machine in machines {
        match machine.await? {
            Ok((size, time)) if size > SIZE => times.push(time),
            Ok((size, _)) => refused.push(format!("{size} bytes are not all")),
            Err(error) => refused.push(format!("{error:#}")),
        }
    }
    let whole = began.elapsed();
    times.sort();
    let median = times.get(times.len() / 2).copied().unwrap_or_default();
    let last = times.last().copied().unwrap_or_default();
    println!("machines    {MACHINES} at once, {} KiB each", SIZE >> 10);
    println!("refused     {} (goal: 0)", refused.len());
    println!("all served  {whole:.2?} (goal: {GOAL:.0?})");
    println!("each        median {median:.2?}, last {last:.2?}");
    println!("memory      peak {} MiB, {} MiB before", peak(&server)? >> 10, before >> 10);
    ensure!(refused.is_empty(), "some were refused, such as: {}", refused[0]);
    ensure!(whole < GOAL, "too slow");
    Ok(())
}

fn client(ca: &Certificate, address: impl Into<IpAddr>) -> anyhow::Result<Client> {
    let builder = Client::builder().tls_certs_only([ca.clone()]).no_proxy();
    Ok(builder.local_address(Some(address.into())).timeout(Duration::from_mins(2)).build()?)
}

async fn wait(client: &Client, url: &str) -> anyhow::Result<()> {
    let end = Instant::now() + Duration::from_secs(30);
    while !client.get(url).send().await.is_ok_and(|answer| answer.status().is_success()) {
        ensure!(Instant::now() < end, "the server did not start");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

/// The most memory a process ever had, in KiB.
fn peak(Server(process): &Server) -> anyhow::Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.id()))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("no VmHWM")?;
    line.trim().trim_end_matches(" kB").trim().parse().context("VmHWM")
}
