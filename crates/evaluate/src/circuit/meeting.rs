//! The common secret of a run's inputs and keys, and the known sizes of its approximate messages. A
//! run refuses a message that does not fit.

use super::border::Border;
use super::clear::repeated;
use super::fold::{Current, Meaning, Values, fold};
use super::runner::Argument;
use super::scheme::Scheme;
use super::unfit;
use crate::error::Result;
use ckks::{Complex64, Params, Size};
use exchange::circuit::Keys;
use program::circuit::{Change, Circuit, Effect, Op, Permutation, Type};
use rlwe::KeyId;
use std::collections::BTreeMap;

/// The common secret of the inputs and keys of a run, and the sizes of its outputs.
pub struct Meeting {
    pub(super) key: KeyId,
    pub(super) sizes: BTreeMap<String, Size>,
}

impl<S: Scheme> Border<'_, S> {
    /// Checks before a run that its inputs and keys belong to one secret, and that messages fit, as
    /// far as their sizes are known.
    ///
    /// # Errors
    /// [`rlwe::Error::KeyMismatch`], and [`Error::Circuit`](crate::Error::Circuit) for a message
    /// that does not fit.
    pub fn meet(&self, inputs: &BTreeMap<&str, Argument<S>>, keys: &Keys) -> Result<Meeting> {
        let mut key = keys.id();
        for (index, step) in self.circuit.steps.iter().enumerate() {
            if let Op::Input { name } = &step.op
                && let Some(Argument::Ciphertext(ct)) = inputs.get(name.as_str())
            {
                let ct = self.encrypted_input(index, name, ct)?;
                let joined = key.join("input of the circuit", ct.key());
                key = joined.map_err(|error| {
                    circuits::Error::from(bfv::Error::from(rlwe::Error::from(error)))
                })?;
            }
        }
        let sizes = self.params.sizes(&self.circuit, inputs)?;
        Ok(Meeting { key, sizes })
    }
}

/// The sizes of the outputs of a circuit. Empty if no input has a known size.
///
/// # Errors
/// [`Error::Circuit`](crate::Error::Circuit) for a message that does not fit the modulus at its
/// scale and level, as in [`predict`](super::predict).
pub(super) fn sizes(
    params: &Params,
    circuit: &Circuit,
    inputs: &BTreeMap<&str, Argument<Params>>,
) -> Result<BTreeMap<String, Size>> {
    let known = |argument: &Argument<Params>| match argument {
        Argument::Ciphertext(ct) => ct.size().is_known(),
        Argument::Plain(_) => false,
    };
    if !inputs.values().any(known) {
        return Ok(BTreeMap::new());
    }
    let mut meaning = Sizes {
        params,
        circuit,
        inputs,
    };
    fold(circuit, &mut meaning)
}

/// The meaning of operations for the sizes of messages.
struct Sizes<'a> {
    params: &'a Params,
    circuit: &'a Circuit,
    inputs: &'a BTreeMap<&'a str, Argument<'a, Params>>,
}

impl Meaning for Sizes<'_> {
    type Value = Size;

    fn step(&mut self, step: &Current<'_>, values: &mut Values<Size>) -> Result<Size> {
        let (params, circuit) = (self.params, self.circuit);
        let get = |value: usize| *values.get(value);
        let size = match step.effect {
            Effect::Input { name } => match self.inputs.get(name) {
                Some(Argument::Ciphertext(ct)) => ct.size(),
                Some(Argument::Plain(slots)) => Size::of_slots(&repeated(circuit, name, slots)?),
                None => Size::UNKNOWN,
            },
            Effect::Constant { constant } => {
                let numbers = circuit.constants[constant].values.iter();
                Size::of_slots(&numbers.map(|&v| v.into()).collect::<Vec<Complex64>>())
            }
            Effect::Sum { left, right, minus } => match minus {
                true => get(left).minus(get(right)),
                false => get(left).plus(get(right)),
            },
            Effect::Products { terms } => {
                let products = terms.iter().map(|&[left, right]| {
                    if left == right {
                        get(left).squared()
                    } else {
                        get(left).times(get(right))
                    }
                });
                products.reduce(Size::plus).unwrap_or(Size::at_most(0.0))
            }
            Effect::Unary { value, change } => {
                let (size, ty) = (get(value), circuit.ty(value));
                if change == Change::Refreshed {
                    let room = (log_q(params, ty) - 1.0 - ty.scale.log2()).exp2();
                    size.refreshed(room, params.n())?
                } else if change.permutation() == Some(Permutation::Conjugation) {
                    size.conjugated()
                } else {
                    match change.multiplier(ty, step.ty) {
                        1.0 => size,
                        number => size.scaled(number),
                    }
                }
            }
        };
        check_room(params, step, size)?;
        Ok(size)
    }
}

/// log2 of the modulus of a value.
fn log_q(params: &Params, ty: Type) -> f64 {
    params.rlwe().log_q(params.ring_level(ty.level))
}

/// Checks that a message fits its modulus, as [`predict`](super::predict) does, by the smallest
/// possible size of its largest slot.
fn check_room(params: &Params, step: &Current<'_>, size: Size) -> Result<()> {
    let (index, ty, op) = (step.index, step.ty, step.op);
    let bits = (size.least_largest() * ty.scale).log2() + 1.0;
    let limit = log_q(params, ty);
    if bits < limit {
        return Ok(());
    }
    let what = format!("the message of step %{index} ({}) at its scale", op.name());
    let expected = format!("less than {limit:.1}, which level {} holds", ty.level);
    Err(unfit(what, format!("{bits:.1} bits or more"), expected))
}
