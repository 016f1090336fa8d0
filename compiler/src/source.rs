//! How the compiler sees the world: documents and artifacts by path, handed in by the caller.
//! It must not know where they come from; the command line reads a directory, tests a map.

use std::collections::BTreeMap;
use std::sync::Arc;

use sha2::{Digest, Sha256};

/// Where documents come from. Paths are relative to the root, with `/`, or absolute.
pub trait Sources {
    /// The bytes of a document.
    ///
    /// # Errors
    /// Why it cannot be read.
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError>;

    /// Size and digest of an artifact; its bytes are not kept.
    ///
    /// # Errors
    /// Why it cannot be read.
    fn artifact(&self, path: &str) -> Result<ArtifactFacts, ReadError>;

    /// All files under a folder, at any depth, as paths in the form that `read` takes, sorted.
    ///
    /// # Errors
    /// Why the folder cannot be read; a folder that does not exist is empty.
    fn list(&self, folder: &str) -> Result<Vec<String>, ReadError>;
}

/// What the plan records of an artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArtifactFacts {
    /// SHA-256 of its bytes, in hex.
    pub sha256: String,
    /// Its size.
    pub bytes: u64,
}

/// Why a file cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// There is no such file.
    #[error("there is no such file")]
    NotFound,
    /// It is there, but.
    #[error("{0}")]
    Other(String),
}

/// Documents in memory, by path: what tests and tools without a disk use.
#[derive(Debug, Clone, Default)]
pub struct MemorySources {
    files: BTreeMap<String, Vec<u8>>,
}

impl MemorySources {
    /// No files.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds or replaces a file.
    #[must_use]
    pub fn with(mut self, path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        self.files.insert(path.into(), bytes.into());
        self
    }
}

impl Sources for MemorySources {
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError> {
        self.files.get(path).cloned().ok_or(ReadError::NotFound)
    }

    fn artifact(&self, path: &str) -> Result<ArtifactFacts, ReadError> {
        let bytes = self.files.get(path).ok_or(ReadError::NotFound)?;
        Ok(ArtifactFacts { sha256: sha256(bytes), bytes: bytes.len() as u64 })
    }

    fn list(&self, folder: &str) -> Result<Vec<String>, ReadError> {
        let prefix = format!("{folder}/");
        Ok(self.files.keys().filter(|path| path.starts_with(&prefix)).cloned().collect())
    }
}

/// SHA-256 in hex.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

/// Position of a file in [`Files`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileId(pub(crate) u32);

/// The documents that a compilation looked at, kept so that findings can show the place.
#[derive(Debug, Clone, Default)]
pub struct Files {
    files: Vec<File>,
}

/// One document.
#[derive(Debug, Clone)]
pub struct File {
    /// Its path as the caller knows it.
    pub path: String,
    /// Its text; empty when it could not be read.
    pub text: Arc<String>,
    /// Where each line begins.
    lines: Vec<u32>,
}

impl Files {
    /// Takes a document in and gives its id.
    pub fn add(&mut self, path: impl Into<String>, text: Arc<String>) -> FileId {
        let id = FileId(u32::try_from(self.files.len()).unwrap_or(u32::MAX));
        self.files.push(File { path: path.into(), text, lines: Vec::new() });
        id
    }

    /// The path of a document.
    #[must_use]
    pub fn path(&self, id: FileId) -> &str {
        self.files.get(id.0 as usize).map_or("?", |file| file.path.as_str())
    }

    /// The text of a document.
    #[must_use]
    pub fn text(&self, id: FileId) -> &str {
        self.files.get(id.0 as usize).map_or("", |file| file.text.as_str())
    }

    /// Line and column of a byte, both from 1; the column counts characters, as editors do.
    #[must_use]
    pub fn line_column(&self, id: FileId, at: usize) -> (usize, usize) {
        let Some(file) = self.files.get(id.0 as usize) else { return (1, 1) };
        let at = floor_char_boundary(&file.text, at);
        let line = file.lines.partition_point(|start| *start as usize <= at);
        if let Some(start) = line.checked_sub(1).and_then(|index| file.lines.get(index)) {
            let before = file.text.get(*start as usize..at).unwrap_or("");
            return (line, before.chars().count() + 1);
        }
        let before = file.text.get(..at).unwrap_or("");
        let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        (line, before.get(start..).unwrap_or("").chars().count() + 1)
    }

    /// Finds the beginnings of all lines once, so that many places are cheap. Only files with findings need it.
    pub(crate) fn index_lines(&mut self, id: FileId) {
        let Some(file) = self.files.get_mut(id.0 as usize) else { return };
        if file.lines.is_empty() {
            file.lines.push(0);
            let newlines = file.text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
            file.lines.extend(newlines.map(|(at, _)| u32::try_from(at + 1).unwrap_or(u32::MAX)));
        }
    }
}

/// The nearest place at or before `at` where a character begins.
fn floor_char_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_with_and_without_an_index() {
        let mut files = Files::default();
        let id = files.add("a.yml", Arc::new("a: ü\nö: b\n".into()));
        let at = "a: ü\nö: ".len();
        assert_eq!(files.line_column(id, at), (2, 4));
        files.index_lines(id);
        assert_eq!(files.line_column(id, at), (2, 4));
        assert_eq!(files.line_column(id, 0), (1, 1));
        assert_eq!(files.line_column(id, 999), (3, 1));
    }
}
