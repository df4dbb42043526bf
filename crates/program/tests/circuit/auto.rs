//! Circuits whose builder chooses the levels: the operations that it writes, and those that it
//! refuses.

use palladion_program::Error;
use palladion_program::circuit::{Arithmetic, AutoBuilder, Circuit, KeyNeeds, Op, OperandId};

const MODULI: [f64; 4] = [40.0, 30.0, 30.5, 29.5];

fn approximate() -> AutoBuilder {
    let moduli = MODULI.map(f64::exp2).to_vec();
    let mut scales = vec![30f64.exp2(); moduli.len()];
    for level in (1..moduli.len()).rev() {
        scales[level - 1] = scales[level].powi(2) / moduli[level];
    }
    AutoBuilder::new("test", Arithmetic::Approximate { moduli }, 8, scales).unwrap()
}

fn exact() -> AutoBuilder {
    let moduli = MODULI.map(f64::exp2).to_vec();
    let arithmetic = Arithmetic::Exact { t: 17, moduli };
    AutoBuilder::new("test", arithmetic, 8, vec![1.0; 4]).unwrap()
}

/// Names of the operations, without inputs and constants.
fn operations(circuit: &Circuit) -> Vec<&'static str> {
    let ops = circuit.steps.iter().map(|step| &step.op);
    ops.filter(|op| !matches!(op, Op::Input { .. } | Op::Constant { .. }))
        .map(Op::name)
        .collect()
}

#[test]
fn a_sum_of_products_takes_one_rescale() {
    for mut b in [approximate(), exact()] {
        let (x, y) = (b.input("x", 3).unwrap(), b.input("y", 3).unwrap());
        let w = b.constant("w", &[2.0, 3.0]).unwrap();
        let (square, other) = (b.mul(x, x).unwrap(), b.mul(w, y).unwrap());
        let sum = b.add(square, other).unwrap();
        let sum = b.sub(sum, square).unwrap();
        assert_eq!(b.level(sum).unwrap(), Some(2));
        b.output("sum", sum).unwrap();
        let circuit = b.finish().unwrap();
        assert_eq!(
            operations(&circuit),
            ["mul", "mul", "add", "sub", "rescale", "output"],
            "{circuit}"
        );
    }
}

#[test]
fn operands_of_different_levels_meet_at_the_lower_one() {
    for (mut b, lowered) in [(approximate(), "rescale"), (exact(), "drop")] {
        let (x, y) = (b.input("x", 3).unwrap(), b.input("y", 1).unwrap());
        let sum = b.add(x, y).unwrap();
        let again = b.sub(y, x).unwrap();
        let product = b.mul(sum, again).unwrap();
        assert_eq!(
            [b.level(sum).unwrap(), b.level(product).unwrap()],
            [Some(1), Some(0)]
        );
        b.output("y", product).unwrap();
        let circuit = b.finish().unwrap();
        let found = operations(&circuit);
        let count = found.iter().filter(|&&op| op == lowered).count();
        // The operand is brought down once for both sums. In approximate arithmetic the product is
        // rescaled too.
        assert_eq!(count, if lowered == "drop" { 1 } else { 2 }, "{circuit}");
    }
}

#[test]
fn a_term_that_waits_for_no_rescale_joins_one_that_does() {
    let mut b = approximate();
    let x = b.input("x", 3).unwrap();
    let square = b.mul(x, x).unwrap();
    let sum = b.add(square, x).unwrap();
    b.output("y", sum).unwrap();
    let circuit = b.finish().unwrap();
    let expected = ["mul", "mul", "add", "rescale", "output"];
    assert_eq!(operations(&circuit), expected, "{circuit}");
}

#[test]
fn numbers_that_take_no_level_take_none() {
    for mut b in [approximate(), exact()] {
        let x = b.input("x", 1).unwrap();
        let three = b.number(3.0).unwrap();
        let tripled = b.mul(three, x).unwrap();
        let shifted = b.sub(three, tripled).unwrap();
        assert_eq!(b.level(shifted).unwrap(), Some(1));
        let row = b.constant("row", &[1.0, 2.0]).unwrap();
        let product = b.mul(x, row).unwrap();
        assert_eq!(b.level(product).unwrap(), Some(0));
    }
}

