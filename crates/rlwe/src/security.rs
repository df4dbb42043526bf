//! Estimated security, which parameters carry and reports print, and the limits that follow from
//! it.
//!
//! *Model.* Bits are log2 of the classical cost of the cheapest attack by the cost model of MATZOV
//! (the estimator's default `RC.MATZOV`). The core-SVP model ADPS16 leaves out polynomial factors
//! and gives fewer bits for the same set. Where it is known, it is given too.
//!
//! *Sources.* The largest moduli for uniform ternary secrets are those of Bossuat et al., "Security
//! Guidelines for Implementing Homomorphic Encryption", IACR Communications in Cryptology 1(4),
//! 2024, <https://ia.cr/2024/463>, at error deviation 3.19. Bits are from runs of
//! malb/lattice-estimator, commit 27a581b, with unlimited samples. They are the least of uSVP, BDD
//! and dual hybrid (only uSVP from `N = 2^16` on). For sparse secrets, a primal attack that drops
//! columns and meets in the middle was run everywhere, and a dual meet-in-the-middle where
//! [`Basis::Estimator`] says so.
//!
//! *Between the sizes that were run*, the security given is that of the next larger modulus, the
//! next smaller degree and the next smaller weight. Each of these makes an attack no harder.

use std::fmt;

/// Least security of parameters that are not called insecure, in bits.
pub const TARGET_BITS: u32 = 128;

/// Weight of the sparse ternary secrets under which a modulus is raised.
pub const SPARSE_WEIGHT: usize = 32;

/// Bits required beyond [`TARGET_BITS`] where only primal attacks were estimated. Where both were,
/// the dual attack was up to 5 bits cheaper.
const PRIMAL_MARGIN: f64 = 10.0;

/// The cost model of a lattice attack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CostModel {
    /// `RC.MATZOV` of the lattice estimator.
    Matzov,
}

impl fmt::Display for CostModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Matzov => f.write_str("MATZOV"),
        }
    }
}

/// The source of an estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Basis {
    /// Runs of the lattice estimator at this size, which is no harder to attack than the set.
    Estimator {
        /// Dimension of the secret.
        dimension: usize,
        /// log2 of the modulus.
        log_q: u32,
    },
    /// Only a primal hybrid attack at this size. Dual attacks may be cheaper.
    PrimalHybrid {
        /// Dimension of the secret.
        dimension: usize,
        /// log2 of the modulus.
        log_q: u32,
    },
    /// Linear fits to published runs of the estimator.
    LinearFit,
    /// No estimate covers the set.
    Nothing,
}

impl fmt::Display for Basis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Estimator { dimension, log_q } => {
                write!(
                    f,
                    "lattice estimator 27a581b, n = {dimension}, log2(q) = {log_q}"
                )
            }
            Self::PrimalHybrid { dimension, log_q } => {
                write!(
                    f,
                    "primal hybrid attack, n = {dimension}, log2(q) = {log_q}"
                )
            }
            Self::LinearFit => f.write_str("linear fit to published runs of the lattice estimator"),
            Self::Nothing => f.write_str("no estimate"),
        }
    }
}

/// Estimated classical security of a set of parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Security {
    bits: Option<f64>,
    model: CostModel,
    adps16: Option<f64>,
    basis: Basis,
    analogy: Option<&'static str>,
}

impl Security {
    /// No estimate.
    pub const UNKNOWN: Self = Self {
        bits: None,
        model: CostModel::Matzov,
        adps16: None,
        basis: Basis::Nothing,
        analogy: None,
    };

    /// `bits` bits by MATZOV.
    pub const fn matzov(bits: f64, adps16: Option<f64>, basis: Basis) -> Self {
        Self {
            bits: Some(bits),
            model: CostModel::Matzov,
            adps16,
            basis,
            analogy: None,
        }
    }

    /// This estimate, for an object that is assumed to be as hard to attack. `taken_as` names the
    /// object and the problem that stands for it.
    #[must_use]
    pub const fn by_analogy(self, taken_as: &'static str) -> Self {
        Self {
            analogy: Some(taken_as),
            ..self
        }
    }

    /// Least number of bits by the [model](Self::model). `None` if no estimate covers the set.
    pub fn bits(&self) -> Option<f64> {
        self.bits
    }

    /// The cost model of the bits.
    pub fn model(&self) -> CostModel {
        self.model
    }

    /// Bits by core-SVP, if known.
    pub fn adps16(&self) -> Option<f64> {
        self.adps16
    }

    /// The source of the estimate.
    pub fn basis(&self) -> Basis {
        self.basis
    }

    /// The source and the analogy, in words.
    pub fn rests_on(&self) -> String {
        match self.analogy {
            Some(analogy) => format!("{}; {analogy}", self.basis),
            None => self.basis.to_string(),
        }
    }

