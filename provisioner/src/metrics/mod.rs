//! What is counted, for `/metrics`.
//!
//! Every label value is a `&'static str`: what comes from outside can never become one, so the number of series is
//! bounded by the words in this program. Instance ids belong in logs and Events.

mod gauge;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::prometheus_text;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};

use self::gauge::{Flag, Gauges};

/// The media type of what [`Metrics::text`] writes.
pub const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Upper bounds of buckets, in seconds: STS answers within a second, or the network is in trouble.
const STS_BUCKETS: [f64; 8] = [0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// Upper bounds of buckets, in seconds: a node is there a minute after `running`, or something is wrong.
const JOIN_BUCKETS: [f64; 12] = [
    2.5, 5.0, 10.0, 20.0, 30.0, 45.0, 60.0, 90.0, 120.0, 300.0, 600.0, 1800.0,
];

type Labels<const N: usize> = [(&'static str, &'static str); N];
type Histograms = Family<Labels<1>, Histogram, fn() -> Histogram>;

/// All counters of a process; a clone counts into the same ones.
#[derive(Clone, Debug)]
pub struct Metrics {
    registry: Arc<Mutex<Registry>>,
    claims: Family<Labels<1>, Counter>,
    messages: Family<Labels<1>, Counter>,
    sts: Histograms,
    joins: Histograms,
    calls: Family<Labels<3>, Counter>,
    passes: Family<Labels<1>, Counter>,
}

impl Default for Metrics {
    fn default() -> Self {
        let metrics = Self {
            registry: Arc::new(Mutex::new(Registry::with_prefix("dynk8s"))),
            claims: Family::default(),
            messages: Family::default(),
            sts: Family::new_with_constructor(|| Histogram::new(STS_BUCKETS)),
            joins: Family::new_with_constructor(|| Histogram::new(JOIN_BUCKETS)),
            calls: Family::default(),
            passes: Family::default(),
        };
        metrics.register();
        metrics
    }
}

impl Metrics {
    fn register(&self) {
        let mut registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        let version = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
        registry.register("build", "The program that runs", version);
        registry.register("claims", "Claims of agents, by how they ended", self.claims.clone());
        registry.register(
            "sns_messages",
            "Messages that were posted to /sns, by how they ended",
            self.messages.clone(),
        );
        registry.register_with_unit(
            "sts_request",
            "How long STS took to answer",
            Unit::Seconds,
            self.sts.clone(),
        );
        registry.register_with_unit(
            "join",
            "From an instance's `running` to each phase of its join",
            Unit::Seconds,
            self.joins.clone(),
        );
        registry.register(
            "api_requests",
            "Requests to the API server, by how they ended",
            self.calls.clone(),
        );
        registry.register(
            "reconcile_passes",
            "Looks at one Worker, by how they ended",
            self.passes.clone(),
        );
    }

    /// Has something counted, by the values of a label, whenever somebody asks.
    pub fn gauges<I>(
        &self,
        name: &'static str,
        help: &'static str,
        label: &'static str,
        read: impl Fn() -> I + Send + Sync + 'static,
    ) where
        I: IntoIterator<Item = (&'static str, usize)>,
    {
        self.collect(Gauges {
            name,
            help,
            label,
            read,
        });
    }

    /// Has something looked up whenever somebody asks: 1 for yes, 0 for no.
    pub fn flag(&self, name: &'static str, help: &'static str, read: impl Fn() -> bool + Send + Sync + 'static) {
        self.collect(Flag { name, help, read });
    }

    fn collect(&self, collector: impl Collector) {
        let mut registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        registry.register_collector(Box::new(collector));
    }

    /// A claim was answered.
    pub fn claim(&self, outcome: &'static str) {
        self.claims.get_or_create(&[("outcome", outcome)]).inc();
    }

    /// A message was answered.
    pub fn sns_message(&self, outcome: &'static str) {
        self.messages.get_or_create(&[("outcome", outcome)]).inc();
    }

    /// STS answered, or did not.
    pub fn sts_request(&self, outcome: &'static str, took: Duration) {
        self.sts
            .get_or_create(&[("outcome", outcome)])
            .observe(took.as_secs_f64());
    }

    /// An instance came to a phase of its join so long after it ran.
    pub fn join(&self, phase: &'static str, after: Duration) {
        self.joins
            .get_or_create(&[("phase", phase)])
            .observe(after.as_secs_f64());
    }

    /// The API server answered, or did not.
    pub fn api_request(&self, verb: &'static str, resource: &'static str, outcome: &'static str) {
        let labels = [("verb", verb), ("resource", resource), ("outcome", outcome)];
        self.calls.get_or_create(&labels).inc();
    }

    /// A Worker was looked at.
    pub fn reconcile_pass(&self, result: &'static str) {
        self.passes.get_or_create(&[("result", result)]).inc();
    }

    /// Everything, in the text format of Prometheus.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        // Writing to a String does not fail.
        let _ = prometheus_text::encode(&mut text, &registry);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_names_what_was_counted() {
        let metrics = Metrics::default();
        metrics.claim("served");
        metrics.clone().claim("served");
        metrics.sns_message("malformed");
        metrics.sts_request("answered", Duration::from_millis(60));
        metrics.join("admitted", Duration::from_secs(50));
        metrics.api_request("get", "workers", "ok");
        metrics.reconcile_pass("ok");
        metrics.gauges("keys", "Keys", "state", || [("free", 3), ("in-use", 0)]);
        metrics.flag("ready", "Ready", || true);
        let text = metrics.text();
        for line in [
            concat!("dynk8s_build_info{version=\"", env!("CARGO_PKG_VERSION"), "\"} 1"),
            "# TYPE dynk8s_claims_total counter",
            "dynk8s_claims_total{outcome=\"served\"} 2",
            "dynk8s_sns_messages_total{outcome=\"malformed\"} 1",
            "dynk8s_sts_request_seconds_bucket{outcome=\"answered\",le=\"0.05\"} 0",
            "dynk8s_sts_request_seconds_bucket{outcome=\"answered\",le=\"0.1\"} 1",
            "dynk8s_join_seconds_count{phase=\"admitted\"} 1",
            "dynk8s_api_requests_total{verb=\"get\",resource=\"workers\",outcome=\"ok\"} 1",
            "dynk8s_reconcile_passes_total{result=\"ok\"} 1",
            "# HELP dynk8s_keys Keys",
            "# TYPE dynk8s_keys gauge",
            "dynk8s_keys{state=\"free\"} 3",
            "dynk8s_keys{state=\"in-use\"} 0",
            "dynk8s_ready 1",
        ] {
            assert!(text.lines().any(|it| it == line), "{line} is not in:\n{text}");
        }
    }
}
