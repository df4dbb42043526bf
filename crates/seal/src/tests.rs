#![allow(clippy::unwrap_used, reason = "tests may panic")]

use super::*;
use client::system_rng;

/// Weak, so that tests are fast.
const INSECURE: DerivationCost = DerivationCost {
    memory: 64,
    passes: 1,
    lanes: 1,
};

fn secret() -> ClientSecret {
    ClientSecret::from_seed(Zeroizing::new([7; 32])).with_life(Some(1), Some(2))
}

#[test]
fn a_passphrase_opens_what_it_sealed_and_no_other_does_insecure() {
    let sealed = seal(&secret(), b"correct horse", INSECURE, &mut system_rng()).unwrap();
    let bytes = sealed.to_bytes();
    assert!(!bytes.windows(32).any(|part| part == [7; 32]));
    let read = StoredSecret::from_bytes(&bytes).unwrap();
    assert!(read.secret().is_none());
    let opened = unseal(&read, b"correct horse").unwrap();
    assert_eq!(opened.to_seed(), secret().to_seed());
    assert_eq!(opened.label(), secret().label());
    let error = unseal(&read, b"wrong horse").err().unwrap();
    assert!(matches!(error, Error::Passphrase { .. }), "{error}");
    let error = seal(&secret(), b"", INSECURE, &mut system_rng()).err();
    assert!(matches!(error, Some(Error::Empty)));
    // Two seals of one secret have nothing in common.
    let again = seal(&secret(), b"correct horse", INSECURE, &mut system_rng()).unwrap();
    assert_ne!(again.sealed_seed(), sealed.sealed_seed());
}

/// The seal authenticates the label: a later end of life is a changed file.
#[test]
fn a_changed_label_does_not_open_insecure() {
    let sealed = seal(&secret(), b"correct horse", INSECURE, &mut system_rng()).unwrap();
    let later = secret().with_life(Some(1), Some(9));
    let body = sealed.sealed_seed().unwrap().to_vec();
    let forged = StoredSecret::sealed::<()>(&later, sealed.seal().clone(), |_, _| Ok(body));
    let error = unseal(&forged.unwrap(), b"correct horse").err().unwrap();
    assert!(matches!(error, Error::Passphrase { .. }), "{error}");
}

#[test]
fn a_file_that_asks_for_too_much_is_refused_before_work() {
    for (memory, passes, lanes) in [(u32::MAX, 1, 1), (64, 65, 1), (64, 1, 0), (64, 1, 65)] {
        let seal = Seal::Passphrase {
            memory,
            passes,
            lanes,
            salt: [0; 16],
            nonce: [0; 12],
        };
        let stored = StoredSecret::sealed::<()>(&secret(), seal, |_, _| Ok(vec![0; 48])).unwrap();
        let error = unseal(&stored, b"anything").err().unwrap();
        assert!(matches!(error, Error::Cost { .. }), "{error}");
    }
    let open = StoredSecret::from(secret());
    assert!(matches!(unseal(&open, b"x"), Err(Error::Kind { .. })));
}
