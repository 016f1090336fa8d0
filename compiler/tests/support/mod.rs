//! A project tree on disk as sources, and what the tests of this crate share.
//! It must not know what a test expects.

#![allow(dead_code, reason = "each test file uses a part of it")]

use std::path::{Path, PathBuf};

use manent_compiler::{ArtifactFacts, Compiled, MemorySources, Options, ReadError, Sources, compile};
use manent_stdlib::Stdlib;
use sha2::{Digest, Sha256};

/// The folder `tests/suite` of the repository.
pub(crate) fn suite(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/suite").join(name)
}

/// A folder as the root of a project.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Sources for Folder {
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError> {
        std::fs::read(self.0.join(path)).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => ReadError::NotFound,
            _ => ReadError::Other(error.kind().to_string()),
        })
    }

    fn artifact(&self, path: &str) -> Result<ArtifactFacts, ReadError> {
        let bytes = self.read(path)?;
        Ok(ArtifactFacts { sha256: hex::encode(Sha256::digest(&bytes)), bytes: bytes.len() as u64 })
    }

    fn list(&self, folder: &str) -> Result<Vec<String>, ReadError> {
        let Ok(entries) = std::fs::read_dir(self.0.join(folder)) else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| ReadError::Other(error.to_string()))?;
            let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
            if entry.path().is_dir() {
                found.extend(self.list(&path)?);
            } else {
                found.push(path);
            }
        }
        found.sort();
        Ok(found)
    }
}

/// The environment that most cases start from.
pub(crate) fn base_env() -> String {
    std::fs::read_to_string(suite("accept/base/envconfig/shop/shop/prod.yml")).unwrap()
}

/// Its descriptor.
pub(crate) fn base_descriptor() -> String {
    std::fs::read_to_string(suite("accept/base/descriptors/shop.yml")).unwrap()
}

/// Both documents in memory.
pub(crate) fn sources(env: &str, descriptor: &str) -> MemorySources {
    MemorySources::new().with("envconfig/shop/shop/prod.yml", env).with("descriptors/shop.yml", descriptor)
}

/// Compiles `shop/shop/prod`.
pub(crate) fn compile_prod(sources: &dyn Sources, release: Option<&str>) -> Compiled {
    let options = Options {
        environment: "shop/shop/prod".into(),
        release: release.map(str::to_owned),
        ..Options::default()
    };
    compile(sources, &Stdlib::builtin().unwrap(), &options)
}

/// Compiles two documents.
pub(crate) fn compile_texts(env: &str, descriptor: &str) -> Compiled {
    compile_prod(&sources(env, descriptor), None)
}

/// Replaces a piece of text that must be there.
#[track_caller]
pub(crate) fn with(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "`{from}` is not in the text");
    text.replacen(from, to, 1)
}
