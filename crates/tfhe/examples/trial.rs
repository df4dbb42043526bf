//! Runs and checks many random gates or tables: prints how many are wrong, and the noise of
//! outputs.
//!
//! ```sh
//! cargo run --release -p palladion-tfhe --example trial -- gates 100000
//! cargo run --release -p palladion-tfhe --example trial -- tables 2_2 10000
//! cargo run --release -p palladion-tfhe --example trial -- tables 3_3 10000 --set tfhe-3-3
//! ```
//!
//! The gates are random: each of the ten, and with the same probability a mux. They take values
//! from a pool and put their outputs back, so outputs become inputs of other gates. For tables,
//! each trial has a new random table and a random value of all carry bits. The value is a sum of
//! outputs with as much noise as the parameters allow.
//!
//! The noise of outputs is that of one key. Its bits alone change the variance by a few percent
//! from the formula, which is a mean over keys.
//!
//! Without `--set`, the fastest named set of 128 bits is used that fails in less than one of 2^64
//! bootstrappings. `--threads` sets the number of threads; by default all are used.

use palladion_tfhe::noise::{Model, Rounding};
use palladion_tfhe::{
    Bit, ClientKey, Encoding, Gate, Integer, Params, ServerKey, Table, fastest, sets,
};
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use ring::torus::{Fft, Torus};
use std::error::Error;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// The options of a run.
struct Trial {
    count: usize,
    params: Params,
    name: String,
}

/// The results of a run.
#[derive(Default)]
struct Findings {
    done: usize,
    wrong: usize,
    /// Sum of squares of the noise of outputs of one bootstrapping, in squares of the torus, and
    /// the number of outputs.
    squares: f64,
    outputs: usize,
}

impl Findings {
    fn output(&mut self, error: f64) {
        self.squares += error * error;
        self.outputs += 1;
    }
}

const USAGE: &str =
    "expected: gates COUNT | tables 1_1|2_2|3_3 COUNT, and optionally --set NAME, --threads N";

fn main() -> Outcome<()> {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let mut option = |name: &str| -> Outcome<Option<String>> {
        let Some(at) = words.iter().position(|w| w == name) else {
            return Ok(None);
        };
        if at + 1 >= words.len() {
            return Err(format!("{name} without a value; {USAGE}").into());
        }
        words.remove(at);
        Ok(Some(words.remove(at)))
    };
    let (set, threads) = (option("--set")?, option("--threads")?);
    let threads = threads.map(|t| t.parse()).transpose()?;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (encoding, count) = match words[..] {
        ["gates", count] => (Encoding::Gates, count.parse()?),
        ["tables", bits @ ("1_1" | "2_2" | "3_3"), count] => {
            let bits = bits[..1].parse()?;
            let encoding = Encoding::Integers {
                message_bits: bits,
                carry_bits: bits,
            };
            (encoding, count.parse()?)
        }
        _ => return Err(USAGE.into()),
    };
    let (name, params) = match set {
        None => fastest(encoding, -64.0)?,
        Some(name) => sets::all()
            .into_iter()
            .find(|(found, params)| *found == name && params.encoding() == encoding)
            .ok_or_else(|| format!("no set {name} of {encoding:?}"))?,
    };
    let trial = Trial {
        count,
        params,
        name: name.to_owned(),
    };
    let run = || -> Result<(), String> {
        let short = trial.params.spec().word_bits == 32;
        let outcome = match (encoding, short) {
            (Encoding::Gates, true) => gates::<u32>(&trial),
            (Encoding::Gates, false) => gates::<u64>(&trial),
            (_, true) => tables::<u32>(&trial),
            (_, false) => tables::<u64>(&trial),
        };
        outcome.map_err(|e| e.to_string())
    };
    let outcome = match threads {
        Some(threads) => ring::in_pool(threads, run),
        None => run(),
    };
    Ok(outcome?)
}

