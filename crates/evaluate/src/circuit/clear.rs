//! The run of a circuit in the clear.

use super::fold::{Current, Meaning, Values, fold};
use super::scheme::Slot;
use super::unfit;
use crate::error::Result;
use ckks::Complex64;
use program::circuit::{Circuit, Effect, Permutation, ValueId};
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
    fold(circuit, &mut Clear { circuit, inputs })
}

/// The meaning of operations for slots.
pub(super) struct Clear<'a, T> {
    /// The circuit, with every iteration written out.
    pub(super) circuit: &'a Circuit,
    /// The slots of all inputs by name.
    pub(super) inputs: &'a Slots<T>,
}

impl<T: Slot> Meaning for Clear<'_, T> {
    type Value = Vec<T>;

    fn step(&mut self, step: &Current<'_>, values: &mut Values<Vec<T>>) -> Result<Vec<T>> {
        self.slots(step, |value| values.get(value))
    }
}

impl<T: Slot> Clear<'_, T> {
    /// The slots of a step's value. `operand` returns the slots of an operand.
    ///
    /// # Errors
    /// The errors of [`run_clear`].
    pub(super) fn slots<'v>(
        &self,
        step: &Current<'_>,
        operand: impl Fn(ValueId) -> &'v Vec<T>,
    ) -> Result<Vec<T>>
    where
        T: 'v,
    {
        let circuit = self.circuit;
        let ring = ring_of::<T>(circuit)?;
        let zip = |left: ValueId, right: ValueId| operand(left).iter().zip(operand(right));
        Ok(match step.effect {
            Effect::Input { name } => {
                let input = self.inputs.get(name).map(Vec::as_slice);
                repeated(circuit, name, input.unwrap_or_default())?
            }
            Effect::Constant { constant } => {
                let values = constant_slots(circuit, constant)?;
                values.into_iter().cycle().take(circuit.slots).collect()
            }
            Effect::Sum { left, right, minus } => {
                let terms = zip(left, right);
                match minus {
                    true => terms.map(|(a, &b)| a.minus(ring, b)).collect(),
                    false => terms.map(|(a, &b)| a.plus(ring, b)).collect(),
                }
            }
            Effect::Products { terms } => {
                let mut sums = vec![T::ZERO; circuit.slots];
                for &[left, right] in terms {
                    for (sum, (a, &b)) in sums.iter_mut().zip(zip(left, right)) {
                        *sum = sum.plus(ring, a.times(ring, b));
                    }
                }
                sums
            }
            Effect::Unary { value, change } => {
                let mut slots = operand(value).clone();
                if let Some(permutation) = change.permutation() {
                    permute(&mut slots, permutation, circuit.row());
                }
                let number = change.multiplier(circuit.ty(value), step.ty);
                if number != 1.0 {
                    slots.iter_mut().for_each(|x| *x = x.scaled(ring, number));
                }
                slots
            }
        })
    }
}

/// Permutes slots in rows of `row` slots.
fn permute<T: Slot>(slots: &mut [T], permutation: Permutation, row: usize) {
    match permutation {
        Permutation::Rotation { steps } => {
            let rows = slots.chunks_exact_mut(row);
            rows.for_each(|row| row.rotate_left(steps));
        }
        Permutation::Conjugation => slots.iter_mut().for_each(|x| *x = x.conjugate()),
        Permutation::RowSwap => slots.rotate_left(row),
    }
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
