//! Messages that do not fit their modulus are refused, and those that fit are not.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

use crate::common::Setup;
use palladion_ckks::{
    Ciphertext, Complex64, Error, Params, ParamsSpec, Plaintext, decrypt, decrypt_unchecked,
    encrypt,
};
use rand::Rng;
use ring::ntt_primes_of_sizes;
use ring::sample::Masks;
use rlwe::{GaloisKeys, PublicKey, SwitchKey};

/// The chain of `ParamsSpec::for_depth` with a scale of 2^30: messages below 2^9 fit.
fn setup_insecure(depth: usize, seed: u64) -> (Setup, SwitchKey) {
    const N: usize = 1 << 8;
    let mut sizes = vec![40; 3];
    sizes.extend(vec![30; depth]);
    let mut primes = ntt_primes_of_sizes(&sizes, N).unwrap();
    let special = primes.drain(1..3).collect();
    let params = Params::new_insecure(&ParamsSpec {
        n: N,
        levels: primes.into_iter().map(|q| vec![q]).collect(),
        special,
        digit_limbs: 2,
        log_scale: 30.0,
    });
    let mut s = Setup::new(params.unwrap(), seed);
    let top = s.params.rlwe().max_level();
    let key = s.secret.relinearization_key(top, &mut s.rng);
    (s, key)
}

fn real(values: &[f64]) -> Vec<Complex64> {
    values.iter().map(|&v| v.into()).collect()
}

impl Setup {
    /// Encrypts at the scale of the highest level.
    fn fresh(&mut self, values: &[f64]) -> Ciphertext {
        let top = self.params.max_level();
        let scale = self.params.scale_at(top);
        let message = Plaintext::encode_real(&self.params, values, top, scale).unwrap();
        let masks = &mut Masks::random(&mut self.rng);
        encrypt(&self.secret, &message, masks, &mut self.rng).unwrap()
    }

    fn is_lost(&self, ct: &Ciphertext) -> bool {
        let error = decrypt(&self.secret, ct).err();
        matches!(error, Some(Error::Lost { .. }))
    }

    /// Whether the message is right to one part in 10,000, and beyond doubt.
    fn is_right(&self, ct: &Ciphertext, expected: &[f64]) -> bool {
        let message = decrypt(&self.secret, ct).unwrap();
        let found = message.decode(&self.params, expected.len()).unwrap();
        let near = |(a, b): (&Complex64, &f64)| (a - b).norm() < 1e-4 * b.abs().max(1.0);
        message.doubt().is_none() && found.iter().zip(expected).all(near)
    }
}

/// All slots hold one number, so that one coefficient alone is not zero. It is below any part of the
/// modulus by chance, so only the sizes can tell.
#[test]
fn operations_that_exceed_the_modulus_are_lost_insecure() {
    let (mut s, key) = setup_insecure(2, 1);
    let e = s.evaluator.clone();
    let level = |ct: &Ciphertext| e.level(ct).unwrap();
    for seed in 0..20u32 {
        let v = 300.0 + f64::from(seed);
        let x = s.fresh(&[v]);
        let y = s.fresh(&[-v]);
        let low = |mut ct: Ciphertext| {
            e.drop_to(&mut ct, 0).unwrap();
            ct
        };
        let [a, b] = [low(x.clone()), low(y.clone())];
        assert!(s.is_right(&a, &[v]));
        let sum = e.add(&a, &a).unwrap();
        assert!(s.is_lost(&sum), "sum");
        assert!(s.is_lost(&e.sub(&a, &b).unwrap()), "difference");
        assert!(s.is_right(&e.add(&a, &b).unwrap(), &[0.0]));
        // A sum that exceeds the modulus in between does no harm.
        let mut back = e.add(&sum, &b).unwrap();
        assert!(s.is_right(&back, &[v]));
        e.neg_assign(&mut back);
        assert!(s.is_right(&back, &[-v]));
        assert!(s.is_lost(&e.sub(&back, &a).unwrap()), "difference");
        let mut c = a.clone();
        e.mul_const_assign(&mut c, -3.0, 1.0).unwrap();
        assert!(s.is_lost(&c), "integer factor");
        let mut c = a.clone();
        e.add_const_assign(&mut c, Complex64::new(400.0, 0.0))
            .unwrap();
        assert!(s.is_lost(&c), "constant");
        let mut c = a.clone();
        for _ in 0..2 {
            let constant = Complex64::new(0.0, 400.0);
            e.add_const_assign(&mut c, constant).unwrap();
        }
        assert!(s.is_lost(&c), "imaginary constant");
        let mut c = a.clone();
        e.add_scaled_assign(&mut c, &b, -2.0).unwrap();
        assert!(s.is_lost(&c), "scaled sum");

        for product in [
            e.mul_and_rescale(&x, &x, &key).unwrap(),
            e.mul_and_rescale(&x, &y, &key).unwrap(),
        ] {
            // It fits the modulus of its own level, and not the lowest.
            assert!(s.is_right(&product, &[v * v]) || s.is_right(&product, &[-v * v]));
            assert!(level(&product) > 0);
            assert!(s.is_lost(&low(product)), "product");
        }
        let factor = Plaintext::encode_real(&s.params, &[v], level(&x), x.scale()).unwrap();
        let mut c = x.clone();
        e.mul_plain_assign(&mut c, &factor).unwrap();
        e.rescale(&mut c).unwrap();
        assert!(s.is_lost(&low(c)), "plain product");
        let message = Plaintext::encode_real(&s.params, &[400.0], 0, a.scale()).unwrap();
        let mut c = a.clone();
        e.add_plain_assign(&mut c, &message).unwrap();
        assert!(s.is_lost(&c), "plain sum");
        let mut c = a.clone();
        c.set_scale(c.scale() / 4.0);
        assert!(s.is_right(&c, &[4.0 * v]), "another scale is another unit");
    }
}

