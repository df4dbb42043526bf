//! Parameters: an unchecked spec, and the checked value.

use crate::error::{Error, Result};
use crate::security::{self, Security, TARGET_BITS};
use crate::switch::SwitchTables;
use ring::{Basis, Cache, Divider};
use std::ops::Range;
use std::sync::Arc;

/// A parameter set as the caller writes it. Any values may stand here; [`Params::new`] checks them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamsSpec {
    /// Ring degree `N`.
    pub n: usize,
    /// Modulus chain `q_0, .., q_L`. Level `l` works modulo `q_0 .. q_l`.
    pub q: Vec<u64>,
    /// Special moduli of hybrid key switching. They count in the security check.
    pub p: Vec<u64>,
    /// Limbs of a digit of key switching. A digit may have more bits than the special moduli, which
    /// costs noise. [`Params::with_bounded_digits`] cuts such digits.
    pub digit_limbs: usize,
}

impl ParamsSpec {
    /// log2(QP), including the special moduli.
    fn log_qp(&self) -> f64 {
        self.q
            .iter()
            .chain(&self.p)
            .map(|&q| (q as f64).log2())
            .sum()
    }
}

/// Checked parameters: holding one means every test of [`Params::new`] has passed. Cheap to clone.
#[derive(Clone)]
pub struct Params(Arc<Inner>);

struct Inner {
    spec: ParamsSpec,
    /// Nonzero coefficients of the secrets, if they are sparse.
    weight: Option<usize>,
    security: Security,
    levels: Vec<Basis>,
    special: Basis,
    digits: Vec<Range<usize>>,
    dividers: Cache<(usize, usize), Divider>,
    switch: Cache<usize, SwitchTables>,
}

impl Params {
    /// Checks `spec` and builds the parameters, for uniform ternary secrets.
    ///
    /// # Errors
    /// [`Error::Ring`] if the spec does not define an RNS ring, [`Error::DigitLimbs`], and
    /// [`Error::Insecure`] if it is below [`TARGET_BITS`]. The last is found before memory is
    /// allocated for tables.
    pub fn new(spec: &ParamsSpec) -> Result<Self> {
        let log_qp = spec.log_qp();
        let security = security::uniform(spec.n, log_qp);
        if !security.is_enough() {
            return Err(Error::Insecure {
                log_qp: log_qp.ceil() as u32,
                limit: security::max_log_qp(spec.n).unwrap_or(0),
                lambda: TARGET_BITS,
                n: spec.n,
            });
        }
        Self::build(spec, None, security)
    }

    /// As [`Params::new`], without the security check. For unit tests and for attacks.
    ///
    /// # Errors
    /// As [`Params::new`], except [`Error::Insecure`].
    pub fn new_insecure(spec: &ParamsSpec) -> Result<Self> {
        Self::build(spec, None, security::uniform(spec.n, spec.log_qp()))
    }

    /// As [`Params::new`], for ternary secrets with only `weight` nonzero coefficients.
    ///
    /// # Errors
    /// As [`Params::new`], with [`Error::InsecureSparse`] instead of [`Error::Insecure`].
    pub fn sparse(spec: &ParamsSpec, weight: usize) -> Result<Self> {
        let log_q = spec.log_qp();
        let security = security::sparse(spec.n, weight, log_q);
        if !security.is_enough() {
            return Err(Error::InsecureSparse {
                weight,
                least: security::SPARSE_WEIGHT,
                log_q: log_q.ceil() as u32,
                limit: security::max_log_q_sparse(spec.n).unwrap_or(0),
                n: spec.n,
            });
        }
        Self::build(spec, Some(weight), security)
    }

    /// As [`Params::sparse`], without the security check.
    ///
    /// # Errors
    /// As [`Params::sparse`], except [`Error::InsecureSparse`].
    pub fn sparse_insecure(spec: &ParamsSpec, weight: usize) -> Result<Self> {
        let security = security::sparse(spec.n, weight, spec.log_qp());
        Self::build(spec, Some(weight), security)
    }

    /// These parameters, with digits that have no more bits than the special moduli. `digit_limbs`
    /// is then the most limbs that a digit has. For chains of limbs of different sizes.
    #[must_use]
    pub fn with_bounded_digits(&self) -> Self {
        let inner = &self.0;
        let q = self.basis(self.max_level());
        Self(Arc::new(Inner {
            spec: inner.spec.clone(),
            weight: inner.weight,
            security: inner.security,
            levels: inner.levels.clone(),
            special: inner.special.clone(),
            digits: digits(q, inner.special.log2(), inner.spec.digit_limbs),
            dividers: Cache::new(),
            switch: Cache::new(),
        }))
    }

