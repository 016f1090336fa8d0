//! Providers and recipes as data: what a load balancer can be asked, and how one target is updated.
//! It must not know how a configuration is checked, or how anything is executed.

mod provider;
mod recipe;
mod reference;

use std::fmt;

pub use provider::{
    Availability, Capabilities, Choice, Condition, Connections, PlainHttp, Provider, SecretForm, Setting,
    SettingType,
};
pub use recipe::RecipeSource;
pub use reference::{providers_page, recipes_page};

/// The manifests, in the order in which people read about them.
const MANIFESTS: [(&str, &str); 8] = [
    ("haproxy", include_str!("../providers/haproxy.yml")),
    ("aws-elb", include_str!("../providers/aws-elb.yml")),
    ("health-flag", include_str!("../providers/health-flag.yml")),
    ("f5", include_str!("../providers/f5.yml")),
    ("nginx-plus", include_str!("../providers/nginx-plus.yml")),
    ("nginx", include_str!("../providers/nginx.yml")),
    ("iis-arr", include_str!("../providers/iis-arr.yml")),
    ("nlb", include_str!("../providers/nlb.yml")),
];

/// Everything that comes with manent as data.
#[derive(Debug, Clone)]
pub struct Stdlib {
    providers: Vec<Provider>,
}

impl Stdlib {
    /// Reads the embedded manifests. It fails only when one of them is broken, which a test rules out.
    ///
    /// # Errors
    ///
    /// The manifest that is broken, and what is wrong with it.
    pub fn builtin() -> Result<Stdlib, BrokenManifest> {
        let providers = MANIFESTS
            .iter()
            .map(|(name, text)| {
                Provider::parse(text)
                    .map_err(|cause| BrokenManifest { name: (*name).to_owned(), cause: cause.to_string() })
            })
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Stdlib { providers })
    }

    /// The provider of that name.
    #[must_use]
    pub fn provider(&self, name: &str) -> Option<&Provider> {
        self.providers.iter().find(|provider| provider.name == name)
    }

    /// All providers, in the order in which people read about them.
    #[must_use]
    pub fn providers(&self) -> &[Provider] {
        &self.providers
    }

    /// The text of every recipe. The compiler decodes it with its own front end, so that errors have places.
    #[must_use]
    pub fn recipes(&self) -> &'static [RecipeSource] {
        &recipe::BUILTIN
    }

    /// The recipe of that name.
    #[must_use]
    pub fn recipe(&self, name: &str) -> Option<&'static RecipeSource> {
        self.recipes().iter().find(|recipe| recipe.name == name)
    }
}

/// An embedded manifest that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenManifest {
    /// Name of the provider.
    pub name: String,
    /// What is wrong.
    pub cause: String,
}

impl fmt::Display for BrokenManifest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the manifest of provider `{}` cannot be read: {}", self.name, self.cause)
    }
}

impl std::error::Error for BrokenManifest {}