#[test]
fn sums_of_rotations_are_lost_or_right_insecure() {
    let (mut s, _) = setup_insecure(1, 2);
    let e = s.evaluator.clone();
    let (slots, top) = (s.params.slots(), s.params.rlwe().max_level());
    let mut galois = GaloisKeys::new();
    let steps: Vec<usize> = (0..slots.ilog2()).map(|i| 1 << i).collect();
    for &step in &steps {
        let element = s.params.encoder().rotation_element(step as isize);
        galois.insert(element, s.secret.galois_key(element, top, &mut s.rng));
    }
    let conjugation = s.params.encoder().conjugation_element();
    galois.insert(
        conjugation,
        s.secret.galois_key(conjugation, top, &mut s.rng),
    );
    let total = |values: &[f64], s: &mut Setup| {
        let mut sum = s.encrypt(&real(values), 0);
        for &step in &steps {
            let moved = e.rotate(&sum, step as isize, &galois).unwrap();
            e.add_assign(&mut sum, &moved).unwrap();
        }
        e.add(&sum, &e.conjugate(&sum, &galois).unwrap()).unwrap()
    };
    // The mean is known exactly, so that the sums of all slots are known, too.
    let values: Vec<f64> = (0..slots).map(|i| 2.0 + (i as f64).sin()).collect();
    let sum: f64 = values.iter().sum();
    assert!(2.0 * sum > 512.0);
    let ct = total(&values, &mut s);
    assert!(s.is_lost(&ct));
    let values: Vec<f64> = values.iter().map(|v| v - 2.0).collect();
    let sum: f64 = values.iter().sum();
    let ct = total(&values, &mut s);
    assert!(s.is_right(&ct, &[2.0 * sum]));
}

/// A scalar product of uniform numbers is nowhere near its bound by largest values, and means tell
/// that it fits.
#[test]
fn right_results_are_not_doubted_insecure() {
    let (mut s, key) = setup_insecure(3, 3);
    let e = s.evaluator.clone();
    let slots = s.params.slots();
    let mut uniform =
        || -> Vec<f64> { (0..slots).map(|_| s.rng.random_range(-2.0..2.0)).collect() };
    let (a, b) = (uniform(), uniform());
    let [x, y] = [a.clone(), b.clone()].map(|v| s.fresh(&v));
    let mut sum = e.mul_and_rescale(&x, &y, &key).unwrap();
    e.drop_to(&mut sum, 0).unwrap();
    // 128 products of up to 4 each: 512 by the largest values, 171 by the means.
    let one = sum.clone();
    for _ in 1..slots {
        e.add_assign(&mut sum, &one).unwrap();
    }
    let expected: Vec<f64> = a.iter().zip(&b).map(|(a, b)| 128.0 * a * b).collect();
    assert!(s.is_right(&sum, &expected));

    // A polynomial: 1 + x (x^3 - 2 x), with slots up to 1.
    let x = s.fresh(&a.iter().map(|v| v / 2.0).collect::<Vec<_>>());
    let square = e.mul_and_rescale(&x, &x, &key).unwrap();
    let [x_low, square_low] = e.align(&x, &square).unwrap();
    let mut inner = e.mul_and_rescale(&x_low, &square_low, &key).unwrap();
    let [mut twice, aligned] = e.align(&x, &inner).unwrap();
    inner = aligned;
    e.mul_const_assign(&mut twice, 2.0, 1.0).unwrap();
    e.sub_assign(&mut inner, &twice).unwrap();
    let [x_low, inner] = e.align(&x, &inner).unwrap();
    let mut p = e.mul_and_rescale(&x_low, &inner, &key).unwrap();
    e.add_const_assign(&mut p, Complex64::ONE).unwrap();
    e.drop_to(&mut p, 0).unwrap();
    let p_of = |v: &f64| 1.0 + v / 2.0 * ((v / 2.0).powi(3) - v);
    assert!(s.is_right(&p, &a.iter().map(p_of).collect::<Vec<_>>()));
}

