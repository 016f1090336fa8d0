//! Performs the actions of a recipe on a temporary folder, through the system's `sh`.
//! It must not know any recipe: it fills in templates and runs what the file says.

#![allow(dead_code, unreachable_pub, reason = "each test binary uses its own part, and has no outside")]
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use manent_stdlib::Stdlib;
use serde_yaml::Value;
use tempfile::TempDir;

/// A target, an artifact, and the parameters of a recipe.
pub struct World {
    folder: TempDir,
    recipe: Value,
    pub root: PathBuf,
    pub artifact: PathBuf,
    /// Text of the artifact's digest, when it is not the true one.
    pub digest: Option<String>,
    pub with: BTreeMap<&'static str, Value>,
}

/// A failed action: its position, and what it wrote.
#[derive(Debug)]
pub struct Failure {
    pub at: usize,
    pub stderr: String,
}

impl World {
    pub fn new(recipe: &str) -> World {
        World::with_root(recipe, "srv/shop")
    }

    pub fn with_root(recipe: &str, root: &str) -> World {
        let folder = tempfile::tempdir().unwrap();
        let text = Stdlib::builtin().unwrap().recipe(recipe).unwrap().text;
        let root = folder.path().join(root);
        let mut world = World {
            recipe: serde_yaml::from_str(text).unwrap(),
            artifact: folder.path().join("artifact.tar.gz"),
            root: root.clone(),
            digest: None,
            with: BTreeMap::new(),
            folder,
        };
        let defaults = world.recipe["parameters"].as_sequence().unwrap().clone();
        for parameter in defaults {
            if let Some(default) = parameter.get("default") {
                let name = parameter["name"].as_str().unwrap().to_owned();
                world.with.insert(Box::leak(name.into_boxed_str()), default.clone());
            }
        }
        world.set("root", root.to_str().unwrap());
        world
    }

    pub fn set(&mut self, name: &'static str, value: &str) {
        self.with.insert(name, Value::from(value));
    }

