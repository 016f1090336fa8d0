//! Runs the folders of `tests/suite`: what is refused, with the text that a user sees, and what is accepted, with the
//! steps that come out. `MANENT_UPDATE=1` writes what is expected anew; then look at the difference.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may end where it stands"
)]

mod support;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use manent_compiler::{Code, Compiled, Look, Options, compile, environments, render_all};
use manent_plan::{Plan, Reversal};
use manent_stdlib::Stdlib;
use support::{Folder, compile_prod, suite};

#[test]
fn what_is_refused_says_so_as_expected() {
    for folder in folders("reject") {
        let (compiled, code) = (run(&folder), code_of(&folder));
        let found = compiled.diagnostics.iter().any(|found| found.code == code);
        let warned =
            compiled.plan.iter().flat_map(|plan| &plan.warnings).any(|warning| warning.code == code.name());
        assert!(
            found || warned,
            "{}: `{}` was not found\n{}",
            folder.display(),
            code.name(),
            shown(&compiled)
        );
        check(&folder.join("expected.txt"), &shown(&compiled));
    }
}

#[test]
fn what_is_accepted_makes_the_expected_steps() {
    for folder in folders("accept") {
        let compiled = run(&folder);
        let findings = render_all(&compiled.files, &compiled.diagnostics, Look::default());
        let plan =
            compiled.plan.as_ref().unwrap_or_else(|| panic!("{}: no plan\n{findings}", folder.display()));
        check(&folder.join("expected.txt"), &format!("{}{findings}", outline(plan)));
    }
}

#[test]
fn examples_have_nothing_to_complain_about() {
    let root = suite("../../examples");
    let mut environments_seen = 0;
    for folder in fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir())
    {
        let sources = Folder(folder.clone());
        for environment in environments(&sources).unwrap() {
            let options = Options { environment: environment.name, ..Options::default() };
            let compiled = compile(&sources, &Stdlib::builtin().unwrap(), &options);
            let findings = render_all(&compiled.files, &compiled.diagnostics, Look::default());
            assert_eq!(findings, "", "{}", folder.display());
            assert!(compiled.plan.is_some(), "{}", folder.display());
            environments_seen += 1;
        }
    }
    assert!(environments_seen > 2, "examples are missing under {}", root.display());
}

#[test]
fn every_code_has_a_page_and_a_case() {
    let cases: BTreeSet<&str> = folders("reject").iter().map(|folder| code_of(folder).name()).collect();
    let pages = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("explain")).unwrap();
    let pages: BTreeSet<String> =
        pages.map(|page| page.unwrap().file_name().into_string().unwrap()).collect();
    for code in Code::ALL {
        let name = code.name();
        // No document leads to a mistake that is ours, as far as we know.
        let has_case = cases.contains(name) || *code == Code::BrokenPlan;
        assert!(has_case, "no folder tests/suite/reject/{name}-…");
        assert!(pages.contains(&format!("{name}.md")), "no page compiler/explain/{name}.md");
        assert!(code.page().lines().count() > 5, "the page of `{name}` says nothing");
        assert_eq!(Code::find(name), Some(*code));
    }
    assert_eq!(pages.len(), Code::ALL.len(), "a page without a code");
}

fn folders(kind: &str) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        fs::read_dir(suite(kind)).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

/// The longest code that the folder's name begins with.
fn code_of(folder: &Path) -> Code {
    let name = folder.file_name().unwrap().to_string_lossy().into_owned();
    let fits = Code::ALL.iter().filter(|code| name.starts_with(&format!("{}-", code.name())));
    *fits
        .max_by_key(|code| code.name().len())
        .unwrap_or_else(|| panic!("`{name}` does not begin with a code"))
}

/// A file `release` in the folder names the release.
fn run(folder: &Path) -> Compiled {
    let release = fs::read_to_string(folder.join("release")).ok();
    compile_prod(&Folder(folder.to_path_buf()), release.as_deref().map(str::trim_end))
}

/// What a user sees: the findings, and what the plan warns of beyond them.
fn shown(compiled: &Compiled) -> String {
    let mut text = render_all(&compiled.files, &compiled.diagnostics, Look::default());
    let known: Vec<&str> = compiled.diagnostics.iter().map(|found| found.message.as_str()).collect();
    for warning in compiled.plan.iter().flat_map(|plan| &plan.warnings) {
        if !known.contains(&warning.message.as_str()) {
            let _ = writeln!(text, "the plan warns: {}: {}", warning.code, warning.message);
        }
    }
    text
}

/// The plan as one line a step.
fn outline(plan: &Plan) -> String {
    let mut text = String::new();
    for (at, step) in (0_u32..).zip(&plan.steps) {
        let targets: Vec<&str> = match step.place {
            Some(_) => plan.targets_of(manent_plan::StepIx(at)).iter().map(|at| plan.member(*at)).collect(),
            None => Vec::new(),
        };
        let undo = match step.reversal {
            Reversal::Nothing => String::new(),
            Reversal::By(undo) => format!("  <- {}", plan.step_id(undo)),
            Reversal::Pivot => "  pivot".to_owned(),
        };
        let _ = writeln!(text, "{} [{}]{undo}", plan.id_of(step), targets.join(" "));
    }
    for warning in &plan.warnings {
        let _ = writeln!(text, "warning {}: {}", warning.code, warning.message);
    }
    text
}

fn check(path: &Path, found: &str) {
    if std::env::var_os("MANENT_UPDATE").is_some() {
        fs::write(path, found).unwrap();
    }
    let expected = fs::read_to_string(path).unwrap_or_default();
    assert!(expected == found, "{} differs; found:\n{found}\nexpected:\n{expected}", path.display());
}
