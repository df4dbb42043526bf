//! The run of a circuit in the clear.

use super::scheme::Slot;
use super::unfit;
use super::walk::{Values, walk};
use crate::error::Result;
use ckks::Complex64;
use program::circuit::{Circuit, Op, ValueId};
use ring::Modulus;
use std::collections::BTreeMap;

/// Slots by name: complex numbers or residues modulo `t`. Their number is a power of two, at most
/// the circuit's. Fewer slots repeat.
pub type Slots<T = Complex64> = BTreeMap<String, Vec<T>>;

/// Runs a circuit in doubles or modulo `t`, without the errors of encryption. `inputs` has every
/// input by name, encrypted or not.
///
/// # Errors
/// [`Error::Program`](crate::Error::Program) for a circuit that does not verify.
/// [`Error::Circuit`](crate::Error::Circuit) for a circuit of another arithmetic, and for an input
/// that is missing, unknown, has a number of slots that is not a power of two, or has a slot that
/// is not a residue.
pub fn run_clear<T: Slot>(circuit: &Circuit, inputs: &Slots<T>) -> Result<Slots<T>> {
    circuit.verify()?;
    check_names(circuit, inputs.keys().map(String::as_str))?;
    let circuit = &*circuit.unrolled();
    walk(circuit, |index, values| {
        step(circuit, inputs, index, values, &|v| v)
    })
}

/// Runs one step on values, whose slots `slots` returns.
pub(super) fn step<T: Slot, V>(
    circuit: &Circuit,
    inputs: &Slots<T>,
    index: usize,
    values: &Values<V>,
    slots: &impl Fn(&V) -> &Vec<T>,
) -> Result<Vec<T>> {
    let ring = ring_of::<T>(circuit)?;
    let get = |value: ValueId| slots(values.get(value));
    let zip = |left: ValueId, right: ValueId| get(left).iter().zip(get(right));
    Ok(match &circuit.steps[index].op {
        Op::Input { name } => {
            let input = inputs.get(name).map(Vec::as_slice);
            repeated(circuit, name, input.unwrap_or_default())?
        }
        Op::Constant { constant } => {
            let values = constant_slots(circuit, *constant)?;
            values.into_iter().cycle().take(circuit.slots).collect()
        }
        Op::Add { left, right } => zip(*left, *right).map(|(a, &b)| a.plus(ring, b)).collect(),
        Op::Sub { left, right } => zip(*left, *right).map(|(a, &b)| a.minus(ring, b)).collect(),
        Op::Mul { terms } => {
            let mut sums = vec![T::ZERO; circuit.slots];
            for &[left, right] in terms {
                for (sum, (a, &b)) in sums.iter_mut().zip(zip(left, right)) {
                    *sum = sum.plus(ring, a.times(ring, b));
                }
            }
            sums
        }
        Op::Rotate { value, steps } => {
            let mut slots = get(*value).clone();
            let rows = slots.chunks_exact_mut(circuit.row());
            rows.for_each(|row| row.rotate_left(*steps));
            slots
        }
        Op::SwapRows { value } => {
            let mut slots = get(*value).clone();
            slots.rotate_left(circuit.row());
            slots
        }
        Op::Conjugate { value } => get(*value).iter().map(|x| x.conjugate()).collect(),
        Op::Read { value } => {
            let factor = reading(circuit, index, *value);
            get(*value).iter().map(|x| x.scaled(factor)).collect()
        }
        Op::Rescale { value }
        | Op::Drop { value }
        | Op::Bootstrap { value }
        | Op::Output { value, .. } => get(*value).clone(),
        Op::Repeat { .. } | Op::Result { .. } => unreachable!("every iteration is written out"),
    })
}

/// The numbers of a constant, which repeat. With two rows, they repeat in each row.
pub(super) fn constant_slots<T: Slot>(circuit: &Circuit, constant: usize) -> Result<Vec<T>> {
    let ring = ring_of::<T>(circuit)?;
    let values = &circuit.constants[constant].values;
    let rows = circuit.slots / circuit.row();
    let count = (rows * values.len()).min(circuit.slots);
    let slots = values.iter().map(|&v| T::constant(ring, v));
    Ok(slots.cycle().take(count).collect())
}

fn ring_of<T: Slot>(circuit: &Circuit) -> Result<T::Ring> {
    let expected = "of what these slots hold";
    let other = || unfit("the arithmetic of the circuit", "another", expected);
    T::ring(&circuit.arithmetic).ok_or_else(other)
}

/// `factor` times each slot.
pub(super) fn residues(t: &Modulus, slots: &[u64], factor: u64) -> Vec<u64> {
    slots.iter().map(|&v| t.mul(v, factor)).collect()
}

/// Factor by which reading a value at another scale multiplies its message.
pub(super) fn reading(circuit: &Circuit, index: usize, value: ValueId) -> f64 {
    circuit.ty(value).scale / circuit.ty(index).scale
}

/// All slots of an input, repeated to the circuit's number of slots.
pub(super) fn repeated<T: Slot>(circuit: &Circuit, name: &str, slots: &[T]) -> Result<Vec<T>> {
    let (count, limit) = (slots.len(), circuit.slots);
    if !count.is_power_of_two() || count > limit {
        let expected = format!("a power of two up to {limit}");
        let what = format!("the number of slots of the input {name}");
        return Err(unfit(what, count, expected));
    }
    let ring = ring_of::<T>(circuit)?;
    if let Some(slot) = slots.iter().position(|v| !v.is_of(ring)) {
        let (what, value) = (format!("slot {slot} of the input {name}"), slots[slot]);
        return Err(unfit(what, format!("{value:?}"), "less than t"));
    }
    Ok(slots.iter().copied().cycle().take(limit).collect())
}

/// Checks that the inputs have the names of the circuit's inputs, and no other names.
pub(super) fn check_names<'a>(
    circuit: &Circuit,
    inputs: impl Iterator<Item = &'a str>,
) -> Result<()> {
    let inputs: Vec<&str> = inputs.collect();
    let names: Vec<&str> = circuit.inputs().map(|(name, _)| name).collect();
    if let Some(missing) = names.iter().find(|name| !inputs.contains(name)) {
        return Err(unfit(
            format!("the input {missing}"),
            "missing",
            "slots or a ciphertext",
        ));
    }
    match inputs.iter().find(|name| !names.contains(name)) {
        Some(unknown) => Err(unfit(
            "an input",
            format!("{unknown:?}"),
            format!("one of {names:?}"),
        )),
        None => Ok(()),
    }
}
