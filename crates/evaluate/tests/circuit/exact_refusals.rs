//! Arguments that do not fit exact arithmetic give an error that says why.

use crate::common::said;
use crate::exact::{Setup, T, builder, fresh, insecure_params};
use bgv::Params;
use ckks::Complex64;
use palladion_evaluate::circuit::{Argument, Runner, Slots, predict, predict_noise, run_clear};
use program::circuit::{Circuit, CircuitBuilder};
use std::collections::BTreeMap;

fn square(params: &Params) -> Circuit {
    let mut b = builder(params);
    let x = b.input("x", fresh(params)).unwrap();
    let y = b.mul(x, x).unwrap();
    b.output("y", y).unwrap();
    b.finish().unwrap()
}

#[test]
fn circuits_of_another_arithmetic_insecure() {
    let params = insecure_params(8, 1);
    let approximate = crate::common::insecure_params(8, 1);
    let circuit = square(&params);
    let exact = format!("exact modulo {T}");
    let found = said(Runner::new(&approximate, &circuit));
    assert_eq!(
        found,
        format!("the number of slots of the circuit is 256, expected at most 128")
    );
    let mut fewer = circuit.clone();
    fewer.slots = 128;
    let found = said(Runner::new(&approximate, &fewer));
    let expected = format!("the arithmetic of the circuit is {exact}, expected approximate");
    assert_eq!(found, expected);
    let mut b = crate::common::builder(&approximate);
    let x = b.input("x", crate::common::fresh(&approximate)).unwrap();
    b.output("y", x).unwrap();
    let identity = b.finish().unwrap();
    let found = said(predict_noise(&params, &identity));
    let expected = format!("the arithmetic of the circuit is approximate, expected {exact}");
    assert_eq!(found, expected);
    let slots = Slots::from([("x".into(), vec![Complex64::ZERO])]);
    let other = "the arithmetic of the circuit is another, expected of what these slots hold";
    assert_eq!(said(run_clear(&circuit, &slots)), other);
    assert!(predict(&approximate, &circuit, &slots).is_err());
}

#[test]
fn noise_that_reaches_the_modulus_insecure() {
    let params = insecure_params(8, 1);
    let chain = |products: usize| {
        let mut b = builder(&params);
        let mut x = b.input("x", fresh(&params)).unwrap();
        for _ in 0..products {
            x = b.mul(x, x).unwrap();
        }
        b.output("y", x).unwrap();
        b.finish().unwrap()
    };
    assert!(Runner::new(&params, &chain(2)).is_ok());
    let found = said(Runner::new(&params, &chain(3)));
    assert!(
        found.starts_with("the noise of step %3 (mul) is "),
        "{found}"
    );
    assert!(found.ends_with("which level 1 bears"), "{found}");
    assert_eq!(found, said(predict_noise(&params, &chain(3))));
}

/// Noise between six deviations and the limit of 2^-40 for all coefficients is refused. Six
/// deviations are 2^-28.9 for one coefficient.
#[test]
fn noise_that_makes_runs_wrong_too_often_insecure() {
    let params = insecure_params(8, 1);
    let scaled = |bits: f64| {
        let mut b = builder(&params);
        let x = b.input("x", fresh(&params)).unwrap();
        let doubled = (0..bits as usize).fold(x, |x, _| b.add(x, x).unwrap());
        b.output("y", doubled).unwrap();
        b.finish().unwrap()
    };
    let budgets = (0..80).map_while(|k| predict_noise(&params, &scaled(f64::from(k))).ok());
    let accepted: Vec<_> = budgets.map(|found| found["y"]).collect();
    let last = accepted.last().expect("a fresh ciphertext decrypts");
    // A bit more noise is refused. So half of the deviations of the last accepted circuit are not
    // enough.
    let deviations = 6.0 * last.margin_bits.exp2();
    println!("{deviations:.1} deviations, 2^{:.1}", last.log2_failure);
    assert!((7.9..15.9).contains(&deviations), "{deviations}");
    assert!(last.log2_failure <= -40.0 && accepted[0].log2_failure < -9000.0);
    let found = said(predict_noise(&params, &scaled(accepted.len() as f64)));
    assert!(found.contains("a run is wrong with 2^-"), "{found}");
}

#[test]
fn inputs_that_are_none_insecure() {
    let params = insecure_params(8, 1);
    let circuit = square(&params);
    let runner = Runner::new(&params, &circuit).unwrap();
    let mut setup = Setup::new(params.clone(), 5);
    let keys = setup.keys(&circuit);
    let expected = format!("slot 1 of the input x is {T}, expected less than t");
    assert_eq!(said(runner.encode("x", &[1, T])), expected);
    let slots = Slots::from([("x".into(), vec![1, T])]);
    assert_eq!(said(run_clear(&circuit, &slots)), expected);

    let inputs = setup.messages(&circuit);
    let fresh = setup
        .encrypt(&runner, &circuit, &inputs)
        .remove("x")
        .unwrap();
    let evaluator = bgv::Evaluator::new(&params);
    let run = |ct| {
        let arguments = BTreeMap::from([("x", Argument::<Params>::Ciphertext(ct))]);
        said(runner.run(&arguments, &keys))
    };
    let mut low = fresh.clone();
    evaluator.drop_to(&mut low, 0).unwrap();
    let expected = "of degree 1, level 1, factor 1";
    let of = |text: &str| format!("the input x is {text}, expected {expected}");
    assert_eq!(run(&low), of("of degree 1, level 0, factor 1"));
    // A factor other than 1, as after a switch.
    let mut other = fresh.clone();
    let mut low = fresh;
    evaluator.switch_to(&mut low, 0).unwrap();
    evaluator.drop_to(&mut other, 0).unwrap();
    evaluator.match_factors(&mut other, &mut low).unwrap();
    assert!(run(&other).contains("factor"), "{}", run(&other));
    let foreign = insecure_params(9, 1);
    let foreign = bgv::trivial(&foreign, &foreign.encoder().coefficients(&[1]), 1).unwrap();
    assert!(
        run(&foreign).starts_with("the input x is Params"),
        "{}",
        run(&foreign)
    );
}

#[test]
fn rows_need_two_slots() {
    let params = insecure_params(8, 1);
    let arithmetic = palladion_evaluate::circuit::arithmetic(&params);
    let refused = CircuitBuilder::new("one", arithmetic, 1).err().unwrap();
    let text = "parameters: the number of slots is 1, expected two rows of them";
    assert_eq!(refused.to_string(), text);
}
