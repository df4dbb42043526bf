//! Circuits of TFHE on messages: folding, ranges, text, and refusals.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

use palladion_program::message::{Builder, Circuit, Gate, Messages, Range, Value};
use proptest::prelude::*;

const INTEGERS: Messages = Messages::Integers {
    message_bits: 2,
    carry_bits: 2,
};

/// Three inputs, of one bit each or of two bits.
fn start(messages: Messages) -> (Builder, [Value; 3]) {
    let mut b = Builder::new("test", messages).unwrap();
    let bits = if messages == Messages::Bits { 1 } else { 2 };
    let inputs = ["x", "y", "z"].map(|name| b.input(name, None, bits).unwrap()[0]);
    (b, inputs)
}

/// The only output, for messages of the three inputs.
fn clear(circuit: &Circuit, inputs: [i64; 3]) -> i64 {
    let [x, y, z] = inputs.map(|value| [value]);
    let given = [("x", &x[..]), ("y", &y), ("z", &z)].into();
    circuit.run_clear(&given).unwrap()["out"][0]
}

/// A bit, and its value as a function of the bits of the inputs.
type Operand = (Value, Box<dyn Fn(usize) -> bool>);

/// Constants, inputs and their negations, with their values as functions of the bits of the inputs.
fn operands(b: &mut Builder, inputs: [Value; 3]) -> Vec<Operand> {
    let mut found: Vec<Operand> = vec![
        (Value::Constant(0), Box::new(|_| false)),
        (Value::Constant(1), Box::new(|_| true)),
    ];
    for (i, input) in inputs.into_iter().enumerate() {
        found.push((input, Box::new(move |bits| bits >> i & 1 == 1)));
        let not = b.not(input).unwrap();
        found.push((not, Box::new(move |bits| bits >> i & 1 == 0)));
    }
    found
}

fn check(b: &Builder, made: Value, most: usize, expected: impl Fn(usize) -> bool) {
    let mut b = b.clone();
    b.output("out", true, &[made]).unwrap();
    let circuit = b.finish().unwrap();
    assert!(circuit.bootstrappings() <= most, "{circuit}");
    for bits in 0..8usize {
        let inputs = [0, 1, 2].map(|i| (bits >> i & 1) as i64);
        assert_eq!(clear(&circuit, inputs) == 1, expected(bits), "{circuit}");
    }
}

/// Number of inputs on which the function depends.
fn deciders(f: &dyn Fn(usize) -> bool) -> usize {
    let decides = |i: &usize| (0..8).any(|bits| f(bits) != f(bits ^ (1 << i)));
    (0..3).filter(decides).count()
}

#[test]
fn every_gate_of_every_operands_is_right_and_costs_one_bootstrapping_only_where_two_bits_decide() {
    let (mut b, inputs) = start(Messages::Bits);
    let operands = operands(&mut b, inputs);
    for gate in Gate::ALL {
        for (x, of_x) in &operands {
            for (y, of_y) in &operands {
                let made = b.gate(gate, *x, *y).unwrap();
                let of = |bits| gate.of(of_x(bits), of_y(bits));
                check(&b, made, usize::from(deciders(&of) == 2), of);
            }
        }
    }
}

#[test]
fn every_choice_is_right_and_costs_two_bootstrappings_only_where_three_bits_decide() {
    let (mut b, inputs) = start(Messages::Bits);
    let operands = operands(&mut b, inputs);
    for (c, of_c) in &operands {
        for (x, of_x) in &operands {
            for (y, of_y) in &operands {
                let made = b.choose(*c, *x, *y).unwrap();
                let of = |bits| if of_c(bits) { of_x(bits) } else { of_y(bits) };
                check(&b, made, deciders(&of).saturating_sub(1), of);
            }
        }
    }
}

#[test]
fn equal_operations_are_one_and_idle_ones_are_none() {
    let (mut b, [x, y, z]) = start(Messages::Bits);
    let and = b.and(x, y).unwrap();
    assert_eq!(b.and(y, x).unwrap(), and);
    let [not_x, not_y] = [x, y].map(|value| b.not(value).unwrap());
    let nor = b.or(not_x, not_y).unwrap();
    let again = b.not(nor).unwrap();
    b.xor(and, z).unwrap();
    b.output("out", false, &[and, again, nor]).unwrap();
    let circuit = b.finish().unwrap();
    // `(not x) or (not y)` is `not (x and y)`. The unused gate is left out.
    assert_eq!((circuit.bootstrappings(), circuit.depth()), (1, 1));
    assert_eq!(Circuit::from_json(&circuit.to_json()).unwrap(), circuit);
}

