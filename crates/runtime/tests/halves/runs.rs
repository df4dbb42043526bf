//! Runs with both halves, with correct keys and with wrong ones.

use crate::common::{
    CLASSES, PIXELS, TABLE, first_layer, last_layer, small_program, table_program,
};
use crate::halves::{client_from, client_of, image, secret_bytes};
use client::Client;
use exchange::{EvaluationKeys, Label, files};
use palladion_runtime::{Error, Event, Prepared, Server, StepResult};
use program::{Op, Type};
use rlwe::GaloisKeys;
use std::collections::BTreeMap;

/// Returns the phases that were packed, the centred slots after the last step in slots, and the
/// logits.
fn run(
    prepared: &Prepared,
    client: &Client,
    keys: &EvaluationKeys,
) -> (Vec<i64>, Vec<i64>, Vec<i64>) {
    let (bfv, lwe) = (prepared.params().bfv(), client.keys().lwe());
    let query = client.encrypt(&[image()]).unwrap();
    let (mut phases, mut slots) = (Vec::new(), Vec::new());
    let (answer, _) = Server::new(prepared, keys)
        .run(&query, |event| {
            match event {
                Event::End {
                    value: StepResult::Samples(batch),
                    ..
                } => {
                    phases = (0..PIXELS)
                        .map(|k| bfv.t().center(batch.phase(k, lwe)))
                        .collect()
                }
                Event::End {
                    step,
                    value: StepResult::Ciphertext(value),
                } if matches!(
                    prepared.program().steps[step].op,
                    Op::Pack { .. } | Op::Table { .. }
                ) =>
                {
                    let ct = value.ciphertext();
                    let message = bfv::decrypt(bfv, client.keys().secret(), ct).unwrap();
                    let found = bfv.encoder().slots_of(&message).into_iter();
                    slots = found.map(|x| bfv.t().center(x)).collect();
                }
                _ => {}
            }
            true
        })
        .unwrap();
    let decrypted = client.decrypt(&answer, &query).unwrap();
    (phases, slots, decrypted.logits[0].clone())
}

#[test]
fn everything_survives_its_file_and_the_result_is_exact() {
    let prepared = Prepared::new(small_program()).unwrap();
    let client = client_of(&prepared, 1);
    let keys = client.evaluation_keys().unwrap();

    // The client's side. Each object goes through its file, and each file is written again
    // identically.
    let bytes = files::program_to_bytes(&prepared);
    let theirs = files::program_from_bytes(&bytes).unwrap();
    assert_eq!(theirs.fingerprint(), prepared.fingerprint());
    assert_eq!(files::program_to_bytes(&theirs), bytes);
    let bytes = secret_bytes(&client);
    let client = client_from(&theirs, &bytes).unwrap();
    assert_eq!(secret_bytes(&client), bytes);
    let bytes = files::keys_to_bytes(prepared.params(), &keys).unwrap();
    let predicted = files::keys_file_len(prepared.params(), &prepared.needs()).unwrap();
    assert_eq!(predicted, bytes.len());
    let keys = files::keys_from_bytes(&theirs, &bytes).unwrap();
    assert_eq!(files::keys_to_bytes(theirs.params(), &keys).unwrap(), bytes);
    let bytes = files::query_to_bytes(&client.encrypt(&[image()]).unwrap());
    let predicted =
        files::query_file_len(prepared.params(), prepared.input_level(), prepared.inputs());
    assert_eq!(predicted, bytes.len());
    let query = files::query_from_bytes(&theirs, &bytes).unwrap();
    assert_eq!(files::query_to_bytes(&query), bytes);
    let server = Prepared::of(&theirs).unwrap();
    let (answer, _) = Server::new(&server, &keys).run(&query, |_| true).unwrap();
    let bytes = files::answer_to_bytes(&theirs, &answer);
    let answer = files::answer_from_bytes(&prepared, &bytes).unwrap();
    assert_eq!(files::answer_to_bytes(&prepared, &answer), bytes);
    assert_eq!(
        client.decrypt(&answer, &query).unwrap().logits[0].len(),
        CLASSES
    );

    // Slots hold what was packed, and the dense layer computes exactly on it.
    let (phases, slots, logits) = run(&prepared, &client, &keys);
    let sigma = prepared.params().rounding_sigma();
    for (phase, exact) in phases.iter().zip(first_layer(&image())) {
        assert!(((phase - exact) as f64).abs() < 8.0 * sigma);
    }
    assert!((0..slots.len()).all(|slot| slots[slot] == phases[slot % PIXELS]));
    assert_eq!(logits, last_layer(&phases));
}

