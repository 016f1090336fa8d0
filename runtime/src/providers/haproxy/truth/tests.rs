//! The table in `truth.txt` against the code, and both against every mask that HAProxy can print.

use std::collections::BTreeMap;

use manent_engine::view::{Admin, Health};

use super::{Facts, Status, proof};

const TABLE: &str = include_str!("../truth.txt");

const STATUSES: [(&str, Status); 10] = [
    ("UP", Status::Up),
    ("UP 1/3", Status::UpPartly),
    ("no check", Status::NoCheck),
    ("DOWN", Status::Down),
    ("NOLB", Status::Nolb),
    ("DRAIN", Status::Drain),
    ("DRAIN 1/3", Status::DrainPartly),
    ("MAINT", Status::Maint),
    ("MAINT (resolution)", Status::Unresolved),
    ("(other)", Status::Other),
];

#[test]
fn the_code_is_the_table() {
    let mut rows = BTreeMap::new();
    for line in TABLE.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [word, status, admin, doubted] = cells[..4] else { panic!("{line}") };
        let before = rows.insert((word, status), (admin, doubted));
        assert!(before.is_none(), "twice: {line}");
    }
    let mut compared = 0;
    for word in ["ready", "drain", "maint", "(none)"] {
        for (text, status) in STATUSES {
            let (admin, doubted) = rows[&(word, text)];
            assert_eq!(format!("{:?}", proof(word, status, false)), admin, "{word}, {text}");
            assert_eq!(format!("{:?}", proof(word, status, true)), doubted, "{word}, {text}, doubted");
            compared += 1;
        }
    }
    assert_eq!(rows.len(), compared);
}

#[test]
fn free_text_is_read_as_haproxy_writes_it() {
    let more = [
        ("DOWN 1/2", Status::Down),
        ("DOWN (agent)", Status::Down),
        ("NOLB 1/2", Status::Nolb),
        ("DRAIN (agent)", Status::Drain),
        ("MAINT (via shop/web2)", Status::Maint),
        ("UPSIDE", Status::Other),
        ("up", Status::Other),
        ("", Status::Other),
    ];
    for (text, status) in STATUSES.into_iter().chain(more) {
        assert_eq!(Status::of(Some(text)), status, "{text}");
    }
    assert_eq!(Status::of(None), Status::Other);
}

/// What HAProxy shows for a mask and an operational state (0 down, 1 starting, 2 up, 3 stopping).
fn shown(mask: u32, oper: u32, checked: bool) -> &'static str {
    match oper {
        _ if mask & 32 != 0 => "MAINT (resolution)",
        _ if mask & 3 != 0 => "MAINT",
        0 => "DOWN",
        3 => "NOLB",
        _ if mask & 24 != 0 => "DRAIN",
        _ if checked => "UP",
        _ => "no check",
    }
}

fn word(mask: u32, hexadecimal: bool) -> &'static str {
    let bits = if hexadecimal { u32::from_str_radix(&mask.to_string(), 16).unwrap() } else { mask };
    match bits {
        bits if bits & 0b10_0011 != 0 => "maint",
        bits if bits & 0b1_1000 != 0 => "drain",
        _ => "ready",
    }
}

fn facts(mask: u32, oper: u32, hexadecimal: bool, checked: bool) -> Facts {
    let oper_word = ["down", "up", "up", "stopping"][oper as usize];
    let paused = mask & 35 != 0;
    Facts {
        admin: Some(word(mask, hexadecimal).to_owned()),
        oper: Some(oper_word.to_owned()),
        status: Some(shown(mask, oper, checked).to_owned()),
        weight: Some(1),
        check: (checked && !paused).then(|| "L7OK".to_owned()),
        connections: Some(0),
        ..Facts::default()
    }
}

