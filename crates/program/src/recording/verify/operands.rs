//! Checks of a step's operands, and of the type of its result.

use super::super::ir::{Ciphertext, Message, Type, ValueId};
use super::factors::coprime;
use super::plain::residual;
use super::{Verifier, data::PackedSlots};
use trace::reading::{Checked, Problem, check};

/// Scales of messages that are added have a relative difference below this.
const SCALES: f64 = 1e-9;

/// A step whose result is a ciphertext of a given type.
pub(super) struct Rule<'v, 'a> {
    pub(super) verifier: &'v Verifier<'a>,
    pub(super) index: usize,
    pub(super) ty: Ciphertext,
}

impl<'a> Verifier<'a> {
    /// Checks the next step.
    pub(super) fn step(&mut self, index: usize) -> Checked<()> {
        let step = &self.recording.steps[index];
        self.new_name(&step.op)?;
        let samples = match step.ty {
            Type::Samples => Some(self.of_samples(index, &step.op)?),
            Type::Ciphertext(ty) => {
                self.ciphertext(ty)?;
                let verifier = &*self;
                Rule {
                    verifier,
                    index,
                    ty,
                }
                .operation(&step.op)?;
                None
            }
        };
        self.samples.push(samples);
        Ok(())
    }

    /// Refuses a type that no ciphertext can have.
    fn ciphertext(&self, ty: Ciphertext) -> Checked<()> {
        let p = &self.recording.parameters;
        let levels = p.q.len();
        check(ty.level < levels, "the level", ty.level, || {
            format!("a level below {levels}, the length of the chain")
        })?;
        let found = ty.components;
        let fits = (2..=3).contains(&found);
        check(fits, "the number of components", found, || "2 or 3")?;
        match ty.message {
            Message::Modulo { t, factor } => {
                let known = self.residues.known(t);
                let expected = || "one of the parameters";
                check(known, "the plaintext modulus", t, expected)?;
                let unit = factor < t && coprime(factor, t);
                let expected = || format!("a unit modulo {t}, less than it");
                check(unit, "the factor", factor, expected)
            }
            Message::Approximate { scale } => {
                let fits = scale.is_normal() && scale > 0.0;
                check(fits, "the scale", scale, || "a positive number")
            }
        }
    }

    /// The type of an earlier ciphertext.
    pub(super) fn value(&self, index: usize, value: ValueId) -> Checked<Ciphertext> {
        let refused = |found: String| {
            let expected = format!("an earlier ciphertext: a number below %{index}");
            Problem::new("an operand", found, expected)
        };
        match self.recording.steps.get(value).map(|step| step.ty) {
            Some(Type::Ciphertext(ty)) if value < index => Ok(ty),
            Some(Type::Samples) if value < index => Err(refused(format!("%{value}, samples"))),
            _ => Err(refused(format!("%{value}"))),
        }
    }

    /// The type of an earlier ciphertext of two components that is not extended.
    pub(super) fn pair(&self, index: usize, value: ValueId) -> Checked<Ciphertext> {
        let ty = self.value(index, value)?;
        components(value, ty, 2)?;
        check(
            !ty.extended,
            format_args!("%{value}"),
            "extended",
            || "one over the limbs of its level alone",
        )?;
        Ok(ty)
    }

    /// The number of rotations of the secret for a number of values.
    pub(super) fn width(&self, values: usize) -> Checked<usize> {
        PackedSlots::new(&self.recording.parameters, values).map(|slots| slots.width)
    }
}

impl Rule<'_, '_> {
    /// Checks the number of components of the result, and that it is extended only if the operation
    /// allows this.
    pub(super) fn result(&self, components: usize, extended: bool) -> Checked<()> {
        let what = "the number of components of the result";
        let found = self.ty.components;
        check(found == components, what, found, || components.to_string())?;
        let name = |extended| match extended {
            true => "extended",
            false => "not extended",
        };
        let found = self.ty.extended;
        check(found == extended, "the result", name(found), || {
            name(extended)
        })
    }

    /// The type of an operand whose message is modulo the plaintext modulus of the result.
    pub(super) fn operand(&self, value: ValueId) -> Checked<Ciphertext> {
        let mut own = self.verifier.value(self.index, value)?;
        let what = format_args!("the message of %{value}");
        own.message = match (own.message, self.ty.message) {
            (Message::Modulo { t: of, factor }, Message::Modulo { t, .. }) => {
                let divides = of.is_multiple_of(t);
                let expected = || format!("modulo {t}, or a multiple of it");
                check(divides, what, format_args!("modulo {of}"), expected)?;
                let factor = factor % t;
                Message::Modulo { t, factor }
            }
            (own @ Message::Approximate { .. }, Message::Approximate { .. }) => own,
            (own, Message::Modulo { t, .. }) => {
                return Err(Problem::new(what, own, format!("modulo {t}")));
            }
            (own, Message::Approximate { .. }) => {
                return Err(Problem::new(what, own, "approximate"));
            }
        };
        Ok(own)
    }

