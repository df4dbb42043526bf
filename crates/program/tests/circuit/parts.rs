//! Bootstrapping and repeated parts: types, text, needs, and refusals.

use crate::circuit::ciphertext;
use palladion_program::circuit::{
    Arithmetic, AutoBuilder, Bootstrapping, Circuit, CircuitBuilder, Op, Type,
};

const SCALE: f64 = 30.0;

fn moduli() -> Vec<f64> {
    [40.0, 30.0, 30.0, 30.0, 30.0].map(f64::exp2).to_vec()
}

fn stated() -> Bootstrapping {
    Bootstrapping {
        slots: 8,
        range: 15,
        doublings: 3,
        log_ratio: 8.0,
        babies: 4,
        level: 2,
        from_scale: SCALE.exp2(),
        to_scale: SCALE.exp2(),
        rotations: [1, 2, 4].into(),
    }
}

fn builder(name: &str) -> CircuitBuilder {
    let arithmetic = Arithmetic::Approximate { moduli: moduli() };
    let mut b = CircuitBuilder::new(name, arithmetic, 8).unwrap();
    b.set_bootstrapping(stated()).unwrap();
    b
}

/// `w' = bootstrap(w)^2 p + z`, at level 0.
fn body() -> Circuit {
    let mut b = builder("body");
    let w = b.input("w", ciphertext(0, SCALE)).unwrap();
    let high = b.bootstrap(w).unwrap();
    let square = b.mul(high, high).unwrap();
    let square = b.rescale(square).unwrap();
    let p = Type {
        encrypted: false,
        level: 1,
        scale: SCALE.exp2(),
    };
    let p = b.input("p", p).unwrap();
    let product = b.mul(square, p).unwrap();
    let product = b.rescale(product).unwrap();
    let z = b.input("z", ciphertext(0, SCALE)).unwrap();
    let sum = b.add(product, z).unwrap();
    b.output("w", sum).unwrap();
    b.finish().unwrap()
}

fn repeated() -> Circuit {
    let mut b = builder("repeated");
    let w = b.input("w", ciphertext(0, SCALE)).unwrap();
    let mut each = Vec::new();
    for i in 0..3 {
        let p = b.constant(&format!("p.{i}"), &[0.5, f64::from(i)], (1, SCALE.exp2()));
        let z = b.input(&format!("z.{i}"), ciphertext(0, SCALE));
        each.push(vec![p.unwrap(), z.unwrap()]);
    }
    let made = b.repeat(&body(), &[w], &each).unwrap();
    b.output("w", made[0]).unwrap();
    b.finish().unwrap()
}

const TEXT: &str = "\
circuit repeated on 8 slots
  levels of 40.0 30.0 30.0 30.0 30.0 bits
  bootstrapping of 8 slots to level 2, scale 2^30.00; up to 15 q_0, 3 double angles, ratio 2^8.0, 4 baby steps
  body 0 = circuit body on 8 slots
    levels of 40.0 30.0 30.0 30.0 30.0 bits
    bootstrapping of 8 slots to level 2, scale 2^30.00; up to 15 q_0, 3 double angles, ratio 2^8.0, 4 baby steps
    %0 = input w : ciphertext, level 0, scale 2^30.00
    %1 = bootstrap %0 : ciphertext, level 2, scale 2^30.00
    %2 = mul %1 %1 : ciphertext, level 2, scale 2^60.00
    %3 = rescale %2 : ciphertext, level 1, scale 2^30.00
    %4 = input p : plaintext, level 1, scale 2^30.00
    %5 = mul %3 %4 : ciphertext, level 1, scale 2^60.00
    %6 = rescale %5 : ciphertext, level 0, scale 2^30.00
    %7 = input z : ciphertext, level 0, scale 2^30.00
    %8 = add %6 %7 : ciphertext, level 0, scale 2^30.00
    %9 = output w %8 : ciphertext, level 0, scale 2^30.00
";

#[test]
fn the_text_has_the_body_once() {
    let text = repeated().to_string();
    assert!(text.starts_with(TEXT), "{text}");
    let line = "%7 = repeat body 0 3 times from %0, given 0: %1 %2, 1: %3 %4, 2: %5 %6 : ciphertext, level 0";
    assert!(text.contains(line), "{text}");
    assert!(text.contains("%8 = result 0 of %7 : ciphertext, level 0"));
}

#[test]
fn json_gives_it_back_and_iterations_are_written_out() {
    let circuit = repeated();
    assert_eq!(Circuit::from_json(&circuit.to_json()).unwrap(), circuit);
    let flat = circuit.unrolled().into_owned();
    flat.verify().unwrap();
    // Three times the body's 5 operations, 4 inputs, 3 constants, an output.
    assert_eq!(flat.steps.len(), 3 * 6 + 4 + 3 + 1);
    assert_eq!(
        flat.outputs().collect::<Vec<_>>(),
        circuit.outputs().collect::<Vec<_>>()
    );
    assert_eq!(
        (flat.keys(), flat.counts()),
        (circuit.keys(), circuit.counts())
    );
    // A circuit without repeated parts is returned as it is.
    assert_eq!(*body().unrolled(), body());
}

