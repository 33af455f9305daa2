//! Everything a developer of Slipway runs: `cargo xtask --help`.

mod bench;
mod command;
mod demo;
mod deny;
mod faults;
mod fuzz;
mod image;
mod install;
mod packages;
mod peers;
mod race;
mod scale;
mod section;
mod site;
mod strangers;
mod test;
mod testbed;

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

use demo::boot;

/// Platforms that the demo can be played on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DemoPlatform {
    Vsphere,
    Kubevirt,
}

/// Everything a developer of Slipway runs
#[derive(Debug, Parser)]
#[command(name = "cargo xtask")]
enum Task {
    /// Install what is missing, then check format, lints and generated files and run all tests
    Test,
    /// The main job: a cluster on two simulated vCenters, from preflight to destroy, checked by VMware's own client
    Demo {
        /// Where the machines are
        #[arg(long, value_enum, default_value_t = DemoPlatform::Vsphere)]
        platform: DemoPlatform,
        /// Also draw a picture of the terminal
        #[arg(long, value_name = "FILE", conflicts_with = "boot")]
        picture: Option<PathBuf>,
        /// Go all the way: machines that boot until they are a cluster. Needs root
        #[arg(long)]
        boot: bool,
    },
    /// Boot a cluster of machines in namespaces, use it, and take it apart. Needs root
    Lab {
        /// Machines of the control plane
        #[arg(long, default_value_t = boot::LARGE.control_plane)]
        control_plane: u32,
        /// Workers
        #[arg(long, default_value_t = boot::LARGE.compute)]
        compute: u32,
        /// When something goes wrong, leave the machines running until this is ended
        #[arg(long)]
        keep: bool,
        /// Instead, let everything go wrong that can, and see what is said about it
        #[arg(long, conflicts_with_all = ["control_plane", "compute", "keep"])]
        drills: bool,
        /// Instead, bring the drivers' operator to a cluster of three nodes that runs without it, by hand
        #[arg(long, conflicts_with_all = ["control_plane", "compute", "drills"])]
        drivers: bool,
        /// Instead, what becomes of machines on later days: scaled, lost, drained, and one of the control plane replaced
        #[arg(long, conflicts_with_all = ["control_plane", "compute", "drills", "drivers"])]
        machines: bool,
    },
    /// Build the CLI and install it with its manual pages and shell completions
    Install {
        /// Where bin/ and share/ are
        #[arg(long, value_name = "DIR", default_value = "~/.local")]
        prefix: String,
        /// Build without optimisation, which is faster
        #[arg(long)]
        debug: bool,
    },
    /// Write the generated reference documentation and manual pages
    Docs {
        /// Only say what is out of date
        #[arg(long)]
        check: bool,
    },
    /// Write the definitions of our own kinds, and the operator's rights, to deploy
    Crds {
        /// Only say what is out of date
        #[arg(long)]
        check: bool,
    },
    /// Build the third-party programs tests run against, into a cache outside of the clone
    Peers {
        /// Which ones; all without a name
        names: Vec<String>,
        /// Only list them
        #[arg(long)]
        list: bool,
    },
    /// Try programs of others that the default run does without, and write what came of it to docs/guides/strangers.md
    ///
    /// Builds what they need first. Needs root, or user namespaces that everybody may make.
    Strangers {
        /// Which ones; all without a name
        names: Vec<String>,
        /// Only list them
        #[arg(long)]
        list: bool,
    },
    /// Race slipway's operator, OpenShift's vSphere controller and Cluster API's, and write the table to docs/guides/benchmarks.md
    ///
    /// Takes three quarters of an hour on a machine with nothing else to do. Needs root, or user namespaces that everybody may make.
    Race {
        /// Only these parts; the table has no others then
        #[arg(long, value_enum, value_delimiter = ',')]
        legs: Vec<race::Leg>,
    },
    /// Compare our readers and writers of driver configurations with the drivers' own, on many texts
    Differential {
        /// How many texts of each kind
        #[arg(long, default_value_t = 10_000)]
        cases: u32,
    },
    /// Make and destroy clusters on simulated vCenters that fail, differently for each seed
    Faults {
        /// How many seeds
        #[arg(long, default_value_t = 500)]
        seeds: u32,
        /// Only this one
        #[arg(long)]
        seed: Option<u64>,
    },
    /// Make many Machines on three simulated vCenters, and remove them: budgets, and the first call for a new one
    Scale {
        /// How many
        #[arg(long, default_value_t = 1000)]
        machines: u32,
    },
    /// Write the golden trees of assets anew; review the difference like code
    Golden,
    /// Measure, and print the figures beside the goals
    #[command(subcommand)]
    Bench(Bench),
    /// Look for input that makes a parser panic or hang
    Fuzz {
        /// The fuzz target, a file in fuzz/fuzz_targets
        target: String,
        /// How long to look
        #[arg(long, default_value_t = 60)]
        seconds: u32,
    },
    /// Build the operator's image with podman or docker, and start it once
    Image {
        /// Only with a runtime and base images that are here already; otherwise say so
        #[arg(long)]
        if_possible: bool,
    },
    /// Check advisories, licences, sources and duplicates of the dependencies, and that images build on digests
    Deny {
        /// Leave the advisories out, whose database is fetched
        #[arg(long)]
        offline: bool,
    },
}

