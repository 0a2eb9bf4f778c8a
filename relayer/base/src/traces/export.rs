//! The exporter: spans wait in a bounded queue, and a thread of the library sends them in batches over our own client. Spans that
//! find the queue full, or that the collector does not take, are lost; nothing waits for them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use axum::http::HeaderMap;
use opentelemetry::propagation::{Extractor, TextMapPropagator};
use opentelemetry::trace::{SpanBuilder, SpanKind, Status, TraceContextExt, Tracer, TracerProvider as _};
use opentelemetry::{Context, KeyValue};
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{SpanExporter, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::resource::{EnvResourceDetector, TelemetryResourceDetector};
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};
use tokio::runtime::Handle;
use tracing::field::display;
use tracing::level_filters::LevelFilter;
use tracing::subscriber::Interest;
use tracing::{Metadata, Span, Subscriber};
use tracing_opentelemetry::OpenTelemetrySpanExt;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::dynamic_filter_fn;
use tracing_subscriber::registry::LookupSpan;

use super::{REQUEST, STEP, TracesError};

/// How long a stop waits for the collector to take the remaining spans.
const END_DEADLINE: Duration = Duration::from_secs(3);
/// How long a batch may take, unless the environment says otherwise; the specification's default.
const SEND_TIMEOUT_MS: u64 = 10_000;
const SEND_TIMEOUTS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT"];
/// Largest answer of a collector that is read.
const ANSWER_BYTES_MAX: usize = 64 * 1024;
const TRACEPARENT: &str = "traceparent";

/// The exporter; it goes on until [`Traces::end`].
#[derive(Debug)]
pub struct Traces {
    provider: SdkTracerProvider,
}

impl Traces {
    /// The environment sets everything else too, by the specification's names.
    pub fn start(runtime: &Handle) -> Result<Self, TracesError> {
        let client =
            Client::new(runtime.clone()).map_err(|error| TracesError::Exporter(error.to_string()))?;
        let exporter = SpanExporter::builder().with_http().with_http_client(client).build();
        let exporter = exporter.map_err(|error| TracesError::Exporter(error.to_string()))?;
        let provider = SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource());
        Ok(Self { provider: provider.build() })
    }

    /// The layer that receives spans.
    pub fn layer<S: Subscriber + for<'span> LookupSpan<'span>>(&self) -> impl Layer<S> + use<S> {
        let layer = tracing_opentelemetry::layer()
            .with_location(false)
            .with_threads(false)
            .with_target(false)
            .with_tracked_inactivity(false)
            .with_context_activation(false)
            .with_tracer(WithKinds(self.provider.tracer("purser")));
        // A step outside a request belongs to nobody: the relayer polls nodes all the time.
        let is_of_request = dynamic_filter_fn(|metadata: &Metadata<'_>, context| {
            is_request(metadata) || is_step(metadata) && context.lookup_current().is_some()
        });
        let of_callsite = |metadata: &'static Metadata<'static>| match () {
            () if is_request(metadata) => Interest::always(),
            () if is_step(metadata) => Interest::sometimes(),
            () => Interest::never(),
        };
        let filter = is_of_request.with_callsite_filter(of_callsite).with_max_level_hint(LevelFilter::ERROR);
        layer.with_filter(filter)
    }

    /// Sends the remaining spans, within a deadline.
    pub async fn end(self) {
        let ended = tokio::task::spawn_blocking(move || self.provider.shutdown_with_timeout(END_DEADLINE));
        if !matches!(ended.await, Ok(Ok(()))) {
            tracing::warn!("some traces were not sent before the stop");
        }
    }
}

fn is_request(metadata: &Metadata<'_>) -> bool {
    metadata.is_span() && metadata.name() == REQUEST && metadata.target().starts_with("purser_")
}

fn is_step(metadata: &Metadata<'_>) -> bool {
    metadata.is_span() && metadata.target() == STEP
}

/// What describes the service. The environment adds to it and overrides it.
fn resource() -> Resource {
    let builder = Resource::builder_empty()
        .with_service_name("purser")
        .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
        .with_detector(Box::new(TelemetryResourceDetector))
        .with_detector(Box::new(EnvResourceDetector::new()));
    match std::env::var("OTEL_SERVICE_NAME") {
        Ok(name) if !name.is_empty() => builder.with_service_name(name).build(),
        Ok(_) | Err(_) => builder.build(),
    }
}

