//! Certificates that come to their end in the cluster that booted, and are renewed with no administrator involved.

use std::io::Write;
use std::process::Stdio;

use anyhow::{Context, bail};
use slipway_testkit::kubectl::Kubectl;
use slipway_testkit::lab::Machine;
use slipway_testkit::lab::harbour::Harbour;
use slipway_testkit::process::eventually;

use super::boot::LIMIT;

const KUBELET: &str = "/var/lib/kubelet/pki";
const CONTROL_PLANE: &str = "/etc/kubernetes/pki";
/// What a certificate has at least that was renewed: 300 days, in seconds.
const NEW: &str = "25920000";

/// Makes a certificate of the cluster with a few days left of its year, on a machine that has the signer. Prints it, then
/// its key. `SUBJECT` says whose it is.
const OLD_CERTIFICATE: &str = r#"set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
: > "$dir/index"
echo 01 > "$dir/serial"
cat > "$dir/config" <<END
[ca]
default_ca = signer
[signer]
database = $dir/index
serial = $dir/serial
new_certs_dir = $dir
default_md = sha256
policy = any
x509_extensions = client
unique_subject = no
[any]
organizationName = supplied
commonName = supplied
[client]
keyUsage = digitalSignature
extendedKeyUsage = clientAuth
[req]
distinguished_name = name
[name]
END
openssl req -new -newkey rsa:2048 -nodes -config "$dir/config" -subj "$SUBJECT" -keyout "$dir/key" -out "$dir/csr" 2> /dev/null
openssl ca -batch -notext -config "$dir/config" -in "$dir/csr" -out "$dir/crt" \
    -cert /etc/kubernetes/pki/ca.crt -keyfile /etc/kubernetes/pki/ca.key \
    -startdate "$(date --utc --date '-360 days' +%Y%m%d%H%M%SZ)" -enddate "$(date --utc --date '+5 days' +%Y%m%d%H%M%SZ)" 2> /dev/null
cat "$dir/crt" "$dir/key"
"#;

/// All kubelets and all control-plane machines at the same time: as a year after the cluster was made.
pub(super) fn everything(harbour: &Harbour, kubectl: &Kubectl) -> anyhow::Result<()> {
    let machines = harbour.lab().machines();
    let masters: Vec<&Machine> =
        machines.iter().filter(|machine| machine.name().contains("-master-")).collect();
    let signer = masters.first().context("no control-plane machine")?;
    for machine in &machines {
        let subject = format!("/O=system:nodes/CN=system:node:{}", machine.name());
        let old = old_certificate(signer, &subject)?;
        let change = format!(
            "cat > {KUBELET}/kubelet-client-current.pem && rm {KUBELET}/kubelet-server-current.pem && systemctl restart kubelet"
        );
        feed(machine, &change, &old)?;
    }
    for machine in &masters {
        let old = old_certificate(signer, "/O=kubeadm:cluster-admins/CN=kube-apiserver-kubelet-client")?;
        let name = format!("{CONTROL_PLANE}/apiserver-kubelet-client");
        feed(machine, &format!("tee {name}.key > {name}.crt"), &old)?;
    }
    for machine in &machines {
        for file in ["kubelet-client-current.pem", "kubelet-server-current.pem"] {
            wait_until_new(machine, &format!("{KUBELET}/{file}"))?;
        }
    }
    for machine in &masters {
        let files =
            ["apiserver.crt", "apiserver-kubelet-client.crt", "etcd/server.crt", "front-proxy-client.crt"];
        for file in files {
            wait_until_new(machine, &format!("{CONTROL_PLANE}/{file}"))?;
        }
        eventually("the renewal is over", LIMIT, || {
            let mark = machine.run(&["test", "!", "-e", "/var/lib/slipway/renewing-certificates"]);
            let scheduler = "/etc/kubernetes/manifests/kube-scheduler.yaml";
            let started = machine.run(&["grep", "--quiet", "slipway.dev/certificates-until", scheduler]);
            Ok((mark.is_ok() && started.is_ok()).then_some(()))
        })?;
    }
    let pending = eventually("the API answers", LIMIT, || {
        let list = kubectl.json(&["get", "csr", "--request-timeout=5s"])?;
        let requests = list["items"].as_array().cloned().unwrap_or_default();
        let undecided = requests.iter().filter(|request| request["status"]["conditions"].is_null());
        Ok(Some(undecided.map(|request| request["spec"]["username"].to_string()).collect::<Vec<String>>()))
    })?;
    if !pending.is_empty() {
        bail!("certificates are still waited for: {}", pending.join(", "));
    }
    println!("{} kubelets and {} control planes have new certificates", machines.len(), masters.len());
    Ok(())
}

fn old_certificate(signer: &Machine, subject: &str) -> anyhow::Result<String> {
    let script = format!("SUBJECT='{subject}'\n{OLD_CERTIFICATE}");
    signer.run(&["sh", "-c", &script]).context("making a certificate that is nearly over")
}

/// Runs a line of shell on a machine, with something to read.
fn feed(machine: &Machine, line: &str, text: &str) -> anyhow::Result<()> {
    let mut child = machine.command("sh")?.args(["-c", line]).stdin(Stdio::piped()).spawn()?;
    child.stdin.take().context("no way in")?.write_all(text.as_bytes())?;
    let status = child.wait()?;
    if !status.success() {
        bail!("`{line}` on {} ended with {status}", machine.name());
    }
    Ok(())
}

fn wait_until_new(machine: &Machine, file: &str) -> anyhow::Result<()> {
    let look = ["openssl", "x509", "-noout", "-checkend", NEW, "-in", file];
    let what = format!("{} has a new {file}", machine.name());
    eventually(&what, LIMIT, || Ok(machine.run(&look).is_ok().then_some(())))
}
