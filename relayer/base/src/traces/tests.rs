use super::*;

fn asked(environment: &[(&str, &str)]) -> Result<Option<&'static str>, TracesError> {
    asked_by(|name| {
        environment.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    })
}

#[test]
fn traces_are_exported_where_a_collector_is_named_and_nothing_turns_them_off() {
    let [of_traces, of_all] = ENDPOINTS;
    let here = "http://127.0.0.1:4318";
    assert_eq!(asked(&[]), Ok(None));
    assert_eq!(asked(&[(of_all, "")]), Ok(None));
    assert_eq!(asked(&[(of_all, here)]), Ok(Some(of_all)));
    assert_eq!(asked(&[(of_all, here), (of_traces, here)]), Ok(Some(of_traces)));
    for off in [("OTEL_SDK_DISABLED", "True"), ("OTEL_TRACES_EXPORTER", "none")] {
        assert_eq!(asked(&[(of_all, here), off]), Ok(None), "{off:?}");
    }
}

#[test]
fn another_protocol_than_ours_is_refused_by_the_variable_that_asks_for_it() {
    let [of_traces, of_all] = PROTOCOLS;
    let here = (ENDPOINTS[1], "http://127.0.0.1:4317");
    let refused = |variable, value: &str| Err(TracesError::Protocol { variable, value: value.to_owned() });
    assert_eq!(asked(&[here, (of_all, "grpc")]), refused(of_all, "grpc"));
    assert_eq!(asked(&[here, (of_traces, "http/json"), (of_all, PROTOCOL)]), refused(of_traces, "http/json"));
    assert_eq!(asked(&[here, (of_traces, PROTOCOL), (of_all, "grpc")]), Ok(Some(ENDPOINTS[1])));
    assert_eq!(asked(&[(of_all, "grpc")]), Ok(None));
}
