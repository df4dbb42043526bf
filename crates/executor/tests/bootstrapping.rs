//! Do the traces of bootstrappings describe what runs? Replayed, they give exactly the ciphertexts
//! of the run.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

use circuits::approximate::{BootstrapSpec, Bootstrapper};
use circuits::bootstrap::Bootstrap;
use ckks::{Complex64, Plaintext};
use palladion_executor::{SwitchKeys, replay_circuit};
use program::recording::Recording;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use ring::sample::Masks;
use ring::{ntt_primes, ntt_primes_avoiding};
use rlwe::SecretKey;
use std::collections::BTreeMap;
use trace::Trace;

/// Parameters with the levels of `Bootstrapper::params_2_16`, on a ring of degree 2^10.
fn insecure_params() -> ckks::Params {
    let n = 1 << 10;
    let primes = |bits, count| ntt_primes(bits, n, count).unwrap();
    let singles = |primes: Vec<u64>| primes.into_iter().map(|q| vec![q]);
    let pairs = |primes: Vec<u64>| -> Vec<Vec<u64>> {
        primes.chunks_exact(2).map(<[u64]>::to_vec).collect()
    };
    let mut levels = pairs(primes(30, 18));
    let reduction = levels.split_off(1);
    levels.extend(singles(primes(40, 2)));
    levels.extend(singles(primes(42, 3)));
    levels.extend(reduction);
    levels.extend(pairs(primes(28, 6)));
    ckks::Params::new_insecure(&ckks::ParamsSpec {
        n,
        levels,
        special: primes(49, 9),
        digit_limbs: 15,
        log_scale: 40.0,
    })
    .unwrap()
}

#[test]
fn the_replayed_bootstrapping_of_ckks_is_the_run_insecure() {
    let params = insecure_params();
    let mut rng = ChaCha20Rng::seed_from_u64(3);
    let secret = SecretKey::generate(params.rlwe(), &mut rng);
    // All slots, and messages that repeat. The latter have other sums and fewer matrices.
    for spec in [BootstrapSpec::default(), BootstrapSpec::for_slots(16)] {
        let bootstrapper = Bootstrapper::new(&params, &spec).unwrap();
        let keys = bootstrapper.generate_keys(&secret, &mut rng);
        let slots = spec.slots.unwrap_or(params.slots());
        let mut part = || rng.random_range(-1.0..1.0);
        let message: Vec<_> = (0..slots).map(|_| Complex64::new(part(), part())).collect();
        let message = Plaintext::encode(&params, &message, 0, params.scale()).unwrap();
        let mut masks = Masks::random(&mut rng);
        let low = ckks::encrypt(&secret, &message, &mut masks, &mut rng).unwrap();
        let high = bootstrapper.bootstrap(&low, &keys).unwrap();

        let recording = bootstrapper.record(low.scale()).unwrap();
        let text = recording.to_string();
        assert!(text.contains("raise %"));
        assert_eq!(Recording::parse(&text).unwrap(), recording);
        let trace = lower::lower(&recording).unwrap();
        assert_eq!(Trace::parse(&trace.to_string()).unwrap(), trace);
        let keys = SwitchKeys {
            relinearization: Some(keys.relinearization()),
            galois: keys.galois(),
            sparse: Some(keys.sparse()),
            rgsw: None,
        };
        let given = BTreeMap::from([(Bootstrapper::INPUT.into(), low.rlwe())]);
        let basis = high.rlwe().components()[0].basis();
        let results = [(Bootstrapper::OUTPUT.into(), basis)];
        let (found, counts) = replay_circuit(&trace, (&given, &keys), results, |_| true).unwrap();
        assert!(&found[Bootstrapper::OUTPUT] == high.rlwe());
        assert_eq!(counts, trace.counts());
    }
}

#[test]
fn the_replayed_bootstrapping_of_bgv_is_the_run_insecure() {
    let n = 64;
    let q = Bootstrap::moduli(n, 36, 16).unwrap();
    let spec = rlwe::ParamsSpec {
        n,
        p: ntt_primes_avoiding(49, n, 3, &q).unwrap(),
        q,
        digit_limbs: 4,
    };
    let bootstrap = Bootstrap::new(&rlwe::Params::new_insecure(&spec).unwrap()).unwrap();
    let params = bootstrap.params();
    let mut rng = ChaCha20Rng::seed_from_u64(4);
    let secret = SecretKey::generate(params.rlwe(), &mut rng);
    let keys = bootstrap.keys(&secret, &mut rng).unwrap();
    let message = params.encoder().from_residues(vec![2; n]);
    let mut masks = Masks::random(&mut rng);
    let low = bgv::encrypt(params, &secret, &message, 0, &mut masks, &mut rng).unwrap();
    let high = bootstrap.refresh(&low, &keys).unwrap();

    let recording = bootstrap.record(low.exact().factor()).unwrap();
    assert_eq!(Recording::parse(&recording.to_string()).unwrap(), recording);
    let trace = lower::lower(&recording).unwrap();
    assert_eq!(Trace::parse(&trace.to_string()).unwrap(), trace);
    let switch = SwitchKeys {
        relinearization: Some(keys.evaluation().relinearization().unwrap()),
        galois: keys.evaluation().galois(),
        sparse: None,
        rgsw: None,
    };
    let given = BTreeMap::from([
        ("low".into(), low.exact().rlwe()),
        ("secret".into(), keys.secret().rlwe()),
    ]);
    let basis = high.exact().rlwe().components()[0].basis();
    let (found, counts) =
        replay_circuit(&trace, (&given, &switch), [("high".into(), basis)], |_| {
            true
        })
        .unwrap();
    assert!(&found["high"] == high.exact().rlwe());
    assert_eq!(counts, trace.counts());
}