    /// Returns true if the security reaches [`TARGET_BITS`], with a margin if only primal attacks
    /// were estimated.
    pub fn is_enough(&self) -> bool {
        let margin = match self.basis {
            Basis::PrimalHybrid { .. } => PRIMAL_MARGIN,
            _ => 0.0,
        };
        self.bits
            .is_some_and(|bits| bits >= f64::from(TARGET_BITS) + margin)
    }

    /// The weaker of two securities, for two objects of which an attacker needs only one.
    #[must_use]
    pub fn weaker(self, other: Self) -> Self {
        let key = |security: &Self| (security.is_enough(), security.bits.unwrap_or(0.0));
        if key(&other) < key(&self) {
            other
        } else {
            self
        }
    }
}

impl fmt::Display for Security {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.is_enough() {
            f.write_str("INSECURE: ")?;
        }
        let Some(bits) = self.bits else {
            return write!(f, "no estimate reaches {TARGET_BITS} bits");
        };
        write!(f, "{bits:.1} bits ({}", self.model)?;
        if let Some(adps16) = self.adps16 {
            write!(f, "; ADPS16: {adps16:.1}")?;
        }
        f.write_str(")")
    }
}

/// Degree, log2 of the modulus, bits by MATZOV and by ADPS16: uniform ternary secrets, error
/// deviation 3.19.
const UNIFORM: [(usize, u32, f64, Option<f64>); 9] = [
    (1024, 26, 131.3, Some(104.8)),
    (2048, 53, 128.8, None),
    (4096, 106, 128.9, None),
    (8192, 214, 128.3, None),
    (16384, 430, 128.3, None),
    (32768, 866, 128.3, Some(95.2)),
    (32768, 868, 128.0, Some(94.9)),
    (65536, 1747, 128.2, None),
    (131_072, 3523, 128.1, None),
];

/// Degree, log2 of the modulus, bits, and whether dual attacks were estimated too, for ternary
/// secrets of weight 32.
const SPARSE: [(usize, u32, f64, bool); 9] = [
    (1 << 14, 109, 123.0, false),
    (1 << 15, 109, 148.0, false),
    (1 << 15, 150, 138.0, false),
    (1 << 15, 220, 125.0, false),
    (1 << 16, 109, 172.0, true),
    (1 << 16, 115, 165.0, true),
    (1 << 16, 180, 157.0, false),
    (1 << 16, 300, 141.0, false),
    (1 << 16, 420, 131.0, false),
];

/// Largest log2(QP) for a uniform ternary secret. `None` for a degree that is not in the table,
/// which counts as insecure.
pub fn max_log_qp(n: usize) -> Option<u32> {
    UNIFORM
        .iter()
        .rfind(|row| row.0 == n)
        .map(|&(_, log_q, ..)| log_q)
}

/// Largest log2 of all moduli, including special ones, under a ternary secret of weight
/// [`SPARSE_WEIGHT`] or more. `None` for degrees where no modulus was estimated to be secure.
pub fn max_log_q_sparse(n: usize) -> Option<u32> {
    let of = |&(_, log_q, ..): &(usize, u32, f64, bool)| {
        sparse(n, SPARSE_WEIGHT, f64::from(log_q))
            .is_enough()
            .then_some(log_q)
    };
    SPARSE.iter().filter_map(of).max()
}

/// Security of a uniform ternary secret of degree `n` with moduli of `log_qp` bits in total.
pub fn uniform(n: usize, log_qp: f64) -> Security {
    let fits = |row: &&(usize, u32, f64, Option<f64>)| row.0 == n && log_qp <= f64::from(row.1);
    match UNIFORM.iter().find(fits) {
        Some(&(dimension, log_q, bits, adps16)) => {
            Security::matzov(bits, adps16, Basis::Estimator { dimension, log_q })
        }
        None => Security::UNKNOWN,
    }
}

/// Security of a ternary secret of degree `n` with `weight` nonzero coefficients and moduli of
/// `log_q` bits in total.
pub fn sparse(n: usize, weight: usize, log_q: f64) -> Security {
    if weight < SPARSE_WEIGHT {
        return Security::UNKNOWN;
    }
    let degree = SPARSE.iter().map(|row| row.0).filter(|&m| m <= n).max();
    let fits = |row: &&(usize, u32, f64, bool)| Some(row.0) == degree && log_q <= f64::from(row.1);
    match SPARSE.iter().find(fits) {
        Some(&(dimension, log_q, bits, dual)) => {
            let basis = if dual {
                Basis::Estimator { dimension, log_q }
            } else {
                Basis::PrimalHybrid { dimension, log_q }
            };
            Security::matzov(bits, None, basis)
        }
        None => Security::UNKNOWN,
    }
}
