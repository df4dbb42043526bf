//! Stored keys and ciphertexts: reading returns what was written, it works as before, and other
//! bytes are refused.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use ring::ntt_primes;
use ring::sample::Masks;
use rlwe::bytes::{BytesError, fingerprint};
use rlwe::store::*;
use rlwe::{Error, GaloisKeys, Params, ParamsSpec, PublicKey, SecretKey};

fn params_insecure() -> Params {
    let primes = ntt_primes(40, 16, 3).unwrap();
    let spec = ParamsSpec {
        n: 16,
        q: primes[..2].to_vec(),
        p: primes[2..].to_vec(),
        digit_limbs: 1,
    };
    Params::new_insecure(&spec).unwrap()
}

#[test]
fn what_is_stored_is_read() {
    let (params, made_for) = (params_insecure(), fingerprint(b"these"));
    let mut rng = ChaCha20Rng::seed_from_u64(30);
    let secret = SecretKey::generate(&params, &mut rng);
    let bytes = secret_to_bytes(&secret, &made_for);
    let again = secret_from_bytes(&params, &made_for, &bytes).unwrap();
    assert_eq!(again.coefficients(), secret.coefficients());

    let public = PublicKey::generate(&secret, &mut rng);
    let bytes = public_to_bytes(&public, &made_for);
    assert_eq!(
        public_from_bytes(&params, &made_for, &bytes),
        Ok(public.clone())
    );

    let key = secret.relinearization_key(1, &mut rng);
    let mut galois = GaloisKeys::new();
    for element in [5, 31] {
        galois.insert(element, secret.galois_key(element, 1, &mut rng));
    }
    for key in [Some(key), None] {
        let bytes = evaluation_to_bytes(key.as_ref(), &galois, &made_for);
        let (key_again, galois_again) = evaluation_from_bytes(&params, &made_for, &bytes).unwrap();
        assert_eq!(key_again, key);
        assert!(galois_again.iter().eq(galois.iter()));
    }

    let bit = |bit: i64| [&[bit][..], &[0; 15]].concat();
    for (message, level) in [(1, 1), (0, 0)] {
        let rgsw = secret.rgsw(&bit(message), level, &mut rng);
        let bytes = rgsw_to_bytes(&rgsw, &made_for);
        assert_eq!(rgsw_from_bytes(&params, &made_for, &bytes), Ok(rgsw));
    }

    let mut masks = Masks::random(&mut rng);
    let fresh = secret.encrypt_zero(1, &mut masks, &mut rng);
    let whole = public.encrypt_zero(&params, 0, &mut rng).unwrap();
    for (ct, seed) in [(&fresh, Some(masks.seed())), (&whole, None)] {
        let bytes = ciphertext_to_bytes(ct, seed, 7, &made_for).unwrap();
        let stored = ciphertext_from_bytes(&params, &made_for, &bytes).unwrap();
        assert_eq!(
            (&stored.ct, stored.seed.as_ref(), stored.number),
            (ct, seed, 7)
        );
    }
}

#[test]
fn nothing_else_is_read() {
    let (params, made_for) = (params_insecure(), fingerprint(b"these"));
    let mut rng = ChaCha20Rng::seed_from_u64(31);
    let secret = SecretKey::generate(&params, &mut rng);
    let key = secret.relinearization_key(1, &mut rng);
    let bytes = evaluation_to_bytes(Some(&key), &GaloisKeys::new(), &made_for);
    let other = evaluation_from_bytes(&params, &fingerprint(b"others"), &bytes);
    assert!(matches!(
        other,
        Err(Error::Bytes(BytesError::Fingerprint { .. }))
    ));
    assert!(matches!(
        ciphertext_from_bytes(&params, &made_for, &bytes),
        Err(Error::Bytes(BytesError::Kind { .. }))
    ));
    for _ in 0..200 {
        let mut damaged = bytes.clone();
        damaged[rng.random_range(0..bytes.len())] ^= 1 << rng.random_range(0..8);
        assert!(evaluation_from_bytes(&params, &made_for, &damaged).is_err());
    }
    for len in 0..bytes.len() {
        assert!(evaluation_from_bytes(&params, &made_for, &bytes[..len]).is_err());
    }
    let product = rlwe::Ciphertext::new(vec![ring::Poly::zero(params.basis(1)); 3]);
    assert_eq!(
        ciphertext_to_bytes(&product, None, 0, &made_for),
        Err(Error::Components {
            found: 3,
            expected: 2
        })
    );
}
