//! CKKS parameters: the parameters of the ring, the grouping of limbs to levels, and the scale.

use crate::encoder::Encoder;
use crate::error::{Error, Result};
use ring::{Eval, Poly, ntt_primes_of_sizes};
use rlwe::Words;
use rlwe::security::{TARGET_BITS, max_log_qp};
use std::sync::{Arc, OnceLock};

/// A parameter set as the caller writes it. Any values may stand here; [`Params::new`] checks them.
#[derive(Clone, Debug, PartialEq)]
pub struct ParamsSpec {
    /// Ring degree `N`; there are `N/2` slots.
    pub n: usize,
    /// Moduli of each level. The moduli of `levels[0]` stay to the end. A rescale from level `l`
    /// divides by all moduli of `levels[l]`.
    pub levels: Vec<Vec<u64>>,
    /// Special moduli of hybrid key switching.
    pub special: Vec<u64>,
    /// Largest number of limbs of a digit of key switching.
    pub digit_limbs: usize,
    /// log2 of the default scale at which messages are encoded.
    pub log_scale: f64,
}

impl ParamsSpec {
    /// A chain for `depth` products in a row at a scale of `scale_bits` bits, at 128-bit security
    /// if the degree allows.
    ///
    /// `q_0` has ten bits more, for messages up to `2^9`. A scale of up to 50 bits takes one
    /// modulus per level. There are as many special moduli as fit: with more of them, key switching
    /// has fewer digits.
    ///
    /// # Errors
    /// [`rlwe::Error::Insecure`] if the degree is too small, before primes are searched; an error
    /// if there are too few primes.
    pub fn for_depth(n: usize, depth: usize, scale_bits: u32) -> Result<Self> {
        const MESSAGE_BITS: u32 = 10;
        let first = scale_bits + MESSAGE_BITS;
        let bits = f64::from(first) + depth as f64 * f64::from(scale_bits);
        let limit = max_log_qp(n).unwrap_or(0);
        let fitting = ((f64::from(limit) - bits) / f64::from(first)) as usize;
        if fitting == 0 {
            return Err(rlwe::Error::Insecure {
                log_qp: (bits + f64::from(first)) as u32,
                limit,
                lambda: TARGET_BITS,
                n,
            }
            .into());
        }
        let special = fitting.min(depth + 1);
        let mut sizes = vec![first; 1 + special];
        sizes.extend(vec![scale_bits; depth]);
        let mut primes = ntt_primes_of_sizes(&sizes, n)?;
        let special_primes = primes.drain(1..=special).collect();
        Ok(Self {
            n,
            levels: primes.into_iter().map(|q| vec![q]).collect(),
            special: special_primes,
            digit_limbs: special,
            log_scale: f64::from(scale_bits),
        })
    }

    /// Levels of the given bits in words of a machine: a level of more bits than a word is several
    /// limbs. The scale is `2^log_scale`.
    ///
    /// # Errors
    /// As [`Words::primes`].
    pub fn in_words(n: usize, levels: &[u32], words: Words, log_scale: f64) -> Result<Self> {
        let (levels, special) = words.primes(n, levels)?;
        Ok(Self {
            n,
            levels,
            special,
            digit_limbs: words.digit_limbs,
            log_scale,
        })
    }
}

/// Checked CKKS parameters. Cheap to clone.
#[derive(Clone)]
pub struct Params(Arc<Inner>);

struct Inner {
    spec: ParamsSpec,
    rlwe: rlwe::Params,
    /// Limbs of a ciphertext at each level.
    limbs: Vec<usize>,
    /// Scale of each level.
    scales: Vec<f64>,
    encoder: Encoder,
    imaginary: OnceLock<Poly<Eval>>,
}

impl Params {
    /// Checks `spec` and builds the parameters.
    ///
    /// # Errors
    /// The errors of [`rlwe::Params::new`], [`Error::EmptyLevel`] and [`Error::Scale`].
    pub fn new(spec: &ParamsSpec) -> Result<Self> {
        Self::build(spec, rlwe::Params::new)
    }

    /// As [`Params::new`], without the security check. For unit tests, and for published sets below
    /// 128 bits.
    ///
    /// # Errors
    /// As [`Params::new`], except for [`rlwe::Error::Insecure`].
    pub fn new_insecure(spec: &ParamsSpec) -> Result<Self> {
        Self::build(spec, rlwe::Params::new_insecure)
    }

    fn build(
        spec: &ParamsSpec,
        rlwe: impl Fn(&rlwe::ParamsSpec) -> rlwe::Result<rlwe::Params>,
    ) -> Result<Self> {
        if let Some(level) = spec.levels.iter().position(Vec::is_empty) {
            return Err(Error::EmptyLevel { level });
        }
        let scale = spec.log_scale.exp2();
        if !(scale.is_finite() && scale > 1.0) {
            return Err(Error::Scale { found: scale });
        }
        let rlwe = rlwe(&rlwe::ParamsSpec {
            n: spec.n,
            q: spec.levels.concat(),
            p: spec.special.clone(),
            digit_limbs: spec.digit_limbs,
        })?
        .with_bounded_digits();
        let limbs = spec.levels.iter().scan(0, |sum, level| {
            *sum += level.len();
            Some(*sum)
        });
        Ok(Self(Arc::new(Inner {
            limbs: limbs.collect(),
            scales: scales(spec),
            encoder: Encoder::new(spec.n),
            imaginary: OnceLock::new(),
            spec: spec.clone(),
            rlwe,
        })))
    }

