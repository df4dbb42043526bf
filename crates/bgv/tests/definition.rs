//! Every operation compared with its definition in big integers, on rings too small to be secure.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

use crate::common::Setup;
use num_bigint::BigInt;
use num_traits::{Signed, ToPrimitive, Zero};
use palladion_bgv::{Ciphertext, Params, PublicKey, encrypt_public, trivial};
use ring::{Basis, Eval, Poly, ntt_primes};
use rlwe::{ParamsSpec, SwitchKey};

const N: usize = 32;
/// Plaintext moduli that split the ring: a Fermat prime, the smallest such prime, and one of 20
/// bits.
const MODULI: [u64; 3] = [65_537, 193, 1_032_193];

fn setup_insecure(t: u64, digit_limbs: usize, seed: u64) -> Setup {
    let spec = ParamsSpec {
        n: N,
        q: ntt_primes(45, N, 4).unwrap(),
        p: ntt_primes(48, N, digit_limbs).unwrap(),
        digit_limbs,
    };
    Setup::new(Params::new_insecure(&spec, t).unwrap(), seed)
}

fn modulus(basis: &Basis) -> BigInt {
    basis.moduli().map(|q| BigInt::from(q.value())).product()
}

fn centred(x: &BigInt, q: &BigInt) -> BigInt {
    let x = floor_mod(x, q);
    if &x * 2 > *q { x - q } else { x }
}

fn floor_mod(x: &BigInt, q: &BigInt) -> BigInt {
    ((x % q) + q) % q
}

/// Coefficients in `[0, Q)`, one modulus after the other: `x + M ((x_i - x) / M mod q_i)`.
fn big(poly: &Poly<Eval>) -> Vec<BigInt> {
    let poly = poly.to_coeff();
    let mut out = vec![BigInt::zero(); N];
    let mut product = BigInt::from(1);
    for (i, q) in poly.basis().moduli().enumerate() {
        let q_big = BigInt::from(q.value());
        let word = |x: &BigInt| floor_mod(x, &q_big).to_u64().unwrap();
        let inverse = q.inv(word(&product)).unwrap();
        for (x, &residue) in out.iter_mut().zip(poly.limb(i)) {
            let digit = q.mul(q.sub(residue, word(x)), inverse);
            *x += &product * digit;
        }
        product *= q_big;
    }
    out
}

/// `a b` modulo `X^N + 1`.
fn convolution(a: &[BigInt], b: &[BigInt]) -> Vec<BigInt> {
    let mut out = vec![BigInt::zero(); N];
    for (i, x) in a.iter().enumerate() {
        for (j, y) in b.iter().enumerate() {
            match i + j {
                k if k < N => out[k] += x * y,
                k => out[k - N] -= x * y,
            }
        }
    }
    out
}

/// Textbook components in big integers.
fn components(ct: &Ciphertext) -> Vec<Vec<BigInt>> {
    ct.textbook().components().iter().map(big).collect()
}

fn reduced(poly: &[BigInt], q: &BigInt) -> Vec<BigInt> {
    poly.iter().map(|x| floor_mod(x, q)).collect()
}

impl Setup {
    fn q(&self, level: usize) -> BigInt {
        modulus(self.params.rlwe().basis(level))
    }

    /// `[c_0 + c_1 s + c_2 s^2 ..]_Q`, centred.
    fn residual(&self, ct: &Ciphertext) -> Vec<BigInt> {
        let coefficients = self.secret.coefficients().iter();
        let s: Vec<BigInt> = coefficients.map(|&c| BigInt::from(c)).collect();
        let mut power = vec![BigInt::zero(); N];
        power[0] = BigInt::from(1);
        let mut sum = vec![BigInt::zero(); N];
        for c in components(ct) {
            for (total, term) in sum.iter_mut().zip(convolution(&c, &power)) {
                *total += term;
            }
            power = convolution(&power, &s);
        }
        let q = self.q(ct.level());
        sum.iter().map(|x| centred(x, &q)).collect()
    }

    /// `r / f mod t`, in slots.
    fn definition(&self, ct: &Ciphertext) -> Vec<u64> {
        let t = self.params.t();
        let inverse = t.inv(ct.factor()).unwrap();
        let t_big = BigInt::from(t.value());
        let word = |r: &BigInt| t.mul(inverse, floor_mod(r, &t_big).to_u64().unwrap());
        let message = self.residual(ct).iter().map(word).collect();
        let encoder = self.params.encoder();
        encoder.slots_of(&encoder.from_residues(message))
    }

