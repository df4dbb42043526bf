//! Keys and ciphertexts are written and read. Damaged ones and those of other parameters are
//! refused.

use crate::common::{gates_insecure, integers_insecure, keys, rng};
use palladion_tfhe::{
    Bit, ClientKey, Compressed, Error, EvaluationKeys, Gate, Integer, Params, ServerKey, sets,
};
use ring::torus::{Naive, Torus};
use rlwe::KeyId;
use rlwe::bytes::BytesError;

fn round_trips<T: Torus>(params: &Params) {
    let multiplier = Naive::new(params.n());
    let client = ClientKey::<T>::generate(params, &mut rng(1)).expect("words fit");
    let again = ClientKey::<T>::from_bytes(params, &client.to_bytes()).expect("a key");
    // Secrets are the same if they give the same keys from the same randomness.
    let keys = client
        .evaluation_keys(&multiplier, &mut rng(2))
        .expect("fits");
    assert!(
        keys == again
            .evaluation_keys(&multiplier, &mut rng(2))
            .expect("fits")
    );
    let bytes = keys.to_bytes();
    assert!(EvaluationKeys::from_bytes(params, &bytes).expect("keys") == keys);
    // One body for each row. Masks are stored as seeds. The identity comes last.
    let spec = params.spec();
    let rows = params.lwe_dimension() * (params.rank() + 1) * spec.bootstrap.levels() as usize;
    let words = rows * params.n()
        + params.big_dimension() * spec.key_switch.decomposition().levels() as usize;
    assert_eq!(
        bytes.len(),
        words * T::BITS as usize / 8 + 2 * (32 + 8) + KeyId::LEN + 56 + 32
    );
}

#[test]
fn keys_insecure() {
    for ring in [false, true] {
        round_trips::<u32>(&gates_insecure(ring));
        round_trips::<u64>(&integers_insecure(2, 2, ring));
    }
}

#[test]
fn ciphertexts_insecure() {
    let params = integers_insecure(2, 2, true);
    let (client, server) = keys::<u64>(&params, 3);
    let fresh = client
        .compress(&[0, 1, 2, 3], &mut rng(4))
        .expect("messages");
    let bytes = fresh.to_bytes();
    assert_eq!(bytes.len(), 4 * 8 + 32 + 8 + KeyId::LEN + 56 + 32);
    let there = Compressed::<u64>::from_bytes(&params, &bytes).expect("ciphertexts");
    assert!(there == fresh);
    let mut integers = there.integers().expect("integers");
    let sum = server.add(&integers[2], &integers[3]).expect("fits");
    integers.push(sum);
    let bytes = Integer::to_bytes(&params, &integers).expect("of these parameters");
    let back = Integer::<u64>::from_bytes(&params, &bytes).expect("integers");
    assert_eq!(back, integers);
    assert_eq!(client.decrypt_with_carry(&back[4]).expect("of this key"), 5);
    assert_eq!((back[4].max(), back[4].noise()), (6, 2));

    let params = gates_insecure(true);
    let (client, server) = keys::<u32>(&params, 3);
    let mut bits = client
        .compress_bits(&[true, false], &mut rng(4))
        .expect("bits")
        .bits()
        .expect("bits");
    bits.push(
        server
            .gate(Gate::Or, &bits[0], &bits[1])
            .expect("of this key"),
    );
    let bytes = Bit::to_bytes(&params, &bits).expect("of these parameters");
    assert_eq!(Bit::<u32>::from_bytes(&params, &bytes).expect("bits"), bits);
}

#[test]
fn parameters() {
    for (name, params) in sets::all() {
        match Params::from_bytes(&params.to_bytes()) {
            Ok(again) => assert_eq!(again, params, "{name}"),
            Err(error) => {
                assert!(
                    matches!(error, Error::Insecure { .. }) && name.ends_with("insecure"),
                    "{name}: {error}"
                );
            }
        }
    }
}

#[test]
fn damage_is_found_insecure() {
    let params = gates_insecure(false);
    let (client, _) = keys::<u32>(&params, 5);
    let bit = client.encrypt_bit(true, &mut rng(6)).expect("a bit");
    let bytes = Bit::to_bytes(&params, &[bit]).expect("of these parameters");
    let error = |bytes: &[u8]| Bit::<u32>::from_bytes(&params, bytes).expect_err("damaged");
    for at in (0..bytes.len()).step_by(7) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        assert!(matches!(error(&damaged), Error::Bytes(_)), "byte {at}");
        assert!(matches!(error(&bytes[..at]), Error::Bytes(_)), "{at} bytes");
    }
    assert!(matches!(
        error(&client.to_bytes()),
        Error::Bytes(BytesError::Kind { .. })
    ));
    let other = gates_insecure(true);
    let found = Bit::<u32>::from_bytes(&other, &bytes).expect_err("of other parameters");
    assert!(
        matches!(found, Error::Bytes(BytesError::Fingerprint { .. })),
        "{found}"
    );
    assert_eq!(
        Bit::<u64>::from_bytes(&params, &bytes).expect_err("words"),
        Error::Word {
            found: 64,
            expected: 32
        }
    );
}

