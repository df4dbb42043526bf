//! Gates on bits. A bit is 1/8 or -1/8 of the torus.
//!
//! Source: Chillotti et al. 2020, section 6.

use crate::error::{Result, same};
use crate::lwe::Lwe;
use crate::params::Params;
use crate::server::ServerKey;
use crate::table::TestPolynomial;
use ring::torus::{Multiplier, Torus};
use rlwe::bytes::Fingerprint;

/// An encrypted bit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bit<T> {
    lwe: Lwe<T>,
    made_for: Fingerprint,
}

impl<T: Torus> Bit<T> {
    pub(crate) fn new(lwe: Lwe<T>, made_for: &Fingerprint) -> Self {
        Self {
            lwe,
            made_for: *made_for,
        }
    }

    /// The bit of a sample that was computed elsewhere: 1/8 of the torus for true, -1/8 for false.
    /// Its noise must be at most that of two outputs of bootstrappings.
    ///
    /// # Errors
    /// [`Error::Encoding`](crate::Error::Encoding), [`Error::Word`](crate::Error::Word), and
    /// [`Error::Parameter`](crate::Error::Parameter) for a sample of another dimension.
    pub fn of_sample(params: &Params, lwe: Lwe<T>) -> Result<Self> {
        params.check_gates()?;
        params.check_sample(&lwe)?;
        Ok(Self::new(lwe, params.fingerprint()))
    }

    /// The sample.
    pub fn lwe(&self) -> &Lwe<T> {
        &self.lwe
    }

    pub(crate) fn made_for(&self) -> &Fingerprint {
        &self.made_for
    }
}

/// A gate on two bits. It costs one bootstrapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Gate {
    /// `x and y`.
    And,
    /// `x or y`.
    Or,
    /// `x != y`.
    Xor,
    /// `not (x and y)`.
    Nand,
    /// `not (x or y)`.
    Nor,
    /// `x == y`.
    Xnor,
    /// `(not x) and y`.
    AndNy,
    /// `x and (not y)`.
    AndYn,
    /// `(not x) or y`.
    OrNy,
    /// `x or (not y)`.
    OrYn,
}

impl Gate {
    /// All gates.
    pub const ALL: [Self; 10] = [
        Self::And,
        Self::Or,
        Self::Xor,
        Self::Nand,
        Self::Nor,
        Self::Xnor,
        Self::AndNy,
        Self::AndYn,
        Self::OrNy,
        Self::OrYn,
    ];

    /// The gate on plain bits.
    pub fn of(self, x: bool, y: bool) -> bool {
        match self {
            Self::And => x && y,
            Self::Or => x || y,
            Self::Xor => x != y,
            Self::Nand => !(x && y),
            Self::Nor => !(x || y),
            Self::Xnor => x == y,
            Self::AndNy => !x && y,
            Self::AndYn => x && !y,
            Self::OrNy => !x || y,
            Self::OrYn => x || !y,
        }
    }

    /// The factors of both operands, and the eighths to add, with which the sign of the sum is the
    /// gate's result.
    pub fn combination(self) -> (i64, i64, i64) {
        match self {
            Self::And => (1, 1, -1),
            Self::Or => (1, 1, 1),
            Self::Xor => (2, 2, 2),
            Self::Nand => (-1, -1, 1),
            Self::Nor => (-1, -1, -1),
            Self::Xnor => (-2, -2, -2),
            Self::AndNy => (-1, 1, -1),
            Self::AndYn => (1, -1, -1),
            Self::OrNy => (-1, 1, 1),
            Self::OrYn => (1, -1, 1),
        }
    }
}

impl<T: Torus, M: Multiplier<T>> ServerKey<T, M> {
    /// A constant bit, not encrypted: everyone can read it.
    ///
    /// # Errors
    /// [`Error::Encoding`](crate::Error::Encoding).
    pub fn constant_bit(&self, bit: bool) -> Result<Bit<T>> {
        self.params().check_gates()?;
        let lwe = Lwe::trivial(
            self.params().big_dimension(),
            eighths(if bit { 1 } else { -1 }),
        );
        Ok(Bit::new(lwe, self.params().fingerprint()))
    }

