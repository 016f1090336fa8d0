//! Secrets that are not what they should be, and secrets that are: no part of them is ever seen again.

use std::os::unix::fs::PermissionsExt;

use manent_testbed::dataplane::Options;
use manent_testbed::site::{Plan, Site};

use super::{ENV, base, command, journal, run, until};

const CANARY: &str = "CANARY-5d2f8a71c0e94b6f";

/// Forms in which a value could come out: as it is, in part, encoded.
fn forms(value: &[u8]) -> Vec<Vec<u8>> {
    let mut forms: Vec<Vec<u8>> = vec![value.to_vec()];
    forms.push(value.iter().flat_map(|byte| format!("{byte:02x}").into_bytes()).collect());
    forms.push(value.iter().flat_map(|byte| format!("%{byte:02X}").into_bytes()).collect());
    // Base64 of the value at each of the three positions it can have in a longer text, without what its neighbours change.
    for before in 0..3 {
        let padded: Vec<u8> = std::iter::repeat_n(b' ', before).chain(value.iter().copied()).collect();
        let encoded = base64(&padded);
        let skip = [0, 2, 3][before];
        forms.push(encoded.as_bytes()[skip..encoded.len() - 4].to_vec());
    }
    forms
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let bits =
            three.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for digit in 0..4 {
            let index = bits >> (18 - 6 * digit) & 63;
            text.push(if digit as usize <= three.len() { DIGITS[index as usize] as char } else { '=' });
        }
    }
    text
}

fn holds(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

/// Neither the canary, nor six characters of its random part, nor any encoding of them.
#[track_caller]
fn clean(what: &str, text: &[u8]) {
    for word in [CANARY.as_bytes(), &CANARY.as_bytes()[7..]] {
        for form in forms(word) {
            assert!(!holds(text, &form), "{what} holds the secret as `{}`", String::from_utf8_lossy(&form));
        }
    }
    for part in CANARY.as_bytes()[7..].windows(6) {
        assert!(!holds(text, part), "{what} holds `{}`", String::from_utf8_lossy(part));
    }
}

fn every_file_but_the_secrets_is_clean(site: &Site) {
    let mut folders = vec![site.folder().to_owned()];
    let mut looked = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap().flatten() {
            let (path, kind) = (entry.path(), entry.file_type().unwrap());
            if kind.is_dir() {
                if !path.ends_with("project/secrets") {
                    folders.push(path);
                }
            } else if kind.is_file() {
                clean(&path.display().to_string(), &std::fs::read(&path).unwrap());
                looked += 1;
            }
        }
    }
    assert!(looked > 20, "only {looked} files");
}

/// O-16: a value of another form is refused without a word of it.
#[test]
fn a_secret_of_the_wrong_form_is_refused_unseen() {
    let site = Site::start(Plan { ssh: false, hosts: 3, rollout: base(), ..Plan::default() }).unwrap();
    let bad: [&[u8]; 5] = [
        CANARY.as_bytes(),
        b"first:line\nCANARY-5d2f8a71c0e94b6f\n",
        br#"{"user": "CANARY-5d2f8a71c0e94b6f"}"#,
        b"CANARY-5d2f8a71c0e94b6f:\xff\xfe",
        b"",
    ];
    for value in bad {
        std::fs::write(site.root().join("secrets/lb"), value).unwrap();
        for verb in [
            &["apply", ENV, "--release", "2.0.0", "--yes"][..],
            &["preflight", ENV],
            &["preflight", ENV, "--json"],
        ] {
            let output =
                command(&site, verb).env("RUST_LOG", "trace").env("RUST_BACKTRACE", "full").output().unwrap();
            assert!(
                matches!(output.status.code(), Some(1 | 6)),
                "{verb:?}: {:?} {} {}",
                output.status,
                String::from_utf8_lossy(value),
                String::from_utf8_lossy(&output.stderr)
            );
            clean("standard output", &output.stdout);
            clean("standard error", &output.stderr);
            let all = [output.stdout, output.stderr].concat();
            let text = String::from_utf8_lossy(&all);
            for said in ["lb", "file:secrets/lb"] {
                assert!(text.contains(said), "it does not say `{said}`: {text}");
            }
            if !value.is_empty() && value.is_ascii() {
                assert!(text.contains("user:password"), "it does not say what was expected: {text}");
            }
        }
    }
    for bridge in &site.bridges {
        assert_eq!(bridge.calls(), [], "a load balancer was asked");
    }
    every_file_but_the_secrets_is_clean(&site);
    std::fs::set_permissions(site.root().join("secrets/lb"), std::fs::Permissions::from_mode(0o644)).unwrap();
    let said = run(&site, &["preflight", ENV]);
    assert!(said.code == 1 || said.code == 6, "{}", said.all());
}

/// Threat of leaks: a whole run with good secrets, at every verbosity, and nothing of them is left anywhere.
#[test]
fn the_secrets_of_a_run_are_found_nowhere() {
    let api = Options { credentials: format!("admin:{CANARY}"), ..Options::default() };
    let site = Site::start(Plan {
        hosts: 2,
        api,
        rollout: super::Rollout { min_healthy: "1".to_owned(), ..base() },
        ..Plan::default()
    })
    .unwrap();
    let note = super::with_warm(&site, super::Rollout { min_healthy: "1".to_owned(), ..base() });
    site.write_tree(&note).unwrap();
    site.host("h2").unwrap().set_hanging("warm", true).unwrap();
    run(&site, &["plan", ENV, "--release", "2.0.0", "--out", "two.plan"]).exits(0);
    let child = command(&site, &["apply", "two.plan", "--yes"])
        .env("RUST_LOG", "trace")
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    until("the step of h2", || {
        let begun = journal::runs(&site).pop()?;
        journal::place(&site, &begun).starts_with("warm@rest#0, intended").then_some(())
    });
    // Arguments and environments of everything that runs now, ssh and its agents among them.
    let mut processes = 0;
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let id = entry.file_name().to_string_lossy().into_owned();
        if id.parse::<u32>().is_err() || id == std::process::id().to_string() {
            continue;
        }
        for what in ["cmdline", "environ"] {
            let Ok(bytes) = std::fs::read(entry.path().join(what)) else { continue };
            clean(&format!("{what} of process {id}"), &bytes);
            assert!(!holds(&bytes, b"PRIVATE KEY"), "{what} of process {id} holds a key");
            processes += 1;
        }
    }
    assert!(processes > 10);
    site.host("h2").unwrap().set_hanging("warm", false).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    for verb in [
        &["status"][..],
        &["status", "--json"],
        &["history", ENV],
        &["doctor", ENV],
        &["preflight", ENV, "--json"],
        &["show", ENV],
        &["plan", ENV, "--format", "yaml"],
        &["plan", "two.plan", "--json"],
        &["lint"],
    ] {
        let said = command(&site, verb).env("RUST_LOG", "trace").output().unwrap();
        assert_eq!(said.status.code(), Some(0), "{verb:?}: {}", String::from_utf8_lossy(&said.stderr));
        clean(&format!("{verb:?}"), &said.stdout);
        clean(&format!("{verb:?}"), &said.stderr);
    }
    clean("standard output", &output.stdout);
    clean("standard error", &output.stderr);
    every_file_but_the_secrets_is_clean(&site);
    let key = std::fs::read_to_string(site.client.key()).unwrap();
    let line = key.lines().nth(2).unwrap();
    let holders = site.files_with(line).unwrap();
    assert_eq!(
        holders,
        [site.client.key(), site.root().join("secrets/ssh-key")],
        "the key was written somewhere"
    );
}
