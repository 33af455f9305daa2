//! Reading the configuration from either format.

use super::{CloudConfig, Credentials, Leftover, Legacy, VCenter};
use crate::decode::Decoder;
use crate::driver_config::ini::IniReader;
use crate::driver_config::keys::Section;
use crate::driver_config::yaml;
use crate::findings::{Findings, Report, Rule};
use crate::gcfg;
use crate::yaml::{self as document, At, Document, FieldPath, Limits, Span, Value};

/// Which format a text was in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Yaml,
    Ini,
}

impl Format {
    pub fn as_str(self) -> &'static str {
        match self {
            Format::Yaml => "YAML",
            Format::Ini => "INI",
        }
    }
}

/// The result of reading a cloud config.
#[derive(Debug)]
pub struct Reading {
    /// Present when there are no errors.
    pub config: Option<CloudConfig>,
    /// Absent when the text is in neither format.
    pub format: Option<Format>,
    /// Keys that have no place in the model.
    pub leftovers: Vec<Leftover>,
    pub report: Report,
}

const SECTIONS: [&str; 11] = [
    "Global",
    "VirtualCenter",
    "Labels",
    "Nodes",
    "LoadBalancer",
    "LoadBalancerClass",
    "Route",
    "NSXT",
    "Workspace",
    "Network",
    "Disk",
];

/// Reads a cloud config as the drivers do: as YAML if it is, else as INI.
pub fn read(text: &str) -> Reading {
    let mut yaml_findings = Findings::default();
    let parsed = document::parse(text, Limits::default(), &mut yaml_findings);
    if let Some(document) = parsed.filter(|document| matches!(document.value(At::ROOT), Value::Map(_))) {
        let config = from_yaml(&document, &mut yaml_findings);
        check(&config, &mut yaml_findings, &Places::Yaml(&document));
        return finish(config, Format::Yaml, Vec::new(), yaml_findings, Some(&document), text);
    }
    let mut findings = Findings::default();
    match gcfg::parse(text) {
        Ok(file) if !file.sections.is_empty() => {
            let (config, leftovers) = from_ini(text, &file, &mut findings);
            check(&config, &mut findings, &Places::Ini(&file));
            finish(config, Format::Ini, leftovers, findings, None, text)
        }
        other => neither(text, yaml_findings, other.err()),
    }
}

fn finish(
    config: CloudConfig,
    format: Format,
    leftovers: Vec<Leftover>,
    findings: Findings,
    document: Option<&Document>,
    text: &str,
) -> Reading {
    let config = (!findings.has_errors()).then_some(config);
    Reading { config, format: Some(format), leftovers, report: findings.report(document, text) }
}

/// Says why the text is not YAML, and why it is not INI.
fn neither(text: &str, mut findings: Findings, ini: Option<gcfg::SyntaxError>) -> Reading {
    if !findings.has_errors() {
        findings
            .error_in(
                Rule::CloudConfigFormat,
                Span::default(),
                "as YAML: a mapping is expected at the top level",
            )
            .hint("write `global:` and `vcenter:`");
    }
    let (offset, message) =
        ini.map_or((0, "there is no section, such as [Global]"), |error| (error.offset, error.message));
    let end = text[offset..].chars().next().map_or(offset, |c| offset + c.len_utf8());
    findings
        .error_in(Rule::CloudConfigFormat, Span::new(offset, end), format!("as INI: {message}"))
        .hint("a cloud config is YAML (`vcenter:`) or INI (`[VirtualCenter \"…\"]`)");
    Reading { config: None, format: None, leftovers: Vec::new(), report: findings.report(None, text) }
}

/// Written by tools that dump everything, and overwritten by the driver.
const OVERWRITTEN: [&str; 2] = ["tenantref", "secretref"];
/// Sections, as YAML and INI call them.
const KEYS: [(&str, &str); 8] = [
    ("global", "Global"),
    ("vcenter", "VirtualCenter"),
    ("labels", "Labels"),
    ("nodes", "Nodes"),
    ("loadBalancer", "LoadBalancer"),
    ("loadBalancerClass", "LoadBalancerClass"),
    ("route", "Route"),
    ("nsxt", "NSXT"),
];

