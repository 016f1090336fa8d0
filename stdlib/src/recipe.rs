//! The recipes that come with manent, as source text.
//! It must not know what the text means: decoding it, with places, is the compiler's work.

/// One recipe as it stands in `stdlib/recipes/`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecipeSource {
    /// Its name in `deploy.recipe`.
    pub name: &'static str,
    /// Its path from the root of the repository, for messages.
    pub path: &'static str,
    /// The YAML text.
    pub text: &'static str,
}

/// All recipes.
pub(crate) const BUILTIN: [RecipeSource; 2] = [
    RecipeSource {
        name: "release-dir",
        path: "stdlib/recipes/release-dir.yml",
        text: include_str!("../recipes/release-dir.yml"),
    },
    RecipeSource {
        name: "command",
        path: "stdlib/recipes/command.yml",
        text: include_str!("../recipes/command.yml"),
    },
];
