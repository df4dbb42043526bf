//! Key profiles: what a set of evaluation keys is made for, apart from any program.

use crate::error::{Error, Result};
use crate::needs::{Need, Needs};
use crate::params::{LoopParams, SLACK_BITS};
use program::Parameters;
use rlwe::bytes::{Fingerprint, fingerprint, short};
use serde::{Deserialize, Serialize};

/// Largest size of a profile in a file, in bytes. A program of a thousand keys has 20,000.
pub(crate) const MAX_PROFILE: usize = 1 << 20;

/// The parameters and the list of a set of evaluation keys.
///
/// A set serves every program whose own profile it [covers](Self::missing). So it outlives the
/// weights of a network: a network may be trained again or compiled again, and several networks may
/// share a set. Its [identity](Self::id) is the hash of its JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Ring degree `N`.
    pub n: usize,
    /// Plaintext modulus `t`.
    pub t: u64,
    /// Modulus chain.
    pub q: Vec<u64>,
    /// Special moduli of key switching.
    pub p: Vec<u64>,
    /// Limbs per digit of key switching.
    pub digit_limbs: usize,
    /// LWE dimension.
    pub lwe_dimension: usize,
    /// Bits of a digit of the dimension switch.
    pub lwe_digit_bits: u32,
    /// Largest number of baby steps of a packing.
    pub baby_steps: usize,
    /// Level of the relinearization key, if there is one.
    pub relinearization: Option<usize>,
    /// Galois elements, with the levels of their keys.
    pub galois: Vec<(usize, usize)>,
    /// Numbers of values that are packed, with the levels of their packing keys.
    pub packing: Vec<(usize, usize)>,
    /// Whether there is a key of the dimension switch.
    pub dimension: bool,
    /// Level of the public key, if there is one.
    pub public: Option<usize>,
}

impl Profile {
    /// The profile of the keys `needs` for the parameters `params`.
    pub fn new(params: &LoopParams, needs: &Needs) -> Self {
        let (bfv, small) = (params.bfv(), params.small());
        let spec = bfv.rlwe().spec();
        let pairs = |keys: &std::collections::BTreeMap<usize, usize>| {
            keys.iter().map(|(&key, &level)| (key, level)).collect()
        };
        Self {
            n: spec.n,
            t: bfv.t().value(),
            q: spec.q.clone(),
            p: spec.p.clone(),
            digit_limbs: spec.digit_limbs,
            lwe_dimension: small.dimension(),
            lwe_digit_bits: small.digit_bits(),
            baby_steps: params.baby_steps(),
            relinearization: needs.relinearization(),
            galois: pairs(needs.galois_elements()),
            packing: pairs(needs.packings()),
            dimension: needs.switches(),
            public: needs.public_level(),
        }
    }

    /// The parameters of the profile.
    ///
    /// # Errors
    /// [`program::Error::Parameters`] if a number is out of range, and errors of parameters that are
    /// not secure.
    pub fn params(&self) -> Result<LoopParams> {
        let parameters = Parameters {
            n: self.n,
            t: self.t,
            q: self.q.clone(),
            p: self.p.clone(),
            digit_limbs: self.digit_limbs,
            lwe_dimension: self.lwe_dimension,
            lwe_digit_bits: self.lwe_digit_bits,
            slack_bits: SLACK_BITS,
            baby_steps: self.baby_steps,
        };
        parameters.verify()?;
        LoopParams::of(&parameters)
    }

    /// The keys of the profile.
    pub fn needs(&self) -> Needs {
        let relinearization = self.relinearization.into_iter();
        let galois = self.galois.iter();
        let packing = self.packing.iter();
        relinearization
            .map(|level| Need::Relinearization { level })
            .chain(galois.map(|&(element, level)| Need::Galois { element, level }))
            .chain(packing.map(|&(values, level)| Need::Packing { values, level }))
            .chain(self.dimension.then_some(Need::Dimension))
            .chain(self.public.map(|level| Need::Public { level }))
            .collect()
    }

