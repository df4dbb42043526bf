//! The dimension switch: from the ring's secret to an LWE secret of smaller dimension.
//!
//! A secret `z` of dimension `n` is embedded into the ring as `z(X^(N/n))`. After a key switch to
//! it, every coefficient of the phase depends on only `n` mask coefficients. A ring sample under
//! `z(X^(N/n))` is `N/n` samples of the ring of degree `n`, so the security is that of dimension
//! `n`, and [`DimensionParams::new`] checks it there.
//!
//! Small dimensions allow only small moduli: 26 bits at `n = 1024`. These leave no room for special
//! moduli, so the gadget consists of powers of `B`. A residue `c` modulo `q` is cut into digits of
//! a few bits, `|c| = sum_j d_j B^j` with `-B/2 <= d_j < B/2`, times the sign of `c`, and key `j`
//! encrypts `B^j s`. The result contains the noise of the digits, which counts with the rounding
//! noise that follows.
//!
//! Source: Gentry, Halevi, Peikert, Smart, "Field Switching in BGV-Style Homomorphic Encryption",
//! 2013 (secrets of a subring); Brakerski, Vaikuntanathan, FOCS 2011, section 3.2 (digits of
//! powers).

use crate::error::{Error, Result};
use crate::keys::SecretKey;
use crate::lwe::LweSecret;
use crate::security::{self, Security, TARGET_BITS};
use rand::CryptoRng;
use ring::sample::{self, SIGMA, Seed};
use ring::{Basis, Coeff, Eval, Poly, dot_pairs_signed};
use zeroize::Zeroizing;

/// Digit sizes, in bits, that parameters may have.
const DIGIT_BITS: std::ops::RangeInclusive<u32> = 1..=30;

/// Parameters of the dimension switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DimensionParams {
    basis: Basis,
    dimension: usize,
    digit_bits: u32,
}

impl DimensionParams {
    /// A switch from the ring of degree `n` modulo `q` to a secret of dimension `dimension`, with
    /// digits of `digit_bits` bits.
    ///
    /// # Errors
    /// [`Error::LweDimension`] if the dimension does not divide the degree. [`Error::DigitBits`] if
    /// digits have no bits or more than 30. [`Error::Insecure`] if log2(q) exceeds the largest
    /// value that `dimension` allows at 128 bits. Also the errors of the modulus.
    pub fn new(n: usize, q: u64, dimension: usize, digit_bits: u32) -> Result<Self> {
        let params = Self::new_insecure(n, q, dimension, digit_bits)?;
        if !params.security().is_enough() {
            return Err(Error::Insecure {
                log_qp: params.log_q().ceil() as u32,
                limit: security::max_log_qp(dimension).unwrap_or(0),
                lambda: TARGET_BITS,
                n: dimension,
            });
        }
        Ok(params)
    }

    /// As [`DimensionParams::new`], without the security check. For unit tests.
    ///
    /// # Errors
    /// As [`DimensionParams::new`], except [`Error::Insecure`].
    pub fn new_insecure(n: usize, q: u64, dimension: usize, digit_bits: u32) -> Result<Self> {
        if dimension == 0 || !n.is_multiple_of(dimension) {
            return Err(Error::LweDimension {
                found: dimension,
                n,
            });
        }
        if !DIGIT_BITS.contains(&digit_bits) {
            return Err(Error::DigitBits { found: digit_bits });
        }
        Ok(Self {
            basis: Basis::new(n, &[q])?,
            dimension,
            digit_bits,
        })
    }

    /// The only modulus, as a basis of the ring.
    pub fn basis(&self) -> &Basis {
        &self.basis
    }

    /// Dimension of the LWE secret.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// Bits of a digit.
    pub fn digit_bits(&self) -> u32 {
        self.digit_bits
    }

    /// log2 of the modulus.
    pub fn log_q(&self) -> f64 {
        self.basis.log2()
    }

    /// Estimated security of the small secret.
    pub fn security(&self) -> Security {
        security::uniform(self.dimension, self.log_q())
    }

    fn q(&self) -> u64 {
        self.basis.modulus(0).value()
    }

    /// Number of digits of a residue: the fewest that hold all centred residues.
    pub fn digits(&self) -> usize {
        let holds = |digits: u32| {
            let (half, all) = (u128::from(self.q() / 2), 1 << (self.digit_bits * digits));
            let low = offset(self.digit_bits, digits);
            half <= low && half + low < all
        };
        let bits = 64 - self.q().leading_zeros();
        let first = bits.div_ceil(self.digit_bits);
        let digits = (first..=first + 1).find(|&digits| holds(digits));
        digits.unwrap_or(first + 1) as usize
    }

    /// Variance of the noise that a switch adds, modulo `q`: `N sigma^2 sum_j E d_j^2`. All digits
    /// but the last are uniform in `[-B/2, B/2)`. The last is a centred residue divided by the
    /// digit's weight and rounded.
    pub fn noise_variance(&self) -> f64 {
        let (n, base) = (self.basis.n() as f64, (1u64 << self.digit_bits) as f64);
        let lower = self.digits() - 1;
        let last = self.q() as f64 / base.powi(lower as i32);
        let squares = lower as f64 * (base * base + 2.0) / 12.0 + (last * last + 1.0) / 12.0;
        n * SIGMA * SIGMA * squares
    }

