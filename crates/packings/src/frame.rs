//! The ciphertexts that a packing fills: their slots, levels and scales.

use crate::error::{Error, Result, shape};
use crate::layer::Layer;
use ckks::Complex64;
use evaluate::circuit::arithmetic;
use program::circuit::{Arithmetic, Type};
use ring::{ntt_primes, ntt_primes_avoiding};
use rlwe::Words;

/// Bits of the first modulus, and of the special one.
const FIRST_BITS: u32 = 49;
/// Bits of a level of exact arithmetic: a product with a plaintext modulo 65,537 takes about 30.
const EXACT_BITS: u32 = 40;
/// Bits of a level of approximate arithmetic, and of the scale. Messages may have
/// `FIRST_BITS - SCALE_BITS` bits.
const SCALE_BITS: u32 = 30;
/// Bits of the moduli at `N = 2^12`, where 106 bits are all there is: one product, exactly.
const SMALL_BITS: [u32; 3] = [36, 33, 36];

/// The scheme in which a layer is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arith {
    /// BFV or BGV: integers modulo 65,537.
    Exact,
    /// CKKS, as in the paper. Results are rounded to integers.
    Approximate,
}

/// Parameters of a scheme, seen by a packing. Slots lie in rows, in which rotations are cyclic: one
/// row in approximate arithmetic, two in exact arithmetic.
#[derive(Clone, Debug)]
pub enum Frame {
    /// BGV, and BFV with the same parameters.
    Exact(bgv::Params),
    /// CKKS.
    Approximate(ckks::Params),
}

impl Frame {
    /// Parameters of 128-bit security for a circuit of `depth` products with plaintexts in a row.
    ///
    /// # Errors
    /// [`Error::Shape`] for a ring degree outside 2^12 to 2^15, or one too small for the depth.
    pub fn new(arith: Arith, log_n: u32, depth: usize) -> Result<Self> {
        if !(12..=15).contains(&log_n) {
            return Err(shape("log2 of the ring degree", log_n, "12 to 15"));
        }
        if log_n == 12 && (depth > 1 || arith == Arith::Approximate) {
            let what = format!("log2 of the ring degree, for {depth} products in a row");
            let expected = "at least 13: at 12 there is room for one product, in exact arithmetic";
            return Err(shape(what, log_n, expected));
        }
        let n = 1 << log_n;
        let level_bits = match arith {
            Arith::Exact => EXACT_BITS,
            Arith::Approximate => SCALE_BITS,
        };
        let [first, level, special] = match log_n {
            12 => SMALL_BITS,
            _ => [FIRST_BITS, level_bits, FIRST_BITS],
        };
        let mut q = ntt_primes(first, n, 1)?;
        q.extend(ntt_primes_avoiding(level, n, depth, &q)?);
        let special = ntt_primes_avoiding(special, n, 1, &q)?;
        Ok(match arith {
            Arith::Exact => {
                let spec = rlwe::ParamsSpec {
                    n,
                    q,
                    p: special,
                    digit_limbs: 1,
                };
                Self::Exact(bgv::Params::new(&spec, bgv::T_FERMAT)?)
            }
            Arith::Approximate => Self::Approximate(ckks::Params::new(&ckks::ParamsSpec {
                n,
                levels: q.into_iter().map(|q| vec![q]).collect(),
                special,
                digit_limbs: 1,
                log_scale: f64::from(SCALE_BITS),
            })?),
        })
    }

    /// Parameters of [`Frame::Approximate`] with moduli of at most 32 bits and digits of one limb,
    /// for machines of such words. The first level has two limbs.
    ///
    /// # Errors
    /// [`Error::Shape`] for a ring degree outside 2^13 to 2^15: 2^12 has no room for these moduli.
    pub fn params_in_words(log_n: u32, depth: usize) -> Result<ckks::Params> {
        if !(13..=15).contains(&log_n) {
            let what = "log2 of the ring degree, in words of 32 bits";
            return Err(shape(what, log_n, "13 to 15"));
        }
        let words = Words {
            bits: 32,
            digit_limbs: 1,
        };
        let levels = [vec![FIRST_BITS], vec![SCALE_BITS; depth]].concat();
        let spec = ckks::ParamsSpec::in_words(1 << log_n, &levels, words, f64::from(SCALE_BITS))?;
        Ok(ckks::Params::new(&spec)?)
    }

