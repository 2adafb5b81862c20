//! Values that are looked up when somebody asks, so that they cannot be out of date.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;

/// Values of one label.
pub(super) struct Gauges<F> {
    pub(super) name: &'static str,
    pub(super) help: &'static str,
    pub(super) label: &'static str,
    pub(super) read: F,
}

impl<F, I> Collector for Gauges<F>
where
    F: Fn() -> I + Send + Sync + 'static,
    I: IntoIterator<Item = (&'static str, usize)>,
{
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        let mut family = encoder.encode_descriptor(self.name, self.help, None, MetricType::Gauge)?;
        for (value, count) in (self.read)() {
            let count = ConstGauge::new(i64::try_from(count).unwrap_or(i64::MAX));
            count.encode(family.encode_family(&[(self.label, value)])?)?;
        }
        Ok(())
    }
}

impl<F> fmt::Debug for Gauges<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gauges")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// One yes or no, as 1 or 0.
pub(super) struct Flag<F> {
    pub(super) name: &'static str,
    pub(super) help: &'static str,
    pub(super) read: F,
}

impl<F: Fn() -> bool + Send + Sync + 'static> Collector for Flag<F> {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        let metric = encoder.encode_descriptor(self.name, self.help, None, MetricType::Gauge)?;
        ConstGauge::new(i64::from((self.read)())).encode(metric)
    }
}

impl<F> fmt::Debug for Flag<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Flag").field("name", &self.name).finish_non_exhaustive()
    }
}