#[test]
fn a_negative_takes_no_level_and_no_rescale() {
    for mut b in [approximate(), exact()] {
        let (x, y) = (b.input("x", 3).unwrap(), b.input("y", 3).unwrap());
        let square = b.mul(x, x).unwrap();
        let negative = b.negate(square).unwrap();
        let product = b.mul(x, y).unwrap();
        let sum = b.add(negative, product).unwrap();
        b.output("sum", sum).unwrap();
        let circuit = b.finish().unwrap();
        assert_eq!(
            operations(&circuit),
            ["mul", "negate", "mul", "add", "rescale", "output"],
            "{circuit}"
        );
    }
    for mut b in [approximate(), exact()] {
        let x = b.input("x", 3).unwrap();
        let three = b.number(3.0).unwrap();
        let difference = b.sub(three, x).unwrap();
        assert_eq!(b.level(difference).unwrap(), Some(3));
        let refused = b.negate(three).unwrap_err().to_string();
        assert!(refused.contains("a negated operand"), "{refused}");
        b.output("difference", difference).unwrap();
        let circuit = b.finish().unwrap();
        assert_eq!(
            operations(&circuit),
            ["negate", "add", "output"],
            "{circuit}"
        );
        assert_eq!(circuit.keys(), KeyNeeds::default());
    }
}

#[test]
fn scales_do_not_drift_over_many_levels() {
    // The square of a scale, divided by the scale, differs from it by a last bit. On each further
    // level the difference doubles.
    let scale = 40.3f64.exp2();
    let mut moduli = vec![scale; 40];
    moduli[0] = 50f64.exp2();
    let mut scales = vec![scale; 40];
    for level in (1..moduli.len()).rev() {
        scales[level - 1] = scales[level].powi(2) / moduli[level];
    }
    let arithmetic = Arithmetic::Approximate { moduli };
    let mut b = AutoBuilder::new("deep", arithmetic, 8, scales).unwrap();
    let x = b.input("x", 39).unwrap();
    let mut y = x;
    for _ in 0..39 {
        let lifted = b.mul(y, x).unwrap();
        y = b.add(lifted, x).unwrap();
    }
    b.output("y", y).unwrap();
    assert_eq!(b.finish().unwrap().outputs().next().unwrap().1.level, 0);
}

#[test]
fn powers_take_as_few_levels_as_their_logarithm() {
    for (exponent, products) in [(1, 0), (2, 1), (3, 2), (7, 4), (8, 3)] {
        let mut b = approximate();
        let x = b.input("x", 3).unwrap();
        let power = b.pow(x, exponent).unwrap();
        let level = 3 - exponent.next_power_of_two().ilog2() as usize;
        assert_eq!(b.level(power).unwrap(), Some(level), "{exponent}");
        b.output("y", power).unwrap();
        let counts = b.finish().unwrap().counts();
        assert_eq!(counts.total("mul"), products, "{exponent}");
    }
}

#[test]
fn a_plaintext_input_is_encoded_where_it_is_used() {
    let mut b = exact();
    let (x, key) = (b.input("x", 3).unwrap(), b.plain_input("key").unwrap());
    let idle = b.plain_input("idle").unwrap();
    assert_eq!(b.level(idle).unwrap(), None);
    let difference = b.sub(x, key).unwrap();
    let square = b.mul(difference, difference).unwrap();
    let square = b.rescale(square).unwrap();
    let y = b.add(key, square).unwrap();
    b.output("y", y).unwrap();
    let circuit = b.finish().unwrap();
    let inputs: Vec<_> = circuit
        .inputs()
        .map(|(name, ty)| (name, ty.level))
        .collect();
    assert_eq!(inputs, [("x", 3), ("key", 3), ("key", 2), ("idle", 0)]);
    let again = Circuit::from_json(&circuit.to_json());
    assert_eq!(again.as_ref(), Ok(&circuit));
}

#[test]
fn what_no_output_needs_is_left_out() {
    let mut b = exact();
    let (x, unused) = (b.input("x", 3).unwrap(), b.input("unused", 3).unwrap());
    let w = b.constant("w", &[1.0, 2.0]).unwrap();
    b.mul(x, w).unwrap();
    b.mul(unused, x).unwrap();
    let v = b.constant("v", &[3.0, 4.0]).unwrap();
    let sum = b.add(x, v).unwrap();
    b.output("y", sum).unwrap();
    let circuit = b.finish().unwrap();
    assert_eq!(operations(&circuit), ["add", "output"]);
    assert_eq!(circuit.constants.len(), 1);
    assert_eq!(circuit.constants[0].name, "v");
    assert_eq!(circuit.inputs().count(), 2);
    // More operations can be written after that.
    let more = b.mul(sum, x).unwrap();
    b.output("more", more).unwrap();
    assert_eq!(b.finish().unwrap().outputs().count(), 2);
}

