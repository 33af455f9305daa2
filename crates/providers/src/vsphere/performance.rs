//! What a vCenter measured.

use std::collections::BTreeMap;

use super::client::Client;
use super::error::Error;
use super::moref::{MoRef, Reference};
use super::soap::{Body, Element};

/// The seconds between two of a host's own measurements; older ones are coarser.
const FINEST: u32 = 20;

/// The number of a counter such as `disk.maxTotalLatency.latest`, in a performance manager's `perfCounter`.
pub fn counter(counters: &Element, name: &str) -> Option<i64> {
    let found = counters.children.iter().find(|counter| {
        let part = |of: &str| counter.at(&[of, "key"]).map_or("", |key| &*key.text);
        format!("{}.{}.{}", part("groupInfo"), part("nameInfo"), counter.text_of("rollupType")) == name
    });
    found?.text_of("key").parse().ok()
}

impl Client {
    /// The last measurements of a counter of each of the machines, in one call. What was not measured is left out.
    pub async fn measured(
        &self,
        counter: i64,
        machines: &[MoRef],
        samples: u32,
    ) -> Result<BTreeMap<MoRef, Vec<i64>>, Error> {
        if machines.is_empty() {
            return Ok(BTreeMap::new());
        }
        let manager = self.manager("perfManager").await?;
        let metric = Body::new().text("counterId", counter).text("instance", "");
        let body = Body::new().each(machines, |body, machine| {
            let spec = Body::new()
                .reference("entity", &machine.reference)
                .text("maxSample", samples)
                .object("metricId", &metric)
                .text("intervalId", FINEST);
            body.object("querySpec", &spec)
        });
        let reply = self.read(&manager, "QueryPerf", &body).await?;
        let measured = reply.all("returnval").filter_map(|metric| {
            let machine = self.moref(Reference::of(metric.child("entity")?));
            let series = metric.child("value")?;
            // A measurement that is missing is negative.
            let values = series.all("value").filter_map(|value| value.text.parse().ok());
            Some((machine, values.filter(|value: &i64| *value >= 0).collect()))
        });
        Ok(measured.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::counter;
    use crate::vsphere::soap::element::parse;

    #[test]
    fn counters_have_three_names() {
        let xml = br"<val><PerfCounterInfo><key>133</key><nameInfo><key>maxTotalLatency</key></nameInfo>
            <groupInfo><key>disk</key></groupInfo><rollupType>latest</rollupType></PerfCounterInfo>
            <PerfCounterInfo><key>9</key><nameInfo><key>maxTotalLatency</key></nameInfo>
            <groupInfo><key>datastore</key></groupInfo><rollupType>latest</rollupType></PerfCounterInfo></val>";
        let counters = parse(xml).unwrap();
        assert_eq!(counter(&counters, "disk.maxTotalLatency.latest"), Some(133));
        assert_eq!(counter(&counters, "datastore.maxTotalLatency.latest"), Some(9));
        assert_eq!(counter(&counters, "disk.maxTotalLatency.average"), None);
    }
}
