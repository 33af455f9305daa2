//! The first commands in an empty directory, as users meet them: a process each, from its start to its end.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use slipway_testkit::scratch::Scratch;

use crate::command::{root, run};

/// Drawing an RSA key takes as long as luck has it, so many runs are needed and their mean is what counts.
const ROUNDS: u32 = 30;

/// The unit of `/proc/self/stat`, which is the same on every Linux machine.
const TICK: Duration = Duration::from_millis(10);

/// What is measured: the install-config, the command, and the goal for its processor time in milliseconds.
const COMMANDS: [(&str, &str, &str, Option<u32>); 4] = [
    ("OpenShift", "vsphere-multi-vcenter.yaml", "manifests", Some(250)),
    ("OpenShift", "vsphere-multi-vcenter.yaml", "ignition-configs", None),
    ("Kubernetes", "vsphere-kubernetes.yaml", "manifests", Some(250)),
    ("Kubernetes", "vsphere-kubernetes.yaml", "ignition-configs", None),
];

/// Most bytes of the program.
const MAX_PROGRAM: u64 = 25_000_000;

/// Prints the figures. The program is built already.
pub(super) fn measure() -> anyhow::Result<()> {
    let program = root().join("target/release/slipway");
    println!(
        "\nfirst run in an empty directory, mean of {ROUNDS} processes: processor time, and time that passes"
    );
    let (cpu, passed) = mean(|_| {
        let mut openssl = Command::new("openssl");
        openssl.args(["genrsa", "2048"]);
        openssl
    })?;
    row("openssl genrsa 2048", cpu, passed, None);
    for (payload, example, what, goal) in COMMANDS {
        let scratch = Scratch::new("bench")?;
        scratch.settle();
        let text = fs_err::read_to_string(root().join("examples").join(example))?;
        let text = text.replace("passwordFile: /run/secrets/vcenter-south", "passwordEnv: VCENTER_PASSWORD");
        let mut folders = Vec::new();
        for round in 0..ROUNDS {
            let folder = scratch.join(&round.to_string());
            fs_err::create_dir_all(folder.join("cni"))?;
            fs_err::write(folder.join("cni/plugin.yaml"), "kind: List\n")?;
            fs_err::write(folder.join("install-config.yaml"), &text)?;
            folders.push(folder);
        }
        let (cpu, passed) = mean(|round| {
            let mut command = Command::new(&program);
            command.args(["create", what, "--dir"]).arg(&folders[round]);
            for name in ["VCENTER_PASSWORD", "VCENTER_NORTH_PASSWORD", "VCENTER_EAST_PASSWORD"] {
                command.env(name, "password");
            }
            command
        })?;
        row(&format!("{payload}: create {what}"), cpu, passed, goal);
    }
    let size = fs_err::metadata(&program)?.len();
    println!("the program has {size} bytes (goal: at most {MAX_PROGRAM})");
    Ok(())
}

fn row(name: &str, cpu: Duration, passed: Duration, goal: Option<u32>) {
    let goal = goal.map_or(String::new(), |goal| format!("(goal: under {goal} ms of processor time)"));
    println!("{name:<36} {:>6} ms {:>6} ms  {goal}", cpu.as_millis(), passed.as_millis());
}

/// Mean of processor time and of the time that passes.
fn mean(command: impl Fn(usize) -> Command) -> anyhow::Result<(Duration, Duration)> {
    let (cpu, began) = (processor_time()?, Instant::now());
    for round in 0..ROUNDS {
        let mut command = command(round as usize);
        run(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()))?;
    }
    Ok((processor_time()?.saturating_sub(cpu) / ROUNDS, began.elapsed() / ROUNDS))
}

/// Of all processes that were waited for.
fn processor_time() -> anyhow::Result<Duration> {
    let stat = fs_err::read_to_string("/proc/self/stat")?;
    // The name of the program may contain anything, a parenthesis among it.
    let (_, fields) = stat.rsplit_once(')').context("/proc/self/stat has no name")?;
    // The state is the third field of proc(5), `cutime` and `cstime` are the 16th and the 17th.
    let ticks: Vec<u32> =
        fields.split_whitespace().skip(13).take(2).filter_map(|field| field.parse().ok()).collect();
    let [user, system] = ticks[..] else { bail!("/proc/self/stat has no times of children") };
    Ok(TICK * (user + system))
}
