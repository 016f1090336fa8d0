//! The whole way from two documents to a plan: read, decode, check, lower. Every stage runs as far as its inputs allow,
//! so that all findings come in one go. It must not know how findings are shown.

use manent_plan::{Artifact, Input, Plan, Procedures, Recipe as Procedure, verify};
use manent_stdlib::Stdlib;

use crate::check::{self, Notes};
use crate::decode::{self, RawDescriptor, RawEnv, Recipe};
use crate::diagnostic::{Code, Diagnostic, Findings, Severity};
use crate::draft::{Checked, Sound, draft, with_warnings};
use crate::lower::lower;
use crate::project::{Environment, descriptor_of};
use crate::read::Document;
use crate::resolved::{Resolved, resolve};
use crate::source::{Files, Sources};
use crate::yaml::Tree;

/// What to compile.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// `org/app/env`, or the path of an envconfig.
    pub environment: String,
    /// Path of the descriptor; found by the name of the application without it.
    pub descriptor: Option<String>,
    /// The release to bring; without it the plan can be read, not applied.
    pub release: Option<String>,
    /// Whether the resolved configuration is wanted too.
    pub resolved: bool,
}

/// What came out.
#[derive(Debug)]
pub struct Compiled {
    /// The plan, when nothing is wrong.
    pub plan: Option<Plan>,
    /// All findings, sorted by file and place.
    pub diagnostics: Vec<Diagnostic>,
    /// The documents, to show findings in them.
    pub files: Files,
    /// The resolved configuration, when it was asked for and the documents could be decoded.
    pub resolved: Option<Resolved>,
}

impl Compiled {
    /// Whether an error was found.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|found| found.severity == Severity::Error)
    }
}

/// Compiles one environment.
#[must_use]
pub fn compile(sources: &dyn Sources, stdlib: &Stdlib, options: &Options) -> Compiled {
    let environment = Environment::of(&options.environment);
    let mut work =
        Work { sources, stdlib, files: Files::default(), findings: Findings::default(), inputs: Vec::new() };
    let options = &Options { release: work.release(options.release.as_deref()), ..options.clone() };
    let (plan, resolved) = work.run(&environment, options).unwrap_or((None, None));
    let Work { mut files, findings, .. } = work;
    let diagnostics = findings.finish(&mut files);
    let plan = plan.map(|plan| with_warnings(plan, &diagnostics));
    Compiled { plan, diagnostics, files, resolved }
}

/// A compilation while it runs.
pub(crate) struct Work<'a> {
    pub(crate) sources: &'a dyn Sources,
    pub(crate) stdlib: &'a Stdlib,
    pub(crate) files: Files,
    pub(crate) findings: Findings,
    pub(crate) inputs: Vec<Input>,
}

type Outcome = (Option<Plan>, Option<Resolved>);

