//! External products: the right phase, the noise of the formula, trees of multiplexers, and errors.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

use palladion_rlwe::noise::centred;
use palladion_rlwe::{Ciphertext, Error, Params, ParamsSpec, Rgsw, SecretKey};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use ring::sample::{Masks, Seed};
use ring::{Eval, Poly, ntt_primes};

fn params_insecure(n: usize, (bits, limbs): (u32, usize), p: (u32, usize), width: usize) -> Params {
    let spec = ParamsSpec {
        n,
        q: ntt_primes(bits, n, limbs).unwrap(),
        p: ntt_primes(p.0, n, p.1).unwrap(),
        digit_limbs: width,
    };
    Params::new_insecure(&spec).unwrap()
}

/// A ciphertext of uniform components, which has a uniform phase.
fn uniform(params: &Params, level: usize, rng: &mut ChaCha20Rng) -> Ciphertext {
    let component =
        |index| ring::sample::uniform_from_seed(params.basis(level), &Seed::random(rng), index);
    Ciphertext::new([0, 1].map(component).to_vec())
}

/// `1` or `0` as a polynomial.
fn bit(params: &Params, bit: bool) -> Vec<i64> {
    let mut message = vec![0; params.n()];
    message[0] = bit.into();
    message
}

/// The difference between the phase of a product and the operand's phase times the message.
fn errors(secret: &SecretKey, product: &Ciphertext, of: &Ciphertext, message: &[i64]) -> Vec<f64> {
    let basis = of.components()[0].basis();
    let message: Poly<Eval> = Poly::from_signed(basis, message).into_eval();
    let mut difference = secret.phase(product);
    difference.sub_assign(&secret.phase_eval(of).mul(&message).into_coeff());
    centred(&difference).to_vec()
}

#[test]
fn noise_of_an_external_product_follows_the_formula_from_both_sides() {
    const KEYS: usize = 400;
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    // Digits larger than P, where the keys' part dominates, and smaller ones, where rounding does.
    for params in [
        params_insecure(256, (34, 4), (35, 1), 2),
        params_insecure(256, (34, 4), (48, 2), 2),
        params_insecure(256, (34, 4), (33, 1), 1),
    ] {
        let level = 3;
        let (mut sum, mut expected) = (0.0, 0.0);
        for key in 0..KEYS {
            let secret = SecretKey::generate(&params, &mut rng);
            // The noise does not depend on the message: 0, 1, and a polynomial of small
            // coefficients.
            let message = match key % 3 {
                0 => bit(&params, false),
                1 => bit(&params, true),
                _ => (0..params.n()).map(|_| rng.random_range(-3..=3)).collect(),
            };
            let rgsw = secret.rgsw(&message, level, &mut rng);
            let ct = uniform(&params, level, &mut rng);
            let product = rgsw.external_product(&ct, 0).unwrap();
            let found = errors(&secret, &product, &ct, &message);
            sum += found.iter().map(|e| e * e).sum::<f64>() / found.len() as f64;
            expected += Rgsw::variance(&params, level);
        }
        let ratio = sum / expected;
        // As for a key switch (`switch.rs`): six relative deviations of the mean over all keys.
        let tolerance = 6.0 * (2.0 / 3.0 / KEYS as f64).sqrt();
        println!("{params:?}: ratio {ratio:.3}");
        assert!((ratio - 1.0).abs() < tolerance, "{params:?}: {ratio}");
    }
}

#[test]
fn one_ciphertext_serves_its_level_and_all_below() {
    let mut rng = ChaCha20Rng::seed_from_u64(2);
    let params = params_insecure(1 << 10, (40, 7), (45, 3), 3);
    let secret = SecretKey::generate(&params, &mut rng);
    let message: Vec<i64> = (0..1 << 10).map(|_| rng.random_range(-1..=1)).collect();
    let rgsw = secret.rgsw(&message, 4, &mut rng);
    assert_eq!(rgsw.level(), 4);
    assert_eq!(Rgsw::from_keys(rgsw.keys().clone()), rgsw);
    for level in 0..=4 {
        let ct = uniform(&params, level, &mut rng);
        let product = rgsw.external_product(&ct, 0).unwrap();
        let found = errors(&secret, &product, &ct, &message);
        let bound = 8.0 * Rgsw::variance(&params, level).sqrt();
        assert!(found.iter().all(|e| e.abs() < bound), "level {level}");
    }
    // Dividing together with the special moduli equals dividing afterwards, up to rounding.
    let ct = uniform(&params, 4, &mut rng);
    let mut divided = rgsw.external_product(&ct, 0).unwrap();
    divided.switch_to(&params, 2).unwrap();
    let at_once = rgsw.external_product(&ct, 2).unwrap();
    assert_eq!(at_once.level(), 2);
    let mut difference = secret.phase(&at_once);
    difference.sub_assign(&secret.phase(&divided));
    let rounding = ((1.0 + 2.0 / 3.0 * 1024.0) / 6.0f64).sqrt();
    let found = centred(&difference);
    assert!(found.iter().all(|e| e.abs() < 8.0 * rounding));
    let ct = uniform(&params, 5, &mut rng);
    let expected = Error::KeyLevel { need: 5, have: 4 };
    assert_eq!(rgsw.external_product(&ct, 0).unwrap_err(), expected);
    let ct = uniform(&params, 2, &mut rng);
    let expected = Error::LevelTooLow { need: 3, have: 2 };
    assert_eq!(rgsw.external_product(&ct, 3).unwrap_err(), expected);
    let longer = Ciphertext::new([ct.components(), ct.components()].concat());
    let expected = Error::Components {
        found: 4,
        expected: 2,
    };
    assert_eq!(rgsw.external_product(&longer, 0).unwrap_err(), expected);
    let lower = uniform(&params, 1, &mut rng);
    let expected = Error::LevelMismatch { left: 2, right: 1 };
    assert_eq!(rgsw.choose(&ct, &lower).unwrap_err(), expected);
}

/// All indices of four bits. The noise is that of four products for every choice.
#[test]
fn a_tree_of_choices_finds_its_leaf() {
    let mut rng = ChaCha20Rng::seed_from_u64(3);
    let params = params_insecure(256, (40, 2), (45, 1), 1);
    let secret = SecretKey::generate(&params, &mut rng);
    let mut masks = Masks::random(&mut rng);
    let leaves: Vec<Ciphertext> = (0..16)
        .map(|_| secret.encrypt_zero(1, &mut masks, &mut rng))
        .collect();
    for index in 0..16usize {
        let bits = (0..4).map(|i| secret.rgsw(&bit(&params, index >> i & 1 == 1), 1, &mut rng));
        let chosen = bits.fold(leaves.clone(), |row, bit| {
            let pairs = row.chunks_exact(2);
            pairs
                .map(|pair| bit.choose(&pair[1], &pair[0]).unwrap())
                .collect()
        });
        let found = errors(&secret, &chosen[0], &leaves[index], &bit(&params, true));
        let bound = 8.0 * (4.0 * Rgsw::variance(&params, 1)).sqrt();
        assert!(found.iter().all(|e| e.abs() < bound), "{index}");
    }
}
