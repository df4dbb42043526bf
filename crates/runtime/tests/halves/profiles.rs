//! Keys and queries that outlive a program: key profiles, input layouts, and labels.

use crate::common::{deep_program, small_program, table_program};
use crate::halves::{client_from, client_of, image, other_program, secret_bytes};
use client::{Client, ClientSecret, system_rng};
use exchange::{Error, EvaluationKeys, Exchange, Label, Need, Needs, Profile, Query, files};
use palladion_runtime::{Prepared, Server};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use rlwe::KeyId;
use rlwe::bytes::{Fingerprint, Kind, Writer, fingerprint};

fn file_of(client: &Client, needs: &Needs) -> Vec<u8> {
    let mut bytes = Vec::new();
    client
        .write_evaluation_keys(needs, &mut system_rng(), &mut bytes)
        .unwrap();
    bytes
}

fn keys_of(client: &Client) -> Vec<u8> {
    file_of(client, &client.exchange().needs())
}

/// A network that is trained again has other weights. Keys, query and secret are those of the first
/// one, and each answer belongs to its own program.
#[test]
fn a_retrained_network_takes_old_keys_and_old_queries() {
    let (first, second) = (
        Prepared::new(small_program()).unwrap(),
        Prepared::new(other_program()).unwrap(),
    );
    assert_ne!(first.fingerprint(), second.fingerprint());
    let client = client_of(&first, 61);
    let keys = keys_of(&client);
    let query = client.encrypt(&[image()]).unwrap();
    let sent = files::query_to_bytes(&query);

    let answer_of = |prepared: &Prepared| {
        let keys = files::keys_from_bytes(prepared, &keys).unwrap();
        let query = files::query_from_bytes(prepared, &sent).unwrap();
        let (answer, _) = Server::new(prepared, &keys).run(&query, |_| true).unwrap();
        files::answer_to_bytes(prepared, &answer)
    };
    let logits_of = |prepared: &Prepared| {
        let client = Client::new(prepared, client.secret()).unwrap();
        let answer = files::answer_from_bytes(prepared, &answer_of(prepared)).unwrap();
        client.decrypt(&answer, &query).unwrap().logits
    };
    assert_ne!(logits_of(&first), logits_of(&second));
    // The answer of one is not taken for the answer of the other.
    assert!(files::answer_from_bytes(&first, &answer_of(&second)).is_err());
}

#[test]
fn a_set_serves_programs_that_need_fewer_keys_and_a_second_file_adds_what_is_missing() {
    let prepared = Prepared::new(small_program()).unwrap();
    let client = client_of(&prepared, 62);
    let needs = prepared.needs();
    // Some keys, then the others: the second file has exactly what the first one lacks.
    let some: Needs = needs.each().step_by(2).collect();
    let first = file_of(&client, &some);
    let error = files::keys_from_bytes(&prepared, &first).err().unwrap();
    let lacking = needs.each().count() - some.each().count();
    assert!(
        matches!(error, Error::MissingKeys { count, .. } if count == lacking),
        "{error}"
    );
    let (profile, label) = files::keys_head(&first[..]).unwrap();
    assert_eq!(label, *client.secret().label());
    let missing = profile.missing(prepared.profile()).unwrap();
    assert_eq!(missing.each().count(), lacking);
    let rest = needs.without(&profile.needs());
    let second = file_of(&client, &rest);
    let length = |needs: &Needs| files::keys_file_len(prepared.params(), needs).unwrap();
    assert_eq!([first.len(), second.len()], [length(&some), length(&rest)]);
    let read = |bytes: &[u8]| files::some_keys_from_bytes(&prepared, bytes).unwrap();
    let mut keys = read(&first);
    keys.merge(read(&second)).unwrap();
    keys.check(&needs).unwrap();
    let query = client.encrypt(&[image()]).unwrap();
    let (answer, _) = Server::new(&prepared, &keys).run(&query, |_| true).unwrap();
    client.decrypt(&answer, &query).unwrap();

    // Keys of a higher level, and keys that the program does not use.
    let mut more: Needs = needs
        .each()
        .map(|need| match need {
            Need::Galois { element, .. } => Need::Galois { element, level: 2 },
            other => other,
        })
        .collect();
    more.galois(5, 1);
    let all = files::keys_from_bytes(&prepared, &file_of(&client, &more)).unwrap();
    assert!(
        !all.needs().has(Need::Galois {
            element: 5,
            level: 0
        }) || needs.has(Need::Galois {
            element: 5,
            level: 0
        })
    );
    let (answer, _) = Server::new(&prepared, &all).run(&query, |_| true).unwrap();
    client.decrypt(&answer, &query).unwrap();
    // A file keeps what was read.
    let again = files::keys_to_bytes(prepared.params(), &all).unwrap();
    assert_eq!(
        files::keys_from_bytes(&prepared, &again).unwrap().needs(),
        all.needs()
    );
}

