//! The table of moduli of a trace, and the words that lowering rules multiply by.

use crate::error::Result;
use program::recording::{Ciphertext, Message, Parameters, Scalar};
use ring::Modulus;
use rlwe::DimensionParams;
use std::ops::Range;
use trace::{Domain, Limbs, Type};

/// The moduli of a recording: `q_0, q_1, ..`, then the special moduli, then the plaintext moduli.
/// Also how key switching uses them.
pub(crate) struct Chain {
    n: usize,
    table: Vec<Modulus>,
    /// Indices of the special moduli that key switching uses.
    special: Range<usize>,
    /// Indices of the plaintext moduli.
    plain: Range<usize>,
    /// Limbs of each digit of key switching.
    digits: Vec<Range<usize>>,
    small: Option<DimensionParams>,
    /// Prefix of the names of sub-traces.
    prefix: &'static str,
}

/// A plaintext modulus, and its index in the table.
#[derive(Clone, Copy)]
pub(crate) struct PlainModulus {
    pub(crate) t: Modulus,
    pub(crate) id: usize,
}

impl PlainModulus {
    /// Type of a polynomial modulo `t`.
    pub(crate) fn row(&self) -> Type {
        Type::coeff(Limbs::one(self.id))
    }
}

impl Chain {
    pub(crate) fn new(parameters: &Parameters) -> Result<Self> {
        let p = parameters;
        let small = p.samples.map(|samples| {
            let (dimension, bits) = (samples.dimension, samples.digit_bits);
            DimensionParams::new_insecure(p.n, p.q[0], dimension, bits)
        });
        let (limbs, all) = (p.q.len(), p.q.len() + p.p.len());
        let table = p.q.iter().chain(&p.p).chain(&p.t).enumerate();
        let table = table.map(|(id, &q)| {
            Modulus::new(q).ok_or_else(|| program::Error::Parameters {
                what: match id < all {
                    true => "a modulus",
                    false => "the plaintext modulus",
                },
                found: q.to_string(),
                expected: "an odd number below 2^60".into(),
            })
        });
        Ok(Self {
            n: p.n,
            table: table.collect::<std::result::Result<_, _>>()?,
            special: limbs..all,
            plain: all..all + p.t.len(),
            digits: p.digits.clone(),
            small: small.transpose()?,
            prefix: "",
        })
    }

    /// The moduli of key switching to the sparse secret: one special modulus, and digits of one
    /// limb, at level `level`.
    pub(crate) fn sparse(parameters: &Parameters, level: usize) -> Result<Self> {
        let whole = Self::new(parameters)?;
        Ok(Self {
            special: whole.special.start..whole.special.start + 1,
            digits: (0..=level).map(|limb| limb..limb + 1).collect(),
            prefix: "sparse.",
            ..whole
        })
    }

    pub(crate) fn n(&self) -> usize {
        self.n
    }

    /// The table of moduli.
    pub(crate) fn table(&self) -> Vec<u64> {
        self.table.iter().map(Modulus::value).collect()
    }

    /// Name of a sub-trace of key switching: `name` after the prefix.
    pub(crate) fn named(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    /// The plaintext modulus of a ciphertext's message. `None` for approximate messages, and for a
    /// modulus that the parameters lack.
    pub(crate) fn plain_modulus(&self, ty: Ciphertext) -> Option<PlainModulus> {
        let Message::Modulo { t, .. } = ty.message else {
            return None;
        };
        let own = self.plain.clone().map(|id| (id, self.table[id]));
        let (id, t) = own.into_iter().find(|(_, own)| own.value() == t)?;
        Some(PlainModulus { t, id })
    }

    /// Parameters of the dimension switch. `None` if there are no samples.
    pub(crate) fn small(&self) -> Option<&DimensionParams> {
        self.small.as_ref()
    }

    /// The limbs of a level.
    pub(crate) fn level(&self, level: usize) -> Limbs {
        Limbs::from(0..level + 1)
    }

    /// The limbs of the special moduli.
    pub(crate) fn special(&self) -> Limbs {
        Limbs::from(self.special.clone())
    }

    /// The limbs of a level, then the special ones.
    pub(crate) fn extended(&self, level: usize) -> Limbs {
        self.level(level).union(&self.special())
    }

    /// The limbs of each digit of key switching at a level.
    pub(crate) fn digits(&self, level: usize) -> Vec<Limbs> {
        let within = self.digits.iter().take_while(|digit| digit.start <= level);
        let cut = within.map(|digit| digit.start..digit.end.min(level + 1));
        cut.map(Limbs::from).collect()
    }

    /// The modulus at index `id` of the table.
    pub(crate) fn modulus(&self, id: usize) -> &Modulus {
        &self.table[id]
    }

    /// Returns `word(q)` for the modulus `q` of each limb.
    pub(crate) fn words(&self, limbs: &Limbs, word: impl Fn(&Modulus) -> u64) -> Vec<u64> {
        limbs.iter().map(|id| word(self.modulus(id))).collect()
    }

    /// Returns the product of some moduli, modulo `q`.
    pub(crate) fn product_mod(&self, of: &Limbs, q: &Modulus) -> u64 {
        let factors = of.iter().map(|id| q.reduce(self.modulus(id).value()));
        factors.fold(1, |product, factor| q.mul(product, factor))
    }

    /// The residues of a number in each limb.
    pub(crate) fn scalar(&self, limbs: &Limbs, c: Scalar) -> Vec<u64> {
        self.words(limbs, |q| {
            let power = q.pow(q.reduce(2), c.shift.into());
            let value = q.mul(q.from_i64(c.integer), power);
            q.mul(value, inverse(q, q.reduce(c.over)))
        })
    }

    /// Limbs of the components of a ciphertext, given its type.
    pub(crate) fn limbs(&self, ty: Ciphertext) -> Limbs {
        match ty.extended {
            true => self.extended(ty.level),
            false => self.level(ty.level),
        }
    }

    /// Type of a component of a ciphertext at a level.
    pub(crate) fn component(&self, level: usize) -> Type {
        eval(self.level(level))
    }
}

/// Type of values in the evaluation domain over some limbs.
pub(crate) fn eval(limbs: Limbs) -> Type {
    Type {
        domain: Domain::Eval,
        limbs,
    }
}

/// The inverse of a unit modulo `q`.
pub(crate) fn inverse(q: &Modulus, x: u64) -> u64 {
    q.inv(x).expect("moduli are pairwise different primes")
}
