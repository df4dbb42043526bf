//! Inputs under a public key: sensors encrypt, and the owner of the secret alone decrypts.

use crate::common::{deep_program, small_program, table_program};
use crate::halves::floods::{ANSWERS, deep, flooded, input, regression};
use crate::halves::{client_of, image};
use bfv::noise::Model;
use circuits::Refusal;
use client::{Client, Encryptor};
use compiler::{Options, compile};
use exchange::{EncryptionKey, Error, EvaluationKeys, Exchange, Label, Profile, Query, files};
use network::Evaluator;
use palladion_runtime::{Prepared, Server, replay_run};
use program::{MAX_LOG2_FAILURE, Program, PublicInputs};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use rlwe::bytes::{Kind, Writer, fingerprint};

/// The program with what it can promise for inputs under a public key.
pub(super) fn promised(mut program: Program) -> Program {
    let prepared = Prepared::new(program.clone()).unwrap();
    let promise = prepared.public_run().promise(MAX_LOG2_FAILURE).unwrap();
    program.prediction.public_inputs = Some(promise);
    program
}

fn prepared_of(program: Program) -> Prepared {
    Prepared::new(promised(program)).unwrap()
}

/// A sensor, which has two files: those of the client's terms and of the public key.
fn sensor(terms: &[u8], key: &[u8]) -> Encryptor {
    let exchange = files::terms_from_bytes(terms).unwrap();
    let key = files::encryption_key_from_bytes(&exchange, key).unwrap();
    Encryptor::new(&exchange, &key).unwrap()
}

fn encryptor(client: &Client) -> Encryptor {
    Encryptor::new(client.exchange(), &client.encryption_key()).unwrap()
}

/// The query as it arrives.
fn sent(exchange: &Exchange, query: &Query) -> Query {
    files::query_from_bytes(exchange, &files::query_to_bytes(query)).unwrap()
}

fn steps_until_refused(prepared: &Prepared, keys: &EvaluationKeys, query: &Query) -> String {
    let mut steps = 0;
    let run = Server::new(prepared, keys).run(query, |_| {
        steps += 1;
        true
    });
    assert_eq!(steps, 0);
    run.unwrap_err().to_string()
}

#[test]
fn several_sensors_encrypt_and_one_analyst_decrypts() {
    let prepared = prepared_of(small_program());
    let analyst = client_of(&prepared, 81);
    let keys = analyst.evaluation_keys().unwrap();
    let terms = files::terms_to_bytes(&prepared);
    let key = files::encryption_key_to_bytes(&analyst.encryption_key());
    let level = prepared.input_level();
    let predicted = files::encryption_key_file_len(prepared.params(), level);
    assert_eq!(key.len(), predicted);
    let bfv = prepared.params().bfv();
    let message =
        |query: &Query| bfv::decrypt(bfv, analyst.keys().secret(), &query.ciphertexts[0]).unwrap();
    for shift in 0..3 {
        let image: Vec<i64> = image().iter().map(|x| (x + 8 * shift) % 128).collect();
        let query = sensor(&terms, &key)
            .encrypt(std::slice::from_ref(&image))
            .unwrap();
        let bytes = files::query_to_bytes(&query);
        assert_eq!(
            bytes.len(),
            files::public_query_file_len(prepared.params(), level, prepared.inputs())
        );
        let head = files::query_head(&bytes).unwrap();
        assert!(head.public && head.key == analyst.secret().label().key);
        let query = sent(&prepared, &query);
        assert_eq!(files::query_to_bytes(&query), bytes);
        // The plaintext is that of a query under the secret.
        let own = analyst.encrypt(&[image]).unwrap();
        assert_eq!(message(&query), message(&own));
        let (answer, _) = Server::new(&prepared, &keys).run(&query, |_| true).unwrap();
        let answer = files::answer_to_bytes(&prepared, &answer);
        let answer = files::answer_from_bytes(&prepared, &answer).unwrap();
        let found = analyst.decrypt(&answer, &query).unwrap();
        // An answer belongs to its query, whoever encrypted it.
        assert!(analyst.decrypt(&answer, &own).is_err());
        assert!(found.margin_bits > 0.0);
    }
    // The same key encrypts for every program of the same parameters.
    let other = prepared_of(table_program(1));
    let error = files::encryption_key_from_bytes(&other, &key).unwrap_err();
    assert!(matches!(error, Error::Profile { .. }), "{error}");
}