#[test]
fn what_cannot_be_is_refused() {
    let said = |found: Result<OperandId, Error>| found.unwrap_err().to_string();
    let mut b = approximate();
    let (x, low) = (b.input("x", 3).unwrap(), b.input("low", 0).unwrap());
    let p = b.plain_input("p").unwrap();
    let w = b.constant("w", &[0.5, 1.5]).unwrap();
    for found in [
        b.add(p, w),
        b.sub(w, p),
        b.mul(p, p),
        b.dot(&[[x, x], [p, w]]),
    ] {
        assert!(said(found).contains("two plaintexts, expected a ciphertext among them"));
    }
    assert_eq!(b.mul(low, x), Err(Error::NoLevel { op: "a product" }));
    assert!(said(b.dot(&[])).contains("the number of products is 0"));
    assert!(said(b.pow(x, 0)).contains("the exponent is 0, expected at least 1"));
    assert!(said(b.rotate(p, 1)).contains("a rotated operand is a plaintext"));
    assert!(said(b.rescale(x)).contains("expected a product that was not rescaled"));
    assert!(said(b.drop_to(low, 1)).contains("the level of a drop is 1, expected 0 to 0"));
    assert!(said(b.swap_rows(x)).contains("expected conjugate"));
    assert!(said(b.input("x", 1)).contains("\"x\" again"));
    assert!(said(b.plain_input("x")).contains("\"x\" again"));
    assert!(said(b.input("p", 1)).contains("\"p\" again"));
    assert!(said(b.input("high", 4)).contains("the level is 4, expected less than 4"));
    assert!(said(b.constant("w", &[f64::NAN])).contains("NaN, expected a finite number"));
    b.output("y", x).unwrap();
    assert!(
        b.output("y", x)
            .unwrap_err()
            .to_string()
            .contains("\"y\" again")
    );
    assert!(
        b.output("p", p)
            .unwrap_err()
            .to_string()
            .contains("a plaintext")
    );

    let mut b = exact();
    let low = b.input("low", 0).unwrap();
    assert_eq!(b.rescale(low), Err(Error::NoLevel { op: "a rescale" }));
    let product = b.mul(low, low).unwrap();
    assert_eq!(b.level(product).unwrap(), Some(0));
    assert!(said(b.conjugate(low)).contains("expected swap"));
    assert!(matches!(b.finish(), Err(Error::Parameters { .. })));
}

#[test]
fn operands_of_another_builder_are_refused() {
    let (mut b, mut other) = (approximate(), approximate());
    let (x, y) = (b.input("x", 3).unwrap(), other.input("y", 3).unwrap());
    for _ in 0..3 {
        other.number(2.0).unwrap();
        other.add(y, y).unwrap();
    }
    let last = other.add(y, y).unwrap();
    for strange in [y, last, OperandId::MAX] {
        let refused = |words: String| {
            let expected = "an operand is one of another builder, expected one of this builder";
            assert!(words.contains(expected), "{words}");
        };
        for made in [
            b.add(x, strange),
            b.sub(strange, x),
            b.mul(strange, x),
            b.dot(&[[x, x], [x, strange]]),
            b.pow(strange, 2),
            b.rotate(strange, 1),
            b.conjugate(strange),
            b.sum(strange, (1, 2)),
            b.rescale(strange),
            b.drop_to(strange, 0),
            b.bootstrap(strange),
        ] {
            refused(made.unwrap_err().to_string());
        }
        refused(b.level(strange).unwrap_err().to_string());
        refused(b.output("out", strange).unwrap_err().to_string());
    }
    // A clone goes on with the operands it had.
    let mut clone = b.clone();
    let sum = clone.add(x, x).unwrap();
    assert_eq!(clone.level(sum), Ok(Some(3)));
}

#[test]
fn equal_operations_are_computed_once() {
    let mut b = approximate();
    let x = b.input("x", 3).unwrap();
    let mut terms = Vec::new();
    for k in 1..=4 {
        let power = b.pow(x, k).unwrap();
        let factor = b.number(1.0 / (k + 1) as f64).unwrap();
        terms.push([power, factor]);
    }
    let sum = b.dot(&terms).unwrap();
    // The same sums and products again, with their operands turned, are no other operations.
    let [square, fourth] = [2, 4].map(|k| b.pow(x, k).unwrap());
    let [one, other] = [[square, fourth], [fourth, square]].map(|[l, r]| b.mul(l, r).unwrap());
    let total = b.add(one, other).unwrap();
    let total = b.add(total, sum).unwrap();
    b.output("y", total).unwrap();
    let circuit = b.finish().unwrap();
    let products = circuit.steps.iter().filter(|step| match &step.op {
        Op::Mul { terms } => circuit.ty(terms[0][1]).encrypted,
        _ => false,
    });
    // The powers 2, 3, 4 and 6, each once.
    assert_eq!(products.count(), 4);
}
