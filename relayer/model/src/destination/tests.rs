use super::*;

/// URLs that lead, or try to lead, to hosts that only the service can reach.
const BLOCKED: [&str; 88] = [
    // Schemes.
    "http://example.com/",
    "ftp://example.com/",
    "file:///etc/passwd",
    "gopher://example.com/",
    "javascript:alert(1)",
    "//example.com/",
    "example.com",
    "",
    // Loopback, in every spelling that a resolver or a C library accepts.
    "https://127.0.0.1/",
    "https://127.0.0.1./",
    "https://127.1/",
    "https://127.0.1/",
    "https://127.255.255.254/",
    "https://2130706433/",
    "https://0x7f000001/",
    "https://0x7f.0.0.1/",
    "https://0x7F.1/",
    "https://0177.0.0.1/",
    "https://017700000001/",
    "https://0177.1/",
    "https://127.0.0.0x1/",
    "https://%31%32%37.0.0.1/",
    "https://\u{ff11}\u{ff12}\u{ff17}.0.0.1/",
    "https://\u{2460}\u{2461}\u{2466}.0.0.1/",
    "https://127\u{3002}0\u{3002}0\u{3002}1/",
    "https:127.0.0.1/",
    "https:///127.0.0.1/",
    "https://0/",
    "https://0.0.0.0/",
    "https://0.1.2.3/",
    "https://[::1]/",
    "https://[0:0:0:0:0:0:0:1]/",
    "https://[::]/",
    "https://localhost/",
    "https://localhost./",
    "https://LOCALHOST/",
    "https://a.localhost/",
    "https://localhost.localdomain/",
    // Private, shared and link-local, clouds' metadata among them.
    "https://10.0.0.1/",
    "https://10.255.255.255/",
    "https://172.16.0.1/",
    "https://172.31.255.255/",
    "https://192.168.0.1/",
    "https://192.168.255.255/",
    "https://100.64.0.1/",
    "https://100.127.255.255/",
    "https://100.100.100.200/latest/meta-data/",
    "https://169.254.169.254/latest/meta-data/",
    "https://169.254.170.2/",
    "https://2852039166/",
    "https://0xa9fea9fe/",
    "https://0251.0376.0251.0376/",
    "https://168.63.129.16/",
    "https://192.0.0.192/",
    "https://metadata.google.internal/",
    "https://metadata/",
    "https://printer.local/",
    "https://kubernetes/",
    "https://service.namespace.svc.cluster.local/",
    "https://1.0.0.127.in-addr.arpa/",
    // Documentation, benchmarking, relays, multicast, reserved, broadcast.
    "https://192.0.2.1/",
    "https://198.51.100.1/",
    "https://203.0.113.1/",
    "https://198.18.0.1/",
    "https://192.88.99.1/",
    "https://224.0.0.1/",
    "https://239.255.255.250/",
    "https://240.0.0.1/",
    "https://255.255.255.255/",
    // IPv6: mapped, compatible, translated, tunnelled, local, multicast.
    "https://[::ffff:127.0.0.1]/",
    "https://[::ffff:7f00:1]/",
    "https://[::ffff:10.0.0.1]/",
    "https://[::ffff:8.8.8.8]/",
    "https://[::127.0.0.1]/",
    "https://[64:ff9b::7f00:1]/",
    "https://[64:ff9b:1::a00:1]/",
    "https://[2002:7f00:1::]/",
    "https://[2002:a00:1::1]/",
    "https://[2001::1]/",
    "https://[2001:db8::1]/",
    "https://[fc00::1]/",
    "https://[fd00:ec2::254]/",
    "https://[fe80::1]/",
    "https://[fec0::1]/",
    "https://[ff02::1]/",
    // User info, ports, odd text.
    "https://example.com@10.0.0.1/",
    "https://@example.com/",
    "https://example.com:22/",
];

const ODD: [&str; 8] = [
    "https://user:password@example.com/",
    "https://example.com:80/",
    "https://example.com:6379/",
    "https://example.com:0/",
    "https://example.com\\@10.0.0.1/",
    "https://exa mple.com/",
    "https://example.com/\r\nHost: internal",
    "https://example.com/#fragment",
];

