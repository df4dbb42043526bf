//! Every gate on all inputs, with both kinds of key switch.

use crate::common::{gates_insecure, integers_insecure, keys, keys_with, rng};
use palladion_tfhe::{ClientKey, Error, Gate, ServerKey};
use ring::torus::Naive;

fn all_inputs(ring: bool) {
    let params = gates_insecure(ring);
    let (client, server) = keys::<u32>(&params, 1);
    let rng = &mut rng(2);
    let mut encrypt = |bit| client.encrypt_bit(bit, rng).expect("gates");
    let decrypt = |bit: &_| client.decrypt_bit(bit).expect("of this key");
    for x in [false, true] {
        let cx = encrypt(x);
        assert_eq!(decrypt(&cx), x);
        assert_eq!(decrypt(&server.not(&cx).expect("of this key")), !x);
        assert_eq!(decrypt(&server.constant_bit(x).expect("gates")), x);
        for y in [false, true] {
            let cy = encrypt(y);
            let jobs = Gate::ALL.map(|gate| (gate, &cx, &cy));
            let out = server.gates(&jobs).expect("of this key");
            for (gate, bit) in Gate::ALL.into_iter().zip(&out) {
                assert_eq!(
                    decrypt(bit),
                    gate.of(x, y),
                    "{gate:?} of {x}, {y}, ring {ring}"
                );
            }
            for c in [false, true] {
                let chosen = server.mux(&encrypt(c), &cx, &cy).expect("of this key");
                assert_eq!(
                    decrypt(&chosen),
                    if c { x } else { y },
                    "mux of {c}, {x}, {y}"
                );
                let constant = server.constant_bit(c).expect("gates");
                let chosen = server.mux(&constant, &chosen, &cy).expect("of this key");
                assert_eq!(
                    decrypt(&chosen),
                    if c { x } else { y },
                    "mux of mux of {c}, {x}, {y}"
                );
            }
        }
    }
}

#[test]
fn every_gate_on_all_inputs_insecure() {
    all_inputs(false);
    all_inputs(true);
}

#[test]
fn gates_are_right_in_words_of_64_bits_insecure() {
    let mut spec = gates_insecure(true).spec().clone();
    spec.word_bits = 64;
    let params = palladion_tfhe::Params::new_insecure(&spec).expect("in range");
    let (client, server) = keys::<u64>(&params, 3);
    let bits = [false, true].map(|bit| client.encrypt_bit(bit, &mut rng(4)).expect("gates"));
    for gate in Gate::ALL {
        let out = server.gate(gate, &bits[0], &bits[1]).expect("of this key");
        assert_eq!(
            client.decrypt_bit(&out).expect("of this key"),
            gate.of(false, true),
            "{gate:?}"
        );
    }
}

/// A carry chain, where outputs of gates are inputs of gates.
#[test]
fn an_adder_of_gates_adds_insecure() {
    let (client, server) = keys::<u32>(&gates_insecure(true), 5);
    let rng = &mut rng(6);
    let (a, b) = (0b1011u32, 0b0110u32);
    let mut number =
        |x: u32| [0, 1, 2, 3].map(|i| client.encrypt_bit(x >> i & 1 == 1, rng).expect("gates"));
    let (x, y) = (number(a), number(b));
    let mut carry = server.constant_bit(false).expect("gates");
    let mut sum = 0;
    for i in 0..4 {
        let run = |gate, x: &_, y: &_| server.gate(gate, x, y).expect("of this key");
        let half = run(Gate::Xor, &x[i], &y[i]);
        let bit = run(Gate::Xor, &half, &carry);
        carry = server.mux(&half, &carry, &x[i]).expect("of this key");
        sum |= u32::from(client.decrypt_bit(&bit).expect("of this key")) << i;
    }
    sum |= u32::from(client.decrypt_bit(&carry).expect("of this key")) << 4;
    assert_eq!(sum, a + b);
}

#[test]
fn what_does_not_belong_together_is_refused_insecure() {
    let (params, other) = (gates_insecure(false), gates_insecure(true));
    let (client, server) = keys::<u32>(&params, 7);
    let (stranger, _) = keys::<u32>(&other, 7);
    let bit = stranger.encrypt_bit(true, &mut rng(8)).expect("gates");
    let found = server.not(&bit).expect_err("of other parameters");
    assert!(
        matches!(found, Error::Fingerprint { what: "a bit", .. }),
        "{found}"
    );
    assert!(client.decrypt_bit(&bit).is_err());
    let found = client.encrypt(1, &mut rng(9)).expect_err("no integers");
    assert!(
        matches!(
            found,
            Error::Encoding {
                expected: "integers",
                ..
            }
        ),
        "{found}"
    );
    let found = ClientKey::<u64>::generate(&params, &mut rng(1))
        .err()
        .expect("words of 32 bits");
    assert_eq!(
        found,
        Error::Word {
            found: 64,
            expected: 32
        }
    );
    let keys = client
        .evaluation_keys(&Naive::new(params.n()), &mut rng(1))
        .expect("fits");
    let found = ServerKey::new(&keys, Naive::new(64))
        .err()
        .expect("another degree");
    assert_eq!(
        found,
        Error::Multiplier {
            found: 64,
            expected: 32
        }
    );
    let (_, integers) = keys_with::<u64, _>(&integers_insecure(2, 2, true), Naive::new(256), 1);
    assert!(matches!(
        integers.constant_bit(true),
        Err(Error::Encoding {
            expected: "gates",
            ..
        })
    ));
}

#[test]
fn bits_of_two_keys_do_not_meet_insecure() {
    let params = gates_insecure(false);
    let (client, server) = keys::<u32>(&params, 10);
    let (stranger, other) = keys::<u32>(&params, 11);
    let x = client.encrypt_bit(true, &mut rng(12)).expect("gates");
    let y = stranger.encrypt_bit(true, &mut rng(13)).expect("gates");
    let refused = |error: Option<Error>| {
        let error = error.expect("of two keys");
        assert!(matches!(error, Error::KeyMismatch(_)), "{error}");
    };
    refused(server.not(&y).err());
    for gate in Gate::ALL {
        refused(server.gate(gate, &x, &y).err());
        refused(server.gate(gate, &y, &x).err());
        refused(other.gate(gate, &x, &x).err());
    }
    refused(server.mux(&x, &y, &x).err());
    refused(server.mux(&y, &x, &x).err());
    refused(server.mux(&x, &x, &y).err());
    refused(client.decrypt_bit(&y).err());
    let nand = server.gate(Gate::Nand, &x, &x).expect("of one key");
    refused(stranger.decrypt_bit(&nand).err());
    refused(other.not(&nand).err());
    let not = server.not(&nand).expect("of one key");
    refused(stranger.decrypt_bit(&not).err());
    assert_eq!(client.decrypt_bit(&not), Ok(true));
}
