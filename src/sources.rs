//! Documents and artifacts of a project tree, as the compiler asks for them: read from disk, relative to the root.
//! It must not know what they say, and it opens nothing that leads out of the tree by a relative path.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use manent_compiler::{ArtifactFacts, ReadError, Sources};
use sha2::{Digest, Sha256};

/// Above this no document is read: the compiler's own limit is lower, this one only protects memory.
const LARGEST_DOCUMENT: u64 = 64 << 20;

/// The tree on disk.
#[derive(Debug, Clone)]
pub(crate) struct DiskSources {
    root: PathBuf,
}

impl DiskSources {
    /// Paths are relative to `root`.
    pub(crate) fn new(root: &Path) -> DiskSources {
        DiskSources { root: root.to_owned() }
    }

    fn open(&self, path: &str) -> Result<File, ReadError> {
        let full = self.root.join(path);
        let real = full.canonicalize().map_err(|error| refusal(&error))?;
        let root = self.root.canonicalize().map_err(|error| refusal(&error))?;
        // An absolute path was written on purpose; a link or `..` that leaves the tree was not.
        if Path::new(path).is_relative() && !real.starts_with(&root) {
            return Err(ReadError::Other(String::from("it leads out of the project tree")));
        }
        if !real.is_file() {
            return Err(ReadError::Other(String::from("it is not a file")));
        }
        File::open(&real).map_err(|error| refusal(&error))
    }
}

impl Sources for DiskSources {
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError> {
        let mut bytes = Vec::new();
        let mut file = self.open(path)?.take(LARGEST_DOCUMENT + 1);
        file.read_to_end(&mut bytes).map_err(|error| refusal(&error))?;
        if bytes.len() as u64 > LARGEST_DOCUMENT {
            return Err(ReadError::Other(String::from("it is larger than 64 MiB")));
        }
        Ok(bytes)
    }

    fn artifact(&self, path: &str) -> Result<ArtifactFacts, ReadError> {
        let mut file = self.open(path)?;
        let mut digest = Sha256::new();
        let mut bytes = 0;
        let mut block = vec![0; 1 << 16];
        loop {
            let read = file.read(&mut block).map_err(|error| refusal(&error))?;
            if read == 0 {
                break;
            }
            digest.update(block.get(..read).unwrap_or_default());
            bytes += read as u64;
        }
        Ok(ArtifactFacts { sha256: hex::encode(digest.finalize()), bytes })
    }

    fn list(&self, folder: &str) -> Result<Vec<String>, ReadError> {
        let mut found = Vec::new();
        let mut left = vec![PathBuf::from(folder)];
        while let Some(folder) = left.pop() {
            let entries = match std::fs::read_dir(self.root.join(&folder)) {
                Ok(entries) => entries,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                Err(error) => return Err(refusal(&error)),
            };
            for entry in entries {
                let entry = entry.map_err(|error| refusal(&error))?;
                let path = folder.join(entry.file_name());
                // A link to a folder is not followed: it could lead in a circle.
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    left.push(path);
                } else if let Some(path) = path.to_str() {
                    found.push(path.to_owned());
                }
            }
        }
        found.sort();
        Ok(found)
    }
}

fn refusal(error: &std::io::Error) -> ReadError {
    match error.kind() {
        std::io::ErrorKind::NotFound => ReadError::NotFound,
        _ => ReadError::Other(error.to_string()),
    }
}
