//! The context of an instruction: the moduli, constants and sub-traces that it can refer to.

use super::ir::{Body, Constant, ConstantId, Domain, ModulusId, Type};
use super::limbs::Limbs;
use crate::reading::{Checked, Problem, check};
use std::collections::HashSet;

/// Bounds of the ring degree: the kernels work on 16 words at a time, and security tables end at
/// `2^17`.
const MIN_DEGREE: usize = 1 << 4;
const MAX_DEGREE: usize = 1 << 17;
/// Bound of odd moduli.
const MAX_MODULUS: u64 = 1 << 60;
/// Exponents allowed for powers of two. Residues are words of 64 bits.
const POWERS: std::ops::RangeInclusive<u32> = 1..=64;

/// The parts of a trace before an instruction, as far as its types depend on them.
#[derive(Clone, Debug)]
pub struct Context {
    n: usize,
    moduli: Vec<u64>,
    known: HashSet<u64>,
    /// Exponents of the powers of two, which come after the odd moduli.
    powers: Vec<u32>,
    constants: Vec<ConstantKind>,
    subs: Vec<Signature>,
}

/// The kind of a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConstantKind {
    /// `N` words. All are between `least` and `greatest`.
    Words {
        /// Smallest word.
        least: i64,
        /// Largest word.
        greatest: i64,
    },
    /// Any number of integers.
    List,
}

/// Types of a sub-trace's parameters and results.
#[derive(Clone, Debug)]
pub struct Signature {
    /// Types of the parameters.
    pub parameters: Vec<Type>,
    /// Types of the results.
    pub results: Vec<Type>,
}

impl Context {
    /// A context of ring degree `n`, a power of two from 2^4 to 2^17, without moduli.
    pub fn new(n: usize) -> Checked<Self> {
        let degrees = MIN_DEGREE..=MAX_DEGREE;
        check(
            n.is_power_of_two() && degrees.contains(&n),
            "the ring degree",
            n,
            || format!("a power of two from {MIN_DEGREE} to {MAX_DEGREE}"),
        )?;
        Ok(Self {
            n,
            moduli: Vec::new(),
            known: HashSet::new(),
            powers: Vec::new(),
            constants: Vec::new(),
            subs: Vec::new(),
        })
    }

    /// The ring degree.
    pub fn n(&self) -> usize {
        self.n
    }

    /// The odd moduli.
    pub fn moduli(&self) -> &[u64] {
        &self.moduli
    }

    /// Adds an odd modulus below 2^60. All odd moduli come before all powers of two.
    pub fn add_modulus(&mut self, q: u64) -> Checked<()> {
        let fits = q > 1 && q < MAX_MODULUS && !q.is_multiple_of(2) && self.known.insert(q);
        let (id, powers) = (self.moduli.len(), self.powers.len());
        let expected = || "one that is added before all powers of two";
        check(powers == 0, format_args!("modulus {id}"), q, expected)?;
        check(
            fits,
            format_args!("modulus {id}"),
            q,
            || "an odd number above 1 and below 2^60 that is not in the table yet",
        )?;
        self.moduli.push(q);
        Ok(())
    }

    /// Exponents of the moduli that are powers of two.
    pub fn powers(&self) -> &[u32] {
        &self.powers
    }

    /// Adds the modulus `2^bits`, with `bits` from 1 to 64.
    pub fn add_power(&mut self, bits: u32) -> Checked<()> {
        let fits = POWERS.contains(&bits) && !self.powers.contains(&bits);
        let (what, found) = (format!("modulus {}", self.len()), format_args!("2^{bits}"));
        check(
            fits,
            what,
            found,
            || "a power of two from 2^1 to 2^64 that is not in the table yet",
        )?;
        self.powers.push(bits);
        Ok(())
    }

    /// Length of the table of moduli.
    fn len(&self) -> usize {
        self.moduli.len() + self.powers.len()
    }

    /// The exponent of a modulus of the table, if it is a power of two.
    pub fn power(&self, id: ModulusId) -> Option<u32> {
        let place = id.checked_sub(self.moduli.len())?;
        self.powers.get(place).copied()
    }

    /// Refuses limbs whose moduli are powers of two.
    pub fn no_powers(&self, limbs: &Limbs) -> Checked<()> {
        match limbs.iter().find_map(|id| Some((id, self.power(id)?))) {
            None => Ok(()),
            Some((id, bits)) => {
                let what = format!("modulus {id}");
                Err(Problem::new(what, format!("2^{bits}"), "an odd one"))
            }
        }
    }

