//! Mistakes of a caller: each gives an error that names the value found and the value expected.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

use crate::common::Setup;
use palladion_bgv::{
    Ciphertext, Error, Params, PublicKey, decrypt, decrypt_unchecked, encrypt, encrypt_public,
    measure,
};
use ring::ntt_primes;
use ring::sample::Masks;
use rlwe::{GaloisKeys, ParamsSpec};

const N: usize = 32;

fn setup_insecure(n: usize, t: u64) -> Setup {
    let spec = ParamsSpec {
        n,
        q: ntt_primes(45, n, 3).unwrap(),
        p: ntt_primes(48, n, 1).unwrap(),
        digit_limbs: 1,
    };
    Setup::new(Params::new_insecure(&spec, t).unwrap(), 1)
}

fn too_low(need: usize, have: usize) -> Error {
    rlwe::Error::LevelTooLow { need, have }.into()
}

#[test]
fn exhausted_levels() {
    let mut s = setup_insecure(N, 65_537);
    let key = s.secret.relinearization_key(2, &mut s.rng);
    let a = s.slots();
    let mut x = s.encrypt(&a, 0);
    let error = s.eval.mul_and_switch(&x, &x, &key, 1).unwrap_err();
    assert_eq!(error, too_low(1, 0));
    assert_eq!(s.eval.switch_to(&mut x, 1).unwrap_err(), too_low(1, 0));
    assert_eq!(s.eval.drop_to(&mut x, 2).unwrap_err(), too_low(2, 0));
    let message = s.params.encoder().encode_slots(&a).unwrap();
    assert_eq!(s.eval.lift(&message, 3).unwrap_err(), too_low(3, 2));
    let mut masks = Masks::random(&mut s.rng);
    let high = encrypt(&s.params, &s.secret, &message, 3, &mut masks, &mut s.rng);
    assert_eq!(high.unwrap_err(), too_low(3, 2));
    let key = s.secret.relinearization_key(1, &mut s.rng);
    let x = s.encrypt(&a, 2);
    let short = rlwe::Error::KeyLevel { need: 2, have: 1 };
    assert_eq!(s.eval.mul(&x, &x, &key).unwrap_err(), short.into());
    assert_eq!(
        too_low(1, 0).to_string(),
        "level 1 needed, the ciphertext is at level 0"
    );
}

#[test]
fn operands_of_other_levels_and_factors() {
    let mut s = setup_insecure(N, 65_537);
    let a = s.slots();
    let (mut x, mut y) = (s.encrypt(&a, 2), s.encrypt(&a, 2));
    s.eval.switch_to(&mut x, 1).unwrap();
    let (left, right) = (1, 2);
    let levels: Error = rlwe::Error::LevelMismatch { left, right }.into();
    assert_eq!(s.eval.add_assign(&mut x, &y).unwrap_err(), levels);
    assert_eq!(s.eval.match_factors(&mut x, &mut y).unwrap_err(), levels);
    let message = s.params.encoder().encode_slots(&a).unwrap();
    let lifted = s.eval.lift(&message, 2).unwrap();
    assert_eq!(
        s.eval.mul_plain_assign(&mut x, &lifted).unwrap_err(),
        levels
    );
    s.eval.drop_to(&mut y, 1).unwrap();
    let (left, right) = (x.factor(), 1);
    let error = s.eval.sub_assign(&mut x, &y).unwrap_err();
    assert_eq!(error, Error::FactorMismatch { left, right });
    let words = format!("operands carry the factors {left} and 1, expected one factor");
    assert_eq!(error.to_string(), words);
}

