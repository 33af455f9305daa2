//! `slipway create install-config`.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::Serialize;
use slipway_config::findings::Severity;
use slipway_config::install_config::load;
use slipway_lifecycle::install_config::{
    Answers, Composed, Error, KubeVirtAnswers, OvirtAnswers, PasswordAt, PlatformKind, SeveralFlags,
    VSphereAnswers, compose, split_port, vacancy, write,
};

use crate::args::{InstallConfig, Output, Platform};
use crate::commands::validate;
use crate::exit::Exit;
use crate::output::{GOOD, Printer};
use crate::survey::{self, Live, Setting, Stop, Survey, Terminal};
use crate::{input, report};

pub(crate) fn run(args: InstallConfig, printer: &Printer) -> anyhow::Result<Exit> {
    let (dir, from) = (args.dir.clone(), args.from.clone());
    let path = match vacancy(&dir) {
        Ok(path) => path,
        Err(error) => return refuse(error, "", printer),
    };
    let source = from.as_deref().map(input::read).transpose()?;
    let answers = match answers(args)? {
        Ok(answers) => answers,
        Err(error) => return refuse(error, "", printer),
    };
    let mut result = compose(&answers, source.as_deref());
    if matches!(result, Err(Error::Missing { .. })) && from.is_none() && can_ask(&answers, printer) {
        result = match ask(answers, path.clone(), printer) {
            Ok(composed) => Ok(composed),
            Err(Stop::Refused(error)) => Err(error),
            Err(stop) => return Ok(stop.tell("nothing was written", printer)),
        };
    }
    let Composed { text, report } = match result {
        Ok(composed) => composed,
        Err(error) => {
            let name = match &error {
                Error::Invalid { source_file: true, .. } => {
                    from.as_deref().map(input::name).unwrap_or_default()
                }
                _ => format!("{} (not written)", path.display()),
            };
            return refuse(error, &name, printer);
        }
    };
    let path = match write(&dir, &text) {
        Ok(path) => path,
        Err(error) => return refuse(error, "", printer),
    };
    let mut findings = report;
    findings.findings.retain(|finding| finding.severity == Severity::Warning);
    let name = path.display().to_string();
    // Files can be made without it, machines cannot.
    let missing = load(&text).config.map(|config| config.missing_for_machines()).unwrap_or_default();
    if printer.output == Output::Json {
        let missing = missing.iter().map(ToString::to_string).collect();
        printer.json(&Done { file: &name, findings: report::json(&findings), missing })?;
        return Ok(Exit::Ok);
    }
    printer.say(&report::text(&findings, &name));
    printer.data(&format!("{GOOD}written{GOOD:#}: {name}\n"))?;
    for missing in &missing {
        printer.warning(&format!("machines need more: {missing}"));
        printer.hint(missing.hint());
    }
    printer.next(&format!("slipway create manifests --dir {}", dir.display()));
    Ok(Exit::Ok)
}

/// There is a terminal to ask at, and there are questions for the platform.
fn can_ask(answers: &Answers, printer: &Printer) -> bool {
    let terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    terminal && printer.output == Output::Text && survey::is_for(answers.platform)
}

fn ask(flags: Answers, path: PathBuf, printer: &Printer) -> Result<Composed, Stop> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let setting = Setting { flags, ssh_keys: survey::ssh_keys(home.as_deref()), path, now: Timestamp::now() };
    Survey::new(setting, &mut Terminal::new(printer), &mut Live::new(printer)?).run()
}

/// The flags as answers, or what is wrong with them.
fn answers(args: InstallConfig) -> anyhow::Result<Result<Answers, Error>> {
    let InstallConfig {
        dir: _,
        from: _,
        platform,
        name,
        base_domain,
        ssh_key_file,
        pull_secret_file,
        release_image,
        os_image,
        control_plane_replicas,
        compute_replicas,
        machine_network,
        api_vip,
        ingress_vip,
        network,
        vcenter,
        vcenter_user,
        vcenter_password_file,
        vcenter_password_env,
        vcenter_thumbprint,
        failure_domain,
        datacenter,
        compute_cluster,
        datastore,
        ovirt_cluster_id,
        ovirt_storage_domain_id,
        vnic_profile_id,
        namespace,
        storage_class,
    } = args;
    let read = |file: Option<&Path>| file.map(input::read).transpose();
    let mut passwords: Vec<PasswordAt> = vcenter_password_env.into_iter().map(PasswordAt::Env).collect();
    for file in vcenter_password_file {
        // Relative to where the command is run; in the install-config it would be relative to that.
        passwords.push(PasswordAt::File(std::path::absolute(file)?));
    }
    let flags = SeveralFlags {
        vcenters: vcenter.iter().map(|server| split_port(server)).collect(),
        users: vcenter_user,
        passwords,
        thumbprints: vcenter_thumbprint,
        failure_domains: failure_domain,
    };
    let mut vsphere = match flags.answers() {
        Ok(vsphere) => vsphere,
        Err(error) => return Ok(Err(error)),
    };
    vsphere = VSphereAnswers { datacenter, cluster: compute_cluster, datastore, ..vsphere };
    Ok(Ok(Answers {
        platform: platform.map(|platform| match platform {
            Platform::VSphere => PlatformKind::VSphere,
            Platform::Ovirt => PlatformKind::Ovirt,
            Platform::KubeVirt => PlatformKind::KubeVirt,
            Platform::None => PlatformKind::None,
        }),
        name,
        base_domain,
        ssh_key: read(ssh_key_file.as_deref())?,
        pull_secret: read(pull_secret_file.as_deref())?.map(Into::into),
        release_image,
        os_image,
        control_plane_replicas,
        compute_replicas,
        machine_networks: machine_network,
        api_vips: api_vip,
        ingress_vips: ingress_vip,
        network,
        vsphere,
        ovirt: OvirtAnswers {
            cluster_id: ovirt_cluster_id,
            storage_domain_id: ovirt_storage_domain_id,
            vnic_profile_id,
        },
        kubevirt: KubeVirtAnswers { namespace, storage_class },
    }))
}

fn refuse(error: Error, file: &str, printer: &Printer) -> anyhow::Result<Exit> {
    let exit = match &error {
        Error::Invalid { report, .. } => return validate::refuse(report, file, printer),
        Error::Missing { .. }
        | Error::Elsewhere { .. }
        | Error::Platform { .. }
        | Error::Several { .. }
        | Error::Count { .. }
        | Error::FailureDomain { .. }
        | Error::Unexpected { .. } => Exit::Usage,
        Error::Exists { .. } | Error::Io(_) => Exit::Other,
    };
    let asked = matches!(&error, Error::Missing { flags } if flags.first() == Some(&"--platform"));
    let hint = error.hint();
    printer.error(&error.into());
    if let Some(hint) = hint {
        printer.hint(&hint);
    }
    if asked {
        printer.hint("each platform needs more: see `slipway create install-config --help`");
    }
    Ok(exit)
}

/// What a program is told.
#[derive(Debug, Serialize)]
struct Done<'a> {
    file: &'a str,
    findings: Vec<report::FindingJson<'a>>,
    /// What has to be added before machines can be made.
    missing: Vec<String>,
}
