//! Transforms.

use crate::error::{Error, Result};
use crate::meter::{GoOn, Hear, N, Row, meter};
use kernels::{NttTable, kernels};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use ring::{Modulus, ntt_primes};

/// Measures forward and inverse transforms of one limb, in place, by the kernels in use, on one
/// thread.
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
                Ok::<_, Error>(())
            },
        )?;
        meter.row(
            "ntt inverse",
            &parameters,
            || (),
            |()| {
                kernels().intt(&table, &mut words);
                Ok::<_, Error>(())
            },
        )?;
    }
    Ok(())
}
