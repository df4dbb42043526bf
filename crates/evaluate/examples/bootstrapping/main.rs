//! Bootstrapping of CKKS at N = 2^16 and of BGV at N = 2^15, 128-bit secure, with the replay of
//! their traces.
//!
//!     cargo run --release -p palladion-evaluate --example bootstrapping -- [--scheme ckks|bgv] [--threads 2] --replay
//!
//! The replayed trace must give exactly the ciphertext of the run, and count the transforms that
//! the run executed.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/replay.rs"]
mod replay;
#[path = "../common/trace.rs"]
mod trace;

use circuits::approximate::{BootstrapSpec, Bootstrapper};
use circuits::bootstrap::Bootstrap;
use ckks::Complex64;
use common::{Result, number, option, timed};
use executor::{SwitchKeys, replay_circuit};
use palladion_evaluate::circuit::{Argument, Runner, Slots, needs, predict};
use program::recording::Recording;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use replay::replay;
use ring::ntt_primes_avoiding;
use ring::sample::Masks;
use rlwe::{Ciphertext, SecretKey};
use std::collections::BTreeMap;
use trace::{agrees, counted, lowered};

fn main() -> Result<()> {
    let scheme = option("scheme").unwrap_or("ckks".into());
    ring::in_pool(number("threads", 2)?, || match scheme.as_str() {
        "ckks" => ckks(),
        "bgv" => bgv(),
        other => Err(format!("--scheme is {other}, expected ckks or bgv").into()),
    })
}

/// One bootstrapping as a circuit: predicted, run, recorded, lowered, replayed.
fn ckks() -> Result<()> {
    let counted = counted()?;
    let (params, spec) = (Bootstrapper::params_2_16()?, BootstrapSpec::default());
    let circuit = applications::bootstrapping::ckks(&params, &spec)?;
    let mut rng = ChaCha20Rng::from_os_rng();
    let mut part = || rng.random_range(-1.0..1.0);
    let slots = 0..params.slots();
    let slots: Vec<_> = slots.map(|_| Complex64::new(part(), part())).collect();
    let given = Slots::from([("low".into(), slots)]);
    let predicted = timed("predicted", || Ok(predict(&params, &circuit, &given)?))?;

    let runner = timed("tables", || Ok(Runner::new(&params, &circuit)?))?;
    let secret = SecretKey::generate(params.rlwe(), &mut rng);
    let needs = needs(&params, &circuit.keys());
    let keys = timed("keys", || {
        Ok(client::circuit_keys(&secret, &needs, &mut rng)?)
    })?;
    let message = runner.encode("low", &given["low"])?;
    let low = ckks::encrypt(&secret, &message, &mut Masks::random(&mut rng), &mut rng)?;
    let inputs = BTreeMap::from([("low", Argument::Ciphertext(&low))]);
    counted.map(|counted| counted.take());
    let answer = timed("bootstrapping", || Ok(runner.run(&inputs, &keys)?))?;
    let run = counted.map(|counted| counted.take());
    let found = ckks::decrypt(&secret, &answer["high"])?.decode(&params, params.slots())?;
    let errors = found.iter().zip(&given["low"]);
    let square = errors.map(|(a, b)| (a - b).norm_sqr()).sum::<f64>() / found.len() as f64;
    println!(
        "precision {:.2} bits, predicted {:.2}",
        -square.log2() / 2.0,
        predicted["high"].noise(params.slots()).precision()
    );
    match run {
        Some(run) => replay(&runner, (&inputs, &keys), &answer, run),
        None => Ok(()),
    }
}

fn bgv() -> Result<()> {
    let counted = counted()?;
    let n = 1 << 15;
    let q = Bootstrap::moduli(n, 36, 18)?;
    let spec = rlwe::ParamsSpec {
        n,
        p: ntt_primes_avoiding(49, n, 3, &q).map_err(bgv::Error::from)?,
        q,
        digit_limbs: 4,
    };
    let bootstrap = Bootstrap::new(&rlwe::Params::new(&spec)?)?;
    let params = bootstrap.params();
    let mut rng = ChaCha20Rng::from_os_rng();
    let secret = SecretKey::generate(params.rlwe(), &mut rng);
    let keys = timed("keys", || Ok(bootstrap.keys(&secret, &mut rng)?))?;
    let message = params.encoder().from_residues(vec![1; n]);
    let mut masks = Masks::random(&mut rng);
    let low = bgv::encrypt(params, &secret, &message, 0, &mut masks, &mut rng)?;
    counted.map(|counted| counted.take());
    let high = timed("bootstrapping", || Ok(bootstrap.refresh(&low, &keys)?))?;
    let Some(counted) = counted else {
        return Ok(());
    };
    let run = counted.take();
    let recording = timed("recorded", || Ok(bootstrap.record(low.exact().factor())?))?;
    let switch = SwitchKeys {
        relinearization: Some(keys.evaluation().relinearization()?),
        galois: keys.evaluation().galois(),
        sparse: None,
        rgsw: None,
    };
    let given = BTreeMap::from([
        ("low".into(), low.exact().rlwe()),
        ("secret".into(), keys.secret().rlwe()),
    ]);
    compare(
        recording,
        (&given, &switch),
        ("high", high.exact().rlwe()),
        run,
    )
}

/// Replays a recording's trace, and compares its result with that of a run.
fn compare(
    recording: Recording,
    inputs: (&BTreeMap<String, &Ciphertext>, &SwitchKeys),
    (name, high): (&str, &Ciphertext),
    run: [u64; 2],
) -> Result<()> {
    let trace = lowered(&recording)?;
    drop(recording);
    let results = [(name.into(), high.components()[0].basis())];
    let (found, counts) = timed("replayed", || {
        Ok(replay_circuit(&trace, inputs, results, |_| true)?)
    })?;
    if &found[name] != high {
        return Err("the replayed trace gives another ciphertext".into());
    }
    agrees(&trace, &counts, run)
}