    /// Checks that both ways to decrypt give `want`.
    fn check(&self, ct: &Ciphertext, want: &[u64], what: &str) {
        assert_eq!(self.definition(ct), want, "{what}");
        assert_eq!(self.decrypt(ct), want, "{what}");
    }
}

#[test]
fn a_fresh_residual_is_the_message_and_a_multiple_of_t() {
    for t in MODULI {
        let mut s = setup_insecure(t, 2, 1);
        let public = PublicKey::generate(&s.secret, &mut s.rng);
        for level in 0..4 {
            let a = s.slots();
            let ct = s.encrypt(&a, level);
            assert_eq!((ct.factor(), ct.level(), ct.degree()), (1, level, 1));
            assert_eq!(ct.byte_len(), 2 * (level + 1) * N * 8);
            s.check(&ct, &a, "secret key");
            let message = s.params.encoder().encode_slots(&a).unwrap();
            let ct = encrypt_public(&s.params, &public, &message, level, &mut s.rng).unwrap();
            assert_eq!(ct.factor(), 1);
            s.check(&ct, &a, "public key");
            let ct = trivial(&s.params, &message, level).unwrap();
            s.check(&ct, &a, "trivial");
            let bound = BigInt::from(t / 2);
            assert!(s.residual(&ct).iter().all(|r| r.abs() <= bound));
        }
    }
}

#[test]
fn sums_and_products_with_plaintexts() {
    for t in MODULI {
        let mut s = setup_insecure(t, 2, 2);
        let (a, b) = (s.slots(), s.slots());
        let (x, y) = (s.encrypt(&a, 2), s.encrypt(&b, 2));
        let mut z = x.clone();
        let sum = s.eval.add(&z, &y).unwrap();
        let difference = s.eval.sub(&z, &y).unwrap();
        let start = z.clone();
        s.eval.add_assign(&mut z, &y).unwrap();
        assert_eq!(sum, z);
        let mut back = start;
        s.eval.sub_assign(&mut back, &y).unwrap();
        assert_eq!(difference, back);
        s.check(&z, &s.zip(&a, &b, |x, y| x + y), "sum");
        s.eval.sub_assign(&mut z, &y).unwrap();
        s.eval.sub_assign(&mut z, &y).unwrap();
        s.check(&z, &s.zip(&a, &b, |x, y| x + t - y), "difference");

        let plain = s.params.encoder().encode_slots(&b).unwrap();
        let mut z = x.clone();
        s.eval.add_plain_assign(&mut z, &plain).unwrap();
        s.check(&z, &s.zip(&a, &b, |x, y| x + y), "plaintext sum");
        let mut z = x.clone();
        let lifted = s.eval.lift(&plain, 2).unwrap();
        s.eval.mul_plain_assign(&mut z, &lifted).unwrap();
        s.check(&z, &s.zip(&a, &b, |x, y| x * y), "plaintext product");
        let mut z = x.clone();
        s.eval.mul_scalar_assign(&mut z, t - 5).unwrap();
        s.check(&z, &s.zip(&a, &a, |x, _| x * (t - 5)), "scalar product");
        assert_eq!(z.factor(), 1);
    }
}

#[test]
fn a_product_is_the_tensor_product_modulo_q() {
    for t in MODULI {
        let mut s = setup_insecure(t, 2, 3);
        let (a, b) = (s.slots(), s.slots());
        let (x, y) = (s.encrypt(&a, 3), s.encrypt(&b, 3));
        let ([x0, x1], [y0, y1]) = (pair(&x), pair(&y));
        let mut middle = convolution(&x0, &y1);
        for (m, other) in middle.iter_mut().zip(convolution(&x1, &y0)) {
            *m += other;
        }
        let want = [convolution(&x0, &y0), middle, convolution(&x1, &y1)];
        let product = s.eval.mul_no_relin(&x, &y).unwrap();
        assert_eq!(components(&product), want.map(|c| reduced(&c, &s.q(3))));
        assert_eq!((product.factor(), product.degree()), (1, 2));
        let want = s.zip(&a, &b, |x, y| x * y);
        s.check(&product, &want, "three components");
        // Of different levels, the lower one counts.
        let mut low = y.clone();
        s.eval.drop_to(&mut low, 2).unwrap();
        let product = s.eval.mul_no_relin(&x, &low).unwrap();
        assert_eq!(product.level(), 2);
        s.check(&product, &want, "different levels");
    }
}

