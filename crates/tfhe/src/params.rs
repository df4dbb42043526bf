//! Parameters: an unchecked spec, and the checked value.

use crate::error::{Error, Result};
use crate::lwe::Lwe;
use crate::noise::{Model, Rounding};
use crate::security;
use ring::torus::{Decomposition, Fft, Multiplier, Torus};
use rlwe::bytes::{Fingerprint, fingerprint};
use rlwe::security::Security;

/// The assumption of an estimate for a partial secret: Bergerat et al., <https://ia.cr/2023/979>.
const PARTIAL: &str = "a partial secret, assumed as hard as one of its own dimension";

/// The switch of a sample from the big secret, of dimension `k N`, to the small one, of dimension
/// `n`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeySwitch {
    /// Digits times samples: `k N l` products of a digit with `n + 1` words, and as many words of
    /// key.
    Lwe(Decomposition),
    /// In the ring, to a partial secret: `k l ceil(n/N)` products of polynomials
    /// ([`SwitchKey`](crate::SwitchKey)).
    Ring(Decomposition),
}

impl KeySwitch {
    /// The digits.
    pub fn decomposition(self) -> Decomposition {
        match self {
            Self::Lwe(digits) | Self::Ring(digits) => digits,
        }
    }
}

/// The position of messages in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// Bits, at 1/8 and -1/8 of the torus.
    Gates,
    /// Integers below a padding bit, which tables need. Value `x` is encoded as
    /// `x / 2^(1 + carry + message)`.
    Integers {
        /// Bits of a message.
        message_bits: u32,
        /// Bits above the message, for sums and for pairs.
        carry_bits: u32,
    },
}

/// A parameter set as the caller writes it. Any values may stand here; [`Params::new`] checks them.
#[derive(Clone, Debug, PartialEq)]
pub struct ParamsSpec {
    /// Bits of a word of the torus, 32 or 64: `q = 2^word_bits`.
    pub word_bits: u32,
    /// Dimension `n` of the small secret, which is binary.
    pub lwe_dimension: usize,
    /// Standard deviation of the noise under the small secret, as a fraction of the torus.
    pub lwe_sigma: f64,
    /// Rank `k`: number of polynomials of the ring secret, which is binary.
    pub rank: usize,
    /// log2 of the ring degree `N`.
    pub log_n: u32,
    /// Standard deviation of the noise under the ring secret, as a fraction of the torus.
    pub ring_sigma: f64,
    /// Digits of the external products.
    pub bootstrap: Decomposition,
    /// Digits of the key switch, and its kind.
    pub key_switch: KeySwitch,
    /// The position of messages in a word.
    pub encoding: Encoding,
}

/// Checked parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    spec: ParamsSpec,
    fingerprint: Fingerprint,
}

impl Params {
    /// Checks `spec`.
    ///
    /// # Errors
    /// [`Error::Parameter`] if the spec does not define a scheme. [`Error::Insecure`] if its
    /// [estimate](security::estimate) is below 128 bits.
    pub fn new(spec: &ParamsSpec) -> Result<Self> {
        let params = Self::new_insecure(spec)?;
        for (secret, dimension, sigma) in params.secrets() {
            let security = security::estimate(dimension, sigma, spec.word_bits);
            if !security.is_enough() {
                return Err(Error::Insecure {
                    secret,
                    security,
                    sigma: security::min_sigma(dimension, spec.word_bits),
                });
            }
        }
        Ok(params)
    }

