//! The tree of a project: which file belongs to which environment, both ways. It looks at names and lists only.
//! It must not know what stands in the files.

use crate::source::{ReadError, Sources};

/// The folder of envconfigs, from the root.
pub(crate) const ENVCONFIG: &str = "envconfig";
/// The folder of descriptors, from the root.
pub(crate) const DESCRIPTORS: &str = "descriptors";

/// An environment by name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Environment {
    /// `org/app/env`, or the path of a file that lies elsewhere.
    pub name: String,
    /// The path of its envconfig.
    pub envconfig: String,
    /// The application, where the path says it.
    pub app: Option<String>,
}

impl Environment {
    /// From `shop/shop/prod`, or from the path of an envconfig.
    #[must_use]
    pub fn of(name: &str) -> Environment {
        let yaml = name.ends_with(".yml") || name.ends_with(".yaml");
        let envconfig = if yaml { name.to_owned() } else { format!("{ENVCONFIG}/{name}.yml") };
        let inner = envconfig.trim_start_matches("./");
        let inner = inner.strip_prefix("envconfig/").unwrap_or(inner);
        let inner = inner.strip_suffix(".yml").or_else(|| inner.strip_suffix(".yaml")).unwrap_or(inner);
        // An absolute path, or one through another folder, may still end in the layout of a project.
        let inner = inner.rsplit_once("/envconfig/").map_or(inner, |(_, inner)| inner);
        let parts: Vec<&str> = inner.split('/').collect();
        let app = match parts.as_slice() {
            [_, app, _] if !inner.starts_with('/') => Some((*app).to_owned()),
            _ => None,
        };
        Environment { name: inner.to_owned(), envconfig, app }
    }
}

/// The path of an application's descriptor.
#[must_use]
pub fn descriptor_of(app: &str) -> String {
    format!("{DESCRIPTORS}/{app}.yml")
}

/// All environments of the project, sorted.
///
/// # Errors
/// Why the folder of envconfigs cannot be listed.
pub fn environments(sources: &dyn Sources) -> Result<Vec<Environment>, ReadError> {
    let files = sources.list(ENVCONFIG)?;
    let mut found: Vec<Environment> =
        files.iter().filter(|path| path.ends_with(".yml")).map(|path| Environment::of(path)).collect();
    found.retain(|environment| environment.app.is_some());
    found.sort();
    Ok(found)
}

/// The environments that a changed file concerns: an envconfig its own, a descriptor all of its application, a recipe of
/// the project all of them.
///
/// # Errors
/// Why the folder of envconfigs cannot be listed.
pub fn environments_of(sources: &dyn Sources, changed: &str) -> Result<Vec<Environment>, ReadError> {
    let changed = changed.trim_start_matches("./");
    let all = environments(sources)?;
    let descriptor = changed.strip_prefix("descriptors/").and_then(|rest| rest.strip_suffix(".yml"));
    Ok(match descriptor {
        Some(inner) if inner.starts_with("recipes/") => all,
        Some(app) => all.into_iter().filter(|found| found.app.as_deref() == Some(app)).collect(),
        None => all.into_iter().filter(|found| found.envconfig == changed).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::MemorySources;

    #[test]
    fn names_and_paths_lead_to_the_same_environment() {
        let wanted = Environment {
            name: "shop/web/prod".into(),
            envconfig: "envconfig/shop/web/prod.yml".into(),
            app: Some("web".into()),
        };
        assert_eq!(Environment::of("shop/web/prod"), wanted);
        assert_eq!(Environment::of("envconfig/shop/web/prod.yml"), wanted);
        let far = Environment::of("/srv/tree/envconfig/shop/web/prod.yml");
        assert_eq!((far.name.as_str(), far.app.as_deref()), ("shop/web/prod", Some("web")));
        assert_eq!(Environment::of("/etc/prod.yml").app, None);
    }

    #[test]
    fn a_changed_file_leads_to_its_environments() {
        let sources = MemorySources::new()
            .with("envconfig/shop/web/prod.yml", "")
            .with("envconfig/shop/web/test.yml", "")
            .with("envconfig/shop/api/prod.yml", "")
            .with("envconfig/readme.md", "");
        let names = |changed: &str| -> Vec<String> {
            environments_of(&sources, changed).unwrap().into_iter().map(|found| found.name).collect()
        };
        assert_eq!(names("descriptors/web.yml"), ["shop/web/prod", "shop/web/test"]);
        assert_eq!(names("envconfig/shop/api/prod.yml"), ["shop/api/prod"]);
        assert_eq!(names("descriptors/recipes/own.yml").len(), 3);
        assert!(names("src/main.rs").is_empty());
    }
}
