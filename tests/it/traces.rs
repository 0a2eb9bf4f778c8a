//! Traces, as a collector gets them over OTLP. `cargo xtask test --optional-features` tests a relayer with the feature `otel`;
//! otherwise those tests are ignored, and what is left is that the relayer reports the missing feature.

use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Attribute;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, Span};
use prost::Message;
use purser_tests::{Agent, AppSettings, Receiver, TestApp, TestNetwork, binaries};
use reqwest::Method;
use serde_json::{Value, json};

const PATH: &str = "/v1/traces";
const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALLER: &str = "00f067aa0ba902b7";
const MEMO: &str = "invoice of nobody's business";

/// A relayer that sends its traces to this address every 100 ms, and an agent with 100 USDC whose operator is its own.
async fn traced(endpoint: &str, more: &[(&'static str, &str)]) -> (Arc<TestApp>, Agent) {
    let mut environment = vec![
        ("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.to_owned()),
        ("OTEL_BSP_SCHEDULE_DELAY", "100".to_owned()),
        ("PURSER_LOG_FORMAT", "json".to_owned()),
    ];
    environment.extend(more.iter().map(|(name, value)| (*name, (*value).to_owned())));
    let settings = AppSettings { environment, ..AppSettings::default() };
    let app = TestApp::start(TestNetwork::shared().await, &settings).await;
    let agent = app.new_operator().await.creates_account_with("Ada", "100").await;
    (app, agent)
}

fn batches(collector: &Receiver) -> Vec<ResourceSpans> {
    let sent = collector.received(PATH).into_iter().flat_map(|batch| {
        assert_eq!(batch.header("content-type"), "application/x-protobuf");
        let read = ExportTraceServiceRequest::decode(batch.body.as_slice());
        read.expect("a batch of spans").resource_spans
    });
    sent.collect()
}

fn spans(collector: &Receiver) -> Vec<Span> {
    let of_batch = |batch: ResourceSpans| batch.scope_spans.into_iter().flat_map(|scope| scope.spans);
    batches(collector).into_iter().flat_map(of_batch).collect()
}

/// The first matching span, once it has arrived.
async fn arrives(collector: &Receiver, what: &str, is_it: impl Fn(&Span) -> bool) -> Span {
    let begun = Instant::now();
    loop {
        let arrived = spans(collector);
        if let Some(found) = arrived.iter().find(|span| is_it(span)) {
            return found.clone();
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "no {what} in {arrived:#?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

fn text_of<'a>(attributes: &'a [KeyValue], name: &str) -> Option<&'a str> {
    let found = attributes.iter().find(|attribute| attribute.key == name)?;
    match found.value.as_ref()?.value.as_ref()? {
        Attribute::StringValue(text) => Some(text),
        _ => None,
    }
}

fn is_of(request_id: &str) -> impl Fn(&Span) -> bool {
    move |span| text_of(&span.attributes, "request_id") == Some(request_id)
}

/// Pays 1 within the caller's own trace.
async fn pays_within(agent: &Agent, trace: &[(&str, &str)], key: &str) -> purser_tests::Answer {
    let (payee, _) = agent.operator.chain.new_payee().await;
    let body = json!({
        "from": agent.id, "to": payee.to_string(), "amount": "1", "memo": MEMO, "idempotency_key": key
    });
    let client = agent.new_key().await;
    let mut request = client.request(Method::POST, "/v1/transfers").json(&body);
    for (name, value) in trace {
        request = request.header(*name, *value);
    }
    client.sends(request).await.is_settled()
}

#[tokio::test]
#[cfg_attr(not(feature = "optional-features"), ignore = "`cargo xtask test --optional-features` runs it")]
async fn payment_is_a_span_of_its_callers_trace_with_its_steps_and_no_secret() {
    let collector = Receiver::start();
    let headers = ("OTEL_EXPORTER_OTLP_HEADERS", "x-collector-token=let-me-in");
    let resource = ("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=tests");
    let (app, agent) = traced(&collector.url(""), &[headers, resource]).await;
    let parent = format!("00-{TRACE}-{CALLER}-01");
    let paid =
        pays_within(&agent, &[("traceparent", &parent), ("tracestate", "theirs=secret")], "traced").await;
    let request_id = paid.header("x-request-id").expect("every answer has one");
    let request = arrives(&collector, "span of the payment", is_of(request_id)).await;
    assert_eq!(request.name, "POST /v1/transfers");
    assert_eq!(request.kind(), SpanKind::Server);
    assert_eq!((hex::encode(&request.trace_id).as_str(), request.trace_state.as_str()), (TRACE, ""));
    assert_eq!(hex::encode(&request.parent_span_id), CALLER);
    assert_eq!(text_of(&request.attributes, "transfer_id"), Some(paid.text_of("transfer_id")));
    assert_eq!(text_of(&request.attributes, "http.route"), Some("/v1/transfers"));
    assert!(text_of(&request.attributes, "key_id").is_some_and(|id| id.starts_with("key_")), "{request:?}");
    assert!(request.end_time_unix_nano > request.start_time_unix_nano, "{request:?}");

    // The request's steps are its children, and calls to nodes are children of the span that makes them.
    for step in ["transfer.claim", "transfer.follow"] {
        let is_step = |span: &Span| span.name == step && span.parent_span_id == request.span_id;
        let found = arrives(&collector, step, is_step).await;
        assert_eq!(found.trace_id, request.trace_id);
    }
    let is_sending = |span: &Span| text_of(&span.attributes, "rpc.method") == Some("sendTransaction");
    let sent = arrives(&collector, "call of a node", is_sending).await;
    assert_eq!(sent.kind(), SpanKind::Client);
    let arrived = spans(&collector);
    let known = |id: &Vec<u8>| arrived.iter().any(|span| span.span_id == *id);
    for span in arrived.iter().filter(|span| text_of(&span.attributes, "request_id").is_none()) {
        assert!(known(&span.parent_span_id), "without a request: {span:?}");
    }

    // The log names the trace, and lines within a step still name the request.
    let lines: Vec<Value> =
        app.log().lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect();
    let answered = lines.iter().find(|line| line["span"]["request_id"] == request_id);
    assert_eq!(answered.expect("a line of the request")["span"]["trace_id"], TRACE);
    assert!(lines.iter().all(|line| line["span"].is_null() || line["span"]["name"] == "request"));

    // The service's name, and the key for the collector.
    let [batch, ..] = &batches(&collector)[..] else { panic!("no batch") };
    let told = &batch.resource.as_ref().expect("a resource").attributes;
    assert_eq!(text_of(told, "service.name"), Some("purser"));
    assert_eq!(text_of(told, "deployment.environment.name"), Some("tests"));
    for batch in collector.received(PATH) {
        assert_eq!(batch.header("x-collector-token"), "let-me-in");
        let bytes = String::from_utf8_lossy(&batch.body).into_owned();
        for secret in [agent.operator.client.key(), "Bearer", MEMO, "theirs=secret"] {
            assert!(!bytes.contains(secret), "{secret} left the service: {bytes}");
        }
    }
}

#[tokio::test]
#[cfg_attr(not(feature = "optional-features"), ignore = "`cargo xtask test --optional-features` runs it")]
async fn caller_without_a_trace_begins_one_and_a_caller_that_is_not_sampled_leaves_none() {
    let collector = Receiver::start();
    let (_app, agent) = traced(&collector.url(""), &[]).await;
    let unsampled = format!("00-{TRACE}-{CALLER}-00");
    let unsampled = pays_within(&agent, &[("traceparent", &unsampled)], "unsampled").await;
    let long = "x".repeat(10_000);
    let upper = format!("00-{}-{CALLER}-01", TRACE.to_uppercase());
    for (number, wrong) in ["", "00", "00-0-0-01", &upper, &long].into_iter().enumerate() {
        let paid = pays_within(&agent, &[("traceparent", wrong)], &format!("wrong {number}")).await;
        let request_id = paid.header("x-request-id").expect("every answer has one");
        let request = arrives(&collector, "span of the payment", is_of(request_id)).await;
        assert!(request.parent_span_id.is_empty() && request.trace_id != hex::decode(TRACE).expect("hex"));
    }
    let is_unsampled = is_of(unsampled.header("x-request-id").expect("every answer has one"));
    assert!(!spans(&collector).iter().any(is_unsampled));
}

#[tokio::test]
#[cfg_attr(not(feature = "optional-features"), ignore = "`cargo xtask test --optional-features` runs it")]
async fn collector_that_is_silent_or_gone_holds_up_no_payment_and_no_stop() {
    let silent = Receiver::start();
    silent.hangs(PATH);
    // Bound, so that nobody else gets the port, and without a listener.
    let bound = tokio::net::TcpSocket::new_v4().expect("a socket");
    bound.bind("127.0.0.1:0".parse().expect("an address")).expect("a local port is free");
    let gone = format!("http://{}", bound.local_addr().expect("it is bound"));
    for endpoint in [silent.url(""), gone] {
        // A queue that fills up at once.
        let small = [("OTEL_BSP_MAX_QUEUE_SIZE", "4"), ("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "2")];
        let (app, agent) =
            traced(&endpoint, &[&small[..], &[("OTEL_EXPORTER_OTLP_TIMEOUT", "30000")]].concat()).await;
        let (payee, _) = agent.operator.chain.new_payee().await;
        for _ in 0..20 {
            let begun = Instant::now();
            agent.pays("1").to(&payee).await.is_settled();
            // The collector has 30 seconds.
            assert!(begun.elapsed() < Duration::from_secs(15), "{:?} with {endpoint}", begun.elapsed());
        }
        assert!(app.stops(Duration::from_secs(60)).await, "it was to stop by itself with {endpoint}");
        let log = std::fs::read_to_string(app.folder().join("relayer.log")).expect("there is a log");
        let complaints =
            log.lines().filter(|line| line.contains("the collector does not accept traces")).count();
        assert!(complaints <= 1, "{log}");
        assert!(log.contains("were not sent") || complaints == 1, "{log}");
    }
}

#[tokio::test]
#[cfg_attr(not(feature = "optional-features"), ignore = "`cargo xtask test --optional-features` runs it")]
async fn stop_exports_the_remaining_spans() {
    let collector = Receiver::start();
    let (app, agent) = traced(&collector.url(""), &[("OTEL_BSP_SCHEDULE_DELAY", "3600000")]).await;
    let listed = agent.operator.client.get("/v1/accounts").await.has_status(200);
    assert!(collector.received(PATH).is_empty());
    assert!(app.stops(Duration::from_secs(60)).await, "it was to stop by itself");
    let is_it = is_of(listed.header("x-request-id").expect("every answer has one"));
    assert!(spans(&collector).iter().any(is_it));
}

#[tokio::test]
async fn relayer_that_cannot_export_as_configured_refuses_to_start() {
    let app = TestApp::start(TestNetwork::shared().await, &AppSettings::default()).await;
    app.crashes();
    let runs = |command: &str, environment: &[(&str, &str)]| {
        let mut purser = Command::new(binaries::relayer());
        purser.args([command, "--json", "--config"]).arg(app.config()).envs(environment.iter().copied());
        purser.output().expect("the relayer binary starts")
    };
    let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4317");
    let (asked, named) = if cfg!(feature = "optional-features") {
        (vec![endpoint, ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")], "`http/protobuf` alone")
    } else {
        (vec![endpoint], "cargo feature `otel`")
    };
    let refused = runs("serve", &asked);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && said.contains(named), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    let report: Value = serde_json::from_slice(&runs("doctor", &asked).stdout).expect("a report");
    let check = report["checks"].as_array().expect("checks").iter().find(|check| check["check"] == "traces");
    let check = check.expect("traces are looked at");
    assert!(check["ok"] == false && check["found"].as_str().is_some_and(|text| text.contains(named)));
}
