//! A temporary folder for one test, with everything that its servers write.
//! It does not know what lies inside.

use crate::{Context, Result};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// When this variable is set, folders stay behind for a look at the logs.
const KEEP: &str = "MANENT_TESTBED_KEEP";

/// A folder that goes away with the handle, unless `MANENT_TESTBED_KEEP` is set.
pub struct Folder {
    path: PathBuf,
    _owner: Option<TempDir>,
}

impl Folder {
    /// A new folder, readable by all: the hosts of a site run as another user.
    pub fn new(purpose: &str) -> Result<Folder> {
        let owner = tempfile::Builder::new()
            .prefix(&format!("manent-{purpose}-"))
            .permissions(fs::Permissions::from_mode(0o755))
            .tempdir()
            .doing("creating a temporary folder")?;
        let path = owner.path().to_path_buf();
        if std::env::var_os(KEEP).is_some() {
            let path = owner.keep();
            eprintln!("testbed folder: {}", path.display());
            return Ok(Folder { path, _owner: None });
        }
        Ok(Folder { path, _owner: Some(owner) })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A folder inside, made when missing.
    pub fn sub(&self, name: &str) -> Result<PathBuf> {
        let path = self.path.join(name);
        fs::create_dir_all(&path).doing(format_args!("creating {}", path.display()))?;
        Ok(path)
    }
}
