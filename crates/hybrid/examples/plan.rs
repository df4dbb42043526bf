//! Prints the plan of networks: `cargo run --release -p palladion-hybrid --example plan -- FILE..`.

use hybrid::{Activations, Step, compile};
use network::IntNetwork;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for path in std::env::args().skip(1) {
        let network = IntNetwork::from_json(&std::fs::read_to_string(&path)?)?;
        match compile(&network, Activations::Shares) {
            Ok(program) => {
                println!("{path}");
                for layer in &program.public.layers {
                    let form = match &layer.step {
                        Step::Form(form) => format!("{form:?}"),
                        other => format!("{other:?}"),
                    };
                    let rings: Vec<_> = layer
                        .encrypted
                        .iter()
                        .map(|t| (t.ring, t.flood_bits))
                        .collect();
                    println!("  {} l={} {rings:?} {form}", layer.name, layer.bits);
                }
            }
            Err(error) => println!("{path}: {error}"),
        }
    }
    Ok(())
}
