//! Parameters of the three schemes, under one fingerprint.

use std::fmt::Display;
use std::sync::Arc;

use evaluate::circuit::{Bfv, arithmetic};
use program::circuit::Arithmetic;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use ring::ntt_primes_of_sizes;
use rlwe::bytes::{BytesError, Fingerprint, Kind, Reader, Writer, fingerprint};

use super::InScheme;
use crate::error::{SecurityError, UsageError};
use crate::guard::guard;
use crate::security;

const PARAMETERS: Kind = Kind {
    tag: *b"RPAR",
    words: "parameters of a scheme",
    version: 1,
};

/// The data that operations need from the parameters, by scheme.
pub(crate) enum Scheme {
    Ckks(::ckks::Evaluator),
    Bfv(bfv::Evaluator),
    Bgv(bgv::Evaluator),
}

impl Scheme {
    fn rlwe(&self) -> &rlwe::Params {
        match self {
            Self::Ckks(e) => e.params().rlwe(),
            Self::Bfv(e) => e.params().rlwe(),
            Self::Bgv(e) => e.params().rlwe(),
        }
    }
}

/// A parameter set as the caller writes it.
struct Spec {
    scheme: &'static str,
    n: usize,
    levels: Vec<Vec<u64>>,
    special: Vec<u64>,
    digit_limbs: usize,
    /// The log2 of the scale as the bits of a double, or the plaintext modulus.
    number: u64,
}

/// Largest number of moduli. Secure sets have fewer than a hundred.
const MOST_MODULI: usize = 256;
/// Largest number of words of one polynomial over all moduli: 96 moduli at the largest degree.
/// Tables take about four times as many.
const MOST_WORDS: usize = 96 << 17;

const SCHEMES: [&str; 3] = ["ckks", "bfv", "bgv"];

impl Spec {
    /// A spec with primes of the given sizes in bits.
    fn of_sizes(
        (scheme, number): (&str, u64),
        log_n: u32,
        (levels, special): (&[Vec<u32>], &[u32]),
        digit_limbs: Option<usize>,
    ) -> PyResult<Self> {
        if !(4..=17).contains(&log_n) {
            let words = format!("log_n is {log_n}, expected 4 to 17");
            return Err(UsageError::new_err(words));
        }
        let moduli = levels.iter().map(Vec::len).sum::<usize>() + special.len();
        check_moduli(1 << log_n, moduli)?;
        let sizes: Vec<u32> = levels.iter().flatten().chain(special).copied().collect();
        let mut primes = ntt_primes_of_sizes(&sizes, 1 << log_n)
            .map_err(rlwe::Error::from)
            .or_raise()?
            .into_iter();
        let mut take = |count| primes.by_ref().take(count).collect::<Vec<u64>>();
        Ok(Self {
            scheme: name(scheme)?,
            n: 1 << log_n,
            levels: levels.iter().map(|level| take(level.len())).collect(),
            special: take(special.len()),
            digit_limbs: digit_limbs.unwrap_or(special.len().max(1)),
            number,
        })
    }

    fn of_ckks(spec: &::ckks::ParamsSpec) -> Self {
        Self {
            scheme: "ckks",
            n: spec.n,
            levels: spec.levels.clone(),
            special: spec.special.clone(),
            digit_limbs: spec.digit_limbs,
            number: spec.log_scale.to_bits(),
        }
    }

