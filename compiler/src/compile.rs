//! The whole way from two documents to a plan: read, decode, check, lower. Every stage runs as far as its inputs allow,
//! so that all findings come in one go. It must not know how findings are shown.

use std::collections::BTreeMap;
use std::sync::Arc;

use manent_grammar::{Placeholder, Quantity, Template};
use manent_plan::{
    Artifact, Basis, Input, OnFailure, OnTimeout, Plan, Pool, Procedures, Recipe as Procedure, Rollout,
    Target, TargetIx, Warning, Wave,
};
use manent_stdlib::Stdlib;

use crate::check::{self, Batching, Env, Notes};
use crate::decode::{self, Decoder, RawDescriptor, RawEnv, Recipe};
use crate::diagnostic::{Code, Diagnostic, Findings, Severity};
use crate::lower::{Draft, lower};
use crate::project::{Environment, descriptor_of};
use crate::resolved::{Resolved, resolve};
use crate::source::{FileId, Files, ReadError, Sources, sha256};
use crate::yaml::{self, Tree};

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
    work.release(options.release.as_deref());
    let (plan, resolved) = work.run(&environment, options).unwrap_or((None, None));
    let Work { mut files, findings, .. } = work;
    let diagnostics = findings.finish(&mut files);
    let plan = plan.map(|plan| with_warnings(plan, &diagnostics));
    Compiled { plan, diagnostics, files, resolved }
}

/// A document after reading.
struct Document {
    file: FileId,
    tree: Tree,
}

struct Work<'a> {
    sources: &'a dyn Sources,
    stdlib: &'a Stdlib,
    files: Files,
    findings: Findings,
    inputs: Vec<Input>,
}

type Outcome = (Option<Plan>, Option<Resolved>);