/// Wrong counts are found before memory is allocated for them. A file with such a count and a valid
/// seal is refused at once.
#[test]
fn counts_that_lie_are_found_insecure() {
    let params = gates_insecure(false);
    let kind = |tag: &[u8; 4]| rlwe::bytes::Kind {
        tag: *tag,
        words: "a lie",
        version: if tag == b"TPAR" { 1 } else { 2 },
    };
    let sealed = |tag, numbers: &[u64]| {
        let mut w = rlwe::bytes::Writer::new();
        numbers.iter().for_each(|&n| w.u64(n));
        w.seal(&kind(tag), params.fingerprint())
    };
    for lie in [1, 1 << 20, u64::MAX / 4, u64::MAX] {
        let found =
            Bit::<u32>::from_bytes(&params, &sealed(b"TBIT", &[lie])).expect_err("no bits follow");
        assert!(
            matches!(found, Error::Bytes(BytesError::Value { .. })),
            "{found}"
        );
        // A seed of four words, then a length.
        let keys = sealed(b"TEVA", &[0, 0, 0, 0, lie, 0]);
        let found = EvaluationKeys::<u32>::from_bytes(&params, &keys).expect_err("no keys follow");
        assert!(matches!(found, Error::Bytes(_)), "{found}");
        let mut numbers = [0; 13];
        numbers[1] = lie;
        assert!(Params::from_bytes(&sealed(b"TPAR", &numbers)).is_err());
    }
}

#[test]
fn a_server_made_of_stored_keys_computes_insecure() {
    let params = gates_insecure(true);
    let client = ClientKey::<u32>::generate(&params, &mut rng(8)).expect("words fit");
    let keys = client
        .evaluation_keys(&Naive::new(params.n()), &mut rng(9))
        .expect("fits")
        .to_bytes();
    let there = EvaluationKeys::from_bytes(&params, &keys).expect("keys");
    let server = ServerKey::new(&there, Naive::new(params.n())).expect("fits");
    let [x, y] = [true, false].map(|b| client.encrypt_bit(b, &mut rng(10)).expect("a bit"));
    let out = server.gate(Gate::Nand, &x, &y).expect("of this key");
    assert!(client.decrypt_bit(&out).expect("of this key"));
}

/// Bytes alone never give an insecure set. The caller must choose the function for it.
#[test]
fn insecure_parameters_are_read_only_where_the_caller_says_so() {
    for params in [sets::paper_1_insecure(), sets::paper_2_insecure()] {
        let bytes = params.to_bytes();
        let refused = Params::from_bytes(&bytes).expect_err("below 128 bits");
        assert!(matches!(refused, Error::Insecure { .. }), "{refused}");
        let again = Params::from_bytes_insecure(&bytes).expect("the caller says so");
        assert_eq!(again, params);
        assert!(again.security().to_string().starts_with("INSECURE: "));
    }
}

/// The bytes of an object as those of version 1, which ends before the identity of the key.
fn without_identity(bytes: &[u8]) -> Vec<u8> {
    const HEADER: usize = 56;
    const SUM: usize = 32;
    let mut bytes = bytes[..bytes.len() - SUM - KeyId::LEN].to_vec();
    bytes[12..16].copy_from_slice(&1u32.to_le_bytes());
    let length = (bytes.len() - HEADER) as u64;
    bytes[48..HEADER].copy_from_slice(&length.to_le_bytes());
    let sum = rlwe::bytes::fingerprint(&bytes);
    bytes.extend_from_slice(&sum);
    bytes
}

#[test]
fn identities_are_stored_and_older_files_fit_every_key_insecure() {
    let params = gates_insecure(false);
    let multiplier = || Naive::new(params.n());
    let client = ClientKey::<u32>::generate(&params, &mut rng(11)).expect("words fit");
    let stranger = ClientKey::<u32>::generate(&params, &mut rng(12)).expect("words fit");
    assert_ne!(client.id(), stranger.id());
    let again = ClientKey::<u32>::from_bytes(&params, &client.to_bytes()).expect("a key");
    assert_eq!(again.id(), client.id());
    let keys = again
        .evaluation_keys(&multiplier(), &mut rng(13))
        .expect("fits");
    let read = EvaluationKeys::<u32>::from_bytes(&params, &keys.to_bytes()).expect("keys");
    assert_eq!(read.key(), client.id());
    let fresh = again.compress_bits(&[true], &mut rng(14)).expect("bits");
    let read = Compressed::<u32>::from_bytes(&params, &fresh.to_bytes()).expect("bits");
    let bits = read.bits().expect("bits");
    assert_eq!(bits[0].lwe().key(), client.id());
    let bytes = Bit::to_bytes(&params, &bits).expect("of these parameters");
    let bit = &Bit::<u32>::from_bytes(&params, &bytes).expect("bits")[0];
    assert_eq!(bit.lwe().key(), client.id());
    let mismatch = stranger.decrypt_bit(bit).expect_err("of another key");
    assert!(matches!(mismatch, Error::KeyMismatch(_)), "{mismatch}");

    let old = without_identity(&client.to_bytes());
    let old_client = ClientKey::<u32>::from_bytes(&params, &old).expect("an old key");
    assert_eq!(old_client.id(), KeyId::ANY);
    assert_eq!(old_client.decrypt_bit(bit), Ok(true));
    let old = without_identity(&keys.to_bytes());
    let old_keys = EvaluationKeys::<u32>::from_bytes(&params, &old).expect("old keys");
    let server = ServerKey::new(&old_keys, multiplier()).expect("fits");
    let old = without_identity(&bytes);
    let old_bit = &Bit::<u32>::from_bytes(&params, &old).expect("old bits")[0];
    let out = server
        .gate(Gate::And, bit, old_bit)
        .expect("fits every key");
    assert_eq!(client.decrypt_bit(&out), Ok(true));
    let old = without_identity(&fresh.to_bytes());
    let bits = Compressed::<u32>::from_bytes(&params, &old).expect("old bits");
    assert_eq!(bits.bits().expect("bits")[0].lwe().key(), KeyId::ANY);
    // Version 1 with an identity is damage.
    let wrong = without_identity(&[&client.to_bytes()[..], &[0; KeyId::LEN]].concat());
    assert!(ClientKey::<u32>::from_bytes(&params, &wrong).is_err());
}
