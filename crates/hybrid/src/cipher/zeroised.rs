//! Tests that values computed from a secret are erased from the process's memory after use.

#[path = "../../../ring/tests/common/memory.rs"]
mod memory;

use memory::{MASK, places};
use ring::sample::{self, Masks, SecretRng};
use ring::{Basis, Eval, Poly};
use zeroize::Zeroizing;

use super::{PublicKey, RingSpec, SecretKey};

/// Words of a product, in the form that [`places`] takes. They are not the first words of a limb,
/// because the allocator writes there when memory is freed.
fn words(left: &Poly<Eval>, right: &Poly<Eval>) -> Vec<u64> {
    let product = Zeroizing::new(left.mul(right));
    let n = product.basis().n();
    let words: Vec<u64> = product.limb(0)[n - 512..n - 504]
        .iter()
        .map(|w| w ^ MASK)
        .collect();
    assert!(places(&words) > 0, "the product is found where it is");
    words
}

#[test]
fn nothing_of_a_secret_stays() {
    let ring = &RingSpec::candidates().unwrap()[0];
    let basis = Basis::new(ring.n, &ring.moduli).unwrap();
    let mut rng = SecretRng::from_os();
    let secret = SecretKey::generate(&basis, &mut rng);
    let mut masks = Masks::random(&mut rng);
    let mask: Poly<Eval> = sample::uniform_from_seed(&basis, masks.seed(), 0);
    let product = words(&mask, &secret.secret);
    drop(secret.encrypt(Poly::zero(&basis), &mut masks, &mut rng));
    assert_eq!(places(&product), 0, "mask times secret");

    let bytes = PublicKey::generate(&secret, &mut rng);
    let key = PublicKey::read(&basis, &bytes).unwrap();
    let generator = || SecretRng::from_seed(&[7; 32]);
    let u = Poly::from_signed(&basis, &sample::ternary(basis.n(), &mut generator())).into_eval();
    let products = [&key.body, &key.mask].map(|part| words(part, &u));
    drop(key.times_ternary(&mut generator()));
    for product in products {
        assert_eq!(
            places(&product),
            0,
            "the server's secret times the public key"
        );
    }
}
