//! Directories and files that only their owner can read, whatever the umask; refuses what others could have prepared.
//! It must not know what is kept in them.

use std::fs::{DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Why a directory or a file cannot be trusted or used.
#[derive(Debug, thiserror::Error)]
pub enum PrivateError {
    /// It is not a directory, or a link to one.
    #[error("`{}` is not a directory", .0.display())]
    NotADirectory(PathBuf),
    /// It is a link or a special file.
    #[error("`{}` is not a regular file", .0.display())]
    NotAFile(PathBuf),
    /// Somebody else owns it.
    #[error("`{}` belongs to another user", .0.display())]
    Foreign(PathBuf),
    /// Others may change it.
    #[error("`{}` can be written by others", .0.display())]
    Writable(PathBuf),
    /// Others may read it.
    #[error("`{}` can be read by others", .0.display())]
    Readable(PathBuf),
    /// The system refused.
    #[error("`{}` cannot be used: {source}", path.display())]
    Io {
        /// What.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl PrivateError {
    fn io(path: &Path, source: io::Error) -> PrivateError {
        PrivateError::Io { path: path.to_owned(), source }
    }
}

/// Makes a directory with mode 0700, or checks one that is there already. Missing parents are made, too.
///
/// # Errors
/// When it is a link, belongs to somebody else, or can be written by others.
pub fn directory(path: &Path) -> Result<(), PrivateError> {
    match DirBuilder::new().mode(0o700).recursive(true).create(path) {
        Ok(()) => {}
        Err(_) if path.exists() => {}
        Err(source) => return Err(PrivateError::io(path, source)),
    }
    checked_directory(path)
}

/// Checks a directory without making it.
///
/// # Errors
/// As [`directory`]; also when it is missing.
pub fn checked_directory(path: &Path) -> Result<(), PrivateError> {
    let found = std::fs::symlink_metadata(path).map_err(|source| PrivateError::io(path, source))?;
    if !found.is_dir() {
        return Err(PrivateError::NotADirectory(path.to_owned()));
    }
    owned(path, &found)
}

/// Opens a file for reading and writing, made with mode 0600 when it is missing; never through a link.
///
/// # Errors
/// When it is a link, belongs to somebody else, or can be read or written by others.
pub fn file(path: &Path) -> Result<File, PrivateError> {
    let flags = i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or_default();
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600).custom_flags(flags);
    let file = match options.clone().create_new(true).open(path) {
        Ok(file) => {
            // The umask takes bits away; nothing gives them back but this.
            file.set_permissions(Permissions::from_mode(0o600))
                .map_err(|source| PrivateError::io(path, source))?;
            file
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => match options.open(path) {
            Ok(file) => file,
            Err(_) if path.is_symlink() => return Err(PrivateError::NotAFile(path.to_owned())),
            Err(source) => return Err(PrivateError::io(path, source)),
        },
        Err(source) => return Err(PrivateError::io(path, source)),
    };
    let found = file.metadata().map_err(|source| PrivateError::io(path, source))?;
    if !found.is_file() {
        return Err(PrivateError::NotAFile(path.to_owned()));
    }
    owned(path, &found)?;
    if found.mode() & 0o044 != 0 {
        return Err(PrivateError::Readable(path.to_owned()));
    }
    Ok(file)
}

fn owned(path: &Path, found: &Metadata) -> Result<(), PrivateError> {
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(PrivateError::Foreign(path.to_owned()));
    }
    if found.mode() & 0o022 != 0 {
        return Err(PrivateError::Writable(path.to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        path.metadata().unwrap().mode() & 0o777
    }

    #[test]
    fn what_is_made_is_private() {
        let place = tempfile::tempdir().unwrap();
        let inner = place.path().join("a/b");
        directory(&inner).unwrap();
        file(&inner.join("x")).unwrap();
        assert_eq!((mode(&inner), mode(&inner.join("x"))), (0o700, 0o600));
    }

    #[test]
    fn what_others_could_change_is_refused() {
        let place = tempfile::tempdir().unwrap();
        for bits in [0o770, 0o707, 0o777] {
            let inner = place.path().join(format!("d{bits:o}"));
            std::fs::create_dir(&inner).unwrap();
            std::fs::set_permissions(&inner, Permissions::from_mode(bits)).unwrap();
            assert!(matches!(directory(&inner), Err(PrivateError::Writable(_))), "{bits:o}");
        }
        let loose = place.path().join("loose");
        std::fs::write(&loose, "").unwrap();
        for (bits, readable) in [(0o644, true), (0o640, true), (0o620, false)] {
            std::fs::set_permissions(&loose, Permissions::from_mode(bits)).unwrap();
            let refused = file(&loose).unwrap_err();
            assert_eq!(matches!(refused, PrivateError::Readable(_)), readable, "{bits:o}: {refused}");
        }
    }

    #[test]
    fn links_and_foreign_owners_are_refused() {
        let place = tempfile::tempdir().unwrap();
        let (real, link) = (place.path().join("real"), place.path().join("link"));
        std::fs::create_dir(&real).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        assert!(matches!(directory(&link), Err(PrivateError::NotADirectory(_))));
        let (real, link) = (place.path().join("file"), place.path().join("file-link"));
        file(&real).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        assert!(matches!(file(&link), Err(PrivateError::NotAFile(_))));
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(&real, Some(1), None).unwrap();
            assert!(matches!(file(&real), Err(PrivateError::Foreign(_))));
        }
    }
}
