//! A request as people and programs see it.

use serde::Serialize;
use slipway_assess::csr::Decision;
use slipway_assess::csr::approve::Judged;

use crate::output::{FAINT, GOOD, NAME, WARNING};

/// A request and what the rules say about it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Request {
    pub(super) name: String,
    kind: &'static str,
    created: String,
    requestor: String,
    groups: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    common_name: Option<String>,
    organizations: Vec<String>,
    names: Vec<String>,
    addresses: Vec<String>,
    other_names: Vec<String>,
    usages: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fingerprint: Option<String>,
    pub(super) verdict: &'static str,
    reason: &'static str,
    message: String,
    pub(super) approved: bool,
}

impl Request {
    pub(super) fn of(judged: &Judged) -> Self {
        let Judged { csr, verdict, .. } = judged;
        let content = csr.content.as_ref().ok();
        let (verdict, reason, message) = match verdict {
            Decision::Approve(ground) => ("approve", ground.reason(), ground.to_string()),
            Decision::Refuse(refusal) => ("refuse", refusal.reason(), refusal.to_string()),
        };
        let list = |items: Option<Vec<String>>| items.unwrap_or_default();
        Request {
            name: csr.name.clone(),
            kind: csr.signer.as_str(),
            created: csr.created.to_string(),
            requestor: csr.username.clone(),
            groups: csr.groups.iter().cloned().collect(),
            common_name: content.map(|content| content.common_name.clone()),
            organizations: list(content.map(|content| content.organizations.clone())),
            names: list(content.map(|content| content.names.iter().cloned().collect())),
            addresses: list(
                content.map(|content| content.addresses.iter().map(ToString::to_string).collect()),
            ),
            other_names: list(content.map(|content| content.others.clone())),
            usages: csr.usages.iter().cloned().collect(),
            key: content.map(|content| content.key.clone()),
            fingerprint: content.map(|content| content.fingerprint.clone()),
            verdict,
            reason,
            message,
            approved: false,
        }
    }

    pub(super) fn text(&self) -> String {
        let Request { name, kind, created, .. } = self;
        let subject = self.common_name.as_deref().unwrap_or("(unreadable)");
        let mut text = format!(
            "{NAME}{}{NAME:#}: {kind} certificate for {}, asked {created}\n",
            plain(name),
            plain(subject)
        );
        let style = if self.verdict == "approve" { GOOD } else { WARNING };
        let verdict = format!("{style}{}{style:#}: {} ({})", self.verdict, plain(&self.message), self.reason);
        for (title, value) in [
            ("requestor", plain(&self.requestor)),
            ("groups", plain(&self.groups.join(", "))),
            ("organizations", plain(&self.organizations.join(", "))),
            ("names", plain(&self.names.join(", "))),
            ("addresses", plain(&self.addresses.join(", "))),
            ("other names", plain(&self.other_names.join(", "))),
            ("usages", plain(&self.usages.join(", "))),
            ("key", plain(self.key.as_deref().unwrap_or_default())),
            ("fingerprint", plain(self.fingerprint.as_deref().unwrap_or_default())),
            ("verdict", verdict),
        ] {
            if !value.is_empty() {
                text.push_str(&format!("  {FAINT}{title:<13}{FAINT:#}  {value}\n"));
            }
        }
        text
    }
}

/// Text of strangers without what a terminal would obey, or what looks like other text.
fn plain(text: &str) -> String {
    let shown = |c: char| {
        if c.is_ascii() && !c.is_ascii_control() { c.to_string() } else { c.escape_unicode().to_string() }
    };
    text.chars().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn strangers_do_not_write_on_the_terminal() {
        assert_eq!(plain("system:node:a\u{1b}[2J\n"), "system:node:a\\u{1b}[2J\\u{a}");
        assert_eq!(plain("node\u{202e}a"), "node\\u{202e}a");
    }
}
