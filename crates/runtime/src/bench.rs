//! Times of what the product does, on the machine and the threads it runs on.
//!
//! Figures of ours alone, for users and for records; `bench/` holds them against other libraries'.

use crate::error::{Error, Result};
use bfv::{Ciphertext, Evaluator, Params, T_FERMAT, encrypt};
use circuits::lut::{Lut, Shape, interpolate};
use circuits::{ClientKeys, Engine, Layout, LoopParams, Value};
use kernels::{NttTable, kernels};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use ring::sample::Seed;
use ring::{Modulus, ntt_primes, ntt_primes_avoiding};
use rlwe::{GaloisKeys, ParamsSpec, SecretKey};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Ring degree of everything measured here.
const N: usize = 1 << 15;
/// Short operations are repeated for at least this long.
const LEAST: Duration = Duration::from_millis(100);

/// One measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What was measured.
    pub name: String,
    /// Sizes that the time depends on.
    pub parameters: Vec<(&'static str, u64)>,
    /// Threads it could use.
    pub threads: usize,
    /// Median of the samples.
    pub seconds: f64,
    /// Number of samples.
    pub samples: usize,
}

/// Takes each row; `false` stops the measurement.
type Hear<'a> = &'a (dyn Fn(Row) -> bool + Sync);
/// Asked between samples; `false` stops the measurement.
type GoOn<'a> = &'a (dyn Fn() -> bool + Sync);

struct Meter<'a> {
    samples: usize,
    hear: Hear<'a>,
    go_on: GoOn<'a>,
    rows: usize,
}