    /// The digits of residues, least significant first.
    fn decompose(&self, residues: &[u64]) -> Vec<Vec<i32>> {
        let (q, bits, count) = (self.q() as i64, self.digit_bits, self.digits());
        // The last digit is the rest above the others: its own part of the offset could exceed a
        // word.
        let last = count - 1;
        let offset = offset(bits, last as u32) as i64;
        // Cut the magnitude into digits and multiply them by the residue's sign. Digits of the
        // residue itself would have the mean -1/2, which would shift all samples of a ciphertext
        // alike. The sign is 0 or -1, so these loops have no branch.
        let signed = residues.iter().map(|&c| {
            let centred = c as i64 - (q & ((q / 2 - c as i64) >> 63));
            let sign = centred >> 63;
            ((centred ^ sign) - sign + offset, sign)
        });
        let (upper, signs): (Vec<i64>, Vec<i64>) = signed.unzip();
        let digit = |j: usize| {
            let (mask, half) = match j == last {
                true => (-1, 0),
                false => ((1 << bits) - 1, 1 << (bits - 1)),
            };
            let shift = bits * j as u32;
            let parts = upper.iter().zip(&signs);
            let digit = parts.map(|(&upper, &sign)| {
                let digit: i64 = ((upper >> shift) & mask) - half;
                ((digit ^ sign) - sign) as i32
            });
            digit.collect()
        };
        (0..count).map(digit).collect()
    }
}

/// `sum_j B/2 B^j` over the lowest digits. Adding it makes these digits positive.
fn offset(bits: u32, digits: u32) -> u128 {
    (0..digits).map(|j| 1 << (bits * j + bits - 1)).sum()
}

/// Evaluation key for the dimension switch.
#[derive(Clone, PartialEq, Eq)]
pub struct DimensionKey {
    params: DimensionParams,
    seed: Seed,
    /// The pair `(b_j, a_j)` of each digit. `a_j` expands from the seed.
    digits: Vec<[Poly<Eval>; 2]>,
}

impl DimensionKey {
    /// The key from `secret` to `target`.
    ///
    /// # Panics
    /// If the secrets do not have the dimensions of `params`.
    pub fn generate(
        params: &DimensionParams,
        secret: &SecretKey,
        target: &LweSecret,
        rng: &mut impl CryptoRng,
    ) -> Self {
        let (basis, q) = (&params.basis, params.basis.modulus(0));
        assert_eq!(target.coefficients().len(), params.dimension, "dimension");
        let eval = |coefficients: &[i64]| {
            Zeroizing::new(Poly::from_signed(basis, coefficients).into_eval())
        };
        let (from, to) = (
            eval(secret.coefficients()),
            eval(&target.in_ring(basis.n())),
        );
        let seed = Seed::random(rng);
        let mut power = 1;
        let bodies = (0..params.digits()).map(|j| {
            let a: Poly<Eval> = sample::uniform_from_seed(basis, &seed, j as u32);
            let errors = sample::gaussian(basis.n(), rng);
            let mut b = Poly::from_signed(basis, &errors).into_eval();
            b.sub_assign(&Zeroizing::new(a.mul(&to)));
            b.add_scaled_prefix(&from, |_| power);
            power = q.mul(power, q.reduce(1 << params.digit_bits));
            [b, a]
        });
        Self {
            digits: bodies.collect(),
            params: params.clone(),
            seed,
        }
    }

    /// A key from its bodies `b_j` and the seed of its masks `a_j`.
    ///
    /// # Panics
    /// If there is not one body per digit, each over the modulus of `params`.
    pub fn from_parts(params: &DimensionParams, seed: Seed, bodies: Vec<Poly<Eval>>) -> Self {
        assert_eq!(bodies.len(), params.digits(), "one body per digit");
        let with_mask = |(j, b): (usize, Poly<Eval>)| {
            assert_eq!(b.basis(), &params.basis, "bodies over q");
            [b, sample::uniform_from_seed(&params.basis, &seed, j as u32)]
        };
        Self {
            digits: bodies.into_iter().enumerate().map(with_mask).collect(),
            params: params.clone(),
            seed,
        }
    }

    /// The parameters.
    pub fn params(&self) -> &DimensionParams {
        &self.params
    }

    /// The seed of the masks.
    pub fn seed(&self) -> &Seed {
        &self.seed
    }

    /// The body of each digit.
    pub fn bodies(&self) -> impl ExactSizeIterator<Item = &Poly<Eval>> {
        self.digits.iter().map(|[body, _]| body)
    }

    /// Bytes in memory.
    pub fn byte_len(&self) -> usize {
        2 * self.digits.len() * self.params.basis.n() * size_of::<u64>()
    }

    /// A pair whose phase under the target is that of `(c0, c1)` under the secret.
    pub(crate) fn switch(&self, c0: &Poly<Eval>, c1: &Poly<Eval>) -> [Poly<Coeff>; 2] {
        let digits = self.params.decompose(c1.to_coeff().limb(0));
        let sums = dot_pairs_signed(&self.params.basis, (1, &digits), |i| {
            [0, 1].map(|part| self.digits.iter().map(|pair| pair[part].limb(i)).collect())
        });
        let [[mut body, mask]] = <[_; 1]>::try_from(sums).expect("one row");
        body.add_assign(c0);
        [body.into_coeff(), mask.into_coeff()]
    }
}

impl std::fmt::Debug for DimensionKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "DimensionKey({} digits)", self.digits.len())
    }
}