/// Mixed-up keys are refused before the first step, in every combination.
#[test]
fn keys_and_queries_of_two_secrets_do_not_meet() {
    let prepared = Prepared::new(small_program()).unwrap();
    let (ours, theirs) = (client_of(&prepared, 63), client_of(&prepared, 64));
    let read = |bytes: &[u8]| files::keys_from_bytes(&prepared, bytes).unwrap();
    let (our_keys, their_keys) = (read(&keys_of(&ours)), read(&keys_of(&theirs)));
    let sent =
        |query: &Query| files::query_from_bytes(&prepared, &files::query_to_bytes(query)).unwrap();
    let query = sent(&ours.encrypt(&[image()]).unwrap());
    assert_eq!(query.key().unwrap(), ours.secret().label().key);
    let mut steps = 0;
    let error = Server::new(&prepared, &their_keys)
        .run(&query, |_| {
            steps += 1;
            true
        })
        .unwrap_err();
    assert_eq!(steps, 0);
    assert!(error.to_string().contains("belongs to key"), "{error}");
    let (answer, _) = Server::new(&prepared, &our_keys)
        .run(&query, |_| true)
        .unwrap();
    let answer = files::answer_to_bytes(&prepared, &answer);
    let answer = files::answer_from_bytes(&prepared, &answer).unwrap();
    assert_eq!(answer.key().unwrap(), ours.secret().label().key);
    let error = theirs.decrypt(&answer, &query).unwrap_err();
    assert!(error.to_string().contains("belongs to key"), "{error}");
    ours.decrypt(&answer, &query).unwrap();
    let mut both = our_keys.clone();
    let error = both.merge(their_keys).unwrap_err();
    assert!(error.to_string().contains("belongs to key"), "{error}");
}

/// A secret expands to the same polynomials in every program of its degree, whatever the moduli, so
/// it has the same identity everywhere.
#[test]
fn one_secret_serves_several_programs() {
    let secret = ClientSecret::generate(&mut ChaCha20Rng::seed_from_u64(65));
    let of = |exchange: &Exchange| Client::new(exchange, &secret).unwrap();
    let (small, deep) = (
        Prepared::new(small_program()).unwrap(),
        Prepared::new(deep_program()).unwrap(),
    );
    let table = Prepared::new(table_program(1)).unwrap();
    let coefficients = |client: &Client| client.keys().secret().coefficients().to_vec();
    let (a, b, c) = (of(&small), of(&deep), of(&table));
    assert_eq!(coefficients(&a), coefficients(&b));
    assert_ne!(coefficients(&a)[..64], coefficients(&c)[..64]);
    assert_eq!(a.keys().secret().id(), c.keys().secret().id());
    // Both programs encrypt modulo the same two moduli, and the places of the image are the same.
    assert_eq!(small.input_layout(), deep.input_layout());
    let query = a.encrypt(&[image()]).unwrap();
    for client in [a, b] {
        let prepared = Prepared::of(if client.exchange().fingerprint() == small.fingerprint() {
            &small
        } else {
            &deep
        })
        .unwrap();
        let keys = client.evaluation_keys().unwrap();
        let (answer, _) = Server::new(&prepared, &keys).run(&query, |_| true).unwrap();
        client.decrypt(&answer, &query).unwrap();
    }
}