type Keys<T> = (ClientKey<T>, ServerKey<T, Fft>);

fn keys<T: Torus>(trial: &Trial, rng: &mut ChaCha20Rng) -> Outcome<Keys<T>> {
    let params = &trial.params;
    let start = Instant::now();
    let client = ClientKey::generate(params, rng)?;
    let keys = client.evaluation_keys(&Fft::new(params.n())?, rng)?;
    let server = ServerKey::new(&keys, Fft::new(params.n())?)?;
    println!(
        "{}: security {}; keys in {:.1?}, {} threads",
        trial.name,
        params.security(),
        start.elapsed(),
        ring::threads()
    );
    Ok((client, server))
}

/// A bit and its expected value.
type Known<T> = (Bit<T>, bool);

fn gates<T: Torus>(trial: &Trial) -> Outcome<()> {
    const POOL: usize = 256;
    let rng = &mut ChaCha20Rng::from_os_rng();
    let (client, server) = keys::<T>(trial, rng)?;
    let mut pool: Vec<Known<T>> = Vec::new();
    for _ in 0..POOL {
        let bit = rng.random();
        pool.push((client.encrypt_bit(bit, rng)?, bit));
    }
    let mut progress = Progress::new(trial.count);
    let mut findings = Findings::default();
    while findings.done < trial.count {
        let batch = (trial.count - findings.done).min(128);
        let chosen: Vec<_> = (0..batch)
            .map(|_| {
                let bits = [(); 3].map(|()| rng.random_range(0..POOL));
                // A gate, or a mux if it is `None`.
                (Gate::ALL.get(rng.random_range(0..=10)).copied(), bits)
            })
            .collect();
        let out = ring::par_map(batch, |i| {
            let (gate, [c, x, y]) = chosen[i];
            let ((c, is_c), (x, is_x), (y, is_y)) = (&pool[c], &pool[x], &pool[y]);
            let made = match gate {
                Some(gate) => (server.gate(gate, x, y)?, gate.of(*is_x, *is_y)),
                None => (server.mux(c, x, y)?, if *is_c { *is_x } else { *is_y }),
            };
            Ok::<_, palladion_tfhe::Error>(made)
        });
        for ((bit, expected), (gate, _)) in out
            .into_iter()
            .collect::<Result<Vec<_>, _>>()?
            .into_iter()
            .zip(&chosen)
        {
            let found = client.decrypt_bit(&bit)?;
            findings.wrong += usize::from(found != expected);
            // The output of a mux is the sum of two outputs, so its noise is not counted.
            if gate.is_some() {
                let ideal = if found { 0.125 } else { -0.125 };
                findings.output(client.phase(bit.lwe()).to_torus() - ideal);
            }
            findings.done += 1;
            // A wrong output counts once: later gates are checked against the value that they were
            // given.
            let place = rng.random_range(0..POOL);
            pool[place] = (bit, found);
        }
        progress.tell(&findings);
    }
    report(
        trial,
        &findings,
        "gates and muxes",
        progress.start.elapsed(),
    )
}

