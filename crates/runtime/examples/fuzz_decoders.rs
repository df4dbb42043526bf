//! Mutation fuzzing of every decoder, on stable Rust.
//!
//! `cargo run --release -p palladion-runtime --example fuzz_decoders -- SECONDS [NAME [SEED]]`
//! gives each decoder (or the one with that name) this many seconds of mutated input: flipped bits,
//! cut, spliced and repeated bytes, extreme lengths and counts, edited JSON. Sealed files come in
//! two kinds: as mutated, which the checksum should catch, and sealed again, so that the readers
//! behind it are reached. It is a failure if a decoder panics, allocates out of proportion, or
//! takes longer than [`PATIENCE`]. Then its bytes are written to a file and the exit status is 1.

#[path = "../tests/common/mod.rs"]
mod common;

use client::{Client, Encryptor, StoredSecret};
use compiler::{Options, compile};
use exchange::{Answer, files};
use network::IntNetwork;
use palladion_runtime::{Checkpoint, Prepared};
use program::Program;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use rlwe::bytes::{Kind, Reader, Writer, fingerprint};
use serde_json::Value;
use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Longest time one input may take.
const PATIENCE: Duration = Duration::from_secs(20);
/// Bytes of memory that a byte of input may take. A number of two letters becomes a word, in a list
/// that doubles as it grows. An empty list of two letters becomes three words.
const PER_BYTE: usize = 48;
/// Bytes before the payload of a sealed file, and after it.
const HEADER: usize = 56;
const CHECKSUM: usize = 32;

/// An allocator that counts what is allocated.
struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator unchanged, and counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(held, Relaxed);
        // SAFETY: the layout is the caller's, passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Relaxed);
        // SAFETY: memory and layout are the caller's, passed on.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A decoder. Its error is in words that name the kind of error.
type Decode = Box<dyn Fn(&[u8]) -> Result<(), String>>;

/// Form of the valid bytes.
#[derive(Clone, Copy, PartialEq)]
enum Shape {
    /// JSON text.
    Json,
    /// A sealed file.
    Sealed,
    /// A sealed file that holds JSON and its fingerprint.
    SealedJson,
}

struct Target {
    name: &'static str,
    shape: Shape,
    valid: Vec<Vec<u8>>,
    /// Bytes of memory that the parameters take.
    allowance: usize,
    decode: Decode,
}

/// The variants of an error and what it complains about. This is its kind, whatever numbers are in
/// it.
fn kind_of(error: &impl Debug) -> String {
    let text = format!("{error:?}");
    let end = text.find([' ', '{', '"']).unwrap_or(text.len());
    let what = text
        .split("what: \"")
        .nth(1)
        .and_then(|rest| rest.split('"').next());
    format!(
        "{} {}",
        text[..end].trim_end_matches('('),
        what.unwrap_or("")
    )
}

fn decoder<T, E: Debug>(decode: impl Fn(&[u8]) -> Result<T, E> + 'static) -> Decode {
    Box::new(move |bytes| decode(bytes).map(drop).map_err(|e| kind_of(&e)))
}

