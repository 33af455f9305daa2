//! Names, regions and zones of failure domains.

use std::rc::Rc;

use crate::survey::draft::{Domain, Question};
use crate::survey::prompt::{Ask, Stop};
use crate::survey::questions::TextQuestion;
use crate::survey::{By, Survey};

impl Survey<'_> {
    pub(super) fn domain_name(&mut self, v: usize, d: usize) -> Result<By, Stop> {
        let (datacenter, cluster) = self.place(v, d);
        let taken = |name: &str| self.domains().any(|domain| domain.name.as_deref() == Some(name));
        let default = free(&slug(&format!("{datacenter}-{}", last(&cluster))), taken);
        let ask = Ask::new(format!("Name of the failure domain in {cluster}"))
            .help(format!("on {}", self.draft.vcenters[v].label()));
        self.name(Question::DomainName(v, d), ask, default, "name", |domain, name| domain.name = Some(name))
    }

    pub(super) fn region(&mut self, v: usize, d: usize) -> Result<By, Stop> {
        let (datacenter, cluster) = self.place(v, d);
        let inventory = self.inventory(v);
        let tagged = inventory.datacenter(&datacenter).and_then(|datacenter| datacenter.region.clone());
        let default = tagged.unwrap_or_else(|| slug(&datacenter));
        let ask = Ask::new(format!("Region of {cluster}"))
            .help(format!("the tag in openshift-region of datacenter {datacenter}"));
        self.name(Question::Region(v, d), ask, default, "region", |domain, name| domain.region = Some(name))
    }

    pub(super) fn zone(&mut self, v: usize, d: usize) -> Result<By, Stop> {
        let (_, cluster) = self.place(v, d);
        let region = self.draft.vcenters[v].domains[d].region.clone();
        let inventory = self.inventory(v);
        let tagged = inventory.cluster(&cluster).and_then(|cluster| cluster.zone.clone());
        let taken = |zone: &str| {
            self.domains().any(|domain| domain.region == region && domain.zone.as_deref() == Some(zone))
        };
        let default = free(&tagged.unwrap_or_else(|| slug(last(&cluster))), taken);
        let ask = Ask::new(format!("Zone of {cluster}"))
            .help("the tag in openshift-zone of the cluster; a region has each zone once");
        self.name(Question::Zone(v, d), ask, default, "zone", |domain, name| domain.zone = Some(name))
    }

    fn name(
        &mut self,
        question: Question,
        ask: Ask,
        default: String,
        key: &str,
        set: fn(&mut Domain, String),
    ) -> Result<By, Stop> {
        let (Question::DomainName(v, d) | Question::Region(v, d) | Question::Zone(v, d)) = question else {
            return Ok(By::Itself);
        };
        let position = self.draft.domain_position(v, d);
        self.text(TextQuestion {
            question,
            ask,
            default: Some(default),
            given: None,
            field: format!("platform.vsphere.failureDomains[{position}].{key}"),
            put: Rc::new(move |draft, text| set(&mut draft.vcenters[v].domains[d], text.to_owned())),
        })
    }

    fn place(&self, v: usize, d: usize) -> (String, String) {
        let domain = &self.draft.vcenters[v].domains[d];
        (domain.datacenter.clone().unwrap_or_default(), domain.cluster.clone().unwrap_or_default())
    }

    fn domains(&self) -> impl Iterator<Item = &Domain> {
        self.draft.vcenters.iter().flat_map(|vcenter| &vcenter.domains)
    }
}

fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// A name as DNS allows it, from whatever something is called in vSphere.
fn slug(text: &str) -> String {
    let mut slug = String::new();
    for c in text.to_lowercase().chars() {
        if c.is_ascii_alphanumeric() {
            slug.push(c);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let slug = slug.trim_end_matches('-');
    match slug.chars().next() {
        None => "fd".to_owned(),
        Some(c) if c.is_ascii_lowercase() => slug.to_owned(),
        Some(_) => format!("fd-{slug}"),
    }
}

/// The name, with a number if it is taken.
fn free(name: &str, taken: impl Fn(&str) -> bool) -> String {
    let mut candidate = name.to_owned();
    let mut number = 1;
    while taken(&candidate) {
        number += 1;
        candidate = format!("{name}-{number}");
    }
    candidate
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::{free, slug};

    #[rstest]
    #[case("DC 1/Compute_A", "dc-1-compute-a")]
    #[case("--North--", "north")]
    #[case("10th floor", "fd-10th-floor")]
    #[case("Süd", "s-d")]
    #[case("東京", "fd")]
    fn names_become_dns_names(#[case] name: &str, #[case] expected: &str) {
        assert_eq!(slug(name), expected);
    }

    #[test]
    fn a_taken_name_gets_a_number() {
        assert_eq!(free("a", |name| name == "a" || name == "a-2"), "a-3");
        assert_eq!(free("b", |name| name == "a"), "b");
    }
}