#[test]
fn bootstrapping_needs_its_keys_at_the_highest_level() {
    let needs = repeated().keys();
    assert_eq!(
        (needs.relinearization, needs.conjugation),
        (Some(4), Some(4))
    );
    assert_eq!(needs.rotations, [(1, 4), (2, 4), (4, 4)].into());
    assert!(needs.bootstrapping);
    let counts = repeated().counts();
    assert_eq!(
        (counts.total("bootstrap"), counts.total("relinearize")),
        (3, 3)
    );
    assert_eq!(counts.0[&2]["bootstrap"], 3);
}

#[test]
fn the_scale_of_a_result_follows_from_that_of_the_operand() {
    let mut b = builder("scales");
    for (scale, room) in [(30.0, 4.0), (31.0, 2.0), (29.5, 5.0)] {
        let x = b.input(&format!("x{scale}"), ciphertext(1, scale)).unwrap();
        let high = b.bootstrap(x).unwrap();
        let expected = SCALE.exp2() * (scale.exp2() * room) / (SCALE.exp2() * 4.0);
        assert!((b.ty(high).scale / expected - 1.0).abs() < 1e-12);
        assert_eq!(b.ty(high).level, 2);
    }
    let x = b.input("large", ciphertext(1, 33.0)).unwrap();
    let refused = b.bootstrap(x).unwrap_err().to_string();
    let expected = "the scale of the operand is 2^33.000000, expected at most 2^32.0, which bootstrapping bears";
    assert!(refused.ends_with(expected), "{refused}");
}

#[test]
fn builders_that_choose_levels_write_the_same() {
    let auto = |name: &str| {
        let arithmetic = Arithmetic::Approximate { moduli: moduli() };
        let mut b = AutoBuilder::new(name, arithmetic, 8, vec![SCALE.exp2(); 5]).unwrap();
        b.set_bootstrapping(stated()).unwrap();
        b
    };
    let mut b = auto("body");
    let w = b.input("w", 0).unwrap();
    let high = b.bootstrap(w).unwrap();
    let p = b.plain_input("p").unwrap();
    let square = b.mul(high, high).unwrap();
    let product = b.mul(square, p).unwrap();
    let z = b.input("z", 0).unwrap();
    let sum = b.add(product, z).unwrap();
    b.output("w", sum).unwrap();
    let own = b.finish().unwrap();
    assert_eq!(own.counts(), body().counts());
    let mut b = auto("repeated");
    let w = b.input("w", 1).unwrap();
    let (p, z) = (b.number(0.5).unwrap(), b.input("z", 3).unwrap());
    // In the body `p` comes before `z`.
    let made = b.repeat(&own, &[w], &[vec![p, z], vec![p, z]]).unwrap();
    assert_eq!(b.level(made[0]).unwrap(), Some(0));
    b.output("w", made[0]).unwrap();
    assert_eq!(b.finish().unwrap().counts().total("bootstrap"), 2);
    let words = b.repeat(&own, &[w], &[vec![z, p]]).unwrap_err().to_string();
    assert!(
        words.contains("an operand of a repeated part is a ciphertext, expected a plaintext"),
        "{words}"
    );
    assert!(b.repeat(&own, &[], &[]).is_err());
    let p = b.plain_input("q").unwrap();
    assert!(b.bootstrap(p).is_err());
}

/// Changes the repeated circuit, writes it as JSON, reads it again, and returns the error.
fn read(change: impl FnOnce(&mut Circuit)) -> String {
    let mut circuit = repeated();
    change(&mut circuit);
    let found = Circuit::from_json(&circuit.to_json());
    found
        .err()
        .map_or("nothing".into(), |error| error.to_string())
}

/// Changes the body, the carried values, and the values of each iteration.
type Change = dyn Fn(&mut usize, &mut Vec<usize>, &mut Vec<Vec<usize>>);

