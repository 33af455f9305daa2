//! Where pods and volumes may be, as Kubernetes' scheduler sees it.

use super::{Node, Taint};

/// Any of the terms must fit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selector {
    pub terms: Vec<Term>,
}

/// All of the requirements must fit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Term {
    pub labels: Vec<Requirement>,
    /// Only `metadata.name` exists.
    pub fields: Vec<Requirement>,
}

/// A label, or a field, and what it must be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Requirement {
    pub key: String,
    pub operator: String,
    pub values: Vec<String>,
}

/// A taint that a pod does not mind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Toleration {
    pub key: String,
    pub operator: String,
    pub value: String,
    pub effect: String,
}

impl Selector {
    pub fn fits(&self, node: &Node) -> bool {
        self.terms.iter().any(|term| term.fits(node))
    }
}

impl Term {
    fn fits(&self, node: &Node) -> bool {
        // An empty term fits nothing.
        let empty = self.labels.is_empty() && self.fields.is_empty();
        let labels =
            self.labels.iter().all(|wanted| wanted.fits(node.labels.get(&wanted.key).map(String::as_str)));
        let fields = self.fields.iter().all(|wanted| wanted.fits(Some(&node.name)));
        !empty && labels && fields
    }
}

impl Requirement {
    fn fits(&self, value: Option<&str>) -> bool {
        let listed = value.is_some_and(|value| self.values.iter().any(|wanted| wanted == value));
        let number = |text: Option<&str>| text.and_then(|text| text.parse::<i64>().ok());
        let bound = number(self.values.first().map(String::as_str));
        match self.operator.as_str() {
            "In" => listed,
            "NotIn" => !listed,
            "Exists" => value.is_some(),
            "DoesNotExist" => value.is_none(),
            "Gt" => number(value).zip(bound).is_some_and(|(value, bound)| value > bound),
            "Lt" => number(value).zip(bound).is_some_and(|(value, bound)| value < bound),
            _ => false,
        }
    }
}

impl Toleration {
    pub fn bears(&self, taint: &Taint) -> bool {
        let effect = self.effect.is_empty() || self.effect == taint.effect;
        let key = self.key.is_empty() || self.key == taint.key;
        let value = match self.operator.as_str() {
            "Exists" => true,
            _ => !self.key.is_empty() && self.value == taint.value,
        };
        effect && key && value
    }
}

/// Taints that keep pods away.
pub(in crate::check) fn bears_all(tolerations: &[Toleration], node: &Node) -> bool {
    let repels = |taint: &&Taint| matches!(taint.effect.as_str(), "NoSchedule" | "NoExecute");
    node.taints
        .iter()
        .filter(repels)
        .all(|taint| tolerations.iter().any(|toleration| toleration.bears(taint)))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::{Requirement, Selector, Taint, Term, Toleration};
    use crate::check::cluster::Node;

    fn node() -> Node {
        let labels = [("zone", "a"), ("cores", "8")];
        let labels = labels.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
        Node { name: "metal-0".to_owned(), labels, ..Node::default() }
    }

    #[rstest]
    #[case("zone", "In", &["a", "b"], true)]
    #[case("zone", "NotIn", &["a"], false)]
    #[case("gone", "NotIn", &["a"], true)]
    #[case("zone", "Exists", &[], true)]
    #[case("gone", "Exists", &[], false)]
    #[case("gone", "DoesNotExist", &[], true)]
    #[case("cores", "Gt", &["4"], true)]
    #[case("cores", "Lt", &["4"], false)]
    #[case("zone", "Gt", &["4"], false)]
    #[case("zone", "Near", &["a"], false)]
    fn requirements(
        #[case] key: &str,
        #[case] operator: &str,
        #[case] values: &[&str],
        #[case] expected: bool,
    ) {
        let wanted = Requirement {
            key: key.to_owned(),
            operator: operator.to_owned(),
            values: values.iter().map(|value| (*value).to_owned()).collect(),
        };
        let selector = Selector { terms: vec![Term { labels: vec![wanted], fields: Vec::new() }] };
        assert_eq!(selector.fits(&node()), expected);
    }

    #[test]
    fn any_term_is_enough_and_an_empty_one_is_not() {
        assert!(!Selector { terms: vec![Term::default()] }.fits(&node()));
        let named = Requirement {
            key: "metadata.name".to_owned(),
            operator: "In".to_owned(),
            values: vec!["metal-0".to_owned()],
        };
        let fields = Term { fields: vec![named], labels: Vec::new() };
        assert!(Selector { terms: vec![Term::default(), fields] }.fits(&node()));
    }

    #[rstest]
    #[case("", "Exists", "", "", true)]
    #[case("metal", "Exists", "", "", true)]
    #[case("metal", "Equal", "yes", "NoSchedule", true)]
    #[case("metal", "", "yes", "", true)]
    #[case("metal", "Equal", "no", "", false)]
    #[case("other", "Exists", "", "", false)]
    #[case("metal", "Exists", "", "NoExecute", false)]
    fn tolerations(
        #[case] key: &str,
        #[case] operator: &str,
        #[case] value: &str,
        #[case] effect: &str,
        #[case] expected: bool,
    ) {
        let taint =
            Taint { key: "metal".to_owned(), value: "yes".to_owned(), effect: "NoSchedule".to_owned() };
        let toleration = Toleration {
            key: key.to_owned(),
            operator: operator.to_owned(),
            value: value.to_owned(),
            effect: effect.to_owned(),
        };
        assert_eq!(toleration.bears(&taint), expected);
    }
}