    /// As [`Params::new`], without the security check. For tests, and for the sets of papers.
    ///
    /// # Errors
    /// [`Error::Parameter`].
    pub fn new_insecure(spec: &ParamsSpec) -> Result<Self> {
        let bits = spec.word_bits;
        check(
            "the size of a word",
            bits,
            bits == 32 || bits == 64,
            "32 or 64 bits",
        )?;
        let n = spec.lwe_dimension;
        check(
            "the LWE dimension",
            n,
            (1..=1 << 13).contains(&n),
            "1 to 8192",
        )?;
        check(
            "the rank",
            spec.rank,
            (1..=64).contains(&spec.rank),
            "1 to 64",
        )?;
        check(
            "log2 of the ring degree",
            spec.log_n,
            (2..=17).contains(&spec.log_n),
            "2 to 17",
        )?;
        for (what, sigma) in [
            ("the noise of the small secret", spec.lwe_sigma),
            ("the noise of the ring secret", spec.ring_sigma),
        ] {
            check(what, sigma, (0.0..0.25).contains(&sigma), "0 to 1/4")?;
        }
        let switch = spec.key_switch.decomposition();
        for (what, kept) in [
            (
                "the bits of an external product's digits",
                spec.bootstrap.bits(),
            ),
            ("the bits of the key switch's digits", switch.bits()),
        ] {
            check(
                what,
                kept,
                kept < bits,
                &format!("less than the {bits} of a word"),
            )?;
        }
        if let Encoding::Integers {
            message_bits,
            carry_bits,
        } = spec.encoding
        {
            check(
                "the number of message bits",
                message_bits,
                (1..=8).contains(&message_bits),
                "1 to 8",
            )?;
            check(
                "the number of carry bits",
                carry_bits,
                carry_bits <= 8,
                "at most 8",
            )?;
            // Half of a box lies on each side of its value, so a box has at least two coefficients.
            let most = spec.log_n - 1;
            check(
                "the number of bits of a value",
                message_bits + carry_bits,
                message_bits + carry_bits <= most,
                &format!("at most {most}, log2 of half the ring degree"),
            )?;
        }
        let fingerprint = fingerprint(&describe(spec));
        Ok(Self {
            spec: spec.clone(),
            fingerprint,
        })
    }

    /// The spec these parameters were built from.
    pub fn spec(&self) -> &ParamsSpec {
        &self.spec
    }

    /// SHA-256 of the spec. Keys and ciphertexts are marked with it.
    pub fn fingerprint(&self) -> &Fingerprint {
        &self.fingerprint
    }

    /// Dimension `n` of the small secret.
    pub fn lwe_dimension(&self) -> usize {
        self.spec.lwe_dimension
    }

    /// Ring degree `N`.
    pub fn n(&self) -> usize {
        1 << self.spec.log_n
    }

    /// Rank `k`.
    pub fn rank(&self) -> usize {
        self.spec.rank
    }

    /// Dimension `k N` of the big secret.
    pub fn big_dimension(&self) -> usize {
        self.rank() * self.n()
    }

    /// Rank `ceil(n / N)` of the partial secret of a key switch in the ring.
    pub fn partial_rank(&self) -> usize {
        self.lwe_dimension().div_ceil(self.n())
    }

    /// The position of messages in a word.
    pub fn encoding(&self) -> Encoding {
        self.spec.encoding
    }

    /// Number of values below the padding bit: messages times carries. It is 4 for gates.
    pub fn values(&self) -> u64 {
        match self.spec.encoding {
            Encoding::Gates => 4,
            Encoding::Integers {
                message_bits,
                carry_bits,
            } => 1 << (message_bits + carry_bits),
        }
    }

    /// Number of messages.
    pub fn messages(&self) -> u64 {
        match self.spec.encoding {
            Encoding::Gates => 2,
            Encoding::Integers { message_bits, .. } => 1 << message_bits,
        }
    }

    /// Largest noise before a bootstrapping, in standard deviations of an output of one. Deviations
    /// add up, whether the noises are independent or the same. It is `2^message_bits + 1`: that of
    /// a pair of fresh operands in one value.
    pub fn max_noise(&self) -> u64 {
        self.messages() + 1
    }