fn from_yaml(document: &Document, findings: &mut Findings) -> CloudConfig {
    let mut config = CloudConfig::default();
    let mut decoder = Decoder::new(document, findings);
    for entry in yaml::entries(&mut decoder, At::ROOT) {
        match &*entry.key {
            "global" => config.global = yaml::section(&mut decoder, entry.at, &[]),
            "vcenter" => {
                for (name, (at, vcenter)) in yaml::sections::<VCenter>(&mut decoder, entry.at, &OVERWRITTEN) {
                    if vcenter.server.is_empty() {
                        decoder
                            .findings()
                            .missing(at, "server", "`server` is required for each vCenter")
                            .hint(format!("add `server: {name}`"));
                    }
                    config.vcenters.insert(name, vcenter);
                }
            }
            "labels" => config.labels = yaml::section(&mut decoder, entry.at, &[]),
            "nodes" => config.nodes = yaml::section(&mut decoder, entry.at, &[]),
            "loadBalancer" => config.load_balancer = yaml::section(&mut decoder, entry.at, &[]),
            "loadBalancerClass" => {
                let classes = yaml::sections(&mut decoder, entry.at, &[]);
                config.load_balancer_classes =
                    classes.into_iter().map(|(name, (_, class))| (name, class)).collect();
            }
            "route" => config.route = yaml::section(&mut decoder, entry.at, &[]),
            "nsxt" => config.nsxt = yaml::section(&mut decoder, entry.at, &[]),
            _ => yaml::unknown_key(&mut decoder, entry, KEYS.into_iter()),
        }
    }
    config
}

fn from_ini(text: &str, file: &gcfg::File, findings: &mut Findings) -> (CloudConfig, Vec<Leftover>) {
    let mut reader = IniReader::new(text, file, findings);
    let mut config = CloudConfig::default();
    let mut legacy = Legacy::default();
    reader.section_into("Global", &mut [&mut config.global, &mut legacy.global]);
    reader.refuse_unnamed("VirtualCenter");
    config.vcenters = reader.subsections("VirtualCenter");
    for (name, vcenter) in &mut config.vcenters {
        if vcenter.server.is_empty() {
            vcenter.server.clone_from(name);
        }
    }
    config.labels = reader.section("Labels");
    config.nodes = reader.section("Nodes");
    config.load_balancer = reader.section("LoadBalancer");
    config.load_balancer_classes = reader.subsections("LoadBalancerClass");
    config.route = reader.section("Route");
    config.nsxt = reader.section("NSXT");
    legacy.workspace = reader.section("Workspace");
    legacy.network = reader.section("Network");
    legacy.disk = reader.section("Disk");
    config.legacy = legacy;
    reader.finish(&SECTIONS);
    legacy_leftovers(&mut reader, file);
    let mut leftovers = reader.leftovers;
    leftovers.sort_by_key(|leftover| leftover.line);
    (config, leftovers)
}

/// What the old provider alone used: the model keeps it, YAML cannot.
fn legacy_leftovers(reader: &mut IniReader<'_>, file: &gcfg::File) {
    const REASON: &str = "only the old in-tree provider used it; failure domains say it now";
    let sections = ["Workspace", "Network", "Disk"];
    let global: Vec<&str> = super::LegacyGlobal::KEYS.iter().map(|key| key.ini).collect();
    for section in file.sections.iter().filter(|section| section.subsection.is_none()) {
        let whole = sections.iter().any(|name| gcfg::same_name(name, &section.name));
        let in_global = gcfg::same_name("Global", &section.name);
        for variable in &section.variables {
            if whole || in_global && global.iter().any(|key| gcfg::same_name(key, &variable.name)) {
                reader.leftover(format!("[{}] {}", section.name, variable.name), variable.offset, REASON);
            }
        }
    }
}

/// Where to point at when a setting of the whole is wrong.
enum Places<'a> {
    Yaml(&'a Document),
    Ini(&'a gcfg::File),
}

impl Places<'_> {
    /// The key of a section, or as much of the way to it as exists.
    fn find(&self, yaml: &[&str], ini: (&str, Option<&str>, &str)) -> (Span, FieldPath) {
        match self {
            Places::Yaml(document) => {
                let mut at = At::ROOT;
                for key in yaml {
                    let Value::Map(entries) = document.value(at) else { break };
                    let Some(entry) = entries.iter().find(|entry| &*entry.key == *key) else { break };
                    at = entry.at;
                }
                (document.span(at), document.path(at))
            }
            Places::Ini(file) => {
                let (name, subsection, key) = ini;
                let section = file.sections.iter().find(|section| {
                    gcfg::same_name(&section.name, name) && section.subsection.as_deref() == subsection
                });
                let Some(section) = section else { return (Span::default(), FieldPath::default()) };
                let variable = section.variables.iter().find(|variable| gcfg::same_name(&variable.name, key));
                let header = Span::new(section.offset, section.offset + 1 + section.name.len());
                let span = variable.map_or(header, |variable| {
                    Span::new(variable.offset, variable.offset + variable.name.len())
                });
                let shown =
                    subsection.map_or(format!("[{name}]"), |subsection| format!("[{name} {subsection:?}]"));
                let path = if key.is_empty() { shown } else { format!("{shown} {key}") };
                (span, FieldPath::of(path))
            }
        }
    }
}

