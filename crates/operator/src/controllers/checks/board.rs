//! A round as metrics. The last round's series are all there are, so that nodes that are gone raise no alerts.

use std::sync::{Arc, PoisonError, RwLock};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;
use slipway_assess::check::metrics::{FAMILIES, Series};

/// What the last round said.
#[derive(Debug, Clone, Default)]
pub struct Board {
    series: Arc<RwLock<Vec<Series>>>,
}

impl Board {
    /// Takes the place of whatever was there.
    pub(crate) fn replace(&self, series: Vec<Series>) {
        // A list that is replaced as a whole is never half written.
        *self.series.write().unwrap_or_else(PoisonError::into_inner) = series;
    }

    pub fn series(&self) -> Vec<Series> {
        self.series.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Collector for Board {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let series = self.series.read().unwrap_or_else(PoisonError::into_inner);
        for (name, help) in FAMILIES {
            let mut of = series.iter().filter(|one| one.name == *name).peekable();
            if of.peek().is_none() {
                continue;
            }
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            for one in of {
                family.encode_family(&one.labels)?.encode_gauge(&one.value)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text::encode;
    use prometheus_client::registry::Registry;
    use slipway_assess::check::metrics::Series;

    use super::Board;

    #[test]
    fn a_round_takes_the_place_of_the_one_before() {
        let (mut registry, board) = (Registry::default(), Board::default());
        registry.register_collector(Box::new(board.clone()));
        let text = || {
            let mut text = String::new();
            encode(&mut text, &registry).unwrap();
            text
        };
        let failed = |node: &str| Series {
            name: "vsphere_node_check_errors",
            labels: vec![("check", "CheckNodePerf".to_owned()), ("node", node.to_owned())],
            value: 1,
        };
        let volumes = Series { name: "vsphere_rwx_volumes_total", labels: Vec::new(), value: 2 };
        board.replace(vec![failed("a"), failed("b"), volumes]);
        insta::assert_snapshot!(text(), @r#"
        # HELP vsphere_node_check_errors 1 where a check of a node fails
        # TYPE vsphere_node_check_errors gauge
        vsphere_node_check_errors{check="CheckNodePerf",node="a"} 1
        vsphere_node_check_errors{check="CheckNodePerf",node="b"} 1
        # HELP vsphere_rwx_volumes_total Volumes that several nodes can write to
        # TYPE vsphere_rwx_volumes_total gauge
        vsphere_rwx_volumes_total{} 2
        # EOF
        "#);
        board.replace(vec![failed("b")]);
        assert!(!text().contains("node=\"a\"") && text().contains("node=\"b\""), "{}", text());
    }
}
