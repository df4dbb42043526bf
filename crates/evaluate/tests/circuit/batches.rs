//! Compares sums of products that are computed together with the same sums computed one by one.
//! Constants that are given as plaintext inputs are in no batch.

use crate::{common, exact};
use palladion_evaluate::circuit::{Argument, Runner, Slots, arithmetic};
use program::circuit::{Circuit, CircuitBuilder, Giant, Term, Type, ValueId, Weights, linear_maps};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use std::collections::BTreeMap;

/// Two outputs of three inputs, with rows of several periods, rotations of sums, and a term of
/// zeros.
fn outputs(mut value: impl FnMut() -> f64) -> Vec<Vec<Giant>> {
    let mut term = |input, baby, period: usize| Term {
        input,
        baby,
        values: (0..period).map(|_| value()).collect(),
    };
    let first = vec![
        Giant {
            rotation: 0,
            terms: vec![term(0, 0, 4), term(1, 1, 8), term(2, -3, 1)],
        },
        Giant {
            rotation: -7,
            terms: vec![term(0, 0, 2), term(1, 1, 8), term(2, -3, 4)],
        },
    ];
    let zeros = Term {
        input: 2,
        baby: -3,
        values: vec![0.0; 4],
    };
    let terms = vec![term(0, 0, 8), term(1, 1, 2), zeros];
    vec![first, vec![Giant { rotation: 5, terms }]]
}

/// The maps by their definition.
fn naive(giants: &[Giant], x: &[Vec<f64>], row: usize) -> Vec<f64> {
    let slots = x[0].len();
    let turned = |j: usize, k: isize| {
        j / row * row
            + (j % row)
                .checked_add_signed(k.rem_euclid(row as isize))
                .unwrap()
                % row
    };
    let sum = |j: usize| {
        let of = |giant: &Giant| {
            let j = turned(j, giant.rotation);
            let product = |t: &Term| t.values[j % t.values.len()] * x[t.input][turned(j, t.baby)];
            giant.terms.iter().map(product).sum::<f64>()
        };
        giants.iter().map(of).sum()
    };
    (0..slots).map(sum).collect()
}

/// A circuit of the maps with constants, and one with plaintext inputs of the same numbers, by
/// name.
fn circuits(
    builder: impl Fn() -> CircuitBuilder,
    ty: Type,
    outputs: &[Vec<Giant>],
) -> [(Circuit, BTreeMap<String, Vec<f64>>); 2] {
    let inputs = |b: &mut CircuitBuilder| -> Vec<ValueId> {
        let names = ["x0", "x1", "x2"];
        names.map(|name| b.input(name, ty).unwrap()).into()
    };
    let finish = |mut b: CircuitBuilder, made: Vec<ValueId>| {
        for (i, value) in made.into_iter().enumerate() {
            b.output(&format!("y{i}"), value).unwrap();
        }
        b.finish().unwrap()
    };
    let mut b = builder();
    let x = inputs(&mut b);
    let made = linear_maps(&mut b, "map", &x, outputs.to_vec(), &mut Weights::Plain).unwrap();
    let constants = finish(b, made);
    // The same circuit with weights as inputs, which are then declared as plaintexts.
    let (mut b, mut kept) = (builder(), BTreeMap::new());
    let x = inputs(&mut b);
    let weights = &mut Weights::Encrypted(&mut kept);
    let made = linear_maps(&mut b, "map", &x, outputs.to_vec(), weights).unwrap();
    let mut plain = finish(b, made);
    for step in &mut plain.steps {
        if let program::circuit::Op::Input { name } = &step.op
            && kept.contains_key(name)
        {
            step.ty.encrypted = false;
        }
    }
    plain.verify().unwrap();
    [(constants, BTreeMap::new()), (plain, kept)]
}

