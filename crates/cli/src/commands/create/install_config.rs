//! `slipway create install-config`.

use std::io::IsTerminal;
use std::path::Path;

use serde::Serialize;
use slipway_config::findings::Severity;
use slipway_lifecycle::install_config::{
    Answers, Composed, Error, KubeVirtAnswers, OvirtAnswers, PasswordAt, PlatformKind, VSphereAnswers,
    compose, vacancy, write,
};

use super::Refusal;
use crate::args::{InstallConfig, Output, Platform};
use crate::commands::validate;
use crate::exit::Exit;
use crate::output::{FAINT, GOOD, Printer};
use crate::{input, report};

pub(crate) fn run(args: InstallConfig, printer: &Printer) -> anyhow::Result<Exit> {
    let result = create(args, printer);
    if let Err(error) = &result
        && printer.output == Output::Json
    {
        // A file that cannot be read, for instance; people are told by the caller.
        let causes: Vec<String> = error.chain().skip(1).map(ToString::to_string).collect();
        Refusal { message: error.to_string(), details: &causes, ..Refusal::default() }.print(printer)?;
    }
    result
}

fn create(args: InstallConfig, printer: &Printer) -> anyhow::Result<Exit> {
    let (dir, from) = (args.dir.clone(), args.from.clone());
    let path = match vacancy(&dir) {
        Ok(path) => path,
        Err(error) => return refuse(error, "", printer),
    };
    let source = from.as_deref().map(input::read).transpose()?;
    let result = compose(&answers(args)?, source.as_deref());
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
    if printer.output == Output::Json {
        printer.json(&Done { file: &name, findings: report::json(&findings) })?;
        return Ok(Exit::Ok);
    }
    printer.say(&report::text(&findings, &name));
    printer.data(&format!("{GOOD}written{GOOD:#}: {name}\n"))?;
    printer.say(&format!("{FAINT}next: slipway create manifests --dir {}{FAINT:#}\n", dir.display()));
    Ok(Exit::Ok)
}

fn answers(args: InstallConfig) -> anyhow::Result<Answers> {
    let InstallConfig {
        dir: _,
        from: _,
        platform,
        name,
        base_domain,
        ssh_key_file,
        pull_secret_file,
        release_image,
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
    let password = match (vcenter_password_file, vcenter_password_env) {
        // Relative to where the command is run; in the install-config it would be relative to that.
        (Some(file), _) => Some(PasswordAt::File(std::path::absolute(file)?)),
        (None, variable) => variable.map(PasswordAt::Env),
    };
    Ok(Answers {
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
        control_plane_replicas,
        compute_replicas,
        machine_networks: machine_network,
        api_vips: api_vip,
        ingress_vips: ingress_vip,
        network,
        vsphere: VSphereAnswers {
            server: vcenter,
            user: vcenter_user,
            password,
            datacenter,
            cluster: compute_cluster,
            datastore,
        },
        ovirt: OvirtAnswers {
            cluster_id: ovirt_cluster_id,
            storage_domain_id: ovirt_storage_domain_id,
            vnic_profile_id,
        },
        kubevirt: KubeVirtAnswers { namespace, storage_class },
    })
}

fn refuse(error: Error, file: &str, printer: &Printer) -> anyhow::Result<Exit> {
    let exit = match &error {
        Error::Invalid { report, .. } => return validate::refuse(report, file, printer),
        Error::Missing { .. }
        | Error::Elsewhere { .. }
        | Error::Platform { .. }
        | Error::Several { .. }
        | Error::Unexpected { .. } => Exit::Usage,
        Error::Exists { .. } | Error::Io(_) => Exit::Other,
    };
    let asked = matches!(&error, Error::Missing { flags } if flags.first() == Some(&"--platform"));
    let hint = error.hint();
    if printer.output == Output::Json {
        Refusal { message: error.to_string(), hint: hint.as_deref(), ..Refusal::default() }.print(printer)?;
    }
    printer.error(&error.into());
    if asked && std::io::stdin().is_terminal() {
        printer.say("  slipway does not ask for answers yet; everything comes from flags or a file\n");
    }
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
}