fn pair(ct: &Ciphertext) -> [Vec<BigInt>; 2] {
    components(ct).try_into().unwrap()
}

#[test]
fn a_modulus_switch_is_gentry_halevi_smart_s() {
    for t in MODULI {
        let mut s = setup_insecure(t, 2, 4);
        let a = s.slots();
        for to in 0..3 {
            let x = s.encrypt(&a, 3);
            let mut switched = x.clone();
            s.eval.switch_to(&mut switched, to).unwrap();
            // (C + delta) / D with the smallest delta such that delta = 0 mod t and delta = -C mod
            // D.
            let (q, low) = (s.q(3), s.q(to));
            let (d, t_big) = (&q / &low, BigInt::from(t));
            let inverse = t_big.modpow(&(totient(&s, to + 1..4) - 1), &d);
            let divide = |c: &BigInt| {
                let delta = -&t_big * centred(&(c * &inverse), &d);
                let sum = c + delta;
                assert!((&sum % &d).is_zero());
                floor_mod(&(sum / &d), &low)
            };
            let want: Vec<Vec<BigInt>> = components(&x)
                .iter()
                .map(|c| c.iter().map(divide).collect())
                .collect();
            assert_eq!(components(&switched), want, "to level {to}");
            s.check(&switched, &a, "switch");
            // The factor is divided by D.
            let d = floor_mod(&d, &t_big).to_u64().unwrap();
            assert_eq!(s.params.t().mul(switched.factor(), d), 1);

            let mut dropped = x.clone();
            s.eval.drop_to(&mut dropped, to).unwrap();
            assert_eq!((dropped.factor(), dropped.level()), (1, to));
            assert_eq!(s.residual(&dropped), s.residual(&x));
            s.check(&dropped, &a, "drop");
        }
    }
}

/// Euler's totient of the product of these moduli: `t^(phi - 1)` is the inverse of `t`.
fn totient(s: &Setup, limbs: std::ops::Range<usize>) -> BigInt {
    let moduli = s.params.rlwe().basis(3).values();
    limbs.map(|i| BigInt::from(moduli[i] - 1)).product()
}

#[test]
fn key_switching_with_any_number_of_digits() {
    for digit_limbs in 1..=4 {
        let mut s = setup_insecure(65_537, digit_limbs, 5);
        let dnum = SwitchKey::digit_count(s.params.rlwe(), 3);
        assert_eq!(dnum, 4usize.div_ceil(digit_limbs));
        let encoder = s.params.encoder();
        let elements = [
            encoder.rotation_element(1),
            encoder.rotation_element(-3),
            encoder.swap_element(),
        ];
        let key = s.secret.relinearization_key(3, &mut s.rng);
        let keys = s.galois(&elements, 3);
        for level in 1..4 {
            let (a, b) = (s.slots(), s.slots());
            let (x, y) = (s.encrypt(&a, level), s.encrypt(&b, level));
            let what = format!("{dnum} digits, level {level}");
            let want = s.zip(&a, &b, |x, y| x * y);
            let product = s.eval.mul(&x, &y, &key).unwrap();
            assert_eq!((product.degree(), product.factor()), (1, 1));
            s.check(&product, &want, &what);
            let whole = s.eval.mul_no_relin(&x, &y).unwrap();
            assert_eq!(s.eval.relinearize(&whole, &key).unwrap(), product);
            let switched = s.eval.mul_and_switch(&x, &y, &key, 1).unwrap();
            assert_eq!(switched.level(), level - 1);
            s.check(&switched, &want, &what);
            let square = s.eval.square(&x, &key).unwrap();
            s.check(&square, &s.zip(&a, &a, |x, y| x * y), &what);

            let hoisted = s.eval.rotate_hoisted(&x, &[1, 0, -3], &keys).unwrap();
            for (k, hoisted) in [1, 0, -3].into_iter().zip(hoisted) {
                s.check(&hoisted, &s.rotated(&a, k), &what);
                assert_eq!(s.eval.rotate(&x, k, &keys).unwrap(), hoisted);
            }
            let swapped = s.eval.swap_rows(&x, &keys).unwrap();
            s.check(&swapped, &[&a[N / 2..], &a[..N / 2]].concat(), &what);
            assert_eq!(swapped.factor(), x.factor());
        }
    }
}

