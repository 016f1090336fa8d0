//! The reference pages are those that the data gives; `UPDATE=1` writes them.
//! It must not know how a page is put together.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::PathBuf;

use manent_stdlib::{Stdlib, providers_page, recipes_page};

fn same(name: &str, wanted: &str) {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference")).join(name);
    if std::env::var_os("UPDATE").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, wanted).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == wanted, "docs/reference/{name} is not up to date: run this test with UPDATE=1");
}

#[test]
fn the_page_of_providers_is_up_to_date() {
    same("providers.md", &providers_page(&Stdlib::builtin().unwrap()));
}

#[test]
fn the_page_of_recipes_is_up_to_date() {
    same("recipes.md", &recipes_page(&Stdlib::builtin().unwrap()).unwrap());
}
