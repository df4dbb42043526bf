//! A circuit on plain numbers.

use super::unfit;
use super::walk::{Values, walk};
use crate::error::Result;
use ckks::Complex64;
use program::circuit::{Circuit, Op, ValueId};
use std::collections::BTreeMap;

/// Slots by name. A power of two of them, at most as many as the circuit has, which repeat.
pub type Slots = BTreeMap<String, Vec<Complex64>>;

/// What a circuit computes, in doubles, without error of encryption: every input by name, encrypted or not.
///
/// # Errors
/// [`Error::Program`](crate::Error::Program) for a circuit that does not verify, [`Error::Circuit`](crate::Error::Circuit) for an input
/// that is missing, is none, or is no power of two of slots.
pub fn run_clear(circuit: &Circuit, inputs: &Slots) -> Result<Slots> {
    circuit.verify()?;
    check_names(circuit, inputs.keys().map(String::as_str))?;
    walk(circuit, |index, values| {
        step(circuit, inputs, index, values, &|v| v)
    })
}

/// One step on values that have slots.
pub(super) fn step<V>(
    circuit: &Circuit,
    inputs: &Slots,
    index: usize,
    values: &Values<V>,
    slots: &impl Fn(&V) -> &Vec<Complex64>,
) -> Result<Vec<Complex64>> {
    let get = |value: ValueId| slots(values.get(value));
    let zip = |left: ValueId, right: ValueId| get(left).iter().zip(get(right));
    Ok(match &circuit.steps[index].op {
        Op::Input { name } => {
            let given = inputs.get(name).map(Vec::as_slice);
            repeated(circuit, name, given.unwrap_or_default())?
        }
        Op::Constant { constant } => {
            let values = circuit.constants[*constant].values.iter();
            values
                .map(|&v| v.into())
                .cycle()
                .take(circuit.slots)
                .collect()
        }
        Op::Add { left, right } => zip(*left, *right).map(|(a, b)| a + b).collect(),
        Op::Sub { left, right } => zip(*left, *right).map(|(a, b)| a - b).collect(),
        Op::Mul { terms } => {
            let mut sums = vec![Complex64::ZERO; circuit.slots];
            for &[left, right] in terms {
                sums.iter_mut()
                    .zip(zip(left, right))
                    .for_each(|(sum, (a, b))| *sum += a * b);
            }
            sums
        }
        Op::Rotate { value, steps } => {
            let mut slots = get(*value).clone();
            slots.rotate_left(*steps);
            slots
        }
        Op::Conjugate { value } => get(*value).iter().map(Complex64::conj).collect(),
        Op::Read { value } => {
            let factor = reading(circuit, index, *value);
            get(*value).iter().map(|x| x * factor).collect()
        }
        Op::Rescale { value } | Op::Drop { value } | Op::Output { value, .. } => {
            get(*value).clone()
        }
    })
}

/// What a reading at another scale multiplies its message by.
pub(super) fn reading(circuit: &Circuit, index: usize, value: ValueId) -> f64 {
    circuit.ty(value).scale / circuit.ty(index).scale
}

/// Slots of an input, all of them.
pub(super) fn repeated(
    circuit: &Circuit,
    name: &str,
    slots: &[Complex64],
) -> Result<Vec<Complex64>> {
    let (found, limit) = (slots.len(), circuit.slots);
    if found.is_power_of_two() && found <= limit {
        return Ok(slots.iter().copied().cycle().take(limit).collect());
    }
    let expected = format!("a power of two up to {limit}");
    Err(unfit(
        format!("the number of slots of the input {name}"),
        found,
        expected,
    ))
}

/// Every input is given, and nothing else.
pub(super) fn check_names<'a>(
    circuit: &Circuit,
    given: impl Iterator<Item = &'a str>,
) -> Result<()> {
    let given: Vec<&str> = given.collect();
    let names: Vec<&str> = circuit.inputs().map(|(name, _)| name).collect();
    if let Some(missing) = names.iter().find(|name| !given.contains(name)) {
        return Err(unfit(
            format!("the input {missing}"),
            "missing",
            "slots or a ciphertext",
        ));
    }
    match given.iter().find(|name| !names.contains(name)) {
        Some(unknown) => Err(unfit(
            "an input",
            format!("{unknown:?}"),
            format!("one of {names:?}"),
        )),
        None => Ok(()),
    }
}
