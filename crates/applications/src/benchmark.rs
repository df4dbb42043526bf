//! Benchmarks: the programs of F1's evaluation with their parameters, in words of 32 bits.

use crate::bootstrapping::{self, unpacked, unpacked_spec};
use crate::error::{Error, Result};
use crate::lookup::Database;
use crate::{helr, lola_cifar, lola_mnist};
use bgv::T_FERMAT;
use circuits::approximate::{Samples, arithmetic_of};
use circuits::bootstrap::Bootstrap;
use ckks::{Params, ParamsSpec};
use program::circuit::{Arithmetic, Circuit, Weights};
use rlwe::Words;
use std::collections::BTreeMap;

/// Bits of a word of F1.
const WORD: u32 = 32;

/// A benchmark's program, with the parameters for which it is written.
pub enum Written {
    /// A circuit of CKKS.
    Approximate(Params, Circuit),
    /// A circuit of BGV.
    Exact(bgv::Params, Circuit),
    /// A bootstrapping of BGV. It is not a circuit of slots.
    Bootstrapping(Bootstrap),
}

impl Written {
    /// Parameters of the ring.
    pub fn rlwe(&self) -> &rlwe::Params {
        match self {
            Self::Approximate(params, _) => params.rlwe(),
            Self::Exact(params, _) => params.rlwe(),
            Self::Bootstrapping(bootstrap) => bootstrap.params().rlwe(),
        }
    }
}

/// A program with parameters. Benchmarks are checked to have 128 bits of security, except those
/// with `insecure` in their names.
pub struct Benchmark {
    /// Name. It contains `insecure` if the parameters have less than 128 bits of security.
    pub name: &'static str,
    /// One line: the computation, its data, and the ring degree.
    pub summary: &'static str,
    write: fn(Words) -> Result<Written>,
}

impl Benchmark {
    /// Writes the program, with digits of key switching of at most `digit_limbs` limbs.
    ///
    /// # Errors
    /// [`rlwe::Error::Insecure`] if the special moduli for such digits leave less than 128 bits of
    /// security, unless the benchmark is an insecure one.
    pub fn write(&self, digit_limbs: usize) -> Result<Written> {
        let bits = WORD;
        (self.write)(Words { bits, digit_limbs })
    }
}

/// All benchmarks.
pub struct Benchmarks;

impl Benchmarks {
    /// The benchmarks, in the order of F1's figure 5.
    pub const ALL: [Benchmark; 11] = [
        Benchmark {
            name: "lola-cifar",
            summary: "LoLa's CIFAR-10 network, plain weights; N = 2^14",
            write: lola_cifar,
        },
        Benchmark {
            name: "lola-mnist",
            summary: "LoLa's MNIST network, plain weights; N = 2^13",
            write: |words| lola_mnist(words, false),
        },
        Benchmark {
            name: "lola-mnist-encrypted",
            summary: "LoLa's MNIST network, encrypted weights; N = 2^13",
            write: |words| lola_mnist(words, true),
        },
        Benchmark {
            name: "helr",
            summary: "An iteration of HELR, 256 samples of 256 features; N = 2^14",
            write: |words| helr(words, helr::DEPTH, Params::new),
        },
        Benchmark {
            name: "helr-f1-insecure",
            summary: "An iteration of HELR from 16 limbs, as F1 starts; N = 2^14",
            write: |words| helr(words, F1_HELR_LEVELS, Params::new_insecure),
        },
        Benchmark {
            name: "lookup",
            summary: "15 values of a row by its key of two words, modulo 65537; N = 2^15",
            write: |words| lookup(words, (1 << 15, LOOKUP_LIMBS), bgv::Params::new),
        },
        Benchmark {
            name: "lookup-f1-insecure",
            summary: "15 values of a row by its key of two words, at F1's degree; N = 2^14",
            write: |words| lookup(words, (1 << 14, LOOKUP_LIMBS), bgv::Params::new_insecure),
        },
        Benchmark {
            name: "bgv-bootstrapping",
            summary: "BGV bootstrapping of one number modulo 3; N = 2^15",
            write: |words| bgv_bootstrapping(words, (1 << 15, BGV_LIMBS), rlwe::Params::new),
        },
        Benchmark {
            name: "bgv-bootstrapping-f1-insecure",
            summary: "BGV bootstrapping of one number modulo 3, from 24 limbs as F1; N = 2^14",
            write: |words| {
                bgv_bootstrapping(words, (1 << 14, F1_LIMBS), rlwe::Params::new_insecure)
            },
        },
        Benchmark {
            name: "ckks-bootstrapping",
            summary: "CKKS bootstrapping of one number; N = 2^15",
            write: |words| ckks_bootstrapping(words, (1 << 15, CKKS_LEFT), Params::new),
        },
        Benchmark {
            name: "ckks-bootstrapping-f1-insecure",
            summary: "CKKS bootstrapping of one number, from 24 limbs as F1; N = 2^14",
            write: |words| ckks_bootstrapping(words, (1 << 14, CKKS_LEFT), Params::new_insecure),
        },
    ];

    /// The benchmark with this name.
    ///
    /// # Errors
    /// [`Error::Benchmark`] if there is none.
    pub fn named(name: &str) -> Result<Benchmark> {
        let benchmark = Self::ALL.into_iter().find(|b| b.name == name);
        benchmark.ok_or_else(|| Error::Benchmark {
            found: name.into(),
            expected: Self::ALL.map(|b| b.name).join(", "),
        })
    }
}