    /// Adds a constant, and checks it: number of words, places, the constant that it refers to.
    pub fn add_constant(&mut self, constant: &Constant) -> Checked<()> {
        let of = |values: &mut dyn Iterator<Item = i64>| {
            let (mut least, mut greatest) = (i64::MAX, i64::MIN);
            values.for_each(|v| (least, greatest) = (least.min(v), greatest.max(v)));
            ConstantKind::Words { least, greatest }
        };
        let shape = match constant {
            Constant::Words(words) => {
                let expected = || format!("{}, the ring degree", self.n);
                let len = words.len();
                check(len == self.n, "the number of words", len, expected)?;
                of(&mut words.iter().copied())
            }
            Constant::Sparse(words) => {
                if let Some(pair) = words.windows(2).find(|pair| pair[0].0 >= pair[1].0) {
                    let expected = format!("more than {}, the one before it", pair[0].0);
                    return Err(Problem::new("a place", pair[1].0, expected));
                }
                if let Some(&(place, _)) = words.last() {
                    check(place < self.n, "a place", place, || self.below_degree())?;
                }
                let zero = (words.len() < self.n).then_some(0);
                of(&mut words.iter().map(|&(_, word)| word).chain(zero))
            }
            Constant::Repeat { run, values } => {
                check(*run > 0, "the run", run, || "at least 1")?;
                let len = values.len();
                check(len > 0, "the number of values", len, || "at least 1")?;
                of(&mut values.iter().copied())
            }
            Constant::Turn { of, steps } => {
                let shape = self.words(*of)?;
                let expected = || format!("less than {}, the columns", self.n / 2);
                check(*steps < self.n / 2, "the number of steps", steps, expected)?;
                shape
            }
            Constant::List(_) => ConstantKind::List,
        };
        self.constants.push(shape);
        Ok(())
    }

    /// Adds a sub-trace, which later bodies can call.
    pub fn add_sub(&mut self, body: &Body, results: Vec<Type>) {
        self.subs.push(Signature {
            parameters: body.parameters.clone(),
            results,
        });
    }

    /// Types of a sub-trace that stands before the caller.
    pub fn sub(&self, id: usize) -> Checked<&Signature> {
        self.subs.get(id).ok_or_else(|| {
            let expected =
                "one that stands before the caller: ".to_owned() + &below(self.subs.len());
            Problem::new("the sub-trace", format!("number {id}"), expected)
        })
    }

    /// The modulus of a number, which may be 2^64.
    pub fn modulus(&self, id: ModulusId) -> Checked<u128> {
        let odd = self.moduli.get(id).map(|&q| u128::from(q));
        let found = odd.or_else(|| self.power(id).map(|bits| 1 << bits));
        found.ok_or_else(|| {
            let expected = below(self.len());
            Problem::new("the modulus", format!("number {id}"), expected)
        })
    }

    /// Returns the kind of an earlier constant.
    pub fn shape(&self, id: ConstantId) -> Checked<ConstantKind> {
        self.constants.get(id).copied().ok_or_else(|| {
            let expected =
                "a constant that stands before: ".to_owned() + &below(self.constants.len());
            Problem::new("the constant", format!("@{id}"), expected)
        })
    }

    /// Returns the kind of an earlier constant, which must have `N` words.
    pub fn words(&self, id: ConstantId) -> Checked<ConstantKind> {
        match self.shape(id)? {
            ConstantKind::List => {
                let found = format!("@{id}, a list");
                Err(Problem::new("the constant", found, "one of N words"))
            }
            words @ ConstantKind::Words { .. } => Ok(words),
        }
    }

    /// Refuses a set of limbs that is empty or names a modulus that the table lacks.
    pub fn limbs(&self, limbs: &Limbs) -> Checked<()> {
        let Some(last) = limbs.ranges().last() else {
            return Err(Problem::new("the number of limbs", 0, "at least 1"));
        };
        let expected = || format!("moduli below {}, the length of the table", self.len());
        check(last.end <= self.len(), "the limbs", limbs, expected)
    }

    /// Refuses a type whose limbs are not in the table, or have no transform that it needs.
    pub fn ty(&self, ty: &Type) -> Checked<()> {
        self.limbs(&ty.limbs)?;
        match ty.domain {
            Domain::Coeff => Ok(()),
            Domain::Eval => self.transforms(&ty.limbs),
        }
    }

    /// Refuses limbs whose moduli have no root of order `2N`.
    pub fn transforms(&self, limbs: &Limbs) -> Checked<()> {
        self.no_powers(limbs)?;
        let splits = |q: u64| q % (2 * self.n as u64) == 1;
        let mut values = limbs.iter().map(|id| (id, self.moduli[id]));
        match values.find(|&(_, q)| !splits(q)) {
            None => Ok(()),
            Some((id, q)) => {
                let expected = format!("1 modulo {}, for values at roots", 2 * self.n);
                Err(Problem::new(format!("modulus {id}"), q, expected))
            }
        }
    }

    fn below_degree(&self) -> String {
        format!("less than {}, the ring degree", self.n)
    }
}

/// The valid indices of a list of this length, in words.
fn below(len: usize) -> String {
    match len {
        0 => "there is none".into(),
        len => format!("a number below {len}"),
    }
}