#[test]
fn sums_are_flat_and_tables_share_what_they_read() {
    let (mut b, [x, y, _]) = start(INTEGERS);
    let sum = b.sum(1, &[(2, x), (-1, y)]).unwrap();
    let back = b.sum(-1, &[(1, sum), (1, y)]).unwrap();
    let half = b.lookup(back, &[vec![0, 9, 1, 9, 2, 9, 3]]).unwrap()[0];
    let range = Range {
        least: 0,
        largest: 9,
    };
    assert_eq!(b.range(half).unwrap(), range);
    assert_eq!(b.sum(0, &[(1, x), (-1, x)]).unwrap(), Value::Constant(0));
    // A constant before a table only moves its entries. Equal tables are merged.
    let (up, table) = (b.sum(5, &[(1, x)]).unwrap(), vec![3, 2, 1, 0]);
    let tables = [table.clone(), vec![7; 4], table.clone()];
    let found = b.lookup(up, &tables).unwrap();
    assert_eq!(found, [found[0], Value::Constant(7), found[0]]);
    assert_eq!(b.lookup(x, &[table]).unwrap()[0], found[0]);
    b.output("out", false, &[half, found[0]]).unwrap();
    let circuit = b.finish().unwrap();
    let expected = "circuit test on integers of 2 + 2 bits
  input x : one of 2 bits
  input y : one of 2 bits
  input z : one of 2 bits
  %0 = x
  %1 = sum 2 %0
  %2 = lookup %1 in [0 9 1 9 2 9 3]
  %3 = entry 0 of %2
  %4 = lookup %0 in [3 2 1 0]
  %5 = entry 0 of %4
  output out %3 %5
";
    assert_eq!(circuit.to_string(), expected);
}

#[test]
fn errors_name_place_found_and_expected() {
    let (mut b, [x, y, z]) = start(INTEGERS);
    let error = |found: palladion_program::Result<Value>| found.unwrap_err().to_string();
    assert_eq!(
        error(b.and(x, y)),
        "and: an operand is an integer, expected a bit"
    );
    let found = b.lookup(x, &[vec![0; 3]]).unwrap_err().to_string();
    assert_eq!(
        found,
        "lookup: the number of entries is 3, expected 4, for values of 0 to 3"
    );
    let wide = b.sum(0, &[(6, x)]).unwrap();
    let table: Vec<i64> = (0..19).collect();
    let found = b.lookup(wide, &[table]).unwrap_err().to_string();
    assert!(found.contains("0 to 18, 19 values"), "{found}");
    assert!(found.contains("at most 16 values"), "{found}");
    let found = b.output("wide", true, &[wide]).unwrap_err().to_string();
    assert!(found.starts_with("output wide: the range of a result is 0 to 18"));
    let far = b.sum(-14, &[(1, y)]).unwrap();
    b.output("far", true, &[far]).unwrap();
    let far = b.sum(-2, &[(5, z)]).unwrap();
    let found = b.output("farther", true, &[far]).unwrap_err().to_string();
    assert!(
        found.contains("-2 to 13, expected at most 15 above -4"),
        "{found}"
    );
    assert!(error(b.sum(0, &[(1 << 47, x)])).contains("magnitude"));
    assert!(error(b.sum(0, &[(i64::MAX, x), (i64::MAX, x)])).contains("the factor of a term"));
    let found = b.input("x", None, 2).unwrap_err().to_string();
    assert_eq!(
        found,
        "input x: the name is \"x\" again, expected a name that is not taken"
    );
    let found = b.input("w", None, 3).unwrap_err().to_string();
    assert_eq!(
        found,
        "input w: the bits of a message is 3, expected 1 to 2"
    );
    let circuit = b.finish().unwrap();
    let run = |x: i64| {
        let (x, rest) = ([x], [0]);
        let given = [("x", &x[..]), ("y", &rest), ("z", &rest)].into();
        circuit.run_clear(&given).map(|_| ())
    };
    assert_eq!(
        run(4).unwrap_err().to_string(),
        "input x: the message is 4, expected 0 to 3"
    );
    let missing = circuit.run_clear(&[("x", &[0][..])].into()).unwrap_err();
    assert_eq!(
        missing.to_string(),
        "input y: it is missing, expected a value for each input"
    );
    let (b, _) = start(Messages::Bits);
    let found = b.finish().unwrap_err().to_string();
    assert_eq!(
        found,
        "circuit: the number of outputs is 0, expected at least 1"
    );
}

