//! Gates and tables of `crates/tfhe`.

use common::{Definitions, Row, batch_row, check};
use ring::torus::Fft;
use serde_json::{Value, json};
use tfhe::{ClientKey, Gate, Params, ServerKey, Table, sets};

fn describe(params: &Params) -> Value {
    json!({
        "log_n": params.spec().log_n,
        "log_q": params.spec().word_bits,
        "rank": params.rank(),
        "lwe_dimension": params.lwe_dimension(),
        "log2_failure": params.log2_failure().round(),
        "key_switching": "in the ring, before the rotation",
        "security": params.security().bits().unwrap_or(0.0).round(),
    })
}

fn keys(params: &Params) -> (ClientKey<u64>, ServerKey<u64, Fft>) {
    let fft = || Fft::new(params.n()).expect("a power of two");
    let client = ClientKey::generate(params, &mut rand::rng()).expect("64-bit words");
    let keys = client
        .evaluation_keys(&fft(), &mut rand::rng())
        .expect("their degree");
    (client, ServerKey::new(&keys, fft()).expect("their degree"))
}

fn gates(params: &Params, [and, mux, many]: [&'static str; 3], samples: usize) -> Vec<Row> {
    let what = describe(params);
    let (client, server) = keys(params);
    let bit = |i| {
        client
            .encrypt_bit(i % 3 == 0, &mut rand::rng())
            .expect("gates")
    };
    let bits: Vec<_> = (0..32).map(bit).collect();
    let gate = |x: usize, y: usize| server.gate(Gate::And, &bits[x], &bits[y]).expect("gates");
    check(client.decrypt_bit(&gate(0, 3)).expect("gates"), "1 and 1");
    let one = Row::measure(and, &what, samples, || {
        std::hint::black_box(gate(0, 1));
    });
    let select = Row::measure(mux, &what, samples, || {
        std::hint::black_box(server.mux(&bits[0], &bits[1], &bits[2]).expect("gates"));
    });
    let batch = batch_row(many, &what, samples, bits.len(), |i| {
        std::hint::black_box(gate(i, 0));
    });
    vec![one, select, batch]
}

fn tables(params: &Params, [one, many]: [&'static str; 2], samples: usize) -> Vec<Row> {
    let what = describe(params);
    let (client, server) = keys(params);
    let values = params.messages();
    let table = Table::of(params, |x| (x * x + 1) % values).expect("integers");
    let input = |i| {
        client
            .encrypt(i % values, &mut rand::rng())
            .expect("a message")
    };
    let inputs: Vec<_> = (0..8).map(input).collect();
    let apply = |i: usize| server.apply(&inputs[i], &table).expect("a fresh input");
    check(
        client.decrypt(&apply(3)).expect("integers") == 10 % values,
        "the table",
    );
    let row = Row::measure(one, &what, samples, || {
        std::hint::black_box(apply(3));
    });
    let batch = batch_row(many, &what, samples, inputs.len(), |i| {
        std::hint::black_box(apply(i));
    });
    vec![row, batch]
}

pub fn time(definitions: &Definitions) -> Vec<Row> {
    let samples = definitions.tfhe.samples;
    let mut rows = gates(
        &sets::gates_2m64(),
        ["tfhe and 2^-64", "tfhe mux 2^-64", "tfhe and 2^-64, 32"],
        samples,
    );
    rows.extend(gates(
        &sets::gates_2m128(),
        ["tfhe and 2^-128", "tfhe mux 2^-128", "tfhe and 2^-128, 32"],
        samples,
    ));
    rows.extend(tables(
        &sets::integers_2_2_2m128(),
        ["tfhe table 2_2", "tfhe table 2_2, 8"],
        samples,
    ));
    rows.extend(tables(
        &sets::integers_3_3_2m128(),
        ["tfhe table 3_3", "tfhe table 3_3, 8"],
        samples,
    ));
    rows
}
