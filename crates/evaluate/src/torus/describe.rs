//! The operations of a TFHE server as circuits on samples.

use program::torus::{Circuit, Digits, KeySwitch, Op, Parameters};
use ring::torus::{Decomposition, Torus};
use tfhe::{Gate, Params, Table};
use trace::Constant;

/// The parameters of a circuit on samples, from parameters of TFHE.
pub fn parameters(params: &Params) -> Parameters {
    let digits = |digits: Decomposition| Digits {
        bits: digits.base_log(),
        count: digits.levels(),
    };
    let spec = params.spec();
    Parameters {
        word_bits: spec.word_bits,
        dimension: params.lwe_dimension(),
        rank: params.rank(),
        n: params.n(),
        bootstrap: digits(spec.bootstrap),
        key_switch: match spec.key_switch {
            tfhe::KeySwitch::Lwe(own) => KeySwitch::Lwe(digits(own)),
            tfhe::KeySwitch::Ring(own) => KeySwitch::Ring(digits(own)),
        },
    }
}

/// The circuit of a [gate](tfhe::ServerKey::gate) of the inputs 0 and 1: a combination, and a
/// bootstrapping whose test polynomial has all coefficients 1/8.
pub fn gate(params: &Params, gate: Gate) -> Circuit {
    let mut circuit = Circuit::new(parameters(params));
    let (x, y, eighths) = gate.combination();
    let eighth = 1i64 << (circuit.parameters.word_bits - 3);
    let inputs = [0, 1].map(|index| circuit.push(Op::Input { index }));
    let sum = circuit.push(Op::Combine {
        constant: eighth.wrapping_mul(eighths),
        terms: vec![(x, inputs[0]), (y, inputs[1])],
    });
    let test = circuit.define(Constant::Repeat {
        run: 1,
        values: vec![eighth],
    });
    let turned = circuit.rotated(sum, test, 0);
    extract(&mut circuit, turned, 1);
    circuit
}

/// The circuit that looks up the [entries](tfhe::ServerKey::apply_tables) of tables for the input
/// 0: one bootstrapping, with an output for each table.
pub fn table<T: Torus>(params: &Params, table: &Table<T>) -> Circuit {
    let mut circuit = Circuit::new(parameters(params));
    let test = table.test();
    let words = test.words().iter().map(|word| word.to_centred());
    let words = circuit.define(Constant::Words(words.collect()));
    let x = circuit.push(Op::Input { index: 0 });
    let turned = circuit.rotated(x, words, test.drop());
    extract(&mut circuit, turned, test.tables());
    circuit
}

/// Adds outputs: the samples of the first `count` coefficients of the ring element `value`.
fn extract(circuit: &mut Circuit, value: usize, count: usize) {
    for place in 0..count {
        let value = circuit.push(Op::Extraction { value, place });
        circuit.push(Op::Output { value });
    }
}
