//! Planning against its floor: `cargo bench --bench plan`. The floor is a plain program that parses the same envconfig
//! with `serde_yaml`, selects, cuts, builds the graph with compensations, orders it and writes JSON: no checks, no places,
//! no text. Both are measured in turn in one process; only the ratio is a result.
//!
//! With `terraform` on the PATH, `terraform plan` of as many `terraform_data` resources is measured in the same run.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a benchmark that cannot run has nothing to say"
)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::hint::black_box;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use manent_compiler::{MemorySources, Options, compile};
use manent_stdlib::Stdlib;
use serde::Deserialize;

const ROUNDS: usize = 7;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    if let [what, count, batch] = arguments.as_slice() {
        // A process of its own, for the peak of memory.
        let env = envconfig(count.parse().unwrap(), batch.parse().unwrap());
        match what.as_str() {
            "peak-floor" => drop(black_box(floor(&env))),
            _ => drop(black_box(planned(&env, what == "peak-json"))),
        }
        println!("{}", peak_kib());
        return;
    }
    println!(
        "{:<34} {:>10} {:>10} {:>7} {:>9} {:>9}",
        "plan", "floor", "manent", "ratio", "floor MiB", "MiB"
    );
    let mut text = BTreeMap::new();
    for count in [1_000, 10_000, 100_000] {
        text.insert(count, row(count, 10, false));
    }
    row(10_000, 1, true);
    let growth = |from: usize, to: usize| text[&to].as_secs_f64() / text[&from].as_secs_f64();
    println!(
        "growth 1,000 to 10,000: {:.1}x; 10,000 to 100,000: {:.1}x (linear is 10)",
        growth(1_000, 10_000),
        growth(10_000, 100_000)
    );
    start_up();
    terraform(text[&1_000]);
}

fn row(count: usize, batch: usize, json: bool) -> Duration {
    let env = envconfig(count, batch);
    let rounds = if count > 10_000 { 3 } else { ROUNDS };
    let (mut floors, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let begun = Instant::now();
        black_box(floor(&env));
        floors.push(begun.elapsed());
        let begun = Instant::now();
        black_box(planned(&env, json));
        ours.push(begun.elapsed());
    }
    let (floor, manent) = (median(floors), median(ours));
    let peak = |what: &str| {
        let this = std::env::current_exe().unwrap();
        let output =
            Command::new(this).args([what, &count.to_string(), &batch.to_string()]).output().unwrap();
        let kib: f64 = String::from_utf8_lossy(&output.stdout).trim().parse().unwrap();
        kib / 1024.0
    };
    let form = if json { "JSON" } else { "text" };
    println!(
        "{:<34} {:>8.1}ms {:>8.1}ms {:>6.2}x {:>9.0} {:>9.0}",
        format!("{count} targets, batches of {batch}, {form}"),
        floor.as_secs_f64() * 1e3,
        manent.as_secs_f64() * 1e3,
        manent.as_secs_f64() / floor.as_secs_f64(),
        peak("peak-floor"),
        peak(if json { "peak-json" } else { "peak-text" }),
    );
    manent
}

fn envconfig(count: usize, batch: usize) -> String {
    let mut text = String::from("targets:\n");
    for at in 0..count {
        let canary = if at % 100 == 0 { "yes" } else { "no" };
        writeln!(
            text,
            "  - {{host: web{at:06}.shop.example, port: 8080, labels: {{canary: {canary}, zone: z{}, server: web{at:06}, rack: r{}}}}}",
            at % 3,
            at % 40
        )
        .unwrap();
    }
    write!(
        text,
        "connection:\n  local: {{}}\nrollout:\n  maxUnavailable: \"{batch}\"\n  waves:\n    - {{name: canary, select: canary=yes}}\n    - {{name: rest, select: canary!=yes}}\ntraffic:\n  pool:\n    provider: haproxy\n    member: \"{{label.server}}\"\n    min_healthy: \"1\"\n    settings:\n      dataplane_urls: https://lb1.example:5555\n      backend: shop\n      credentials_secret: lb\nsecrets:\n  - {{name: lb, ref: \"env:LB\"}}\n"
    )
    .unwrap();
    text
}

const DESCRIPTOR: &str = "app: shop\ndeploy:\n  recipe: command\n  with:\n    run: [/srv/deploy, \"{release}\"]\n    current: [/srv/current]\npost-test:\n  - {http: \"http://{host}:{port}/healthz\"}\n";

fn planned(env: &str, json: bool) -> Vec<u8> {
    let sources =
        MemorySources::new().with("envconfig/o/shop/e.yml", env).with("descriptors/shop.yml", DESCRIPTOR);
    let stdlib = Stdlib::builtin().unwrap();
    let options =
        Options { environment: "o/shop/e".into(), release: Some("2.4.1".into()), ..Options::default() };
    let compiled = compile(&sources, &stdlib, &options);
    let plan = compiled.plan.expect("the documents are right");
    if json {
        manent_plan::file::write(&plan)
    } else {
        manent_plan::text::text(&plan, manent_plan::text::Detail::Review).into_bytes()
    }
}

#[derive(Deserialize)]
struct Env {
    targets: Vec<Target>,
    rollout: Rollout,
}

