//! Random circuits.
//!
//! The prediction treats errors of different values and slots as uncorrelated. So here a value goes
//! into only one sum or product: circuits are trees, except for squares, rotations of one value,
//! and plaintexts. Two sums over slots would add up the same errors twice, so there is only one.

use crate::common::{Setup, builder, fresh, insecure_params};
use ckks::Params;
use program::circuit::{Circuit, CircuitBuilder, Type, ValueId, sum_strided};
use proptest::prelude::*;

const LEVELS: usize = 4;

/// Operations on the values so far. Numbers choose the operands.
#[derive(Clone, Debug)]
enum Move {
    Sum(usize, bool),
    Product(usize),
    Negate,
    Square,
    Plain(f64),
    Shift(bool),
    Read,
    Rotate(isize),
    Conjugate,
    SumOver(isize, u32),
    Linear(Vec<isize>),
    Drop,
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let one = prop_oneof![
        (0..8usize, any::<bool>()).prop_map(|(i, minus)| Move::Sum(i, minus)),
        (0..8usize).prop_map(Move::Product),
        Just(Move::Negate),
        Just(Move::Square),
        // Not so small that the product is only error.
        (0.3..2.0f64).prop_map(Move::Plain),
        any::<bool>().prop_map(Move::Shift),
        Just(Move::Read),
        (-300..300isize).prop_map(Move::Rotate),
        Just(Move::Conjugate),
        // No sum over all slots, where all errors would be equal.
        (1..9isize, 0..3u32).prop_map(|(stride, bits)| Move::SumOver(stride, bits)),
        proptest::collection::vec(-40..40isize, 1..5).prop_map(Move::Linear),
        Just(Move::Drop),
    ];
    proptest::collection::vec(one, 1..12)
}

/// Makes a circuit with three inputs, the moves, and outputs for all values that are left.
fn circuit(params: &Params, moves: &[Move]) -> Circuit {
    let mut b = builder(params);
    let mut at_hand = Vec::new();
    for name in ["x", "y", "z"] {
        at_hand.push(b.input(name, fresh(params)).unwrap());
    }
    let mut summed = false;
    for (i, m) in moves.iter().enumerate() {
        if matches!(m, Move::SumOver(..)) && std::mem::replace(&mut summed, true) {
            continue;
        }
        let value = at_hand.remove(0);
        if at_hand.is_empty() {
            at_hand.push(b.input(&format!("x{i}"), fresh(params)).unwrap());
        }
        let made = apply(&mut b, value, m, i, &mut at_hand);
        at_hand.push(made);
    }
    for (i, &value) in at_hand.iter().enumerate() {
        b.output(&format!("out{i}"), value).unwrap();
    }
    b.finish().unwrap()
}

fn apply(
    b: &mut CircuitBuilder,
    x: ValueId,
    m: &Move,
    i: usize,
    at_hand: &mut Vec<ValueId>,
) -> ValueId {
    let Type { level, scale, .. } = b.ty(x);
    let plain = |b: &mut CircuitBuilder, scale: f64| {
        let encrypted = false;
        let ty = Type {
            encrypted,
            level,
            scale,
        };
        b.input(&format!("p{i}"), ty).unwrap()
    };
    match m {
        Move::Sum(other, minus) => {
            let y = at_hand.remove(other % at_hand.len());
            let Some([x, y]) = alike(b, x, y) else {
                at_hand.push(y);
                return x;
            };
            if *minus {
                b.sub(x, y).unwrap()
            } else {
                b.add(x, y).unwrap()
            }
        }
        Move::Product(other) => {
            let y = at_hand.remove(other % at_hand.len());
            let at = level.min(b.ty(y).level);
            if at == 0 {
                at_hand.push(y);
                return x;
            }
            let [x, y] = [x, y].map(|v| b.drop_to(v, at).unwrap());
            let product = b.mul(x, y).unwrap();
            b.rescale(product).unwrap()
        }
        Move::Shift(minus) => {
            let p = plain(b, scale);
            if *minus {
                b.sub(x, p).unwrap()
            } else {
                b.add(x, p).unwrap()
            }
        }
        // Near the usual scale, but not a multiple of it: a product with a multiple would make the
        // rescale exact.
        Move::Read => {
            let usual = f64::from(crate::common::BITS).exp2();
            b.read(x, scale / usual * 1.7).unwrap()
        }
        Move::Rotate(k) => b.rotate(x, *k).unwrap(),
        Move::Negate => b.negate(x).unwrap(),
        Move::Conjugate => b.conjugate(x).unwrap(),
        Move::SumOver(stride, bits) => sum_strided(b, x, (*stride, 1 << bits)).unwrap(),
        _ if level == 0 => x,
        Move::Square => {
            let square = b.mul(x, x).unwrap();
            b.rescale(square).unwrap()
        }
        Move::Plain(c) => b.scaled(x, *c).unwrap(),
        Move::Linear(steps) => {
            let modulus = b.arithmetic().divisor(level);
            let mut steps = steps.clone();
            steps.sort_unstable();
            steps.dedup();
            let rotated: Vec<_> = steps.iter().map(|&k| b.rotate(x, k).unwrap()).collect();
            let p = plain(b, modulus);
            let terms: Vec<_> = rotated.into_iter().map(|x| [x, p]).collect();
            let sum = b.dot(&terms).unwrap();
            b.rescale(sum).unwrap()
        }
        Move::Drop => b.drop_to(x, level - 1).unwrap(),
    }
}

/// Brings both values to one level and scale, if there is one.
fn alike(b: &mut CircuitBuilder, x: ValueId, y: ValueId) -> Option<[ValueId; 2]> {
    let (a, c) = (b.ty(x), b.ty(y));
    let same = (a.scale / c.scale - 1.0).abs() < 1e-12;
    let level = a.level.min(c.level);
    if same {
        return Some([x, y].map(|v| b.drop_to(v, level).unwrap()));
    }
    let level = level.checked_sub(1)?;
    let scale = f64::from(crate::common::BITS).exp2();
    Some([x, y].map(|v| b.scaled_to(v, 1.0, (level, scale)).unwrap()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    /// Every output has the predicted precision, within four deviations. In the worst case an error
    /// is a product of two independent complex normal values, rounding times secret. The square of
    /// this has a variance of 3 times its squared mean. Sums of four neighbours share errors: two
    /// thirds of four count as one.
    #[test]
    fn a_circuit_is_as_precise_as_predicted(moves in moves(), seed in 0..1000u64) {
        let params = insecure_params(11, LEVELS);
        let circuit = circuit(&params, &moves);
        let summed = moves.iter().any(|m| matches!(m, Move::SumOver(..)));
        let alike = if summed { 8.0 / 3.0 } else { 1.0 };
        let tolerance = |slots: f64| 4.0 * (3.0 * alike / slots).sqrt() / (2.0 * std::f64::consts::LN_2);
        Setup::new(params, seed).check("random", &circuit, tolerance);
    }

    #[test]
    fn a_circuit_reads_as_it_was_written(moves in moves()) {
        let circuit = circuit(&insecure_params(11, LEVELS), &moves);
        let back = Circuit::from_json(&circuit.to_json()).unwrap();
        prop_assert_eq!(back.to_string(), circuit.to_string());
        prop_assert_eq!(back, circuit);
    }
}
