//! Attacks on the journal on disk: torn ends, flipped bits, holes, full disks, other users, other versions.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use manent_engine::Timestamp;
use rusqlite::Connection;

use super::contract::new_run;
use super::{Cut, Entry, Journal, JournalError, Past, ReadJournal, RunId, SqliteJournal, SqliteReader};

fn entry(text: &str) -> Entry {
    Entry { kind: String::from("noted"), body: format!("{{\"noted\":{{\"note\":\"{text}\"}}}}").into_bytes() }
}

/// A run `r1` with commits of 1, 2, 1 and 2 records.
fn journal_in(state: &Path) -> (SqliteJournal, RunId) {
    let mut journal = SqliteJournal::open(state).unwrap();
    let run = new_run("r1", "a/a/prod", 1);
    journal.create(&run, b"{\"plan\":true}").unwrap();
    for (at, texts) in [(2, vec!["a"]), (3, vec!["b", "c"]), (4, vec!["d"]), (5, vec!["e", "f"])] {
        let entries: Vec<Entry> = texts.into_iter().map(entry).collect();
        journal.append(&run.id, Timestamp(at), &entries).unwrap();
    }
    (journal, run.id)
}

fn outcome(state: &Path, run: &RunId) -> Result<Past, JournalError> {
    SqliteReader::open(state).unwrap().unwrap().read(run)
}

#[test]
fn every_flipped_bit_of_a_record_is_found_and_named() {
    let place = tempfile::tempdir().unwrap();
    let (journal, run) = journal_in(place.path());
    let database = journal.database();
    let mut flips = 0;
    for seq in 1_i64..=6 {
        for column in ["commit_first", "commit_last", "at", "length"] {
            for bit in 0..64 {
                let change =
                    format!("UPDATE records SET {column} = ({column} | ?1) - ({column} & ?1) WHERE seq = ?2");
                database.execute(&change, (1_i64 << bit, seq)).unwrap();
                expect_found(&journal, &run, seq, &format!("{column} bit {bit}"));
                database.execute(&change, (1_i64 << bit, seq)).unwrap();
                flips += 1;
            }
        }
        for column in ["kind", "body", "checksum"] {
            let read = format!("SELECT CAST({column} AS BLOB) FROM records WHERE seq = ?1");
            let was: Vec<u8> = database.query_row(&read, [seq], |row| row.get(0)).unwrap();
            let cast = if column == "kind" { "CAST(?1 AS TEXT)" } else { "?1" };
            let write = format!("UPDATE records SET {column} = {cast} WHERE seq = ?2");
            for bit in 0..was.len() * 8 {
                let mut now = was.clone();
                now[bit / 8] ^= 1 << (bit % 8);
                database.execute(&write, (&now, seq)).unwrap();
                expect_found(&journal, &run, seq, &format!("{column} bit {bit}"));
                flips += 1;
            }
            database.execute(&write, (&was, seq)).unwrap();
        }
    }
    assert!(flips > 4000, "{flips}");
    assert_eq!(journal.read(&run).unwrap().cut, None);
}

/// Records 1 to 4 are the middle; 5 and 6 are the last commit, which is cut off whole.
fn expect_found(journal: &SqliteJournal, run: &RunId, seq: i64, what: &str) {
    match journal.read(run) {
        Err(JournalError::Damaged { seq: found, .. }) if seq <= 4 => {
            assert_eq!(found, u64::try_from(seq).unwrap(), "{what}");
        }
        Ok(past) if seq > 4 => {
            assert_eq!(past.cut, Some(Cut { seq: 5, records: 2 }), "{what} of {seq}");
            assert_eq!(past.records.len(), 4);
        }
        other => panic!("{what} of {seq}: {other:?}"),
    }
}

