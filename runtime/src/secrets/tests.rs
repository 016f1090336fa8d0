use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;

use super::*;

const CANARY: &str = "CANARY-5d2f8a71c0e94b6f";

fn write(root: &std::path::Path, bytes: &[u8], mode: u32) -> Secrets {
    let path = root.join("s");
    std::fs::write(&path, bytes).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    let declared = BTreeMap::from([("lb".to_owned(), "file:s".to_owned())]);
    Secrets::new(root, &declared)
}

/// The message, after a look that no part of the value is in it.
fn refusal(bytes: &[u8], mode: u32, form: Form) -> String {
    let root = tempfile::tempdir().unwrap();
    let message = match write(root.path(), bytes, mode).resolve("lb", form) {
        Ok(_) => panic!("accepted"),
        Err(refused) => refused.to_string(),
    };
    let value = String::from_utf8_lossy(bytes).into_owned();
    for piece in value.as_bytes().windows(6) {
        let piece = String::from_utf8_lossy(piece);
        assert!(!message.contains(piece.as_ref()), "`{message}` holds `{piece}`");
    }
    message
}

#[test]
fn a_value_of_another_form_is_refused_without_being_shown() {
    for value in [
        CANARY.as_bytes(),
        b"user:CANARY-5d2f8a71\nc0e94b6f",
        b"{\"canary\": 17171717}",
        b"\xff\xfe:CANARY-5d2f",
        b"",
    ] {
        let message = refusal(value, 0o600, Form::UserPassword);
        assert!(message.starts_with("secret `lb` (file:s): "), "{message}");
    }
    assert!(refusal(CANARY.as_bytes(), 0o600, Form::UserPassword).contains("user:password"));
    assert!(refusal(CANARY.as_bytes(), 0o600, Form::PrivateKey).contains("-----BEGIN"));
}

#[test]
fn a_file_that_others_can_read_is_refused_with_what_to_do() {
    let message = refusal(b"user:CANARY-5d2f8a71c0e94b6f", 0o644, Form::UserPassword);
    assert!(message.contains("chmod 600"), "{message}");
}

#[test]
fn one_line_end_is_taken_off() {
    let root = tempfile::tempdir().unwrap();
    for (bytes, expected) in [("a:b\n", "a:b"), ("a:b\r\n", "a:b"), ("a:b", "a:b"), ("a: b ", "a: b ")] {
        let secret = write(root.path(), bytes.as_bytes(), 0o600).resolve("lb", Form::UserPassword);
        assert!(secret.is_ok_and(|secret| secret.reveal() == expected), "{bytes:?}");
    }
}

#[test]
fn a_link_out_of_the_project_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("x"), "a:b").unwrap();
    std::os::unix::fs::symlink(outside.path().join("x"), root.path().join("s")).unwrap();
    let secrets = Secrets::new(root.path(), &BTreeMap::from([("lb".to_owned(), "file:s".to_owned())]));
    let refused = secrets.resolve("lb", Form::UserPassword).err().unwrap().to_string();
    assert!(refused.contains("leads out of the project"), "{refused}");
}

#[test]
fn undeclared_missing_and_later_ones_say_so() {
    let root = tempfile::tempdir().unwrap();
    let declared = BTreeMap::from([
        ("e".to_owned(), "env:MANENT_TEST_NOT_SET".to_owned()),
        ("v".to_owned(), "vault:secret/data/lb#dataplane".to_owned()),
    ]);
    let secrets = Secrets::new(root.path(), &declared);
    let said = |name: &str| secrets.resolve(name, Form::Line).err().unwrap().to_string();
    assert!(said("x").contains("not declared"));
    assert!(said("e").contains("`MANENT_TEST_NOT_SET` is not set"));
    assert!(said("v").contains("planning only"));
}

/// Picks the trait of a type that has `Debug` or `Display`, if it has one; ambiguous otherwise.
#[test]
fn a_secret_cannot_be_printed() {
    trait Unprintable<Marker> {
        fn holds() {}
    }
    struct AsDebug;
    struct AsDisplay;
    struct AsClone;
    impl<T> Unprintable<()> for T {}
    impl<T: std::fmt::Debug> Unprintable<AsDebug> for T {}
    impl<T: std::fmt::Display> Unprintable<AsDisplay> for T {}
    impl<T: Clone> Unprintable<AsClone> for T {}
    // Does not compile as soon as a second implementation applies.
    let _ = <Secret as Unprintable<_>>::holds;
}