#[test]
fn damaged_files_are_refused() {
    let (mut b, [x, y, _]) = start(INTEGERS);
    let sum = b.sum(0, &[(1, x), (1, y)]).unwrap();
    let found = b.lookup(sum, &[vec![0, 1, 2, 3, 0, 1, 2]]).unwrap()[0];
    b.output("out", true, &[found]).unwrap();
    let json = b.finish().unwrap().to_json();
    let cases = [
        (
            "messages/1",
            "messages/2",
            "the format is palladion-messages/2",
        ),
        (
            "\"message_bits\":2",
            "\"message_bits\":0",
            "the bits of a message is 0",
        ),
        (
            "\"carry_bits\":2",
            "\"carry_bits\":0",
            "the range of an integer that is looked up",
        ),
        ("\"bits\":2", "\"bits\":9", "the bits of a message is 9"),
        ("[1,1]", "[1,7]", "step %2 (sum): an operand is %7"),
        (
            "[0,1,2,3,0,1,2]",
            "[0,1,2,3,0,1]",
            "the number of entries is 6",
        ),
        (
            "\"table\":0",
            "\"table\":1",
            "the table is 1, expected below 1",
        ),
        (
            "\"values\":[4]",
            "\"values\":[3]",
            "expected a bit or an integer",
        ),
        (
            "\"values\":[4]",
            "\"values\":[]",
            "messages of output out is 0",
        ),
        ("\"place\":0", "\"place\":1", "step %0 (input)"),
    ];
    for (part, by, expected) in cases {
        assert!(json.contains(part), "{part} in {json}");
        let found = Circuit::from_json(&json.replacen(part, by, 1)).unwrap_err();
        assert!(found.to_string().contains(expected), "{part}: {found}");
    }
}

/// An operation, and the indices of its operands among the values so far.
type Chosen = (usize, [usize; 3], i64);

fn chosen() -> impl Strategy<Value = Vec<Chosen>> {
    let one = (0..6usize, [0..64usize, 0..64, 0..64], -2..3i64);
    prop::collection::vec(one, 1..40)
}

proptest! {
    /// Compares random gates with plain bits.
    #[test]
    fn random_circuits_of_bits_are_right(chosen in chosen()) {
        let (mut b, inputs) = start(Messages::Bits);
        // A value with its truth table over the three inputs.
        let mut values = vec![(inputs[0], 0xAAu8), (inputs[1], 0xCC), (inputs[2], 0xF0)];
        for (op, at, constant) in chosen {
            let [x, y, z] = at.map(|i| values[i % values.len()]);
            let bit = i64::from(constant > 0);
            let made = match op {
                0 => (b.not(x.0)?, !x.1),
                1 => (b.and(x.0, y.0)?, x.1 & y.1),
                2 => (b.or(x.0, y.0)?, x.1 | y.1),
                3 => (b.xor(x.0, y.0)?, x.1 ^ y.1),
                4 => (b.choose(x.0, y.0, z.0)?, (x.1 & y.1) | (!x.1 & z.1)),
                _ => (b.xor(x.0, Value::Constant(bit))?, if bit == 1 { !x.1 } else { x.1 }),
            };
            values.push(made);
        }
        let (last, table) = *values.last().unwrap();
        check(&b, last, usize::MAX, |bits| table >> bits & 1 == 1);
        b.output("out", true, &[last])?;
        let circuit = b.finish()?;
        prop_assert_eq!(Circuit::from_json(&circuit.to_json())?, circuit);
    }

    /// Compares random sums and tables with plain integers.
    #[test]
    fn random_circuits_of_integers_are_right(chosen in chosen(), given in [0..4i64, 0..4, 0..4]) {
        let (mut b, inputs) = start(INTEGERS);
        let mut values: Vec<(Value, i64)> = inputs.into_iter().zip(given).collect();
        for (op, at, constant) in chosen {
            let [x, y, _] = at.map(|i| values[i % values.len()]);
            let made = if op < 3 {
                let factor = constant + 1;
                let plain = constant + x.1 - factor * y.1;
                (b.sum(constant, &[(1, x.0), (-factor, y.0)])?, plain)
            } else {
                let range = b.range(x.0)?;
                let f = |v: i64| (v * v + constant).rem_euclid(4) - 1;
                if range.len() > 16 {
                    prop_assert!(b.lookup(x.0, &[(range.least..=range.largest).map(f).collect()]).is_err());
                    continue;
                }
                let table = (range.least..=range.largest).map(f).collect();
                (b.lookup(x.0, &[table])?[0], f(x.1))
            };
            let range = b.range(made.0)?;
            prop_assert!((range.least..=range.largest).contains(&made.1));
            values.push(made);
        }
        for (value, plain) in values {
            let mut b = b.clone();
            if b.output("out", true, &[value]).is_ok() {
                prop_assert_eq!(clear(&b.finish()?, given), plain);
            }
        }
    }
}