#[test]
fn factors_follow_products_and_are_matched() {
    for t in MODULI {
        let mut s = setup_insecure(t, 2, 6);
        let key = s.secret.relinearization_key(3, &mut s.rng);
        let (a, b) = (s.slots(), s.slots());
        let (mut x, mut y) = (s.encrypt(&a, 3), s.encrypt(&b, 3));
        s.eval.switch_to(&mut x, 2).unwrap();
        s.eval.drop_to(&mut y, 2).unwrap();
        let f = x.factor();
        assert_ne!(f, y.factor());
        let square = s.eval.square(&x, &key).unwrap();
        assert_eq!(square.factor(), s.params.t().mul(f, f));
        s.check(&square, &s.zip(&a, &a, |x, y| x * y), "square");

        // One was switched and one dropped. With equal factors they can be added.
        let before = [&x, &y].map(|ct| s.residual(ct));
        let scalars = s.eval.match_factors(&mut x, &mut y).unwrap();
        assert_eq!(x.factor(), y.factor());
        let [u, v] = scalars.map(i128::from);
        assert!(u * u + v * v <= 2 * i128::from(t));
        for ((ct, before), scalar) in [&x, &y].into_iter().zip(before).zip(scalars) {
            let want: Vec<BigInt> = before.iter().map(|r| r * scalar).collect();
            assert_eq!(s.residual(ct), want);
        }
        s.eval.add_assign(&mut x, &y).unwrap();
        s.check(&x, &s.zip(&a, &b, |x, y| x + y), "sum of matched");
        assert_eq!(s.eval.match_factors(&mut x, &mut y).unwrap(), [1, 1]);
    }
}

#[test]
fn bfv_and_bgv_read_one_ciphertext() {
    for t in MODULI {
        let mut s = setup_insecure(t, 2, 7);
        let bfv = bfv::Evaluator::new(&s.params);
        let key = s.secret.relinearization_key(3, &mut s.rng);
        let (a, b) = (s.slots(), s.slots());
        // A fresh BFV ciphertext has the message in its high bits: [t phase / Q] = m.
        let message = s.params.encoder().encode_slots(&a).unwrap();
        let mut masks = ring::sample::Masks::random(&mut s.rng);
        let fresh =
            bfv::encrypt(&s.params, &s.secret, &message, 3, &mut masks, &mut s.rng).unwrap();
        assert_eq!(fresh.factor(), 1);
        let x = Ciphertext::from_exact(&s.params, fresh).unwrap();
        s.check(&x, &a, "from BFV");
        let y = s.encrypt(&b, 3);

        // BGV's product of both, then BFV's product of the result with itself, then back.
        let want = s.zip(&a, &b, |x, y| x * y);
        let product = s.eval.mul_and_switch(&x, &y, &key, 1).unwrap();
        s.check(&product, &want, "BGV's product");
        let high = product.into_exact();
        assert_eq!(high_end(&s, &high), want);
        let square = bfv.mul(&high, &high, &key).unwrap();
        let want = s.zip(&want, &want, |x, y| x * y);
        assert_eq!(high_end(&s, &square), want);
        let back = Ciphertext::from_exact(&s.params, square).unwrap();
        s.check(&back, &want, "back from BFV");
    }
}

/// BFV's definition: `round(t phase / Q) / mu`, with the phase of the components unchanged.
fn high_end(s: &Setup, ct: &bfv::Ciphertext) -> Vec<u64> {
    let (t, q) = (s.params.t(), s.q(ct.level()));
    let parts: Vec<Vec<BigInt>> = ct.rlwe().components().iter().map(big).collect();
    let coefficients = s.secret.coefficients().iter();
    let key: Vec<BigInt> = coefficients.map(|&c| BigInt::from(c)).collect();
    let inverse = t.inv(ct.factor()).unwrap();
    let masked = convolution(&parts[1], &key);
    let message = parts[0].iter().zip(masked).map(|(c, m)| {
        let phase = floor_mod(&(c + m), &q);
        let rounded: BigInt = (phase * t.value() * 2 + &q) / (&q * 2);
        t.mul(inverse, (rounded % t.value()).to_u64().unwrap())
    });
    let encoder = s.params.encoder();
    encoder.slots_of(&encoder.from_residues(message.collect()))
}