/// Converts to text, which JSON decoders take.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn targets() -> Result<Vec<Target>, Box<dyn std::error::Error>> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/mnist.json");
    let mnist = std::fs::read_to_string(path)?;
    let whole = Prepared::new(compile(
        &IntNetwork::from_json(&mnist)?,
        Options::of_batch(1),
    )?)?;
    let prepared = Prepared::new(common::small_program())?;
    let client = Client::generate(&prepared);
    let keys = client.evaluation_keys()?;
    let input = client.encrypt(&[vec![1; common::PIXELS]])?;
    let server = palladion_runtime::Server::new(&prepared, &keys);
    let mut checkpoints = Vec::new();
    let save = |state: &Checkpoint| {
        checkpoints.push(state.to_bytes(&prepared));
        true
    };
    let (output, _): (Answer, _) = server.resume(&input, None, |_| true, save)?;
    // One more checkpoint, of a program in which every step is a layer. It is taken after the
    // samples.
    let mut program = common::small_program();
    for (index, step) in program.steps.iter_mut().enumerate() {
        step.layer = format!("layer{index}");
    }
    let stepwise = Prepared::new(program)?;
    let own = Client::generate(&stepwise);
    let (their_keys, their_input) = (
        own.evaluation_keys()?,
        own.encrypt(&[vec![1; common::PIXELS]])?,
    );
    let mut samples = Vec::new();
    let save = |state: &Checkpoint| {
        let is_samples = stepwise.program().steps[state.steps() - 1].ty == program::Type::Samples;
        if is_samples {
            samples.push(state.to_bytes(&stepwise));
        }
        true
    };
    let their_server = palladion_runtime::Server::new(&stepwise, &their_keys);
    their_server.resume(&their_input, None, |_| true, save)?;
    let mut promising = common::small_program();
    let promise = prepared.public_run().promise(program::MAX_LOG2_FAILURE);
    promising.prediction.public_inputs = Some(promise.map_err(|refusal| refusal.to_string())?);
    let public_key = client.encryption_key();
    let promising = Prepared::new(promising)?;
    let encryptor = Encryptor::new(&promising, &public_key)?;
    let public_input = encryptor.encrypt(&[vec![1; common::PIXELS]])?;
    let p = || prepared.clone();
    let network = r#"{"format":"palladion-int-network/3","name":"n",
        "input":{"shape":[1,4,4],"min":0,"max":3,"scale":0.5},"layers":[
        {"name":"c","terms":[{"source":0,"linear":{"conv":{"kernels":1,"channels":1,"groups":1,"kernel":[2,2],
        "stride":[2,2],"dilation":[1,1],"pads":[0,0,0,0],"weights":[1,-2,3,4]}}},
        {"source":0,"linear":{"window":{"kernel":[1,1],"stride":[2,2],"dilation":[1,1],"pads":[0,0,0,0],
        "weights":[2],"first":0,"channels":1}}}],"bias":[1],"bound":2,
        "lut":{"starts":[-2,0,1],"values":[0,2,1]},"scale":1.0},
        {"name":"d","terms":[{"source":1,"linear":{"dense":{"inputs":4,"outputs":2,"weights":[1,2,3,4,5,6,7,8]}}}],
        "bias":[0,1],"bound":9,"lut":null,"scale":1.0}]}"#;
    let program_text = |p: &Prepared| p.program().to_json().into_bytes();
    let (b, c, d, e, f, g) = (p(), p(), p(), p(), p(), p());
    Ok(vec![
        Target {
            name: "network",
            shape: Shape::Json,
            valid: vec![network.into(), mnist.into_bytes()],
            allowance: 1 << 20,
            decode: decoder(|bytes| IntNetwork::from_json(&text(bytes))),
        },
        Target {
            name: "program-json",
            shape: Shape::Json,
            valid: vec![program_text(&prepared), program_text(&whole)],
            allowance: 1 << 20,
            decode: decoder(|bytes| Program::from_json(&text(bytes))),
        },
        Target {
            name: "program",
            shape: Shape::SealedJson,
            valid: vec![
                files::program_to_bytes(&prepared),
                files::program_to_bytes(&whole),
            ],
            // For tables of 64 moduli, plaintexts of the dense layers and the map from slots.
            allowance: 1 << 30,
            decode: decoder(files::program_from_bytes),
        },
        Target {
            name: "run",
            shape: Shape::Json,
            valid: [
                common::small_program(),
                common::table_program(1),
                common::table_program(2),
            ]
            .map(|p| p.to_json().into_bytes())
            .into(),
            allowance: 4 << 30,
            decode: Box::new(run_to_the_end),
        },
        Target {
            name: "client",
            shape: Shape::Sealed,
            valid: vec![
                StoredSecret::from(client.secret().clone())
                    .to_bytes()
                    .to_vec(),
            ],
            allowance: 16 << 20,
            decode: decoder(StoredSecret::from_bytes),
        },
        Target {
            name: "keys",
            shape: Shape::Sealed,
            valid: vec![files::keys_to_bytes(prepared.params(), &keys)?],
            allowance: 16 << 20,
            decode: decoder(move |bytes| files::keys_from_bytes(&b, bytes)),
        },
        Target {
            name: "input",
            shape: Shape::Sealed,
            valid: vec![files::query_to_bytes(&input)],
            allowance: 16 << 20,
            decode: decoder(move |bytes| files::query_from_bytes(&c, bytes)),
        },
        Target {
            name: "public-key",
            shape: Shape::Sealed,
            valid: vec![files::encryption_key_to_bytes(&public_key)],
            allowance: 16 << 20,
            decode: decoder(move |bytes| files::encryption_key_from_bytes(&f, bytes)),
        },
        Target {
            name: "public-input",
            shape: Shape::Sealed,
            valid: vec![files::query_to_bytes(&public_input)],
            allowance: 16 << 20,
            decode: decoder(move |bytes| files::query_from_bytes(&g, bytes)),
        },
        Target {
            name: "output",
            shape: Shape::Sealed,
            valid: vec![files::answer_to_bytes(&prepared, &output)],
            allowance: 16 << 20,
            decode: decoder(move |bytes| files::answer_from_bytes(&d, bytes)),
        },
        Target {
            name: "checkpoint",
            shape: Shape::Sealed,
            valid: checkpoints,
            allowance: 16 << 20,
            decode: decoder(move |bytes| Checkpoint::from_bytes(&e, bytes)),
        },
        Target {
            name: "samples",
            shape: Shape::Sealed,
            valid: samples,
            allowance: 16 << 20,
            decode: decoder(move |bytes| Checkpoint::from_bytes(&stepwise, bytes)),
        },
        Target {
            name: "reader",
            shape: Shape::Sealed,
            valid: vec![reader_script(&prepared, &output)],
            allowance: 16 << 20,
            decode: decoder(move |bytes| run_script(&prepared, bytes)),
        },
    ])
}

