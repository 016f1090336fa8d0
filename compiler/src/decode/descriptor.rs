//! Decodes a descriptor: application, artifact, recipe, tests, custom steps.
//! It must not know which parameters a recipe takes.

use manent_grammar::Part;

use super::{Decoder, RawCustom, RawDeploy, RawDescriptor, RawTest};
use crate::diagnostic::{Code, Diagnostic};
use crate::yaml::{Entry, NodeId};

/// Decodes the document; `None` when it has not even keys.
pub(crate) fn descriptor(decoder: &mut Decoder<'_>) -> Option<RawDescriptor> {
    let root = decoder.tree.root();
    let place = decoder.place(root);
    // `traffic` is known here so that it gets its own answer instead of "unknown key".
    let keys = ["app", "release", "deploy", "post-test", "steps", "activate", "traffic"];
    let [app, release, deploy, post_test, steps, activate, traffic] =
        decoder.fields(root, "a descriptor", keys)?;
    if let Some(traffic) = traffic {
        decoder.traffic_in_descriptor(traffic);
    }
    let app = decoder.required(app, place.clone(), "app", "a descriptor");
    let deploy = decoder.required(deploy, place.clone(), "deploy", "a descriptor");
    let tests = decoder.items(post_test, "`post-test`");
    let before = decoder.items(steps, "`steps`");
    let after = decoder.items(activate, "`activate`");
    Some(RawDescriptor {
        app: decoder.name(app, "the name of the application"),
        artifact: release.and_then(|entry| decoder.artifact(entry)),
        artifact_written: release.is_some(),
        deploy: deploy.and_then(|entry| decoder.deploy(entry)),
        post_test: tests.iter().filter_map(|item| decoder.test(*item)).collect(),
        post_test_written: !tests.is_empty(),
        steps: before.iter().filter_map(|item| decoder.custom(*item)).collect(),
        activate: after.iter().filter_map(|item| decoder.custom(*item)).collect(),
        place,
    })
}

impl Decoder<'_> {
    fn traffic_in_descriptor(&mut self, entry: Entry) {
        let place = self.place(entry.key);
        self.report(
            Diagnostic::error(Code::TrafficInDescriptor, "a descriptor has no say about the load balancer")
                .at(place, "`traffic` stands in a descriptor")
                .help("move `traffic` to the envconfig, where operations keep it"),
        );
    }

    fn artifact(&mut self, entry: Entry) -> Option<super::Spanned<manent_grammar::Template>> {
        let [artifact] = self.fields(entry.value, "`release`", ["artifact"])?;
        let artifact = artifact?;
        let [path] = self.fields(artifact.value, "`artifact`", ["path"])?;
        let owner = self.place(artifact.key);
        let path = self.required(path, owner, "path", "`artifact`")?;
        self.template(path.value)
    }

    fn deploy(&mut self, entry: Entry) -> Option<RawDeploy> {
        let [recipe, with] = self.fields(entry.value, "`deploy`", ["recipe", "with"])?;
        let owner = self.place(entry.key);
        let recipe = self.required(recipe, owner, "recipe", "`deploy`");
        let recipe = self.name(recipe, "the name of a recipe");
        let pairs = self.pairs(with, "`with`");
        let with = pairs
            .into_iter()
            .filter_map(|Entry { key, value }| {
                self.string(key, "the name of a parameter").map(|name| (name, value))
            })
            .filter(|(name, _)| !name.value.starts_with("x-"))
            .collect();
        Some(RawDeploy { recipe: recipe?, with })
    }

    fn test(&mut self, node: NodeId) -> Option<RawTest> {
        let keys = ["http", "run", "method", "expect", "timeout", "within", "consecutive", "every"];
        let [http, run, method, expect, timeout, within, consecutive, every] =
            self.fields(node, "a post-test", keys)?;
        let action = match (http, run) {
            (Some(http), None) => self.http(http, method, expect, timeout),
            (None, Some(run)) => {
                for entry in [method, expect].into_iter().flatten() {
                    self.bad(entry.key, "a command has neither method nor status".into(), "remove the key");
                }
                self.run(run, timeout)
            }
            (Some(_), Some(_)) | (None, None) => {
                let help = "write `http: \"http://{host}:{port}/…\"` or `run: [command, …]`";
                self.bad(node, "a post-test is either `http` or `run`".into(), help);
                None
            }
        };
        Some(RawTest {
            within: self.positive(within, "`within`"),
            consecutive: self.number(consecutive, "`consecutive`", 1, 1_000),
            every: self.positive(every, "`every`"),
            action: action?,
        })
    }

    /// Whether an address begins with its scheme, so that no value of a target can choose it.
    pub(super) fn has_scheme(template: &manent_grammar::Template) -> bool {
        match template.parts().first() {
            Some(Part::Text(text)) => text.starts_with("http://") || text.starts_with("https://"),
            Some(Part::Placeholder(_)) | None => false,
        }
    }

    fn custom(&mut self, node: NodeId) -> Option<RawCustom> {
        let keys = ["name", "run", "sh", "undo", "env", "timeout"];
        let [name, run, sh, undo, env, timeout] = self.fields(node, "a step", keys)?;
        let owner = self.place(node);
        let name = self.required(name, owner, "name", "a step");
        let name = self.name(name, "the name of a step");
        let action = match (run, sh) {
            (Some(run), None) => self.run(run, timeout),
            (None, Some(sh)) => self.sh(sh, env, timeout),
            (Some(_), Some(_)) | (None, None) => {
                let help = "write `run: [command, …]`, or `sh: |` with a script";
                self.bad(node, "a step is either `run` or `sh`".into(), help);
                None
            }
        };
        let undo_written = undo.is_some();
        let undo = undo.and_then(|undo| self.undo(undo, sh.is_some(), env, timeout));
        if let Some(env) = env.filter(|_| sh.is_none()) {
            let help = "write the values into the arguments, or use `sh`";
            self.bad(env.key, "`env` is for scripts".into(), help);
        }
        if undo_written && undo.is_none() {
            return None;
        }
        Some(RawCustom { name: name?, run: action?, undo })
    }
}