#[test]
fn a_dense_layer_is_exact_below_the_level_its_table_ends_at() {
    for segments in [1, 2] {
        let program = table_program(segments);
        let level = |step: usize| match program.steps[step].ty {
            Type::Ciphertext { level, .. } => level,
            Type::Samples => panic!("step {step} makes samples"),
        };
        // Dropping limbs without dividing gives a value a factor, which samples cannot carry.
        assert!(level(5) > level(6), "{} to {}", level(5), level(6));
        let prepared = Prepared::new(program).unwrap();
        let client = client_of(&prepared, 2);
        let (phases, slots, logits) = run(&prepared, &client, &client.evaluation_keys().unwrap());
        let t = prepared.params().bfv().t();
        let table = |x: i64| {
            let x = t.from_i64(x);
            let horner = |sum, &c: &i64| t.add(t.mul(sum, x), t.from_i64(c));
            t.center(TABLE.iter().rev().fold(0, horner))
        };
        let activations: Vec<i64> = phases.iter().map(|&x| table(x)).collect();
        assert!((0..slots.len()).all(|slot| slots[slot] == activations[slot % PIXELS]));
        let residues: Vec<u64> = logits.iter().map(|&x| t.from_i64(x)).collect();
        let wanted = last_layer(&activations).into_iter();
        assert_eq!(residues, wanted.map(|x| t.from_i64(x)).collect::<Vec<_>>());
    }
}

#[test]
fn wrong_keys_are_refused_or_show_in_the_result() {
    let prepared = Prepared::new(small_program()).unwrap();
    let client = client_of(&prepared, 5);
    let query = client.encrypt(&[image()]).unwrap();
    let run = |keys: &EvaluationKeys| Server::new(&prepared, keys).run(&query, |_| true);

    // Keys of other parameters.
    let larger = Prepared::new(table_program(1)).unwrap();
    let keys = client_of(&larger, 5).evaluation_keys().unwrap();
    let error = run(&keys).err();
    assert!(matches!(error, Some(Error::Query { .. })), "{error:?}");

    // A set that lacks keys.
    let none = EvaluationKeys::from_parts(None, GaloisKeys::new(), BTreeMap::new(), None);
    let error = run(&none).err();
    let missing = Some(Error::Exchange(exchange::Error::MissingKey {
        what: "public key",
    }));
    assert_eq!(format!("{error:?}"), format!("{missing:?}"));

    // Another client's keys for the same program carry the identity of their secret. Files before
    // version 3 do not state it: then the server cannot detect them, but the client can.
    let stranger = client_of(&prepared, 6);
    let keys = stranger.evaluation_keys().unwrap();
    let words = run(&keys).err().unwrap().to_string();
    assert!(words.contains("made under one secret key"), "{words}");
    let nameless = keys.labelled(Label::default());
    let (answer, _) = run(&nameless).unwrap();
    let error = client.decrypt(&answer, &query).err();
    assert!(
        matches!(error, Some(client::Error::NoMargin { .. })),
        "{error:?}"
    );
    let (answer, _) = run(&client.evaluation_keys().unwrap()).unwrap();
    assert!(client.decrypt(&answer, &query).is_ok());
    let bytes = files::answer_to_bytes(&prepared, &answer);
    let answer = files::answer_from_bytes(&prepared, &bytes).unwrap();
    let words = stranger.decrypt(&answer, &query).err().unwrap().to_string();
    assert!(words.contains("made under one secret key"), "{words}");
}

#[test]
fn the_observer_stops_a_run_before_and_after_every_step() {
    let prepared = Prepared::new(small_program()).unwrap();
    let client = client_of(&prepared, 7);
    let keys = client.evaluation_keys().unwrap();
    let query = client.encrypt(&[image()]).unwrap();
    let total = prepared.program().steps.len();
    for events in 0..2 * total {
        let mut heard = 0;
        let result = Server::new(&prepared, &keys).run(&query, |_| {
            heard += 1;
            heard <= events
        });
        match result {
            Err(Error::Stopped { done, total: of }) => {
                assert_eq!((done, of), (events.div_ceil(2), total));
            }
            other => panic!("{:?}", other.map(|_| ())),
        }
        assert_eq!(heard, events + 1);
    }
}