/// Runs a program that is accepted, from keys to results. It may fail, but must not panic.
fn run_to_the_end(bytes: &[u8]) -> Result<(), String> {
    let run = || -> Result<(), Box<dyn std::error::Error>> {
        let prepared = Prepared::new(Program::from_json(&text(bytes))?)?;
        let client = Client::generate(&prepared);
        let keys = client.evaluation_keys()?;
        let keys =
            files::keys_from_bytes(&prepared, &files::keys_to_bytes(prepared.params(), &keys)?)?;
        let program = prepared.program();
        let image = vec![program.input_range[1]; program.input.iter().product()];
        let input = client.encrypt(&vec![image; program.batch])?;
        let (output, _) = palladion_runtime::Server::new(&prepared, &keys).run(&input, |_| true)?;
        client.decrypt(&output, &input)?;
        Ok(())
    };
    run().map_err(|e| kind_of(&e))
}

const SCRIPT: Kind = Kind {
    tag: *b"TEST",
    words: "a list of reads",
    version: 1,
};

/// A payload that says, number by number, which read comes next.
fn reader_script(prepared: &Prepared, output: &Answer) -> Vec<u8> {
    let mut w = Writer::new();
    let ct = output.ciphertexts()[0].rlwe();
    for read in [0, 1, 2, 3, 4, 5, 6, 0, 4] {
        w.u64(read);
        match read {
            0 => w.u64(7),
            1 => w.u64(77),
            2 => w.block(b"some bytes"),
            3 => {
                w.u64(3);
                w.small(&[0, 1, -1]);
            }
            4 => w.poly(&ct.components()[0]),
            5 => w.ciphertext(ct),
            _ => {
                let level = 0;
                w.u64(level);
                (0..4).for_each(|k| w.u64(k));
                let basis = prepared.params().bfv().rlwe().extended(0);
                w.poly(&ring::Poly::<ring::Eval>::zero(&basis));
            }
        }
    }
    w.seal(&SCRIPT, &[0; 32])
}

