//! The table of moduli of a trace, and the words that rules multiply by.

use crate::error::Result;
use program::Parameters;
use program::trace::{Domain, Limbs, Type};
use ring::Modulus;
use rlwe::{DimensionParams, Params, ParamsSpec};

/// The moduli of a recording: the chain `q_0, q_1, ..`, then the special moduli, then `t`.
pub(crate) struct Chain {
    rlwe: Params,
    small: DimensionParams,
    t: Modulus,
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
        let (q, dimension, bits) = (p.q[0], p.lwe_dimension, p.lwe_digit_bits);
        let small = DimensionParams::new_insecure(p.n, q, dimension, bits)?;
        let t = Modulus::new(p.t).ok_or(program::Error::Parameters {
            what: "the plaintext modulus",
            found: p.t.to_string(),
            expected: "an odd modulus below 2^60".into(),
        })?;
        Ok(Self { rlwe, small, t })
    }

    /// The table.
    pub(crate) fn table(&self) -> Vec<u64> {
        let spec = self.rlwe.spec();
        let chain = spec.q.iter().chain(&spec.p).copied();
        chain.chain([self.t.value()]).collect()
    }

    pub(crate) fn n(&self) -> usize {
        self.rlwe.n()
    }

    pub(crate) fn t(&self) -> &Modulus {
        &self.t
    }

    pub(crate) fn small(&self) -> &DimensionParams {
        &self.small
    }

    /// Number of `t` in the table.
    pub(crate) fn t_id(&self) -> usize {
        self.special_range().end
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
            &self.t
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

    /// Type of a component of a ciphertext at a level.
    pub(crate) fn component(&self, level: usize) -> Type {
        eval(self.level(level))
    }

    /// Type of a polynomial modulo `t`.
    pub(crate) fn row(&self) -> Type {
        Type {
            domain: Domain::Coeff,
            limbs: Limbs::one(self.t_id()),
        }
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
