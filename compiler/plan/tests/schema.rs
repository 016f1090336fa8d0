//! The published JSON Schema fits every plan file, and nothing looser. It must not know how a file is written.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "a test may fail")]

use boon::{Compiler, SchemaIndex, Schemas};
use manent_grammar::Template;
use manent_plan::file::write;
use manent_plan::fixtures::{PlanBuilder, base, four_targets};
use manent_plan::{Action, Connection, Plan, Ssh};
use serde_json::Value;

fn schema() -> (Schemas, SchemaIndex) {
    let text = include_str!("../../../docs/schemas/plan.schema.json");
    let mut schemas = Schemas::new();
    let mut compiler = Compiler::new();
    compiler.add_resource("plan.json", serde_json::from_str(text).unwrap()).expect("the schema is JSON");
    let index = compiler.compile("plan.json", &mut schemas).expect("the schema is one");
    (schemas, index)
}

fn value(plan: &Plan) -> Value {
    serde_json::from_slice(&write(plan)).unwrap()
}

#[track_caller]
fn fits(plan: &Plan) {
    let (schemas, index) = schema();
    schemas.validate(&value(plan), index).map_err(|error| format!("{error:#}")).unwrap();
}

/// Every optional thing and every kind of action.
fn full() -> Plan {
    let mut plan = base()
        .port(8080)
        .artifact("dist/shop-r2.tar.gz")
        .custom("warm", true)
        .custom("pay", false)
        .activate("jobs", true)
        .bake("canary", 1)
        .approval("canary")
        .warning("code", "message")
        .build();
    let template = |text: &str| Template::literal(text);
    let timeout_ms = 1;
    plan.procedures.deploy.retain = vec![
        Action::Sh { script: "true\n".into(), env: [("A".to_owned(), template("b"))].into(), timeout_ms },
        Action::Upload { from: template("a"), to: template("/b"), sha256: Some("0".repeat(64)), timeout_ms },
        Action::Wait { ms: 1 },
    ];
    plan.targets[0].labels.insert("zone".into(), "a".into());
    let all = Some("x".to_owned());
    plan.connections = vec![
        Connection::Ssh(Ssh {
            user: all.clone(),
            port: Some(22),
            key_secret: all.clone(),
            password_secret: all.clone(),
            known_hosts: all.clone(),
            jump: all,
        }),
        Connection::Local,
    ];
    plan.rollout.order = Some("-label.zone".into());
    plan.basis.recorded = true;
    plan.basis.last_run = Some("run-1".into());
    plan
}

#[test]
fn every_plan_file_fits() {
    fits(&four_targets());
    fits(&full());
    fits(&PlanBuilder::new().without_pool().without_post_test().release(None).artifact("a").build());
    fits(&PlanBuilder::new().health_flag().targets(30).batches(7).build());
}

/// Each field that is written is described and demanded: without it, or with one more beside it, nothing fits.
#[test]
fn a_field_more_or_less_does_not_fit() {
    let (schemas, index) = schema();
    let whole = value(&full());
    let mut paths = Vec::new();
    objects(&whole, &mut String::new(), &mut paths);
    assert!(paths.len() > 50, "{}", paths.len());
    for path in paths {
        let mut more = whole.clone();
        let object = more.pointer_mut(&path).unwrap().as_object_mut().unwrap();
        let keys: Vec<String> = object.keys().cloned().collect();
        object.insert("not_a_field".into(), Value::Object(Default::default()));
        assert!(schemas.validate(&more, index).is_err(), "more at {path}");
        for key in keys.into_iter().filter(|key| key != "labels") {
            let mut less = whole.clone();
            less.pointer_mut(&path).unwrap().as_object_mut().unwrap().remove(&key);
            assert!(schemas.validate(&less, index).is_err(), "{path} without {key}");
        }
    }
}

/// All objects but those with free keys, and one of each long list.
fn objects(value: &Value, at: &mut String, paths: &mut Vec<String>) {
    let long = at.len();
    match value {
        Value::Object(fields) => {
            if at != "/secrets" && !["settings", "labels", "env"].iter().any(|free| at.ends_with(free)) {
                paths.push(at.clone());
            }
            for (key, field) in fields {
                at.push_str(&format!("/{}", key.replace('~', "~0").replace('/', "~1")));
                objects(field, at, paths);
                at.truncate(long);
            }
        }
        Value::Array(elements) => {
            for (number, element) in elements.iter().take(3).enumerate() {
                at.push_str(&format!("/{number}"));
                objects(element, at, paths);
                at.truncate(long);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