/// The noise is that of the formula, from both sides, and much more than that of the secret.
#[test]
fn queries_have_the_noise_of_the_formula() {
    let prepared = prepared_of(small_program());
    let analyst = client_of(&prepared, 82);
    let (bfv, secret) = (prepared.params().bfv(), analyst.keys().secret());
    let model = Model::new(bfv);
    let bits = |query: &Query| {
        let (size, _) = bfv::measure(bfv, secret, &query.ciphertexts[0]).unwrap();
        size.log2_rms
    };
    let (public, own) = (model.fresh_public().bits(), model.fresh().bits());
    assert!(public > own + 6.0);
    for _ in 0..8 {
        // 8,192 coefficients: a relative deviation of 0.008, and as much of `u` and of the key.
        let found = bits(&encryptor(&analyst).encrypt(&[image()]).unwrap());
        assert!((found - public).abs() < 0.1, "{found}, expected {public}");
        let found = bits(&analyst.encrypt(&[image()]).unwrap());
        assert!((found - own).abs() < 0.1, "{found}, expected {own}");
    }
}

/// A linear model reads inputs into its outputs, so that their noise rises. The client expects it.
#[test]
fn outputs_of_a_linear_model_have_the_noise_that_the_program_states() {
    let network = regression(|_| -120);
    let program = compile(&network, Options::default()).unwrap();
    let promise = program.prediction.public_inputs.unwrap();
    assert!((7..=9).contains(&promise.rise_bits), "{promise:?}");
    let prepared = Prepared::new(program.clone()).unwrap();
    let analyst = client_of(&prepared, 83);
    let keys = analyst.evaluation_keys().unwrap();
    let noise_bits = |query: &Query| {
        let server = Server::new(&prepared, &keys);
        let (raw, _) = server.raw_answer(query, None, |_| true, |_| true).unwrap();
        let (bfv, secret) = (prepared.params().bfv(), analyst.keys().secret());
        let (size, _) = bfv::measure(bfv, secret, &raw.ciphertexts[0]).unwrap();
        size.log2_rms
    };
    let stated = f64::from(prepared.outputs()[0].noise_bits);
    let public = stated + f64::from(promise.rise_bits);
    let query = encryptor(&analyst).encrypt(&[input()]).unwrap();
    let own = analyst.encrypt(&[input()]).unwrap();
    for (query, bound) in [(&query, public), (&own, stated)] {
        let found = noise_bits(query);
        // Whole bits are stated, and a measurement of one key strays by less than 0.1.
        assert!(
            found < bound + 0.1 && found > bound - 1.1,
            "2^{found:.2}, stated 2^{bound}"
        );
    }
    let (answer, _) = Server::new(&prepared, &keys).run(&query, |_| true).unwrap();
    let logits = analyst.decrypt(&answer, &query).unwrap().logits;
    let exact = Evaluator::new(&network)
        .unwrap()
        .evaluate(&input())
        .unwrap();
    assert_eq!(logits[0], exact.logits);

    // A program that states less is refused, and with a client's file that does, so is the answer.
    let mut less = program;
    less.prediction.public_inputs = Some(PublicInputs {
        rise_bits: 0,
        ..promise
    });
    let error = Prepared::new(less.clone()).err().unwrap().to_string();
    assert!(error.contains("the rise of noise"), "{error}");
    let terms = files::terms_to_bytes(&exchange::Verified::new(less).unwrap());
    let wrong = files::terms_from_bytes(&terms).unwrap();
    let wrong = Client::new(&wrong, analyst.secret()).unwrap();
    let error = wrong.decrypt(&answer, &query).unwrap_err();
    assert!(matches!(error, client::Error::NoMargin { .. }), "{error}");
    // Traces expand masks from seeds.
    let trace = prepared.lower().unwrap();
    replay_run(&prepared, &trace, (&keys, &own), |_| true).unwrap();
    let error = replay_run(&prepared, &trace, (&keys, &query), |_| true).err();
    let words = error.unwrap().to_string();
    assert!(words.contains("run them on the CPU"), "{words}");
}

