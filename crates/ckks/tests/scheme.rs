//! Every operation compared with the same on plain numbers, and its error with the prediction from
//! both sides.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

use crate::common::{
    SQUARE, Setup, insecure_params, insecure_params_by_digits, insecure_params_of_pairs,
};
use palladion_ckks::noise::Noise;
use palladion_ckks::{Complex64, Error, Params, Plaintext, decrypt, encrypt, encrypt_public};
use ring::sample::Masks;
use rlwe::{GaloisKeys, PublicKey};

fn products(a: &[Complex64], b: &[Complex64]) -> Vec<Complex64> {
    a.iter().zip(b).map(|(a, b)| a * b).collect()
}

fn check_operations(params: Params, seed: u64) {
    let mut s = Setup::new(params.clone(), seed);
    let (slots, top) = (params.slots(), params.max_level());
    let (e, model) = (s.evaluator.clone(), s.model.clone());
    let scale = params.scale();
    let (a, b) = (s.message(slots), s.message(slots));
    let fresh = model.fresh(scale);
    let (x, y) = (s.encrypt(&a, top), s.encrypt(&b, top));
    s.check("fresh", &x, &a, fresh);

    let public = PublicKey::generate(&s.secret, &mut s.rng);
    let message = Plaintext::encode(&params, &a, top - 1, scale).unwrap();
    let ct = encrypt_public(&params, &public, &message, &mut s.rng).unwrap();
    assert_eq!(e.level(&ct), Ok(top - 1));
    s.check("public", &ct, &a, model.fresh_public(scale));

    let mut sum = x.clone();
    e.add_assign(&mut sum, &y).unwrap();
    let expected: Vec<Complex64> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
    s.check("sum", &sum, &expected, fresh.plus(fresh));
    e.sub_assign(&mut sum, &y).unwrap();
    e.neg_assign(&mut sum);
    e.add_const_assign(&mut sum, Complex64::new(0.5, -2.0))
        .unwrap();
    e.mul_i_assign(&mut sum);
    let expected: Vec<Complex64> = a
        .iter()
        .map(|a| Complex64::I * (Complex64::new(0.5, -2.0) - a))
        .collect();
    s.check("(c - x) i", &sum, &expected, fresh);

    let key = s
        .secret
        .relinearization_key(params.rlwe().max_level(), &mut s.rng);
    let tensor = e.mul(&x, &y).unwrap();
    let plain = model.product((SQUARE, fresh), (SQUARE, fresh));
    let expected = products(&a, &b);
    s.check("product", &tensor, &expected, plain);
    let switched = model
        .key_switch(top, tensor.scale())
        .plus(model.rounding(tensor.scale()));
    let mut product = e.relinearize(&tensor, &key).unwrap();
    s.check("relinearised", &product, &expected, plain.plus(switched));
    e.rescale(&mut product).unwrap();
    assert_eq!(e.level(&product), Ok(top - 1));
    let after = plain
        .plus(model.key_switch(top, tensor.scale()))
        .plus(model.rounding(product.scale()));
    s.check("rescaled", &product, &expected, after);
    let fused = e.mul_and_rescale(&x, &y, &key).unwrap();
    assert_eq!(fused.scale(), product.scale());
    s.check("fused", &fused, &expected, after);

    let square = e.mul_and_rescale(&x, &x, &key).unwrap();
    // (m + e)^2 - m^2 = 2 m e: both factors of a product have the same error.
    let errors = plain.plus(Noise(2.0 * SQUARE * fresh.0));
    let after = errors
        .plus(model.key_switch(top, tensor.scale()))
        .plus(model.rounding(square.scale()));
    s.check("square", &square, &products(&a, &a), after);

    let factor = Plaintext::encode(&params, &b, top, scale).unwrap();
    let mut product = x.clone();
    e.mul_plain_assign(&mut product, &factor).unwrap();
    let after = model.product((SQUARE, fresh), (SQUARE, model.encoding(scale)));
    s.check("plain product", &product, &expected, after);

    let mut product = x.clone();
    e.mul_const_assign(&mut product, -0.375, 1024.0).unwrap();
    let expected: Vec<Complex64> = a.iter().map(|a| a * -0.375).collect();
    s.check("constant", &product, &expected, fresh.times(0.375 * 0.375));

    let mut keys = GaloisKeys::new();
    let encoder = params.encoder();
    let steps = [1, -3, 77];
    for element in steps
        .map(|k| encoder.rotation_element(k))
        .into_iter()
        .chain([encoder.conjugation_element()])
    {
        keys.insert(
            element,
            s.secret
                .galois_key(element, params.rlwe().max_level(), &mut s.rng),
        );
    }
    let switch = model.key_switch(top, scale).plus(model.rounding(scale));
    let rotated = |k: isize| -> Vec<Complex64> {
        (0..slots as isize)
            .map(|j| a[(j + k).rem_euclid(slots as isize) as usize])
            .collect()
    };
    for (k, hoisted) in steps
        .iter()
        .zip(e.rotate_hoisted(&x, &steps, &keys).unwrap())
    {
        s.check(
            "rotation",
            &e.rotate(&x, *k, &keys).unwrap(),
            &rotated(*k),
            fresh.plus(switch),
        );
        s.check(
            "hoisted rotation",
            &hoisted,
            &rotated(*k),
            fresh.plus(switch),
        );
    }
    let conjugates: Vec<Complex64> = a.iter().map(Complex64::conj).collect();
    s.check(
        "conjugate",
        &e.conjugate(&x, &keys).unwrap(),
        &conjugates,
        fresh.plus(switch),
    );
    let missing = e.rotate(&x, 5, &keys).unwrap_err();
    assert!(
        matches!(missing, Error::Rlwe(rlwe::Error::MissingGaloisKey { .. })),
        "{missing}"
    );

    // A sum of ciphertexts that were rescaled by different moduli.
    let low = e.mul_and_rescale(&fused, &fused, &key).unwrap();
    let adjusted = e.adjust(&x, e.level(&low).unwrap(), low.scale()).unwrap();
    let mut sum = low;
    e.add_assign(&mut sum, &adjusted).unwrap();
    let expected: Vec<Complex64> = a.iter().zip(&b).map(|(a, b)| a * b * a * b + a).collect();
    let found = s.decrypt(&sum, slots);
    assert!(crate::common::mean_square(&found, &expected).sqrt() < 2f64.powi(-18));
}

