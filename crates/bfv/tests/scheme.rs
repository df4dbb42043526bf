//! Every operation compared with arithmetic modulo `t`, and its noise with the formula, from both
//! sides.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

use palladion_bfv::noise::{Model, Noise};
use palladion_bfv::{
    Ciphertext, Error, Evaluator, Params, PublicKey, T_FERMAT, decrypt, encrypt, encrypt_public,
    measure,
};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use ring::ntt_primes;
use ring::sample::Masks;
use rlwe::{GaloisKeys, ParamsSpec, SecretKey};

/// The full ring, twelve limbs: log2(QP) = 12 * 33 + 3 * 49 = 543.
fn spec(n: usize) -> ParamsSpec {
    ParamsSpec {
        n,
        q: ntt_primes(33, n, 12).unwrap(),
        p: ntt_primes(49, n, 3).unwrap(),
        digit_limbs: 4,
    }
}

struct Setup {
    params: Params,
    eval: Evaluator,
    secret: SecretKey,
    rng: ChaCha20Rng,
    model: Model,
}

fn setup(seed: u64) -> Setup {
    let params = Params::new(&spec(1 << 15), T_FERMAT).unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    Setup {
        eval: Evaluator::new(&params),
        secret: SecretKey::generate(params.rlwe(), &mut rng),
        model: Model::new(&params),
        params,
        rng,
    }
}

impl Setup {
    fn slots(&mut self) -> Vec<u64> {
        (0..self.params.n())
            .map(|_| self.rng.random_range(0..T_FERMAT))
            .collect()
    }

    fn encrypt(&mut self, slots: &[u64], level: usize) -> Ciphertext {
        let message = self.params.encoder().slots_to_plaintext(slots);
        let masks = &mut Masks::random(&mut self.rng);
        encrypt(
            &self.params,
            &self.secret,
            &message,
            level,
            masks,
            &mut self.rng,
        )
        .unwrap()
    }

    fn decrypt(&self, ct: &Ciphertext) -> Vec<u64> {
        let message = decrypt(&self.params, &self.secret, ct).unwrap();
        self.params.encoder().slots_of(&message)
    }

    /// The root mean square of N near-normal values has a relative deviation of 1 / sqrt(2 N),
    /// 0.006 bits. The key and the messages are random too, so a tenth of a bit is allowed.
    fn check_noise(&self, what: &str, ct: &Ciphertext, predicted: Noise) {
        self.check_noise_within(0.1, what, ct, predicted);
    }

    fn check_noise_within(&self, bits: f64, what: &str, ct: &Ciphertext, predicted: Noise) {
        let (size, budget) = measure(&self.params, &self.secret, ct).unwrap();
        let difference = size.log2_rms - predicted.bits();
        println!(
            "{what}: measured {:.2}, predicted {:.2}, budget {budget:.1}",
            size.log2_rms,
            predicted.bits()
        );
        assert!(
            difference.abs() < bits,
            "{what}: off by {difference:.3} bits"
        );
        assert!(budget > 0.0, "{what}");
    }
}

fn mul_slots(a: &[u64], b: &[u64]) -> Vec<u64> {
    a.iter().zip(b).map(|(x, y)| x * y % T_FERMAT).collect()
}

#[test]
fn fresh_ciphertexts_decrypt_and_their_noise_follows_the_formula() {
    let mut s = setup(1);
    let slots = s.slots();
    let ct = s.encrypt(&slots, 11);
    assert_eq!(s.decrypt(&ct), slots);
    s.check_noise("fresh", &ct, s.model.fresh());

    let public = PublicKey::generate(&s.secret, &mut s.rng);
    let message = s.params.encoder().slots_to_plaintext(&slots);
    let ct = encrypt_public(&s.params, &public, &message, 11, &mut s.rng).unwrap();
    assert_eq!(s.decrypt(&ct), slots);
    s.check_noise("public", &ct, s.model.fresh_public());
}

