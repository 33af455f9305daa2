//! A round as one HTML file that needs nothing else.

use slipway_assess::check::report::{NodeState, Round};

use super::text::tally;

const STYLE: &str = "
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; color: #1c2733; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; } th, td { text-align: left; vertical-align: top; padding: .4rem .6rem; border-bottom: 1px solid #d9e0e7; }
code { font: 13px ui-monospace, monospace; } .help { color: #40566b; }
.failure, .unknown { color: #b3261e; font-weight: 600; } .warning { color: #8a5a00; font-weight: 600; }
.pending { color: #40566b; } .good { color: #1b6e3c; }
@media (prefers-color-scheme: dark) {
  body { background: #14191f; color: #dfe6ee; } th, td { border-color: #2c3742; } .help, .pending { color: #9fb2c5; }
  .failure, .unknown { color: #ff8a80; } .warning { color: #ffcc66; } .good { color: #7ddc9f; }
}";

/// The whole page.
pub(super) fn page(round: &Round) -> String {
    let cluster = escaped(&round.cluster);
    let (class, verdict) = if round.is_clear() { ("good", "healthy") } else { ("failure", "not healthy") };
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{cluster}: {verdict}</title>\n\
         <style>{STYLE}</style>\n</head>\n<body>\n\
         <h1><span class=\"{class}\">{verdict}</span>: {cluster}</h1>\n<p>{}; looked at {:.0}</p>\n",
        tally(round),
        round.started
    );
    page.push_str(&findings(round));
    page.push_str(&vcenters(round));
    page.push_str(&nodes(round));
    page.push_str("</body>\n</html>\n");
    page
}

fn findings(round: &Round) -> String {
    let mut text = String::new();
    let mut place = None;
    for group in round.groups() {
        let finding = group.finding;
        if place.as_ref() != Some(&finding.endpoint) {
            if place.is_some() {
                text.push_str("</table>\n");
            }
            let name = finding.endpoint.as_deref().unwrap_or("the cluster");
            text.push_str(&format!("<h2>{}</h2>\n<table>\n", escaped(name)));
            place = Some(finding.endpoint.clone());
        }
        let class = finding.outcome.as_str();
        let about = if group.nodes.is_empty() { finding.object.clone() } else { group.nodes.join(", ") };
        let mut said = escaped(&finding.message);
        for detail in &finding.details {
            said.push_str(&format!("<br>{}", escaped(detail)));
        }
        if let Some(remedy) = &finding.remedy {
            said.push_str(&format!("<br><span class=\"help\">{}</span>", escaped(remedy)));
        }
        text.push_str(&format!(
            "<tr><td class=\"{class}\">{class}</td><td><code>{}</code></td><td>{}</td><td>{said}</td></tr>\n",
            finding.check.code(),
            escaped(&about)
        ));
    }
    if place.is_some() {
        text.push_str("</table>\n");
    }
    text
}

fn vcenters(round: &Round) -> String {
    let mut text =
        "<h2>vCenters</h2>\n<table>\n<tr><th>server</th><th>version</th><th>nodes</th></tr>\n".to_owned();
    for vcenter in &round.vcenters {
        let version = if vcenter.reached {
            escaped(&vcenter.version)
        } else {
            "<span class=\"unknown\">not reached</span>".to_owned()
        };
        let server = escaped(&vcenter.server);
        text.push_str(&format!("<tr><td>{server}</td><td>{version}</td><td>{}</td></tr>\n", vcenter.nodes));
    }
    text.push_str("</table>\n");
    text
}

fn nodes(round: &Round) -> String {
    if round.nodes.is_empty() {
        return String::new();
    }
    let mut text =
        "<h2>Nodes</h2>\n<table>\n<tr><th>node</th><th>state</th><th>failed</th></tr>\n".to_owned();
    for node in &round.nodes {
        let state = match &node.state {
            NodeState::Checked { vcenter, path, .. } => format!("{} on {}", escaped(path), escaped(vcenter)),
            NodeState::Pending => "<span class=\"pending\">pending</span>".to_owned(),
            NodeState::Skipped { why } => format!("skipped: {}", escaped(why)),
            NodeState::Unknown { vcenters } => {
                format!("<span class=\"unknown\">unknown</span>, on {}", escaped(&vcenters.join(" or ")))
            }
            NodeState::Missing => "<span class=\"failure\">no machine</span>".to_owned(),
        };
        let failed: Vec<&str> = node.failed.iter().map(|check| check.code()).collect();
        let name = escaped(&node.name);
        text.push_str(&format!("<tr><td>{name}</td><td>{state}</td><td>{}</td></tr>\n", failed.join(", ")));
    }
    text.push_str("</table>\n");
    text
}

/// Names come from strangers.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn names_of_strangers_are_text() {
        assert_eq!(escaped("<b a=\"x\">&"), "&lt;b a=&quot;x&quot;&gt;&amp;");
    }
}
