//! Evaluation keys in files: what is in memory, what is read again, and files that change.

use crate::common::small_program;
use crate::halves::{client_of, image};
use client::{Client, system_rng};
use exchange::files;
use palladion_runtime::{Error, KeyMemory, Prepared, Server, StoredKeys};
use rlwe::bytes::BytesError;
use std::fs;
use std::io::BufWriter;
use std::path::PathBuf;
use std::sync::Arc;

/// A folder that is removed in the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("palladion-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Writes the evaluation keys of a client.
    fn keys_of(&self, client: &Client, name: &str) -> PathBuf {
        let path = self.0.join(name);
        let file = BufWriter::new(fs::File::create(&path).unwrap());
        let needs = client.exchange().needs();
        client
            .write_evaluation_keys(&needs, &mut system_rng(), file)
            .unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn set(prepared: &Prepared) -> u64 {
    let (needs, params) = (prepared.needs(), prepared.params());
    (needs.byte_len(params).unwrap() + needs.baby_steps_byte_len(params).unwrap()) as u64
}

#[test]
fn three_clients_take_the_memory_of_two_and_answer_in_any_order() {
    let prepared = Prepared::new(small_program()).unwrap();
    let folder = Folder::new("three-clients");
    let memory = Arc::new(KeyMemory::new(2 * set(&prepared)));
    let clients = [81, 82, 83].map(|seed| client_of(&prepared, seed));
    let stored = [0, 1, 2].map(|index| {
        let path = folder.keys_of(&clients[index], &format!("{index}.key"));
        StoredKeys::open(&memory, &prepared, &[path]).unwrap()
    });
    assert_eq!(memory.held(), 2 * set(&prepared));
    for index in [2, 0, 1, 1, 0, 2] {
        let (client, keys) = (&clients[index], stored[index].get().unwrap());
        assert_eq!(stored[index].label().key, client.secret().label().key);
        let query = client.encrypt(&[image()]).unwrap();
        let (answer, _) = Server::new(&prepared, &keys).run(&query, |_| true).unwrap();
        client.decrypt(&answer, &query).unwrap();
        assert_eq!(memory.held(), 2 * set(&prepared));
    }
    // The least recently used are dropped: those of client 1.
    let same = |index: usize| {
        let first = stored[index].get().unwrap();
        Arc::ptr_eq(&first, &stored[index].get().unwrap())
    };
    assert!(stored[0].release() && stored[2].release() && !stored[1].release());
    assert_eq!(memory.held(), 0);
    assert!(same(0) && same(1));
    memory.set_budget(0);
    assert_eq!(memory.held(), set(&prepared)); // the latest stay
    assert!(same(2));
    assert!(!stored[0].release() && !stored[1].release());
    drop(stored);
    assert_eq!(memory.held(), 0);
}

#[test]
fn keys_in_use_outlive_their_place_in_the_memory() {
    let prepared = Prepared::new(small_program()).unwrap();
    let folder = Folder::new("keys-in-use");
    let memory = Arc::new(KeyMemory::new(u64::MAX));
    let client = client_of(&prepared, 84);
    let path = folder.keys_of(&client, "evaluation.key");
    let stored = StoredKeys::open(&memory, &prepared, &[path]).unwrap();
    let keys = stored.get().unwrap();
    let query = client.encrypt(&[image()]).unwrap();
    let released = Server::new(&prepared, &keys).run(&query, |_| {
        stored.release();
        true
    });
    client.decrypt(&released.unwrap().0, &query).unwrap();
    assert_eq!(memory.held(), 0);
}

#[test]
fn files_that_are_missing_damaged_or_replaced_are_named() {
    let prepared = Prepared::new(small_program()).unwrap();
    let folder = Folder::new("replaced");
    let memory = Arc::new(KeyMemory::new(u64::MAX));
    let client = client_of(&prepared, 85);
    let path = folder.keys_of(&client, "evaluation.key");
    let open = |path: &PathBuf| StoredKeys::open(&memory, &prepared, std::slice::from_ref(path));
    let missing = folder.0.join("missing.key");
    assert!(
        matches!(open(&missing).err(), Some(Error::Unreadable { path, .. }) if path == missing)
    );
    assert!(matches!(
        StoredKeys::open(&memory, &prepared, &[]).err(),
        Some(Error::Exchange(exchange::Error::MissingKeys { .. }))
    ));
    let stored = open(&path).unwrap();
    let bytes = fs::read(&path).unwrap();
    let again = |bytes: &[u8]| {
        stored.release();
        fs::write(&path, bytes).unwrap();
        stored.get().map(|keys| keys.needs())
    };
    assert_eq!(again(&bytes).unwrap(), *stored.needs());
    let mut damaged = bytes.clone();
    damaged[bytes.len() / 2] ^= 1;
    let error = again(&damaged).unwrap_err();
    assert!(
        matches!(
            error,
            Error::Exchange(exchange::Error::Bytes(BytesError::Checksum))
        ),
        "{error}"
    );
    let error = again(&bytes[..bytes.len() - 1]).unwrap_err();
    assert!(
        matches!(
            error,
            Error::Exchange(exchange::Error::Bytes(BytesError::Length { .. }))
        ),
        "{error}"
    );
    let mut others = Vec::new();
    client_of(&prepared, 86)
        .write_evaluation_keys(&prepared.needs(), &mut system_rng(), &mut others)
        .unwrap();
    files::keys_from_bytes(&prepared, &others).unwrap();
    let error = again(&others).unwrap_err();
    assert!(
        matches!(&error, Error::Replaced { path: p } if *p == path),
        "{error}"
    );
    again(&bytes).unwrap();
    fs::remove_file(&path).unwrap();
    stored.release();
    let error = stored.get().err().unwrap();
    assert!(error.to_string().contains("evaluation.key"), "{error}");
}