#[test]
fn operations_are_right_and_as_precise_as_predicted_insecure() {
    check_operations(insecure_params(13, 40, 4), 11);
}

#[test]
fn digits_as_large_as_the_special_moduli_spread_their_error_evenly_insecure() {
    // Digits of three limbs of 33 bits, with two special moduli of 49 bits.
    check_operations(insecure_params_by_digits(13, 33, 5, 3), 3);
}

#[test]
fn levels_of_two_limbs_give_scales_beyond_a_word_insecure() {
    check_operations(insecure_params_of_pairs(13, 3), 12);
}

#[test]
fn sparse_messages_repeat_insecure() {
    let params = insecure_params(10, 40, 2);
    let mut s = Setup::new(params.clone(), 13);
    let a = s.message(8);
    let x = s.encrypt(&a, 2);
    let all = s.decrypt(&x, params.slots());
    let repeated: Vec<Complex64> = a.iter().cycle().take(params.slots()).copied().collect();
    assert!(crate::common::mean_square(&all, &repeated).sqrt() < 1e-8);
    assert!(crate::common::mean_square(&s.decrypt(&x, 8), &a).sqrt() < 1e-8);
}

#[test]
fn wrong_operands_are_refused() {
    let params = insecure_params(10, 40, 2);
    let mut s = Setup::new(params.clone(), 14);
    let e = s.evaluator.clone();
    let a = s.message(8);
    let mut x = s.encrypt(&a, 2);
    let mut low = s.encrypt(&a, 0);
    assert_eq!(
        e.rescale(&mut low),
        Err(Error::LevelExhausted { need: 1, have: 0 })
    );
    assert_eq!(
        e.drop_to(&mut low, 1),
        Err(Error::LevelExhausted { need: 1, have: 0 })
    );
    let key = s.secret.relinearization_key(1, &mut s.rng);
    let mismatch = e.mul_and_rescale(&x, &low, &key).unwrap_err();
    assert_eq!(
        mismatch,
        Error::Rlwe(rlwe::Error::LevelMismatch { left: 2, right: 0 })
    );
    let short = e.mul_and_rescale(&x, &x, &key).unwrap_err();
    assert_eq!(
        short,
        Error::Rlwe(rlwe::Error::KeyLevel { need: 2, have: 1 })
    );
    let product = e.mul(&x, &x).unwrap();
    let scales = e.add_assign(&mut x, &product).unwrap_err();
    assert_eq!(
        scales,
        Error::ScaleMismatch {
            left: 40.0,
            right: 80.0
        }
    );
    let degree = e.mul(&product, &x).unwrap_err();
    assert_eq!(
        degree,
        Error::Rlwe(rlwe::Error::Components {
            found: 3,
            expected: 2
        })
    );
    let mut stranger = Setup::new(insecure_params(11, 40, 2), 15);
    let other = stranger.encrypt(&a, 2);
    let expected = format!("{:?} limbs of N = {}", [1, 2, 3], s.params.n());
    let refused = Error::OtherParameters {
        found: 3,
        n: 2048,
        expected,
    };
    assert_eq!(e.level(&other), Err(refused));
    let refused = |result| matches!(result, Err(Error::OtherParameters { .. }));
    assert!(refused(e.add_assign(&mut x.clone(), &other)));
    assert!(refused(e.sub_assign(&mut x.clone(), &other)));
    assert!(refused(e.mul(&x, &other).map(drop)));
    let message = Plaintext::encode(&stranger.params, &a, 2, other.scale()).unwrap();
    assert!(refused(e.add_plain_assign(&mut x.clone(), &message)));
    let top = stranger.params.rlwe().max_level();
    let key = stranger.secret.relinearization_key(top, &mut s.rng);
    assert!(matches!(
        e.mul_and_rescale(&x, &x, &key),
        Err(Error::OtherKey { .. })
    ));
    let refused = decrypt(&s.secret, &other).map(drop).unwrap_err();
    assert!(matches!(refused, Error::OtherKey { .. }), "{refused}");
    let masks = &mut Masks::random(&mut s.rng);
    let refused = encrypt(&s.secret, &message, masks, &mut s.rng).map(drop);
    assert!(matches!(refused, Err(Error::OtherKey { .. })));
    assert!(matches!(
        e.mul_const_assign(&mut x, 1e40, 1e40),
        Err(Error::Constant { .. })
    ));
    assert!(matches!(
        e.add_const_assign(&mut x, f64::NAN.into()),
        Err(Error::NotFinite { .. })
    ));
}