impl Work<'_> {
    /// A release is part of paths and arguments everywhere, so its name is kept plain.
    fn release(&mut self, release: Option<&str>) {
        let Some(release) = release else { return };
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-+".contains(&byte);
        let plain = !release.is_empty() && release.len() <= 128 && release.bytes().all(allowed);
        if !plain || release.starts_with(['-', '.']) {
            let message = format!("`{release}` cannot be the name of a release");
            let help = "use letters, digits and `._-+`, at most 128, not beginning with `-` or `.`";
            self.findings.push(Diagnostic::error(Code::BadRelease, message).help(help));
        }
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
        let (env, raw_env) = (env?, raw_env?);
        let view = Env { raw: &raw_env, tree: &env.tree };
        let checked = self.check_env(&view, raw_descriptor.as_ref());
        let procedures = match (&raw_descriptor, &descriptor) {
            (Some(raw), Some(document)) => self.procedures(&view, raw, document, recipe.as_ref(), options),
            (Some(_) | None, Some(_) | None) => None,
        };
        let resolved = match (&raw_descriptor, options.resolved) {
            (Some(raw), true) => Some(resolve(&raw_env, raw, checked.pool.as_ref(), &mut self.files)),
            (Some(_) | None, true | false) => None,
        };
        if self.findings.errors() > 0 {
            return Some((None, resolved));
        }
        let (procedures, artifact) = procedures?;
        let app = raw_descriptor?.app?.value;
        let draft = self.draft(environment, app, raw_env, checked, procedures, artifact, options);
        Some((Some(lower(draft)), resolved))
    }

    /// Reads a document and its tree.
    fn document(&mut self, path: &str, what: &str) -> Option<Document> {
        let bytes = match self.sources.read(path) {
            Ok(bytes) => bytes,
            Err(error) => {
                let help = match error {
                    ReadError::NotFound => "look for a mistake in the name, or create it",
                    ReadError::Other(_) => "make it readable",
                };
                let message = format!("{what} `{path}` cannot be read: {error}");
                self.findings.push(Diagnostic::error(Code::UnreadableFile, message).help(help));
                return None;
            }
        };
        self.inputs.push(Input { path: path.to_owned(), sha256: sha256(&bytes) });
        self.parsed(path, bytes)
    }

    fn parsed(&mut self, path: &str, bytes: Vec<u8>) -> Option<Document> {
        let text = match String::from_utf8(bytes) {
            Ok(text) => Arc::new(text),
            Err(error) => {
                let valid = error.utf8_error().valid_up_to();
                let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
                let file = self.files.add(path, Arc::new(text));
                let place = crate::diagnostic::Place { file, span: valid..valid + '\u{fffd}'.len_utf8() };
                self.findings.push(
                    Diagnostic::error(Code::UnreadableFile, format!("`{path}` is not UTF-8 text"))
                        .at(place, "the first byte that is not")
                        .help("save the file as UTF-8"),
                );
                return None;
            }
        };
        let file = self.files.add(path, Arc::clone(&text));
        let tree = yaml::build(file, &text, &mut self.findings)?;
        Some(Document { file, tree })
    }

    fn decode<T>(
        &mut self,
        document: &Document,
        decode: impl FnOnce(&mut Decoder<'_>) -> Option<T>,
    ) -> Option<T> {
        decode(&mut Decoder { tree: &document.tree, file: document.file, findings: &mut self.findings })
    }

    /// The recipe that a descriptor names: one of the standard library, or one beside the descriptor.
    fn recipe(&mut self, raw: &RawDescriptor, descriptor: &str) -> Option<Recipe> {
        let wanted = &raw.deploy.as_ref()?.recipe;
        let folder = descriptor.rsplit_once('/').map_or("", |(folder, _)| folder);
        let own = if folder.is_empty() { "recipes".to_owned() } else { format!("{folder}/recipes") };
        let own_path = format!("{own}/{}.yml", wanted.value);
        let document = match (self.stdlib.recipe(&wanted.value), self.sources.read(&own_path)) {
            (Some(_), Ok(_)) => {
                let message =
                    format!("`{}` is a recipe of manent and a recipe at `{own_path}`", wanted.value);
                self.findings.push(
                    Diagnostic::error(Code::DuplicateName, message)
                        .at(wanted.place.clone(), "could be either")
                        .help("give your recipe another name"),
                );
                return None;
            }
            (Some(builtin), Err(_)) => self.parsed(builtin.path, builtin.text.as_bytes().to_vec())?,
            (None, Err(ReadError::NotFound)) => {
                self.unknown_recipe(&wanted.value, wanted.place.clone(), &own);
                return None;
            }
            (None, Ok(_) | Err(ReadError::Other(_))) => self.document(&own_path, "the recipe")?,
        };
        self.decode(&document, |decoder| decode::recipe(decoder, &wanted.value))
    }

    fn unknown_recipe(&mut self, name: &str, place: crate::diagnostic::Place, own: &str) {
        let beside = self.sources.list(own).unwrap_or_default();
        let beside = beside.iter().filter_map(|path| path.rsplit('/').next()?.strip_suffix(".yml"));
        let known: Vec<&str> = self.stdlib.recipes().iter().map(|recipe| recipe.name).chain(beside).collect();
        let help = match manent_grammar::suggest(name, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("the recipes are {}; your own lie in `{own}/`", decode::listed(known)),
        };
        self.findings.push(
            Diagnostic::error(Code::UnknownRecipe, format!("there is no recipe `{name}`"))
                .at(place, "unknown recipe")
                .help(help),
        );
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

    fn check_env(&mut self, env: &Env<'_>, descriptor: Option<&RawDescriptor>) -> Checked {
        let (raw, findings) = (env.raw, &mut self.findings);
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
            let (mut made, provider) = check::pool(env, pool, self.stdlib, &self.files, findings)?;
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
        env: &Env<'_>,
        raw: &RawDescriptor,
        document: &Document,
        recipe: Option<&Recipe>,
        options: &Options,
    ) -> Option<(Procedures, Option<Artifact>)> {
        let artifact = self.artifact(env, raw, recipe, options);
        let mut notes = Notes { env: env.raw, files: &self.files, findings: &mut self.findings };
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

    /// The artifact, when the recipe uploads one.
    fn artifact(
        &mut self,
        env: &Env<'_>,
        raw: &RawDescriptor,
        recipe: Option<&Recipe>,
        options: &Options,
    ) -> Option<Artifact> {
        let written = raw.artifact.as_ref().map(|path| {
            let filled = check::artifact_path(env.raw, path, &self.files, &mut self.findings);
            (filled, path)
        });
        // Whether it is needed is known only of a recipe that could be read.
        recipe?.artifact.as_ref()?;
        let Some((path, place)) = written else {
            let deploy = raw.deploy.as_ref()?;
            let message = format!(
                "recipe `{}` uploads an artifact, and the descriptor names none",
                deploy.recipe.value
            );
            self.findings.push(
                Diagnostic::error(Code::ArtifactMissing, message)
                    .at(deploy.recipe.place.clone(), "needs an artifact")
                    .help("add `release: {artifact: {path: \"dist/app-{release}.tar.gz\"}}`"),
            );
            return None;
        };
        let Some(release) = &options.release else {
            return Some(Artifact { path: path.to_string(), sha256: None, bytes: None });
        };
        let path = with_release(&path, release);
        match self.sources.artifact(&path) {
            Ok(facts) => Some(Artifact { path, sha256: Some(facts.sha256), bytes: Some(facts.bytes) }),
            Err(error) => {
                self.findings.push(
                    Diagnostic::error(
                        Code::UnreadableFile,
                        format!("the artifact `{path}` cannot be read: {error}"),
                    )
                    .at(place.place.clone(), format!("for release `{release}`"))
                    .help("build it first, or mend the path or the release"),
                );
                None
            }
        }
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "everything that was found so far comes together here, once"
    )]
    fn draft(
        &mut self,
        environment: &Environment,
        app: String,
        env: RawEnv,
        checked: Checked,
        procedures: Procedures,
        artifact: Option<Artifact>,
        options: &Options,
    ) -> Draft {
        let RawEnv { targets, rollout, .. } = env;
        let identities = checked.members.into_iter().zip(checked.connection_of);
        let targets = targets.into_iter().zip(identities).map(|(target, (member, connection))| Target {
            host: target.host.value,
            port: target.port,
            member,
            labels: target.labels,
            connection,
        });
        let order = rollout.order.map(|order| order.value);
        let waves = waves(rollout.waves, checked.waves, &checked.batching);
        let plan = Plan {
            environment: environment.name.clone(),
            app,
            release: options.release.clone(),
            inputs: std::mem::take(&mut self.inputs),
            artifact,
            connections: checked.connections,
            targets: targets.collect(),
            pool: checked.pool,
            rollout: Rollout {
                max_unavailable: rollout.max_unavailable.map_or(Quantity::Count(1), |found| found.value),
                max_unavailable_count: checked.batching.count,
                order: order
                    .as_ref()
                    .map(|order| format!("{}label.{}", if order.descending { "-" } else { "" }, order.label)),
                on_failure: rollout.on_failure.unwrap_or(OnFailure::Rollback),
                min_ready_ms: rollout.min_ready.map_or(0, |found| found.value.millis()),
                parallelism: rollout.parallelism.map_or(32, |found| found.value),
                waves,
            },
            procedures,
            secrets: checked.secrets,
            steps: Vec::new(),
            edges: Vec::new(),
            warnings: Vec::new(),
            basis: Basis::default(),
        };
        Draft { plan, order }
    }
}

/// What the checks of an environment found out.
struct Checked {
    secrets: BTreeMap<String, String>,
    connections: Vec<manent_plan::Connection>,
    connection_of: Vec<u32>,
    waves: Vec<Vec<TargetIx>>,
    batching: Batching,
    members: Vec<String>,
    pool: Option<Pool>,
}

/// A path with the release in it; checked before to hold nothing else.
fn with_release(path: &Template, release: &str) -> String {
    let value = |placeholder: &Placeholder| match placeholder {
        Placeholder::Release => Some(release.to_owned()),
        Placeholder::Host
        | Placeholder::Port
        | Placeholder::Label(_)
        | Placeholder::From
        | Placeholder::Var(_) => Some(String::new()),
    };
    path.render(value).unwrap_or_default()
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

/// The waves of the plan, each as one batch so far.
fn waves(raw: Option<Vec<decode::RawWave>>, members: Vec<Vec<TargetIx>>, batching: &Batching) -> Vec<Wave> {
    let sizes = batching.of_waves.iter().copied();
    let Some(raw) = raw.filter(|raw| !raw.is_empty()) else {
        let all = members.into_iter().zip(sizes).map(|(members, size)| Wave {
            name: "all".to_owned(),
            select: None,
            max_unavailable: size,
            bake_ms: None,
            approval: false,
            batches: vec![members],
        });
        return all.collect();
    };
    let waves = raw.into_iter().zip(members).zip(sizes).map(|((wave, members), size)| Wave {
        name: wave.name.value,
        select: Some(wave.written),
        max_unavailable: size,
        bake_ms: wave.bake.map(|bake| bake.value.millis()).filter(|ms| *ms > 0),
        approval: wave.approval.is_some(),
        batches: vec![members],
    });
    waves.collect()
}

/// Warnings go into the plan, with what only a plan can say.
fn with_warnings(mut plan: Plan, diagnostics: &[Diagnostic]) -> Plan {
    let found = diagnostics.iter().map(|found| (found.code, found.message.clone()));
    let mut warnings: Vec<(Code, String)> = found.collect();
    if let Some(pool) = plan.pool.as_ref().filter(|pool| pool.on_timeout == OnTimeout::Proceed) {
        let timeout = manent_grammar::Duration::from_millis(pool.drain_timeout_ms);
        if pool.capabilities.sees_connections {
            let message = format!(
                "connections that are left {timeout} after a drain are cut and counted (`on_timeout: proceed`)"
            );
            warnings.push((Code::DrainCutsConnections, message));
        }
    }
    let custom = plan.procedures.steps.iter().chain(&plan.procedures.activate);
    if let Some(pivot) = custom.into_iter().find(|custom| custom.undo.is_none())
        && plan.rollout.on_failure == OnFailure::Rollback
    {
        let message =
            format!("step `{}` has no `undo`: once it ran there is no way back past it", pivot.name);
        warnings.push((Code::StepWithoutUndo, message));
    }
    plan.warnings = warnings
        .into_iter()
        .map(|(code, message)| Warning { code: code.name().to_owned(), message })
        .collect();
    plan
}
