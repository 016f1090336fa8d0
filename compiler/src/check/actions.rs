//! Post-tests and custom steps: names, and placeholders that have a value.
//! It must not know where they stand in a batch.

use std::collections::BTreeMap;

use manent_grammar::Template;
use manent_plan::{Action, Custom, Test};

use super::names::names;
use super::templates::{BACK, FORWARD, Scope, template};
use crate::decode::{RawAction, RawCustom, RawDescriptor, RawEnv, RawTest, Spanned};
use crate::diagnostic::Findings;
use crate::source::Files;

/// A post-test has to pass within that long when nothing is written.
const WITHIN_MS: u64 = 60_000;
/// Between two tries when nothing is written.
const EVERY_MS: u64 = 1_000;

/// Where findings go, and what is needed to make them.
pub(crate) struct Notes<'a> {
    pub(crate) env: &'a RawEnv,
    pub(crate) files: &'a Files,
    pub(crate) findings: &'a mut Findings,
}

impl Notes<'_> {
    fn template(&mut self, found: &Spanned<Template>, scope: Scope) -> Template {
        template(self.env, found, scope, self.files, self.findings)
    }

    fn action(&mut self, action: &RawAction, scope: Scope) -> Action {
        match action {
            RawAction::Run { argv, timeout_ms } => Action::Run {
                argv: argv.iter().map(|argument| self.template(argument, scope)).collect(),
                timeout_ms: *timeout_ms,
            },
            RawAction::Sh { script, env, timeout_ms } => {
                let env: BTreeMap<_, _> =
                    env.iter().map(|(name, value)| (name.clone(), self.template(value, scope))).collect();
                Action::Sh { script: script.clone(), env, timeout_ms: *timeout_ms }
            }
            RawAction::Http { method, url, expect, timeout_ms } => Action::Http {
                method: method.clone(),
                url: self.template(url, scope),
                expect: *expect,
                timeout_ms: *timeout_ms,
            },
        }
    }
}

/// The post-tests of the plan. They run on both ways, so `{from}` has no value in them.
pub(crate) fn post_tests(descriptor: &RawDescriptor, notes: &mut Notes<'_>) -> Vec<Test> {
    descriptor.post_test.iter().map(|test| post_test(test, notes)).collect()
}

fn post_test(test: &RawTest, notes: &mut Notes<'_>) -> Test {
    Test {
        action: notes.action(&test.action, FORWARD),
        within_ms: test.within.as_ref().map_or(WITHIN_MS, |found| found.value.millis()),
        consecutive: test.consecutive.as_ref().map_or(1, |found| found.value),
        every_ms: test.every.as_ref().map_or(EVERY_MS, |found| found.value.millis()),
    }
}

/// The custom steps of the plan; names are checked over both lists, since both stand in step ids.
pub(crate) fn steps(descriptor: &RawDescriptor, notes: &mut Notes<'_>) -> Vec<Custom> {
    let all = descriptor.steps.iter().chain(&descriptor.activate).map(|custom| &custom.name);
    names("step", all, notes.findings);
    customs(&descriptor.steps, notes)
}

/// The activations of the plan.
pub(crate) fn activate(descriptor: &RawDescriptor, notes: &mut Notes<'_>) -> Vec<Custom> {
    customs(&descriptor.activate, notes)
}

fn customs(all: &[RawCustom], notes: &mut Notes<'_>) -> Vec<Custom> {
    let custom = |custom: &RawCustom| Custom {
        name: custom.name.value.clone(),
        run: vec![notes.action(&custom.run, FORWARD)],
        undo: custom.undo.as_ref().map(|undo| vec![notes.action(undo, BACK)]),
    };
    all.iter().map(custom).collect()
}
