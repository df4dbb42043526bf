//! Are keys that a secret cannot make refused, whichever function is asked for them?

#![allow(clippy::unwrap_used, reason = "tests may panic")]

use exchange::{LoopParams, Needs};
use palladion_client::{ClientKeys, Error, circuit_keys};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use ring::{ntt_primes, ntt_primes_avoiding};
use rlwe::ParamsSpec;

/// N = 2^9, three limbs: no security at all.
fn insecure_keys(rng: &mut ChaCha20Rng) -> ClientKeys {
    let n = 1 << 9;
    let mut q = ntt_primes(26, n, 1).unwrap();
    q.extend(ntt_primes(34, n, 2).unwrap());
    let p = ntt_primes_avoiding(49, n, 1, &q).unwrap();
    let spec = ParamsSpec {
        n,
        q,
        p,
        digit_limbs: 1,
    };
    let bfv = bfv::Params::new_insecure(&spec, bfv::T_FERMAT).unwrap();
    ClientKeys::generate(&LoopParams::new_insecure(&bfv, 64, 3).unwrap(), rng)
}

#[test]
fn keys_that_the_parameters_do_not_have_are_refused() {
    let rng = &mut ChaCha20Rng::seed_from_u64(1);
    let keys = insecure_keys(rng);
    let level = "the level of a key is 3, expected at most 2";
    let element =
        |found: usize| format!("a Galois element is {found}, expected an odd number below 1024");
    let in_circuits = "a key of a circuit is the packing key of 16 values and level 2, expected a \
                       relinearization key or a Galois key";
    let cases = [
        (
            Needs::new(Some(3), &[], &[]),
            level.to_owned(),
            level.to_owned(),
        ),
        (Needs::new(None, &[(3, 3)], &[]), level.into(), level.into()),
        (Needs::new(None, &[(4, 1)], &[]), element(4), element(4)),
        (
            Needs::new(None, &[(1025, 1)], &[]),
            element(1025),
            element(1025),
        ),
        (
            Needs::new(None, &[], &[(16, 3)]),
            level.into(),
            in_circuits.replace("level 2", "level 3"),
        ),
    ];
    for (needs, of_program, of_circuit) in cases {
        let found = keys.evaluation_keys(&needs, rng).err().unwrap();
        assert_eq!(found.to_string(), of_program);
        let found = circuit_keys(keys.secret(), &needs, rng).err().unwrap();
        assert!(matches!(found, Error::Key { .. }), "{found:?}");
        assert_eq!(found.to_string(), of_circuit);
    }
    let no_power = keys.evaluation_keys(&Needs::new(None, &[], &[(24, 2)]), rng);
    let no_power = no_power.err().unwrap().to_string();
    assert_eq!(
        no_power,
        "the number of values in slots is 24, expected a power of two up to 512"
    );
}

#[test]
fn a_circuit_gets_the_keys_it_needs_and_no_others() {
    let rng = &mut ChaCha20Rng::seed_from_u64(2);
    let keys = insecure_keys(rng);
    let needs = Needs::new(Some(2), &[(3, 1), (5, 2)], &[]);
    let made = circuit_keys(keys.secret(), &needs, rng).unwrap();
    assert_eq!(made.relinearization.map(|key| key.level()), Some(2));
    let galois: Vec<(usize, usize)> = made
        .galois
        .iter()
        .map(|(g, key)| (g, key.level()))
        .collect();
    assert_eq!(galois, [(3, 1), (5, 2)]);
    let none = circuit_keys(keys.secret(), &Needs::default(), rng).unwrap();
    assert!(none.relinearization.is_none() && none.galois.iter().len() == 0);
}
