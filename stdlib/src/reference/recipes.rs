//! The page about recipes: parameters, and the rules that stand at the head of the first recipe.
//! It must not know what an action does.

use serde::Deserialize;
use serde_yaml::Value;

use super::cell;
use crate::{BrokenManifest, RecipeSource, Stdlib};

const HEAD: &str = "# Recipes

<!-- Written from stdlib/recipes/ by a test of manent-stdlib. Change the recipes, then run it with UPDATE=1. -->

A recipe says how one target is updated and how that is undone. It is chosen by `deploy.recipe`, and its parameters stand
in `deploy.with`. The recipes that come with manent are written in the same language as your own.
";

/// What the page needs of a recipe; the actions are the compiler's to read.
#[derive(Deserialize)]
struct Recipe {
    summary: String,
    parameters: Vec<Parameter>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameter {
    name: String,
    #[serde(rename = "type")]
    kind: String,
    default: Option<Value>,
    #[serde(default)]
    required: bool,
    meaning: String,
}

/// The page about all recipes.
///
/// # Errors
///
/// A recipe that cannot be read, which a test rules out.
pub fn recipes_page(stdlib: &Stdlib) -> Result<String, BrokenManifest> {
    let mut page = HEAD.to_owned();
    for source in stdlib.recipes() {
        page += &section(source)?;
    }
    let rules = stdlib.recipe("release-dir").map(|source| rules(source.text)).unwrap_or_default();
    page += &format!("\n## The language of recipes\n\n```text\n{rules}```\n");
    Ok(page)
}

fn section(source: &RecipeSource) -> Result<String, BrokenManifest> {
    let recipe: Recipe = serde_yaml::from_str(source.text)
        .map_err(|cause| BrokenManifest { name: source.name.to_owned(), cause: cause.to_string() })?;
    let rows: String = recipe.parameters.iter().map(row).collect();
    Ok(format!(
        "\n## {}\n\n{}\n\n| Parameter | Type | Default | Meaning |\n|---|---|---|---|\n{rows}\nSource: `{}`.\n",
        source.name, recipe.summary, source.path
    ))
}

fn row(parameter: &Parameter) -> String {
    let default = match &parameter.default {
        Some(Value::Sequence(parts)) => {
            let parts: Vec<_> = parts.iter().filter_map(Value::as_str).collect();
            format!("`[{}]`", parts.join(", "))
        }
        Some(value) if value.as_str() == Some("") => "empty".to_owned(),
        Some(value) => format!("`{}`", value.as_str().unwrap_or_default()),
        None if parameter.required => "required".to_owned(),
        None => String::new(),
    };
    let (name, kind, meaning) = (&parameter.name, &parameter.kind, cell(&parameter.meaning));
    format!("| `{name}` | {kind} | {} | {meaning} |\n", cell(&default))
}

/// The comment at the head of a file after its first paragraph.
fn rules(text: &str) -> String {
    let comment = text.lines().map_while(|line| line.strip_prefix('#'));
    let body = comment.skip_while(|line| !line.trim().is_empty()).skip(1);
    body.map(|line| format!("{}\n", line.strip_prefix(' ').unwrap_or(line))).collect()
}