#[test]
fn a_torn_end_is_cut_once_and_the_run_goes_on() {
    let place = tempfile::tempdir().unwrap();
    let (journal, run) = journal_in(place.path());
    journal.database().execute("DELETE FROM records WHERE seq = 6", []).unwrap();
    drop(journal);
    let mut journal = SqliteJournal::open(place.path()).unwrap();
    let past = journal.take_up(&run).unwrap();
    let cut = past.cut.unwrap();
    assert_eq!(
        cut.to_string(),
        "the last commit of the journal was not written whole; 2 records from 5 on cut off"
    );
    journal.append(&run, Timestamp(9), &[entry("g")]).unwrap();
    let past = journal.read(&run).unwrap();
    assert_eq!((past.records.len(), past.cut), (5, None));
    assert_eq!(past.records[4].body, entry("g").body);
}

#[test]
fn a_hole_or_a_changed_plan_stops_the_run() {
    for (change, at, words) in [
        ("DELETE FROM records WHERE seq = 3", 3, "a record is missing"),
        ("DELETE FROM records WHERE seq = 1", 1, "a record is missing"),
        ("DELETE FROM records WHERE seq = 5", 5, "a record is missing"),
        ("DELETE FROM records WHERE seq >= 4", 4, "the records do not lead to the newest one"),
        ("UPDATE tips SET seq = 7", 7, "the records do not lead to the newest one"),
        ("DELETE FROM tips", 0, "its newest record is not known"),
        ("UPDATE runs SET plan = CAST('{\"plan\":trve}' AS BLOB)", 0, "its head or its plan was changed"),
        ("UPDATE runs SET environment = 'a/a/test'", 0, "its head or its plan was changed"),
        ("UPDATE runs SET started_at = 2", 0, "its head or its plan was changed"),
    ] {
        let place = tempfile::tempdir().unwrap();
        let (journal, run) = journal_in(place.path());
        journal.database().execute(change, []).unwrap();
        let error = journal.read(&run).unwrap_err();
        assert!(
            matches!(&error, JournalError::Damaged { seq, what, .. } if *seq == at && *what == words),
            "{change}: {error}"
        );
    }
}

#[test]
fn a_log_cut_at_any_byte_leaves_whole_commits() {
    let place = tempfile::tempdir().unwrap();
    let (journal, run) = journal_in(place.path());
    let whole = journal.read(&run).unwrap().records;
    let (database, log) = (
        std::fs::read(place.path().join("journal.db")).unwrap(),
        std::fs::read(place.path().join("journal.db-wal")).unwrap(),
    );
    drop(journal);
    let mut seen = std::collections::BTreeSet::new();
    // A prime step goes through all places of a page in turn.
    for cut in (0..log.len()).step_by(509).chain([log.len()]) {
        let torn = tempfile::tempdir().unwrap();
        let state = torn.path().join("state");
        crate::private::directory(&state).unwrap();
        for (name, bytes) in [("journal.db", &database[..]), ("journal.db-wal", &log[..cut])] {
            std::fs::write(state.join(name), bytes).unwrap();
            std::fs::set_permissions(state.join(name), std::fs::Permissions::from_mode(0o600)).unwrap();
        }
        let mut journal = SqliteJournal::open(&state).unwrap();
        match journal.take_up(&run) {
            Ok(past) => {
                assert_eq!(past.records, whole[..past.records.len()]);
                assert!([0, 1, 3, 4, 6].contains(&past.records.len()), "{}", past.records.len());
                seen.insert(past.records.len());
            }
            Err(JournalError::NoRun(_)) => {}
            Err(error) => panic!("cut at {cut}: {error}"),
        }
    }
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), [0, 1, 3, 4, 6]);
}

#[test]
fn flipped_bits_of_the_file_never_give_other_records() {
    let place = tempfile::tempdir().unwrap();
    let (journal, run) = journal_in(place.path());
    let whole = journal.read(&run).unwrap();
    drop(journal);
    let file = place.path().join("journal.db");
    let bytes = std::fs::read(&file).unwrap();
    assert!(!place.path().join("journal.db-wal").exists(), "closed cleanly");
    let (mut found, mut harmless) = (0, 0);
    for bit in (0..bytes.len() * 8).step_by(211) {
        let mut now = bytes.clone();
        now[bit / 8] ^= 1 << (bit % 8);
        std::fs::write(&file, now).unwrap();
        match outcome(place.path(), &run) {
            Ok(past) if past == whole => harmless += 1,
            Ok(past) => {
                assert!(past.cut.is_some(), "bit {bit}: {past:?}");
                assert_eq!(past.records, whole.records[..4], "bit {bit}");
                found += 1;
            }
            Err(_) => found += 1,
        }
    }
    assert!(found > 20 && harmless > 20, "{found} found, {harmless} harmless");
}

