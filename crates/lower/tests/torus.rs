//! Traces of circuits on samples: what is refused.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

#[path = "common/mutated.rs"]
mod mutated;

use mutated::mutated;
use palladion_lower::torus::{check, lower};
use program::torus::{Circuit, Digits, KeySwitch, Op, Parameters};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use trace::{Constant, Trace};

/// A bootstrapping of a combination, with insecure parameters.
fn bootstrapping(key_switch: fn(Digits) -> KeySwitch) -> Circuit {
    let mut circuit = Circuit::new(Parameters {
        word_bits: 64,
        dimension: 20,
        rank: 2,
        n: 16,
        bootstrap: Digits { bits: 9, count: 2 },
        key_switch: key_switch(Digits { bits: 2, count: 5 }),
    });
    let test = circuit.define(Constant::Words((0..16).map(|i| i << 50).collect()));
    let inputs = [0, 1].map(|index| circuit.push(Op::Input { index }));
    let value = circuit.push(Op::Combine {
        constant: 3,
        terms: vec![(-1, inputs[0]), (2, inputs[1])],
    });
    let turned = circuit.rotated(value, test, 1);
    for place in [0, 1] {
        let value = circuit.push(Op::Extraction {
            value: turned,
            place,
        });
        circuit.push(Op::Output { value });
    }
    circuit.verify().unwrap();
    circuit
}

#[test]
fn a_trace_is_that_of_its_circuit_and_its_text() {
    for key_switch in [KeySwitch::Lwe, KeySwitch::Ring] {
        let circuit = bootstrapping(key_switch);
        let trace = lower(&circuit).unwrap();
        check(&circuit, &trace).unwrap();
        assert_eq!(Trace::parse(&trace.to_string()).unwrap(), trace);
        // All steps of the rotation call the same sub-trace.
        let text = trace.to_string();
        assert_eq!(text.matches("= call rotate ").count(), 20);
        assert_eq!(text.matches("\nsub rotate ").count(), 1);
    }
}

/// The verifier finds traces that are not well formed. Lowering again finds well-formed traces that
/// compute something else.
#[test]
fn a_changed_trace_is_refused() {
    let mut rng = ChaCha20Rng::seed_from_u64(7);
    for key_switch in [KeySwitch::Lwe, KeySwitch::Ring] {
        let circuit = bootstrapping(key_switch);
        let trace = lower(&circuit).unwrap();
        let (mut mutants, mut malformed) = (0, 0);
        while mutants < 300 {
            let Some(mutant) = mutated(&trace, &mut rng) else {
                continue;
            };
            mutants += 1;
            malformed += usize::from(mutant.verify().is_err());
            let error = check(&circuit, &mutant).unwrap_err().to_string();
            assert!(
                error.contains("another program's or was changed"),
                "{error}"
            );
        }
        println!("{mutants} mutants refused, {malformed} of them by the verifier alone");
        assert!(malformed > mutants / 3);
    }
}

#[test]
fn the_trace_of_another_circuit_is_refused() {
    let circuit = bootstrapping(KeySwitch::Ring);
    let trace = lower(&circuit).unwrap();
    let refused = |change: &dyn Fn(&mut Circuit)| {
        let mut other = circuit.clone();
        change(&mut other);
        check(&other, &trace).unwrap_err().to_string()
    };
    let error = refused(&|other| other.parameters.word_bits = 32);
    assert!(error.contains("the table of moduli"), "{error}");
    let error = refused(&|other| other.parameters.bootstrap.bits = 10);
    assert!(error.contains("the powers of two"), "{error}");
    let error = refused(&|other| other.constants[0] = Constant::Sparse(vec![(0, 1)]));
    assert!(error.contains("constant @"), "{error}");
    let error = refused(&|other| {
        other.steps[2] = Op::Combine {
            constant: 4,
            terms: vec![(-1, 0), (2, 1)],
        }
    });
    assert!(error.contains("constant @"), "{error}");
}