#[test]
fn missing_keys_and_wrong_degrees() {
    let mut s = setup_insecure(N, 65_537);
    let a = s.slots();
    let x = s.encrypt(&a, 2);
    let none = GaloisKeys::new();
    let missing = |element| Error::from(rlwe::Error::MissingGaloisKey { element });
    let encoder = s.params.encoder();
    let (one, swap) = (encoder.rotation_element(1), encoder.swap_element());
    assert_eq!(s.eval.rotate(&x, 1, &none).unwrap_err(), missing(one));
    let hoisted = s.eval.rotate_hoisted(&x, &[0, 1], &none);
    assert_eq!(hoisted.unwrap_err(), missing(one));
    assert_eq!(s.eval.swap_rows(&x, &none).unwrap_err(), missing(swap));
    assert_eq!(s.eval.rotate(&x, 0, &none).unwrap(), x);

    let product = s.eval.mul_no_relin(&x, &x).unwrap();
    let components = |found, expected| Error::from(rlwe::Error::Components { found, expected });
    let error = s.eval.mul_no_relin(&product, &x).unwrap_err();
    assert_eq!(error, components(3, 2));
    let key = s.secret.relinearization_key(2, &mut s.rng);
    let error = s.eval.relinearize(&x, &key).unwrap_err();
    assert_eq!(error, components(2, 3));
}

#[test]
fn messages_outside_the_plaintext_space() {
    let mut s = setup_insecure(N, 65_537);
    let encoder = s.params.encoder();
    let outside = Error::Message {
        index: 1,
        found: 65_537,
        t: 65_537,
    };
    assert_eq!(encoder.encode_slots(&[0, 65_537]).unwrap_err(), outside);
    assert_eq!(
        outside.to_string(),
        "value 1 of a plaintext is 65537, expected less than t = 65537"
    );
    let many = Error::TooManyValues {
        found: N + 1,
        limit: N,
    };
    assert_eq!(encoder.encode_slots(&[0; N + 1]).unwrap_err(), many);

    // A plaintext of another modulus, and one of another degree.
    let other = setup_insecure(N, 1_032_193);
    let message = other.params.encoder().encode_slots(&[70_000; N]).unwrap();
    let mut masks = Masks::random(&mut s.rng);
    let ct = encrypt(&s.params, &s.secret, &message, 1, &mut masks, &mut s.rng);
    assert!(matches!(
        ct.unwrap_err(),
        Error::Message { found: 70_000, .. }
    ));
    let other = setup_insecure(2 * N, 65_537);
    let message = other.params.encoder().encode_slots(&[1]).unwrap();
    let error = s.eval.lift(&message, 1).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the plaintext is of N = 64, expected N = 32"
    );
}

#[test]
fn operands_of_other_parameters() {
    let mut s = setup_insecure(N, 65_537);
    let a = s.slots();
    let x = s.encrypt(&a, 2);
    // Another degree, and the same ring with another plaintext modulus.
    for mut other in [setup_insecure(2 * N, 65_537), setup_insecure(N, 193)] {
        let b = other.slots();
        let mut y = other.encrypt(&b, 2);
        let expected = format!("{:?}", s.params);
        let error = s.eval.add_assign(&mut y, &x).unwrap_err();
        let words = format!(
            "the ciphertext is of {:?}, expected {expected}",
            other.params
        );
        assert_eq!(error.to_string(), words);
        assert_eq!(s.eval.mul_no_relin(&x, &y).unwrap_err(), error);
        assert_eq!(s.eval.switch_to(&mut y, 1).unwrap_err(), error);
        let key = s.secret.relinearization_key(2, &mut s.rng);
        assert_eq!(s.eval.mul(&x, &y, &key).unwrap_err(), error);
        let none = GaloisKeys::new();
        assert_eq!(s.eval.rotate(&y, 1, &none).unwrap_err(), error);
    }
    // Keys and plain ciphertexts of another ring.
    let mut other = setup_insecure(2 * N, 65_537);
    let is_other = |error: Error, name: &str| matches!(error, Error::OtherParameters { what, .. } if what == name);
    let key = other.secret.relinearization_key(2, &mut other.rng);
    let error = s.eval.mul(&x, &x, &key).unwrap_err();
    assert!(is_other(error, "evaluation key"));
    let swap = s.params.encoder().swap_element();
    let keys = other.galois(&[swap], 2);
    let error = s.eval.swap_rows(&x, &keys).unwrap_err();
    assert!(is_other(error, "evaluation key"));
    assert!(is_other(
        decrypt(&other.secret, &x).unwrap_err(),
        "secret key"
    ));
    assert!(is_other(
        measure(&other.secret, &x).unwrap_err(),
        "secret key"
    ));
    let message = s.params.encoder().encode_slots(&a).unwrap();
    let public = PublicKey::generate(&other.secret, &mut s.rng);
    let ct = encrypt_public(&s.params, &public, &message, 1, &mut s.rng);
    assert!(is_other(ct.unwrap_err(), "public key"));
    let foreign = other.encrypt(&[1], 2).into_exact();
    let error = Ciphertext::from_exact(&s.params, foreign).unwrap_err();
    assert!(is_other(error, "ciphertext"));
}