    /// As [`Rule::operand`], for an operand with `count` components that is extended if and only if
    /// the result is.
    pub(super) fn operand_of(&self, value: ValueId, count: usize) -> Checked<Ciphertext> {
        let own = self.operand(value)?;
        components(value, own, count)?;
        self.extended_alike(value, own)?;
        Ok(own)
    }

    /// As [`Rule::operand_of`], with two components and at least the level of the result.
    pub(super) fn factor_of(&self, value: ValueId) -> Checked<Ciphertext> {
        let own = self.operand_of(value, 2)?;
        let fits = own.level >= self.ty.level;
        check(
            fits,
            format_args!("the level of %{value}"),
            own.level,
            || format!("at least {}, that of the result", self.ty.level),
        )?;
        Ok(own)
    }

    /// Checks that an operand has level, components and message of the result, and is extended if
    /// and only if the result is.
    pub(super) fn kept(&self, value: ValueId) -> Checked<()> {
        let own = self.operand_of(value, self.ty.components)?;
        self.same_level(value, own)?;
        self.held_alike(value, own)
    }

    pub(super) fn extended_alike(&self, value: ValueId, own: Ciphertext) -> Checked<()> {
        let limbs = |extended| match extended {
            true => "extended",
            false => "not extended",
        };
        let (found, expected) = (own.extended, self.ty.extended);
        check(
            found == expected,
            format_args!("%{value}"),
            limbs(found),
            || format!("{}, as the result", limbs(expected)),
        )
    }

    pub(super) fn same_level(&self, value: ValueId, own: Ciphertext) -> Checked<()> {
        let (found, expected) = (own.level, self.ty.level);
        let what = format_args!("the level of %{value}");
        check(found == expected, what, found, || {
            format!("{expected}, that of the result")
        })
    }

    /// Checks that an operand's message has the factor or scale of the result's.
    pub(super) fn held_alike(&self, value: ValueId, own: Ciphertext) -> Checked<()> {
        let alike = match (own.message, self.ty.message) {
            (Message::Approximate { scale: own }, Message::Approximate { scale }) => {
                (own / scale - 1.0).abs() < SCALES
            }
            (own, result) => own == result,
        };
        let what = format_args!("the message of %{value}");
        check(alike, what, own.message, || {
            format!("{}, as of the result", self.ty.message)
        })
    }

    /// Checks that an operand's message modulo `t` has the factor of the result's.
    pub(super) fn factor_alike(&self, value: ValueId, own: Ciphertext) -> Checked<()> {
        match own.message {
            Message::Modulo { .. } => self.held_alike(value, own),
            Message::Approximate { .. } => Ok(()),
        }
    }

    /// The factor of an operand after it is dropped to the level of the result. `None` for an
    /// approximate message.
    pub(super) fn at_level(&self, own: Ciphertext) -> Option<u64> {
        let Message::Modulo { t, factor } = own.message else {
            return None;
        };
        let levels = (own.level, self.ty.level);
        Some(self.verifier.residues.dropped(t, factor, levels))
    }

    /// Checks that the result has this factor. An approximate message has none.
    pub(super) fn result_factor(&self, expected: Option<u64>) -> Checked<()> {
        match (self.ty.message, expected) {
            (Message::Modulo { factor, .. }, Some(expected)) => {
                let what = "the factor of the result";
                check(factor == expected, what, factor, || expected.to_string())
            }
            _ => Ok(()),
        }
    }

    /// The plaintext modulus of the result's message.
    pub(super) fn t(&self) -> Checked<u64> {
        residual(self.ty)
    }

    /// Refuses a key that is missing or does not reach a level.
    pub(super) fn key(&self, name: &str, found: Option<usize>, level: usize) -> Checked<()> {
        let special = self.verifier.recording.parameters.p.len();
        let what = "the number of special moduli";
        check(special > 0, what, 0, || "at least 1, for key switching")?;
        let expected = || format!("one that reaches level {level}");
        let what = format_args!("the key for {name}");
        match found {
            None => Err(Problem::new(what, "missing", expected())),
            Some(own) => check(own >= level, what, format_args!("of level {own}"), expected),
        }
    }
}

/// Checks the number of components of an operand.
pub(super) fn components(value: ValueId, own: Ciphertext, expected: usize) -> Checked<()> {
    let found = own.components;
    let what = format_args!("the number of components of %{value}");
    check(found == expected, what, found, || expected.to_string())
}

/// The level of the key for `of`. `None` if there is no such key.
pub(super) fn level_of(keys: &[(usize, usize)], of: usize) -> Option<usize> {
    let mut keys = keys.iter();
    keys.find_map(|&(own, level)| (own == of).then_some(level))
}
