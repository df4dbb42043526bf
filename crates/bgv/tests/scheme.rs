//! Every operation at full size, 128-bit secure, compared with arithmetic in slots. Its noise is
//! compared with the formula from both sides.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

use crate::common::Setup;
use palladion_bgv::noise::{Model, Noise};
use palladion_bgv::{Ciphertext, Params, PublicKey, T_FERMAT, encrypt_public, measure};
use ring::ntt_primes;
use rlwe::ParamsSpec;

const N: usize = 1 << 15;
const LIMB_BITS: f64 = 48.0;

/// `Q` of 720 bits, digits of 144, `P` of 147: log2(QP) = 867 of 868.
fn setup(seed: u64) -> (Setup, Model) {
    let spec = ParamsSpec {
        n: N,
        q: ntt_primes(48, N, 15).unwrap(),
        p: ntt_primes(49, N, 3).unwrap(),
        digit_limbs: 3,
    };
    let params = Params::new(&spec, T_FERMAT).unwrap();
    let model = Model::new(&params);
    (Setup::new(params, seed), model)
}

/// The root mean square of N near-normal values has a relative deviation of 1 / sqrt(2 N), 0.006
/// bits. The key and the messages are random too, so a tenth of a bit is allowed.
fn check_noise(s: &Setup, what: &str, ct: &Ciphertext, predicted: Noise) {
    let (size, budget) = measure(&s.secret, ct).unwrap();
    let (measured, predicted) = (size.log2_rms, predicted.bits());
    println!("{what}: measured {measured:.2}, predicted {predicted:.2}, budget {budget:.1}");
    assert!((measured - predicted).abs() < 0.1, "{what}");
    assert!(budget > 0.0, "{what}");
}

#[test]
fn sums_and_plaintext_products() {
    let (mut s, model) = setup(1);
    let (a, b) = (s.slots(), s.slots());
    let level = 3;
    let (x, mut y) = (s.encrypt(&a, level), s.encrypt(&b, level));
    assert_eq!(s.decrypt(&x), a);
    check_noise(&s, "fresh", &x, model.fresh());
    let public = PublicKey::generate(&s.secret, &mut s.rng);
    let message = s.params.encoder().encode_slots(&b).unwrap();
    let z = encrypt_public(&s.params, &public, &message, level, &mut s.rng).unwrap();
    assert_eq!(s.decrypt(&z), b);
    check_noise(&s, "public", &z, model.fresh_public());

    let mut z = x.clone();
    s.eval.add_assign(&mut z, &y).unwrap();
    assert_eq!(s.decrypt(&z), s.zip(&a, &b, |x, y| x + y));
    check_noise(&s, "sum", &z, model.fresh().times(2.0));

    let mut z = x.clone();
    let lifted = s.eval.lift(&message, level).unwrap();
    s.eval.mul_plain_assign(&mut z, &lifted).unwrap();
    assert_eq!(s.decrypt(&z), s.zip(&a, &b, |x, y| x * y));
    let product = model.mul_plain(model.fresh(), model.uniform_plaintext(N as f64));
    check_noise(&s, "plaintext product", &z, product);
    s.eval.switch_to(&mut z, level - 1).unwrap();
    let switched = model.switched(product, LIMB_BITS);
    check_noise(&s, "modulus switch", &z, switched);

    // The switched one has another factor: both are multiplied, then added.
    s.eval.drop_to(&mut y, level - 1).unwrap();
    let [u, v] = s.eval.match_factors(&mut z, &mut y).unwrap();
    assert_ne!([u, v], [1, 1]);
    check_noise(&s, "matched", &z, model.mul_scalar(switched, u));
    s.eval.add_assign(&mut z, &y).unwrap();
    let want = s.zip(&a, &b, |x, y| x * y + y);
    assert_eq!(s.decrypt(&z), want);
    let scaled = model.mul_scalar(model.fresh(), v);
    let sum = model.mul_scalar(switched, u).plus(scaled);
    check_noise(&s, "sum of matched", &z, sum);
}