#[test]
fn a_full_disk_at_any_commit_is_final_and_leaves_whole_commits() {
    let mut failed = 0;
    for room in 0..12_i64 {
        let place = tempfile::tempdir().unwrap();
        let (mut journal, run) = journal_in(place.path());
        let pages: i64 = journal.database().pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
        journal.database().pragma_update(None, "max_page_count", pages + room).unwrap();
        let big = entry(&"x".repeat(9000));
        let mut good = 6;
        let error = loop {
            match journal.append(&run, Timestamp(6), &[big.clone(), entry("z")]) {
                Ok(()) => good += 2,
                Err(error) => break error,
            }
        };
        assert!(matches!(error, JournalError::Failed(_)), "{error}");
        // There is room again, but what the disk holds is not known any more.
        journal.database().pragma_update(None, "max_page_count", 100_000).unwrap();
        let again = journal.append(&run, Timestamp(7), &[entry("y")]).unwrap_err();
        assert!(
            again.to_string().starts_with("the journal cannot be used any more: it failed before"),
            "{again}"
        );
        assert!(journal.requests(&run).is_err() && journal.create(&new_run("r9", "x", 1), b"").is_err());
        drop(journal);
        let past = SqliteJournal::open(place.path()).unwrap().take_up(&run).unwrap();
        assert_eq!((past.records.len(), past.cut), (good, None), "room for {room} pages");
        failed += 1;
    }
    assert_eq!(failed, 12);
}

#[test]
fn files_are_private_whatever_the_umask() {
    // The umask belongs to the process, so it is tried in one of its own.
    let place = tempfile::tempdir().unwrap();
    let us = std::env::current_exe().unwrap();
    for mask in ["000", "077", "027"] {
        let state = place.path().join(mask);
        let done = std::process::Command::new("sh")
            .arg("-c")
            .arg("umask \"$1\" && exec \"$2\" --exact journal::damage::makes_a_journal --nocapture")
            .arg("sh")
            .arg(mask)
            .arg(&us)
            .env("MANENT_TEST_STATE", &state)
            .output()
            .unwrap();
        assert!(done.status.success(), "{done:?}");
        assert_eq!(state.metadata().unwrap().mode() & 0o777, 0o700);
        for name in ["journal.db", "journal.db-wal", "journal.db-shm"] {
            let copied = std::fs::read_to_string(state.join(format!("mode-of-{name}"))).unwrap();
            assert_eq!(copied, "600", "{name} with umask {mask}");
        }
    }
}

#[test]
fn makes_a_journal() {
    // A part of the test above, which runs it in a process of its own.
    let Some(state) = std::env::var_os("MANENT_TEST_STATE").map(std::path::PathBuf::from) else { return };
    let (_journal, _) = journal_in(&state);
    for name in ["journal.db", "journal.db-wal", "journal.db-shm"] {
        let mode = state.join(name).metadata().unwrap().mode() & 0o777;
        std::fs::write(state.join(format!("mode-of-{name}")), format!("{mode:o}")).unwrap();
    }
}