fn run_script(prepared: &Prepared, bytes: &[u8]) -> Result<(), rlwe::bytes::BytesError> {
    let rlwe = prepared.params().bfv().rlwe();
    let (mut r, _) = Reader::open_any(bytes, &SCRIPT)?;
    while r.left() > 0 {
        match r.u64("the next read")? {
            0 => drop(r.u64("a number")?),
            1 => drop(r.bounded("a bounded number", 5..=99)?),
            2 => drop(r.block("a block")?),
            3 => {
                let count = r.u64("a count")?;
                r.small("a small number", count as usize, 1)?;
            }
            4 => drop(r.poly::<ring::Eval>(rlwe.basis(1))?),
            5 => drop(r.ciphertext(rlwe, 1, 2)?),
            6 => drop(r.switch_key(rlwe)?),
            _ => drop(r.seed()?),
        }
    }
    r.end()
}

/// Numbers that are often handled wrongly.
const EXTREMES: [i64; 16] = [
    0,
    1,
    -1,
    2,
    3,
    127,
    -128,
    255,
    32_768,
    65_536,
    65_537,
    1 << 31,
    1 << 32,
    i64::MAX,
    i64::MIN,
    1 << 62,
];

/// Makes one to four random changes of bytes.
fn mutate(rng: &mut ChaCha20Rng, bytes: &mut Vec<u8>) {
    for _ in 0..rng.random_range(1..=4) {
        if bytes.is_empty() {
            bytes.push(rng.random());
            continue;
        }
        let len = bytes.len();
        // Half of the changes are near the start, where counts are.
        let near = if rng.random() { len } else { len.min(300) };
        let at = rng.random_range(0..near);
        let run = rng.random_range(0..=(len - at).min(64));
        match rng.random_range(0..9) {
            0 | 1 => bytes[at] ^= 1 << rng.random_range(0..8),
            2 => bytes[at] = rng.random(),
            3 => bytes.truncate(at),
            4 => drop(bytes.drain(at..at + run)),
            5 => {
                let piece = bytes[at..at + run].to_vec();
                let to = rng.random_range(0..=len);
                bytes.splice(to..to, piece);
            }
            6 => {
                let from = rng.random_range(0..=len - run);
                bytes.copy_within(from..from + run, at);
            }
            7 => {
                let word = EXTREMES[rng.random_range(0..EXTREMES.len())].to_le_bytes();
                let room = word.len().min(len - at);
                bytes[at..at + room].copy_from_slice(&word[..room]);
            }
            _ => bytes.extend((0..run).map(|_| rng.random::<u8>())),
        }
    }
}

/// Changes one place of a JSON value.
fn edit(rng: &mut ChaCha20Rng, value: &mut Value) {
    let stop = rng.random_ratio(1, 8);
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            let index = rng.random_range(0..fields.len());
            let key = fields.keys().nth(index).cloned().unwrap_or_default();
            if stop {
                let taken = fields.remove(&key);
                if rng.random() {
                    fields.insert("other".into(), taken.unwrap_or_default());
                }
            } else if let Some(field) = fields.get_mut(&key) {
                edit(rng, field);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            let at = rng.random_range(0..items.len());
            match rng.random_range(0..12) {
                0 => drop(items.remove(at)),
                1 => items.insert(at, items[at].clone()),
                2 => items.truncate(at),
                3 => {
                    let other = rng.random_range(0..items.len());
                    items.swap(at, other);
                }
                4 if items.len() < 100 && items[at].to_string().len() < 200 => {
                    let item = items[at].clone();
                    items.extend(std::iter::repeat_n(item, 1 << rng.random_range(4..12)));
                }
                _ => edit(rng, &mut items[at]),
            }
        }
        other if stop => {
            let choices = [
                Value::Null,
                Value::Bool(true),
                Value::String("x".repeat(rng.random_range(0..100))),
                Value::Array(Vec::new()),
                Value::Object(serde_json::Map::new()),
            ];
            *other = choices[rng.random_range(0..choices.len())].clone();
        }
        Value::Number(number) => {
            let old = number.as_i64().unwrap_or(0);
            *value = match rng.random_range(0..10) {
                0 => Value::from(old.wrapping_add(1)),
                1 => Value::from(old.wrapping_sub(1)),
                2 => Value::from(old.wrapping_mul(2)),
                3 => Value::from(old / 2),
                4 => Value::from(u64::MAX),
                5 => Value::from([1e308, -1e308, 0.5, -0.0][rng.random_range(0..4)]),
                6 => Value::from(1i64 << rng.random_range(0..20)),
                _ => Value::from(EXTREMES[rng.random_range(0..EXTREMES.len())]),
            };
        }
        Value::String(string) => {
            let mut bytes = std::mem::take(string).into_bytes();
            mutate(rng, &mut bytes);
            *string = text(&bytes);
        }
        other => *other = Value::from(1),
    }
}