/// Levels above level 0 with which F1's HELR starts, L = 16 (not checked against the longer paper).
const F1_HELR_LEVELS: usize = 15;
/// Limbs to which F1's bootstrappings raise, `L_max` = 24 (not checked against the longer paper).
const F1_LIMBS: usize = 24;
/// Limbs of a lookup: the norm of the two words, 16 squarings, which drop 19, a column, and two
/// that the sum over all slots needs.
const LOOKUP_LIMBS: usize = 23;
/// Number of words of a key, and of columns, as in the example `lookup`: a hash of an image, its
/// label, and a row of its pixels.
const LOOKUP_TABLE: [u64; 2] = [2, 15];
/// Squarings after which a lookup drops a second limb. The builder refuses a fifth squaring in a
/// row without one. After the last squaring noise is small enough.
const LOOKUP_COOLED: [usize; 3] = [4, 8, 12];
/// Limbs of a BGV bootstrapping.
const BGV_LIMBS: usize = 20;
/// Levels that a CKKS bootstrapping leaves. More do not fit 24 limbs.
const CKKS_LEFT: usize = 1;

fn lola_cifar(words: Words) -> Result<Written> {
    let levels = [vec![42], vec![WORD; lola_cifar::LEVELS]].concat();
    let n = 2 * lola_cifar::SLOTS;
    let params = Params::new(&ParamsSpec::in_words(n, &levels, words, f64::from(WORD))?)?;
    let network = lola_cifar::Network::synthetic()?;
    let at = (params.slots(), params.scale());
    let circuit = lola_cifar::circuit(&network, arithmetic_of(&params), at)?;
    Ok(Written::Approximate(params, circuit))
}

fn lola_mnist(words: Words, encrypted: bool) -> Result<Written> {
    // 212 of 214 bits, with one special modulus.
    const SCALE: u32 = 28;
    let levels = [vec![40], vec![SCALE; lola_mnist::LEVELS]].concat();
    let spec = ParamsSpec::in_words(1 << 13, &levels, words, f64::from(SCALE))?;
    let params = Params::new(&spec)?;
    let mut kept = BTreeMap::new();
    let weights = match encrypted {
        true => Weights::Encrypted(&mut kept),
        false => Weights::Plain,
    };
    let at = (params.slots(), params.scale());
    let network = lola_mnist::Network::synthetic()?;
    let circuit = network.circuit(arithmetic_of(&params), at, weights)?;
    Ok(Written::Approximate(params, circuit))
}

fn helr(
    words: Words,
    depth: usize,
    check: fn(&ParamsSpec) -> ckks::Result<Params>,
) -> Result<Written> {
    const SIZE: usize = 256;
    let n = 1 << 14;
    let levels = [vec![42], vec![WORD; depth]].concat();
    let params = check(&ParamsSpec::in_words(n, &levels, words, f64::from(WORD))?)?;
    let layout = Samples::new(params.slots() / SIZE, SIZE)?;
    let count = SIZE / layout.samples();
    // The two numbers change no instruction: a learning rate of 1, and the first momentum that is
    // not 0.
    let circuit = helr::iteration(&params, (layout, count), [1.0 / SIZE as f64, -0.28])?;
    Ok(Written::Approximate(params, circuit))
}

fn lookup(
    words: Words,
    (n, limbs): (usize, usize),
    check: fn(&rlwe::ParamsSpec, u64) -> bgv::Result<bgv::Params>,
) -> Result<Written> {
    let spec = words
        .spec(n, &vec![WORD; limbs])
        .map_err(bgv::Error::from)?;
    let params = check(&spec, T_FERMAT)?;
    // The table has as many rows as slots. Keys differ in each word, and no value is 0.
    let [key, record] = LOOKUP_TABLE;
    let column = |of: &dyn Fn(u64) -> u64| (0..n as u64).map(|row| of(row) % T_FERMAT).collect();
    let table = Database {
        keys: (1..=key).map(|word| column(&|row| word * row)).collect(),
        columns: (1..=record)
            .map(|place| column(&|row| row + place))
            .collect(),
        cooled: LOOKUP_COOLED.to_vec(),
    };
    let arithmetic = Arithmetic::Exact {
        t: T_FERMAT,
        moduli: spec.q.iter().map(|&q| q as f64).collect(),
    };
    let circuit = table.circuit(arithmetic, n)?;
    Ok(Written::Exact(params, circuit))
}

fn bgv_bootstrapping(
    words: Words,
    (n, limbs): (usize, usize),
    check: fn(&rlwe::ParamsSpec) -> rlwe::Result<rlwe::Params>,
) -> Result<Written> {
    let bootstrap = bootstrapping::bgv(n, limbs, words, check)?;
    Ok(Written::Bootstrapping(bootstrap))
}

fn ckks_bootstrapping(
    words: Words,
    (n, left): (usize, usize),
    check: fn(&ParamsSpec) -> ckks::Result<Params>,
) -> Result<Written> {
    let params = check(&unpacked_spec(n, left, words)?)?;
    let circuit = bootstrapping::ckks(&params, &unpacked())?;
    Ok(Written::Approximate(params, circuit))
}