fn is_of_another_key<T>(result: Result<T, Error>) -> bool {
    let error = result.err();
    matches!(error, Some(Error::Rlwe(rlwe::Error::KeyMismatch(_))))
}

#[test]
fn operands_of_two_secrets() {
    let mut s = setup_insecure(N, 65_537);
    let mut stranger = Setup::new(s.params.clone(), 2);
    let (x, y) = (s.encrypt(&[1], 2), stranger.encrypt(&[2], 2));
    let own = s.secret.relinearization_key(2, &mut s.rng);
    let key = stranger.secret.relinearization_key(2, &mut s.rng);
    assert!(is_of_another_key(s.eval.add_assign(&mut x.clone(), &y)));
    assert!(is_of_another_key(s.eval.sub_assign(&mut x.clone(), &y)));
    assert!(is_of_another_key(s.eval.mul_no_relin(&x, &y)));
    assert!(is_of_another_key(s.eval.mul(&x, &y, &own)));
    assert!(is_of_another_key(s.eval.mul(&x, &x, &key)));
    assert!(is_of_another_key(s.eval.mul_and_switch(&x, &x, &key, 1)));
    let swap = s.params.encoder().swap_element();
    let keys = stranger.galois(&[swap], 2);
    assert!(is_of_another_key(s.eval.swap_rows(&x, &keys)));
    assert!(is_of_another_key(decrypt(&s.secret, &y)));
    assert!(is_of_another_key(decrypt_unchecked(&s.secret, &y)));
    assert!(is_of_another_key(measure(&s.secret, &y)));
    let product = s.eval.mul_and_switch(&x, &x, &own, 1).unwrap();
    assert!(is_of_another_key(decrypt(&stranger.secret, &product)));
    assert_eq!(s.decrypt(&product)[0], 1);
    let words = decrypt(&s.secret, &y).unwrap_err().to_string();
    let expected = format!(
        "the secret key belongs to key {}, expected key {}: what meets in a computation must be \
         made under one secret key",
        s.secret.id(),
        stranger.secret.id()
    );
    assert_eq!(words, expected);
}

#[test]
fn a_used_up_budget() {
    let mut s = setup_insecure(N, 65_537);
    let key = s.secret.relinearization_key(2, &mut s.rng);
    let mut x = s.encrypt(&[1, 2], 2);
    for _ in 0..6 {
        x = s.eval.mul(&x, &x, &key).unwrap();
    }
    let (_, budget) = measure(&s.secret, &x).unwrap();
    let least = palladion_bgv::LEAST_BUDGET;
    assert_eq!(
        decrypt(&s.secret, &x).unwrap_err(),
        Error::NoiseBudget { budget, least }
    );
    let wrong = decrypt_unchecked(&s.secret, &x).unwrap();
    assert_ne!(s.params.encoder().slots_of(&wrong)[0], 1);
}
