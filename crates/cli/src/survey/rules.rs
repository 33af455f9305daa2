//! Answers judged by the rules of `slipway validate`: the draft becomes an install-config, whose other fields
//! no rule objects to, and what is found about one field is about its answer.

use slipway_config::findings::{Finding, Report, Rule, Severity};
use slipway_lifecycle::install_config::{
    Answers, Composed, Error, KubeVirtAnswers, OvirtAnswers, PlatformKind, VSphereAnswers, compose,
};

use super::draft::Draft;

/// What the rules say of an answer.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct AnswerCheck {
    /// Why it cannot stay.
    pub(crate) refused: Option<String>,
    /// What should be known.
    pub(crate) warnings: Vec<String>,
}

impl AnswerCheck {
    pub(crate) fn result(self) -> Result<(), String> {
        self.refused.map_or(Ok(()), Err)
    }
}

/// Judges the field at `path`, and what is below it.
pub(crate) fn judge(draft: &Draft, flags: &Answers, path: &str) -> AnswerCheck {
    let report = match compose(&completed(draft.answers(flags)), None) {
        Ok(Composed { report, .. }) => report,
        Err(Error::Invalid { report, .. }) => *report,
        // About the flags as a whole, not about this answer.
        Err(_) => return AnswerCheck::default(),
    };
    verdict(&report, path)
}

fn verdict(report: &Report, path: &str) -> AnswerCheck {
    let mut verdict = AnswerCheck::default();
    for finding in &report.findings {
        let place = finding.path.to_string();
        let here =
            place.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']));
        // Where one has two addresses and the other one has not, the finding is about the one with two. The question
        // that comes last shows it, because its answer can still be changed.
        let of_both = finding.rule == Rule::VipCount && path.ends_with("ingressVIPs");
        if !here && !of_both {
            continue;
        }
        // How to quote it in a file is of no use here.
        let finding = &match path {
            "pullSecret" => Finding { hint: None, ..finding.clone() },
            _ => finding.clone(),
        };
        // In a file it may be meant; the question asks for an address of the machine network, so that another one is a
        // mistake.
        let blocks = finding.severity == Severity::Error || finding.rule == Rule::VipOutside;
        match (blocks, finding.severity) {
            (true, _) if verdict.refused.is_none() => verdict.refused = Some(words(finding)),
            (false, Severity::Warning) => verdict.warnings.push(words(finding)),
            _ => {}
        }
    }
    verdict
}

/// The finding as one line.
pub(crate) fn words(finding: &Finding) -> String {
    match &finding.hint {
        Some(hint) => format!("{} ({hint})", finding.message),
        None => finding.message.clone(),
    }
}

/// With something harmless wherever there is no answer yet.
fn completed(mut answers: Answers) -> Answers {
    // Flags for other platforms are refused as a whole, before or after the questions.
    (answers.ovirt, answers.kubevirt) = (OvirtAnswers::default(), KubeVirtAnswers::default());
    if answers.platform == Some(PlatformKind::VSphere) {
        // Without one of the two the other one is reported, and without both the flags are. They have the same families.
        let given = if answers.api_vips.is_empty() { &answers.ingress_vips } else { &answers.api_vips };
        let six: Vec<bool> = match &given[..] {
            [] => vec![false],
            given => given.iter().map(|vip| vip.contains(':')).collect(),
        };
        for (vips, host) in [(&mut answers.api_vips, 1), (&mut answers.ingress_vips, 2)] {
            if vips.is_empty() {
                let filler =
                    |six: &bool| if *six { format!("2001:db8::{host}") } else { format!("192.0.2.{host}") };
                *vips = six.iter().map(filler).collect();
            }
        }
    } else {
        answers.platform = Some(PlatformKind::None);
        (answers.network, answers.vsphere) = (None, VSphereAnswers::default());
        (answers.api_vips, answers.ingress_vips) = (Vec::new(), Vec::new());
    }
    answers.name.get_or_insert_with(|| "cluster".to_owned());
    answers.base_domain.get_or_insert_with(|| "example.com".to_owned());
    let harmless = "{\"auths\":{\"registry.invalid\":{\"auth\":\"bm9ib2R5Om5vYm9keQ==\"}}}";
    answers.pull_secret.get_or_insert_with(|| harmless.into());
    answers
}
