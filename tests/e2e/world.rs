//! A tree of its own for each test, and the real program in it with a pinned width and no colour.
//! It must not know what the program does.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// A project tree that is gone after the test.
pub(crate) struct World {
    folder: tempfile::TempDir,
}

/// What the program said.
pub(crate) struct Said {
    /// Exit code; -1 when a signal ended it.
    pub(crate) code: i32,
    /// Standard output, with the tree's path as `[ROOT]`.
    pub(crate) out: String,
    /// Standard error, likewise.
    pub(crate) err: String,
}

impl World {
    /// An empty tree.
    pub(crate) fn new() -> World {
        let folder = tempfile::Builder::new().prefix("manent-e2e-").tempdir().expect("a temporary folder");
        World { folder }
    }

    /// A copy of a tree of the repository, for example `examples/local`.
    pub(crate) fn copy_of(tree: &str) -> World {
        let world = World::new();
        copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join(tree), world.root());
        world
    }

    /// Where it is.
    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    /// A path in it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    /// Writes a file, with its folders.
    pub(crate) fn write(&self, name: &str, text: &str) -> &World {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    /// Makes a file its owner's alone.
    pub(crate) fn private(&self, name: &str) {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(self.path(name), mode).unwrap();
    }

    /// Reads a file.
    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// The program, ready to be started in the tree.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_manent"));
        command
            .args(args)
            .current_dir(self.root())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path(".home"))
            .env("COLUMNS", "100")
            .env("NO_COLOR", "1")
            .stdin(Stdio::null());
        command
    }

    /// Runs the program to its end.
    #[track_caller]
    pub(crate) fn run(&self, args: &[&str]) -> Said {
        self.said(&self.command(args).output().expect("the program starts"))
    }

    /// What a finished program said.
    pub(crate) fn said(&self, output: &Output) -> Said {
        let text = |bytes: &[u8]| {
            let text = String::from_utf8(bytes.to_vec()).expect("output is UTF-8");
            let real = self.root().canonicalize().unwrap_or_else(|_| self.root().to_owned());
            text.replace(&*real.to_string_lossy(), "[ROOT]")
                .replace(&*self.root().to_string_lossy(), "[ROOT]")
        };
        Said {
            code: output.status.code().unwrap_or(-1),
            out: text(&output.stdout),
            err: text(&output.stderr),
        }
    }
}

impl Said {
    /// The exit code has to be this one.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Said {
        assert_eq!(self.code, code, "stdout:\n{}\nstderr:\n{}", self.out, self.err);
        self
    }

    /// Standard output as one JSON value.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}:\n{}\n{}", self.out, self.err))
    }

    /// Both outputs, for a snapshot.
    pub(crate) fn all(&self) -> String {
        format!("exit: {}\n--- stdout\n{}--- stderr\n{}", self.code, self.out, self.err)
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap_or_else(|error| panic!("{}: {error}", from.display())) {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}
