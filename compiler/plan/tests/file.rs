//! The plan file: what is written can be read, nothing else can. It must not know how a plan is made.

#![expect(clippy::unwrap_used, reason = "a test may fail")]

use manent_grammar::Quantity;
use manent_plan::file::{PlanFileError, read, write, write_to};
use manent_plan::fixtures::{PlanBuilder, base, four_targets};
use manent_plan::{FORMAT, Plan};

fn full() -> Plan {
    base()
        .port(8080)
        .artifact("dist/shop-r2.tar.gz")
        .custom("warm", true)
        .custom("pay", false)
        .activate("jobs", true)
        .bake("canary", 300_000)
        .approval("canary")
        .warning("drain-cuts-connections", "connections may be cut")
        .build()
}

fn reads_back(plan: &Plan) {
    let bytes = write(plan);
    assert_eq!(&read(&bytes).unwrap(), plan);
    let mut streamed = Vec::new();
    write_to(plan, &mut streamed).unwrap();
    assert_eq!(streamed, bytes);
    let text = String::from_utf8(bytes).unwrap();
    assert!(text.contains(&format!("\"digest\": \"{}\"", plan.digest())));
}

#[test]
fn what_is_written_is_read() {
    reads_back(&four_targets());
    reads_back(&full());
    reads_back(&PlanBuilder::new().without_pool().release(None).build());
    reads_back(&PlanBuilder::new().health_flag().targets(300).batches(7).build());
}

#[test]
fn the_file_is_one_line_for_each_thing() {
    insta::assert_snapshot!(String::from_utf8(write(&full())).unwrap());
}

/// The file of the first release of this format. A change that cannot read it, or would write it differently, needs
/// another format number.
#[test]
fn an_old_file_is_still_read() {
    let old = include_bytes!("old/format-1.plan");
    assert_eq!(write(&read(old).unwrap()), old);
}

#[test]
fn another_format_is_refused_in_a_sentence() {
    let later = "{\"format\": 2, \"digest\": \"x\", \"things\": [1, {}]}";
    let error = read(later.as_bytes()).unwrap_err().to_string();
    assert_eq!(error, "this plan has format 2, this manent reads format 1: plan again with this version");
    assert_eq!(FORMAT, 1);
}

#[test]
fn other_files_are_refused_in_a_sentence() {
    let why = |text: &str| read(text.as_bytes()).unwrap_err().to_string();
    assert!(why("").starts_with("this is not a plan file: "));
    assert!(why("targets: []").starts_with("this is not a plan file: "));
    assert_eq!(why("{}"), "this is not a plan file: it has no `format`");
    assert!(why(&"[".repeat(100_000)).starts_with("this is not a plan file: "));
    assert!(
        why(&format!("{{\"format\": 1, \"x\": {}1", "[".repeat(100_000)))
            .starts_with("this is not a plan file: ")
    );
}

#[test]
fn a_change_of_any_byte_is_refused() {
    let bytes = write(&PlanBuilder::new().targets(1).build());
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= [0x01, 0x02, 0x20][at % 3];
        assert!(read(&changed).is_err(), "byte {at} ({})", bytes[at] as char);
    }
    for at in (0..bytes.len()).step_by(40) {
        assert!(read(&bytes[..at]).is_err(), "cut at {at}");
    }
    assert!(read(&[bytes.as_slice(), b"\n"].concat()).is_err());
}

/// A file with a digest that fits, written by hand, is no plan either.
#[test]
fn a_sealed_change_is_refused() {
    let sealed = |from: &str, to: &str| {
        let text = String::from_utf8(write(&four_targets())).unwrap();
        let changed = text.replacen(from, to, 1);
        assert_ne!(text, changed, "{from}");
        read(&seal(&changed)).unwrap_err()
    };
    let foreign = |from, to| assert!(matches!(sealed(from, to), PlanFileError::Foreign { .. }), "{to}");
    let unsound = |from, to| assert!(matches!(sealed(from, to), PlanFileError::Unsound(_)), "{to}");
    foreign("\"environment\":", "\"extra\": 1,\n\"environment\":");
    foreign("\"poll_interval_ms\":", "\"extra\": 1, \"poll_interval_ms\":");
    foreign("\"id\": \"drain@canary#0\"", "\"id\": \"drain@canary#9\"");
    foreign("\"targets\": [\"w1\"]", "\"targets\": [\"w2\"]");
    foreign("\"kind\": \"drain-wait\"", "\"kind\": \"sleep\"");
    foreign("\"host\": \"w1\"", "\"host\":  \"w1\"");
    unsound("\"need\": 2", "\"need\": 0");
    unsound("\"host\": \"w2\"", "\"host\": \"w1\"");
    unsound("[[0]]", "[[4000000000]]");
}

fn seal(text: &str) -> Vec<u8> {
    use sha2::Digest;
    let at = text.find("\"digest\": \"").unwrap() + 11;
    let open = format!("{}{}{}", &text[..at], "0".repeat(64), &text[at + 64..]);
    let digest = hex::encode(sha2::Sha256::digest(&open));
    format!("{}{digest}{}", &text[..at], &text[at + 64..]).into_bytes()
}

#[test]
fn the_same_plan_has_the_same_bytes() {
    assert_eq!(write(&full()), write(&full()));
    let other = PlanBuilder::new().floor(Quantity::Percent(10)).build();
    assert_ne!(PlanBuilder::new().build().digest(), other.digest());
}

/// The file is printed as it is (`manent plan --json`), and a descriptor chooses what stands in it.
#[test]
fn nothing_in_the_file_drives_a_terminal_or_hides() {
    let mut plan = full();
    let odd = "a\u{1b}[2J\u{9b}31m\u{7f}\u{202e}\u{2028}\u{200b}\u{e0041}\\ grün 💣\n";
    plan.secrets.insert(odd.to_owned(), odd.to_owned());
    reads_back(&plan);
    let text = String::from_utf8(write(&plan)).unwrap();
    assert!(text.contains(r"a\u001b[2J\u009b31m\u007f\u202e\u2028\u200b\udb40\udc41\\ grün 💣\n"), "{text}");
    assert!(!text.chars().any(|c| (c.is_control() && c != '\n') || c == '\u{202e}'), "{text}");
}