    /// Builds the parameters. They may be below [`rlwe::security::TARGET_BITS`] only if `insecure`
    /// says so. That is for the caller to say, never for a file.
    fn build(&self, insecure: bool) -> PyResult<Scheme> {
        let limbs: usize = self.levels.iter().map(Vec::len).sum();
        check_moduli(self.n, limbs + self.special.len())?;
        let digit_limbs = self.digit_limbs.min(limbs.max(1));
        if self.scheme == "ckks" {
            let spec = ::ckks::ParamsSpec {
                n: self.n,
                levels: self.levels.clone(),
                special: self.special.clone(),
                digit_limbs,
                log_scale: f64::from_bits(self.number),
            };
            let params = if insecure {
                ::ckks::Params::new_insecure(&spec)
            } else {
                ::ckks::Params::new(&spec)
            };
            return Ok(Scheme::Ckks(::ckks::Evaluator::new(&params.or_raise()?)));
        }
        let spec = rlwe::ParamsSpec {
            n: self.n,
            q: self.levels.concat(),
            p: self.special.clone(),
            digit_limbs,
        };
        let params = if insecure {
            ::exact::Params::new_insecure(&spec, self.number)
        } else {
            ::exact::Params::new(&spec, self.number)
        };
        let params = params.or_raise()?;
        Ok(if self.scheme == "bfv" {
            Scheme::Bfv(bfv::Evaluator::new(&params))
        } else {
            Scheme::Bgv(bgv::Evaluator::new(&params))
        })
    }

    fn write(&self, insecure: bool) -> Writer {
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

    fn read(r: &mut Reader<'_>) -> Result<Self, BytesError> {
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
        let mut moduli = || -> Result<Vec<u64>, BytesError> {
            let count = r.bounded("the moduli of a level", 1..=r.left() / 8)?;
            (0..count).map(|_| r.u64("a modulus")).collect()
        };
        Ok(Self {
            scheme,
            n,
            levels: (0..count).map(|_| moduli()).collect::<Result<_, _>>()?,
            special: moduli()?,
            digit_limbs,
            number,
        })
    }
}

/// Bounds the memory of the tables.
fn check_moduli(n: usize, found: usize) -> PyResult<()> {
    let most = MOST_MODULI.min(MOST_WORDS / n.max(1));
    if (2..=most).contains(&found) {
        return Ok(());
    }
    let words = format!("{found} moduli, special ones counted, expected 2 to {most} at N = {n}");
    Err(UsageError::new_err(words))
}

fn name(scheme: &str) -> PyResult<&'static str> {
    let known = SCHEMES.into_iter().find(|&name| name == scheme);
    let words = || format!("scheme {scheme:?}, expected one of {}", SCHEMES.join(", "));
    known.ok_or_else(|| UsageError::new_err(words()))
}

struct Inner {
    scheme: Scheme,
    spec: Spec,
    fingerprint: Fingerprint,
    bytes: Vec<u8>,
}

/// Checked parameters of a scheme.
#[pyclass(frozen, module = "palladion._native")]
#[derive(Clone)]
pub(crate) struct SchemeParams(Arc<Inner>);

impl SchemeParams {
    fn new(spec: Spec, insecure: bool) -> PyResult<Self> {
        let scheme = spec.build(insecure)?;
        let insecure = !scheme.rlwe().is_secure();
        // The fingerprint is that of the bytes with an empty fingerprint.
        let fingerprint = fingerprint(&spec.write(insecure).seal(&PARAMETERS, &[0; 32]));
        let bytes = spec.write(insecure).seal(&PARAMETERS, &fingerprint);
        Ok(Self(Arc::new(Inner {
            scheme,
            spec,
            fingerprint,
            bytes,
        })))
    }

    /// Parameters of CKKS.
    pub(crate) fn of_ckks(params: &::ckks::Params) -> PyResult<Self> {
        Self::new(Spec::of_ckks(params.spec()), !params.rlwe().is_secure())
    }

    /// Parameters of BGV.
    pub(crate) fn of_bgv(params: &bgv::Params) -> PyResult<Self> {
        let rlwe = params.rlwe();
        let spec = Spec {
            scheme: "bgv",
            n: rlwe.n(),
            levels: rlwe.spec().q.iter().map(|&q| vec![q]).collect(),
            special: rlwe.spec().p.clone(),
            digit_limbs: rlwe.spec().digit_limbs,
            number: params.t().value(),
        };
        Self::new(spec, !rlwe.is_secure())
    }