#[test]
fn products_down_the_chain() {
    let (mut s, model) = setup(2);
    let top = s.top();
    let key = s.secret.relinearization_key(top, &mut s.rng);
    let (a, b) = (s.slots(), s.slots());
    let (x, y) = (s.encrypt(&a, top), s.encrypt(&b, top));
    let tensor = model.tensor(model.fresh(), model.fresh(), false);
    let whole = s.eval.mul_no_relin(&x, &y).unwrap();
    check_noise(&s, "tensor product", &whole, tensor);
    let mut want = s.zip(&a, &b, |x, y| x * y);
    let product = s.eval.mul(&x, &y, &key).unwrap();
    assert_eq!(s.decrypt(&product), want);
    let noise = tensor.plus(model.key_switch(top)).plus(model.rounding());
    check_noise(&s, "product", &product, noise);

    let mut x = s.eval.mul_and_switch(&x, &y, &key, 1).unwrap();
    let switched = |tensor: Noise, level| {
        let whole = tensor.plus(model.key_switch(level));
        model.switched(whole, LIMB_BITS)
    };
    let mut noise = switched(tensor, top);
    check_noise(&s, "product, switched", &x, noise);
    while x.level() > 1 {
        let level = x.level();
        x = s.eval.mul_and_switch(&x, &x, &key, 1).unwrap();
        want = s.zip(&want, &want, |x, y| x * y);
        assert_eq!(s.decrypt(&x), want, "level {level}");
        noise = switched(model.tensor(noise, noise, true), level);
        check_noise(&s, &format!("square at level {level}"), &x, noise);
    }
}

/// The tolerance is wider than centred digits need: it allows for digits with a mean. A mean would
/// multiply a signed sum of the key's errors, `sum_{i <= k} e_i - sum_{i > k} e_i` for coefficient
/// `k`. As a walk on `[0, 1]` this sum has the covariance `1 - 2 |u - v|`. So its mean square over
/// a polynomial has a relative variance of `2 E (1 - 2 |u - v|)^2 = 2/3` from key to key, for every
/// `N`. Sixteen keys divide it by 16.
#[test]
fn rotations_and_swaps() {
    const KEYS: isize = 16;
    let (mut s, model) = setup(3);
    let level = 2; // one digit
    let steps: Vec<isize> = (1..KEYS / 2).chain(-KEYS / 2..0).collect();
    let encoder = s.params.encoder();
    let mut elements: Vec<usize> = steps.iter().map(|&k| encoder.rotation_element(k)).collect();
    elements.push(encoder.swap_element());
    assert_eq!(elements.len(), KEYS as usize);
    let keys = s.galois(&elements, level);
    let a = s.slots();
    let x = s.encrypt(&a, level);

    let mut rotated = s.eval.rotate_hoisted(&x, &steps, &keys).unwrap();
    for (&k, ct) in steps.iter().zip(&rotated) {
        assert_eq!(s.decrypt(ct), s.rotated(&a, k), "by {k}");
        assert_eq!(&s.eval.rotate(&x, k, &keys).unwrap(), ct);
    }
    let swapped = s.eval.swap_rows(&x, &keys).unwrap();
    assert_eq!(s.decrypt(&swapped), [&a[N / 2..], &a[..N / 2]].concat());
    rotated.push(swapped);

    let variance = |bits: f64| (2.0 * bits).exp2();
    let switch = variance(model.key_switch(level).bits());
    let predicted = switch + variance(model.fresh().plus(model.rounding()).bits());
    let sizes = rotated.iter().map(|ct| measure(&s.secret, ct).unwrap().0);
    let measured = sizes.map(|size| variance(size.log2_rms)).sum::<f64>() / KEYS as f64;
    // Three uncentred limbs would have a mean of 3/2 of the digit's product, and a variance of
    // 3/12.
    let mean = switch * 2.25 / (2.25 + 0.25);
    let deviation = mean / predicted * (2.0 / 3.0 / KEYS as f64).sqrt();
    let ratio = measured / predicted;
    println!("rotations: measured over predicted variance {ratio:.3}, deviation {deviation:.3}");
    assert!((ratio - 1.0).abs() < 3.0 * deviation);
}