#[test]
fn sums_at_once_are_the_sums_one_by_one_to_the_last_word_insecure() {
    let params = common::insecure_params(9, 2);
    let mut setup = common::Setup::new(params.clone(), 8);
    let outputs = outputs(|| setup.rng.random_range(-1.0..1.0));
    let make = || common::builder(&params);
    let all = circuits(make, common::fresh(&params), &outputs);
    let mut real = || {
        (0..256)
            .map(|_| setup.rng.random_range(-1.0..1.0))
            .collect()
    };
    let x: Vec<Vec<f64>> = vec![real(), real(), real()];
    let complex = |v: &Vec<f64>| v.iter().map(|&v| v.into()).collect::<Vec<_>>();
    let names = ["x0", "x1", "x2"].map(String::from);
    let mut inputs: Slots = names.into_iter().zip(x.iter().map(complex)).collect();
    let runner = Runner::new(&params, &all[0].0).unwrap();
    let encrypted = setup.encrypt(&runner, &all[0].0, &inputs);
    let keys = setup.keys(&all[0].0);
    let mut found = Vec::new();
    for (circuit, kept) in &all {
        inputs.extend(kept.iter().map(|(name, v)| (name.clone(), complex(v))));
        let runner = Runner::new(&params, circuit).unwrap();
        let arguments = common::arguments(circuit, &encrypted, &inputs);
        found.push(runner.run(&arguments, &keys).unwrap());
    }
    for (i, giants) in outputs.iter().enumerate() {
        let name = format!("y{i}");
        let [a, b] = [&found[0][&name], &found[1][&name]];
        assert_eq!(a.rlwe(), b.rlwe(), "{name}");
        let slots = ckks::decrypt(&setup.secret, a).unwrap();
        let slots = slots.decode(&params, 256).unwrap();
        for (found, expected) in slots.iter().zip(naive(giants, &x, 256)) {
            assert!(
                (found - expected).norm() < 1e-5,
                "{name}: {found}, {expected}"
            );
        }
    }
}

#[test]
fn exact_sums_at_once_are_the_sums_one_by_one_to_the_last_word_insecure() {
    let params = exact::insecure_params(9, 1);
    let mut setup = exact::Setup::new(params.clone(), 9);
    let mut rng = ChaCha20Rng::seed_from_u64(10);
    let outputs = outputs(|| f64::from(rng.random_range(-40i32..40)));
    let make = || CircuitBuilder::new("maps", arithmetic(&params), params.n()).unwrap();
    let all = circuits(make, exact::fresh(&params), &outputs);
    let mut inputs = setup.messages(&all[0].0);
    let runner = Runner::new(&params, &all[0].0).unwrap();
    let encrypted = setup.encrypt(&runner, &all[0].0, &inputs);
    let keys = setup.keys(&all[0].0);
    let mut found = Vec::new();
    for (circuit, kept) in &all {
        let residue = |&v: &f64| params.t().from_i64(v as i64);
        let kept = kept.iter();
        inputs.extend(kept.map(|(name, v)| (name.clone(), v.iter().map(residue).collect())));
        let runner = Runner::new(&params, circuit).unwrap();
        let argument = |name| match encrypted.get(name) {
            Some(ct) => (name, Argument::Ciphertext(ct)),
            None => (name, Argument::Plain(&inputs[name])),
        };
        let arguments = circuit.inputs().map(|(name, _)| argument(name)).collect();
        found.push(runner.run(&arguments, &keys).unwrap());
    }
    let x = ["x0", "x1", "x2"].map(|name| inputs[name].iter().map(|&v| v as f64).collect());
    for (i, giants) in outputs.iter().enumerate() {
        let name = format!("y{i}");
        let [a, b] = [&found[0][&name], &found[1][&name]];
        assert_eq!(a, b, "{name}");
        let expected = naive(giants, &x, params.n() / 2);
        let expected: Vec<u64> = expected
            .iter()
            .map(|&v| params.t().from_i64(v as i64))
            .collect();
        assert_eq!(setup.slots(a), expected, "{name}");
    }
}
