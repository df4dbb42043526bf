//! Stored keys and ciphertexts: reading returns what was written, it works as before, and other
//! bytes are refused.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

use palladion_rlwe::bytes::{BytesError, fingerprint};
use palladion_rlwe::store::*;
use palladion_rlwe::{
    Error, GaloisKeys, KeyId, KeyMismatch, Params, ParamsSpec, PublicKey, SecretKey,
};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use ring::ntt_primes;
use ring::sample::Masks;

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
    let product = palladion_rlwe::Ciphertext::new(vec![ring::Poly::zero(params.basis(1)); 3]);
    assert_eq!(
        ciphertext_to_bytes(&product, None, 0, &made_for),
        Err(Error::Components {
            found: 3,
            expected: 2
        })
    );
}

#[test]
fn identities_are_stored_insecure() {
    let (params, made_for) = (params_insecure(), fingerprint(b"these"));
    let mut rng = ChaCha20Rng::seed_from_u64(32);
    let secret = SecretKey::generate(&params, &mut rng);
    let id = secret.id();
    assert_ne!(id, KeyId::ANY);
    assert_ne!(id, SecretKey::generate(&params, &mut rng).id());
    // A secret with the same coefficients does not have it: nothing of them goes into it.
    let same = SecretKey::from_coefficients(&params, secret.coefficients().to_vec());
    assert_eq!(same.id(), KeyId::ANY);

    let bytes = secret_to_bytes(&secret, &made_for);
    let again = secret_from_bytes(&params, &made_for, &bytes).unwrap();
    assert_eq!(again.id(), id);
    let public = PublicKey::generate(&again, &mut rng);
    let bytes = public_to_bytes(&public, &made_for);
    let read = public_from_bytes(&params, &made_for, &bytes).unwrap();
    assert_eq!(read.key(), id);
    let mut galois = GaloisKeys::new();
    galois.insert(5, again.galois_key(5, 1, &mut rng));
    let key = again.relinearization_key(1, &mut rng);
    let bytes = evaluation_to_bytes(Some(&key), &galois, &made_for);
    let (key, galois) = evaluation_from_bytes(&params, &made_for, &bytes).unwrap();
    assert_eq!(key.map(|key| key.ids()), Some([id, id]));
    assert!(galois.iter().all(|(_, key)| key.ids() == [id, id]));
    let rgsw = again.rgsw(&[1; 16], 1, &mut rng);
    let read = rgsw_from_bytes(&params, &made_for, &rgsw_to_bytes(&rgsw, &made_for)).unwrap();
    assert!(read.keys().iter().all(|key| key.ids() == [id, id]));
    let zero = public.encrypt_zero(&params, 1, &mut rng).unwrap();
    let bytes = ciphertext_to_bytes(&zero, None, 0, &made_for).unwrap();
    let read = ciphertext_from_bytes(&params, &made_for, &bytes)
        .unwrap()
        .ct;
    assert_eq!(read.key(), id);

    let stranger = SecretKey::generate(&params, &mut rng);
    let mismatch = KeyMismatch {
        what: "secret key",
        found: stranger.id(),
        expected: id,
    };
    assert_eq!(stranger.check_key(&read), Err(mismatch.into()));
    assert_eq!(again.check_key(&read), Ok(()));
}

/// Files from before there were identities are the same, without the last bytes.
#[test]
fn what_was_written_without_an_identity_fits_every_secret_insecure() {
    let (params, made_for) = (params_insecure(), fingerprint(b"these"));
    let mut rng = ChaCha20Rng::seed_from_u64(33);
    let secret = SecretKey::generate(&params, &mut rng);
    let stranger = SecretKey::generate(&params, &mut rng);
    let key = secret.relinearization_key(1, &mut rng);
    let zero = secret.encrypt_zero(1, &mut Masks::random(&mut rng), &mut rng);
    let old = |bytes: &[u8], version: u32| older(bytes, version, KeyId::LEN);

    let bytes = old(&secret_to_bytes(&secret, &made_for), 1);
    let read = secret_from_bytes(&params, &made_for, &bytes).unwrap();
    assert_eq!(read.coefficients(), secret.coefficients());
    assert_eq!(read.id(), KeyId::ANY);
    assert_eq!(read.check_key(&zero), Ok(()));

    let bytes = ciphertext_to_bytes(&zero, None, 7, &made_for).unwrap();
    let stored = ciphertext_from_bytes(&params, &made_for, &old(&bytes, 1)).unwrap();
    assert_eq!((&stored.ct, stored.ct.key()), (&zero, KeyId::ANY));
    assert_eq!(stranger.check_key(&stored.ct), Ok(()));

    let bytes = evaluation_to_bytes(Some(&key), &GaloisKeys::new(), &made_for);
    let (read, _) = evaluation_from_bytes(&params, &made_for, &old(&bytes, 2)).unwrap();
    assert_eq!(read.map(|key| key.ids()), Some([KeyId::ANY; 2]));
    let public = PublicKey::generate(&secret, &mut rng);
    let bytes = old(&public_to_bytes(&public, &made_for), 1);
    assert_eq!(
        public_from_bytes(&params, &made_for, &bytes).map(|key| key.key()),
        Ok(KeyId::ANY)
    );
    let rgsw = secret.rgsw(&[1; 16], 1, &mut rng);
    let bytes = old(&rgsw_to_bytes(&rgsw, &made_for), 1);
    let read = rgsw_from_bytes(&params, &made_for, &bytes).unwrap();
    assert_eq!(read.keys()[0].ids(), [KeyId::ANY; 2]);

    // Other versions, an old one that has an identity, and a new one that has none.
    let bytes = secret_to_bytes(&secret, &made_for);
    let refused = |bytes: &[u8]| secret_from_bytes(&params, &made_for, bytes).is_err();
    assert!(refused(&older(&bytes, 0, KeyId::LEN)));
    assert!(refused(&older(&bytes, 3, 0)));
    assert!(refused(&older(&bytes, 1, 0)));
    assert!(refused(&older(&bytes, 2, KeyId::LEN)));
}

/// The bytes of an object as those of another version, without the last `less` bytes of its payload.
fn older(bytes: &[u8], version: u32, less: usize) -> Vec<u8> {
    const HEADER: usize = 56;
    const SUM: usize = 32;
    let mut bytes = bytes[..bytes.len() - SUM - less].to_vec();
    bytes[12..16].copy_from_slice(&version.to_le_bytes());
    let length = (bytes.len() - HEADER) as u64;
    bytes[48..HEADER].copy_from_slice(&length.to_le_bytes());
    let sum = fingerprint(&bytes);
    bytes.extend_from_slice(&sum);
    bytes
}