    /// `not x`. It needs no bootstrapping and adds no noise.
    ///
    /// # Errors
    /// [`Error::Fingerprint`](crate::Error::Fingerprint),
    /// [`Error::Encoding`](crate::Error::Encoding),
    /// [`Error::KeyMismatch`](crate::Error::KeyMismatch).
    pub fn not(&self, x: &Bit<T>) -> Result<Bit<T>> {
        let mut lwe = self.operand(x)?.clone();
        lwe.scale(-1);
        Ok(Bit::new(lwe, &x.made_for))
    }

    /// Evaluates a gate, with one bootstrapping.
    ///
    /// # Errors
    /// As [`not`](Self::not).
    pub fn gate(&self, gate: Gate, x: &Bit<T>, y: &Bit<T>) -> Result<Bit<T>> {
        Ok(self.gates(&[(gate, x, y)])?.remove(0))
    }

    /// Evaluates gates that do not depend on each other, on the threads of the pool.
    ///
    /// # Errors
    /// As [`not`](Self::not).
    pub fn gates(&self, gates: &[(Gate, &Bit<T>, &Bit<T>)]) -> Result<Vec<Bit<T>>> {
        let sums: Result<Vec<_>> = gates
            .iter()
            .map(|&(gate, x, y)| self.combine(gate, x, y))
            .collect();
        let made_for = self.params().fingerprint();
        Ok(self
            .signs(sums?)
            .into_iter()
            .map(|lwe| Bit::new(lwe, made_for))
            .collect())
    }

    /// `if c then x else y`, with two bootstrappings: `c and x` and `(not c) and y`. They are never
    /// both true, so their sum needs no third one. The result has the noise of two outputs, which
    /// the parameters allow for.
    ///
    /// # Errors
    /// As [`not`](Self::not).
    pub fn mux(&self, c: &Bit<T>, x: &Bit<T>, y: &Bit<T>) -> Result<Bit<T>> {
        let halves = self.signs(vec![
            self.combine(Gate::And, c, x)?,
            self.combine(Gate::AndNy, c, y)?,
        ]);
        let mut sum = halves[0].clone();
        sum.add_scaled(&halves[1], 1);
        sum.add_body(eighths(1));
        Ok(Bit::new(sum, &c.made_for))
    }

    fn operand<'a>(&self, x: &'a Bit<T>) -> Result<&'a Lwe<T>> {
        self.params().check_gates()?;
        same("a bit", &x.made_for, self.params().fingerprint())?;
        self.check_key(&x.lwe)?;
        Ok(&x.lwe)
    }

    fn combine(&self, gate: Gate, x: &Bit<T>, y: &Bit<T>) -> Result<Lwe<T>> {
        let (x_factor, y_factor, constant) = gate.combination();
        let (mut sum, y) = (self.operand(x)?.clone(), self.operand(y)?);
        sum.key().join("ciphertext", y.key())?;
        sum.scale(x_factor);
        sum.add_scaled(y, y_factor);
        sum.add_body(eighths(constant));
        Ok(sum)
    }

    /// 1/8 if the phase is in [0, 1/2), otherwise -1/8.
    fn signs(&self, sums: Vec<Lwe<T>>) -> Vec<Lwe<T>> {
        let test = TestPolynomial::constant(self.params().n(), eighths(1));
        let jobs: Vec<_> = sums.into_iter().map(|lwe| (lwe, &test)).collect();
        self.bootstrap_all(&jobs)
            .into_iter()
            .map(|mut out| out.remove(0))
            .collect()
    }
}

fn eighths<T: Torus>(count: i64) -> T {
    T::from_low_bits(1 << (T::BITS - 3)).times(count)
}
