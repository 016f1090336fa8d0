//! `manent explain`: the page of a diagnostic, or the list of all.
//! It must not know what the pages say.

use manent_compiler::Code;

use crate::cli::Context;
use crate::console::Look;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::project;

/// Arguments of `explain`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  manent explain                       all codes
  manent explain floor-unreachable     one of them")]
pub(crate) struct Args {
    /// Code of a diagnostic, for example `floor-unreachable`
    code: Option<String>,
}

/// Prints the page, or the list.
pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Fault> {
    match &args.code {
        Some(name) => page(name, context),
        None => list(context),
    }
}

fn page(name: &str, context: &Context) -> Result<Exit, Fault> {
    let Some(code) = Code::ALL.iter().find(|code| code.name() == name) else {
        let names: Vec<String> = Code::ALL.iter().map(|code| code.name().to_owned()).collect();
        let begins = || names.iter().find(|known| !name.is_empty() && known.starts_with(name)).cloned();
        let help = match project::nearest(name, &names).or_else(begins) {
            Some(nearest) => format!("did you mean `{nearest}`? `manent explain` lists all codes"),
            None => String::from("`manent explain` lists all codes"),
        };
        return Err(Fault::input(format!("no diagnostic has the code `{name}`")).help(help));
    };
    if context.console.json {
        let value = serde_json::json!({ "code": code.name(), "title": title(*code), "page": code.page() });
        context.console.value(&value)?;
    } else {
        context.console.data(code.page())?;
    }
    Ok(Exit::Done)
}

fn list(context: &Context) -> Result<Exit, Fault> {
    let mut codes: Vec<Code> = Code::ALL.to_vec();
    codes.sort_by_key(|code| code.name());
    if context.console.json {
        let values: Vec<_> = codes
            .iter()
            .map(|code| serde_json::json!({ "code": code.name(), "title": title(*code) }))
            .collect();
        context.console.value(&values)?;
        return Ok(Exit::Done);
    }
    let widest = codes.iter().map(|code| code.name().len()).max().unwrap_or_default();
    let mut text = String::new();
    for code in codes {
        let name = context.console.paint().with(Look::Cyan, format!("{:<widest$}", code.name()));
        text.push_str(&format!("{name}  {}\n", title(code)));
    }
    context.console.data(&text)?;
    Ok(Exit::Done)
}

/// The first line of the page that says something: its heading's sentence.
fn title(code: Code) -> &'static str {
    let mut lines = code.page().lines().map(|line| line.trim_start_matches('#').trim());
    lines.find(|line| !line.is_empty() && line.trim_matches('`') != code.name()).unwrap_or_default()
}
