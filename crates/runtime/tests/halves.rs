//! Client and server apart: files, wrong files, wrong keys, stopped runs, and where the secret is not.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

mod common;

use circuits::EvaluationKeys;
use common::{CLASSES, PIXELS, TABLE, first_layer, last_layer, small_program, table_program};
use program::{Op, Program, Type};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use ring::{Basis, Coeff, Domain, Eval, Poly};
use rlwe::GaloisKeys;
use rlwe::bytes::{BytesError, Fingerprint, Kind, Writer, fingerprint};
use runtime::{Checkpoint, Client, Error, Event, Held, Prepared, Result, Server, Verified, files};
use std::collections::{BTreeMap, HashSet};

fn client_of(prepared: &Prepared, seed: u64) -> Client {
    Client::generate_from(prepared, &mut ChaCha20Rng::seed_from_u64(seed))
}

fn image() -> Vec<i64> {
    (0..PIXELS as i64).map(|i| i * 8 % 128).collect()
}

/// Another program of the same parameters.
fn other_program() -> Program {
    let mut program = small_program();
    program.constants[3].values[0] += 1;
    program
}

/// Phases that were packed, centred slots after the last step in slots, and the logits.
fn run(client: &Client, keys: &EvaluationKeys) -> (Vec<i64>, Vec<i64>, Vec<i64>) {
    let prepared = &Prepared::of(client.verified()).unwrap();
    let (bfv, lwe) = (prepared.params().bfv(), client.keys().lwe());
    let input = client.encrypt(&[image()]).unwrap();
    let (mut phases, mut slots) = (Vec::new(), Vec::new());
    let (output, _) = Server::new(prepared, keys)
        .run(&input, |event| {
            match event {
                Event::End {
                    value: Held::Samples(batch),
                    ..
                } => {
                    phases = (0..PIXELS)
                        .map(|k| bfv.t().center(batch.phase(k, lwe)))
                        .collect()
                }
                Event::End {
                    step,
                    value: Held::Ciphertext(value),
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
    let decrypted = client.decrypt(&output, &input).unwrap();
    (phases, slots, decrypted.logits[0].clone())
}

#[test]
fn everything_survives_its_file_and_the_result_is_exact() {
    let prepared = Prepared::new(small_program()).unwrap();
    let client = client_of(&prepared, 1);
    let keys = client.evaluation_keys().unwrap();

    // The client's side, each object through its file; each file is written the same again.
    let bytes = files::program_to_bytes(&prepared);
    let theirs = files::program_from_bytes(&bytes).unwrap();
    assert_eq!(theirs.fingerprint(), prepared.fingerprint());
    assert_eq!(files::program_to_bytes(&theirs), bytes);
    let bytes = files::client_to_bytes(&client);
    let client = files::client_from_bytes(&theirs, &bytes).unwrap();
    assert_eq!(files::client_to_bytes(&client), bytes);
    let bytes = files::keys_to_bytes(&prepared, &keys).unwrap();
    assert_eq!(files::keys_file_len(&prepared).unwrap(), bytes.len());
    let keys = files::keys_from_bytes(&theirs, &bytes).unwrap();
    assert_eq!(files::keys_to_bytes(&theirs, &keys).unwrap(), bytes);
    let bytes = files::input_to_bytes(&client.encrypt(&[image()]).unwrap());
    let input = files::input_from_bytes(&theirs, &bytes).unwrap();
    assert_eq!(files::input_to_bytes(&input), bytes);
    let server = Prepared::of(&theirs).unwrap();
    let (output, _) = Server::new(&server, &keys).run(&input, |_| true).unwrap();
    let bytes = files::output_to_bytes(&theirs, &output);
    let output = files::output_from_bytes(&prepared, &bytes).unwrap();
    assert_eq!(files::output_to_bytes(&prepared, &output), bytes);
    assert_eq!(
        client.decrypt(&output, &input).unwrap().logits[0].len(),
        CLASSES
    );

    // Slots hold what was packed, and the dense layer is exact on it.
    let (phases, slots, logits) = run(&client, &keys);
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
        let (phases, slots, logits) = run(&client, &client.evaluation_keys().unwrap());
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
fn files_of_another_program_are_refused() {
    let prepared = Prepared::new(small_program()).unwrap();
    let other = Prepared::new(other_program()).unwrap();
    let (ours, theirs) = (client_of(&prepared, 3), client_of(&other, 3));
    let (our_keys, their_keys) = (
        ours.evaluation_keys().unwrap(),
        theirs.evaluation_keys().unwrap(),
    );
    let input = theirs.encrypt(&[image()]).unwrap();
    let (output, _) = Server::new(&other, &their_keys)
        .run(&input, |_| true)
        .unwrap();
    let errors = [
        files::client_from_bytes(&prepared, &files::client_to_bytes(&theirs)).err(),
        files::keys_from_bytes(
            &prepared,
            &files::keys_to_bytes(&other, &their_keys).unwrap(),
        )
        .err(),
        files::input_from_bytes(&prepared, &files::input_to_bytes(&input)).err(),
        files::output_from_bytes(&prepared, &files::output_to_bytes(&other, &output)).err(),
        // In memory as in files.
        Server::new(&prepared, &our_keys)
            .run(&input, |_| true)
            .err(),
    ];
    for error in errors {
        let refused = matches!(error, Some(Error::Bytes(BytesError::Fingerprint { .. })));
        assert!(refused, "{error:?}");
    }
}

#[test]
fn one_kind_of_file_is_not_taken_for_another() {
    let prepared = Prepared::new(small_program()).unwrap();
    let program = files::program_to_bytes(&prepared);
    let client = files::client_to_bytes(&client_of(&prepared, 4));
    let errors = [
        files::program_from_bytes(&client).err(),
        files::client_from_bytes(&prepared, &program).err(),
        files::keys_from_bytes(&prepared, &client).err(),
        files::input_from_bytes(&prepared, &client).err(),
        files::output_from_bytes(&prepared, &client).err(),
    ];
    for error in errors {
        let refused = matches!(error, Some(Error::Bytes(BytesError::Kind { .. })));
        assert!(refused, "{error:?}");
    }
}

#[test]
fn damaged_files_are_refused_and_say_what_is_wrong() {
    let prepared = Prepared::new(small_program()).unwrap();
    let client = client_of(&prepared, 10);
    let keys = client.evaluation_keys().unwrap();
    let input = client.encrypt(&[image()]).unwrap();
    let (output, _) = Server::new(&prepared, &keys).run(&input, |_| true).unwrap();
    type Read<'a> = Box<dyn Fn(&[u8]) -> Option<Error> + 'a>;
    let p = &prepared;
    let kinds: [(Vec<u8>, Read<'_>); 5] = [
        (
            files::program_to_bytes(p),
            Box::new(|bytes| files::program_from_bytes(bytes).err()),
        ),
        (
            files::client_to_bytes(&client).to_vec(),
            Box::new(|bytes| files::client_from_bytes(p, bytes).err()),
        ),
        (
            files::keys_to_bytes(p, &keys).unwrap(),
            Box::new(|bytes| files::keys_from_bytes(p, bytes).err()),
        ),
        (
            files::input_to_bytes(&input),
            Box::new(|bytes| files::input_from_bytes(p, bytes).err()),
        ),
        (
            files::output_to_bytes(p, &output),
            Box::new(|bytes| files::output_from_bytes(p, bytes).err()),
        ),
    ];
    for (bytes, read) in &kinds {
        assert!(read(bytes).is_none());
        let of = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut wrong = bytes.clone();
            change(&mut wrong);
            match read(&wrong) {
                Some(Error::Bytes(error)) => error,
                other => panic!("{other:?}"),
            }
        };
        let len = bytes.len();
        for part in 0..=16 {
            let error = of(&|b| b.truncate((len - 1) * part / 16));
            assert!(
                matches!(error, BytesError::Magic | BytesError::Length { .. }),
                "{error}"
            );
            let error = of(&|b| b[56 + (len - 57) * part / 16] ^= 1 << (part % 8));
            assert_eq!(error, BytesError::Checksum);
        }
        let error = of(&|b| b.extend_from_slice(&[0; 4096]));
        assert!(matches!(error, BytesError::Length { .. }), "{error}");
        let error = of(&|b| b[12] ^= 0x80);
        assert!(matches!(error, BytesError::Version { .. }), "{error}");
        let error = of(&|b| b[48..56].fill(0xff));
        assert!(
            matches!(
                error,
                BytesError::Length {
                    expected: u64::MAX,
                    ..
                }
            ),
            "{error}"
        );
    }
}

#[test]
fn wrong_keys_are_refused_or_show_in_the_result() {
    let prepared = Prepared::new(small_program()).unwrap();
    let client = client_of(&prepared, 5);
    let input = client.encrypt(&[image()]).unwrap();
    let run = |keys: &EvaluationKeys| Server::new(&prepared, keys).run(&input, |_| true);

    // Keys of other parameters.
    let larger = Prepared::new(table_program(1)).unwrap();
    let keys = client_of(&larger, 5).evaluation_keys().unwrap();
    let error = run(&keys).err();
    assert!(matches!(error, Some(Error::Image { .. })), "{error:?}");

    // A set that lacks keys.
    let none = EvaluationKeys::from_parts(None, GaloisKeys::new(), BTreeMap::new(), None);
    let error = run(&none).err();
    assert!(matches!(error, Some(Error::Circuits(_))), "{error:?}");

    // Another client's keys for the same program: the server cannot tell, the client can.
    let stranger = client_of(&prepared, 6);
    let (output, _) = run(&stranger.evaluation_keys().unwrap()).unwrap();
    let error = client.decrypt(&output, &input).err();
    assert!(matches!(error, Some(Error::NoMargin { .. })), "{error:?}");
    let (output, _) = run(&client.evaluation_keys().unwrap()).unwrap();
    assert!(client.decrypt(&output, &input).is_ok());
    let error = stranger.decrypt(&output, &input).err();
    assert!(matches!(error, Some(Error::NoMargin { .. })), "{error:?}");
}

#[test]
fn an_answer_to_another_query_is_refused() {
    let prepared = Prepared::new(small_program()).unwrap();
    let client = client_of(&prepared, 11);
    let keys = client.evaluation_keys().unwrap();
    // The same image twice: two queries, as their masks differ.
    let [old, new] = [0, 1].map(|_| client.encrypt(&[image()]).unwrap());
    let (answer, _) = Server::new(&prepared, &keys).run(&old, |_| true).unwrap();
    assert!(client.decrypt(&answer, &old).is_ok());
    let bytes = files::output_to_bytes(&prepared, &answer);
    for answer in [
        answer.clone(),
        files::output_from_bytes(&prepared, &bytes).unwrap(),
    ] {
        let error = client.decrypt(&answer, &new).err();
        assert!(matches!(error, Some(Error::OtherQuery { .. })), "{error:?}");
        let words = error.map(|e| e.to_string()).unwrap_or_default();
        assert!(words.contains("this answer belongs to another query"));
    }
    // Any other bit of the query makes another one.
    let mut changed = old.clone();
    changed.seed.0[31] ^= 1;
    assert!(client.decrypt(&answer, &changed).is_err());

    // The server says how many images there are; the client knows.
    for images in [0, 2] {
        let mut wrong = answer.clone();
        wrong.images = images;
        match client.decrypt(&wrong, &old).err() {
            Some(Error::Image { what, found, .. }) => {
                assert_eq!(what, "the number of images of an answer");
                assert_eq!(found, images.to_string());
            }
            other => panic!("{other:?}"),
        }
    }

    // A query of another program.
    let other = Prepared::new(other_program()).unwrap();
    let theirs = client_of(&other, 11).encrypt(&[image()]).unwrap();
    let error = client.decrypt(&answer, &theirs).err();
    let refused = matches!(error, Some(Error::Bytes(BytesError::Fingerprint { .. })));
    assert!(refused, "{error:?}");
}

#[test]
fn the_observer_stops_a_run_before_and_after_every_step() {
    let prepared = Prepared::new(small_program()).unwrap();
    let client = client_of(&prepared, 7);
    let keys = client.evaluation_keys().unwrap();
    let input = client.encrypt(&[image()]).unwrap();
    let total = prepared.program().steps.len();
    for events in 0..2 * total {
        let mut heard = 0;
        let result = Server::new(&prepared, &keys).run(&input, |_| {
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

#[test]
fn images_that_do_not_fit_are_refused() {
    let prepared = Prepared::new(small_program()).unwrap();
    let client = client_of(&prepared, 8);
    let mut bright = image();
    bright[3] = 128;
    let mut dark = image();
    dark[3] = i64::MIN;
    for (images, about) in [
        (vec![], "the number of images"),
        (vec![image(), image()], "the number of images"),
        (
            vec![vec![0; PIXELS - 1]],
            "the number of pixels of an image",
        ),
        (
            vec![vec![0; PIXELS + 1]],
            "the number of pixels of an image",
        ),
        (vec![bright], "a pixel"),
        (vec![dark], "a pixel"),
    ] {
        match client.encrypt(&images) {
            Err(Error::Image { what, .. }) => assert_eq!(what, about),
            other => panic!("{about}: {:?}", other.map(|_| ())),
        }
    }
}

#[test]
fn a_program_that_claims_what_the_circuits_do_not_give_is_refused() {
    let step_of = |error: Option<Error>| match error {
        Some(Error::Program(program::Error::Step { step, what, .. })) => (step, what),
        other => panic!("{other:?}"),
    };
    let refused = |change: &dyn Fn(&mut Program)| {
        let mut program = small_program();
        change(&mut program);
        Prepared::new(program).err()
    };
    let change_type = |step: usize, up: usize, more: f64| {
        move |program: &mut Program| match &mut program.steps[step].ty {
            Type::Ciphertext {
                level, noise_bits, ..
            } => (*level, *noise_bits) = (*level + up, *noise_bits + more),
            Type::Samples => panic!("step {step} makes samples"),
        }
    };
    // Less noise than there will be, or another level.
    assert_eq!(step_of(refused(&change_type(1, 0, -1.0))), (1, "the noise"));
    assert_eq!(step_of(refused(&change_type(5, 0, 1.0))), (5, "the noise"));
    assert_eq!(step_of(refused(&change_type(4, 1, 0.0))), (4, "the level"));
    // Keys that the steps do not use, and lack of those they do.
    type Case<'a> = (&'a dyn Fn(&mut Program), &'a str);
    let lists: [Case<'_>; 5] = [
        (
            &|p| p.keys.relinearization = Some(1),
            "the relinearization key's level",
        ),
        (
            &|p| p.keys.packing.clear(),
            "the list of packings and levels",
        ),
        (
            &|p| p.keys.packing[0].1 = 1,
            "the list of packings and levels",
        ),
        (
            &|p| p.keys.galois.truncate(1),
            "the list of Galois elements and levels",
        ),
        (
            &|p| p.keys.galois[0].1 = 1,
            "the list of Galois elements and levels",
        ),
    ];
    for (change, about) in lists {
        match refused(change) {
            Some(Error::Program(program::Error::Parameters { what, .. })) => {
                assert_eq!(what, about)
            }
            other => panic!("{about}: {other:?}"),
        }
    }
    // A lesser probability of failure than its steps have: a border too near to the bound.
    let with_border = |border: i64, claimed: f64| {
        let mut program = table_program(1);
        program.prediction.log2_failure = claimed;
        if let Op::Table { indices, .. } = &mut program.steps[5].op {
            indices.border = indices.bound + border;
        }
        Prepared::new(program)
    };
    // 16 values beyond 70 with a deviation of about 8: 2^-55. Beyond 26, about three deviations: 2^-5.
    assert!(with_border(70, -48.0).is_ok());
    for (border, claimed) in [(70, -70.0), (26, -40.0), (26, -9999.0)] {
        match with_border(border, claimed).err() {
            Some(Error::Program(program::Error::Parameters { what, .. })) => {
                assert_eq!(what, "the probability that a run is wrong");
            }
            other => panic!("{border}: {other:?}"),
        }
    }
    // Moduli that are no primes, or too large for the ring.
    assert!(matches!(
        refused(&|p| p.parameters.q[1] = (1 << 33) + 1),
        Some(Error::Circuits(_))
    ));
    let insecure = refused(&|p| {
        let more = ring::ntt_primes(48, p.parameters.n, 2).unwrap();
        p.parameters.q.extend(more);
    });
    let words = insecure.map(|e| e.to_string()).unwrap_or_default();
    assert!(
        words.contains("at most 214 gives 128-bit security"),
        "{words}"
    );
}

/// Bytes of a small polynomial as residues of each modulus, packed: what a file would hold if it held it.
fn packed<D: Domain>(poly: &Poly<D>) -> Vec<u8> {
    const BARE: Kind = Kind {
        tag: *b"TEST",
        words: "",
        version: 1,
    };
    let mut w = Writer::new();
    w.poly(poly);
    let sealed = w.seal(&BARE, &[0; 32]);
    sealed[56..sealed.len() - 32].to_vec()
}

#[test]
fn the_secret_is_in_none_of_the_files_a_server_reads() -> Result<()> {
    let prepared = Prepared::new(small_program())?;
    let client = client_of(&prepared, 9);
    let (params, secret) = (prepared.params(), client.keys());
    let lwe = secret.lwe().in_ring(params.bfv().n());
    let small = |values: &[i64]| values.iter().map(|&v| v as u8).collect::<Vec<_>>();
    let mut needles = vec![
        small(secret.secret().coefficients()),
        small(secret.lwe().coefficients()),
    ];
    // As polynomials modulo every modulus there is, in both domains.
    let moduli = params
        .bfv()
        .rlwe()
        .extended(params.bfv().rlwe().max_level());
    let moduli = moduli
        .values()
        .into_iter()
        .chain(params.small().basis().values());
    for q in moduli {
        let basis = Basis::new(params.bfv().n(), &[q]).unwrap();
        for coefficients in [secret.secret().coefficients(), &lwe] {
            let poly: Poly<Coeff> = Poly::from_signed(&basis, coefficients);
            needles.push(packed(&poly));
            let eval: Poly<Eval> = poly.into_eval();
            needles.push(packed(&eval));
        }
    }
    let occurs = |file: &[u8]| -> bool {
        // Sixteen bytes from any of several places: a part of a secret is as bad as all of it.
        let parts = needles
            .iter()
            .flat_map(|n| n.chunks_exact(16).step_by(n.len() / 64).take(8));
        let parts: HashSet<&[u8]> = parts.filter(|part| part.iter().any(|&b| b != 0)).collect();
        file.windows(16).any(|window| parts.contains(window))
    };
    let own = files::client_to_bytes(&client);
    assert!(occurs(&own), "the search finds a secret where there is one");
    let input = client.encrypt(&[image()])?;
    let keys = client.evaluation_keys()?;
    let mut checkpoints = Vec::new();
    let save = |state: &Checkpoint| {
        checkpoints.extend(state.to_bytes(&prepared));
        true
    };
    let (output, _) = Server::new(&prepared, &keys).resume(&input, None, |_| true, save)?;
    assert!(!checkpoints.is_empty());
    for file in [
        checkpoints,
        files::program_to_bytes(&prepared),
        files::keys_to_bytes(&prepared, &keys)?,
        files::input_to_bytes(&input),
        files::output_to_bytes(&prepared, &output),
    ] {
        assert!(!occurs(&file));
    }
    Ok(())
}

#[test]
fn keys_written_one_at_a_time_are_read_whole() {
    let prepared = Prepared::new(table_program(1)).unwrap();
    let client = Client::generate(&prepared);
    let rng = || ChaCha20Rng::seed_from_u64(5);
    let mut written = Vec::new();
    files::write_new_keys(&client, &mut rng(), &mut written).unwrap();
    let keys = files::keys_from_bytes(&prepared, &written).unwrap();
    assert!(written == files::keys_to_bytes(&prepared, &keys).unwrap());
    // An output that takes half of them.
    let mut room = vec![0; written.len() / 2];
    let error = files::write_new_keys(&client, &mut rng(), &mut room[..]).unwrap_err();
    assert!(error.to_string().starts_with("cannot write: "), "{error}");
}

#[test]
fn the_fingerprint_is_what_a_program_computes() {
    let of = |program: &Program| *Verified::new(program.clone()).unwrap().fingerprint();
    let program = small_program();
    let mut retuned = program.clone();
    retuned.name = "other".into();
    for step in &mut retuned.steps {
        step.seconds += 1.0;
        step.layer.push('!');
        if let Type::Ciphertext { noise_bits, .. } = &mut step.ty {
            *noise_bits += 0.001;
        }
    }
    retuned.prediction.key_bytes += 1;
    assert_eq!(of(&retuned), of(&program));
    assert_ne!(of(&other_program()), of(&program));
    let mut lower = program.clone();
    lower.keys.packing[0].1 -= 1;
    assert_ne!(of(&lower), of(&program));
}

#[test]
fn files_of_version_1_keep_their_fingerprint() {
    let json = small_program().to_json();
    let old = |found: Fingerprint| {
        let mut w = Writer::new();
        w.block(json.as_bytes());
        let kind = Kind {
            tag: *b"PROG",
            words: "a program",
            version: 1,
        };
        files::program_from_bytes(&w.seal(&kind, &found))
    };
    let whole = fingerprint(json.as_bytes());
    let read = old(whole).unwrap();
    assert_eq!(read.fingerprint(), &whole);
    let again = files::program_from_bytes(&files::program_to_bytes(&read)).unwrap();
    assert_eq!(again.fingerprint(), &whole);
    // Compiled again it takes keys of its own.
    assert_ne!(
        Verified::new(small_program()).unwrap().fingerprint(),
        &whole
    );
    let refused = old([7; 32]).err().unwrap().to_string();
    assert!(refused.contains("made for other parameters"), "{refused}");
}