/// Floods are planned for the noise of inputs under the secret. Outputs that read inputs would show
/// the noise of a public key through them. Tables stand between in other networks.
#[test]
fn a_program_without_room_takes_no_inputs_under_a_public_key() {
    let hidden = compile(&regression(|_| -120), flooded(ANSWERS)).unwrap();
    assert_eq!(hidden.prediction.public_inputs, None);
    let prepared = Prepared::new(hidden.clone()).unwrap();
    let refusal = prepared.public_run().promise(MAX_LOG2_FAILURE).unwrap_err();
    assert!(
        matches!(refusal, Refusal::Floods { log2_distance } if (-36.0..-30.0).contains(&log2_distance)),
        "{refusal:?}"
    );
    let client = client_of(&prepared, 84);
    let key = client.encryption_key();
    let error = Encryptor::new(&prepared, &key).err().unwrap().to_string();
    assert!(error.contains("compile it again"), "{error}");

    // A program that claims the room is not prepared, and a server without a promise refuses a
    // query before its first step.
    let promise = PublicInputs {
        log2_failure: -40,
        rise_bits: 0,
    };
    let mut claimed = hidden;
    claimed.prediction.public_inputs = Some(promise);
    let error = Prepared::new(claimed.clone()).err().unwrap().to_string();
    assert!(error.contains("the floods"), "{error}");
    let claimed = exchange::Verified::new(claimed).unwrap();
    let query = Encryptor::new(&claimed, &key).unwrap();
    let query = query.encrypt(&[input()]).unwrap();
    let keys = client.evaluation_keys().unwrap();
    let error = steps_until_refused(&prepared, &keys, &query);
    assert!(error.contains("compile it again"), "{error}");
    assert!(
        client
            .decrypt(
                &Server::new(&prepared, &keys)
                    .run(&client.encrypt(&[input()]).unwrap(), |_| true)
                    .unwrap()
                    .0,
                &query
            )
            .is_err()
    );

    let tables = compile(&deep(false), flooded(ANSWERS)).unwrap();
    let promise = tables.prediction.public_inputs.unwrap();
    assert_eq!(promise.rise_bits, 0);
    assert!(f64::from(promise.log2_failure) < tables.prediction.log2_failure + 1.0);
}

#[test]
fn a_promise_that_the_steps_do_not_keep_is_refused() {
    let mut program = promised(small_program());
    let promise = program.prediction.public_inputs.unwrap();
    program.prediction.public_inputs = Some(PublicInputs {
        log2_failure: 2 * promise.log2_failure,
        ..promise
    });
    let error = Prepared::new(program.clone()).err().unwrap().to_string();
    assert!(error.contains("under a public key is wrong"), "{error}");
    for (log2_failure, rise_bits) in [(-39, 0), (0, 0), (i32::MAX, 0), (-40, 65), (-40, u32::MAX)] {
        program.prediction.public_inputs = Some(PublicInputs {
            log2_failure,
            rise_bits,
        });
        assert!(program.verify().is_err());
        assert!(program.terms().verify().is_err());
    }
}

