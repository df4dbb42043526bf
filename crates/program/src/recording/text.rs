//! The text form: one line for each parameter, key, constant, packing and operation. For display
//! and for diffs.
//!
//! ```text
//! palladion-recording/1
//! ring 32
//! moduli 193 257
//! special 449
//! digits 0..1 1..2
//! plain 641
//! samples none
//! relinearization 1
//! galois 5:1
//! packing_keys
//! @0 = repeat 2: 1 0
//! step 0:
//!   %0 = input 0 : level 1, factor 1
//!   %1 = tensor %0*%0 : level 1, factor 254, 3 components
//!   %2 = relinearize %1 : level 0, factor 254
//! step 1:
//!   %3 = add_plain %2 slots @0 : level 0, factor 254
//!   %4 = output 0 %3 : level 0, factor 254
//! end
//! ```
//!
//! Galois elements and sizes of packings are written with the level of their key. If a type names
//! no plaintext modulus, its message is modulo the first one. A scale is a number from 1 to 2,
//! written so that it reads back exactly, times a power of two. Empty lines and lines that begin
//! with `#` are ignored.

use super::ir::{Ciphertext, Message, Packing, Plain, Recording, Scalar, Secret, Type};
use std::fmt::{Display, Formatter, Result};
use trace::list;
use trace::reading::END;

/// First line of a text.
pub(super) const HEADER: &str = "palladion-recording/1";

impl Display for Recording {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        self.head(f)?;
        for (id, constant) in self.constants.iter().enumerate() {
            writeln!(f, "@{id} = {constant}")?;
        }
        for (id, packing) in self.packings.iter().enumerate() {
            writeln!(f, "packing {id} = {packing}")?;
        }
        let (mut of, plain) = (None, self.parameters.t.first().copied());
        for (id, step) in self.steps.iter().enumerate() {
            if of != Some(step.of) {
                of = Some(step.of);
                writeln!(f, "step {}:", step.of)?;
            }
            write!(f, "  %{id} = {} : ", step.op)?;
            match step.ty {
                Type::Samples => f.write_str("samples")?,
                Type::Ciphertext(ty) => ciphertext(f, ty, plain)?,
            }
            writeln!(f)?;
        }
        writeln!(f, "{END}")
    }
}

impl Recording {
    /// Writes parameters and keys.
    fn head(&self, f: &mut Formatter<'_>) -> Result {
        let (p, keys) = (&self.parameters, &self.keys);
        write!(f, "{HEADER}\nring {}\nmoduli", p.n)?;
        list(f, " ", &p.q)?;
        f.write_str("\nspecial")?;
        list(f, " ", &p.p)?;
        f.write_str("\ndigits")?;
        for digit in &p.digits {
            write!(f, " {}..{}", digit.start, digit.end)?;
        }
        f.write_str("\nplain")?;
        list(f, " ", &p.t)?;
        match p.samples {
            None => f.write_str("\nsamples none")?,
            Some(samples) => {
                let (dimension, bits) = (samples.dimension, samples.digit_bits);
                write!(f, "\nsamples dimension {dimension} bits {bits}")?;
            }
        }
        match keys.relinearization {
            None => f.write_str("\nrelinearization none")?,
            Some(level) => write!(f, "\nrelinearization {level}")?,
        }
        for (name, keys) in [("galois", &keys.galois), ("packing_keys", &keys.packing)] {
            write!(f, "\n{name}")?;
            for (of, level) in keys {
                write!(f, " {of}:{level}")?;
            }
        }
        writeln!(f)
    }
}

impl Display for Packing {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "values {} baby {}", self.values, self.baby_steps)?;
        f.write_str(" sources")?;
        list(f, " %", &self.sources)?;
        f.write_str(" samples")?;
        for sum in &self.samples {
            f.write_str(if sum.is_empty() { " -" } else { " " })?;
            for (index, [source, coefficient]) in sum.iter().enumerate() {
                let plus = if index > 0 { "+" } else { "" };
                write!(f, "{plus}{source}:{coefficient}")?;
            }
        }
        Ok(())
    }
}

impl Display for Type {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match *self {
            Self::Samples => f.write_str("samples"),
            Self::Ciphertext(ty) => ciphertext(f, ty, None),
        }
    }
}

/// Writes the type of a ciphertext, without the plaintext modulus if it is the given one.
fn ciphertext(f: &mut Formatter<'_>, ty: Ciphertext, plain: Option<u64>) -> Result {
    write!(f, "level {}, ", ty.level)?;
    match ty.message {
        Message::Modulo { t, factor } if plain == Some(t) => write!(f, "factor {factor}")?,
        message => write!(f, "{message}")?,
    }
    if ty.extended {
        f.write_str(", extended")?;
    }
    match ty.components {
        2 => Ok(()),
        components => write!(f, ", {components} components"),
    }
}

impl Display for Message {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Modulo { t, factor } => write!(f, "factor {factor} modulo {t}"),
            Self::Approximate { scale } if scale.is_normal() && *scale > 0.0 => {
                let bits = scale.to_bits();
                let exponent = (bits >> 52) as i64 - 1023;
                match f64::from_bits(bits & ((1 << 52) - 1) | 1023 << 52) {
                    1.0 => write!(f, "scale 2^{exponent}"),
                    part => write!(f, "scale {part}*2^{exponent}"),
                }
            }
            // The verifier refuses such a scale.
            Self::Approximate { scale } => write!(f, "scale {scale}"),
        }
    }
}

impl Display for Plain {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Coefficients(constant) => write!(f, "coefficients @{constant}"),
            Self::Slots(constant) => write!(f, "slots @{constant}"),
            Self::Rounded {
                value,
                component,
                unit,
            } => write!(f, "rounded %{value}/{component}*{unit}"),
            Self::Blocks { value, component } => write!(f, "blocks %{value}/{component}"),
            Self::Integers(constant, Scalar::ONE) => write!(f, "integers @{constant}"),
            Self::Integers(constant, by) => write!(f, "integers @{constant}*{by}"),
        }
    }
}

impl Display for Scalar {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{}", self.integer)?;
        if self.shift > 0 {
            write!(f, "*2^{}", self.shift)?;
        }
        if self.over != 1 {
            write!(f, "/{}", self.over)?;
        }
        Ok(())
    }
}

impl Display for Secret {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self {
            Self::Sparse => "sparse",
            Self::Dense => "dense",
        })
    }
}