#[test]
fn results_of_unknown_size_are_doubted_where_they_come_close_insecure() {
    let (mut s, _) = setup_insecure(1, 4);
    let e = s.evaluator.clone();
    let strange = |ct: &Ciphertext| Ciphertext::new(ct.rlwe().clone(), ct.scale());
    for (v, doubted) in [(60.0, false), (70.0, true), (-250.0, true)] {
        let x = s.encrypt(&real(&[v]), 0);
        let message = decrypt(&s.secret, &strange(&x)).unwrap();
        assert_eq!(message.doubt().is_some(), doubted, "{v}");
        // The size is stated, and beyond doubt.
        assert!(s.is_right(&strange(&x).bounded(300.0).unwrap(), &[v]));
    }
    let x = s.encrypt(&real(&[300.0]), 0);
    let error = decrypt(&s.secret, &strange(&x)).unwrap_err();
    assert!(matches!(error, Error::Doubtful { .. }), "{error}");
    assert!(decrypt_unchecked(&s.secret, &strange(&x)).is_ok());
    // A message that is surely small enough is right. The bounds of the two operands, 511 and at
    // most 400, allow two cases: the sum fits, or it wraps around and stays apart from zero by 112.
    let close = strange(&s.encrypt(&real(&[100.0]), 0))
        .bounded(511.0)
        .unwrap();
    let sum = e.add(&close, &s.encrypt(&real(&[-20.0]), 0)).unwrap();
    assert!(s.is_right(&sum, &[80.0]));
    let doubt = decrypt(&s.secret, &e.add(&sum, &close).unwrap())
        .unwrap()
        .doubt();
    let words = doubt.unwrap().to_string();
    assert!(words.contains("takes 7.5 bits, 9.0 fit"), "{words}");
    for bound in [-1.0, f64::NAN, f64::INFINITY, 513.0] {
        let error = strange(&x).bounded(bound).unwrap_err();
        assert!(matches!(error, Error::Bound { .. }), "{error}");
    }
    assert_eq!(format!("{:?}", x.size()), "Size(..)");
}

#[test]
fn what_belongs_to_two_secrets_does_not_meet_insecure() {
    let (mut s, key) = setup_insecure(1, 5);
    let mut stranger = Setup::new(s.params.clone(), 6);
    let e = s.evaluator.clone();
    let values = real(&[1.0]);
    let (x, y) = (s.encrypt(&values, 1), stranger.encrypt(&values, 1));
    let refused = |error: Option<Error>| {
        let error = error.unwrap();
        assert!(
            matches!(error, Error::Rlwe(rlwe::Error::KeyMismatch(_))),
            "{error}"
        );
    };
    refused(e.add(&x, &y).err());
    refused(e.sub(&x, &y).err());
    refused(e.add_assign(&mut x.clone(), &y).err());
    refused(e.sub_assign(&mut x.clone(), &y).err());
    refused(e.add_scaled_assign(&mut x.clone(), &y, 2.0).err());
    refused(e.mul(&x, &y).err());
    refused(e.mul_and_rescale(&x, &y, &key).err());
    refused(e.mul_and_rescale(&y, &y, &key).err());
    refused(e.relinearize(&e.mul(&y, &y).unwrap(), &key).err());
    let element = s.params.encoder().rotation_element(1);
    let mut galois = GaloisKeys::new();
    let top = s.params.rlwe().max_level();
    galois.insert(element, s.secret.galois_key(element, top, &mut s.rng));
    refused(e.rotate(&y, 1, &galois).err());
    refused(e.rotate_hoisted(&y, &[1], &galois).err());
    refused(decrypt(&s.secret, &y).err());
    refused(decrypt_unchecked(&s.secret, &y).err());
    let message = Plaintext::encode(&s.params, &values, 1, x.scale()).unwrap();
    let public = PublicKey::generate(&stranger.secret, &mut s.rng);
    let z = palladion_ckks::encrypt_public(&s.params, &public, &message, &mut s.rng).unwrap();
    refused(e.add(&x, &z).err());
    assert!(e.add(&y, &z).is_ok());
    let rotated = e
        .rotate(&e.mul_and_rescale(&x, &x, &key).unwrap(), 1, &galois)
        .unwrap();
    refused(decrypt(&stranger.secret, &rotated).err());
    assert!((s.decrypt(&rotated, 1)[0] - 1.0).norm() < 1e-4);
}
