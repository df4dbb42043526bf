//! A complete run: compile a network, make keys, encrypt an image, run, decrypt, compare.
//!
//! `cargo run --release -p palladion-runtime --example 01_mnist [BATCH]`. The image is a drawn 1,
//! so this example needs no data.

use client::Client;
use compiler::{Options, compile};
use exchange::files;
use network::{Evaluator, IntNetwork};
use palladion_runtime::{Event, Prepared, Server};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let batch = std::env::args().nth(1).map_or(Ok(1), |b| b.parse())?;
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/mnist.json");
    let network = IntNetwork::from_json(&std::fs::read_to_string(path)?)?;

    let program = compile(&network, Options::of_batch(batch))?;
    println!("{program}");
    println!("predicted: {:?}", program.prediction);
    let prepared = Prepared::new(program)?;

    // The client. It knows the terms of the program, and no weight. Secrets stay here; evaluation
    // keys and ciphertexts leave as bytes.
    let terms = files::terms_from_bytes(&files::terms_to_bytes(&prepared))?;
    let client = Client::generate(&terms);
    let keys = files::keys_to_bytes(terms.params(), &client.evaluation_keys()?)?;
    let images: Vec<Vec<i64>> = (0..batch).map(drawn_one).collect();
    let query = files::query_to_bytes(&client.encrypt(&images)?);
    println!(
        "{} bytes of keys, {} bytes of images",
        keys.len(),
        query.len()
    );

    // The server. It has no secret.
    let keys = files::keys_from_bytes(&prepared, &keys)?;
    let server = Server::new(&prepared, &keys);
    let query = files::query_from_bytes(&prepared, &query)?;
    let (answer, report) = server.run(&query, |event: Event<'_>| {
        !matches!(
            event,
            Event::End {
                step: usize::MAX,
                ..
            }
        )
    })?;
    for step in &report.steps {
        println!(
            "{:40} {:7.3} s, predicted {:7.3} s",
            step.name, step.seconds, step.predicted_seconds
        );
    }
    println!("{:.2} s in all", report.seconds);

    let decrypted = client.decrypt(&answer, &query)?;
    println!("margin {:.1} bits", decrypted.margin_bits);
    let exact = Evaluator::new(&network)?;
    for (image, logits) in images.iter().zip(&decrypted.logits) {
        let plain = exact.evaluate(image)?;
        println!(
            "encrypted {logits:?}\nintegers  {:?}, class {}",
            plain.logits, plain.predicted
        );
    }
    Ok(())
}

/// Draws a vertical bar, moved a little to the right for each further image.
fn drawn_one(shift: usize) -> Vec<i64> {
    let mut image = vec![0; 28 * 28];
    for row in 5..23 {
        for column in 13 + shift % 3..15 + shift % 3 {
            image[row * 28 + column] = 127;
        }
    }
    image
}
