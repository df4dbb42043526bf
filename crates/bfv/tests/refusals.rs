//! Mistakes of a caller, and results that would be wrong: each is an error, and none a panic.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

use crate::common::Setup;
use palladion_bfv::{
    Error, LEAST_BUDGET, Params, PublicKey, decrypt, decrypt_unchecked, encrypt, encrypt_public,
    measure,
};
use ring::ntt_primes;
use ring::sample::Masks;
use rlwe::{GaloisKeys, ParamsSpec};

fn setup_insecure(n: usize, seed: u64) -> Setup {
    let spec = ParamsSpec {
        n,
        q: ntt_primes(45, n, 3).unwrap(),
        p: ntt_primes(48, n, 1).unwrap(),
        digit_limbs: 1,
    };
    let params = Params::new_insecure(&spec, 65_537).unwrap();
    Setup::of(params, seed)
}

fn is_of_another_key<T>(result: Result<T, Error>) -> bool {
    let error = result.err();
    matches!(error, Some(Error::Rlwe(rlwe::Error::KeyMismatch(_))))
}

fn is_of_other_parameters<T>(result: Result<T, Error>) -> bool {
    matches!(result.err(), Some(Error::OtherParameters { .. }))
}

#[test]
fn a_used_up_budget_is_no_message_insecure() {
    let mut s = setup_insecure(32, 1);
    let key = s.secret.relinearization_key(2, &mut s.rng);
    let mut x = s.encrypt(&[1, 2], 2);
    let (mut right, mut refused) = (vec![1u64, 2], 0);
    for _ in 0..6 {
        x = s.eval.mul(&x, &x, &key).unwrap();
        right = right.iter().map(|v| v * v % 65_537).collect();
        let (_, budget) = measure(&s.params, &s.secret, &x).unwrap();
        match decrypt(&s.params, &s.secret, &x) {
            Ok(message) => {
                assert!(budget >= LEAST_BUDGET);
                assert_eq!(s.params.encoder().slots_of(&message)[..2], right);
            }
            Err(error) => {
                let least = LEAST_BUDGET;
                assert_eq!(error, Error::NoiseBudget { budget, least });
                let message = decrypt_unchecked(&s.params, &s.secret, &x).unwrap();
                assert_ne!(s.params.encoder().slots_of(&message)[..2], right);
                refused += 1;
            }
        }
    }
    assert!((1..6).contains(&refused), "{refused} of 6");
}

#[test]
fn what_belongs_to_two_secrets_does_not_meet_insecure() {
    let mut s = setup_insecure(32, 2);
    let mut stranger = setup_insecure(32, 3);
    let (x, y) = (s.encrypt(&[1], 2), stranger.encrypt(&[2], 2));
    let own = s.secret.relinearization_key(2, &mut s.rng);
    let key = stranger.secret.relinearization_key(2, &mut s.rng);
    let e = s.eval.clone();
    assert!(is_of_another_key(e.add(&x, &y)));
    assert!(is_of_another_key(e.sub(&x, &y)));
    assert!(is_of_another_key(e.add_assign(&mut x.clone(), &y)));
    assert!(is_of_another_key(e.sub_assign(&mut x.clone(), &y)));
    assert!(is_of_another_key(e.mul_no_relin(&x, &y)));
    assert!(is_of_another_key(e.mul(&x, &y, &own)));
    assert!(is_of_another_key(e.mul(&x, &x, &key)));
    let product = e.mul_no_relin(&x, &x).unwrap();
    assert!(is_of_another_key(
        e.relinearize_and_switch(&product, &key, 0)
    ));
    let mut galois = GaloisKeys::new();
    galois.insert(3, stranger.secret.galois_key(3, 2, &mut s.rng));
    assert!(is_of_another_key(e.automorphism(&x, 3, &galois)));
    let decomposed = e.decompose(&x).unwrap();
    let hoisted = e.automorphism_hoisted(&x, &decomposed, 3, &galois);
    assert!(is_of_another_key(hoisted));
    assert!(is_of_another_key(decrypt(&s.params, &s.secret, &y)));
    assert!(is_of_another_key(decrypt_unchecked(
        &s.params, &s.secret, &y
    )));
    assert!(is_of_another_key(measure(&s.params, &s.secret, &y)));
    let public = PublicKey::generate(&stranger.secret, &mut s.rng);
    let z = encrypt_public(&s.params, &public, &s.message(&[3]), 2, &mut s.rng).unwrap();
    assert!(is_of_another_key(e.add(&x, &z)));
    assert!(e.add(&y, &z).is_ok());

    // Results keep the identity, and constants fit every secret.
    let product = e.mul(&x, &x, &own).unwrap();
    assert!(is_of_another_key(decrypt(
        &s.params,
        &stranger.secret,
        &product
    )));
    let constant = palladion_bfv::trivial(&s.params, &s.message(&[5]), 2);
    let sum = e.add(&constant, &product).unwrap();
    assert!(is_of_another_key(e.add(&sum, &y)));
    assert_eq!(s.decrypt(&sum)[0], 6);
}

