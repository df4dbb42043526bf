//! Small insecure parameters, and functions that all tests share.
#![allow(dead_code)] // each test file uses only a part

use palladion_tfhe::{ClientKey, Encoding, KeySwitch, Params, ParamsSpec, ServerKey};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use ring::torus::{Decomposition, Multiplier, Naive, Torus};

pub(crate) fn rng(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed)
}

pub(crate) fn digits(base_log: u32, levels: u32) -> Decomposition {
    Decomposition::new(base_log, levels).expect("in range")
}

/// Gates in words of 32 bits, n = 10, N = 32, k = 2.
pub(crate) fn gates_insecure(ring: bool) -> Params {
    let switch = digits(5, 3);
    Params::new_insecure(&ParamsSpec {
        word_bits: 32,
        lwe_dimension: 10,
        lwe_sigma: 2f64.powi(-20),
        rank: 2,
        log_n: 5,
        ring_sigma: 2f64.powi(-26),
        bootstrap: digits(7, 2),
        key_switch: if ring {
            KeySwitch::Ring(switch)
        } else {
            KeySwitch::Lwe(switch)
        },
        encoding: Encoding::Gates,
    })
    .expect("in range")
}

/// Integers in words of 64 bits, n = 8, N = 256 (128 for one message bit), k = 1.
pub(crate) fn integers_insecure(message_bits: u32, carry_bits: u32, ring: bool) -> Params {
    let switch = digits(6, 3);
    Params::new_insecure(&ParamsSpec {
        word_bits: 64,
        lwe_dimension: 8,
        lwe_sigma: 2f64.powi(-28),
        rank: 1,
        log_n: if message_bits == 1 { 7 } else { 8 },
        ring_sigma: 2f64.powi(-45),
        bootstrap: digits(18, 1),
        key_switch: if ring {
            KeySwitch::Ring(switch)
        } else {
            KeySwitch::Lwe(switch)
        },
        encoding: Encoding::Integers {
            message_bits,
            carry_bits,
        },
    })
    .expect("in range")
}

/// A client and its server, with the multiplier by definition.
pub(crate) fn keys<T: Torus>(params: &Params, seed: u64) -> (ClientKey<T>, ServerKey<T, Naive>) {
    keys_with(params, Naive::new(params.n()), seed)
}

/// A client and its server.
pub(crate) fn keys_with<T: Torus, M: Multiplier<T>>(
    params: &Params,
    multiplier: M,
    seed: u64,
) -> (ClientKey<T>, ServerKey<T, M>) {
    let mut rng = rng(seed);
    let client = ClientKey::generate(params, &mut rng).expect("words fit");
    let evaluation = client
        .evaluation_keys(&multiplier, &mut rng)
        .expect("degrees fit");
    let server = ServerKey::new(&evaluation, multiplier).expect("degrees fit");
    (client, server)
}
