//! A parameter set as it is written and stored, for all schemes.

use crate::error::{Error, Result};
use ring::ntt_primes_of_sizes;
use rlwe::bytes::{BytesError, Kind, Reader, Writer};

pub(crate) const PARAMETERS: Kind = Kind {
    tag: *b"RPAR",
    words: "parameters of a scheme",
    version: 1,
};

/// Largest number of moduli. Secure sets have fewer than a hundred.
const MOST_MODULI: usize = 256;
/// Largest number of words of one polynomial over all moduli: 96 moduli at the largest degree.
/// Tables take about four times as many.
const MOST_WORDS: usize = 96 << 17;

const SCHEMES: [&str; 3] = ["ckks", "bfv", "bgv"];

/// The moduli of a parameter set, and the numbers that a scheme keeps with them.
#[derive(Clone, Debug)]
pub struct Spec {
    /// Name of the scheme.
    pub(crate) scheme: &'static str,
    /// Ring degree.
    pub(crate) n: usize,
    /// Moduli of each level, level 0 first.
    pub(crate) levels: Vec<Vec<u64>>,
    /// Special moduli of key switching.
    pub(crate) special: Vec<u64>,
    /// Largest number of moduli of a digit.
    pub(crate) digit_limbs: usize,
    /// The log2 of the scale as the bits of a double, or the plaintext modulus.
    pub(crate) number: u64,
}

/// Sizes of moduli in bits.
pub(crate) struct Bits<'a> {
    pub(crate) log_n: u32,
    pub(crate) levels: &'a [Vec<u32>],
    pub(crate) special: &'a [u32],
    pub(crate) digit_limbs: Option<usize>,
}

impl Spec {
    /// A spec with primes of the given sizes.
    pub(crate) fn of_bits(scheme: &'static str, number: u64, bits: &Bits<'_>) -> Result<Self> {
        let log_n = bits.log_n;
        if !(4..=17).contains(&log_n) {
            return Err(Error::argument("log_n", log_n, "4 to 17"));
        }
        let (levels, special) = (bits.levels, bits.special);
        let count = levels.iter().map(Vec::len).sum::<usize>() + special.len();
        check_moduli(1 << log_n, count)?;
        let sizes: Vec<u32> = levels.iter().flatten().chain(special).copied().collect();
        let mut primes = ntt_primes_of_sizes(&sizes, 1 << log_n)?.into_iter();
        let mut take = |count| primes.by_ref().take(count).collect::<Vec<u64>>();
        Ok(Self {
            scheme,
            n: 1 << log_n,
            levels: levels.iter().map(|level| take(level.len())).collect(),
            special: take(special.len()),
            digit_limbs: bits.digit_limbs.unwrap_or(special.len().max(1)),
            number,
        })
    }

    /// Checks the number of moduli, before memory is allocated for their tables, and returns the
    /// limbs of a digit, at most all.
    pub(crate) fn checked_digit_limbs(&self) -> Result<usize> {
        let limbs: usize = self.levels.iter().map(Vec::len).sum();
        check_moduli(self.n, limbs + self.special.len())?;
        Ok(self.digit_limbs.min(limbs.max(1)))
    }

    pub(crate) fn write(&self, insecure: bool) -> Writer {
        let mut w = Writer::new();
        w.block(self.scheme.as_bytes());
        w.u64(u64::from(insecure));
        w.u64(self.n as u64);
        w.u64(self.digit_limbs as u64);
        w.u64(self.number);
        w.u64(self.levels.len() as u64);
        for moduli in self.levels.iter().chain([&self.special]) {
            w.u64(moduli.len() as u64);
            moduli.iter().for_each(|&q| w.u64(q));
        }
        w
    }

    pub(crate) fn read(r: &mut Reader<'_>) -> std::result::Result<Self, BytesError> {
        let scheme = r.block("the name of a scheme")?;
        let known = SCHEMES.iter().find(|name| name.as_bytes() == scheme);
        let scheme = known.ok_or_else(|| BytesError::Kind {
            found: format!("the scheme {:?}", String::from_utf8_lossy(scheme)),
            expected: SCHEMES.join(", "),
        })?;
        // Building the parameters decides about security, and the fingerprint shows whether the
        // mark was right.
        r.bounded("the mark of insecurity", 0..=1)?;
        let n = r.bounded("the ring degree", 16..=1 << 17)?;
        let digit_limbs = r.bounded("the limbs of a digit", 1..=r.left())?;
        let number = r.u64("the scale or plaintext modulus")?;
        let count = r.bounded("the number of levels", 1..=r.left() / 8)?;
        let mut moduli = || -> std::result::Result<Vec<u64>, BytesError> {
            let count = r.bounded("the moduli of a level", 1..=r.left() / 8)?;
            (0..count).map(|_| r.u64("a modulus")).collect()
        };
        Ok(Self {
            scheme,
            n,
            levels: (0..count)
                .map(|_| moduli())
                .collect::<std::result::Result<_, _>>()?,
            special: moduli()?,
            digit_limbs,
            number,
        })
    }
}

/// Bounds the memory of the tables.
fn check_moduli(n: usize, found: usize) -> Result<()> {
    let most = MOST_MODULI.min(MOST_WORDS / n.max(1));
    if (2..=most).contains(&found) {
        return Ok(());
    }
    Err(Error::Moduli { found, most, n })
}