#[test]
fn operands_of_other_parameters_insecure() {
    let (mut s, mut other) = (setup_insecure(32, 4), setup_insecure(64, 5));
    let (x, y) = (s.encrypt(&[1], 2), other.encrypt(&[2], 2));
    let key = s.secret.relinearization_key(2, &mut s.rng);
    let foreign = other.secret.relinearization_key(2, &mut s.rng);
    let e = s.eval.clone();
    // Both operands of other parameters fit each other.
    assert!(is_of_other_parameters(e.add(&y, &y)));
    assert!(is_of_other_parameters(e.sub(&y, &y)));
    assert!(is_of_other_parameters(e.add_assign(&mut x.clone(), &y)));
    assert!(is_of_other_parameters(e.mul(&x, &y, &key)));
    assert!(is_of_other_parameters(e.mul(&x, &x, &foreign)));
    assert!(is_of_other_parameters(e.mul_no_relin(&y, &y)));
    assert!(is_of_other_parameters(
        e.relinearize_and_switch(&y, &key, 0)
    ));
    assert!(is_of_other_parameters(e.switch_to(&mut y.clone(), 1)));
    assert!(is_of_other_parameters(e.drop_to(&mut y.clone(), 1)));
    assert!(is_of_other_parameters(e.decompose(&y).map(drop)));
    assert!(is_of_other_parameters(
        e.mul_scalar_assign(&mut y.clone(), 3)
    ));
    let none = GaloisKeys::new();
    assert!(is_of_other_parameters(e.automorphism(&y, 3, &none)));
    let message = other.message(&[1; 64]);
    assert!(is_of_other_parameters(e.lift(&message, 1)));
    assert!(is_of_other_parameters(
        e.add_plain_assign(&mut x.clone(), &message)
    ));
    let lifted = other.eval.lift(&message, 2).unwrap();
    assert!(is_of_other_parameters(
        e.mul_plain_assign(&mut x.clone(), &lifted)
    ));
    let mut masks = Masks::random(&mut s.rng);
    let (params, secret) = (&s.params, &s.secret);
    let wrong = encrypt(params, secret, &message, 2, &mut masks, &mut s.rng);
    assert!(is_of_other_parameters(wrong));
    let public = PublicKey::generate(secret, &mut s.rng);
    let wrong = encrypt_public(params, &public, &message, 2, &mut s.rng);
    assert!(is_of_other_parameters(wrong));
    let high = encrypt_public(params, &public, &s.message(&[1]), 3, &mut s.rng);
    let too_high = rlwe::Error::LevelTooLow { need: 3, have: 2 };
    assert_eq!(high.err(), Some(too_high.into()));
    assert!(is_of_other_parameters(decrypt(params, secret, &y)));
    assert!(is_of_other_parameters(decrypt(params, &other.secret, &x)));
}
