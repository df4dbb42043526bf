//! Random circuits of BGV and BFV, encrypted and in the clear. They agree exactly, and the noise is
//! at most as predicted.

use crate::exact::{Encrypts, Setup, builder, fresh, insecure_params, of_level};
use bgv::Params;
use palladion_evaluate::circuit::{Bfv, predict_noise};
use program::circuit::{Circuit, CircuitBuilder, ValueId, sum_strided};
use proptest::prelude::*;

const LEVELS: usize = 4;

/// Operations on the values so far. Numbers choose the operands.
#[derive(Clone, Debug)]
enum Move {
    Sum(usize, bool),
    Product(usize),
    Negate,
    Square,
    Plain(Vec<i16>),
    Shift(i16, bool),
    Rotate(isize),
    Swap,
    SumOver(isize, u32),
    Linear(Vec<isize>),
    Drop,
    Switch,
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let one = prop_oneof![
        (0..8usize, any::<bool>()).prop_map(|(i, minus)| Move::Sum(i, minus)),
        (0..8usize).prop_map(Move::Product),
        Just(Move::Negate),
        Just(Move::Square),
        proptest::collection::vec(any::<i16>(), 4).prop_map(Move::Plain),
        (any::<i16>(), any::<bool>()).prop_map(|(c, minus)| Move::Shift(c, minus)),
        (-300..300isize).prop_map(Move::Rotate),
        Just(Move::Swap),
        (1..9isize, 0..3u32).prop_map(|(stride, bits)| Move::SumOver(stride, bits)),
        proptest::collection::vec(-40..40isize, 1..5).prop_map(Move::Linear),
        Just(Move::Drop),
        Just(Move::Switch),
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
    for (i, m) in moves.iter().enumerate() {
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
    let level = b.ty(x).level;
    let other = |b: &mut CircuitBuilder, at: &usize, at_hand: &mut Vec<ValueId>| {
        let y = at_hand.remove(at % at_hand.len());
        let level = level.min(b.ty(y).level);
        [x, y].map(|v| b.drop_to(v, level).unwrap())
    };
    match m {
        Move::Sum(at, minus) => {
            let [x, y] = other(b, at, at_hand);
            if *minus {
                b.sub(x, y).unwrap()
            } else {
                b.add(x, y).unwrap()
            }
        }
        Move::Shift(c, minus) => {
            let name = format!("c{i}");
            let c = b.constant(&name, &[f64::from(*c)], (level, 1.0)).unwrap();
            if *minus {
                b.sub(x, c).unwrap()
            } else {
                b.add(x, c).unwrap()
            }
        }
        Move::Rotate(k) => b.rotate(x, *k).unwrap(),
        Move::Negate => b.negate(x).unwrap(),
        Move::Swap => b.swap_rows(x).unwrap(),
        Move::SumOver(stride, bits) => sum_strided(b, x, (*stride, 1 << bits)).unwrap(),
        _ if level == 0 => x,
        Move::Product(at) => {
            let [x, y] = other(b, at, at_hand);
            let product = b.mul(x, y).unwrap();
            switched(b, product)
        }
        Move::Square => {
            let square = b.mul(x, x).unwrap();
            switched(b, square)
        }
        Move::Plain(values) => {
            let values: Vec<f64> = values.iter().map(|&v| f64::from(v)).collect();
            let c = b.constant(&format!("c{i}"), &values, (level, 1.0)).unwrap();
            let product = b.mul(x, c).unwrap();
            switched(b, product)
        }
        Move::Linear(steps) => {
            let p = b.input(&format!("p{i}"), of_level(level, false)).unwrap();
            let mut steps = steps.clone();
            steps.sort_unstable();
            steps.dedup();
            let mut term = |&k: &isize| [b.rotate(x, k).unwrap(), p];
            let terms: Vec<_> = steps.iter().map(&mut term).collect();
            let sum = b.dot(&terms).unwrap();
            switched(b, sum)
        }
        Move::Drop => b.drop_to(x, level - 1).unwrap(),
        Move::Switch => b.rescale(x).unwrap(),
    }
}

fn switched(b: &mut CircuitBuilder, x: ValueId) -> ValueId {
    match b.ty(x).level {
        0 => x,
        _ => b.rescale(x).unwrap(),
    }
}

/// A circuit that is not refused for its noise decrypts correctly, and leaves more budget than
/// predicted.
fn check<E: Encrypts>(scheme: &E, circuit: &Circuit, seed: u64) -> Result<(), TestCaseError> {
    let mut setup = Setup::new(scheme.params().clone(), seed);
    match predict_noise(scheme, circuit) {
        Ok(_) => setup.check_as(scheme, "random", circuit, None),
        Err(refused) => {
            prop_assert!(
                refused.to_string().starts_with("the noise of step %"),
                "{refused}"
            );
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_circuit_decrypts_to_what_it_computes_in_the_clear_insecure(moves in moves(), seed in 0..1000u64) {
        let params = insecure_params(9, LEVELS);
        let circuit = circuit(&params, &moves);
        check(&params, &circuit, seed)?;
        check(&Bfv(params), &circuit, seed)?;
    }

    #[test]
    fn a_circuit_reads_as_it_was_written_insecure(moves in moves()) {
        let circuit = circuit(&insecure_params(9, LEVELS), &moves);
        let back = Circuit::from_json(&circuit.to_json()).unwrap();
        prop_assert_eq!(back.to_string(), circuit.to_string());
        prop_assert_eq!(back, circuit);
    }
}