/// Corrects length and checksum of a sealed file.
fn seal_anew(bytes: &mut Vec<u8>, payload: &[u8]) {
    bytes.truncate(HEADER);
    bytes[48..56].copy_from_slice(&(payload.len() as u64).to_le_bytes());
    bytes.extend_from_slice(payload);
    let checksum = fingerprint(bytes);
    bytes.extend_from_slice(&checksum);
}

/// Valid bytes, and their value if they hold JSON.
struct Sample {
    bytes: Vec<u8>,
    json: Option<Value>,
}

impl Sample {
    fn new(shape: Shape, bytes: &[u8]) -> Self {
        let json = match shape {
            Shape::Json => serde_json::from_slice(bytes).ok(),
            Shape::Sealed => None,
            Shape::SealedJson => {
                serde_json::from_slice(&bytes[HEADER + 8..bytes.len() - CHECKSUM]).ok()
            }
        };
        Self {
            bytes: bytes.to_vec(),
            json,
        }
    }

    fn mutated(&self, rng: &mut ChaCha20Rng, shape: Shape) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        let edited = match &self.json {
            Some(json) if rng.random_ratio(4, 5) => {
                let mut json = json.clone();
                for _ in 0..rng.random_range(1..=3) {
                    edit(rng, &mut json);
                }
                // A program that is still valid is written in its own form, because other texts are
                // refused.
                let written = match shape {
                    Shape::SealedJson => serde_json::from_value(json.clone()).ok(),
                    _ => None,
                };
                let written = written.map(|program: Program| program.to_json());
                Some(written.unwrap_or_else(|| json.to_string()).into_bytes())
            }
            _ => None,
        };
        match (shape, edited) {
            (Shape::Json, Some(text)) => text,
            (Shape::SealedJson, Some(text)) => {
                // This file passes all checks of the container, so that the program itself is read.
                let mut payload = (text.len() as u64).to_le_bytes().to_vec();
                payload.extend_from_slice(&text);
                bytes[16..48].copy_from_slice(&fingerprint(&text));
                seal_anew(&mut bytes, &payload);
                bytes
            }
            (Shape::Json, None) => {
                mutate(rng, &mut bytes);
                bytes
            }
            _ if rng.random_ratio(1, 3) => {
                mutate(rng, &mut bytes);
                bytes
            }
            _ => {
                let mut payload = bytes[HEADER..bytes.len() - CHECKSUM].to_vec();
                mutate(rng, &mut payload);
                seal_anew(&mut bytes, &payload);
                bytes
            }
        }
    }
}

/// Results for one decoder.
#[derive(Default)]
struct Tally {
    runs: u64,
    accepted: u64,
    errors: BTreeSet<String>,
    /// Largest peak of memory, in bytes.
    peak: usize,
    slowest: Duration,
}