/// Programs, clients' files and queries without a public key are those of the versions before, byte
/// for byte, and the promise changes no identity.
#[test]
fn a_promise_changes_no_identity_and_old_files_have_none() {
    let (old, new) = (
        Prepared::new(small_program()).unwrap(),
        prepared_of(small_program()),
    );
    assert_eq!(old.fingerprint(), new.fingerprint());
    assert_eq!(old.input_layout(), new.input_layout());
    assert_eq!(old.profile(), new.profile());
    let version = |bytes: &[u8]| u32::from_le_bytes(bytes[12..16].try_into().unwrap());
    for (prepared, [terms, program]) in [(&old, [1, 2]), (&new, [2, 3])] {
        let file = files::terms_to_bytes(prepared);
        assert_eq!(version(&file), terms);
        let read = files::terms_from_bytes(&file).unwrap();
        assert_eq!(files::terms_to_bytes(&read), file);
        let file = files::program_to_bytes(prepared);
        assert_eq!(version(&file), program);
        let read = files::program_from_bytes(&file).unwrap();
        assert_eq!(files::program_to_bytes(&read), file);
    }
    let client = client_of(&old, 85);
    let query = files::query_to_bytes(&client.encrypt(&[image()]).unwrap());
    assert_eq!(version(&query), 2);
    let key = client.encryption_key();
    assert!(Encryptor::new(&old, &key).is_err());
    // Old programs refuse what the new one takes.
    let query = Encryptor::new(&new, &key).unwrap();
    let query = query.encrypt(&[image()]).unwrap();
    assert_eq!(version(&files::query_to_bytes(&query)), 3);
    let keys = client.evaluation_keys().unwrap();
    let error = steps_until_refused(&old, &keys, &sent(&old, &query));
    assert!(error.contains("compile it again"), "{error}");
}

#[test]
fn mixed_up_and_foreign_keys_are_refused_before_work() {
    let prepared = prepared_of(small_program());
    let (ours, theirs) = (client_of(&prepared, 86), client_of(&prepared, 87));
    let (our_keys, their_keys) = (
        ours.evaluation_keys().unwrap(),
        theirs.evaluation_keys().unwrap(),
    );
    let query = encryptor(&ours).encrypt(&[image()]).unwrap();
    let query = sent(&prepared, &query);
    let error = steps_until_refused(&prepared, &their_keys, &query);
    assert!(error.contains("belongs to key"), "{error}");
    let (answer, _) = Server::new(&prepared, &our_keys)
        .run(&query, |_| true)
        .unwrap();
    let error = theirs.decrypt(&answer, &query).unwrap_err();
    assert!(error.to_string().contains("belongs to key"), "{error}");
    ours.decrypt(&answer, &query).unwrap();

    // A key of other moduli, and one of too low a level.
    let deeper = prepared_of(deep_program());
    let key = client_of(&deeper, 86).encryption_key();
    let error = Encryptor::new(&prepared, &key).err().unwrap().to_string();
    assert!(error.contains("other parameters"), "{error}");
    let rng = &mut ChaCha20Rng::seed_from_u64(86);
    let low = rlwe::PublicKey::generate_at(ours.keys().secret(), 0, rng);
    let low = EncryptionKey::new(prepared.params(), *ours.secret().label(), low);
    let file = files::encryption_key_to_bytes(&low);
    let low = files::encryption_key_from_bytes(&prepared, &file).unwrap();
    let error = Encryptor::new(&prepared, &low).err().unwrap().to_string();
    assert!(error.contains("expected at least 1: the owner"), "{error}");
    // One of a higher level serves.
    let high = rlwe::PublicKey::generate_at(ours.keys().secret(), 2, rng);
    let high = EncryptionKey::new(prepared.params(), *ours.secret().label(), high);
    let query = Encryptor::new(&prepared, &high).unwrap();
    let query = query.encrypt(&[image()]).unwrap();
    assert_eq!(query.ciphertexts[0].level(), 1);
    Server::new(&prepared, &our_keys)
        .run(&query, |_| true)
        .unwrap();
}

/// A known answer: a file that changes would no longer be read by the versions before.
#[test]
fn a_public_key_has_the_same_bytes_for_ever() {
    let prepared = Prepared::new(small_program()).unwrap();
    let client = client_of(&prepared, 88);
    let rng = &mut ChaCha20Rng::seed_from_u64(88);
    let key = client.encryption_key_from(rng);
    let file = files::encryption_key_to_bytes(&key);
    assert_eq!(
        fingerprint(&file)[..8],
        KNOWN_KEY,
        "{:?}",
        &fingerprint(&file)[..8]
    );
    let read = files::encryption_key_from_bytes(&prepared, &file).unwrap();
    assert_eq!(read, key);
    assert_eq!(files::encryption_key_to_bytes(&read), file);
    let (profile, label) = files::encryption_key_head(&file).unwrap();
    assert_eq!((&profile, &label), (key.profile(), client.secret().label()));
    let query = Encryptor::new(&prepared_of(small_program()), &key).unwrap();
    let query = query.encrypt_from(&[image()], rng).unwrap();
    let hash = query.hash();
    assert_eq!(hash[..8], KNOWN_QUERY, "{:?}", &hash[..8]);
}

