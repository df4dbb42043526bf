//! Files: complete, damaged, of another kind or program, and files of keys written one at a time.

use crate::common::{small_program, table_program};
use crate::halves::public::promised;
use crate::halves::{Exchanged, client_from, client_of, image, other_program, secret_bytes};
use client::{Client, Encryptor};
use exchange::files::KeysWriter;
use exchange::{Error, EvaluationKey, Label, Need, Verified, files};
use palladion_runtime::{Prepared, Server};
use program::{Program, Type};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use rlwe::bytes::{BytesError, Fingerprint, Kind, Writer, fingerprint};

/// An answer belongs to one program, and what a client sends to the parameters of `table_program`.
#[test]
fn files_of_another_program_are_refused() {
    let prepared = Prepared::new(small_program()).unwrap();
    let other = Prepared::new(other_program()).unwrap();
    let larger = Prepared::new(table_program(1)).unwrap();
    let (ours, theirs) = (client_of(&prepared, 3), client_of(&larger, 3));
    let (our_keys, their_keys) = (
        ours.evaluation_keys().unwrap(),
        theirs.evaluation_keys().unwrap(),
    );
    let query = ours.encrypt(&[image()]).unwrap();
    let their_query = theirs.encrypt(&[image()]).unwrap();
    let (answer, _) = Server::new(&prepared, &our_keys)
        .run(&query, |_| true)
        .unwrap();
    let bytes = files::answer_to_bytes(&prepared, &answer);
    let error = files::answer_from_bytes(&other, &bytes).unwrap_err();
    assert!(
        matches!(error, Error::Bytes(BytesError::Fingerprint { .. })),
        "{error}"
    );

    let bytes = files::keys_to_bytes(larger.params(), &their_keys).unwrap();
    let error = files::keys_from_bytes(&prepared, &bytes).err().unwrap();
    assert!(matches!(error, Error::Profile { .. }), "{error}");
    let errors = [
        files::query_from_bytes(&prepared, &files::query_to_bytes(&their_query))
            .err()
            .map(Exchanged::exchanged),
        // The same checks apply in memory and in files.
        Server::new(&prepared, &our_keys)
            .run(&their_query, |_| true)
            .err()
            .map(Exchanged::exchanged),
    ];
    for error in errors {
        assert!(matches!(error, Some(Error::Layout { .. })), "{error:?}");
    }
}

