//! Circuits that bootstrap, and circuits with repeated parts: in the clear, encrypted, predicted,
//! recorded and replayed.

use crate::common::{Setup, messages, said};
use circuits::approximate::{BootstrapSpec, Bootstrapper};
use ckks::{Complex64, Params, ParamsSpec};
use palladion_evaluate::circuit::{Runner, arithmetic, check, check_failure, predict, run_clear};
use program::circuit::{AutoBuilder, Circuit, CircuitBuilder, Op, Type, ValueId};
use ring::ntt_primes;

/// The levels of `Bootstrapper::params_2_16` on a small ring, with `left` levels after a
/// bootstrapping.
fn insecure_params(log_n: u32, left: usize) -> Params {
    let n = 1 << log_n;
    let primes = |bits, count| ntt_primes(bits, n, count).unwrap();
    let singles = |primes: Vec<u64>| primes.into_iter().map(|q| vec![q]);
    let pairs = |primes: Vec<u64>| -> Vec<Vec<u64>> {
        primes.chunks_exact(2).map(<[u64]>::to_vec).collect()
    };
    let mut levels = pairs(primes(30, 18));
    let reduction = levels.split_off(1);
    levels.extend(singles(primes(40, left)));
    levels.extend(singles(primes(42, 3)));
    levels.extend(reduction);
    levels.extend(pairs(primes(28, 6)));
    Params::new_insecure(&ParamsSpec {
        n,
        levels,
        special: primes(49, 9),
        digit_limbs: 15,
        log_scale: 40.0,
    })
    .unwrap()
}

fn builder(params: &Params, spec: &BootstrapSpec) -> CircuitBuilder {
    let slots = spec.slots.unwrap_or(params.slots());
    let mut b = CircuitBuilder::new("test", arithmetic(params), slots).unwrap();
    b.set_bootstrapping(Bootstrapper::stated(params, spec).unwrap())
        .unwrap();
    b
}

fn auto(params: &Params, slots: usize, name: &str) -> AutoBuilder {
    let scales = (0..=params.max_level())
        .map(|l| params.scale_at(l))
        .collect();
    AutoBuilder::new(name, arithmetic(params), slots, scales).unwrap()
}

fn low(params: &Params, level: usize) -> Type {
    Type {
        encrypted: true,
        level,
        scale: params.scale_at(level),
    }
}

/// A circuit that applies `write` to one input at a level.
fn one(
    params: &Params,
    (spec, level): (&BootstrapSpec, usize),
    write: impl FnOnce(&mut CircuitBuilder, ValueId) -> ValueId,
) -> Circuit {
    let mut b = builder(params, spec);
    let x = b.input("x", low(params, level)).unwrap();
    let out = write(&mut b, x);
    b.output("out", out).unwrap();
    b.finish().unwrap()
}

/// For errors of `2^11` slots, the multiples of `q_0` and the weight of one secret.
const TOLERANCE: f64 = 0.2;

#[test]
fn a_value_is_bootstrapped_as_predicted_insecure() {
    let params = insecure_params(11, 2);
    let all = BootstrapSpec::default();
    let check = |what: &str,
                 of: (&BootstrapSpec, usize),
                 write: &dyn Fn(&mut CircuitBuilder, ValueId) -> ValueId| {
        let circuit = one(&params, of, write);
        Setup::new(params.clone(), 1).check(what, &circuit, |_| TOLERANCE);
    };
    check("bootstrap", (&all, 0), &|b, x| b.bootstrap(x).unwrap());
    check("bootstrap from above", (&all, 3), &|b, x| {
        b.bootstrap(x).unwrap()
    });
    check("a square", (&all, 0), &|b, x| {
        let high = b.bootstrap(x).unwrap();
        let square = b.mul(high, high).unwrap();
        b.rescale(square).unwrap()
    });
    check("larger, then half of it", (&all, 0), &|b, x| {
        let small = b.read(x, 0.25).unwrap();
        let high = b.bootstrap(small).unwrap();
        b.read(high, 2.0).unwrap()
    });
    check("a rotation less itself", (&all, 1), &|b, x| {
        let rotated = b.rotate(x, 1).unwrap();
        let difference = b.sub(rotated, x).unwrap();
        let difference = b.read(difference, 0.5).unwrap();
        b.bootstrap(difference).unwrap()
    });
    let few = BootstrapSpec::for_slots(64);
    let circuit = one(&params, (&few, 0), |b, x| b.bootstrap(x).unwrap());
    // Errors of 64 slots have a deviation of 13 %.
    Setup::new(params.clone(), 1).check("64 slots", &circuit, |_| 0.5);
}