impl Work<'_> {
    /// A release is part of paths and arguments everywhere, so its name is kept plain; one that is not goes no further.
    fn release(&mut self, release: Option<&str>) -> Option<String> {
        let release = release?;
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-+".contains(&byte);
        let plain = !release.is_empty() && release.len() <= 128 && release.bytes().all(allowed);
        if !plain || release.starts_with(['-', '.']) {
            let message = format!("`{release}` cannot be the name of a release");
            let help = "use letters, digits and `._-+`, at most 128, not beginning with `-` or `.`";
            self.findings.push(Diagnostic::error(Code::BadRelease, message).help(help));
            return None;
        }
        Some(release.to_owned())
    }

    fn run(&mut self, environment: &Environment, options: &Options) -> Option<Outcome> {
        let env = self.document(&environment.envconfig, "the envconfig");
        let path = options.descriptor.clone().or_else(|| environment.app.as_deref().map(descriptor_of));
        if path.is_none() {
            let message = format!("no descriptor is known for `{}`", environment.name);
            let help =
                "name it with `--descriptor FILE`, or keep the envconfig under `envconfig/<org>/<app>/`";
            self.findings.push(Diagnostic::error(Code::UnreadableFile, message).help(help));
        }
        let descriptor = path.as_deref().and_then(|path| self.document(path, "the descriptor"));
        let raw_env = env.as_ref().and_then(|document| self.decode(document, decode::envconfig));
        let raw_descriptor =
            descriptor.as_ref().and_then(|document| self.decode(document, decode::descriptor));
        let recipe = raw_descriptor.as_ref().and_then(|raw| self.recipe(raw, path.as_deref().unwrap_or("")));
        if let Some(raw) = &raw_descriptor {
            self.same_app(raw, environment);
        }
        let checked = match (&env, &raw_env) {
            (Some(env), Some(raw)) => Some(self.check_env(raw, &env.tree, raw_descriptor.as_ref())),
            (Some(_) | None, Some(_) | None) => None,
        };
        let procedures = match (&raw_descriptor, &descriptor) {
            (Some(raw), Some(document)) => {
                // Without an environment the descriptor is still looked at, as far as it does not depend on one.
                let unknown = RawEnv::unknown(raw.place.clone());
                let env = raw_env.as_ref().unwrap_or(&unknown);
                self.procedures(env, raw, document, recipe.as_ref(), options)
            }
            (Some(_) | None, Some(_) | None) => None,
        };
        let (raw_env, checked) = (raw_env?, checked?);
        let resolved = match (&raw_descriptor, &descriptor) {
            (Some(raw), Some(document)) if options.resolved => {
                let pool = checked.pool.as_ref();
                Some(resolve(&raw_env, raw, &document.tree, pool, &checked.batching, &mut self.files))
            }
            (Some(_) | None, Some(_) | None) => None,
        };
        if self.findings.errors() > 0 {
            return Some((None, resolved));
        }
        let (procedures, artifact) = procedures?;
        let app = raw_descriptor?.app?.value;
        let (environment, release) = (environment.name.clone(), options.release.clone());
        let inputs = std::mem::take(&mut self.inputs);
        // The tree is the largest thing that is not needed any more.
        drop(env);
        let sound = Sound { environment, app, release, inputs, env: raw_env, checked, procedures, artifact };
        Some((self.verified(lower(draft(sound))), resolved))
    }

    /// The runtime verifies every plan that it loads; one that it would refuse does not leave this place.
    fn verified(&mut self, plan: Plan) -> Option<Plan> {
        let Err(violations) = verify(&plan) else { return Some(plan) };
        for violation in violations {
            let message = format!("the compiler made a plan that cannot be right: {violation}");
            let help = "this is a mistake of manent: please report it with both documents";
            self.findings.push(Diagnostic::error(Code::BrokenPlan, message).help(help));
        }
        None
    }

    /// The descriptor of another application would be released on these servers.
    fn same_app(&mut self, raw: &RawDescriptor, environment: &Environment) {
        let (Some(app), Some(wanted)) = (&raw.app, &environment.app) else { return };
        if app.value != *wanted {
            let message = format!(
                "the environment `{}` is of application `{wanted}`, this descriptor of `{}`",
                environment.name, app.value
            );
            self.findings.push(
                Diagnostic::error(Code::AppMismatch, message)
                    .at(app.place.clone(), "another application")
                    .help(format!("write `app: {wanted}`, or name the right file with `--descriptor`")),
            );
        }
    }

    fn check_env(&mut self, raw: &RawEnv, tree: &Tree, descriptor: Option<&RawDescriptor>) -> Checked {
        let findings = &mut self.findings;
        check::targets(raw, findings);
        let secrets = check::secrets(raw, findings);
        let (connections, connection_of) = check::connections(raw, findings);
        let waves = check::waves(raw, findings);
        let batching = check::batching(raw, findings);
        order_label(raw, findings);
        let member = raw.pool.as_ref().and_then(|pool| pool.member.as_ref());
        // Without a pool the host stands in for a member, and two ports of one host may share it.
        let members = match (&raw.pool, raw.targets_complete) {
            (Some(_), true) => check::members(raw, member, findings),
            (Some(_) | None, true | false) => {
                raw.targets.iter().map(|target| target.host.value.clone()).collect()
            }
        };
        let pool = raw.pool.as_ref().and_then(|pool| {
            let (mut made, provider) = check::pool(raw, tree, pool, self.stdlib, &self.files, findings)?;
            made.floor = check::floor(raw, pool, provider.sees_capacity(), &waves, &batching, findings);
            if let Some(descriptor) = descriptor {
                check::post_test_needed(provider, &pool.provider.place, descriptor, findings);
            }
            Some(made)
        });
        Checked { secrets, connections, connection_of, waves, batching, members, pool }
    }

    fn procedures(
        &mut self,
        env: &RawEnv,
        raw: &RawDescriptor,
        document: &Document,
        recipe: Option<&Recipe>,
        options: &Options,
    ) -> Option<(Procedures, Option<Artifact>)> {
        let artifact = self.artifact(env, raw, recipe, options);
        let mut notes = Notes { env, files: &self.files, findings: &mut self.findings };
        let post_test = check::post_tests(raw, &mut notes);
        let steps = check::steps(raw, &mut notes);
        let activate = check::activate(raw, &mut notes);
        let filled = check::Filled {
            env,
            tree: &document.tree,
            file: document.file,
            deploy: raw.deploy.as_ref()?,
            recipe: recipe?,
            artifact: artifact.as_ref(),
        };
        let deploy: Procedure = check::fill(&filled, &self.files, &mut self.findings)?;
        Some((Procedures { deploy, post_test, steps, activate }, artifact))
    }
}

/// The label that targets are ordered by is there on all of them.
fn order_label(env: &RawEnv, findings: &mut Findings) {
    let Some(order) = &env.rollout.order else { return };
    let label = &order.value.label;
    let Some(first) = env.targets.iter().find(|target| !target.labels.contains_key(label)) else { return };
    findings.push(
        Diagnostic::error(Code::UnknownLabel, format!("target `{}` has no label `{label}`", first.name()))
            .at(order.place.clone(), "targets are ordered by it")
            .at(first.host.place.clone(), format!("no label `{label}` here"))
            .help(format!("give every target the label `{label}`")),
    );
}