#[derive(Debug, Subcommand)]
enum Bench {
    /// Loading and judging an install-config
    Config,
    /// Making the files of a cluster
    Assets,
    /// A round of checks: calls per vCenter, beside asking node by node
    Checks {
        /// How many nodes, one run for each
        #[arg(long, default_value = "100,1000,5000")]
        nodes: String,
    },
    /// The operator's memory: three connections, 2,000 nodes
    Operator,
    /// 500 machines that fetch their configuration at once
    MachineConfig,
    /// Machines on simulated vCenters, beside Cluster API's provider for vSphere
    Vsphere {
        /// Over how many vCenters
        #[arg(long, value_delimiter = ',', default_values_t = [1, 3], value_parser = clap::value_parser!(u8).range(1..=3))]
        vcenters: Vec<u8>,
        /// Leave the provider out: a minute instead of ten
        #[arg(long)]
        alone: bool,
    },
}

fn main() -> anyhow::Result<()> {
    if test::compiler::is_asked() {
        return test::compiler::run();
    }
    match Task::parse() {
        Task::Test => test::run(),
        Task::Demo { platform: DemoPlatform::Kubevirt, picture: None, boot: false } => demo::kubevirt::run(),
        Task::Demo { platform: DemoPlatform::Kubevirt, .. } => {
            anyhow::bail!("--picture and --boot are for vSphere only")
        }
        Task::Demo { boot: true, .. } => boot::run(boot::LARGE, boot::AfterFailure::Remove),
        Task::Demo { picture, .. } => demo::run(picture.as_deref()),
        Task::Lab { drills: true, .. } => demo::drills::run(),
        Task::Lab { control_plane, compute, keep, drivers, machines, .. } => {
            let after = if keep { boot::AfterFailure::Keep } else { boot::AfterFailure::Remove };
            if drivers {
                return demo::drivers::run(after);
            }
            if machines {
                return demo::machines::run(after);
            }
            boot::run(boot::Size { control_plane, compute, ..boot::LARGE }, after)
        }
        Task::Install { prefix, debug } => install::run(&prefix, debug),
        Task::Docs { check } => test::generated("reference", check),
        Task::Crds { check } => test::generated("definitions", check),
        Task::Peers { names, list } => peers::run(&names, list),
        Task::Strangers { names, list } => strangers::run(&names, list),
        Task::Race { legs } => race::run(&legs),
        Task::Differential { cases } => peers::differential(cases),
        Task::Bench(Bench::Config) => bench::config(),
        Task::Bench(Bench::Assets) => bench::assets(),
        Task::Faults { seeds, seed } => faults::run(seeds, seed),
        Task::Bench(Bench::Checks { nodes }) => bench::checks(&nodes),
        Task::Bench(Bench::Operator) => bench::operator(),
        Task::Bench(Bench::MachineConfig) => bench::machine_config(),
        Task::Bench(Bench::Vsphere { vcenters, alone }) => bench::vsphere::run(&vcenters, alone),
        Task::Scale { machines } => scale::run(machines),
        Task::Golden => test::golden(),
        Task::Fuzz { target, seconds } => fuzz::run(&target, seconds),
        Task::Image { if_possible: true } => image::build_if_possible(),
        Task::Image { .. } => image::build(),
        Task::Deny { offline } => deny::run(offline),
    }
}