#[test]
fn another_format_or_another_file_is_refused_in_words() {
    let place = tempfile::tempdir().unwrap();
    let (journal, _) = journal_in(place.path());
    journal.database().pragma_update(None, "user_version", 2).unwrap();
    drop(journal);
    let error = SqliteJournal::open(place.path()).unwrap_err().to_string();
    assert!(error.contains("has format 2 and this manent reads format 1"), "{error}");
    let reader = SqliteReader::open(place.path()).unwrap().unwrap();
    assert!(matches!(reader.runs(None), Err(JournalError::Format { found: 2, .. })));

    let other = tempfile::tempdir().unwrap();
    let path = other.path().join("journal.db");
    drop(crate::private::file(&path).unwrap());
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE music (title TEXT)").unwrap();
    assert!(matches!(SqliteJournal::open(other.path()), Err(JournalError::NotAJournal(_))));
    std::fs::write(&path, "no database at all, but long enough to look at").unwrap();
    assert!(SqliteJournal::open(other.path()).is_err());
    // Nor is one waited for that never answers.
    std::fs::remove_file(&path).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, 0o600.into()).unwrap();
    assert!(matches!(SqliteReader::open(other.path()), Err(JournalError::NotAJournal(_))));
}

#[test]
fn a_reader_makes_no_file_and_sees_what_a_writer_committed() {
    let place = tempfile::tempdir().unwrap();
    let state = place.path().join("state");
    assert!(SqliteReader::open(&state).unwrap().is_none());
    assert!(!state.exists());
    let (mut journal, run) = journal_in(&state);
    let reader = SqliteReader::open(&state).unwrap().unwrap();
    assert_eq!(reader.read(&run).unwrap().records.len(), 6);
    journal.append(&run, Timestamp(6), &[entry("g")]).unwrap();
    assert_eq!(reader.read(&run).unwrap().records.len(), 7);
    // Not even a transaction in hand makes it wait, nor is it seen.
    journal.database().execute_batch("BEGIN IMMEDIATE; DELETE FROM records").unwrap();
    assert_eq!(reader.read(&run).unwrap().records.len(), 7);
    journal.database().execute_batch("ROLLBACK").unwrap();
    drop(journal);
    let list = || {
        let mut names: Vec<_> =
            std::fs::read_dir(&state).unwrap().map(|file| file.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = list();
    assert_eq!(before, ["journal.db"]);
    assert_eq!(reader.read(&run).unwrap().records.len(), 7);
    assert_eq!(reader.last_run("a/a/prod").unwrap().unwrap().id, run);
    assert_eq!(list(), before);
}

#[test]
fn two_runs_are_written_by_two_processes_at_once() {
    let place = tempfile::tempdir().unwrap();
    drop(SqliteJournal::open(place.path()).unwrap());
    let threads: Vec<_> = (0..4)
        .map(|writer| {
            let state = place.path().to_owned();
            std::thread::spawn(move || {
                let mut journal = SqliteJournal::open(&state).unwrap();
                let run = new_run(&format!("r{writer}"), &format!("a/a/e{writer}"), 1);
                journal.create(&run, b"{}").unwrap();
                for at in 0..50 {
                    journal.append(&run.id, Timestamp(at), &[entry("x")]).unwrap();
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let reader = SqliteReader::open(place.path()).unwrap().unwrap();
    for run in reader.runs(None).unwrap() {
        assert_eq!(reader.read(&run.id).unwrap().records.len(), 50);
    }
}

/// Killed while the journal was made: what lies there is nobody's record, and the next one begins anew.
#[test]
fn half_a_birth_is_no_journal_and_stops_nobody() {
    let place = tempfile::tempdir().unwrap();
    let state = place.path().join("state");
    crate::private::directory(&state).unwrap();
    std::fs::write(state.join("journal.db.new"), "").unwrap();
    std::fs::write(state.join("journal.db.new-journal"), [0; 512]).unwrap();
    assert!(SqliteReader::open(&state).unwrap().is_none());
    drop(SqliteJournal::open(&state).unwrap());
    assert!(SqliteReader::open(&state).unwrap().unwrap().runs(None).unwrap().is_empty());
    let left: Vec<_> = std::fs::read_dir(&state).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["journal.db"]);
    // A journal that has lost its content is not taken for one that was never written.
    std::fs::write(state.join("journal.db"), "").unwrap();
    assert!(matches!(SqliteJournal::open(&state), Err(JournalError::NotAJournal(_))));
    assert!(SqliteReader::open(&state).unwrap().unwrap().runs(None).is_err());
}