const PUBLIC: [&str; 24] = [
    "https://example.com/",
    "https://example.com",
    "https://EXAMPLE.com/hooks",
    "https://hooks.example.com:443/purser",
    "https://hooks.example.com:8443/purser",
    "https://example.com/a?b=c&d=e",
    "https://example.com/a%20b",
    "https://example.com./",
    "https://xn--bcher-kva.example/",
    "https://b\u{fc}cher.example/",
    "https://sub.domain.example.co.uk/path/",
    "https://8.8.8.8/",
    "https://1.1.1.1/hook",
    "https://172.15.255.255/",
    "https://172.32.0.1/",
    "https://100.63.255.255/",
    "https://100.128.0.1/",
    "https://192.167.255.255/",
    "https://169.253.1.1/",
    "https://223.255.255.255/",
    "https://[2606:4700:4700::1111]/",
    "https://[2a00:1450:4001:82f::200e]/hook",
    "https://[2001:4860:4860::8888]:8443/",
    "https://localhost.example.com/",
];

fn rules() -> DestinationRules {
    DestinationRules { ports: vec![443, 8443], ..DestinationRules::default() }
}

#[test]
fn every_form_of_an_inside_address_is_refused() {
    for text in BLOCKED.iter().chain(&ODD) {
        let refused = WebhookUrl::parse(text, &rules()).expect_err(text);
        assert_eq!(refused.param(), "url", "{text}");
    }
    assert!(WebhookUrl::parse(&format!("https://example.com/{}", "a".repeat(2_048)), &rules()).is_err());
}

#[test]
fn public_urls_are_accepted() {
    for text in PUBLIC {
        let url = WebhookUrl::parse(text, &rules()).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(WebhookUrl::from_stored(url.as_str()), Some(url));
    }
}

#[test]
fn open_ranges_open_themselves_and_nothing_else() {
    let open = DestinationRules {
        allow_http: true,
        ports: Vec::new(),
        open_ranges: vec!["127.0.0.0/8".parse().expect("a range"), "fd00::/8".parse().expect("a range")],
    };
    for text in
        ["http://127.0.0.1:9999/", "https://0x7f.1/", "https://[fd00::1]/", "http://localhost:1234/hook"]
    {
        assert!(WebhookUrl::parse(text, &open).is_ok(), "{text}");
    }
    for text in
        ["http://10.0.0.1/", "http://169.254.169.254/", "https://[::1]/", "https://[::ffff:127.0.0.1]/"]
    {
        assert!(WebhookUrl::parse(text, &open).is_err(), "{text}");
    }
    assert!(may_reach("127.0.0.1".parse().expect("an address"), &open));
    assert!(!may_reach("192.168.1.1".parse().expect("an address"), &open));
}

#[test]
fn stored_url_is_checked_again_under_the_present_rules() {
    let open = DestinationRules {
        allow_http: true,
        open_ranges: vec!["127.0.0.0/8".parse().expect("a range")],
        ..rules()
    };
    let url = WebhookUrl::parse("https://127.0.0.1/", &open).expect("open");
    assert!(url.check(&rules()).is_err());
    let plain = WebhookUrl::parse("http://example.com:8443/", &open).expect("open");
    assert!(plain.check(&rules()).is_err());
}

#[test]
fn translated_address_is_as_public_as_the_address_in_it() {
    let reaches = |address: &str| may_reach(address.parse().expect("an address"), &rules());
    for public in ["64:ff9b::8.8.8.8", "64:ff9b::93.184.215.14", "64:ff9b::101:101"] {
        assert!(reaches(public), "{public}");
    }
    for inside in [
        "64:ff9b::127.0.0.1",
        "64:ff9b::10.0.0.1",
        "64:ff9b::169.254.169.254",
        "64:ff9b::",
        "64:ff9b::ffff:ffff",
        // Not that prefix: a network's own, and one bit beside it.
        "64:ff9b:1::8.8.8.8",
        "64:ff9b:0:0:0:1:808:808",
        "64:ff9a::8.8.8.8",
        "::ffff:8.8.8.8",
    ] {
        assert!(!reaches(inside), "{inside}");
    }
}