const KNOWN_KEY: [u8; 8] = [225, 192, 92, 22, 142, 49, 127, 134];
const KNOWN_QUERY: [u8; 8] = [87, 73, 220, 52, 25, 98, 247, 195];

/// Files that no honest client writes. Each is refused, without a panic and before a polynomial is
/// read.
#[test]
fn hostile_public_keys_are_refused() {
    let prepared = prepared_of(small_program());
    let key = client_of(&prepared, 89).encryption_key();
    let own = key.profile();
    let file = |profile: &str, label: &str, rest: &[u8]| {
        let mut w = Writer::new();
        w.block(profile.as_bytes());
        w.block(label.as_bytes());
        rest.iter().for_each(|&byte| w.u64(u64::from(byte)));
        let kind = Kind {
            tag: *b"PKEY",
            words: "a public key",
            version: 1,
        };
        w.seal(&kind, &fingerprint(profile.as_bytes()))
    };
    let label = Label::default().to_json();
    let changed = |change: &dyn Fn(&mut Profile)| {
        let mut profile = own.clone();
        change(&mut profile);
        file(&profile.to_json(), &label, &[])
    };
    let hostile = [
        changed(&|p| p.public = None),
        changed(&|p| p.public = Some(99)),
        changed(&|p| p.public = Some(usize::MAX)),
        changed(&|p| p.relinearization = Some(1)),
        changed(&|p| p.dimension = true),
        changed(&|p| p.galois.push((5, 1))),
        changed(&|p| p.n = usize::MAX),
        changed(&|p| p.q.clear()),
        changed(&|p| p.q[0] += 2),
        changed(&|_| ()),
        file(&own.to_json(), &label, &[0; 100]),
        file("{}", &label, &[]),
        file("", &label, &[]),
        file(&own.to_json(), "3", &[]),
        file(&"[".repeat(2 << 20), &label, &[]),
    ];
    for bytes in hostile {
        assert!(files::encryption_key_from_bytes(&prepared, &bytes).is_err());
    }
    // Every residue is below its modulus.
    let mut file = files::encryption_key_to_bytes(&key);
    let end = file.len() - 32;
    file[end - 64..end].fill(0xff);
    let checksum = fingerprint(&file[..end]);
    file[end..].copy_from_slice(&checksum);
    assert!(files::encryption_key_from_bytes(&prepared, &file).is_err());

    // Bytes of a query, changed at random and sealed again: read or refused, never a panic.
    let query = encryptor(&client_of(&prepared, 89));
    let query = files::query_to_bytes(&query.encrypt(&[image()]).unwrap());
    let rng = &mut ChaCha20Rng::seed_from_u64(90);
    let mut read = 0;
    for _ in 0..200 {
        use rand::Rng;
        let mut file = query.clone();
        let end = file.len() - 32;
        for _ in 0..rng.random_range(1..4) {
            let place = rng.random_range(56..end);
            file[place] ^= rng.random::<u8>();
        }
        if rng.random_range(0..4) == 0 {
            let end = rng.random_range(56..end);
            file.truncate(end);
            file.extend([0; 32]);
            let length = (end - 56) as u64;
            file[48..56].copy_from_slice(&length.to_le_bytes());
        }
        let end = file.len() - 32;
        let checksum = fingerprint(&file[..end]);
        file[end..].copy_from_slice(&checksum);
        read += usize::from(files::query_from_bytes(&prepared, &file).is_ok());
        let _ = files::query_head(&file);
    }
    assert!((1..200).contains(&read), "{read} were valid");
}
