//! The parts that the Rust programs of the benchmark share.
//!
//! A program is called as `PROGRAM time|values GROUP DEFINITIONS`. `time` prints one [`Row`] per
//! line, `values` one object per line for the judges. The Go and Python programs use the same
//! protocol, the same inputs ([`words`]) and the same timing ([`Row::measure`]).

pub mod bfv;
pub mod ntt;
pub mod scheme;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::time::Instant;

/// The measurements to make: `bench/definitions.json`.
#[derive(Debug, Deserialize)]
pub struct Definitions {
    pub ntt: NttDefinition,
    pub bfv: BfvDefinition,
    pub bgv: BgvDefinition,
    pub ckks: ChainDefinition,
    pub bootstrap: BootstrapDefinition,
    pub lookup: LookupDefinition,
    pub tfhe: TfheDefinition,
}

/// Every `q` is combined with every `log_n`.
#[derive(Debug, Deserialize)]
pub struct NttDefinition {
    pub log_n: Vec<u32>,
    pub q: Vec<u64>,
    pub samples: usize,
}

#[derive(Debug, Deserialize)]
pub struct BfvDefinition {
    pub log_n: u32,
    pub t: u64,
    /// An approximate size: a library that builds its own chain comes close to it.
    pub log_q: u32,
    pub samples: usize,
}

/// A chain of moduli of one size, the digits of key switching, and rotations that share a
/// decomposition.
#[derive(Debug, Deserialize)]
pub struct ChainDefinition {
    pub log_n: u32,
    pub moduli: usize,
    pub modulus_bits: u32,
    pub digits: usize,
    pub rotations: usize,
    pub samples: usize,
}

#[derive(Debug, Deserialize)]
pub struct BgvDefinition {
    pub t: u64,
    #[serde(flatten)]
    pub chain: ChainDefinition,
}

#[derive(Debug, Deserialize)]
pub struct BootstrapDefinition {
    pub samples: usize,
}

/// A table of `bits` bits on `2^log_n` values.
#[derive(Debug, Deserialize)]
pub struct LookupDefinition {
    pub log_n: u32,
    pub bits: u32,
    pub samples: usize,
}

/// Gates and tables of TFHE, at the failure probabilities in the names of the rows.
#[derive(Debug, Deserialize)]
pub struct TfheDefinition {
    pub samples: usize,
}

/// One measurement.
#[derive(Debug, Serialize)]
pub struct Row {
    pub name: &'static str,
    pub parameters: Value,
    /// Median of the samples.
    pub seconds: f64,
    pub samples: usize,
    pub min: f64,
    /// The report of the operation about its own result, if it makes one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<Value>,
}

impl Row {
    /// Times `samples` calls of `f` one by one, after one call to warm up.
    pub fn measure(
        name: &'static str,
        parameters: &Value,
        samples: usize,
        mut f: impl FnMut(),
    ) -> Self {
        f();
        let mut seconds: Vec<f64> = (0..samples)
            .map(|_| {
                let start = Instant::now();
                f();
                start.elapsed().as_secs_f64()
            })
            .collect();
        seconds.sort_by(f64::total_cmp);
        Self {
            name,
            parameters: parameters.clone(),
            seconds: (seconds[(samples - 1) / 2] + seconds[samples / 2]) / 2.0,
            samples,
            min: seconds[0],
            found: None,
        }
    }
}

/// Times `f` on `0 .. count` in parallel, on all threads. `seconds` is the total time divided by
/// `count`.
pub fn batch_row(
    name: &'static str,
    parameters: &Value,
    samples: usize,
    count: usize,
    f: impl Fn(usize) + Sync,
) -> Row {
    use rayon::prelude::*;
    let samples = samples.div_ceil(count).max(3);
    let mut row = Row::measure(name, parameters, samples, || {
        (0..count).into_par_iter().for_each(&f)
    });
    row.seconds /= count as f64;
    row.min /= count as f64;
    row
}

/// Ends a program whose library computes a wrong result.
pub fn check(holds: bool, what: &str) {
    if !holds {
        eprintln!("error: {what} came out wrong");
        std::process::exit(1);
    }
}

/// The input named `seed`: output of SplitMix64 reduced modulo `modulus`.
pub fn words(seed: u64, len: usize, modulus: u64) -> Vec<u64> {
    const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;
    (1..=len as u64)
        .map(|i| {
            let mut z = seed.wrapping_add(i.wrapping_mul(GAMMA));
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            (z ^ (z >> 31)) % modulus
        })
        .collect()
}

/// The functions of a program for one group of measurements.
pub struct Group {
    pub name: &'static str,
    pub time: fn(&Definitions) -> Vec<Row>,
    pub values: fn(&Definitions) -> Vec<Value>,
}

/// The `main` of a program. Exits with a message if it is not called as described above.
pub fn run(groups: &[Group]) {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let Err(message) = run_group(groups, &args) {
        eprintln!("error: {message}");
        std::process::exit(2);
    }
}

fn run_group(groups: &[Group], args: &[String]) -> Result<(), String> {
    let [verb, name, path] = args else {
        return Err("usage: PROGRAM time|values GROUP DEFINITIONS".into());
    };
    let group = groups
        .iter()
        .find(|g| g.name == name)
        .ok_or_else(|| format!("no group {name} yet"))?;
    let text = std::fs::read_to_string(path).map_err(|e| format!("{path}: {e}"))?;
    let definitions = serde_json::from_str(&text).map_err(|e| format!("{path}: {e}"))?;
    match verb.as_str() {
        "time" => print_lines(&(group.time)(&definitions)),
        "values" => print_lines(&(group.values)(&definitions)),
        _ => return Err(format!("unknown verb {verb}")),
    }
    Ok(())
}

fn print_lines(items: &[impl Serialize]) {
    for item in items {
        println!("{}", serde_json::to_string(item).expect("a row is JSON"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_input_is_splitmix64() {
        // First outputs for seed 0, as published with the generator.
        let first = [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4];
        assert_eq!(words(0, 2, u64::MAX), first);
    }
}
