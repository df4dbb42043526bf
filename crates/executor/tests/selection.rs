//! External products. A selection by encrypted bits finds its message. Its trace gives what runs,
//! word for word, with the number of transforms of the closed form.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

use circuits::operations::{RecordRing, Recorder, Rgsw, RunRing, parameters};
use circuits::select::select;
use kernels::Counted;
use palladion_executor::{SwitchKeys, replay_circuit};
use program::KeyNeeds;
use program::recording::{Message, Recording};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use ring::ntt_primes_avoiding;
use ring::sample::{Masks, SIGMA};
use rlwe::{Ciphertext, GaloisKeys, ParamsSpec, SecretKey};
use std::collections::BTreeMap;
use std::sync::{LazyLock, Mutex};
use trace::{Passes, Trace};

/// The counting backend. Only one test at a time uses it.
static KERNELS: LazyLock<Mutex<&'static Counted>> =
    LazyLock::new(|| Mutex::new(Counted::install().unwrap()));

/// Moduli and special moduli of the given bits.
fn spec(n: usize, (bits, limbs): (u32, usize), p: (u32, usize), digit_limbs: usize) -> ParamsSpec {
    let q = ntt_primes_avoiding(bits, n, limbs, &[]).unwrap();
    ParamsSpec {
        n,
        p: ntt_primes_avoiding(p.0, n, p.1, &q).unwrap(),
        q,
        digit_limbs,
    }
}

/// The bits of an index as polynomials, encrypted for a level, and their names.
fn encrypted(
    secret: &SecretKey,
    (index, count, level): (usize, usize, usize),
    rng: &mut ChaCha20Rng,
) -> (Vec<Rgsw>, BTreeMap<String, rlwe::Rgsw>) {
    let names: Vec<Rgsw> = (0..count)
        .map(|i| Rgsw {
            name: format!("bit.{i}"),
            level,
        })
        .collect();
    let encrypt = |(i, bit): (usize, &Rgsw)| {
        let mut message = vec![0; secret.params().n()];
        message[0] = (index >> i & 1) as i64;
        (bit.name.clone(), secret.rgsw(&message, level, rng))
    };
    let made = names.iter().enumerate().map(encrypt).collect();
    (names, made)
}

/// Records a selection, lowers and replays it, and compares with a run.
fn check(params: &bfv::Params, (count, level, key_level): (usize, usize, usize)) {
    let kernels = KERNELS.lock().unwrap();
    let rng = &mut ChaCha20Rng::seed_from_u64(21);
    let secret = SecretKey::generate(params.rlwe(), rng);
    let mut masks = Masks::random(rng);
    let messages: Vec<Vec<u64>> = (0..1 << count)
        .map(|_| {
            (0..params.n())
                .map(|_| rng.random_range(0..65537))
                .collect()
        })
        .collect();
    let leaves: Vec<Ciphertext> = messages
        .iter()
        .map(|slots| {
            let message = params.encoder().encode_slots(slots).unwrap();
            bfv::encrypt(params, &secret, &message, level, &mut masks, rng)
                .unwrap()
                .into_rlwe()
        })
        .collect();
    let index = rng.random_range(0..1 << count);
    let (bits, rgsw) = encrypted(&secret, (index, count, key_level), rng);

    let galois = GaloisKeys::new();
    let mut ring = RunRing::new(params.rlwe(), None, &galois);
    ring.add_rgsw(&rgsw);
    kernels.take();
    let chosen = select(&ring, leaves.clone(), &bits).unwrap();
    let executed = kernels.take();

    let recorder = Recorder::new(parameters(params.rlwe(), vec![65537]));
    let message = Message::Modulo {
        t: 65537,
        factor: 1,
    };
    let record = RecordRing::new(&recorder, params.rlwe(), message);
    let names: Vec<String> = (0..leaves.len()).map(|i| format!("leaf.{i}")).collect();
    let given = names.iter().map(|name| record.given(name, level)).collect();
    let found = select(&record, given, &bits).unwrap();
    recorder.output("chosen", &found);
    let recording = recorder.finish(&KeyNeeds::default());
    assert_eq!(Recording::parse(&recording.to_string()).unwrap(), recording);
    let products = (1u64 << count) - 1;
    assert_eq!(
        recording.counts().operations["external_product"],
        [(level, products)].into()
    );

    let trace = lower::lower(&recording).unwrap();
    lower::check(&recording, &trace).unwrap();
    assert_eq!(Trace::parse(&trace.to_string()).unwrap(), trace);
    let limbs = (level + 1 + params.rlwe().special().len()) as u64;
    let digits = params.rlwe().digits(level).count() as u64;
    let Passes { ntt, intt, .. } = trace.counts().passes;
    assert_eq!(
        [ntt, intt],
        [2 * digits * limbs, 2 * limbs].map(|x| x * products)
    );
    assert_eq!(executed, [ntt, intt]);

    let inputs = names.iter().cloned().zip(&leaves).collect();
    let keys = SwitchKeys {
        relinearization: None,
        galois: &galois,
        sparse: None,
        rgsw: Some(&rgsw),
    };
    let results = [("chosen".to_owned(), params.rlwe().basis(level))];
    let (replayed, counts) = replay_circuit(&trace, (&inputs, &keys), results, |_| true).unwrap();
    assert_eq!(replayed["chosen"], chosen);
    assert_eq!(counts, trace.counts());

    let chosen = bfv::Ciphertext::new(chosen, 1);
    let found = bfv::decrypt(params, &secret, &chosen).unwrap();
    assert_eq!(params.encoder().slots_of(&found), messages[index]);
    // The error of the leaf, and that of a product for each bit. The residual is t times the error
    // plus the message, which is below t / 2.
    let (size, _) = bfv::measure(params, &secret, &chosen).unwrap();
    let products = count as f64 * rlwe::Rgsw::variance(params.rlwe(), level);
    let variance = SIGMA * SIGMA + products + 1.0 / 12.0;
    let predicted = variance.sqrt() * 65537.0;
    println!(
        "residual 2^{:.2}, predicted 2^{:.2}",
        size.log2_rms,
        predicted.log2()
    );
    // The mean square of 64 coefficients has a relative deviation of sqrt(2 / 64). Four of these
    // are 0.5 bits of its root.
    assert!((size.log2_rms - predicted.log2()).abs() < 0.5);
}