    pub(crate) fn scheme(&self) -> &Scheme {
        &self.0.scheme
    }

    pub(crate) fn made_for(&self) -> &Fingerprint {
        &self.0.fingerprint
    }

    pub(crate) fn rlwe(&self) -> &rlwe::Params {
        self.0.scheme.rlwe()
    }

    pub(crate) fn ckks(&self) -> PyResult<&::ckks::Evaluator> {
        match &self.0.scheme {
            Scheme::Ckks(evaluator) => Ok(evaluator),
            _ => Err(self.other_scheme("ckks")),
        }
    }

    /// The arithmetic of circuits for these parameters.
    pub(crate) fn arithmetic(&self) -> Arithmetic {
        match &self.0.scheme {
            Scheme::Ckks(e) => arithmetic(e.params()),
            Scheme::Bfv(e) => arithmetic(&Bfv(e.params().clone())),
            Scheme::Bgv(e) => arithmetic(e.params()),
        }
    }

    /// The operations that BFV and BGV share.
    pub(crate) fn exact(&self) -> PyResult<::exact::Evaluator> {
        match &self.0.scheme {
            Scheme::Ckks(_) => Err(self.other_scheme("bfv or bgv")),
            Scheme::Bfv(e) => Ok((**e).clone()),
            Scheme::Bgv(e) => Ok(::exact::Evaluator::new(e.params())),
        }
    }

    fn other_scheme(&self, expected: &str) -> PyErr {
        UsageError::new_err(format!("parameters of {self}, expected {expected}"))
    }

    /// Checks that an object with the parameters `found` is for these parameters.
    pub(crate) fn check(&self, what: &str, found: &Self) -> PyResult<()> {
        if self.0.fingerprint == found.0.fingerprint {
            return Ok(());
        }
        let words = format!("the {what} is of other parameters: {found}, expected {self}");
        Err(UsageError::new_err(words))
    }

    /// The highest level of a ciphertext.
    pub(crate) fn max_level(&self) -> usize {
        self.0.spec.levels.len() - 1
    }

    /// The level asked for, or the highest level if none is given.
    pub(crate) fn level(&self, level: Option<usize>) -> PyResult<usize> {
        let highest = self.max_level();
        let level = level.unwrap_or(highest);
        if level > highest {
            let words = format!("level {level}, expected 0 to {highest}");
            return Err(UsageError::new_err(words));
        }
        Ok(level)
    }
}

impl Display for SchemeParams {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let spec = &self.0.spec;
        let rlwe = self.rlwe();
        let (log_n, log_qp) = (rlwe.log_n(), rlwe.log_qp());
        write!(f, "{}, N = 2^{log_n}, ", spec.scheme)?;
        write!(f, "{} levels, log2(QP) = {log_qp:.1}, ", spec.levels.len())?;
        match self.0.scheme {
            Scheme::Ckks(_) => write!(f, "scale 2^{}", f64::from_bits(spec.number))?,
            _ => write!(f, "t = {}", spec.number)?,
        }
        write!(f, ", {} ({})", rlwe.security(), self.fingerprint())
    }
}

#[pymethods]
impl SchemeParams {
    #[staticmethod]
    #[pyo3(signature = (log_n, levels, special, digit_limbs, log_scale, insecure))]
    fn ckks_of_sizes(
        py: Python<'_>,
        log_n: u32,
        levels: Vec<Vec<u32>>,
        special: Vec<u32>,
        digit_limbs: Option<usize>,
        log_scale: f64,
        insecure: bool,
    ) -> PyResult<Self> {
        guard(py, || {
            let kind = ("ckks", log_scale.to_bits());
            let sizes = (levels.as_slice(), special.as_slice());
            let spec = Spec::of_sizes(kind, log_n, sizes, digit_limbs)?;
            Self::new(spec, insecure)
        })
    }

