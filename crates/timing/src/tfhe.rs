//! Gates, tables and steps of a bootstrapping of TFHE.

use crate::error::Result;
use crate::meter::{GoOn, Hear, Meter, meter};
use ::tfhe::{
    ClientKey, Encoding, EvaluationKeys, Gate, Params, Scratch, ServerKey, Table, fastest,
};
use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha20Rng;
use ring::torus::{Fft, Multiplier, Torus};

/// log2 of the largest failure probability of the measured sets.
const LOG2_FAILURE: f64 = -64.0;
/// Gates or values of a batch. A row gives the time of one of them.
const BATCH: usize = 64;

type Keys<T> = (ClientKey<T>, ServerKey<T, Fft>);

/// The sizes on which the time depends, the estimated bits of security, and `-log2` of the failure
/// probability.
fn sizes(params: &Params) -> Result<Vec<(&'static str, u64)>> {
    let spec = params.spec();
    let mut sizes = vec![
        ("lwe_dimension", spec.lwe_dimension as u64),
        ("rank", spec.rank as u64),
        ("log_n", spec.log_n.into()),
        ("word_bits", spec.word_bits.into()),
        (
            "security_bits",
            params.security().bits().unwrap_or(0.0).round() as u64,
        ),
        (
            "minus_log2_failure",
            (-params.log2_failure()).floor() as u64,
        ),
    ];
    if let Encoding::Integers {
        message_bits,
        carry_bits,
    } = params.encoding()
    {
        sizes.push(("message_bits", message_bits.into()));
        sizes.push(("carry_bits", carry_bits.into()));
    }
    Ok(sizes)
}

fn keys<T: Torus>(params: &Params, rng: &mut ChaCha20Rng) -> Result<Keys<T>> {
    let client = ClientKey::generate(params, rng)?;
    let keys = client.evaluation_keys(&fft(params)?, rng)?;
    let server = ServerKey::new(&keys, fft(params)?)?;
    Ok((client, server))
}

fn fft(params: &Params) -> Result<Fft> {
    Ok(Fft::new(params.n()).map_err(::tfhe::Error::from)?)
}

/// Measures gates, a table for each number of bits, and the steps of the table of 2 message and 2
/// carry bits, at the fastest named sets of 128 bits whose failures are below 2^-64.
///
/// # Errors
/// [`Error::Stopped`](crate::Error::Stopped).
pub fn tfhe(samples: usize, hear: Hear<'_>, go_on: GoOn<'_>) -> Result<()> {
    let mut meter = meter(samples, hear, go_on);
    let (_, params) = fastest(Encoding::Gates, LOG2_FAILURE)?;
    by_word(&mut meter, &params, gates::<u32>, gates::<u64>)?;
    for bits in 1..=3 {
        let encoding = Encoding::Integers {
            message_bits: bits,
            carry_bits: bits,
        };
        let (_, params) = fastest(encoding, LOG2_FAILURE)?;
        by_word(&mut meter, &params, tables::<u32>, tables::<u64>)?;
    }
    Ok(())
}

type Rows = fn(&mut Meter<'_>, &Params) -> Result<()>;

fn by_word(meter: &mut Meter<'_>, params: &Params, short: Rows, long: Rows) -> Result<()> {
    let rows = if params.spec().word_bits == 32 {
        short
    } else {
        long
    };
    rows(meter, params)
}

fn gates<T: Torus>(meter: &mut Meter<'_>, params: &Params) -> Result<()> {
    let rng = &mut ChaCha20Rng::seed_from_u64(1);
    let (client, server) = keys::<T>(params, rng)?;
    let bits = [true, false, true].map(|bit| client.encrypt_bit(bit, rng));
    let [x, y, c] = bits;
    let (x, y, c) = (x?, y?, c?);
    let mut sizes = sizes(params)?;
    for (name, gate) in [("gate_and", Gate::And), ("gate_xor", Gate::Xor)] {
        meter.row(name, &sizes, || (), |()| server.gate(gate, &x, &y))?;
    }
    meter.row("mux", &sizes, || (), |()| server.mux(&c, &x, &y))?;
    sizes.push(("batch", BATCH as u64));
    let jobs = vec![(Gate::Nand, &x, &y); BATCH];
    meter.row_each(
        "gates_batch",
        &sizes,
        BATCH,
        || (),
        |()| server.gates(&jobs),
    )
}

fn tables<T: Torus>(meter: &mut Meter<'_>, params: &Params) -> Result<()> {
    let Encoding::Integers { message_bits, .. } = params.encoding() else {
        return Ok(());
    };
    let rng = &mut ChaCha20Rng::seed_from_u64(u64::from(message_bits));
    let (client, server) = keys::<T>(params, rng)?;
    let x = client.encrypt(1, rng)?;
    let table = Table::of(params, |v| v)?;
    let mut sizes = sizes(params)?;
    let name = format!("pbs_{message_bits}_{message_bits}");
    meter.row(&name, &sizes, || (), |()| server.apply(&x, &table))?;
    if message_bits != 2 {
        return Ok(());
    }
    external_product::<T>(meter, params, &sizes)?;
    let mut scratch = Scratch::new(params, server.bootstrapper().multiplier());
    meter.row(
        "key_switch",
        &sizes,
        || (),
        |()| Ok::<_, ::tfhe::Error>(server.bootstrapper().key_switch(x.lwe(), &mut scratch)),
    )?;
    // The secrets, the keys as sent, and the keys as used in memory.
    meter.row(
        "keygen",
        &sizes,
        || (),
        |()| {
            let rng = &mut ChaCha20Rng::seed_from_u64(9);
            let client = ClientKey::<T>::generate(params, rng)?;
            let keys: EvaluationKeys<T> = client.evaluation_keys(&fft(params)?, rng)?;
            Ok::<_, crate::Error>(ServerKey::new(&keys, fft(params)?)?)
        },
    )?;
    sizes.push(("batch", BATCH as u64));
    let jobs = vec![(&x, &table); BATCH];
    meter.row_each(
        "pbs_2_2_batch",
        &sizes,
        BATCH,
        || (),
        |()| server.apply_all(&jobs),
    )
}

/// One step of a blind rotation: the digits of the rotated difference, and their product with a
/// prepared matrix.
fn external_product<T: Torus>(
    meter: &mut Meter<'_>,
    params: &Params,
    sizes: &[(&'static str, u64)],
) -> Result<()> {
    let (n, components) = (params.n(), params.rank() + 1);
    let digits = params.spec().bootstrap;
    let rows = components * digits.levels() as usize;
    let rng = &mut ChaCha20Rng::seed_from_u64(5);
    let mut words = |count: usize| -> Vec<T> {
        (0..count)
            .map(|_| T::from_low_bits(rng.next_u64()))
            .collect()
    };
    let multiplier = fft(params)?;
    let matrix = multiplier.prepare(&words(rows * components * n));
    let mut accumulator = words(components * n);
    let mut small = vec![0i32; rows * n];
    let mut scratch = Multiplier::<T>::scratch(&multiplier, rows, components);
    meter.row(
        "external_product",
        sizes,
        || (),
        |()| {
            let run = n * digits.levels() as usize;
            for (out, poly) in small.chunks_exact_mut(run).zip(accumulator.chunks_exact(n)) {
                digits.rotated_digits_into(out, poly, 3);
            }
            multiplier.dot_add(&mut accumulator, &small, &matrix, &mut scratch);
            Ok::<_, crate::Error>(accumulator[0])
        },
    )
}
