//! Does the trace of a gate describe what a server computes? Replayed, it gives the server's
//! samples, word for word. The server calls the kernels for the transforms that the trace counts.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

mod compare;
mod documented;
mod forms;
mod messages;
mod several;

use compare::{Case, check};
use palladion_evaluate::torus::{gate, table};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use ring::torus::{Decomposition, Torus};
use tfhe::{ClientKey, Encoding, Gate, Lwe, Params, ParamsSpec, Table, sets};

/// NAND with a parameter set.
fn nand<T: Torus>(name: &str, params: &Params) {
    let rng = &mut ChaCha20Rng::seed_from_u64(5);
    let client = ClientKey::<T>::generate(params, rng).unwrap();
    let [x, y] = [true, false].map(|bit| client.encrypt_bit(bit, rng).unwrap());
    let mut operand = Lwe::trivial(params.big_dimension(), T::from_torus(0.125));
    operand.add_scaled(x.lwe(), -1);
    operand.add_scaled(y.lwe(), -1);
    let case = Case {
        circuit: gate(params, Gate::Nand),
        inputs: vec![x.lwe().clone(), y.lwe().clone()],
        operand,
        drop: 0,
        server: &|server| vec![server.gate(Gate::Nand, &x, &y).unwrap().lwe().clone()],
    };
    check(name, &client, rng, &case);
}

/// The default parameter set.
#[test]
fn the_replayed_trace_of_a_gate_is_the_server_s() {
    nand::<u64>("NAND", &sets::gates_2m128());
}

/// Words of 32 bits, and a key switch by samples.
#[test]
fn the_replayed_trace_of_a_gate_by_samples_is_the_server_s() {
    nand::<u32>("NAND by samples", &sets::gates_lwe());
}

/// Tables of an integer, all in one bootstrapping.
fn tables<T: Torus>(params: &Params, count: u64) {
    let rng = &mut ChaCha20Rng::seed_from_u64(6);
    let client = ClientKey::<T>::generate(params, rng).unwrap();
    let x = client.encrypt(1, rng).unwrap();
    let entry = |t: u64, v: u64| (v * v + t) % params.messages();
    let entries = |t: u64| -> Vec<u64> { (0..params.values()).map(|v| entry(t, v)).collect() };
    let entries: Vec<Vec<u64>> = (0..count).map(entries).collect();
    let own = Table::<T>::new(params, &entries).unwrap();
    let case = Case {
        circuit: table(params, &own),
        inputs: vec![x.lwe().clone()],
        operand: x.lwe().clone(),
        drop: own.test().drop(),
        server: &|server| {
            let outputs = server.apply_tables(&x, &own).unwrap();
            let outputs = outputs.iter().map(|output| output.lwe().clone());
            outputs.collect()
        },
    };
    check(&format!("{count} tables"), &client, rng, &case);
}

#[test]
fn the_replayed_trace_of_a_table_is_the_server_s() {
    tables::<u64>(&sets::integers_2_2_2m128(), 1);
}

#[test]
fn the_replayed_trace_of_two_tables_is_the_server_s() {
    tables::<u64>(&sets::integers_2_2_2m128(), 2);
}

/// Small parameters without noise. They are insecure.
pub(crate) fn insecure(
    word_bits: u32,
    (dimension, rank, log_n): (usize, usize, u32),
    bootstrap: (u32, u32),
    key_switch: tfhe::KeySwitch,
    encoding: Encoding,
) -> Params {
    let spec = ParamsSpec {
        word_bits,
        lwe_dimension: dimension,
        lwe_sigma: 0.0,
        rank,
        log_n,
        ring_sigma: 0.0,
        bootstrap: digits(bootstrap),
        key_switch,
        encoding,
    };
    Params::new_insecure(&spec).unwrap()
}

pub(crate) fn digits((base_log, levels): (u32, u32)) -> Decomposition {
    Decomposition::new(base_log, levels).unwrap()
}

/// Several digits, dimensions below, at and above the degree, sums of rests that exceed a word, and
/// both kinds of key switch.
#[test]
fn replayed_traces_at_insecure_parameters_are_the_server_s() {
    let ring = |of| tfhe::KeySwitch::Ring(digits(of));
    let lwe = |of| tfhe::KeySwitch::Lwe(digits(of));
    let wide = [
        ((16, 1, 4), (7, 3), ring((3, 5))),
        ((40, 2, 4), (17, 1), ring((1, 1))),
        ((33, 1, 5), (30, 2), lwe((4, 4))),
        ((5, 3, 5), (1, 9), lwe((1, 1))),
    ];
    for (sizes, bootstrap, key_switch) in wide {
        let params = insecure(64, sizes, bootstrap, key_switch, Encoding::Gates);
        nand::<u64>(&format!("{sizes:?}"), &params);
    }
    let short = [
        ((20, 3, 5), (10, 2), lwe((3, 4))),
        ((64, 1, 6), (6, 4), ring((2, 8))),
        ((70, 1, 6), (15, 2), ring((1, 31))),
    ];
    let encoding = Encoding::Integers {
        message_bits: 1,
        carry_bits: 1,
    };
    for (sizes, bootstrap, key_switch) in short {
        let gates = insecure(32, sizes, bootstrap, key_switch, Encoding::Gates);
        nand::<u32>(&format!("{sizes:?}"), &gates);
        let integers = insecure(32, sizes, bootstrap, key_switch, encoding);
        tables::<u32>(&integers, sizes.2 as u64 - 3);
    }
}
