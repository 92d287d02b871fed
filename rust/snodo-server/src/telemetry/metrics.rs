//! What is counted of a server, and its text in the exposition format of Prometheus, version 0.0.4.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use snodo_core::limits::METRIC_SERIES;

use crate::telemetry::{Dispatch, Event, Gauges, Sink};

/// The media type of the text.
pub(crate) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Upper bounds of the buckets of durations, in seconds: from a quick tool to the time a call may take.
const BOUNDS: [f64; 14] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
];

/// What a component is called once there are too many to tell apart.
const OTHER: &str = "other";

/// Counts since the server was made.
#[derive(Debug, Default)]
pub struct Metrics(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// By method and outcome, then by component.
    requests: HashMap<(&'static str, &'static str), HashMap<Box<str>, Series>>,
    series: usize,
    refused: BTreeMap<u16, u64>,
    opened: u64,
    delivered: u64,
    buffered: u64,
    dropped: u64,
    lost: BTreeMap<&'static str, u64>,
}

#[derive(Debug, Default)]
struct Series {
    /// Not cumulative; the last one is for what is beyond all bounds.
    buckets: [u64; BOUNDS.len() + 1],
    seconds: f64,
}

impl Metrics {
    /// Nothing has been counted.
    pub fn new() -> Self {
        Self::default()
    }

    /// Something that was to be told was not, for want of room: events, or lines of the access log.
    pub fn lose(&self, what: &'static str, count: u64) {
        *self.state().lost.entry(what).or_default() += count;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All of it, and how much there is to do just now.
    pub fn text(&self, gauges: &Gauges) -> String {
        let mut out = String::with_capacity(4096);
        let state = self.state();
        state.write_requests(&mut out);
        for (name, help, value) in [
            (
                "requests_in_flight",
                "Messages that are being served.",
                gauges.in_flight,
            ),
            (
                "calls_running",
                "Calls that have a place to run.",
                gauges.running,
            ),
            ("calls_queued", "Calls that wait for one.", gauges.queued),
            ("connections", "Open HTTP connections.", gauges.connections),
            (
                "sessions",
                "Sessions of clients over HTTP.",
                gauges.sessions,
            ),
            (
                "streams",
                "Subscriptions, and event streams of sessions.",
                gauges.streams,
            ),
        ] {
            head(&mut out, name, "gauge", help);
            sample(&mut out, name, "", value);
        }
        head(
            &mut out,
            "subscriptions_opened_total",
            "counter",
            "Subscriptions since the start.",
        );
        sample(&mut out, "subscriptions_opened_total", "", state.opened);
        let name = "subscription_events_total";
        head(
            &mut out,
            name,
            "counter",
            "Published events, once for each listener.",
        );
        for (result, count) in [
            ("delivered", state.delivered),
            ("buffered", state.buffered),
            ("dropped", state.dropped),
        ] {
            sample(&mut out, name, &format!("result=\"{result}\""), count);
        }
        let name = "http_refused_total";
        head(
            &mut out,
            name,
            "counter",
            "HTTP requests refused before there was a message.",
        );
        for (status, count) in &state.refused {
            sample(&mut out, name, &format!("status=\"{status}\""), count);
        }
        let name = "telemetry_dropped_total";
        head(
            &mut out,
            name,
            "counter",
            "What was not told for want of room.",
        );
        for what in ["access_log", "events"] {
            let count = state.lost.get(what).copied().unwrap_or_default();
            sample(&mut out, name, &format!("what=\"{what}\""), count);
        }
        out
    }
}

impl Sink for Metrics {
    fn tell(&self, event: &Event<'_>) {
        match event {
            Event::Stop(dispatch, duration, end) => {
                self.state().count(dispatch, end.flat(), *duration);
            }
            Event::Exception(dispatch, duration) => {
                self.state().count(dispatch, "exception", *duration);
            }
            Event::Opened(..) => self.state().opened += 1,
            Event::Published(published) => {
                let mut state = self.state();
                state.delivered += published.report.delivered as u64;
                state.buffered += published.report.buffered as u64;
                state.dropped += published.report.dropped as u64;
            }
            Event::Refused(status) => *self.state().refused.entry(*status).or_default() += 1,
            Event::Start(..) | Event::Closed(..) | Event::Completed { .. } => {}
        }
    }
}

impl State {
    fn count(&mut self, dispatch: &Dispatch, outcome: &'static str, duration: Duration) {
        let by_component = self
            .requests
            .entry((dispatch.method(), outcome))
            .or_default();
        let mut component = dispatch.component();
        if !by_component.contains_key(component) {
            // A server whose components change for ever has names without end.
            if self.series >= METRIC_SERIES && !component.is_empty() {
                component = OTHER;
            }
            self.series += usize::from(!by_component.contains_key(component));
            by_component.entry(component.into()).or_default();
        }
        if let Some(series) = by_component.get_mut(component) {
            let seconds = duration.as_secs_f64();
            series.buckets[BOUNDS.partition_point(|bound| *bound < seconds)] += 1;
            series.seconds += seconds;
        }
    }

