//! What was computed from a secret is gone from the process' memory when the secret is.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "tests may panic")]

use exact::{Params, T_FERMAT};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use ring::ntt_primes;
use ring::sample::{self, Seed};
use rlwe::{ParamsSpec, PublicKey, SecretKey};
use std::fs::{File, read_to_string};
use std::os::unix::fs::FileExt;

const N: usize = 1 << 12;
const LEN: usize = 8;
const PAGE: usize = 4096;
/// What is searched for is kept masked, so that it is not found in the searcher.
const MASK: u64 = 0x5a5a_1234_5a5a_8765;

/// Places in this process' writable memory of a run of words.
fn places(masked: &[u64; LEN]) -> usize {
    let memory = File::open("/proc/self/mem").expect("this process' memory");
    let maps = read_to_string("/proc/self/maps").expect("this process' mappings");
    let mut page = [0u8; PAGE + 8 * LEN];
    let own = page.as_ptr_range();
    let own = own.start as u64..own.end as u64;
    let mut found = 0;
    for line in maps.lines().filter(|line| line.contains(" rw")) {
        let (from, to) = line.split(' ').next().unwrap().split_once('-').unwrap();
        let [from, to] = [from, to].map(|x| u64::from_str_radix(x, 16).unwrap());
        for at in (from..to).step_by(PAGE) {
            if at + (page.len() as u64) > own.start && at < own.end {
                continue;
            }
            // A run may reach into the next page, where it does not begin again.
            let read = memory.read_at(&mut page, at).unwrap_or(0);
            let words: Vec<u64> = page[..read - read % 8]
                .chunks_exact(8)
                .map(|b| u64::from_le_bytes(b.try_into().unwrap()) ^ MASK)
                .collect();
            let starts = words.windows(LEN).take(PAGE / 8);
            found += starts.filter(|w| w == masked).count();
        }
    }
    page.fill(0);
    found
}

fn masked(words: &[u64]) -> [u64; LEN] {
    std::array::from_fn(|i| words[i] ^ MASK)
}

#[test]
fn nothing_of_a_secret_stays() {
    let mut q = ntt_primes(33, N, 3).unwrap();
    let p = vec![q.pop().unwrap()];
    let spec = ParamsSpec {
        n: N,
        q,
        p,
        digit_limbs: 1,
    };
    let params = Params::new_insecure(&spec, T_FERMAT).unwrap();
    let rng = &mut ChaCha20Rng::seed_from_u64(1);
    let secret = SecretKey::generate(params.rlwe(), rng);
    // The secret's values modulo q_0, and its values times the public mask of an encryption.
    let seed = Seed::random(rng);
    let values = masked(secret.at_level(1).limb(0));
    let product = {
        let mask = sample::uniform_from_seed(params.rlwe().basis(1), &seed, 0);
        masked(zeroize::Zeroizing::new(secret.at_level(1).mul(&mask)).limb(0))
    };
    let copy = secret.at_level(1);
    assert!(
        places(&values) >= 2,
        "the search finds the secret and its copy"
    );
    drop(copy);

    // At each step only the secret itself is there; the pool of buffers would soon hide a copy.
    let alone = |step| assert_eq!([values, product].map(|v| places(&v)), [1, 0], "{step}");
    let message = params.encoder().coefficients(&[1, 2, 3]);
    let ct = exact::encrypt(&params, &secret, &message, 1, (&seed, 0), rng).unwrap();
    alone("encryption");
    assert_eq!(exact::decrypt(&params, &secret, &ct).unwrap(), message);
    alone("decryption");
    exact::measure(&params, &secret, &ct).unwrap();
    alone("measuring");
    PublicKey::generate(&secret, rng);
    alone("public key");
    secret.relinearization_key(1, rng);
    alone("relinearisation key");
    secret.galois_key(5, 1, rng);
    alone("Galois key");
    drop(secret);
    assert_eq!(places(&values), 0);
}