#[derive(Deserialize)]
struct Target {
    host: String,
    port: u16,
    labels: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Rollout {
    max_unavailable: String,
}

/// The least that any planner has to do.
fn floor(env: &str) -> Vec<u8> {
    let env: Env = serde_yaml::from_str(env).unwrap();
    let size: usize = env.rollout.max_unavailable.parse().unwrap();
    let canary = |target: &&Target| target.labels["canary"] == "yes";
    let waves: [Vec<&Target>; 2] = [
        env.targets.iter().filter(canary).collect(),
        env.targets.iter().filter(|target| !canary(target)).collect(),
    ];
    let mut graph = petgraph::graph::DiGraph::<String, u8>::new();
    let mut last = None;
    let mut undo = Vec::new();
    let mut batches = Vec::new();
    for (wave, targets) in waves.iter().enumerate() {
        for (batch, targets) in targets.chunks(size).enumerate() {
            for step in ["drain", "drain-wait", "deploy", "post-test", "restore", "restore-wait", "activate"]
            {
                let node = graph.add_node(format!("{step}@{wave}#{batch}"));
                if let Some(last) = last {
                    graph.add_edge(last, node, 0);
                }
                last = Some(node);
                if matches!(step, "drain" | "deploy" | "restore") {
                    let back = graph.add_node(format!("undo-{step}@{wave}#{batch}"));
                    graph.add_edge(back, node, 1);
                    undo.push(back);
                }
            }
            batches.push(
                targets.iter().map(|target| format!("{}:{}", target.host, target.port)).collect::<Vec<_>>(),
            );
        }
    }
    for pair in undo.windows(2) {
        graph.add_edge(pair[0], pair[1], 2);
    }
    let order = petgraph::algo::toposort(&graph, None).map_or(0, |order| order.len());
    let steps: Vec<&String> = graph.node_weights().collect();
    serde_json::to_vec(&(order, steps, batches)).unwrap()
}

/// A person's case: ten targets, the whole program from its start, against starting a program at all.
fn start_up() {
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(root.path().join("envconfig/o/shop")).unwrap();
    std::fs::create_dir_all(root.path().join("descriptors")).unwrap();
    std::fs::write(root.path().join("envconfig/o/shop/e.yml"), envconfig(10, 2)).unwrap();
    std::fs::write(root.path().join("descriptors/shop.yml"), DESCRIPTOR).unwrap();
    let time = |command: &mut Command| {
        let begun = Instant::now();
        let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
        assert!(status.success(), "{command:?}");
        begun.elapsed()
    };
    let (mut nothing, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..31 {
        nothing.push(time(&mut Command::new("/bin/true")));
        let mut manent = Command::new(env!("CARGO_BIN_EXE_manent"));
        ours.push(time(manent.args(["plan", "o/shop/e", "--release", "2.4.1", "--root"]).arg(root.path())));
    }
    let (nothing, ours) = (median(nothing), median(ours));
    let goal = nothing * 3 + Duration::from_millis(5);
    println!(
        "plan of 10 targets, whole program: {:.1}ms; /bin/true {:.1}ms; goal 3x that + 5ms = {:.1}ms",
        ours.as_secs_f64() * 1e3,
        nothing.as_secs_f64() * 1e3,
        goal.as_secs_f64() * 1e3
    );
}

fn terraform(ours: Duration) {
    if Command::new("terraform").arg("version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_err()
    {
        println!("terraform is not on the PATH: not compared in this run");
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let mut text = String::new();
    for at in 0..1_000_usize {
        // A target waits for the whole batch before it, by one barrier a batch.
        let needs = if at < 10 {
            String::new()
        } else {
            format!("  depends_on = [terraform_data.b{}]\n", at / 10 - 1)
        };
        writeln!(text, "resource \"terraform_data\" \"t{at}\" {{\n  input = \"web{at}\"\n{needs}}}").unwrap();
        if at % 10 == 9 {
            let all: Vec<String> = (at - 9..=at).map(|one| format!("terraform_data.t{one}")).collect();
            writeln!(
                text,
                "resource \"terraform_data\" \"b{}\" {{\n  depends_on = [{}]\n}}",
                at / 10,
                all.join(", ")
            )
            .unwrap();
        }
    }
    std::fs::write(root.path().join("main.tf"), text).unwrap();
    let run = |verb: &str| {
        let begun = Instant::now();
        let status = Command::new("terraform")
            .args([verb, "-input=false", "-no-color"])
            .current_dir(root.path())
            .stdout(Stdio::null())
            .status();
        assert!(status.is_ok_and(|status| status.success()), "terraform {verb} failed");
        begun.elapsed()
    };
    run("init");
    let theirs = median(vec![run("plan"), run("plan"), run("plan")]);
    println!(
        "terraform plan, 1,000 resources one a target in batches of 10: {:.2}s = {:.0}x manent's {:.1}ms",
        theirs.as_secs_f64(),
        theirs.as_secs_f64() / ours.as_secs_f64(),
        ours.as_secs_f64() * 1e3
    );
}

fn median(mut all: Vec<Duration>) -> Duration {
    all.sort();
    all[all.len() / 2]
}

fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