/// Every mask, state and way of reading: what is in rotation is never out, what is out never serves.
#[test]
fn no_mask_is_taken_for_its_opposite() {
    // The socket set a name, and the server is down: only there the accounts are the same for ready and drained. Another
    // server of the kind that is up, or a list that doubts `maint`, settles it.
    let ambiguous = |mask: u32, oper| mask & 59 == 0 && mask & 64 != 0 && (oper == 0 || oper == 3);
    let mut decided = 0;
    for mask in 0..128 {
        for oper in 0..4 {
            for (hexadecimal, checked) in [(true, true), (true, false), (false, true), (false, false)] {
                let facts = facts(mask, oper, hexadecimal, checked);
                let up = matches!(oper, 1 | 2);
                // Maintenance stops a server whatever else is said; HAProxy never shows it up.
                if mask & 35 != 0 && up {
                    continue;
                }
                let (taken_out, unresolved) = (mask & 27 != 0, mask & 32 != 0);
                for doubted in [false, true] {
                    let seen = facts.judge(doubted);
                    let case = format!("mask {mask}, oper {oper}, hexadecimal {hexadecimal}: {seen:?}");
                    if seen.admin == Admin::Out {
                        // 100: also `disabled` and made ready again, its name set at run time, and not resolved.
                        let known = (!doubted && ambiguous(mask, oper)) || mask == 100;
                        assert!(taken_out || known, "out: {case}");
                    }
                    if seen.serves() {
                        assert!(!taken_out && !unresolved && up, "serves: {case}");
                    }
                    if seen.health == Health::Up {
                        assert!(up && checked, "up: {case}");
                    }
                    decided += u32::from(seen.admin != Admin::Unknown);
                }
            }
        }
    }
    assert!(decided > 1000, "{decided}");
}

/// The masks seen on real servers, as the API misreads them: the drained ones are out, up and down.
#[test]
fn usual_masks_are_decided() {
    for (mask, up, down) in [
        (0, Admin::In, Admin::In),
        (4, Admin::In, Admin::In),
        (8, Admin::Out, Admin::Out),
        (12, Admin::Out, Admin::Out),
        (16, Admin::Out, Admin::Out),
        (24, Admin::Out, Admin::Out),
        (1, Admin::Out, Admin::Out),
        (5, Admin::Out, Admin::Out),
        (2, Admin::Out, Admin::Out),
        (32, Admin::Idle, Admin::Idle),
        (40, Admin::Out, Admin::Out),
        (64, Admin::Unknown, Admin::Out),
        (72, Admin::Out, Admin::Out),
    ] {
        let state = |oper| facts(mask, if mask & 35 == 0 { oper } else { 0 }, true, true).judge(false).admin;
        assert_eq!((state(2), state(0)), (up, down), "mask {mask}");
    }
}

#[test]
fn health_needs_a_check_that_passed() {
    let up = facts(0, 2, true, true);
    let health = |change: &dyn Fn(&mut Facts)| {
        let mut facts = up.clone();
        change(&mut facts);
        facts.judge(false).health
    };
    assert_eq!(health(&|_| {}), Health::Up);
    assert_eq!(health(&|facts| facts.check = Some("* L7OK".into())), Health::Up);
    for initial in ["INI", "* INI"] {
        assert_eq!(health(&|facts| facts.check = Some(initial.into())), Health::Unknown, "just loaded");
    }
    assert_eq!(health(&|facts| facts.check = None), Health::Unchecked);
    assert_eq!(health(&|facts| facts.status = Some("UP 1/3".into())), Health::Down);
    assert_eq!(health(&|facts| facts.status = Some("DRAIN 1/3".into())), Health::Down);
    assert_eq!(health(&|facts| facts.status = Some("DRAIN".into())), Health::Up);
    assert_eq!(health(&|facts| facts.status = Some("MAINT".into())), Health::Unknown);
    assert_eq!(health(&|facts| facts.oper = None), Health::Unknown);
    assert_eq!(health(&|facts| facts.oper = Some("down".into())), Health::Unknown);
    assert_eq!(health(&|facts| facts.status = None), Health::Unknown);
}

#[test]
fn weight_nothing_takes_no_traffic() {
    let facts = Facts { weight: Some(0), ..facts(0, 2, true, true) };
    let seen = facts.judge(false);
    assert_eq!((seen.admin, seen.words.as_str()), (Admin::Idle, "ready/up, weight 0"));
}