#[test]
fn one_kind_of_file_is_not_taken_for_another() {
    let prepared = Prepared::new(small_program()).unwrap();
    let program = files::program_to_bytes(&prepared);
    let client = secret_bytes(&client_of(&prepared, 4));
    let errors = [
        files::encryption_key_from_bytes(&prepared, &program)
            .err()
            .map(Exchanged::exchanged),
        files::terms_from_bytes(&program)
            .err()
            .map(Exchanged::exchanged),
        files::program_from_bytes(&files::terms_to_bytes(&prepared))
            .err()
            .map(Exchanged::exchanged),
        files::program_from_bytes(&client)
            .err()
            .map(Exchanged::exchanged),
        client_from(&prepared, &program)
            .err()
            .map(Exchanged::exchanged),
        files::keys_from_bytes(&prepared, &client)
            .err()
            .map(Exchanged::exchanged),
        files::query_from_bytes(&prepared, &client)
            .err()
            .map(Exchanged::exchanged),
        files::answer_from_bytes(&prepared, &client)
            .err()
            .map(Exchanged::exchanged),
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
    let query = client.encrypt(&[image()]).unwrap();
    let (answer, _) = Server::new(&prepared, &keys).run(&query, |_| true).unwrap();
    type Read<'a> = Box<dyn Fn(&[u8]) -> Option<Error> + 'a>;
    let p = &prepared;
    let public = client.encryption_key();
    let promising = Prepared::new(promised(small_program())).unwrap();
    let encryptor = Encryptor::new(&promising, &public).unwrap();
    let kinds: [(Vec<u8>, Read<'_>); 8] = [
        (
            files::encryption_key_to_bytes(&public),
            Box::new(|bytes| {
                files::encryption_key_from_bytes(p, bytes)
                    .err()
                    .map(Exchanged::exchanged)
            }),
        ),
        (
            files::query_to_bytes(&encryptor.encrypt(&[image()]).unwrap()),
            Box::new(|bytes| {
                files::query_from_bytes(p, bytes)
                    .err()
                    .map(Exchanged::exchanged)
            }),
        ),
        (
            files::terms_to_bytes(p),
            Box::new(|bytes| {
                files::terms_from_bytes(bytes)
                    .err()
                    .map(Exchanged::exchanged)
            }),
        ),
        (
            files::program_to_bytes(p),
            Box::new(|bytes| {
                files::program_from_bytes(bytes)
                    .err()
                    .map(Exchanged::exchanged)
            }),
        ),
        (
            secret_bytes(&client).to_vec(),
            Box::new(|bytes| client_from(p, bytes).err().map(Exchanged::exchanged)),
        ),
        (
            files::keys_to_bytes(p.params(), &keys).unwrap(),
            Box::new(|bytes| {
                files::keys_from_bytes(p, bytes)
                    .err()
                    .map(Exchanged::exchanged)
            }),
        ),
        (
            files::query_to_bytes(&query),
            Box::new(|bytes| {
                files::query_from_bytes(p, bytes)
                    .err()
                    .map(Exchanged::exchanged)
            }),
        ),
        (
            files::answer_to_bytes(p, &answer),
            Box::new(|bytes| {
                files::answer_from_bytes(p, bytes)
                    .err()
                    .map(Exchanged::exchanged)
            }),
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
fn keys_written_one_at_a_time_are_read_whole() {
    let prepared = Prepared::new(table_program(1)).unwrap();
    let client = Client::generate(&prepared);
    let rng = || ChaCha20Rng::seed_from_u64(5);
    let mut written = Vec::new();
    let digest = client
        .write_evaluation_keys(&prepared.needs(), &mut rng(), &mut written)
        .unwrap();
    assert_eq!(digest, fingerprint(&written));
    let keys = files::keys_from_bytes(&prepared, &written).unwrap();
    assert!(written == files::keys_to_bytes(prepared.params(), &keys).unwrap());
    // An output that only has room for half of the bytes.
    let mut room = vec![0; written.len() / 2];
    let error = client
        .write_evaluation_keys(&prepared.needs(), &mut rng(), &mut room[..])
        .unwrap_err();
    assert!(
        error.to_string().starts_with("cannot read or write: "),
        "{error}"
    );
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

/// A client that has only its file makes keys and queries, and decrypts. Programs of other weights
/// give the same file, but for the fingerprint.
#[test]
fn a_client_needs_its_file_alone() {
    let prepared = Prepared::new(small_program()).unwrap();
    let file = files::terms_to_bytes(&prepared);
    assert!(file.len() < 2_000, "{} bytes", file.len());
    let terms = files::terms_from_bytes(&file).unwrap();
    assert_eq!(files::terms_to_bytes(&terms), file);
    let client = Client::generate(&terms);
    let keys = files::keys_to_bytes(terms.params(), &client.evaluation_keys().unwrap()).unwrap();
    let query = client.encrypt(&[image()]).unwrap();
    let keys = files::keys_from_bytes(&prepared, &keys).unwrap();
    let (answer, _) = Server::new(&prepared, &keys).run(&query, |_| true).unwrap();
    assert!(client.decrypt(&answer, &query).is_ok());

    let other = Verified::new(other_program()).unwrap();
    assert_ne!(other.fingerprint(), prepared.fingerprint());
    assert_eq!(other.terms(), prepared.terms());
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
    // The program compiled again has another fingerprint, and takes the same keys and queries.
    assert_ne!(
        Verified::new(small_program()).unwrap().fingerprint(),
        &whole
    );
    let refused = old([7; 32]).err().unwrap().to_string();
    assert!(refused.contains("made for other parameters"), "{refused}");
}

fn writer(prepared: &Prepared) -> KeysWriter<'_, Vec<u8>> {
    let label = Label::default();
    KeysWriter::new(prepared.params(), &prepared.needs(), &label, Vec::new()).unwrap()
}

#[test]
fn a_file_of_keys_takes_the_next_key_and_no_other() {
    let prepared = Prepared::new(table_program(1)).unwrap();
    let other = Prepared::new(small_program()).unwrap();
    let rng = &mut ChaCha20Rng::seed_from_u64(6);
    let keys_of = |prepared: &Prepared, rng: &mut ChaCha20Rng| {
        let (mut keys, client) = (Vec::new(), client_of(prepared, 6));
        let take = |key| {
            keys.push(key);
            Ok(())
        };
        let secrets = client.keys();
        secrets
            .each_evaluation_key(&prepared.needs(), rng, take)
            .unwrap();
        keys
    };
    let words = |found: exchange::Result<()>| found.unwrap_err().to_string();
    let needs: Vec<Need> = prepared.needs().each().collect();
    let names: Vec<Need> = keys_of(&prepared, rng)
        .iter()
        .map(EvaluationKey::need)
        .collect();
    assert_eq!(names, needs);

    // The second key before the first, fewer keys than all, and one more.
    let mut file = writer(&prepared);
    let second = keys_of(&prepared, rng).swap_remove(1);
    let refused = words(file.write(second));
    let [first, second] = [needs[0], needs[1]];
    assert_eq!(
        refused,
        format!("the next evaluation key is {second}, expected {first}")
    );
    let mut file = writer(&prepared);
    let mut keys = keys_of(&prepared, rng);
    let last = keys.pop().unwrap();
    keys.into_iter().for_each(|key| file.write(key).unwrap());
    let refused = words(file.end().map(drop));
    assert_eq!(
        refused,
        format!(
            "the next evaluation key is missing, expected {}",
            last.need()
        )
    );
    let mut file = writer(&prepared);
    keys_of(&prepared, rng)
        .into_iter()
        .for_each(|key| file.write(key).unwrap());
    let refused = words(file.write(last));
    assert!(refused.ends_with("expected none"), "{refused}");

    // A key of the same name with other parameters.
    let mut file = writer(&prepared);
    let theirs = keys_of(&other, rng);
    let mut wrong = keys_of(&prepared, rng).into_iter().map(|key| match key {
        EvaluationKey::Dimension(_) => theirs.iter().find_map(|key| match key {
            EvaluationKey::Dimension(key) => Some(EvaluationKey::Dimension(key.clone())),
            _ => None,
        }),
        own => Some(own),
    });
    let refused = wrong
        .find_map(|key| file.write(key.unwrap()).err())
        .unwrap();
    let about = "the number of bytes of an evaluation key";
    assert!(refused.to_string().starts_with(about), "{refused}");
}
