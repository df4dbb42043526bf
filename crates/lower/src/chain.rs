//! The table of moduli of a trace, and the words that rules multiply by.

use crate::error::Result;
use program::recording::{Ciphertext, Message, Parameters, Scalar};
use program::trace::{Domain, Limbs, Type};
use ring::Modulus;
use rlwe::{DimensionParams, Params, ParamsSpec};

/// The moduli of a recording: the chain `q_0, q_1, ..`, then the special moduli, then the plaintext moduli.
pub(crate) struct Chain {
    rlwe: Params,
    small: Option<DimensionParams>,
    t: Vec<Modulus>,
}

/// A plaintext modulus, and its number in the table.
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
        let spec = ParamsSpec {
            n: p.n,
            q: p.q.clone(),
            p: p.p.clone(),
            digit_limbs: p.digit_limbs,
        };
        // Parameters are checked where programs are made ready; nothing is encrypted here.
        let rlwe = Params::new_insecure(&spec)?;
        let small = p.samples.map(|samples| {
            let (dimension, bits) = (samples.dimension, samples.digit_bits);
            DimensionParams::new_insecure(p.n, p.q[0], dimension, bits)
        });
        let t = p.t.iter().map(|&t| {
            Modulus::new(t).ok_or(program::Error::Parameters {
                what: "the plaintext modulus",
                found: t.to_string(),
                expected: "an odd modulus below 2^60".into(),
            })
        });
        Ok(Self {
            rlwe,
            small: small.transpose()?,
            t: t.collect::<std::result::Result<_, _>>()?,
        })
    }

    /// The table.
    pub(crate) fn table(&self) -> Vec<u64> {
        let spec = self.rlwe.spec();
        let chain = spec.q.iter().chain(&spec.p).copied();
        chain.chain(self.t.iter().map(Modulus::value)).collect()
    }

    pub(crate) fn n(&self) -> usize {
        self.rlwe.n()
    }

    /// The plaintext modulus of a message; `None` for approximate ones, and for one that the parameters lack.
    pub(crate) fn plain_modulus(&self, ty: Ciphertext) -> Option<PlainModulus> {
        let Message::Modulo { t, .. } = ty.message else {
            return None;
        };
        let place = self.t.iter().position(|own| own.value() == t)?;
        let id = self.special_range().end + place;
        Some(PlainModulus {
            t: self.t[place],
            id,
        })
    }

    /// Parameters of the dimension switch; `None` if there are no samples.
    pub(crate) fn small(&self) -> Option<&DimensionParams> {
        self.small.as_ref()
    }

    /// Limbs of a level.
    pub(crate) fn level(&self, level: usize) -> Limbs {
        Limbs::from(0..level + 1)
    }

    /// The special limbs.
    pub(crate) fn special(&self) -> Limbs {
        Limbs::from(self.special_range())
    }

    fn special_range(&self) -> std::ops::Range<usize> {
        let limbs = self.rlwe.max_level() + 1;
        limbs..limbs + self.rlwe.special().len()
    }

    /// Limbs of a level and the special ones.
    pub(crate) fn extended(&self, level: usize) -> Limbs {
        self.level(level).union(&self.special())
    }

    /// The digits of key switching at a level.
    pub(crate) fn digits(&self, level: usize) -> Vec<Limbs> {
        self.rlwe.digits(level).map(Limbs::from).collect()
    }

    /// Modulus `id` of the table.
    pub(crate) fn modulus(&self, id: usize) -> &Modulus {
        let special = self.special_range();
        if id < special.start {
            self.rlwe.basis(self.rlwe.max_level()).modulus(id)
        } else if id < special.end {
            self.rlwe.special().modulus(id - special.start)
        } else {
            &self.t[id - special.end]
        }
    }

    /// A word for each limb: `word(q)` of its modulus.
    pub(crate) fn words(&self, limbs: &Limbs, word: impl Fn(&Modulus) -> u64) -> Vec<u64> {
        limbs.iter().map(|id| word(self.modulus(id))).collect()
    }

    /// The product of some moduli, modulo `q`.
    pub(crate) fn product_mod(&self, of: &Limbs, q: &Modulus) -> u64 {
        let factors = of.iter().map(|id| q.reduce(self.modulus(id).value()));
        factors.fold(1, |product, factor| q.mul(product, factor))
    }

    /// The residues of a number.
    pub(crate) fn scalar(&self, limbs: &Limbs, c: Scalar) -> Vec<u64> {
        self.words(limbs, |q| {
            let power = q.pow(q.reduce(2), c.shift.into());
            let value = q.mul(q.from_i64(c.integer), power);
            q.mul(value, inverse(q, q.reduce(c.over)))
        })
    }

    /// Limbs of the components of a ciphertext.
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

/// Type of values over some limbs.
pub(crate) fn eval(limbs: Limbs) -> Type {
    Type {
        domain: Domain::Eval,
        limbs,
    }
}

/// The inverse of a unit.
pub(crate) fn inverse(q: &Modulus, x: u64) -> u64 {
    q.inv(x).expect("moduli are pairwise different primes")
}
