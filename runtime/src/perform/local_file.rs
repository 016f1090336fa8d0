//! Which file of this machine an upload may read: a regular file, and by a relative path only one of the project tree,
//! links followed. A descriptor comes from developers, so `../` must not carry files of this machine to a target. It must
//! not read the file.

use std::path::{Path, PathBuf};

/// The file behind a path of an action, without links.
pub(super) fn local_file(root: &Path, path: &str) -> Result<PathBuf, String> {
    let unreadable = |error: std::io::Error| format!("`{path}` cannot be read: {error}");
    let file = root.join(path).canonicalize().map_err(unreadable)?;
    // As for documents and secrets: an absolute path was written on purpose, a link or `..` that leaves the tree was not.
    if Path::new(path).is_relative() {
        let root = root.canonicalize().map_err(|error| format!("the root cannot be read: {error}"))?;
        if !file.starts_with(&root) {
            return Err(format!("`{path}` cannot be uploaded: it leads out of the project tree"));
        }
    }
    // A pipe or a device would never end.
    if !file.metadata().map_err(unreadable)?.is_file() {
        return Err(format!("`{path}` cannot be uploaded: it is not a file"));
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_paths_stay_in_the_tree() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        std::fs::create_dir_all(root.join("dist")).unwrap();
        std::fs::write(folder.path().join("outside"), "x").unwrap();
        std::fs::write(root.join("dist/app"), "x").unwrap();
        std::os::unix::fs::symlink("../../outside", root.join("dist/link")).unwrap();
        std::os::unix::fs::symlink("app", root.join("dist/inner")).unwrap();
        let real = root.canonicalize().unwrap().join("dist/app");
        for fine in ["dist/app", "dist/../dist/app", "dist/inner", real.to_str().unwrap()] {
            assert_eq!(local_file(&root, fine).unwrap(), real, "{fine}");
        }
        for (path, why) in [
            ("../outside", "leads out of the project tree"),
            ("dist/../../outside", "leads out of the project tree"),
            ("dist/link", "leads out of the project tree"),
            ("dist", "is not a file"),
            ("/dev/null", "is not a file"),
            ("dist/none", "cannot be read"),
            ("dist/a\0b", "cannot be read"),
        ] {
            let reason = local_file(&root, path).unwrap_err();
            assert!(reason.contains(why), "{path}: {reason}");
        }
    }
}