fn tables<T: Torus>(trial: &Trial) -> Outcome<()> {
    let params = &trial.params;
    let rng = &mut ChaCha20Rng::from_os_rng();
    let (client, server) = keys::<T>(trial, rng)?;
    let (messages, values) = (params.messages(), params.values());
    // Outputs that make up the values. A pair of a carry and a message has the most noise allowed.
    let mut carries = Vec::new();
    let mut units = Vec::new();
    for _ in 0..64 {
        let high = rng.random_range(0..messages.min(values / messages));
        let low = rng.random_range(0..messages);
        carries.push((refreshed(&client, &server, high, rng)?, high));
        units.push((refreshed(&client, &server, low, rng)?, low));
    }
    let mut progress = Progress::new(trial.count);
    let mut findings = Findings::default();
    let pick = |rng: &mut ChaCha20Rng, of: &[(Integer<T>, u64)]| of.choose(rng).cloned();
    while findings.done < trial.count {
        let batch = (trial.count - findings.done).min(64);
        let mut jobs = Vec::new();
        for _ in 0..batch {
            let (Some((x, high)), Some((y, low))) = (pick(rng, &carries), pick(rng, &units)) else {
                return Err("nothing to choose from".into());
            };
            let entries: Vec<u64> = (0..values).map(|_| rng.random_range(0..values)).collect();
            let expected = entries[(high * messages + low) as usize];
            let table = Table::new(params, &[entries])?;
            jobs.push((server.pair(&x, &y)?, table, expected));
        }
        let given: Vec<_> = jobs.iter().map(|(x, table, _)| (x, table)).collect();
        for (out, (_, _, expected)) in server.apply_all(&given)?.iter().zip(&jobs) {
            let found = client.decrypt_with_carry(&out[0])?;
            findings.wrong += usize::from(found != *expected);
            let ideal = found as f64 / (2 * values) as f64;
            findings.output(
                (client.phase(out[0].lwe()).to_torus() - ideal + 0.5).rem_euclid(1.0) - 0.5,
            );
            findings.done += 1;
        }
        progress.tell(&findings);
    }
    report(trial, &findings, "tables", progress.start.elapsed())
}

/// An encrypted message with the noise of a bootstrapping's output.
fn refreshed<T: Torus>(
    client: &ClientKey<T>,
    server: &ServerKey<T, Fft>,
    message: u64,
    rng: &mut ChaCha20Rng,
) -> Outcome<Integer<T>> {
    Ok(server.message(&client.encrypt(message, rng)?)?)
}

fn report(trial: &Trial, findings: &Findings, what: &str, taken: Duration) -> Outcome<()> {
    let params = &trial.params;
    let (done, wrong) = (findings.done, findings.wrong);
    let measured = findings.squares / findings.outputs.max(1) as f64;
    let formula = params.noise();
    let exact = Model {
        rounding: Rounding::EXACT,
        ..formula
    }
    .output();
    let fft = formula.output();
    // Relative deviation of the sample variance of as many normal values.
    let spread = (2.0 / findings.outputs.max(1) as f64).sqrt();
    println!(
        "{done} {what} in {taken:.1?}, {:.2} ms each",
        taken.as_secs_f64() * 1e3 / done.max(1) as f64
    );
    println!(
        "wrong: {wrong}; predicted at most 2^{:.1} for each bootstrapping",
        params.log2_failure()
    );
    println!(
        "noise of {} outputs: deviation 2^{:.3} of the torus; formula 2^{:.3} with the rounding of the fft (variance {:.3} +- {:.3} of it), 2^{:.3} without",
        findings.outputs,
        measured.log2() / 2.0,
        fft.log2() / 2.0,
        measured / fft,
        spread * measured / fft,
        exact.log2() / 2.0
    );
    if wrong > 0 {
        return Err(format!("{wrong} of {done} are wrong").into());
    }
    Ok(())
}

/// The progress and the time left, on standard error: every two seconds on a terminal, else every
/// thirty.
struct Progress {
    start: Instant,
    told: Instant,
    total: usize,
}

impl Progress {
    fn new(total: usize) -> Self {
        let start = Instant::now();
        Self {
            start,
            told: start,
            total,
        }
    }

    fn tell(&mut self, findings: &Findings) {
        let terminal = std::io::stderr().is_terminal();
        let pause = Duration::from_secs(if terminal { 2 } else { 30 });
        if self.told.elapsed() < pause {
            return;
        }
        self.told = Instant::now();
        let done = findings.done as f64;
        let left = self.start.elapsed().as_secs_f64() * (self.total as f64 - done) / done;
        let total = self.total;
        let wrong = findings.wrong;
        let ends = if terminal { "   \r" } else { "\n" };
        eprint!("{done} of {total}, {wrong} wrong, {left:.0} s left{ends}");
    }
}
