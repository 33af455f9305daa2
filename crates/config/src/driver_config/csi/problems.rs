//! What the storage driver would refuse to start with.

use std::collections::BTreeMap;

use super::{CsiConfig, VCenter};
use crate::driver_config::keys::Section;
use crate::names::storage_driver_accepts;

/// Limits of the driver itself.
const MAX_VCENTERS: usize = 5;
const MAX_CATEGORIES: usize = 5;
const MAX_CLUSTER_ID: usize = 64;
const LABEL_DOMAINS: [&str; 3] =
    ["topology.kubernetes.io", "failure-domain.beta.kubernetes.io", "topology.csi.vmware.com"];

/// Where something is wrong, what, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub section: &'static str,
    /// The section's name in quotes.
    pub name: Option<String>,
    /// Empty when it is the section itself.
    pub key: &'static str,
    pub message: String,
    pub hint: &'static str,
    /// Something is not there, rather than wrong.
    pub missing: bool,
}

impl Problem {
    fn new(section: &'static str, key: &'static str, message: impl Into<String>, hint: &'static str) -> Self {
        Problem { section, name: None, key, message: message.into(), hint, missing: false }
    }

    fn of(mut self, name: &str) -> Self {
        // Without quotes it is the section alone.
        self.name = Some(name.to_owned()).filter(|name| !name.is_empty());
        self
    }

    fn missing(mut self) -> Self {
        self.missing = true;
        self
    }
}

impl CsiConfig {
    /// What the driver would refuse to start with. Without any vCenter, the settings of a guest cluster are judged.
    pub fn problems(&self) -> Vec<Problem> {
        let vcenters = self.effective_vcenters();
        if vcenters.is_empty() && !self.guest.is_blank() {
            return self.guest_problems();
        }
        let mut problems = Vec::new();
        match vcenters.len() {
            0 => {
                let hint = "add [VirtualCenter \"server\"]";
                problems.push(
                    Problem::new("VirtualCenter", "", "the configuration names no vCenter", hint).missing(),
                );
            }
            count if count > MAX_VCENTERS => problems.push(Problem::new(
                "VirtualCenter",
                "",
                format!("{count} vCenters; the driver takes at most {MAX_VCENTERS}"),
                "remove the ones without volumes",
            )),
            count if count > 1 && self.labels.topology_categories.is_empty() => problems.push(
                Problem::new(
                    "Labels",
                    "topology-categories",
                    "several vCenters need `topology-categories`",
                    "add `topology-categories` with the tag categories of region and zone",
                )
                .missing(),
            ),
            _ => {}
        }
        self.global_problems(&mut problems);
        self.label_problems(&mut problems);
        for (server, vcenter) in vcenters {
            self.vcenter_problems(server, vcenter, &mut problems);
        }
        problems
    }

    /// With the one the global section names, if it is not there.
    fn effective_vcenters(&self) -> BTreeMap<&str, Option<&VCenter>> {
        let global = Some(self.global.vcenter_ip.as_str()).filter(|server| !server.is_empty());
        let own = self.vcenters.iter().map(|(server, vcenter)| (server.as_str(), Some(vcenter)));
        global.map(|server| (server, None)).into_iter().chain(own).collect()
    }

    fn guest_problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        if self.guest.endpoint.is_empty() {
            let message = "the Supervisor is not named";
            problems.push(Problem::new("GC", "endpoint", message, "add `endpoint`").missing());
        }
        if self.guest.cluster_uid.is_empty() {
            let hint = "add `tanzukubernetescluster-uid`";
            let message = "the cluster has no id";
            problems.push(Problem::new("GC", "tanzukubernetescluster-uid", message, hint).missing());
        }
        problems
    }

    fn global_problems(&self, problems: &mut Vec<Problem>) {
        let ids = [
            (&self.global.supervisor_id, "supervisor-id", "copy it from the Supervisor"),
            (&self.global.cluster_id, "cluster-id", "use the infrastructure's name"),
        ];
        for (_, key, hint) in ids.into_iter().filter(|(id, ..)| id.len() > MAX_CLUSTER_ID) {
            let message = format!("`{key}` is longer than {MAX_CLUSTER_ID} characters");
            problems.push(Problem::new("Global", key, message, hint));
        }
    }

    fn label_problems(&self, problems: &mut Vec<Problem>) {
        let categories = &self.labels.topology_categories;
        if categories.len() > MAX_CATEGORIES {
            problems.push(Problem::new(
                "Labels",
                "topology-categories",
                format!("{} categories; the driver takes at most {MAX_CATEGORIES}", categories.len()),
                "use region and zone",
            ));
        }
        let old_form = [(&self.labels.zone, "zone"), (&self.labels.region, "region")];
        if let Some((_, key)) = old_form.into_iter().find(|(value, _)| !value.trim().is_empty())
            && !categories.is_empty()
        {
            let message = "`topology-categories` excludes `zone` and `region`";
            problems.push(Problem::new("Labels", key, message, "keep `topology-categories`"));
        }
        for (name, category) in &self.topology_categories {
            let domain = category.label.split('/').next().unwrap_or_default();
            if !LABEL_DOMAINS.contains(&domain) {
                let message = format!("`{}` is not a label the driver accepts", category.label);
                let hint = "use a label of topology.kubernetes.io or topology.csi.vmware.com";
                problems.push(Problem::new("TopologyCategory", "label", message, hint).of(name));
            }
        }
    }

    fn vcenter_problems(&self, server: &str, vcenter: Option<&VCenter>, problems: &mut Vec<Problem>) {
        let own = vcenter.filter(|vcenter| !vcenter.user.is_empty());
        let user = own.map_or(&self.global.user, |vcenter| &vcenter.user);
        // Said where it is written.
        let at = |key, message: String, hint, global: bool| {
            let section = if global { "Global" } else { "VirtualCenter" };
            let problem = Problem::new(section, key, message, hint);
            if global { problem } else { problem.of(server) }
        };
        if user.is_empty() {
            let message = format!("there is no user for `{server}`");
            let hint = "add `user = \"name@domain\"`";
            problems.push(at("user", message, hint, vcenter.is_none()).missing());
        } else if !storage_driver_accepts(user) {
            let message = format!("the driver refuses the user of `{server}`");
            let hint = "write name@domain or DOMAIN\\name, with letters, digits, `.`, `-` and `_` only";
            problems.push(at("user", message, hint, own.is_none()));
        }
        let password = vcenter.is_some_and(|vcenter| !vcenter.password.is_empty());
        if !password && self.global.password.is_empty() {
            let message = format!("there is no password for `{server}`");
            problems.push(at("password", message, "add `password = \"…\"`", vcenter.is_none()).missing());
        }
    }
}
