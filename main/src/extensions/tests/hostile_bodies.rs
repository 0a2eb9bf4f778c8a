//! Bodies that a hostile client may send instead of a request.

/// Bodies that are invalid on every route.
pub(super) fn hostile_bodies() -> Vec<(&'static str, Vec<u8>)> {
    let deep =
        |open: &str, close: &str, depth: usize| format!("{}{}", open.repeat(depth), close.repeat(depth));
    let in_every_field = |value: &str| {
        let fields = [
            "name",
            "from",
            "to",
            "amount",
            "idempotency_key",
            "memo",
            "max_single_transfer",
            "require_memo",
            "paused",
            "expires_at",
        ];
        let fields: Vec<String> = fields.iter().map(|field| format!("\"{field}\":{value}")).collect();
        format!("{{{}}}", fields.join(",")).into_bytes()
    };
    vec![
        ("nothing", vec![]),
        ("a space", b" ".to_vec()),
        ("no JSON", b"hello".to_vec()),
        ("half an object", b"{\"name\":".to_vec()),
        ("a trailing comma", b"{\"name\":\"x\",}".to_vec()),
        ("a comment", b"{/* */\"name\":\"x\"}".to_vec()),
        ("two values", b"{} {}".to_vec()),
        ("null", b"null".to_vec()),
        ("an array", b"[]".to_vec()),
        ("a number", b"1".to_vec()),
        ("a text", b"\"name\"".to_vec()),
        ("invalid UTF-8", b"{\"name\":\"\xff\xfe\"}".to_vec()),
        ("an overlong encoding", b"{\"name\":\"\xc0\x80\"}".to_vec()),
        ("a lone surrogate", b"{\"name\":\"\\ud800\"}".to_vec()),
        ("UTF-16", "{\"name\":\"x\"}".encode_utf16().flat_map(u16::to_le_bytes).collect()),
        ("NUL bytes", vec![0; 64]),
        ("a NUL in a text", in_every_field("\"\\u0000\"")),
        ("deep arrays", deep("[", "]", 20_000).into_bytes()),
        ("deep objects", format!("{}1{}", "{\"a\":".repeat(9_000), "}".repeat(9_000)).into_bytes()),
        (
            "deep metadata",
            format!("{{\"name\":\"x\",\"metadata\":{}}}", deep("{\"a\":[", "]}", 2_000)).into_bytes(),
        ),
        ("too large", format!("{{\"name\":\"{}\"}}", "x".repeat(2_000_000)).into_bytes()),
        ("too many fields", format!("{{{}\"z\":1}}", "\"a\":1,".repeat(10_000)).into_bytes()),
        ("an unknown field", b"{\"name\":\"x\",\"__proto__\":{}}".to_vec()),
        ("a field twice", b"{\"name\":\"x\",\"name\":\"y\",\"paused\":true,\"paused\":false}".to_vec()),
        ("objects everywhere", in_every_field("{\"a\":1}")),
        ("arrays everywhere", in_every_field("[1]")),
        ("numbers everywhere", in_every_field("1")),
        ("huge numbers everywhere", in_every_field("1e400")),
        ("long numbers everywhere", in_every_field(&"9".repeat(5_000))),
        ("negative numbers everywhere", in_every_field("-9223372036854775809")),
        ("NaN everywhere", in_every_field("NaN")),
        ("nulls everywhere", in_every_field("null")),
        ("long texts everywhere", in_every_field(&format!("\"{}\"", "x".repeat(5_000)))),
        ("SQL everywhere", in_every_field("\"'; DROP TABLE accounts; --\"")),
        ("paths everywhere", in_every_field("\"../../etc/passwd\"")),
        ("right-to-left text everywhere", in_every_field("\"\u{202e}\u{200b}\u{feff}\"")),
    ]
}
