//! Reading the configuration from either format.

use super::check::check;
use super::places::Places;
use super::{CloudConfig, Leftover, Legacy, VCenter};
use crate::decode::Decoder;
use crate::driver_config::ini::IniReader;
use crate::driver_config::keys::Section;
use crate::driver_config::yaml;
use crate::findings::{Findings, Report, Rule};
use crate::gcfg;
use crate::yaml::{self as document, At, Document, Limits, Span, Value};

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
    // It is YAML, of a kind we do not take.
    if yaml_findings.has_error_of(Rule::YamlUnsupported) {
        let report = yaml_findings.report(None, text);
        return Reading { config: None, format: Some(Format::Yaml), leftovers: Vec::new(), report };
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
const OVERWRITTEN: [&str; 1] = ["tenantref"];
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
    let mut nothing = None;
    for entry in yaml::entries(&mut decoder, At::ROOT) {
        match &*entry.key {
            "global" => config.global = yaml::section(&mut decoder, entry.at, &[]),
            "vcenter" => {
                nothing = decoder.value(entry.at).is_null().then_some(entry.at);
                for (name, (at, vcenter)) in yaml::sections::<VCenter>(&mut decoder, entry.at, &OVERWRITTEN) {
                    let blank = |node: &Value| match node {
                        Value::Scalar { text, .. } => text.is_empty() || node.is_null(),
                        _ => false,
                    };
                    let written = match document.value(at) {
                        Value::Map(entries) => entries.iter().find(|entry| &*entry.key == "server"),
                        _ => None,
                    };
                    // What is there but cannot be read has been reported.
                    if written.is_none_or(|entry| blank(document.value(entry.at))) {
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
    if let Some(at) = nothing.filter(|_| !config.global.server.is_empty()) {
        let message = "`vcenter` has no value; the driver crashes when it adds the global `server` to it";
        findings.error(Rule::CloudConfigVCenters, at, message).hint("remove `vcenter:`");
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
