//! `manent init`: a small project tree that lints clean, plans, and applies on this machine.
//! It must not ask, and it must not overwrite anything.

use std::io::Write;
use std::path::Path;

use crate::cli::Context;
use crate::console::Look;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::project::Project;

/// The tree. The two documents are those of an example, so that a test of the example is a test of them.
const FILES: [(&str, &str); 3] = [
    (
        "envconfig/example/hello/local.yml",
        include_str!("../../examples/local/envconfig/example/hello/local.yml"),
    ),
    ("descriptors/hello.yml", include_str!("../../examples/local/descriptors/hello.yml")),
    (".manent/.gitignore", "# Runs live here; they belong to this machine.\n*\n"),
];

/// Arguments of `init`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  manent init                        in the current directory
  manent init --root releases        in another one
Then:
  manent plan example/hello/local --release 1.0.0
  manent apply example/hello/local --release 1.0.0")]
pub(crate) struct Args {}

/// Writes the tree.
pub(crate) fn run(_: &Args, context: &Context) -> Result<Exit, Fault> {
    let root = Project::anywhere(context.root.as_deref())?;
    let there: Vec<&str> = FILES
        .iter()
        .map(|(name, _)| *name)
        .filter(|name| root.join(name).symlink_metadata().is_ok())
        .collect();
    if !there.is_empty() {
        let names = there.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let exist = if there.len() == 1 { "exists" } else { "exist" };
        return Err(Fault::error(format!("{names} {exist} already, nothing was written"))
            .help("choose another directory with `--root DIR`, or remove what is there"));
    }
    for (name, text) in FILES {
        write(&root.join(name), text).map_err(|error| {
            Fault::error(format!("`{}` cannot be written", root.join(name).display())).because(&error)
        })?;
    }
    if context.console.json {
        let files: Vec<&str> = FILES.iter().map(|(name, _)| *name).collect();
        context.console.value(&serde_json::json!({
            "root": root.display().to_string(),
            "files": files,
            "environments": ["example/hello/local"],
        }))?;
        return Ok(Exit::Done);
    }
    let paint = context.console.paint();
    let mut text = String::new();
    for (name, _) in FILES {
        text.push_str(&format!("wrote {name}\n"));
    }
    text.push_str("\nnext:\n");
    for (command, meaning) in [
        ("manent plan example/hello/local --release 1.0.0", "read what would happen"),
        ("manent apply example/hello/local --release 1.0.0", "do it, on this machine"),
        ("manent status", "see what is true"),
    ] {
        text.push_str(&format!("  {}  {meaning}\n", paint.with(Look::Cyan, format!("{command:<50}"))));
    }
    context.console.data(&text)?;
    Ok(Exit::Done)
}

/// A new file; one that appeared in the meantime is not overwritten.
fn write(path: &Path, text: &str) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true);
        // Runs are nobody else's business.
        #[cfg(unix)]
        if folder.ends_with(".manent") {
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        }
        builder.create(folder)?;
    }
    let mut file = std::fs::File::create_new(path)?;
    file.write_all(text.as_bytes())
}
