//! Keys and bytes.

use palladion_schemes::{ErrorKind, Needs, ckks, rng};

fn params() -> ckks::Params {
    ckks::Params::for_depth(12, 1, 25).unwrap()
}

#[test]
fn everything_is_stored_and_read() {
    let params = params();
    let secret = params.generate_secret(&mut rng());
    let needs = Needs {
        rotations: &[1, -3, 1],
        conjugate: true,
        ..Needs::default()
    };
    let keys = secret.keys(&needs, &mut rng()).unwrap();
    assert_eq!(keys.byte_len(), needs.byte_len(&params));
    assert_eq!((keys.rotations(), keys.conjugation()), (vec![-3, 1], true));

    let read = ckks::Params::from_bytes(&params.to_bytes()).unwrap();
    assert!(read == params);
    let keys = ckks::EvaluationKeys::from_bytes(&read, &keys.to_bytes()).unwrap();
    let public = secret.public_key(&mut rng()).to_bytes();
    let public = ckks::PublicKey::from_bytes(&read, &public).unwrap();
    let stored = ckks::SecretKey::from_bytes(&read, &secret.to_bytes()).unwrap();
    for ct in [
        secret.encrypt(&[0.5], &mut rng()).unwrap(),
        public.encrypt(&[0.5], &mut rng()).unwrap(),
    ] {
        let ct = ckks::Ciphertext::from_bytes(&read, &ct.to_bytes().unwrap()).unwrap();
        let square = ct.bounded(1.0).unwrap().with_keys(&keys).square().unwrap();
        let found = stored.decrypt_real(&square).unwrap();
        assert!((found[0] - 0.25).abs() < 1e-3);
    }
    let error = ckks::Params::from_bytes(&params.to_bytes()[1..]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Format);
}

#[test]
fn a_switch_key_re_encrypts_for_another_secret() {
    let params = params();
    let [old, new] = [(); 2].map(|()| params.generate_secret(&mut rng()));
    let key = new.switch_key(&old, &mut rng()).unwrap();
    let key = ckks::SwitchKey::from_bytes(&params, &key.to_bytes()).unwrap();
    let x = old.encrypt(&[0.5, -2.0], &mut rng()).unwrap();
    let y = x.switch_key(&key).unwrap();
    let found = new.decrypt_real(&y).unwrap();
    assert!((found[0] - 0.5).abs() < 1e-3 && (found[1] + 2.0).abs() < 1e-3);
    assert_eq!(old.decrypt(&y).unwrap_err().kind(), ErrorKind::KeyMismatch);
    let error = y.switch_key(&key).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::KeyMismatch);
}