/// Fuzzes one decoder. If an input broke it, returns the input's number, its bytes and the failure.
fn fuzz(target: &Target, length: Duration, seed: u64) -> (Tally, Option<(u64, Vec<u8>, String)>) {
    let samples: Vec<Sample> = target
        .valid
        .iter()
        .map(|bytes| Sample::new(target.shape, bytes))
        .collect();
    let mut tally = Tally::default();
    for bytes in &target.valid {
        if let Err(error) = (target.decode)(bytes) {
            return (
                tally,
                Some((0, bytes.clone(), format!("valid bytes: {error}"))),
            );
        }
    }
    let begin = Instant::now();
    while begin.elapsed() < length {
        // Each input has its own seed, so that it can be made again.
        let number = seed + tally.runs;
        let mut rng = ChaCha20Rng::seed_from_u64(number);
        // Samples after the first are large and slow.
        let index = if rng.random_ratio(1, 8) {
            rng.random_range(0..samples.len())
        } else {
            0
        };
        let sample = &samples[index];
        let bytes = sample.mutated(&mut rng, target.shape);
        tally.runs += 1;
        let held = HELD.load(Relaxed);
        PEAK.store(held, Relaxed);
        let started = Instant::now();
        let result = catch_unwind(AssertUnwindSafe(|| (target.decode)(&bytes)));
        let elapsed = started.elapsed();
        let peak = PEAK.load(Relaxed).saturating_sub(held);
        tally.slowest = tally.slowest.max(elapsed);
        tally.peak = tally.peak.max(peak);
        let failure = match result {
            Err(panic) => {
                let words = panic.downcast_ref::<String>().cloned();
                let words = words.or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).into()));
                Some(format!("panic: {}", words.unwrap_or_default()))
            }
            Ok(_) if peak > target.allowance + PER_BYTE * bytes.len() => {
                Some(format!("{peak} bytes allocated for {} bytes", bytes.len()))
            }
            Ok(_) if elapsed > PATIENCE => Some(format!("{:.1} s", elapsed.as_secs_f64())),
            Ok(Ok(())) => {
                tally.accepted += 1;
                None
            }
            Ok(Err(kind)) => {
                tally.errors.insert(kind);
                None
            }
        };
        if let Some(words) = failure {
            return (tally, Some((number, bytes, words)));
        }
    }
    (tally, None)
}

fn main() -> Result<std::process::ExitCode, Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let seconds: f64 = args.next().map_or(Ok(1.0), |s| s.parse())?;
    let name = args.next();
    let seed: u64 = args.next().map_or(Ok(1), |s| s.parse())?;
    let length = Duration::try_from_secs_f64(seconds)?;
    let chosen: Vec<Target> = targets()?
        .into_iter()
        .filter(|t| name.as_deref().is_none_or(|name| name == t.name))
        .collect();
    if chosen.is_empty() {
        return Err("no decoder has this name".into());
    }
    std::panic::set_hook(Box::new(|_| {}));
    println!(
        "{:14} {:>10} {:>9} {:>6} {:>8} {:>12} {:>9}",
        "decoder", "executions", "accepted", "errors", "seconds", "peak bytes", "slowest"
    );
    let mut failed = false;
    for target in &chosen {
        let (tally, failure) = fuzz(target, length, seed);
        println!(
            "{:14} {:>10} {:>9} {:>6} {:>8.1} {:>12} {:>7.2} s",
            target.name,
            tally.runs,
            tally.accepted,
            tally.errors.len(),
            seconds,
            tally.peak,
            tally.slowest.as_secs_f64()
        );
        if std::env::var_os("FUZZ_LIST").is_some() {
            tally.errors.iter().for_each(|kind| println!("    {kind}"));
        }
        if let Some((number, bytes, words)) = failure {
            failed = true;
            let file = std::env::temp_dir().join(format!("fuzz-{}-{number}.bin", target.name));
            std::fs::write(&file, bytes)?;
            println!(
                "  FAILED at seed {number}: {words}; bytes in {}",
                file.display()
            );
        }
    }
    Ok(std::process::ExitCode::from(u8::from(failed)))
}