#[test]
fn parts_that_do_not_fit_are_refused() {
    let part = |change: &Change| {
        read(|circuit| {
            let Op::Repeat {
                body,
                carried,
                each,
            } = &mut circuit.steps[7].op
            else {
                panic!("the repeated part");
            };
            change(body, carried, each);
        })
    };
    for (found, expected) in [
        (
            part(&|body, _, _| *body = 1),
            "the body is 1, expected less than 1",
        ),
        (
            part(&|_, carried, _| carried.clear()),
            "the number of carried values is 0, expected 1",
        ),
        (
            part(&|_, carried, _| carried[0] = 1),
            "a carried value is a plaintext, expected a ciphertext",
        ),
        (
            part(&|_, _, each| each.clear()),
            "the number of iterations is 0, expected at least 1",
        ),
        (
            part(&|_, _, each| each[1].push(0)),
            "the number of values of an iteration is 3, expected 2",
        ),
        (
            part(&|_, _, each| each[1].reverse()),
            "a value of an iteration is a ciphertext, expected a plaintext",
        ),
        (
            part(&|_, _, each| each[0][0] = 7),
            "an operand is %7, expected a step before this one",
        ),
        (
            read(|c| {
                c.steps[8].op = Op::Result {
                    repeat: 7,
                    index: 1,
                }
            }),
            "the number of the result is 1, expected less than 1",
        ),
        (
            read(|c| {
                c.steps[8].op = Op::Result {
                    repeat: 0,
                    index: 0,
                }
            }),
            "the operand is %0, expected a repeated part",
        ),
        (
            read(|c| c.steps[8].op = Op::Conjugate { value: 7 }),
            "an operand is the repeated part %7, expected one of its results",
        ),
        (
            read(|c| c.bodies[0].slots = 4),
            "the number of slots of a body is another one, expected that of the circuit",
        ),
        (
            read(|c| c.bodies[0].steps[3].ty.level = 0),
            "the stated level is 0, expected 1",
        ),
        (
            read(|c| c.bootstrapping = None),
            "the bootstrapping of a body is another one, expected that of the circuit",
        ),
        (
            read(|c| {
                // The body ends a level higher than it begins.
                let (body, top) = (&mut c.bodies[0], c.steps[0].ty);
                body.steps[9].op = Op::Output {
                    name: "w".into(),
                    value: 1,
                };
                body.steps[9].ty = Type { level: 2, ..top };
                body.steps.drain(2..9);
            }),
            "an output of the body is at level 2, expected level 0",
        ),
    ] {
        assert!(found.contains(expected), "{found}\n{expected}");
    }
}

#[test]
fn statements_that_no_parameters_have_are_refused() {
    let of = |change: &dyn Fn(&mut Bootstrapping)| {
        let mut other = stated();
        change(&mut other);
        let arithmetic = Arithmetic::Approximate { moduli: moduli() };
        let mut b = CircuitBuilder::new("other", arithmetic, 8).unwrap();
        let found = b.set_bootstrapping(other);
        found
            .err()
            .map_or("nothing".into(), |error| error.to_string())
    };
    for (found, expected) in [
        (
            of(&|b| b.slots = 4),
            "the number of bootstrapped slots is 4, expected a power of two from 8 to 65536",
        ),
        (
            of(&|b| b.range = 0),
            "the range of the reduction is 0, expected 1 to 256",
        ),
        (
            of(&|b| b.doublings = 17),
            "the number of double angles is 17, expected 0 to 16",
        ),
        (
            of(&|b| b.babies = 0),
            "the number of baby steps is 0, expected 1 to 8",
        ),
        (
            of(&|b| b.level = 5),
            "the level after bootstrapping is 5, expected 0 to 4",
        ),
        (
            of(&|b| b.log_ratio = f64::NAN),
            "the ratio of bootstrapping is NaN, expected 0 to 40 bits",
        ),
        (
            of(&|b| b.from_scale = 1e12),
            "the scale before bootstrapping is 1000000000000, expected 1 to 2^32.0",
        ),
        (
            of(&|b| b.to_scale = 0.5),
            "the scale after bootstrapping is 0.5, expected",
        ),
        (
            of(&|b| b.rotations.extend([0])),
            "a rotation of bootstrapping is 0, expected 1 to 65535",
        ),
    ] {
        assert!(found.contains(expected), "{found}\n{expected}");
    }
    let arithmetic = Arithmetic::Exact {
        t: 17,
        moduli: moduli(),
    };
    let mut exact = CircuitBuilder::new("exact", arithmetic, 8).unwrap();
    let found = exact.set_bootstrapping(stated()).unwrap_err().to_string();
    assert!(found.contains("none in exact arithmetic"), "{found}");
    let mut b = builder("again");
    let other = Bootstrapping {
        babies: 2,
        ..stated()
    };
    assert!(b.set_bootstrapping(other).is_err());
    let arithmetic = Arithmetic::Approximate { moduli: moduli() };
    let mut none = CircuitBuilder::new("none", arithmetic, 8).unwrap();
    let x = none.input("x", ciphertext(0, SCALE)).unwrap();
    let found = none.bootstrap(x).unwrap_err().to_string();
    assert!(
        found.ends_with("the bootstrapping is none, expected one that the circuit states"),
        "{found}"
    );
}
