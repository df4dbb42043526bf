//! The CKKS bootstrapping of `crates/circuits`, of all slots at `N = 2^16`.

use ::ckks::{Complex64, Evaluator, Params, Plaintext, decrypt, encrypt};
use circuits::approximate::{BootstrapSpec, Bootstrapper};
use common::{Definitions, Row};
use ring::sample::Masks;
use rlwe::SecretKey;
use serde_json::json;
use std::time::Instant;

/// Times the set with the precision of the peers, then the one with as many levels left.
pub fn time(definitions: &Definitions) -> Vec<Row> {
    let precise = Bootstrapper::params_2_16_precise().expect("128-bit parameters");
    let usual = Bootstrapper::params_2_16().expect("128-bit parameters");
    vec![
        refresh("bootstrap", &precise, definitions.bootstrap.samples),
        refresh("bootstrap 9 levels", &usual, definitions.bootstrap.samples),
    ]
}

fn refresh(name: &'static str, params: &Params, samples: usize) -> Row {
    let spec = BootstrapSpec::default();
    eprintln!("stage: preparing matrices");
    let bootstrapper = Bootstrapper::new(params, &spec).expect("levels enough");
    eprintln!("stage: making keys");
    let mut rng = rand::rng();
    let secret = SecretKey::generate(params.rlwe(), &mut rng);
    let start = Instant::now();
    let keys = bootstrapper.generate_keys(&secret, &mut rng);
    let keygen_seconds = start.elapsed().as_secs_f64();
    let slots = crate::ckks::complexes(1, params.slots());
    let message = Plaintext::encode(params, &slots, 0, params.scale()).expect("values in range");
    let input = encrypt(&secret, &message, &mut Masks::random(&mut rng), &mut rng)
        .expect("a key of the parameters");
    let rlwe = params.rlwe();
    let log_q = rlwe.log_q(rlwe.max_level());
    let parameters = json!({
        "log_n": rlwe.log_n(),
        "log_q": log_q.round() as u32,
        "log_p": (rlwe.log_qp() - log_q).round() as u32,
        "moduli": rlwe.max_level() + 1,
        "slots": params.slots(),
        "log_scale": params.spec().log_scale,
        "secret": format!("uniform ternary, ephemeral of {}", rlwe::security::SPARSE_WEIGHT),
        "key_switching": format!("special moduli, {} digits", rlwe.digits(rlwe.max_level()).count()),
    });
    eprintln!("stage: bootstrapping");
    let mut output = None;
    let mut row = Row::measure(name, &parameters, samples, || {
        output = Some(
            bootstrapper
                .bootstrap(&input, &keys)
                .expect("a ciphertext and keys"),
        );
    });
    let output = output.expect("a bootstrapping was run");
    let found = decrypt(&secret, &output)
        .expect("a key of the parameters")
        .decode(params, slots.len())
        .expect("all slots");
    let errors: Vec<f64> = slots
        .iter()
        .zip(&found)
        .map(|(a, b): (&Complex64, _)| (a - b).norm())
        .collect();
    let worst = errors.iter().fold(0.0f64, |a, &b| a.max(b));
    row.found = Some(json!({
        "precision_bits": {
            "worst": -worst.log2(),
            "mean": -(errors.iter().sum::<f64>() / errors.len() as f64).log2(),
        },
        "levels": Evaluator::new(params).level(&output).expect("one set of parameters"),
        "key_bytes": keys.byte_len(),
        "keygen_seconds": keygen_seconds,
    }));
    row
}
