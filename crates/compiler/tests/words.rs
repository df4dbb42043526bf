//! Programs for words of 32 bits: do all moduli fit, and do errors for networks that do not fit
//! name the solution?

#![allow(clippy::unwrap_used, reason = "tests may panic")]

use network::IntNetwork;
use palladion_compiler::{Moduli, Options, WordSize, compile};

fn of_model(name: &str) -> IntNetwork {
    let path = format!("{}/../../models/{name}", env!("CARGO_MANIFEST_DIR"));
    IntNetwork::from_json(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn of_words(words: WordSize) -> Options {
    Options {
        moduli: Moduli::of_words(words),
        ..Options::default()
    }
}

#[test]
fn mnist_compiles_with_primes_of_32_bits() {
    let program = compile(&of_model("mnist_w7a7.json"), of_words(WordSize::Bits(32))).unwrap();
    let p = &program.parameters;
    println!(
        "{} limbs, {} special, {} a digit, log QP {:.1}, margin {:.2}, failure 2^{:.1}, {} MB of keys",
        p.q.len(),
        p.p.len(),
        p.digit_limbs,
        p.log_qp(),
        program.prediction.margin_bits,
        program.prediction.log2_failure,
        program.prediction.key_bytes >> 20,
    );
    assert_eq!(p.q[0].ilog2(), 25, "the last modulus is as small as ever");
    for &q in p.q[1..].iter().chain(&p.p) {
        assert_eq!(q.ilog2(), 31, "{q} has 32 bits");
        // Largest and smallest residue as signed bytes, lowest first.
        for residue in [(q as i64 - 1) / 2, -(q as i64 - 1) / 2] {
            let mut rest = residue;
            for _ in 0..4 {
                rest = (rest - i64::from(rest as i8)) >> 8;
            }
            assert_eq!(rest, 0, "{residue} is four signed bytes");
        }
    }
    let spec = rlwe::ParamsSpec {
        n: p.n,
        q: p.q.clone(),
        p: p.p.clone(),
        digit_limbs: p.digit_limbs,
    };
    assert!(rlwe::Params::new(&spec).unwrap().is_secure());
    assert!(program.prediction.margin_bits > 1.0);
    assert!(program.prediction.log2_failure <= -40.0);
}

#[test]
fn words_of_any_size_are_the_default() {
    assert_eq!(of_words(WordSize::Any), Options::default());
    assert_eq!(Moduli::of_words(WordSize::Bits(64)).special_bits, 49);
}

#[test]
fn moduli_fill_words_and_do_not_exceed_them() {
    for (bits, special) in [(34, 34), (36, 36), (49, 49), (60, 49)] {
        let program =
            compile(&of_model("mnist_w7a7.json"), of_words(WordSize::Bits(bits))).unwrap();
        let p = &program.parameters;
        println!(
            "{bits} bits: {} limbs, {} special, {} a digit",
            p.q.len(),
            p.p.len(),
            p.digit_limbs
        );
        assert!(
            p.q[1..]
                .iter()
                .all(|q| (34..=36).contains(&(q.ilog2() + 1)))
        );
        assert!(p.q.iter().chain(&p.p).all(|q| q.ilog2() < bits));
        // They are smaller only where 128-bit security leaves no room.
        assert!(p.p.iter().all(|q| q.ilog2() < special));
        assert!(program.prediction.margin_bits > 1.0);
    }
}

#[test]
fn what_does_not_fit_says_how_it_would() {
    let options = Options {
        log2_failure: -1000.0,
        ..of_words(WordSize::Bits(32))
    };
    let error = compile(&of_model("mnist_w7a7.json"), options)
        .unwrap_err()
        .to_string();
    println!("{error}");
    assert!(
        error.contains("32-bit words") && error.contains("without --words 32"),
        "{error}"
    );
}