    #[staticmethod]
    fn ckks_for_depth(py: Python<'_>, log_n: u32, depth: usize, scale_bits: u32) -> PyResult<Self> {
        guard(py, || {
            if !(10..=17).contains(&log_n) {
                let words = format!("log_n is {log_n}, expected 10 to 17");
                return Err(UsageError::new_err(words));
            }
            let spec = ::ckks::ParamsSpec::for_depth(1 << log_n, depth, scale_bits);
            Self::new(Spec::of_ckks(&spec.or_raise()?), false)
        })
    }

    #[staticmethod]
    #[pyo3(signature = (scheme, log_n, levels, special, digit_limbs, t, insecure))]
    #[expect(
        clippy::too_many_arguments,
        reason = "one line of Python calls it, by keywords"
    )]
    fn exact_of_sizes(
        py: Python<'_>,
        scheme: &str,
        log_n: u32,
        levels: Vec<u32>,
        special: Vec<u32>,
        digit_limbs: Option<usize>,
        t: u64,
        insecure: bool,
    ) -> PyResult<Self> {
        guard(py, || {
            let levels: Vec<Vec<u32>> = levels.into_iter().map(|bits| vec![bits]).collect();
            let sizes = (levels.as_slice(), special.as_slice());
            let spec = Spec::of_sizes((scheme, t), log_n, sizes, digit_limbs)?;
            Self::new(spec, insecure)
        })
    }

    /// Degree, moduli, security and other properties.
    fn describe<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (spec, rlwe) = (&self.0.spec, self.rlwe());
        let found = PyDict::new(py);
        found.set_item("scheme", spec.scheme)?;
        found.set_item("log_n", rlwe.log_n())?;
        found.set_item("moduli", &spec.levels)?;
        found.set_item("special", &spec.special)?;
        found.set_item("slots", self.slots())?;
        found.set_item("log_q", rlwe.log_q(rlwe.max_level()))?;
        found.set_item("log_qp", rlwe.log_qp())?;
        found.set_item("digits", rlwe.digits(rlwe.max_level()).count())?;
        found.set_item("security", security::to_dict(py, &rlwe.security())?)?;
        found.set_item("security_bits", security::bits(&rlwe.security()))?;
        match &self.0.scheme {
            Scheme::Ckks(e) => found.set_item("scale", e.params().scale())?,
            _ => found.set_item("t", spec.number)?,
        }
        Ok(found)
    }

    /// The number of values of one ciphertext.
    pub(crate) fn slots(&self) -> usize {
        let n = self.rlwe().n();
        match &self.0.scheme {
            Scheme::Ckks(_) => n / 2,
            _ => n,
        }
    }

    /// The first bytes of the fingerprint.
    fn fingerprint(&self) -> String {
        let bytes = self.0.fingerprint.iter().take(6);
        bytes.map(|b| format!("{b:02x}")).collect()
    }

    fn __repr__(&self) -> String {
        self.to_string()
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.bytes)
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, data: &[u8], insecure: bool) -> PyResult<Self> {
        guard(py, || {
            let (mut reader, found) = Reader::open_any(data, &PARAMETERS)
                .map_err(rlwe::Error::from)
                .or_raise()?;
            let spec = Spec::read(&mut reader)
                .map_err(rlwe::Error::from)
                .or_raise()?;
            reader.end().map_err(rlwe::Error::from).or_raise()?;
            let params = Self::new(spec, insecure).map_err(asked_for)?;
            if found != *params.made_for() {
                let expected = params.made_for();
                let error = BytesError::other_program(PARAMETERS.words, &found, expected);
                return Err(rlwe::Error::from(error)).or_raise();
            }
            Ok(params)
        })
    }
}

/// Adds the remedy to the error for a file whose parameters are not secure.
pub(crate) fn asked_for(error: PyErr) -> PyErr {
    Python::attach(|py| {
        if error.is_instance_of::<SecurityError>(py) {
            let words = format!("{}, or insecure=True with it", error.value(py));
            return SecurityError::new_err(words);
        }
        error
    })
}
