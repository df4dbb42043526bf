//! Checks of plaintexts.

use super::super::ir::{Ciphertext, Message, Packing, Plain, Scalar};
use super::Verifier;
use trace::ConstantId;
use trace::context::ConstantKind;
use trace::reading::{Checked, Problem, check};

impl Verifier<'_> {
    /// Checks that a plaintext can be a factor or a term of values of a type. Step `index` uses it.
    pub(super) fn plain(&self, index: usize, plain: Plain, ty: Ciphertext) -> Checked<()> {
        if let Plain::Integers(constant, by) = plain {
            self.context.words(constant)?;
            return self.scalar(by);
        }
        let t = residual(ty)?;
        check(
            !ty.extended,
            "the plaintext",
            "one modulo t",
            || "integers: the value is extended",
        )?;
        match plain {
            Plain::Coefficients(constant) => self.residues(constant, t),
            Plain::Slots(constant) => {
                let order = 2 * self.recording.parameters.n as u64;
                check(t % order == 1, "the plaintext modulus", t, || {
                    format!("1 modulo {order}, for slots")
                })?;
                self.residues(constant, t)
            }
            Plain::Rounded {
                value,
                component,
                unit,
            } => {
                let rounded = self.pair(index, value)?;
                let found = rounded.level;
                check(found == 0, "the level of what is rounded", found, || "0")?;
                check(component < 2, "the component", component, || "0 or 1")?;
                self.unit(unit, t)
            }
            Plain::Blocks { value, component } => {
                let known = self.samples.get(value).copied().flatten();
                let found = format!("%{value}");
                let expected = || format!("earlier samples modulo {t}");
                check(known == Some(t), "the samples of blocks", found, expected)?;
                let samples = self.recording.parameters.samples;
                let dimension = samples.map_or(0, |samples| samples.dimension);
                let rows = "at least 2, for blocks in two rows";
                check(dimension > 1, "the LWE dimension", dimension, || rows)?;
                check(component < 2, "the component", component, || "0 or 1")
            }
            Plain::Integers(..) => unreachable!("integers are checked above"),
        }
    }

    /// Checks that a constant has `N` residues modulo `t`. They may be negative.
    fn residues(&self, constant: ConstantId, t: u64) -> Checked<()> {
        if let ConstantKind::Words { least, greatest } = self.context.words(constant)? {
            for word in [least, greatest] {
                let fits = word.unsigned_abs() < t;
                check(fits, format_args!("a word of @{constant}"), word, || {
                    format!("a number above -{t} and below {t}")
                })?;
            }
        }
        Ok(())
    }

    /// Checks that a word is a residue modulo `t`.
    pub(super) fn unit(&self, unit: u64, t: u64) -> Checked<()> {
        check(unit < t, "a unit", unit, || format!("less than {t}"))
    }

    /// Checks that a number is divided by 1 or by a plaintext modulus.
    pub(super) fn scalar(&self, by: Scalar) -> Checked<()> {
        let fits = by.over == 1 || self.residues.known(by.over);
        let expected = || "1, or a plaintext modulus of the parameters";
        check(fits, "the divisor", by.over, expected)
    }

    /// Checks that a constant is a list of integers.
    pub(super) fn list(&self, constant: ConstantId) -> Checked<()> {
        let is_list = self.context.shape(constant)? == ConstantKind::List;
        let found = format!("@{constant}, words");
        check(is_list, "the constant", found, || "a list")
    }

    /// Returns the packing with a number. All its sources must be earlier samples modulo `t`.
    pub(super) fn packing(&self, id: usize, t: u64) -> Checked<&Packing> {
        let packings = &self.recording.packings;
        let packing = packings.get(id).ok_or_else(|| {
            let expected = format!("a number below {}", packings.len());
            Problem::new("the packing", id, expected)
        })?;
        for &source in &packing.sources {
            let made = self.samples.get(source).copied().flatten();
            let found = format!("%{source}");
            let expected = || format!("earlier samples modulo {t}");
            check(made == Some(t), "a source of the packing", found, expected)?;
        }
        Ok(packing)
    }
}

/// The plaintext modulus of a message.
pub(super) fn residual(ty: Ciphertext) -> Checked<u64> {
    match ty.message {
        Message::Modulo { t, .. } => Ok(t),
        Message::Approximate { .. } => {
            let expected = "one with a plaintext modulus";
            Err(Problem::new("the message", ty.message, expected))
        }
    }
}