impl Meter<'_> {
    fn stopped(&self) -> Error {
        Error::Stopped {
            done: self.rows,
            total: self.rows + 1,
        }
    }

    /// Times `work` on fresh inputs, after one call that fills caches and tables.
    fn row<I, O>(
        &mut self,
        name: &str,
        parameters: &[(&'static str, u64)],
        mut input: impl FnMut() -> I,
        mut work: impl FnMut(I) -> O,
    ) -> Result<()> {
        black_box(work(input()));
        let (mut seconds, begin) = (Vec::new(), Instant::now());
        while seconds.len() < self.samples || begin.elapsed() < LEAST {
            if !(self.go_on)() {
                return Err(self.stopped());
            }
            let given = input();
            let start = Instant::now();
            let made = black_box(work(given));
            seconds.push(start.elapsed().as_secs_f64());
            drop(made);
        }
        seconds.sort_by(f64::total_cmp);
        self.rows += 1;
        let go_on = (self.hear)(Row {
            name: name.to_owned(),
            parameters: parameters.to_vec(),
            threads: ring::threads(),
            seconds: seconds[seconds.len() / 2],
            samples: seconds.len(),
        });
        if go_on { Ok(()) } else { Err(self.stopped()) }
    }
}

fn meter<'a>(samples: usize, hear: Hear<'a>, go_on: GoOn<'a>) -> Meter<'a> {
    Meter {
        samples: samples.max(1),
        hear,
        go_on,
        rows: 0,
    }
}

/// Forward and inverse transforms of one limb, in place, by the kernels in use. One thread.
///
/// # Errors
/// [`Error::Stopped`].
pub fn ntt(samples: usize, hear: Hear<'_>, go_on: GoOn<'_>) -> Result<()> {
    let one_thread = |mut row: Row| {
        row.threads = 1;
        hear(row)
    };
    let mut meter = meter(samples, &one_thread, go_on);
    for bits in [30, 33, 48, 49, 50] {
        let q = ntt_primes(bits, N, 1).map_err(rlwe::Error::from)?[0];
        let modulus = Modulus::new(q).expect("below 2^50");
        let table = NttTable::new(modulus, N).expect("q is 1 modulo 2N");
        let parameters = [("log_n", N.ilog2().into()), ("modulus_bits", bits.into())];
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let mut words: Vec<u64> = (0..N).map(|_| rng.random_range(0..q)).collect();
        meter.row(
            "ntt forward",
            &parameters,
            || (),
            |()| {
                kernels().ntt(&table, &mut words);
            },
        )?;
        meter.row(
            "ntt inverse",
            &parameters,
            || (),
            |()| {
                kernels().intt(&table, &mut words);
            },
        )?;
    }
    Ok(())
}

/// Operations on ciphertexts: 15 moduli of 48 bits, 3 special ones of 49, digits of 3.
///
/// # Errors
/// [`Error::Stopped`].
pub fn bfv(samples: usize, hear: Hear<'_>, go_on: GoOn<'_>) -> Result<()> {
    let mut meter = meter(samples, hear, go_on);
    let spec = ParamsSpec {
        n: N,
        q: ntt_primes(48, N, 15).map_err(rlwe::Error::from)?,
        p: ntt_primes(49, N, 3).map_err(rlwe::Error::from)?,
        digit_limbs: 3,
    };
    let params = Params::new(&spec, T_FERMAT)?;
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let secret = SecretKey::generate(params.rlwe(), &mut rng);
    let level = params.rlwe().max_level();
    let eval = Evaluator::new(&params);
    let key = secret.relinearization_key(level, &mut rng);
    let step = params.encoder().rotation_element(1);
    let mut galois = GaloisKeys::new();
    galois.insert(step, secret.galois_key(step, level, &mut rng));
    let mut fresh = |index: u32| -> Ciphertext {
        let slots: Vec<u64> = (0..N).map(|_| rng.random_range(0..T_FERMAT)).collect();
        let message = params.encoder().slots_to_plaintext(&slots);
        let seed = Seed([index as u8; 32]);
        encrypt(&params, &secret, &message, level, (&seed, index), &mut rng)
    };
    let (a, b) = (fresh(0), fresh(1));
    let message = params.encoder().slots_to_plaintext(&[1, 2, 3]);
    let plain = eval.lift(&message, level);
    let sizes = [
        ("log_n", N.ilog2().into()),
        ("log_q", params.rlwe().log_q(level).round() as u64),
        ("log_qp", params.rlwe().log_qp().round() as u64),
        ("plaintext_modulus", T_FERMAT),
    ];
    let none = || ();
    let copy = || a.clone();
    meter.row("bfv encrypt", &sizes, none, |()| {
        let mut rng = ChaCha20Rng::seed_from_u64(2);
        encrypt(
            &params,
            &secret,
            &message,
            level,
            (&Seed([2; 32]), 0),
            &mut rng,
        )
    })?;
    meter.row("bfv decrypt", &sizes, none, |()| {
        bfv::decrypt(&params, &secret, &a)
    })?;
    meter.row("bfv product, relinearised", &sizes, none, |()| {
        eval.mul(&a, &b, &key)
    })?;
    meter.row("bfv residual product and switch", &sizes, none, |()| {
        eval.mul_and_switch(&a, &b, &key, 1)
    })?;
    meter.row("bfv rotation", &sizes, none, |()| {
        eval.automorphism(&a, step, &galois)
    })?;
    let shared = eval.decompose(&a)?;
    meter.row("bfv rotation, hoisted", &sizes, none, |()| {
        eval.automorphism_hoisted(&a, &shared, step, &galois)
    })?;
    meter.row("bfv plaintext product", &sizes, copy, |mut a| {
        eval.mul_plain_assign(&mut a, &plain);
        a
    })?;
    meter.row("bfv sum", &sizes, copy, |mut a| {
        eval.add_assign(&mut a, &b).map(|()| a)
    })?;
    meter.row("bfv modulus switch", &sizes, copy, |mut a| {
        eval.switch_to(&mut a, level - 1).map(|()| a)
    })
}

/// A table and parameters that hold it.
struct Table {
    name: &'static str,
    entries: u64,
    bound: i64,
    shape: Shape,
    limbs: usize,
    digit_limbs: usize,
    special: (u32, usize),
}

/// Random tables on all slots: every residue, 8,192 entries, and 256 entries on 256 values, where the copies
/// of each value share the work.
const TABLES: [Table; 3] = [
    Table {
        name: "table of all residues",
        entries: 65_537,
        bound: 32_768,
        shape: Shape {
            segments: 1,
            digits: [64, 32, 33],
        },
        limbs: 19,
        digit_limbs: 5,
        special: (49, 4),
    },
    Table {
        name: "table of 8192 entries",
        entries: 8_193,
        bound: 4_096,
        shape: Shape {
            segments: 1,
            digits: [32, 16, 17],
        },
        limbs: 16,
        digit_limbs: 6,
        special: (49, 4),
    },
    Table {
        name: "table of 8192 entries on 256 values",
        entries: 8_193,
        bound: 4_096,
        shape: Shape {
            segments: 128,
            digits: [16, 8, 1],
        },
        limbs: 20,
        digit_limbs: 6,
        special: (49, 4),
    },
];

/// Functional bootstrapping of random tables.
///
/// # Errors
/// [`Error::Stopped`].
pub fn lut(samples: usize, hear: Hear<'_>, go_on: GoOn<'_>) -> Result<()> {
    let mut meter = meter(samples, hear, go_on);
    for table in &TABLES {
        one_table(&mut meter, table)?;
    }
    Ok(())
}

fn one_table(meter: &mut Meter<'_>, table: &Table) -> Result<()> {
    let primes = |bits, count| ntt_primes(bits, N, count).map_err(rlwe::Error::from);
    let mut q = primes(25, 1)?;
    q.extend(primes(33, table.limbs - 1)?);
    let (bits, count) = table.special;
    let p = ntt_primes_avoiding(bits, N, count, &q).map_err(rlwe::Error::from)?;
    let spec = ParamsSpec {
        n: N,
        q,
        p,
        digit_limbs: table.digit_limbs,
    };
    let params = LoopParams::new(&Params::new(&spec, T_FERMAT)?, 1024, 3)?;
    let (bfv, mut rng) = (params.bfv(), ChaCha20Rng::seed_from_u64(1));
    let keys = ClientKeys::generate(&params, &mut rng);
    let t = *bfv.t();
    let values: Vec<i64> = (0..T_FERMAT)
        .map(|_| rng.random_range(0..T_FERMAT as i64))
        .collect();
    let polynomial = interpolate(&t, table.bound, |x| values[t.from_i64(x) as usize])?;
    let lut = Lut::new(polynomial, table.shape)?;
    let layout = Layout::new(N, N / table.shape.segments)?;
    let x: Vec<u64> = (0..layout.values())
        .map(|_| t.from_i64(rng.random_range(-table.bound..=table.bound)))
        .collect();
    let slots: Vec<u64> = (0..N).map(|slot| x[layout.value_of(slot)]).collect();
    let message = bfv.encoder().slots_to_plaintext(&slots);
    let top = bfv.rlwe().max_level();
    let seed = Seed([1; 32]);
    let ct = encrypt(bfv, keys.secret(), &message, top, (&seed, 0), &mut rng);
    let dry = Engine::dry(bfv);
    lut.apply(&dry, layout, &Value::dry(top, dry.model().fresh()))?;
    let evaluation = keys.evaluation_keys(&dry.needs(), &mut rng)?;
    let engine = Engine::new(bfv, &evaluation);
    let sizes = [
        ("log_n", N.ilog2().into()),
        ("log_qp", bfv.rlwe().log_qp().round() as u64),
        ("entries", table.entries),
        ("values", layout.values() as u64),
    ];
    let input = || Value::encrypted(ct.clone(), engine.model().fresh());
    let result = lut.apply(&engine, layout, &input())?;
    let ct = result.ciphertext().expect("the engine has keys");
    let found = bfv
        .encoder()
        .slots_of(&bfv::decrypt(bfv, keys.secret(), ct));
    let right = (0..N).all(|slot| found[slot] == values[x[layout.value_of(slot)] as usize] as u64);
    assert!(right, "{}: a slot is wrong", table.name);
    meter.row(table.name, &sizes, input, |x| {
        lut.apply(&engine, layout, &x)
    })
}