    fn build(spec: &ParamsSpec, weight: Option<usize>, security: Security) -> Result<Self> {
        let all: Vec<u64> = spec.q.iter().chain(&spec.p).copied().collect();
        let whole = Basis::new(spec.n, &all)?;
        if spec.q.is_empty() || spec.p.is_empty() {
            return Err(ring::Error::EmptyBasis.into());
        }
        let limbs = spec.q.len();
        if !(1..=limbs).contains(&spec.digit_limbs) {
            return Err(Error::DigitLimbs {
                found: spec.digit_limbs,
                limbs,
            });
        }
        let special = whole.slice(limbs..all.len());
        Ok(Self(Arc::new(Inner {
            spec: spec.clone(),
            weight,
            security,
            digits: digits(&whole.prefix(limbs), f64::INFINITY, spec.digit_limbs),
            levels: (1..=limbs).map(|len| whole.prefix(len)).collect(),
            special,
            dividers: Cache::new(),
            switch: Cache::new(),
        })))
    }

    /// The spec these parameters were built from.
    pub fn spec(&self) -> &ParamsSpec {
        &self.0.spec
    }

    /// Nonzero coefficients of the secrets, if they are sparse.
    pub fn weight(&self) -> Option<usize> {
        self.0.weight
    }

    /// Estimated security of secrets with these parameters.
    pub fn security(&self) -> Security {
        self.0.security
    }

    /// Returns true if the [security](Self::security) is sufficient.
    pub fn is_secure(&self) -> bool {
        self.0.security.is_enough()
    }

    /// Ring degree `N`.
    pub fn n(&self) -> usize {
        self.0.spec.n
    }

    /// log2 of the ring degree.
    pub fn log_n(&self) -> u32 {
        self.n().ilog2()
    }

    /// The highest level: a fresh ciphertext there has `max_level + 1` limbs.
    pub fn max_level(&self) -> usize {
        self.0.levels.len() - 1
    }

    /// Basis `q_0, .., q_level`.
    ///
    /// # Panics
    /// If `level` is above the highest level.
    pub fn basis(&self, level: usize) -> &Basis {
        &self.0.levels[level]
    }

    /// The special moduli.
    pub fn special(&self) -> &Basis {
        &self.0.special
    }

    /// `q_0, .., q_level` followed by the special moduli.
    pub fn extended(&self, level: usize) -> Basis {
        self.basis(level).concat(self.special())
    }

    /// The limbs of each digit of key switching at a level.
    pub fn digits(&self, level: usize) -> impl Iterator<Item = Range<usize>> + '_ {
        let within = move |digit: &&Range<usize>| digit.start <= level;
        let digits = self.0.digits.iter().take_while(within);
        digits.map(move |digit| digit.start..digit.end.min(level + 1))
    }

    /// log2(Q) of a level.
    pub fn log_q(&self, level: usize) -> f64 {
        self.basis(level).log2()
    }

    /// log2(QP), including the special moduli.
    pub fn log_qp(&self) -> f64 {
        self.log_q(self.max_level()) + self.special().log2()
    }

    /// Division by the last `dropped` moduli of level `level`. Special moduli are not included.
    pub fn divider(&self, level: usize, dropped: usize) -> Arc<Divider> {
        self.0.dividers.get_or(&(level, dropped), || {
            Divider::new(self.basis(level), dropped)
        })
    }

    /// Tables of key switching at a level.
    pub(crate) fn switch_tables(&self, level: usize) -> Arc<SwitchTables> {
        self.0
            .switch
            .get_or(&level, || SwitchTables::new(self, level))
    }

    /// Division of a value over `q_0, .., q_level` and the special moduli by `P` and by the last
    /// `dropped` moduli of the level.
    pub(crate) fn special_divider(&self, level: usize, dropped: usize) -> Arc<Divider> {
        // The key numbers extended bases from the chain's length on.
        let key = (level + self.0.levels.len(), dropped);
        self.0.dividers.get_or(&key, || {
            Divider::new(&self.extended(level), self.special().len() + dropped)
        })
    }
}

/// Digits of at most `longest` limbs and about `bits` bits. A digit of one limb may have more bits.
fn digits(q: &Basis, bits: f64, longest: usize) -> Vec<Range<usize>> {
    // Moduli of one size differ by far less than a bit. One limb more adds far more than a bit.
    let limit = bits + 1.0;
    let mut digits: Vec<Range<usize>> = Vec::new();
    for i in 0..q.len() {
        match digits.last_mut() {
            Some(digit) if digit.len() < longest && q.slice(digit.start..i + 1).log2() <= limit => {
                digit.end = i + 1;
            }
            _ => digits.push(i..i + 1),
        }
    }
    digits
}

impl PartialEq for Params {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
            || (self.0.spec == other.0.spec
                && self.0.weight == other.0.weight
                && self.0.digits == other.0.digits)
    }
}

impl Eq for Params {}

impl std::fmt::Debug for Params {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut tuple = f.debug_tuple("Params");
        tuple.field(&self.0.spec);
        if !self.is_secure() {
            tuple.field(&format_args!("INSECURE"));
        }
        tuple.finish()
    }
}
