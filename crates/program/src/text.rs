//! The text form of a program. Each step has one line. Constants are shown by name, size and
//! checksum, so that a diff of two programs shows each change.

use crate::ir::{Constant, Form, Op, Program, Type};
use std::fmt::{Display, Formatter, Result};

impl Display for Program {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let p = &self.parameters;
        let bits = |moduli: &[u64]| {
            let sizes: Vec<String> = moduli
                .iter()
                .map(|q| (64 - q.leading_zeros()).to_string())
                .collect();
            sizes.join(" ")
        };
        writeln!(f, "program {} batch {}", self.name, self.batch)?;
        writeln!(
            f,
            "  ring N = {}, t = {}, log QP = {:.1}",
            p.n,
            p.t,
            p.log_qp()
        )?;
        writeln!(
            f,
            "  chain of {} bits, special {} bits, {} limbs per digit",
            bits(&p.q),
            bits(&p.p),
            p.digit_limbs
        )?;
        writeln!(f, "  LWE dimension {}", p.lwe_dimension)?;
        for (id, constant) in self.constants.iter().enumerate() {
            writeln!(f, "  @{id} = {constant}")?;
        }
        let mut layer = "";
        for (id, step) in self.steps.iter().enumerate() {
            if step.layer != layer {
                layer = &step.layer;
                writeln!(f, "{layer}:")?;
            }
            writeln!(f, "  %{id} = {} : {}", step.op, step.ty)?;
        }
        Ok(())
    }
}

impl Display for Constant {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let hash = checksum(self.values.iter().flat_map(|v| v.to_le_bytes()));
        write!(f, "{} [{}] #{:08x}", self.name, self.values.len(), hash)
    }
}

impl Display for Type {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Samples => f.write_str("samples"),
            Self::Ciphertext {
                form,
                level,
                noise_bits,
            } => {
                match form {
                    Form::Coefficients => f.write_str("coefficients")?,
                    Form::Slots(values) => write!(f, "slots of {values}")?,
                }
                write!(f, ", level {level}, noise 2^{noise_bits:.1}")
            }
        }
    }
}

impl Display for Op {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(self.name())?;
        match self.operands().as_slice() {
            [] => {}
            [one] => write!(f, " %{one}")?,
            [first, .., last] => write!(f, " %{first} .. %{last}")?,
        }
        match self.constants().as_slice() {
            [] => {}
            [one] => write!(f, ", @{one}")?,
            [first, .., last] => write!(f, ", @{first} .. @{last}")?,
        }
        match self {
            Self::Input { index } => write!(f, " {index}"),
            Self::Pack {
                values,
                start_level,
                ..
            } => write!(f, ", {} values, from level {start_level}", values.len()),
            Self::PackAll {
                outputs,
                batch,
                start_level,
                ..
            } => {
                let values = outputs.len() * batch;
                write!(f, ", {values} values, from level {start_level}")
            }
            Self::Table { shape, indices, .. } => {
                let ([a, b, c], border) = (shape.digits, indices.border);
                write!(f, ", {} segments of {a} x {b} x {c}", shape.segments)?;
                write!(f, ", up to {} and {border} with noise", indices.bound)
            }
            Self::SlotsToCoefficients {
                kept: Some([from, to]),
                ..
            } => write!(f, ", coefficients {from} to {}", to - 1),
            Self::Merge { sources } => write!(f, ", {} sources", sources.len()),
            Self::Dense { rows, inputs, .. } => {
                write!(f, ", {} outputs of {inputs} inputs", rows.len())
            }
            Self::Output { rows, flood, .. } => {
                write!(f, ", {} values", rows.len())?;
                match flood {
                    Some(flood) => write!(f, ", flood of 2^{}", flood.bits),
                    None => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }
}

/// The upper half of FNV-1a. It is enough to show a change, and nothing depends on it.
pub(crate) fn checksum(bytes: impl Iterator<Item = u8>) -> u32 {
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325u64, |h, b| {
        (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3)
    });
    (hash >> 32) as u32
}