#[test]
fn sums_plaintext_products_and_switches_are_exact() {
    let mut s = setup(2);
    let (a, b) = (s.slots(), s.slots());
    let (mut x, y) = (s.encrypt(&a, 11), s.encrypt(&b, 11));
    s.eval.add_assign(&mut x, &y).unwrap();
    let sum: Vec<u64> = a.iter().zip(&b).map(|(x, y)| (x + y) % T_FERMAT).collect();
    assert_eq!(s.decrypt(&x), sum);
    s.check_noise("sum", &x, s.model.fresh().times(2.0));

    let plain = s.params.encoder().slots_to_plaintext(&b);
    let mut z = s.encrypt(&a, 11);
    s.eval.add_plain_assign(&mut z, &plain).unwrap();
    assert_eq!(s.decrypt(&z), sum);

    let mut z = s.encrypt(&a, 11);
    let lifted = s.eval.lift(&plain, 11).unwrap();
    s.eval.mul_plain_assign(&mut z, &lifted).unwrap();
    assert_eq!(s.decrypt(&z), mul_slots(&a, &b));
    let n = s.params.n() as f64;
    let noise = s
        .model
        .mul_plain(s.model.fresh(), s.model.uniform_plaintext(n));
    s.check_noise("plaintext product", &z, noise);

    s.eval.switch_to(&mut z, 10).unwrap();
    assert_eq!(s.decrypt(&z), mul_slots(&a, &b));
    s.check_noise("modulus switch", &z, s.model.switched(noise, 33.0));

    let mut z = s.encrypt(&a, 3);
    s.eval.mul_scalar_assign(&mut z, 65_000).unwrap();
    assert_eq!(
        s.decrypt(&z),
        a.iter().map(|x| x * 65_000 % T_FERMAT).collect::<Vec<_>>()
    );
    let (before, _) = measure(&s.params, &s.secret, &z).unwrap();
    s.eval.drop_to(&mut z, 2).unwrap();
    assert_eq!(z.level(), 2);
    assert_eq!(measure(&s.params, &s.secret, &z).unwrap().0, before);
    assert_eq!(
        s.decrypt(&z),
        a.iter().map(|x| x * 65_000 % T_FERMAT).collect::<Vec<_>>()
    );
}

#[test]
fn products_of_residuals_are_exact_down_the_chain() {
    let mut s = setup(3);
    let key = s.secret.relinearization_key(11, &mut s.rng);
    let (a, b) = (s.slots(), s.slots());
    let (mut x, mut y) = (s.encrypt(&a, 11), s.encrypt(&b, 11));
    let product = s.eval.tensor_sum(&[&x], &[&y]).unwrap();
    let tensor = s.model.tensor(s.model.fresh(), s.model.fresh(), false);
    s.check_noise("tensor", &product, tensor);
    let relinearized = s.eval.relinearize_and_switch(&product, &key, 0).unwrap();
    s.check_noise(
        "relinearised",
        &relinearized,
        tensor.plus(s.model.key_switch(11)),
    );

    let mut want = mul_slots(&a, &b);
    let mut noise = s.model.switched(tensor.plus(s.model.key_switch(11)), 33.0);
    x = s.eval.mul_and_switch(&x, &y, &key, 1).unwrap();
    assert_eq!(s.decrypt(&x), want);
    s.check_noise("product", &x, noise);
    while x.level() > 2 {
        let level = x.level();
        y = x.clone();
        x = s.eval.mul_and_switch(&y, &y, &key, 1).unwrap();
        want = mul_slots(&want, &want);
        assert_eq!(s.decrypt(&x), want, "level {level}");
        let squared = s
            .model
            .tensor(noise, noise, true)
            .plus(s.model.key_switch(level));
        noise = s.model.switched(squared, 33.0);
        s.check_noise(&format!("square at level {level}"), &x, noise);
    }
}

#[test]
fn scale_invariant_products_are_exact_at_any_noise() {
    let mut s = setup(6);
    let level = 5;
    let key = s.secret.relinearization_key(level, &mut s.rng);
    let (a, b) = (s.slots(), s.slots());
    let (x, y) = (s.encrypt(&a, level), s.encrypt(&b, level));
    let want = mul_slots(&a, &b);
    let whole = s.eval.mul_no_relin(&x, &y).unwrap();
    assert_eq!(whole.degree(), 2);
    assert_eq!(s.decrypt(&whole), want);
    let fresh = s.model.fresh();
    let noise = s.model.scale_invariant(fresh, fresh, false);
    s.check_noise("three components", &whole, noise);

    let mut x = s.eval.mul(&x, &y, &key).unwrap();
    let mut noise = noise
        .plus(s.model.key_switch(level))
        .plus(s.model.rounding());
    assert_eq!((x.level(), x.degree(), x.factor()), (level, 1, 1));
    assert_eq!(s.decrypt(&x), want);
    s.check_noise("relinearised", &x, noise);

    // Squares until hardly any noise budget is left: nothing depends on the noise being small. The
    // residual of the d-th square is a product of d independent factors c + c' s with the first
    // residual. At each of N/2 pairs of roots, their squared magnitudes and that of s are
    // exponentially distributed. So the mean square has the relative variance 2^(d+1) (2d)!/d!^2 /
    // (N/2). Three deviations are allowed.
    let mut want = want;
    let mut spread = 8.0 / (s.params.n() / 2) as f64;
    let mut degree = 1.0;
    while s.params.rlwe().log_q(level) - noise.bits() > 40.0 {
        x = s.eval.mul(&x, &x, &key).unwrap();
        want = mul_slots(&want, &want);
        assert_eq!(s.decrypt(&x), want);
        noise = s
            .model
            .scale_invariant(noise, noise, true)
            .plus(s.model.key_switch(level))
            .plus(s.model.rounding());
        degree += 1.0;
        spread *= 2.0 * (2.0 * degree) * (2.0 * degree - 1.0) / (degree * degree);
        let bits = 0.1 + 3.0 * (1.0 + spread.sqrt()).log2() / 2.0;
        s.check_noise_within(bits, "square", &x, noise);
    }

    // A product of residuals has a factor. The scale-invariant product multiplies factors.
    let (x, y) = (s.encrypt(&a, level), s.encrypt(&b, level));
    let z = s.eval.mul_and_switch(&x, &y, &key, 1).unwrap();
    assert_ne!(z.factor(), 1);
    let cube = s.eval.mul(&z, &z, &key).unwrap();
    let want = mul_slots(&a, &b);
    assert_eq!(s.decrypt(&cube), mul_slots(&want, &want));

    let level_mismatch = s.eval.mul(&x, &z, &key).unwrap_err();
    let (left, right) = (level, level - 1);
    assert_eq!(
        level_mismatch,
        rlwe::Error::LevelMismatch { left, right }.into()
    );
    let key = s.secret.relinearization_key(1, &mut s.rng);
    let short = s.eval.mul(&x, &y, &key).unwrap_err();
    assert_eq!(
        short,
        rlwe::Error::KeyLevel {
            need: level,
            have: 1
        }
        .into()
    );
    let three = s.eval.mul(&whole, &x, &key).unwrap_err();
    let expected = rlwe::Error::Components {
        found: 3,
        expected: 2,
    };
    assert_eq!(three, expected.into());
}