#[test]
fn the_replayed_selection_is_the_run_insecure() {
    let several = spec(64, (40, 4), (45, 2), 2);
    let several = bfv::Params::new_insecure(&several, 65537).unwrap();
    // All levels, and keys for higher levels. Digits are cut by the level.
    for levels in [(3, 3, 3), (3, 2, 3), (2, 1, 2), (1, 0, 3)] {
        check(&several, levels);
    }
}

#[test]
fn the_replayed_selection_is_the_run() {
    let secure = spec(1 << 12, (50, 1), (50, 1), 1);
    check(&bfv::Params::new(&secure, 65537).unwrap(), (3, 0, 0));
}

#[test]
fn what_does_not_fit_is_refused() {
    let _kernels = KERNELS.lock().unwrap();
    let several = spec(64, (40, 2), (45, 1), 1);
    let params = rlwe::Params::new_insecure(&several).unwrap();
    let rng = &mut ChaCha20Rng::seed_from_u64(22);
    let secret = SecretKey::generate(&params, rng);
    let mut masks = Masks::random(rng);
    let leaf = secret.encrypt_zero(1, &mut masks, rng);
    let (bits, rgsw) = encrypted(&secret, (1, 2, 0), rng);
    let galois = GaloisKeys::new();
    let mut ring = RunRing::new(&params, None, &galois);
    let error = |ring: &RunRing, leaves: usize, bits: &[Rgsw]| {
        let leaves = vec![leaf.clone(); leaves];
        select(ring, leaves, bits).unwrap_err().to_string()
    };
    assert_eq!(
        error(&ring, 3, &bits),
        "the number of ciphertexts to choose from is 3, expected 2^2, for so many bits"
    );
    assert_eq!(
        error(&ring, 4, &bits),
        "an RGSW ciphertext is none of the name bit.0, expected one"
    );
    ring.add_rgsw(&rgsw);
    let low = error(&ring, 4, &bits);
    assert!(low.contains('0') && low.contains('1'), "{low}");
    let claimed = [0, 1].map(|i: usize| Rgsw {
        level: 1,
        ..bits[i].clone()
    });
    assert_eq!(
        error(&ring, 4, &claimed),
        "the level of an RGSW ciphertext is 0, expected 1"
    );
}