/// `w` after `count` iterations of `w' = g bootstrap(w)^2 + z`, where `g` is a plaintext and `z` a
/// ciphertext of each iteration.
fn repeated(params: &Params, count: usize) -> Circuit {
    let slots = params.slots();
    let stated = Bootstrapper::stated(params, &BootstrapSpec::default()).unwrap();
    let mut body = auto(params, slots, "body");
    body.set_bootstrapping(stated.clone()).unwrap();
    let (w, z) = (body.input("w", 0).unwrap(), body.input("z", 0).unwrap());
    let g = body.plain_input("g").unwrap();
    let high = body.bootstrap(w).unwrap();
    let square = body.mul(high, high).unwrap();
    let scaled = body.mul(square, g).unwrap();
    let next = body.add(scaled, z).unwrap();
    body.output("w", next).unwrap();
    let body = body.finish().unwrap();

    let mut b = auto(params, slots, "repeated");
    b.set_bootstrapping(stated).unwrap();
    let w = b.input("w", 0).unwrap();
    let each: Vec<Vec<program::circuit::OperandId>> = (0..count)
        .map(|i| {
            let z = b.input(&format!("z.{i}"), 0).unwrap();
            let g = b
                .constant(&format!("g.{i}"), &[0.4, -0.1 * i as f64])
                .unwrap();
            vec![z, g]
        })
        .collect();
    let made = b.repeat(&body, &[w], &each).unwrap();
    let out = b.rotate(made[0], 1).unwrap();
    b.output("out", out).unwrap();
    b.finish().unwrap()
}

#[test]
fn a_part_repeats_with_bootstrapping_between_insecure() {
    let params = insecure_params(11, 2);
    let circuit = repeated(&params, 3);
    assert_eq!(circuit.bodies.len(), 1);
    assert_eq!(circuit.counts().total("bootstrap"), 3);
    let back = Circuit::from_json(&circuit.to_json()).unwrap();
    assert_eq!(back, circuit);
    // Computed by its definition: iteration by iteration in plain numbers.
    let mut setup = Setup::new(params.clone(), 2);
    let mut inputs = messages(&circuit, &mut setup.rng);
    inputs.values_mut().flatten().for_each(|x| *x *= 0.5);
    let mut w = inputs["w"].clone();
    for i in 0..3 {
        let g = [0.4, -0.1 * f64::from(i)];
        let z = &inputs[&format!("z.{i}")];
        let next = w.iter().zip(z).enumerate();
        w = next.map(|(j, (w, z))| w * w * g[j % 2] + z).collect();
    }
    w.rotate_left(1);
    let found = &run_clear(&circuit, &inputs).unwrap()["out"];
    let differs = |(a, b): (&Complex64, &Complex64)| (a - b).norm() > 1e-12;
    assert!(!found.iter().zip(&w).any(differs));
    setup.check("repeated", &circuit, |_| TOLERANCE);
}

#[test]
fn a_repeated_part_is_what_it_is_written_out_insecure() {
    let params = insecure_params(11, 2);
    let circuit = repeated(&params, 2);
    let flat = circuit.unrolled().into_owned();
    flat.verify().unwrap();
    assert!(flat.bodies.is_empty());
    assert_eq!(flat.keys(), circuit.keys());
    assert_eq!(flat.counts(), circuit.counts());
    assert_eq!(*flat.unrolled(), flat);
}

#[test]
fn other_bootstrapping_than_the_parameters_have_is_refused_insecure() {
    let params = insecure_params(11, 2);
    let spec = BootstrapSpec::default();
    let circuit = one(&params, (&spec, 0), |b, x| b.bootstrap(x).unwrap());
    check(&params, &circuit).unwrap();
    let mut other = circuit.clone();
    let stated = other.bootstrapping.as_mut().unwrap();
    assert!(stated.rotations.insert(777));
    let words = said(check(&params, &other));
    assert!(
        words.contains("the bootstrapping of the circuit is"),
        "{words}"
    );
    assert!(words.contains("as of the parameters"), "{words}");
    // With fewer levels there is no bootstrapping.
    let short = insecure_params(11, 1);
    assert!(said(check(&short, &circuit)).contains("levels"));

    // Errors name the keys of bootstrapping that are missing.
    let mut setup = Setup::new(params.clone(), 3);
    let runner = Runner::new(&params, &circuit).unwrap();
    let inputs = messages(&circuit, &mut setup.rng);
    let encrypted = setup.encrypt(&runner, &circuit, &inputs);
    let given = crate::common::arguments(&circuit, &encrypted, &inputs);
    let mut keys = setup.keys(&circuit);
    keys.sparse = None;
    let words = said(runner.run(&given, &keys));
    assert!(words.contains("key to the other secret"), "{words}");

    // A message that would wrap in the reduction is refused.
    let mut inputs = messages(&circuit, &mut setup.rng);
    inputs.get_mut("x").unwrap().fill(Complex64::new(3.0, 0.0));
    let words = said(predict(&params, &circuit, &inputs));
    assert!(words.contains("bootstrap"), "{words}");
    assert!(matches!(circuit.steps[1].op, Op::Bootstrap { value: 0 }));
}

/// The sum of 33 uniform numbers is beyond 12.5 in one of 2^16 coefficients with a probability of
/// at most 2^-35. So a reduction up to 12 is not enough.
#[test]
fn reductions_that_are_too_short_are_refused_insecure() {
    let params = insecure_params(11, 2);
    let of = |range: usize| {
        let spec = BootstrapSpec {
            range,
            ..BootstrapSpec::default()
        };
        one(&params, (&spec, 0), |b, x| {
            let high = b.bootstrap(x).unwrap();
            b.bootstrap(high).unwrap()
        })
    };
    check_failure(&params, &of(15), -64.0).unwrap();
    let words = said(check_failure(&params, &of(12), -40.0));
    assert!(
        words.contains("(bootstrap) reduces is such that a run is wrong with 2^-"),
        "{words}"
    );
    assert_eq!(words, said(Runner::new(&params, &of(12))));
    assert!(said(check_failure(&params, &of(15), -128.0)).contains("at most 2^-128"));
}
