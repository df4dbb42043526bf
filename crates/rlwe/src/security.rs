//! The 128-bit security check.
//!
//! Source: Bossuat et al., "Security Guidelines for Implementing Homomorphic Encryption",
//! IACR Communications in Cryptology 1(4), 2024, <https://ia.cr/2024/463>, the table of maximal
//! moduli for uniform ternary secrets, classical cost model, error of standard deviation 3.19.

/// Largest log2(QP) at 128-bit classical security with a uniform ternary secret; `None` for a
/// degree the table does not hold, which counts as insecure.
pub fn max_log_qp(n: usize) -> Option<u32> {
    match n {
        1024 => Some(26),
        2048 => Some(53),
        4096 => Some(106),
        8192 => Some(214),
        16384 => Some(430),
        32768 => Some(868),
        65536 => Some(1747),
        131_072 => Some(3523),
        _ => None,
    }
}

/// Bits of security a checked parameter set has at least.
pub const SECURITY_BITS: u32 = 128;