    /// The profile as JSON, in one line.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a profile has no keys that are not strings")
    }

    /// Reads a profile. Whether its moduli name a secure ring is checked where parameters are made
    /// of it.
    ///
    /// # Errors
    /// [`program::Error::Json`] if the text is no profile, [`Error::Shape`] for a key that its
    /// parameters do not have.
    pub fn from_json(text: &str) -> Result<Self> {
        let profile: serde_json::Result<Self> = serde_json::from_str(text);
        let profile = profile.map_err(|error| program::Error::Json(error.to_string()))?;
        profile.check_keys()?;
        Ok(profile)
    }

    /// Checks that the ring has the levels, elements and numbers of values of the keys.
    fn check_keys(&self) -> Result<()> {
        let wrong = |what, found: usize, expected: String| {
            Err(Error::Shape {
                what,
                found: found.to_string(),
                expected,
            })
        };
        let (galois, packing) = (self.galois.iter(), self.packing.iter());
        let levels = galois.chain(packing).map(|&(_, level)| level);
        let mut levels = levels.chain(self.relinearization).chain(self.public);
        if let Some(level) = levels.find(|&level| level >= self.q.len()) {
            let expected = format!("less than {}, the limbs of the chain", self.q.len());
            return wrong("the level of a key", level, expected);
        }
        let mut elements = self.galois.iter().map(|&(element, _)| element);
        if let Some(element) = elements.find(|e| e % 2 == 0 || *e / 2 >= self.n) {
            let expected = format!("an odd number below 2 * {}", self.n);
            return wrong("the Galois element of a key", element, expected);
        }
        let mut values = self.packing.iter().map(|&(values, _)| values);
        match values.find(|values| !values.is_power_of_two() || *values > self.n) {
            None => Ok(()),
            Some(values) => {
                let expected = format!("a power of two up to {}", self.n);
                wrong("the number of values of a packing key", values, expected)
            }
        }
    }

    /// Identity of the profile: SHA-256 of its JSON.
    pub fn id(&self) -> Fingerprint {
        fingerprint(self.to_json().as_bytes())
    }

    /// The keys of `needed` that a set of this profile does not have. A key of a higher level serves
    /// lower ones.
    ///
    /// # Errors
    /// [`Error::Profile`] with the first parameter that differs. Then no key serves.
    pub fn missing(&self, needed: &Self) -> Result<Needs> {
        self.check_parameters(needed)?;
        Ok(needed.needs().without(&self.needs()))
    }

    /// Checks that the keys of two profiles have the same parameters.
    ///
    /// # Errors
    /// As [`missing`](Self::missing).
    pub fn check_parameters(&self, needed: &Self) -> Result<()> {
        let bits = |moduli: &[u64]| {
            let bits: f64 = moduli.iter().map(|&q| (q as f64).log2()).sum();
            let hash = short(&fingerprint(format!("{moduli:?}").as_bytes()));
            format!("{} moduli of {bits:.0} bits in all ({hash})", moduli.len())
        };
        let number = |value: usize| value.to_string();
        let (a, b) = (self, needed);
        let compared = [
            ("the ring degree", number(a.n), number(b.n)),
            ("the plaintext modulus", a.t.to_string(), b.t.to_string()),
            ("the modulus chain", bits(&a.q), bits(&b.q)),
            ("the special moduli", bits(&a.p), bits(&b.p)),
            (
                "the number of limbs of a digit",
                number(a.digit_limbs),
                number(b.digit_limbs),
            ),
            (
                "the LWE dimension",
                number(a.lwe_dimension),
                number(b.lwe_dimension),
            ),
            (
                "the number of bits of a digit of the dimension switch",
                a.lwe_digit_bits.to_string(),
                b.lwe_digit_bits.to_string(),
            ),
            (
                "the number of baby steps of packings",
                number(a.baby_steps),
                number(b.baby_steps),
            ),
        ];
        match compared
            .into_iter()
            .find(|(_, found, expected)| found != expected)
        {
            None => Ok(()),
            Some((what, found, expected)) => Err(Error::Profile {
                what,
                found,
                expected,
            }),
        }
    }
}
