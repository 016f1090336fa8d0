//! The plan file: JSON, versioned, sealed by a digest over its bytes. Written as one line for each target, step and
//! edge, so that line tools and diffs work on it. It must not know what a plan is used for.

mod kinds;
mod layout;
mod reading;
mod writing;

use std::io::{self, Write};

use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::model::{FORMAT, Plan};
use crate::verify::{Violation, verify};

/// No plan file is larger: a hundred thousand targets, one at a time, need less than half of it.
pub const LONGEST_FILE: usize = 512 * 1024 * 1024;

/// The digest while it is not known: as long as the one that takes its place.
const NO_DIGEST: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// Why a plan file cannot be used.
#[derive(Debug, Error)]
pub enum PlanFileError {
    /// It is larger than any plan.
    #[error("the file has {bytes} bytes, a plan has at most {LONGEST_FILE}")]
    TooLarge {
        /// Its size.
        bytes: usize,
    },
    /// It is no JSON object with a `format`.
    #[error("this is not a plan file: {why}")]
    NotAPlan {
        /// What was found instead.
        why: String,
    },
    /// Another manent wrote it.
    #[error("this plan has format {found}, this manent reads format {FORMAT}: plan again with this version")]
    OtherFormat {
        /// Its format.
        found: u64,
    },
    /// Its bytes are not those that were written.
    #[error("this plan was changed after it was written: its digest does not fit; plan again")]
    Changed,
    /// Its digest fits, and it is not what this manent would write.
    #[error("this plan was not written by this version of manent: {why}; plan again with this version")]
    Foreign {
        /// Where it differs.
        why: String,
    },
    /// It can be read and is not sound.
    #[error("this plan is not sound: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Unsound(Vec<Violation>),
}

/// The bytes of the plan file.
#[must_use]
pub fn write(plan: &Plan) -> Vec<u8> {
    let (head, body) = written(plan);
    let digest = digest_of(&head, &body);
    let mut file = Vec::with_capacity(body.len() + 128);
    file.extend_from_slice(head.replace(NO_DIGEST, &digest).as_bytes());
    file.extend_from_slice(&body);
    file
}

/// Writes the plan file.
///
/// # Errors
/// Those of the writer.
pub fn write_to(plan: &Plan, out: &mut dyn Write) -> io::Result<()> {
    let (head, body) = written(plan);
    let digest = digest_of(&head, &body);
    out.write_all(head.replace(NO_DIGEST, &digest).as_bytes())?;
    out.write_all(&body)
}

/// Reads a plan file: one of this format, unchanged since it was written, and sound.
///
/// # Errors
/// Why it cannot be used, in a sentence for people.
pub fn read(bytes: &[u8]) -> Result<Plan, PlanFileError> {
    if bytes.len() > LONGEST_FILE {
        return Err(PlanFileError::TooLarge { bytes: bytes.len() });
    }
    let Some((digest, body)) = split(bytes) else {
        reading::format(bytes)?;
        return Err(PlanFileError::Changed);
    };
    if digest != digest_of(&head(NO_DIGEST), body) {
        return Err(PlanFileError::Changed);
    }
    let plan = reading::plan(bytes)?;
    verify(&plan).map_err(PlanFileError::Unsound)?;
    // What was read has to be all that was written: no field is skipped, no step has another id than its own.
    let (_, again) = written(&plan);
    if again != body {
        let at = again
            .iter()
            .zip(body)
            .position(|(one, other)| one != other)
            .unwrap_or(again.len().min(body.len()));
        let line =
            body.iter().take(at).filter(|byte| **byte == b'\n').count() + head(NO_DIGEST).lines().count() + 1;
        return Err(PlanFileError::Foreign { why: format!("line {line} would be another one") });
    }
    Ok(plan)
}

impl Plan {
    /// What identifies the plan: the digest in its file.
    #[must_use]
    pub fn digest(&self) -> String {
        let (head, body) = written(self);
        digest_of(&head, &body)
    }
}

/// The first lines, which say what the file is; everything else; both without a digest.
fn written(plan: &Plan) -> (String, Vec<u8>) {
    (head(NO_DIGEST), writing::body(plan))
}

fn head(digest: &str) -> String {
    format!("{{\n\"format\": {FORMAT},\n\"digest\": \"{digest}\"")
}

/// The digest that a file states, and what follows it; `None` when the file does not begin as one of ours does.
fn split(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let head = head("");
    let opening = head.strip_suffix('"')?;
    let rest = bytes.strip_prefix(opening.as_bytes())?;
    let (digest, rest) = rest.split_at_checked(NO_DIGEST.len())?;
    Some((std::str::from_utf8(digest).ok()?, rest.strip_prefix(b"\"")?))
}

fn digest_of(head: &str, body: &[u8]) -> String {
    let mut hash = Sha256::new();
    hash.update(head);
    hash.update(body);
    hex::encode(hash.finalize())
}