#[test]
fn rotations_move_slots_and_hoisting_changes_nothing() {
    let mut s = setup(4);
    let encoder = s.params.encoder();
    let (columns, level) = (s.params.n() / 2, 7);
    let elements = [
        encoder.rotation_element(1),
        encoder.rotation_element(-77),
        encoder.swap_element(),
    ];
    let mut keys = GaloisKeys::new();
    for g in elements {
        keys.insert(g, s.secret.galois_key(g, level, &mut s.rng));
    }
    let a = s.slots();
    let ct = s.encrypt(&a, level);
    let shared = s.eval.decompose(&ct).unwrap();
    for (g, source) in elements.into_iter().zip([
        Box::new(|p: usize| (p & columns) | ((p % columns + 1) % columns))
            as Box<dyn Fn(usize) -> usize>,
        Box::new(|p: usize| (p & columns) | ((p % columns + columns - 77) % columns)),
        Box::new(|p: usize| p ^ columns),
    ]) {
        let rotated = s.eval.automorphism(&ct, g, &keys).unwrap();
        let want: Vec<u64> = (0..2 * columns).map(|p| a[source(p)]).collect();
        assert_eq!(s.decrypt(&rotated), want, "element {g}");
        assert_eq!(
            s.eval.automorphism_hoisted(&ct, &shared, g, &keys).unwrap(),
            rotated
        );
        let noise = s
            .model
            .fresh()
            .plus(s.model.rounding())
            .plus(s.model.key_switch(level));
        s.check_noise("rotation", &rotated, noise);
    }
    let missing = s.eval.automorphism(&ct, 3, &keys).unwrap_err();
    assert_eq!(missing, rlwe::Error::MissingGaloisKey { element: 3 }.into());
}

#[test]
fn keys_and_ciphertexts_of_other_parameters_are_refused() {
    let (mut s, other) = (setup(7), setup(8));
    let message = s.params.encoder().slots_to_plaintext(&[1, 2, 3]);
    let masks = &mut Masks::random(&mut s.rng);
    let level = s.params.rlwe().max_level();
    let ct = encrypt(&s.params, &s.secret, &message, level, masks, &mut s.rng).unwrap();
    let refused = |result: Result<(), Error>| {
        let error = result.unwrap_err();
        assert!(matches!(error, Error::OtherParameters { .. }), "{error}");
    };
    // The same parameters with one limb less.
    let mut less = spec(s.params.n());
    less.q.pop();
    let less = Params::new(&less, T_FERMAT).unwrap();
    refused(decrypt(&less, &other.secret, &ct).map(drop));
    refused(measure(&less, &other.secret, &ct).map(drop));
    let secret = SecretKey::generate(less.rlwe(), &mut s.rng);
    refused(decrypt(&less, &secret, &ct).map(drop));
    refused(encrypt(&s.params, &secret, &message, 0, masks, &mut s.rng).map(drop));
    let too_high = encrypt(&s.params, &s.secret, &message, level + 1, masks, &mut s.rng);
    assert!(matches!(too_high, Err(Error::Rlwe(_))));
}

#[test]
fn insecure_parameters_are_refused() {
    let mut spec = spec(1 << 15);
    spec.q = ntt_primes(49, 1 << 15, 15).unwrap();
    spec.p = ntt_primes(50, 1 << 15, 3).unwrap();
    let error = Params::new(&spec, T_FERMAT).unwrap_err();
    let expected = rlwe::Error::Insecure {
        log_qp: 885,
        limit: 868,
        lambda: 128,
        n: 1 << 15,
    };
    assert_eq!(error, expected.into());
    assert!(
        !Params::new_insecure(&spec, T_FERMAT)
            .unwrap()
            .rlwe()
            .is_secure()
    );
}