/// What the provider would refuse, or what an administrator would want to know.
fn check(config: &CloudConfig, findings: &mut Findings, places: &Places<'_>) {
    let global =
        |yaml: &'static str, ini: &'static str| places.find(&["global", yaml], ("Global", None, ini));
    if config.vcenters.is_empty() && config.global.server.is_empty() {
        let (span, _) = places.find(&["vcenter"], ("VirtualCenter", None, ""));
        findings
            .error_in(Rule::CloudConfigVCenters, span, "no vCenter is configured")
            .hint("add `vcenter:` with a `server` (YAML), or [VirtualCenter \"server\"] (INI)");
    }
    let secret = !config.global.secret_name.is_empty() || !config.global.secret_namespace.is_empty();
    if secret && !config.global.secrets_directory.is_empty() {
        let (span, path) = global("secretsDirectory", "secrets-directory");
        findings
            .error_in(
                Rule::CloudConfigCredentials,
                span,
                "a Secret and a directory with credentials are both given; the driver then uses neither",
            )
            .at_path(path)
            .hint("keep one of the two");
    } else if secret && (config.global.secret_name.is_empty() || config.global.secret_namespace.is_empty()) {
        let (span, path) = global("secretName", "secret-name");
        findings
            .error_in(
                Rule::CloudConfigCredentials,
                span,
                "name and namespace of the Secret are needed together",
            )
            .at_path(path)
            .hint("give both `secretName` and `secretNamespace` (INI: `secret-name`, `secret-namespace`)");
    }
    // Said where it is written: at the vCenter, or in the global section it is inherited from.
    let families = |name: &str| {
        let own = config.vcenters.get(name).is_some_and(|vcenter| !vcenter.ip_family.is_empty());
        if own {
            places.find(&["vcenter", name, "ipFamily"], ("VirtualCenter", Some(name), "ip-family"))
        } else {
            global("ipFamily", "ip-family")
        }
    };
    for vcenter in config.effective() {
        if vcenter.credentials == Credentials::Missing
            && !secret
            && config.global.secrets_directory.is_empty()
        {
            let (span, path) =
                places.find(&["vcenter", &vcenter.name], ("VirtualCenter", Some(&vcenter.name), ""));
            findings
                .error_in(
                    Rule::CloudConfigCredentials,
                    span,
                    format!("there are no credentials for `{}`", vcenter.name),
                )
                .at_path(path)
                .hint("name a Secret in the global section");
        }
        if vcenter.ip_family.len() > 1 {
            let (span, path) = families(&vcenter.name);
            findings
                .warning_in(
                    Rule::CloudConfigIpFamily,
                    span,
                    "the driver starts with two address families only as an experiment",
                )
                .at_path(path)
                .hint("set ENABLE_ALPHA_DUAL_STACK in the driver's environment, or give one family");
        }
        if let Some(family) = vcenter
            .ip_family
            .iter()
            .find(|family| !family.eq_ignore_ascii_case("ipv4") && !family.eq_ignore_ascii_case("ipv6"))
        {
            let (span, path) = families(&vcenter.name);
            findings
                .error_in(Rule::CloudConfigIpFamily, span, format!("`{family}` is not an address family"))
                .at_path(path)
                .hint("write ipv4 or ipv6");
        }
    }
    passwords(config, findings, places);
    if config.labels.zone.is_empty() != config.labels.region.is_empty() {
        let (span, path) = places.find(&["labels"], ("Labels", None, ""));
        findings
            .warning_in(
                Rule::CloudConfigLabels,
                span,
                "zones are only used when both `zone` and `region` are given",
            )
            .at_path(path)
            .hint("give both or neither");
    }
}

fn passwords(config: &CloudConfig, findings: &mut Findings, places: &Places<'_>) {
    let global = (!config.global.password.is_empty())
        .then(|| places.find(&["global", "password"], ("Global", None, "password")));
    let own = config.vcenters.iter().filter(|(_, vcenter)| !vcenter.password.is_empty()).map(|(name, _)| {
        places.find(&["vcenter", name, "password"], ("VirtualCenter", Some(name), "password"))
    });
    for (span, path) in global.into_iter().chain(own) {
        findings
            .warning_in(
                Rule::CloudConfigPassword,
                span,
                "a password in clear text, readable by everyone who can read this file",
            )
            .at_path(path)
            .hint("put it into a Secret and name that with `secretName` and `secretNamespace`");
    }
}
