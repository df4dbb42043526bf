//! Traces of operations that `ring` and `rlwe` do in one pass give the same words.

use crate::replay::Names;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use ring::sample::{Seed, uniform_from_seed};
use ring::{Basis, Divider, Eval, Gadget, PackedPoly, Poly, ntt_primes};
use rlwe::lwe::LweBatch;
use rlwe::{Ciphertext, DimensionKey, DimensionParams};
use trace::{Builder, Limbs, Trace, TraceBuilder, Type, ValueId};

/// Ring degree.
const N: usize = 1 << 10;

fn limbs(poly: &Poly<Eval>) -> Vec<Vec<u64>> {
    (0..poly.limbs()).map(|i| poly.limb(i).to_vec()).collect()
}

fn random(basis: &Basis, index: u32) -> Poly<Eval> {
    uniform_from_seed(basis, &Seed([9; 32]), index)
}

/// Runs a trace of one body with the given values.
fn run(builder: TraceBuilder, names: Names) -> Names {
    let (trace, mut names): (Trace, Names) = (builder.finish().unwrap(), names);
    names.run(&trace).unwrap();
    names
}

/// `round(x / D)`, where `D` is the product of the moduli of `dropped`.
fn divide(b: &mut Builder, basis: &Basis, x: ValueId, dropped: std::ops::Range<usize>) -> ValueId {
    let tail = b.select(x, dropped.clone());
    let tail = b.intt(tail);
    let remainder = b.convert(tail, 0..dropped.start);
    let remainder = b.ntt(remainder);
    let kept = b.select(x, 0..dropped.start);
    let multiple = b.sub(kept, remainder);
    let drop = basis.slice(dropped.clone());
    let inverses = (0..dropped.start).map(|i| {
        let q = basis.modulus(i);
        q.inv(drop.product_mod(q)).unwrap()
    });
    b.scale(multiple, inverses.collect::<Vec<u64>>())
}

#[test]
fn divisions_are_those_of_the_ring() {
    for bits in [40, 60] {
        let basis = Basis::new(N, &ntt_primes(bits, N, 6).unwrap()).unwrap();
        for dropped in [1, 3] {
            let x = random(&basis, 0);
            let mut builder = TraceBuilder::new(N, &basis.values()).unwrap();
            let mut main = builder.main();
            let value = main.load("x", Type::eval(0..6));
            let quotient = divide(&mut main, &basis, value, 6 - dropped..6);
            main.store("y", quotient);
            let names = run(builder, Names::default().with("x", &limbs(&x)));
            let expected = Divider::new(&basis, dropped).divide(x);
            assert_eq!(
                names.stored("y"),
                limbs(&expected),
                "{bits} bits, {dropped} dropped"
            );
        }
    }
}

#[test]
fn products_with_a_key_are_those_of_the_gadget() {
    let basis = Basis::new(N, &ntt_primes(45, N, 7).unwrap()).unwrap();
    let (q, special) = (basis.prefix(5), basis.slice(5..7));
    let digits = [0..2, 2..4, 4..5];
    let x = random(&q, 0);
    let key: Vec<[Poly<Eval>; 2]> = (0..3)
        .map(|j| [1, 2].map(|part| random(&basis, 2 * j + part)))
        .collect();
    let mut builder = TraceBuilder::new(N, &basis.values()).unwrap();
    let mut main = builder.main();
    let value = main.load("x", Type::eval(0..5));
    let coeff = main.intt(value);
    let all = Limbs::from(0..7);
    let raised: Vec<ValueId> = digits
        .iter()
        .map(|digit| {
            let own = main.select(coeff, digit.clone());
            let others = main.convert(own, all.minus(&digit.clone().into()));
            let others = main.ntt(others);
            let own = main.select(value, digit.clone());
            main.join([own, others])
        })
        .collect();
    let mut names = Names::default().with("x", &limbs(&x));
    for part in [0, 1] {
        let halves = key.iter().enumerate().map(|(j, pair)| {
            let name = format!("key/{j}/{part}");
            names = std::mem::take(&mut names).with(&name, &limbs(&pair[part]));
            main.load(name, Type::eval(0..7))
        });
        let halves: Vec<ValueId> = halves.collect();
        let sum = main.dot(raised.clone(), halves);
        main.store(format!("y/{part}"), sum);
    }
    let names = run(builder, names);
    let gadget = Gadget::new(&q, &special, digits.into_iter());
    let packed: Vec<[PackedPoly; 2]> = key
        .iter()
        .map(|key| key.each_ref().map(PackedPoly::from))
        .collect();
    let expected = gadget.product(x.to_coeff(), (None, [None; 2]), |j, part, i| {
        packed[j][part].limb(i)
    });
    let found = [names.stored("y/0"), names.stored("y/1")];
    assert_eq!(found, expected.each_ref().map(limbs));
}