    /// The arithmetic of circuits.
    pub fn arithmetic(&self) -> Arithmetic {
        match self {
            Self::Exact(params) => arithmetic(params),
            Self::Approximate(params) => arithmetic(params),
        }
    }

    /// Ring degree `N`, which is also the number of coefficients.
    pub fn n(&self) -> usize {
        match self {
            Self::Exact(params) => params.n(),
            Self::Approximate(params) => params.n(),
        }
    }

    /// Number of rows of slots.
    pub fn rows(&self) -> usize {
        match self {
            Self::Exact(_) => 2,
            Self::Approximate(_) => 1,
        }
    }

    /// Slots of a row: `N/2`.
    pub fn row(&self) -> usize {
        self.n() / 2
    }

    /// Slots of all rows.
    pub fn slots(&self) -> usize {
        self.rows() * self.row()
    }

    /// Checks that the results of a layer are integers that slots hold: from `-t/2` to `t/2` in
    /// exact arithmetic, of at most 18 bits in approximate arithmetic.
    ///
    /// # Errors
    /// [`Error::Shape`] for a result, a value or a weight that is larger, and for other numbers of
    /// values or weights than the layer has.
    pub fn check_results(&self, layer: &Layer, x: &[i64], weights: &[i64]) -> Result<()> {
        let most = match self {
            Self::Exact(params) => params.t().value() / 2,
            Self::Approximate(_) => 1 << (FIRST_BITS - SCALE_BITS - 1),
        };
        let check = |what: &str, numbers: &[i64]| {
            let largest = numbers.iter().map(|v| v.unsigned_abs()).max().unwrap_or(0);
            if largest <= most {
                return Ok(());
            }
            let what = format!("the largest absolute {what}");
            Err(shape(what, largest, format!("at most {most}")))
        };
        check("value", x)?;
        check("weight", weights)?;
        check("result", &layer.apply(x, weights)?)
    }

    /// The type of a fresh ciphertext at a level.
    pub fn fresh(&self, level: usize) -> Type {
        let scale = match self {
            Self::Exact(_) => 1.0,
            Self::Approximate(params) => params.scale(),
        };
        Type {
            encrypted: true,
            level,
            scale,
        }
    }

    /// The slots, complex in approximate arithmetic, of the polynomial with these coefficients.
    /// Missing coefficients are zero.
    pub(crate) fn slots_of(&self, coefficients: &[i64]) -> Result<Vec<Complex64>> {
        match self {
            Self::Exact(params) => {
                let encoder = params.encoder();
                let slots = encoder.slots_of(&encoder.coefficients(coefficients));
                Ok(slots.into_iter().map(|v| (v as f64).into()).collect())
            }
            Self::Approximate(params) => {
                let mut all: Vec<f64> = coefficients.iter().map(|&v| v as f64).collect();
                all.resize(params.n(), 0.0);
                Ok(params.encoder().slots_of(&all, params.slots())?)
            }
        }
    }

    /// The integers that slots hold: rounded, or between `-t/2` and `t/2`.
    pub(crate) fn integers(&self, slots: &[Complex64]) -> Vec<i64> {
        let round = |v: &Complex64| v.re.round() as i64;
        match self {
            Self::Exact(params) => slots
                .iter()
                .map(|v| params.t().center(v.re as u64))
                .collect(),
            Self::Approximate(_) => slots.iter().map(round).collect(),
        }
    }

    /// The coefficients, as integers, of the polynomial with these slots.
    pub(crate) fn coefficients_of(&self, slots: &[Complex64]) -> Result<Vec<i64>> {
        match self {
            Self::Exact(params) => {
                let words: Vec<u64> = slots.iter().map(|v| v.re as u64).collect();
                let plaintext = params
                    .encoder()
                    .encode_slots(&words)
                    .map_err(Error::Exact)?;
                let coefficients = plaintext.coefficients().iter();
                Ok(coefficients.map(|&c| params.t().center(c)).collect())
            }
            Self::Approximate(params) => {
                let coefficients = params.encoder().embed(slots)?;
                Ok(coefficients.iter().map(|v| v.round() as i64).collect())
            }
        }
    }

    /// Slots as circuits take them, of integers.
    pub(crate) fn encoded(&self, values: &[i64]) -> Vec<Complex64> {
        let slot = |v: i64| match self {
            Self::Exact(params) => params.t().from_i64(v) as f64,
            Self::Approximate(_) => v as f64,
        };
        values.iter().map(|&v| slot(v).into()).collect()
    }
}