    fn secrets(&self) -> [(&'static str, usize, f64); 2] {
        let spec = &self.spec;
        [
            ("the small secret", spec.lwe_dimension, spec.lwe_sigma),
            ("the ring secret", self.big_dimension(), spec.ring_sigma),
        ]
    }

    /// Estimated security: that of the weaker secret.
    pub fn security(&self) -> Security {
        let of = |(_, dimension, sigma)| security::estimate(dimension, sigma, self.spec.word_bits);
        let [small, ring] = self.secrets().map(of);
        match self.spec.key_switch {
            KeySwitch::Lwe(_) => small.weaker(ring),
            KeySwitch::Ring(_) => small.by_analogy(PARTIAL).weaker(ring),
        }
    }

    /// The noise formulas at these parameters. They include the rounding of [`Fft`] where it can
    /// multiply. Other multipliers add less.
    pub fn noise(&self) -> Model {
        let unit = (-2.0 * f64::from(self.spec.word_bits)).exp2() / 12.0;
        let rounding = |components: usize, digits: Decomposition| {
            if !Fft::LOG_N.contains(&self.spec.log_n) {
                return 0.0;
            }
            let rows = components * digits.levels() as usize;
            Fft::error_variance(self.n(), rows, digits.mean_square()) + unit
        };
        let switch = self.spec.key_switch.decomposition();
        Model {
            word_bits: self.spec.word_bits,
            lwe_dimension: self.lwe_dimension(),
            lwe_sigma: self.spec.lwe_sigma,
            rank: self.rank(),
            n: self.n(),
            ring_sigma: self.spec.ring_sigma,
            bootstrap: self.spec.bootstrap,
            key_switch: self.spec.key_switch,
            rounding: Rounding {
                bootstrap: rounding(self.rank() + 1, self.spec.bootstrap),
                key_switch: rounding(self.rank(), switch),
            },
        }
    }

    /// log2 of the probability that one bootstrapping of the noisiest allowed operand reads a wrong
    /// entry, with the rounding of [`noise`](Self::noise). It is an average over keys. With digits
    /// of one bit, about two fifths of the index's variance are the same in all computations with
    /// one key.
    ///
    /// For gates, the operands are four outputs: two [multiplexed](crate::ServerKey::mux) bits, or
    /// one of them twice.
    pub fn log2_failure(&self) -> f64 {
        self.log2_failure_of(1)
    }

    /// As [`log2_failure`](Self::log2_failure), if `tables` tables share the bootstrapping.
    pub fn log2_failure_of(&self, tables: usize) -> f64 {
        let drop = tables
            .checked_next_power_of_two()
            .map_or(usize::BITS, usize::ilog2);
        let (squared_norm, margin) = match self.spec.encoding {
            Encoding::Gates => (8.0, 0.125),
            Encoding::Integers { .. } => (
                (self.max_noise() as f64).powi(2),
                0.25 / self.values() as f64,
            ),
        };
        self.noise().log2_failure(squared_norm, margin, drop)
    }

    /// The word of value `x`: `x / 2p` of the torus.
    pub(crate) fn encode<T: Torus>(&self, x: u64) -> T {
        T::from_low_bits(x << (T::BITS - 1 - self.values().ilog2()))
    }

    /// Checks that `T` is the word of these parameters.
    pub(crate) fn check_word<T: Torus>(&self) -> Result<()> {
        let expected = self.spec.word_bits;
        if T::BITS == expected {
            Ok(())
        } else {
            Err(Error::Word {
                found: T::BITS,
                expected,
            })
        }
    }

    /// Checks that a sample has the dimension of the big secret.
    pub(crate) fn check_sample<T: Torus>(&self, sample: &Lwe<T>) -> Result<()> {
        self.check_word::<T>()?;
        let (found, expected) = (sample.dimension(), self.big_dimension());
        let what = "the dimension of a sample";
        check(what, found, found == expected, &expected.to_string())
    }

    pub(crate) fn check_multiplier<T: Torus>(&self, multiplier: &impl Multiplier<T>) -> Result<()> {
        self.check_word::<T>()?;
        let (found, expected) = (multiplier.n(), self.n());
        if found == expected {
            Ok(())
        } else {
            Err(Error::Multiplier { found, expected })
        }
    }

    pub(crate) fn check_gates(&self) -> Result<()> {
        match self.encoding() {
            Encoding::Gates => Ok(()),
            found => Err(Error::Encoding {
                found,
                expected: "gates",
            }),
        }
    }

    pub(crate) fn check_integers(&self) -> Result<()> {
        match self.encoding() {
            Encoding::Integers { .. } => Ok(()),
            found => Err(Error::Encoding {
                found,
                expected: "integers",
            }),
        }
    }
}

fn check(
    what: &'static str,
    found: impl std::fmt::Display,
    holds: bool,
    expected: &str,
) -> Result<()> {
    if holds {
        Ok(())
    } else {
        Err(Error::Parameter {
            what,
            found: found.to_string(),
            expected: expected.into(),
        })
    }
}

/// Every field in bytes: the input of the fingerprint.
fn describe(spec: &ParamsSpec) -> Vec<u8> {
    let mut out = b"TFHE 1".to_vec();
    for number in numbers(spec) {
        out.extend_from_slice(&number.to_le_bytes());
    }
    out
}

/// Every field as a number, in the order of the byte form.
pub(crate) fn numbers(spec: &ParamsSpec) -> [u64; 13] {
    let ParamsSpec {
        word_bits,
        lwe_dimension,
        lwe_sigma,
        rank,
        log_n,
        ring_sigma,
        bootstrap,
        key_switch,
        encoding,
    } = spec;
    let digits = key_switch.decomposition();
    let (message_bits, carry_bits) = match *encoding {
        Encoding::Gates => (0, 0),
        Encoding::Integers {
            message_bits,
            carry_bits,
        } => (message_bits, carry_bits),
    };
    [
        u64::from(*word_bits),
        *lwe_dimension as u64,
        lwe_sigma.to_bits(),
        *rank as u64,
        u64::from(*log_n),
        ring_sigma.to_bits(),
        u64::from(bootstrap.base_log()),
        u64::from(bootstrap.levels()),
        u64::from(matches!(key_switch, KeySwitch::Ring(_))),
        u64::from(digits.base_log()),
        u64::from(digits.levels()),
        u64::from(message_bits),
        u64::from(carry_bits),
    ]
}

/// The inverse of [`numbers`].
pub(crate) fn from_numbers(numbers: [u64; 13]) -> Result<ParamsSpec> {
    let small = |x: u64| u32::try_from(x).unwrap_or(u32::MAX);
    let size = |x: u64| usize::try_from(x).unwrap_or(usize::MAX);
    let [
        word_bits,
        dimension,
        lwe_sigma,
        rank,
        log_n,
        ring_sigma,
        base,
        levels,
        ring,
        switch_base,
        switch_levels,
        message_bits,
        carry_bits,
    ] = numbers;
    let digits = Decomposition::new(small(switch_base), small(switch_levels))?;
    Ok(ParamsSpec {
        word_bits: small(word_bits),
        lwe_dimension: size(dimension),
        lwe_sigma: f64::from_bits(lwe_sigma),
        rank: size(rank),
        log_n: small(log_n),
        ring_sigma: f64::from_bits(ring_sigma),
        bootstrap: Decomposition::new(small(base), small(levels))?,
        key_switch: if ring == 0 {
            KeySwitch::Lwe(digits)
        } else {
            KeySwitch::Ring(digits)
        },
        encoding: if message_bits == 0 && carry_bits == 0 {
            Encoding::Gates
        } else {
            Encoding::Integers {
                message_bits: small(message_bits),
                carry_bits: small(carry_bits),
            }
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sets;

    #[test]
    fn contradictions_are_named() {
        let good = sets::gates_lwe().spec().clone();
        let bad = |change: fn(&mut ParamsSpec)| {
            let mut spec = good.clone();
            change(&mut spec);
            Params::new_insecure(&spec)
                .expect_err("contradicts")
                .to_string()
        };
        assert!(bad(|s| s.word_bits = 48).starts_with("the size of a word is 48"));
        assert!(bad(|s| s.lwe_dimension = 0).starts_with("the LWE dimension is 0"));
        assert!(bad(|s| s.rank = 65).starts_with("the rank is 65"));
        assert!(bad(|s| s.log_n = 18).starts_with("log2 of the ring degree is 18"));
        assert!(
            bad(|s| s.lwe_sigma = f64::NAN).starts_with("the noise of the small secret is NaN")
        );
        assert!(bad(|s| s.ring_sigma = 0.3).starts_with("the noise of the ring secret is 0.3"));
        let digits = |b, l| Decomposition::new(b, l).expect("in range");
        let mut spec = good.clone();
        spec.bootstrap = digits(8, 4);
        let error = Params::new_insecure(&spec)
            .expect_err("32 bits of 32")
            .to_string();
        assert!(error.contains("external product's digits is 32"), "{error}");
        spec = good.clone();
        spec.encoding = Encoding::Integers {
            message_bits: 5,
            carry_bits: 4,
        };
        let error = Params::new_insecure(&spec)
            .expect_err("9 bits at N = 512")
            .to_string();
        assert!(error.contains("is 9, expected at most 8"), "{error}");
    }

    #[test]
    fn low_noise_is_refused_unless_it_is_called_insecure() {
        let mut spec = sets::gates_lwe().spec().clone();
        assert!(Params::new(&spec).is_ok());
        spec.lwe_sigma /= 2.0;
        let error = Params::new(&spec).expect_err("below 128 bits");
        assert!(
            matches!(
                error,
                Error::Insecure {
                    secret: "the small secret",
                    ..
                }
            ),
            "{error}"
        );
        assert!(Params::new_insecure(&spec).is_ok());
    }

    #[test]
    fn numbers_name_the_spec() {
        for params in sets::all() {
            let again = from_numbers(numbers(params.1.spec())).expect("a spec");
            assert_eq!(&again, params.1.spec(), "{}", params.0);
        }
    }
}
