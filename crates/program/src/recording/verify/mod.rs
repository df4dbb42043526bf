//! The verifier. In a recording that it accepts, all values have types, and all names refer to
//! something that exists.

mod data;
mod factors;
mod operands;
mod operation;
mod plain;

use super::ir::{Op, Parameters, Recording};
use super::site::{Fault, Head, Site, recorded};
use crate::error::Result;
use factors::Residues;
use std::collections::{HashMap, HashSet};
use trace::Limbs;
use trace::context::Context;
use trace::reading::{Checked, Problem, check};

/// Bits of a digit of the dimension switch, as for [`Op::Digit`](trace::Op::Digit).
const DIGIT_BITS: std::ops::RangeInclusive<u32> = 1..=30;

impl Recording {
    /// Checks parameters, keys, constants, packings and every operation.
    ///
    /// - The ring degree is a power of two. Moduli are odd, below `2^60` and different. Moduli of
    ///   limbs are 1 modulo `2N`. Digits cut the chain in order. The crates that compute check that
    ///   moduli are prime.
    /// - Every value is made before its use, and has the level and the components that its
    ///   operation gives it. Only `raise` raises a level. Messages that are added have the same
    ///   factor or scale.
    /// - A factor follows from the operation and the factors of its operands. The numbers of
    ///   [`Plain::Integers`](super::Plain) and of `scale` may belong to the message or to its
    ///   factor, so their results may have any factor.
    /// - Keys exist, at a level that is at least that of the operand. An RGSW ciphertext has the
    ///   same level everywhere.
    /// - Names of input ciphertexts and results are words as in traces, and are different.
    ///
    /// # Errors
    /// [`Error::Recorded`](crate::Error::Recorded) with the first part that breaks a rule.
    pub fn verify(&self) -> Result<()> {
        let refused = |fault: Fault| recorded(fault.problem, None, self.part(fault.site));
        self.check().map_err(refused)
    }

    pub(super) fn check(&self) -> std::result::Result<(), Fault> {
        let at = |site| move |problem| Fault { site, problem };
        let head = |head| at(Site::Head(head));
        let p = &self.parameters;
        let mut context = Context::new(p.n).map_err(head(Head::Ring))?;
        moduli(&mut context, &p.q).map_err(head(Head::Moduli))?;
        let found = p.q.len();
        check(found > 0, "the number of moduli", found, || "at least 1")
            .map_err(head(Head::Moduli))?;
        moduli(&mut context, &p.p).map_err(head(Head::Special))?;
        let limbs = Limbs::from(0..p.q.len() + p.p.len());
        let limbs = context.transforms(&limbs);
        limbs.map_err(head(Head::Moduli))?;
        digits(p).map_err(head(Head::Digits))?;
        moduli(&mut context, &p.t).map_err(head(Head::Plain))?;
        samples(p).map_err(head(Head::Samples))?;
        self.keys(head)?;
        for (id, constant) in self.constants.iter().enumerate() {
            let added = context.add_constant(constant);
            added.map_err(at(Site::Constant(id)))?;
        }
        for (id, packing) in self.packings.iter().enumerate() {
            data::packing(p, packing).map_err(at(Site::Packing(id)))?;
        }
        let mut verifier = Verifier {
            recording: self,
            residues: Residues::new(p),
            context,
            samples: Vec::with_capacity(self.steps.len()),
            names: HashSet::new(),
            factors: HashMap::new(),
        };
        for index in 0..self.steps.len() {
            verifier.step(index).map_err(at(Site::Step(index)))?;
        }
        Ok(())
    }

    fn keys<F: FnOnce(Problem) -> Fault>(
        &self,
        head: impl Fn(Head) -> F,
    ) -> std::result::Result<(), Fault> {
        let (keys, levels) = (&self.keys, self.parameters.q.len());
        let level = |level: usize| {
            let expected = || format!("a level below {levels}, the length of the chain");
            check(level < levels, "the level of a key", level, expected)
        };
        let relinearization = keys.relinearization.map_or(Ok(()), level);
        relinearization.map_err(head(Head::Relinearization))?;
        for (at, list) in [
            (Head::Galois, &keys.galois),
            (Head::PackingKeys, &keys.packing),
        ] {
            let mut seen = HashSet::new();
            for &(of, own) in list {
                let new = seen.insert(of);
                let found = level(own).and_then(|()| {
                    let expected = || "one that has no key yet";
                    check(new, "what a key is for", of, expected)
                });
                found.map_err(head(at))?;
            }
        }
        Ok(())
    }
}

/// The state of a verification before a step: the recording, and the facts that earlier steps add.
struct Verifier<'a> {
    recording: &'a Recording,
    residues: Residues,
    context: Context,
    /// The plaintext modulus of each step's samples, if it makes samples.
    samples: Vec<Option<u64>>,
    /// Inputs, input ciphertexts with names, and results so far.
    names: HashSet<Name<'a>>,
    /// Levels of RGSW ciphertexts so far, by name.
    factors: HashMap<&'a str, usize>,
}

/// The name of an operation that may occur only once in a recording.
#[derive(PartialEq, Eq, Hash)]
enum Name<'a> {
    Input(usize),
    Given(&'a str),
    PackingKey(usize, usize),
    Output(&'a str),
}

impl<'a> Verifier<'a> {
    /// Refuses an input, a named input or a result that occurs a second time.
    fn new_name(&mut self, op: &'a Op) -> Checked<()> {
        let (name, shown) = match op {
            Op::Input { index } => (Name::Input(*index), index.to_string()),
            Op::Given { name } => (Name::Given(name), name.clone()),
            Op::PackingKey { values, index } => {
                let name = Name::PackingKey(*values, *index);
                (name, format!("{values}/{index}"))
            }
            Op::Output { name, .. } => (Name::Output(name), name.clone()),
            Op::ExternalProduct { by, .. } => {
                let known = *self.factors.entry(&by.name).or_insert(by.level);
                let what = format_args!("the level of the RGSW ciphertext {}", by.name);
                return check(known == by.level, what, by.level, || {
                    format!("{known}, as before")
                });
            }
            _ => return Ok(()),
        };
        let new = self.names.insert(name);
        check(new, "the name", shown, || "one that is not there before")
    }
}

fn moduli(context: &mut Context, moduli: &[u64]) -> Checked<()> {
    moduli.iter().try_for_each(|&q| context.add_modulus(q))
}

/// Checks that each digit begins where the one before it ends, and that the last one ends with the
/// chain.
fn digits(p: &Parameters) -> Checked<()> {
    let mut end = 0;
    for digit in &p.digits {
        let found = format!("{}..{}", digit.start, digit.end);
        let fits = digit.start == end && digit.end > end;
        let expected = || format!("one that begins at {end} and is not empty");
        check(fits, "a digit", found, expected)?;
        end = digit.end;
    }
    let all = p.q.len();
    // Without special moduli there is no key switching.
    let none = p.p.is_empty() && p.digits.is_empty();
    check(end == all || none, "the end of the digits", end, || {
        format!("{all}, the length of the chain")
    })
}

fn samples(p: &Parameters) -> Checked<()> {
    let Some(samples) = p.samples else {
        return Ok(());
    };
    let (dimension, bits) = (samples.dimension, samples.digit_bits);
    let divides = dimension > 0 && p.n.is_multiple_of(dimension);
    check(divides, "the LWE dimension", dimension, || {
        format!("a divisor of {}, the ring degree", p.n)
    })?;
    let fits = DIGIT_BITS.contains(&bits);
    check(fits, "the bits of a digit", bits, || "1 to 30")
}