#[test]
fn samples_of_a_dimension_switch_are_those_of_rlwe() {
    let (dimension, t) = (N / 4, 65_537);
    let q = ntt_primes(26, N, 1).unwrap()[0];
    let params = DimensionParams::new_insecure(N, q, dimension, 7).unwrap();
    let basis = params.basis();
    let bodies: Vec<_> = (0..params.digits() as u32)
        .map(|j| random(basis, 5 + j))
        .collect();
    // The seed that the tests' outside gives for a name of four letters.
    let key = DimensionKey::from_parts(&params, Seed([4; 32]), bodies.clone());
    let ct = Ciphertext::new(vec![random(basis, 0), random(basis, 1)]);
    let batch = LweBatch::switch(&ct, &key, t).unwrap();

    let mut builder = TraceBuilder::new(N, &[q, t]).unwrap();
    let mut main = builder.main();
    let one = Type::eval(0..1);
    let [c0, c1] = ["c0", "c1"].map(|name| main.load(name, one.clone()));
    let coeff = main.intt(c1);
    let digits = main.digits(coeff, 7, bodies.len());
    let digits: Vec<ValueId> = digits.into_iter().map(|digit| main.ntt(digit)).collect();
    let mut names = Names::default();
    for (name, component) in ["c0", "c1"].into_iter().zip(ct.components()) {
        names = names.with(name, &limbs(component));
    }
    let mut halves = [Vec::new(), Vec::new()];
    for (j, body) in bodies.iter().enumerate() {
        let name = format!("body/{j}");
        names = names.with(&name, &limbs(body));
        halves[0].push(main.load(name, one.clone()));
        halves[1].push(main.sample("seed", j as u32, 0..1));
    }
    let [body, mask] = halves.map(|half| main.dot(digits.clone(), half));
    let body = main.add(body, c0);
    for (name, value) in [("body", body), ("mask", mask)] {
        let value = main.intt(value);
        let value = main.round(value, 1);
        main.store(name, value);
    }
    // Mask entries of one coefficient, placed next to each other.
    let k = ChaCha20Rng::seed_from_u64(1).random_range(0..N);
    let at = main.define(trace::Constant::Repeat {
        run: N,
        values: vec![k as i64],
    });
    let entries = (0..N as i64).map(|j| j % dimension as i64).collect();
    let entries = main.define(trace::Constant::Words(entries));
    let mask = main.values().len() - 1;
    let row = main.extract([mask], at, Some((entries, N / dimension)));
    main.store("row", row);

    let names = run(builder, names);
    let all = 0..N;
    let expected: Vec<u64> = all.clone().map(|k| batch.body(k)).collect();
    assert_eq!(names.stored("body"), [expected]);
    let expected: Vec<u64> = all.clone().map(|k| batch.mask(k, 0)).collect();
    assert_eq!(names.stored("mask"), [expected]);
    let expected: Vec<u64> = all.map(|j| batch.mask(k, j % dimension)).collect();
    assert_eq!(names.stored("row"), [expected]);
}