/// A known answer, so that a secret in a file never changes: the first coefficients of the seed of
/// bytes 0 to 31, computed by an independent program from the definition (ChaCha20, bytes below 243,
/// digits to the base 3).
#[test]
fn a_seed_gives_the_same_secret_for_ever() {
    let seed: [u8; 32] = std::array::from_fn(|i| i as u8);
    let secret = ClientSecret::from_seed(seed.into());
    let prepared = Prepared::new(small_program()).unwrap();
    let client = Client::new(&prepared, &secret).unwrap();
    assert_eq!(client.keys().secret().coefficients()[..16], KNOWN_RING);
    assert_eq!(client.keys().lwe().coefficients()[..16], KNOWN_LWE);
    assert_eq!(secret.label().key.to_bytes(), KNOWN_ID);
}

const KNOWN_RING: [i64; 16] = [-1, 1, 1, 0, 1, 1, -1, -1, 1, 1, -1, 0, 0, 1, 1, 1];
const KNOWN_LWE: [i64; 16] = [-1, -1, 1, 0, 0, 0, 1, 1, 0, -1, -1, -1, -1, -1, -1, 1];
const KNOWN_ID: [u8; 16] = [
    228, 138, 44, 228, 88, 175, 63, 118, 96, 43, 166, 254, 180, 88, 185, 212,
];

#[test]
fn keys_whose_life_has_ended_are_refused() {
    let label = Label {
        key: KeyId::from_bytes([3; 16]),
        created: Some(1_000),
        expires: Some(2_000),
    };
    label.check("the evaluation keys", 1_999).unwrap();
    let error = label
        .check("the evaluation keys", 2_000 + 50 * 3_600)
        .unwrap_err();
    let words = error.to_string();
    assert!(
        words.contains("key 030303030303") && words.contains("2 days"),
        "{words}"
    );
    // A later version may say more.
    let later = r#"{"key":"03030303030303030303030303030303","expires":2000,"owner":"x"}"#;
    assert_eq!(Label::from_json(later).unwrap().expires, Some(2_000));
}

