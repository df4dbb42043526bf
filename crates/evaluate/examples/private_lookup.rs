//! Private lookup: a server finds the record of an index without seeing the index, 128-bit secure.
//!
//!     cargo run --release -p palladion-evaluate --example private_lookup -- [--bits 6] [--threads 2] [--replay]
//!
//! The client encrypts the bits of its index as RGSW ciphertexts. The server has `2^bits` records
//! of 4,096 numbers modulo 65,537, 8 KB each, and chooses one by a tree of multiplexers. The answer
//! is one BFV ciphertext. With `--replay` the trace of the selection must give exactly this
//! ciphertext, with as many transforms.

mod common;
#[path = "common/trace.rs"]
mod trace;

use circuits::operations::{RecordRing, Recorder, Rgsw, RunRing, parameters};
use circuits::select::select;
use common::{Result, number, timed};
use executor::{SwitchKeys, replay_circuit};
use program::KeyNeeds;
use program::recording::Message;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use ring::ntt_primes_avoiding;
use rlwe::bytes::fingerprint;
use rlwe::store::{rgsw_from_bytes, rgsw_to_bytes};
use rlwe::{Ciphertext, GaloisKeys, ParamsSpec, SecretKey};
use std::collections::BTreeMap;
use trace::{agrees, counted, lowered};

/// Largest number of index bits: 2 GB of records.
const MOST_BITS: usize = 15;

fn main() -> Result<()> {
    ring::in_pool(number("threads", 2)?, lookup)
}

fn lookup() -> Result<()> {
    let (counted, bits) = (counted()?, number("bits", 6)?);
    if !(1..=MOST_BITS).contains(&bits) {
        return Err(format!("--bits is {bits}, expected 1 to {MOST_BITS}").into());
    }
    let (n, t) = (1 << 12, bfv::T_FERMAT);
    let q = ntt_primes_avoiding(50, n, 1, &[])?;
    let p = ntt_primes_avoiding(50, n, 1, &q)?;
    let spec = ParamsSpec {
        n,
        q,
        p,
        digit_limbs: 1,
    };
    let params = bfv::Params::new(&spec, t)?;
    let rng = &mut ChaCha20Rng::from_os_rng();

    // Client: encrypts an index, bit by bit.
    let secret = SecretKey::generate(params.rlwe(), rng);
    let index: usize = rng.random_range(0..1 << bits);
    let made_for = fingerprint(b"private lookup");
    let mut query: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for i in 0..bits {
        let mut message = vec![0; n];
        message[0] = (index >> i & 1) as i64;
        let bit = secret.rgsw(&message, 0, rng);
        query.insert(format!("bit.{i}"), rgsw_to_bytes(&bit, &made_for));
    }
    let bytes: usize = query.values().map(Vec::len).sum();
    println!("query: {bits} bits, {} KB", bytes / 1000);

    // Server: chooses one of its records. They are ciphertexts that hide nothing.
    let record =
        |r: usize| -> Vec<u64> { (0..n).map(|i| ((r * 4099 + i * 31) as u64) % t).collect() };
    let leaves = timed("records encoded", || {
        let leaves = (0..1usize << bits).map(|r| {
            let message = params.encoder().encode_slots(&record(r))?;
            Ok(bfv::trivial(&params, &message, 0).into_rlwe())
        });
        leaves.collect::<Result<Vec<Ciphertext>>>()
    })?;
    let read = |(name, bytes): (&String, &Vec<u8>)| -> Result<(String, rlwe::Rgsw)> {
        Ok((
            name.clone(),
            rgsw_from_bytes(params.rlwe(), &made_for, bytes)?,
        ))
    };
    let rgsw = query.iter().map(read).collect::<Result<BTreeMap<_, _>>>()?;
    let names = (0..bits).map(|i| format!("bit.{i}"));
    let bits: Vec<Rgsw> = names.map(|name| Rgsw { name, level: 0 }).collect();
    let galois = GaloisKeys::new();
    let mut ring = RunRing::new(params.rlwe(), None, &galois);
    ring.add_rgsw(&rgsw);
    counted.map(|counted| counted.take());
    let answer = timed("record chosen", || {
        Ok(select(&ring, leaves.clone(), &bits)?)
    })?;
    let run = counted.map(|counted| counted.take());

    // Client: decrypts the record.
    let ct = bfv::Ciphertext::new(answer.clone(), 1);
    let found = bfv::decrypt(&params, &secret, &ct)?;
    let (_, left) = bfv::measure(&params, &secret, &ct)?;
    if params.encoder().slots_of(&found) != record(index) {
        return Err("another record than that of the index".into());
    }
    println!(
        "record {index} of {}; {left:.1} bits of noise left",
        leaves.len()
    );
    let Some(run) = run else { return Ok(()) };

    // The selection as data, executed limb by limb.
    let recorder = Recorder::new(parameters(params.rlwe(), vec![t]));
    let message = Message::Modulo { t, factor: 1 };
    let ring = RecordRing::new(&recorder, params.rlwe(), message);
    let names: Vec<String> = (0..leaves.len()).map(|r| format!("record.{r}")).collect();
    let given = names.iter().map(|name| ring.given(name, 0)).collect();
    recorder.output("chosen", &select(&ring, given, &bits)?);
    let trace = lowered(&recorder.finish(&KeyNeeds::default()))?;
    let inputs = names.iter().cloned().zip(&leaves).collect();
    let keys = SwitchKeys {
        relinearization: None,
        galois: &galois,
        sparse: None,
        rgsw: Some(&rgsw),
    };
    let results = [("chosen".to_owned(), params.rlwe().basis(0))];
    let (replayed, counts) = timed("replayed", || {
        Ok(replay_circuit(&trace, (&inputs, &keys), results, |_| true)?)
    })?;
    if replayed["chosen"] != answer {
        return Err("the replayed trace gives another ciphertext".into());
    }
    agrees(&trace, &counts, run)
}