    /// The spec these parameters were built from.
    pub fn spec(&self) -> &ParamsSpec {
        &self.0.spec
    }

    /// Parameters of the ring.
    pub fn rlwe(&self) -> &rlwe::Params {
        &self.0.rlwe
    }

    /// Encoder of slots and coefficients.
    pub fn encoder(&self) -> &Encoder {
        &self.0.encoder
    }

    /// Ring degree `N`.
    pub fn n(&self) -> usize {
        self.0.spec.n
    }

    /// Number of slots of a full ciphertext, `N/2`.
    pub fn slots(&self) -> usize {
        self.n() / 2
    }

    /// The default scale at which messages are encoded.
    pub fn scale(&self) -> f64 {
        self.0.spec.log_scale.exp2()
    }

    /// The scale that products give to ciphertexts of a level: the square of the scale of the level
    /// above, divided by the moduli of that level. At level 0 it is the [default](Params::scale),
    /// up to the rounding of doubles. If the moduli of all levels have about the size of the
    /// default, it stays near the default. Ciphertexts encrypted at it can be added without a
    /// product, whatever products they went through.
    ///
    /// Source: Kim, Papadimitriou, Polyakov, CT-RSA 2022, section 3. The recursion is stable from
    /// level 0 upwards.
    ///
    /// # Panics
    /// If `level` is above the highest level.
    pub fn scale_at(&self, level: usize) -> f64 {
        self.0.scales[level]
    }

    /// The highest level: the number of rescales that a fresh ciphertext allows.
    pub fn max_level(&self) -> usize {
        self.0.limbs.len() - 1
    }

    /// Level of a ciphertext of `limbs` limbs.
    ///
    /// # Errors
    /// [`Error::OtherParameters`] if no level has that many limbs.
    pub fn level_of(&self, ct: &rlwe::Ciphertext) -> Result<usize> {
        let (found, n) = (ct.level() + 1, ct.components()[0].n());
        let other = || self.other(found, n);
        let level = self.0.limbs.binary_search(&found).map_err(|_| other())?;
        // Equal bases share their tables, so this compares pointers.
        if ct.components()[0].basis() == self.0.rlwe.basis(found - 1) {
            Ok(level)
        } else {
            Err(other())
        }
    }

    /// The error for an operand of `found` limbs and degree `n`.
    pub(crate) fn other(&self, found: usize, n: usize) -> Error {
        let expected = format!("{:?} limbs of N = {}", self.0.limbs, self.n());
        Error::OtherParameters { found, n, expected }
    }

    /// The level of the ring for a level of CKKS: the number of limbs minus one.
    ///
    /// # Panics
    /// If `level` is above the highest level.
    pub fn ring_level(&self, level: usize) -> usize {
        self.0.limbs[level] - 1
    }

    /// Product of the moduli by which a rescale from `level` divides.
    ///
    /// # Panics
    /// If `level` is above the highest level.
    pub fn level_modulus(&self, level: usize) -> f64 {
        let moduli = &self.0.spec.levels[level];
        moduli.iter().map(|&q| q as f64).product()
    }

    /// The polynomial `X^(N/2)`, whose slots are all `i`, over all moduli.
    pub fn imaginary(&self) -> &Poly<Eval> {
        self.0.imaginary.get_or_init(|| {
            let mut coefficients = vec![0; self.n()];
            coefficients[self.n() / 2] = 1;
            let basis = self.rlwe().basis(self.rlwe().max_level());
            Poly::from_signed(basis, &coefficients).into_eval()
        })
    }
}

fn scales(spec: &ParamsSpec) -> Vec<f64> {
    let modulus = |l: usize| spec.levels[l].iter().map(|&q| q as f64).product::<f64>();
    let top = spec.levels.len().saturating_sub(1);
    let highest = (1..=top).fold(spec.log_scale.exp2(), |scale, l| {
        (scale * modulus(l)).sqrt()
    });
    let mut scales = vec![highest; top + 1];
    // Downwards, as products compute it, so that scales agree to the last bit.
    for l in (0..top).rev() {
        scales[l] = scales[l + 1] * scales[l + 1] / modulus(l + 1);
    }
    scales
}

impl PartialEq for Params {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.spec == other.0.spec
    }
}

impl std::fmt::Debug for Params {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut tuple = f.debug_tuple("ckks::Params");
        tuple.field(&self.0.spec);
        if !self.rlwe().is_secure() {
            tuple.field(&format_args!("INSECURE"));
        }
        tuple.finish()
    }
}