/// Heads that no honest client writes. Each is refused, without a panic and before a key is read.
#[test]
fn hostile_profiles_are_refused() {
    let prepared = Prepared::new(small_program()).unwrap();
    let own = prepared.profile();
    let file = |profile: &str, label: &str| {
        let mut w = Writer::new();
        w.block(profile.as_bytes());
        w.block(label.as_bytes());
        let kind = Kind {
            tag: *b"EKEY",
            words: "evaluation keys",
            version: 3,
        };
        w.seal(&kind, &fingerprint(profile.as_bytes()))
    };
    let label = Label::default().to_json();
    let changed = |change: &dyn Fn(&mut Profile)| {
        let mut profile = own.clone();
        change(&mut profile);
        file(&profile.to_json(), &label)
    };
    let hostile = [
        changed(&|p| p.galois[0].1 = usize::MAX),
        changed(&|p| p.galois[0].1 = p.q.len()),
        changed(&|p| p.galois[0].0 = 4),
        changed(&|p| p.galois[0].0 = usize::MAX),
        changed(&|p| p.packing[0].0 = 3),
        changed(&|p| p.packing[0].0 = 2 * p.n),
        changed(&|p| p.public = Some(99)),
        changed(&|p| p.relinearization = Some(99)),
        changed(&|p| p.n = usize::MAX),
        changed(&|p| p.q.clear()),
        changed(&|p| p.p[0] += 2),
        changed(&|p| p.baby_steps = 0),
        file("{}", &label),
        file("", &label),
        file(&own.to_json(), "3"),
        file(&own.to_json(), r#"{"key":"zz"}"#),
        file(&"[".repeat(2 << 20), &label),
    ];
    for bytes in hostile {
        assert!(files::keys_from_bytes(&prepared, &bytes).is_err());
        // The head alone may be well formed, but it names no ring.
        let params = files::keys_head(&bytes[..]).and_then(|(profile, _)| {
            profile.params()?;
            prepared.profile().check_parameters(&profile)
        });
        assert!(params.is_err());
    }
    // An honest head without keys behind it.
    let empty = file(&own.to_json(), &label);
    assert!(files::keys_from_bytes(&prepared, &empty).is_err());
    let params = files::keys_head(&empty[..]).unwrap().0.params().unwrap();
    assert_eq!(Profile::new(&params, &own.needs()), *own);
    assert!(EvaluationKeys::default().check(&prepared.needs()).is_err());
}

/// The payload of a file, sealed again as another version with another fingerprint.
fn resealed(tag: [u8; 4], version: u32, made_for: &Fingerprint, payload: &[u8]) -> Vec<u8> {
    let mut file = b"PALLADIO".to_vec();
    file.extend_from_slice(&tag);
    file.extend_from_slice(&version.to_le_bytes());
    file.extend_from_slice(made_for);
    file.extend_from_slice(&(payload.len() as u64).to_le_bytes());
    file.extend_from_slice(payload);
    let checksum = fingerprint(&file);
    file.extend_from_slice(&checksum);
    file
}

/// Files before profiles and identities: bound to one program, and of no stated secret. They are
/// today's files without what came later, as their formats were.
#[test]
fn files_of_the_versions_before_are_read() {
    let prepared = Prepared::new(small_program()).unwrap();
    let other = Prepared::new(other_program()).unwrap();
    let (client, made_for) = (client_of(&prepared, 66), prepared.fingerprint());
    let payload = |file: &[u8]| file[56..file.len() - 32].to_vec();

    let file = payload(&keys_of(&client));
    let block = |at: usize| 8 + u64::from_le_bytes(file[at..at + 8].try_into().unwrap()) as usize;
    let head = block(0);
    let old_keys = resealed(*b"EKEY", 2, made_for, &file[head + block(head)..]);
    let keys = files::keys_from_bytes(&prepared, &old_keys).unwrap();
    assert_eq!(keys.id().unwrap(), KeyId::ANY);
    assert!(files::keys_from_bytes(&other, &old_keys).is_err());

    let secrets = [
        client.keys().secret().coefficients(),
        client.keys().lwe().coefficients(),
    ];
    let bytes: Vec<u8> = secrets.concat().iter().map(|&c| c as i8 as u8).collect();
    let old_secret = resealed(*b"SKEY", 1, made_for, &bytes);
    let read = client_from(&prepared, &old_secret).unwrap();
    assert_eq!(
        secret_bytes(&read),
        secret_bytes(&client_from(&prepared, &secret_bytes(&read)).unwrap())
    );
    assert_eq!(read.keys().secret().coefficients(), secrets[0]);
    // It has coefficients of one degree alone.
    let larger = Prepared::new(table_program(1)).unwrap();
    assert!(client_from(&larger, &old_secret).is_err());

    let mut file = payload(&files::query_to_bytes(&read.encrypt(&[image()]).unwrap()));
    file.drain(40..56);
    let old_query = resealed(*b"ENCI", 1, made_for, &file);
    let query = files::query_from_bytes(&prepared, &old_query).unwrap();
    assert_eq!(files::query_to_bytes(&query), old_query);
    assert!(files::query_from_bytes(&other, &old_query).is_err());

    let (answer, _) = Server::new(&prepared, &keys).run(&query, |_| true).unwrap();
    let mut file = payload(&files::answer_to_bytes(&prepared, &answer));
    file.drain(48..64);
    let old_answer = resealed(*b"ENCO", 2, made_for, &file);
    let answer = files::answer_from_bytes(&prepared, &old_answer).unwrap();
    read.decrypt(&answer, &query).unwrap();
}