    fn write_requests(&self, out: &mut String) {
        let mut all: Vec<_> = self
            .requests
            .iter()
            .flat_map(|(of, by_component)| {
                by_component.iter().map(move |(name, it)| (of, name, it))
            })
            .collect();
        all.sort_by_key(|(of, name, _)| (*of, *name));
        let labelled: Vec<_> = all
            .into_iter()
            .map(|((method, outcome), component, series)| {
                let component = escaped(component);
                let labels =
                    format!("method=\"{method}\",component=\"{component}\",outcome=\"{outcome}\"");
                (labels, series)
            })
            .collect();
        let name = "requests_total";
        head(
            out,
            name,
            "counter",
            "Messages served, by what came of them.",
        );
        for (labels, series) in &labelled {
            sample(out, name, labels, series.buckets.iter().sum::<u64>());
        }
        let name = "request_duration_seconds";
        head(
            out,
            name,
            "histogram",
            "From the arrival of a message to its answer.",
        );
        for (labels, series) in &labelled {
            let mut count = 0;
            for (at, in_bucket) in series.buckets.iter().enumerate() {
                count += in_bucket;
                let bound = BOUNDS
                    .get(at)
                    .map_or_else(|| "+Inf".to_owned(), f64::to_string);
                let labels = format!("{labels},le=\"{bound}\"");
                sample(out, &format!("{name}_bucket"), &labels, count);
            }
            sample(out, &format!("{name}_sum"), labels, series.seconds);
            sample(out, &format!("{name}_count"), labels, count);
        }
    }
}

// Writing to a string cannot fail.

fn head(out: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(
        out,
        "# HELP snodo_{name} {help}\n# TYPE snodo_{name} {kind}"
    );
}

fn sample(out: &mut String, name: &str, labels: &str, value: impl std::fmt::Display) {
    let _ = if labels.is_empty() {
        writeln!(out, "snodo_{name} {value}")
    } else {
        writeln!(out, "snodo_{name}{{{labels}}} {value}")
    };
}

/// A label's value as the format has it.
fn escaped(value: &str) -> String {
    value
        .replace('\\', r"\\")
        .replace('"', "\\\"")
        .replace('\n', r"\n")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::SystemTime;

    use snodo_core::context::Transport;
    use snodo_core::pipeline::Component;

    use super::*;
    use crate::telemetry::{End, Outcome};

    fn stopped(metrics: &Metrics, name: &str, millis: u64) {
        let dispatch = Arc::new(Dispatch {
            span: 1,
            method: Some("tools/call"),
            request_id: None,
            transport: Transport::Http,
            protocol_version: None,
            component: Some(Component {
                kind: "tool",
                name: name.to_owned(),
            }),
            traceparent: None,
            tracestate: None,
            baggage: None,
            system_time: SystemTime::UNIX_EPOCH,
        });
        let end = End {
            outcome: Outcome::Ok,
            error_code: None,
            error_type: None,
            status: None,
        };
        metrics.tell(&Event::Stop(&dispatch, Duration::from_millis(millis), end));
    }

    #[test]
    fn buckets_are_cumulative_and_labels_escaped() {
        let metrics = Metrics::new();
        stopped(&metrics, "a\"\\\nb", 1);
        stopped(&metrics, "a\"\\\nb", 1500);
        stopped(&metrics, "a\"\\\nb", 60_000);
        let text = metrics.text(&Gauges::default());
        let labels = r#"method="tools/call",component="a\"\\\nb",outcome="ok""#;
        for line in [
            format!("snodo_requests_total{{{labels}}} 3"),
            format!("snodo_request_duration_seconds_bucket{{{labels},le=\"0.001\"}} 1"),
            format!("snodo_request_duration_seconds_bucket{{{labels},le=\"1\"}} 1"),
            format!("snodo_request_duration_seconds_bucket{{{labels},le=\"2.5\"}} 2"),
            format!("snodo_request_duration_seconds_bucket{{{labels},le=\"+Inf\"}} 3"),
            format!("snodo_request_duration_seconds_sum{{{labels}}} 61.501"),
            format!("snodo_request_duration_seconds_count{{{labels}}} 3"),
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
    }

    #[test]
    fn too_many_components_are_counted_together() {
        let metrics = Metrics::new();
        for at in 0..METRIC_SERIES + 5 {
            stopped(&metrics, &format!("tool{at}"), 1);
        }
        stopped(&metrics, "tool0", 1);
        let text = metrics.text(&Gauges::default());
        let total = |name: &str| {
            let line = format!(
                "snodo_requests_total{{method=\"tools/call\",component=\"{name}\",outcome=\"ok\"}} "
            );
            let found = text.lines().find_map(|found| found.strip_prefix(&line));
            found.map(str::to_owned)
        };
        assert_eq!(total("other").as_deref(), Some("5"));
        assert_eq!(total("tool0").as_deref(), Some("2"));
        assert_eq!(total(&format!("tool{METRIC_SERIES}")), None);
    }
}
