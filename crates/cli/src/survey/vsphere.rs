//! The questions about vCenters and failure domains.

mod choices;
mod login;
mod names;

use std::rc::Rc;
use std::sync::Arc;

use super::draft::{Domain, MAX_VCENTERS, Question, VCenter};
use super::estate::Lists;
use super::prompt::{Ask, Stop, Tone};
use super::questions::TextQuestion;
use super::{By, Survey};

impl Survey<'_> {
    pub(super) fn ask_vsphere(&mut self, question: Question) -> Result<By, Stop> {
        match question {
            Question::Server(v) => self.server(v),
            Question::User(v) => self.user(v),
            Question::Password(v) => self.password(v),
            Question::Datacenter(v, d) => self.datacenter(v, d),
            Question::Cluster(v, d) => self.cluster(v, d),
            Question::Datastore(v, d) => self.datastore(v, d),
            Question::Network(v, d) => self.network(v, d),
            Question::AnotherDomain(v) => self.another_domain(v),
            Question::AnotherVCenter => self.another_vcenter(),
            Question::DomainName(v, d) => self.domain_name(v, d),
            Question::Region(v, d) => self.region(v, d),
            Question::Zone(v, d) => self.zone(v, d),
            _ => Ok(By::Itself),
        }
    }

    fn user(&mut self, v: usize) -> Result<By, Stop> {
        // Administrators of several vCenters often have the same name on all of them.
        let default = v.checked_sub(1).and_then(|before| self.draft.vcenters[before].user.clone());
        let given = self.flags.vsphere.user.clone().filter(|_| v == 0);
        self.text(TextQuestion {
            question: Question::User(v),
            ask: Ask::new(format!("User name on {}", self.draft.vcenters[v].label()))
                .help("as name@domain, such as administrator@vsphere.local"),
            default,
            given: given.map(|user| ("--vcenter-user", user)),
            field: format!("platform.vsphere.vcenters[{v}].user"),
            put: Rc::new(move |draft, text| draft.vcenters[v].user = Some(text.to_owned())),
        })
    }

    /// Only where there is a cluster that has none yet.
    fn another_domain(&mut self, v: usize) -> Result<By, Stop> {
        let vcenter = &self.draft.vcenters[v];
        let clusters = vcenter.inventory.as_deref().map_or(0, |inventory| inventory.clusters().count());
        if clusters <= vcenter.domains.len() {
            self.draft.vcenters[v].all_domains = true;
            return Ok(By::Itself);
        }
        let message = format!("Another failure domain on {}?", vcenter.label());
        let ask = Ask::new(message).help("with several failure domains, machines are spread over them");
        if self.prompter.confirm(&ask, false)? {
            self.draft.vcenters[v].domains.push(Domain::default());
        } else {
            self.draft.vcenters[v].all_domains = true;
        }
        Ok(By::User)
    }

    fn another_vcenter(&mut self) -> Result<By, Stop> {
        if self.draft.vcenters.len() == MAX_VCENTERS {
            self.prompter
                .say(Tone::Info, &format!("{MAX_VCENTERS} vCenters are the most a cluster can have"));
            self.draft.all_vcenters = true;
            return Ok(By::Itself);
        }
        let ask = Ask::new("Another vCenter?").help("a cluster can span up to three");
        if self.prompter.confirm(&ask, false)? {
            self.draft.vcenters.push(VCenter::default());
        } else {
            self.draft.all_vcenters = true;
        }
        Ok(By::User)
    }

    fn inventory(&self, v: usize) -> Arc<Lists> {
        self.draft.vcenters[v].inventory.clone().unwrap_or_default()
    }
}
