//! Simulated rollouts a second on one core: `cargo run --release -p manent-simulator --example rate`.

use std::time::Instant;

use manent_simulator::chance::scenario;

fn main() {
    let begun = Instant::now();
    let rollouts = 20_000_u32;
    let facts: usize = (0..u64::from(rollouts)).map(|seed| scenario(seed).run().world.facts().len()).sum();
    let seconds = begun.elapsed().as_secs_f64();
    println!(
        "{rollouts} rollouts with {facts} facts in {seconds:.1}s: {:.0} a second on one core",
        f64::from(rollouts) / seconds
    );
}
