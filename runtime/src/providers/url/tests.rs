//! Built addresses ask the target and nobody else, whatever stands in a label (threat T4).

use std::collections::BTreeMap;

use manent_plan::TargetIx;

use super::super::Wanted;
use super::{TargetUrl, base};

fn target(host: &str, label: &str) -> Wanted {
    Wanted {
        ix: TargetIx(0),
        member: "m".to_owned(),
        host: host.to_owned(),
        port: Some(8080),
        labels: BTreeMap::from([("x".to_owned(), label.to_owned())]),
    }
}

#[test]
fn values_are_encoded_for_their_place() {
    let table = [
        ("https://{host}:{port}/flag", "web1", "", "https://web1:8080/flag"),
        ("https://{host}:{port}/flag", "2001:db8::1", "", "https://[2001:db8::1]:8080/flag"),
        ("https://{host}/a/{label.x}/b", "web1", "a/b c", "https://web1/a/a%2Fb%20c/b"),
        ("https://{host}/a?x={label.x}&y=1", "web1", "1&y=2#z", "https://web1/a?x=1%26y%3D2%23z&y=1"),
        ("https://{host}:{label.x}/", "web1", "81", "https://web1:81/"),
        ("https://{host}/{host}/{port}", "web1", "", "https://web1/web1/8080"),
        ("https://{host}/{host}", "2001:db8::1", "", "https://[2001:db8::1]/2001%3Adb8%3A%3A1"),
        ("http://{host}", "10.0.0.1", "", "http://10.0.0.1/"),
    ];
    for (template, host, label, expected) in table {
        let url = TargetUrl::parse(template).unwrap().for_target(&target(host, label)).unwrap();
        assert_eq!(url.as_str(), expected, "{template}");
    }
}

#[test]
fn templates_that_ask_somebody_else_are_refused() {
    for template in [
        "https://lb.example/{host}",
        "https://{host}.example/",
        "https://x{host}/",
        "https://user@{host}/",
        "https://user:{port}@{host}/",
        "https://{host}@lb.example/",
        "https://{label.x}/",
        "{host}/flag",
        "ftp://{host}/",
        "https://{host}/a/../b",
        "https://{host}/%2e%2E/b",
        "https://{host}/#a",
        "https://{host}/a b",
        "https://{host}\\@lb.example/",
        "https://{host}/{release}",
        "https://{host}/{var.x}",
        "https://{host",
        "",
    ] {
        assert!(TargetUrl::parse(template).is_err(), "{template}");
    }
}

#[test]
fn what_a_target_lacks_is_named() {
    let error =
        |template: &str, target: &Wanted| TargetUrl::parse(template).unwrap().for_target(target).unwrap_err();
    let bare = Wanted { port: None, ..target("web1", "") };
    assert_eq!(error("https://{host}:{port}/", &bare), "target `web1` has no port for `{port}`");
    assert_eq!(error("https://{host}/{label.y}", &bare), "target `web1` has no label `y`");
}

/// 10,000 hostile labels, hosts and ports. The address is taken apart by hand, not by the parser that built it.
#[test]
fn no_value_moves_the_host() {
    const PIECES: [&str; 25] = [
        "@",
        "/",
        "#",
        "?",
        "..",
        "\r\n",
        "\\",
        ":",
        "%2f",
        "%40",
        "evil.example",
        "//",
        "[::1]",
        " ",
        "\t",
        "é",
        "\u{0}",
        "web1",
        "&",
        "=",
        ";",
        "％",
        "．．",
        "\u{202e}",
        "%0d%0a",
    ];
    let templates = [
        "https://{host}:{port}/flag/{label.x}/y",
        "https://{host}/{label.x}",
        "https://{host}/a?b={label.x}",
        "https://{host}:{label.x}/flag",
    ];
    let templates = templates.map(|template| TargetUrl::parse(template).unwrap());
    let (mut built, mut state) = (0, 7_u64);
    let mut next = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    for round in 0..10_000 {
        let count = 1 + next(5);
        let hostile: String = (0..count).map(|_| PIECES[next(PIECES.len())]).collect();
        let asked = if round % 4 == 0 { target(&hostile, "1") } else { target("web1", &hostile) };
        let Ok(url) = templates[next(templates.len())].for_target(&asked) else { continue };
        built += 1;
        let text = url.as_str();
        let rest = text.strip_prefix("https://").unwrap();
        let authority = rest.split(['/', '?', '#']).next().unwrap();
        let address = authority.strip_prefix('[').and_then(|address| address.split(']').next());
        let host = address.unwrap_or_else(|| authority.split(':').next().unwrap());
        assert!(host.eq_ignore_ascii_case(&asked.host), "{hostile:?}: {text}");
        assert!(!text.contains('#') && !authority.contains('@'), "{hostile:?}: {text}");
        assert!(text.bytes().all(|byte| byte.is_ascii_graphic()), "{hostile:?}: {text}");
        let path = rest[authority.len()..].split('?').next().unwrap();
        let segments = path.split('/').count() - 1;
        assert!(matches!(segments, 1 | 3), "{hostile:?}: {text}");
        assert_eq!(
            text.matches('?').count() + text.matches('&').count(),
            usize::from(text.contains("?b=")),
            "{text}"
        );
    }
    assert!(built > 4000, "{built}");
}

#[test]
fn base_addresses_are_plain() {
    assert_eq!(base("https://lb:5555/dp/", false).unwrap().as_str(), "https://lb:5555/dp/");
    assert!(base("http://lb:5555", true).is_ok());
    for text in [
        "http://lb",
        "https://u@lb",
        "https://u:p@lb",
        "https://lb/?a",
        "https://lb/#a",
        "lb:5555",
        "//lb",
        "file:///a",
    ] {
        assert!(base(text, false).is_err(), "{text}");
    }
}