    pub fn set_argv(&mut self, name: &'static str, argv: &[&str]) {
        self.with.insert(name, Value::from(argv.iter().map(|part| Value::from(*part)).collect::<Vec<_>>()));
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Packs an archive with one file `version` that says `text`, below `top` when one is given.
    pub fn pack(&self, text: &str, top: Option<&str>) {
        let tree = self.path("tree");
        let inner = top.map_or_else(|| tree.clone(), |top| tree.join(top));
        fs::create_dir_all(&inner).unwrap();
        fs::write(inner.join("version"), text).unwrap();
        // The same content has the same digest, however often it is packed.
        for path in [inner.join("version"), inner.clone(), tree.clone()] {
            fs::File::open(path).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
        }
        let made = Command::new("tar").arg("-czf").arg(&self.artifact).arg("-C").arg(&tree).arg(".").status();
        assert!(made.unwrap().success());
        fs::remove_dir_all(tree).unwrap();
    }

    /// Performs all actions; returns what the last one printed.
    pub fn perform(&self, procedure: &str, release: &str, from: &str) -> Result<String, Failure> {
        self.perform_first(usize::MAX, procedure, release, from)
    }

    /// Performs the first `count` actions only, as if manent were killed then.
    pub fn perform_first(
        &self,
        count: usize,
        procedure: &str,
        release: &str,
        from: &str,
    ) -> Result<String, Failure> {
        let mut printed = String::new();
        for (at, action) in self.recipe[procedure].as_sequence().unwrap().iter().take(count).enumerate() {
            printed = self.act(action, release, from).map_err(|stderr| Failure { at, stderr })?;
        }
        Ok(printed)
    }

    pub fn actions(&self, procedure: &str) -> usize {
        self.recipe[procedure].as_sequence().unwrap().len()
    }

    /// The scripts of all procedures.
    pub fn scripts(&self) -> Vec<String> {
        let procedures = ["apply", "undo", "current", "retain"].into_iter();
        procedures
            .flat_map(|procedure| self.recipe[procedure].as_sequence().unwrap())
            .filter_map(|action| action.get("sh").map(|script| script.as_str().unwrap().to_owned()))
            .collect()
    }

    fn act(&self, action: &Value, release: &str, from: &str) -> Result<String, String> {
        let fill = |template: &Value| self.fill(template.as_str().unwrap(), release, from);
        if let Some(script) = action.get("sh") {
            let env = action["env"].as_mapping().unwrap().iter();
            let env = env.map(|(name, value)| (name.as_str().unwrap(), fill(value)));
            return finish(Command::new("sh").arg("-c").arg(script.as_str().unwrap()).envs(env).output());
        }
        if let Some(argv) = action.get("run") {
            let argv: Vec<String> = argv
                .as_sequence()
                .unwrap()
                .iter()
                .flat_map(|part| self.splice(part))
                .map(|part| fill(&part))
                .collect();
            return finish(Command::new(&argv[0]).args(&argv[1..]).output());
        }
        let upload = action.get("upload").expect("an action that this test knows");
        let (from, to) = (fill(&upload["from"]), fill(&upload["to"]));
        fs::copy(from, to).map(|_| String::new()).map_err(|cause| cause.to_string())
    }

    /// An element that is exactly `{with.name}` with a list as its value becomes the elements of the list.
    fn splice(&self, part: &Value) -> Vec<Value> {
        let name = part.as_str().unwrap().strip_prefix("{with.").and_then(|rest| rest.strip_suffix('}'));
        match name.map(|name| &self.with[name]) {
            Some(Value::Sequence(parts)) => parts.iter().flat_map(|part| self.splice(part)).collect(),
            _ => vec![part.clone()],
        }
    }

    fn fill(&self, template: &str, release: &str, from: &str) -> String {
        let digest = self.digest.clone().unwrap_or_else(|| sha256(&self.artifact));
        let mut text = String::new();
        let mut rest = template;
        while let Some((before, after)) = rest.split_once('{') {
            let (name, after) = after.split_once('}').unwrap();
            text.push_str(before);
            match name {
                "release" => text.push_str(release),
                "from" => text.push_str(from),
                "artifact.path" => text.push_str(self.artifact.to_str().unwrap()),
                "artifact.sha256" => text.push_str(&digest),
                _ => text.push_str(self.with[name.strip_prefix("with.").unwrap()].as_str().unwrap()),
            }
            rest = after;
        }
        text + rest
    }

    /// Everything below the root: directories end in `/`, links show where they lead, files what they hold.
    pub fn tree(&self) -> Vec<String> {
        let mut lines = Vec::new();
        walk(&self.root, &self.root, &mut lines);
        lines.sort();
        lines
    }
}

fn walk(root: &Path, folder: &Path, lines: &mut Vec<String>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.map(Result::unwrap) {
        let path = entry.path();
        let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
        let kind = entry.file_type().unwrap();
        if kind.is_symlink() {
            lines.push(format!("{name} -> {}", fs::read_link(&path).unwrap().display()));
        } else if kind.is_dir() {
            lines.push(format!("{name}/"));
            walk(root, &path, lines);
        } else if name.ends_with(".manent-artifact") || name.ends_with(".artifact") {
            lines.push(name);
        } else {
            lines.push(format!("{name}: {}", fs::read_to_string(&path).unwrap().trim_end()));
        }
    }
}

fn finish(output: std::io::Result<Output>) -> Result<String, String> {
    let output = output.map_err(|cause| cause.to_string())?;
    if output.status.success() {
        Ok(String::from_utf8(output.stdout).unwrap())
    } else {
        Err(String::from_utf8(output.stderr).unwrap())
    }
}

fn sha256(path: &Path) -> String {
    let Ok(output) = Command::new("sha256sum").arg(path).output() else { return String::new() };
    let text = String::from_utf8(output.stdout).unwrap();
    // A name with odd characters makes the program put a backslash in front.
    text.trim_start_matches('\\').split(' ').next().unwrap_or_default().to_owned()
}
