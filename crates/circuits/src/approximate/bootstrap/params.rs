//! 128-bit parameters for bootstrapping.

use super::Bootstrapper;
use crate::error::Result;
use ckks::{Params, ParamsSpec};
use ring::{Modulus, ntt_primes, ntt_primes_avoiding};

impl Bootstrapper {
    /// 128-bit parameters at `N = 2^16` for all `2^15` slots. After a bootstrapping, 9 levels of 40
    /// bits are left and the precision is 23 bits.
    ///
    /// Levels from the bottom: `q_0` of 60 bits, 9 of 40, 4 of 42 for slots to coefficients, 8 of
    /// 60 for the reduction, 4 of 56 for coefficients to slots. Levels of 60 and 56 bits are two
    /// limbs. log2(QP) = 1733.
    ///
    /// # Errors
    /// No error occurs: the parameters pass every check.
    pub fn params_2_16() -> Result<Params> {
        params_2_16([60, 40, 42, 60, 56], 9)
    }

    /// As [`Bootstrapper::params_2_16`], with 6 levels of 44 bits left, and 28 bits of precision.
    ///
    /// Levels from the bottom: `q_0` of 66 bits, 6 and 4 of 44, 8 of 66, 4 of 58. log2(QP) = 1707.
    ///
    /// # Errors
    /// No error occurs: the parameters pass every check.
    pub fn params_2_16_precise() -> Result<Params> {
        params_2_16([66, 44, 44, 66, 58], 6)
    }
}

/// Levels of bits `[q_0, left, slots to coefficients, reduction, coefficients to slots]`. The
/// number of levels left is `left`.
fn params_2_16(bits: [u32; 5], left: usize) -> Result<Params> {
    let n = 1 << 16;
    let mut taken = Vec::new();
    let mut levels = Vec::new();
    for (bits, count) in bits.into_iter().zip([1, left, 4, 8, 4]) {
        // Levels larger than the kernels' fast moduli are two limbs.
        let limbs = if bits > Modulus::FAST_BITS { 2 } else { 1 };
        let primes = ntt_primes_avoiding(bits / limbs as u32, n, count * limbs, &taken);
        let primes = primes.map_err(ckks::Error::from)?;
        levels.extend(primes.chunks_exact(limbs).map(<[u64]>::to_vec));
        taken.extend(primes);
    }
    Ok(Params::new(&ParamsSpec {
        n,
        levels,
        special: ntt_primes(49, n, 9).map_err(ckks::Error::from)?,
        digit_limbs: 15,
        log_scale: f64::from(bits[1]),
    })?)
}