/// Begins the trace of a request, or continues its caller's; the log names it.
pub fn begin(span: &Span, headers: &HeaderMap) {
    let parent = TraceContextPropagator::new().extract_with_context(&Context::new(), &Traceparent(headers));
    if span.set_parent(parent).is_err() {
        // Nobody asked for traces.
        return;
    }
    let context = span.context();
    let context = context.span().span_context().clone();
    if context.is_sampled() {
        span.record("trace_id", display(context.trace_id()));
    }
}

/// Ends the request's span; steps under way go on. `route` is a template.
pub fn answered(span: &Span, method: &'static str, route: Option<&str>, status: u16) {
    let context = span.context();
    let of_request = context.span();
    if !of_request.is_recording() {
        return;
    }
    of_request.update_name(route.map_or_else(|| method.to_owned(), |route| format!("{method} {route}")));
    of_request.set_attribute(KeyValue::new("http.request.method", method));
    if let Some(route) = route {
        of_request.set_attribute(KeyValue::new("http.route", route.to_owned()));
    }
    of_request.set_attribute(KeyValue::new("http.response.status_code", i64::from(status)));
    if status >= 500 {
        of_request.set_status(Status::error(""));
    }
    of_request.end();
}

/// Skips a caller's `tracestate`: we call nothing on the caller's behalf, and it may be as long as a whole head.
struct Traceparent<'a>(&'a HeaderMap);

impl Extractor for Traceparent<'_> {
    fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).filter(|_| name == TRACEPARENT)?.to_str().ok()
    }

    fn keys(&self) -> Vec<&str> {
        vec![TRACEPARENT]
    }
}

/// Sets the kind of each span: server, client or internal.
struct WithKinds(SdkTracer);

impl Tracer for WithKinds {
    type Span = opentelemetry_sdk::trace::Span;

    fn build_with_context(&self, mut builder: SpanBuilder, parent: &Context) -> Self::Span {
        builder.span_kind = Some(match &*builder.name {
            REQUEST => SpanKind::Server,
            "rpc" => SpanKind::Client,
            _ => SpanKind::Internal,
        });
        self.0.build_with_context(builder, parent)
    }
}

/// Posts batches, and logs once when that fails, and once when it works again.
#[derive(Debug)]
struct Client {
    http: reqwest::Client,
    /// The thread that exports has no runtime of its own.
    runtime: Handle,
    is_failing: AtomicBool,
}

impl Client {
    fn new(runtime: Handle) -> Result<Self, reqwest::Error> {
        let given = SEND_TIMEOUTS.iter().find_map(|name| std::env::var(name).ok()?.trim().parse().ok());
        let timeout = Duration::from_millis(given.unwrap_or(SEND_TIMEOUT_MS));
        let http = reqwest::Client::builder()
            .timeout(timeout)
            .redirect(reqwest::redirect::Policy::none())
            .build()?;
        Ok(Self { http, runtime, is_failing: AtomicBool::new(false) })
    }

    fn note(&self, sent: &Result<Response<Bytes>, HttpError>) {
        let problem = match sent {
            Ok(answer) if answer.status().is_success() => None,
            Ok(answer) => Some(format!("it answers {}", answer.status())),
            Err(error) => Some(error.to_string()),
        };
        let was_failing = self.is_failing.swap(problem.is_some(), Ordering::Relaxed);
        match problem {
            Some(problem) if !was_failing => {
                tracing::warn!(problem, "the collector does not accept traces; dropping them");
            }
            None if was_failing => tracing::info!("the collector accepts traces again"),
            Some(_) | None => {}
        }
    }
}

#[async_trait]
impl HttpClient for Client {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let sent = self.runtime.spawn(send(self.http.clone(), request)).await;
        let sent = sent.unwrap_or_else(|stopped| Err(stopped.into()));
        self.note(&sent);
        sent
    }
}

async fn send(http: reqwest::Client, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
    // The URL may hold a secret.
    let failed =
        |error: reqwest::Error| HttpError::from(format!("{:#}", anyhow::Error::from(error.without_url())));
    let mut answer = http.execute(request.try_into().map_err(failed)?).await.map_err(failed)?;
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(failed)? {
        if body.len() + chunk.len() > ANSWER_BYTES_MAX {
            return Err("it answers more than anybody reads".into());
        }
        body.extend_from_slice(&chunk);
    }
    let mut response = Response::new(Bytes::from(body));
    *response.status_mut() = answer.status();
    *response.headers_mut() = std::mem::take(answer.headers_mut());
    Ok(response)
}
