//! `tfhe`, the library known as tfhe-rs.

use common::{Definitions, Group, Row, TfheDefinition, batch_row, check};
use serde_json::{Value, json};
use tfhe::boolean::parameters::{
    BooleanParameters, DEFAULT_PARAMETERS, PARAMETERS_ERROR_PROB_2_POW_MINUS_165,
};
use tfhe::boolean::server_key::BinaryBooleanGates;
use tfhe::shortint::parameters::{
    ClassicPBSParameters, PARAM_MESSAGE_2_CARRY_2_KS_PBS_TUNIFORM_2M128,
    v1_8::V1_8_PARAM_MESSAGE_3_CARRY_3_KS_PBS_TUNIFORM_2M128,
};

/// A gate, a multiplexer and a batch of gates.
fn gates(
    parameters: &BooleanParameters,
    label: &'static [&'static str; 3],
    what: &Value,
    samples: usize,
) -> Vec<Row> {
    let client = tfhe::boolean::client_key::ClientKey::new(parameters);
    let server = tfhe::boolean::server_key::ServerKey::new(&client);
    let bits: Vec<_> = (0..32).map(|i| client.encrypt(i % 3 == 0)).collect();
    let [and, mux, many] = *label;
    check(client.decrypt(&server.and(&bits[0], &bits[3])), "1 and 1");
    let one = Row::measure(and, what, samples, || {
        std::hint::black_box(server.and(&bits[0], &bits[1]));
    });
    let select = Row::measure(mux, what, samples, || {
        std::hint::black_box(server.mux(&bits[0], &bits[1], &bits[2]));
    });
    let batch = batch_row(many, what, samples, bits.len(), |i| {
        std::hint::black_box(server.and(&bits[i], &bits[0]));
    });
    vec![one, select, batch]
}

fn tables(
    parameters: ClassicPBSParameters,
    label: &'static [&'static str; 2],
    what: &Value,
    samples: usize,
) -> Vec<Row> {
    let (client, server) = tfhe::shortint::gen_keys(parameters);
    let values = parameters.message_modulus.0;
    let table = server.generate_lookup_table(|x| (x * x + 1) % values);
    let inputs: Vec<_> = (0..8).map(|i| client.encrypt(i % values)).collect();
    let found = client.decrypt(&server.apply_lookup_table(&inputs[3], &table));
    check(found == 10 % values, "the table");
    let one = Row::measure(label[0], what, samples, || {
        let _ = std::hint::black_box(server.apply_lookup_table(&inputs[3], &table));
    });
    let batch = batch_row(label[1], what, samples, inputs.len(), |i| {
        let _ = std::hint::black_box(server.apply_lookup_table(&inputs[i], &table));
    });
    vec![one, batch]
}

fn time(definitions: &Definitions) -> Vec<Row> {
    let TfheDefinition { samples } = definitions.tfhe;
    let what = |n: usize, k: usize, log_n: u32, log2_failure: i32, key_switching: &str| {
        json!({ "log_n": log_n, "log_q": 64, "rank": k, "lwe_dimension": n, "log2_failure": log2_failure,
            "key_switching": key_switching, "security": 132 })
    };
    let boolean = |p: &BooleanParameters, log2_failure| {
        let log_n = p.polynomial_size.0.ilog2();
        let mut what = what(
            p.lwe_dimension.0,
            p.glwe_dimension.0,
            log_n,
            log2_failure,
            "samples, after the rotation",
        );
        what["log_q"] = 32.into();
        what
    };
    let shortint = |p: &ClassicPBSParameters| {
        let log2_failure = p.log2_p_fail.round() as i32;
        let log_n = p.polynomial_size.0.ilog2();
        what(
            p.lwe_dimension.0,
            p.glwe_dimension.0,
            log_n,
            log2_failure,
            "samples, before the rotation",
        )
    };
    let (usual, rare) = (DEFAULT_PARAMETERS, PARAMETERS_ERROR_PROB_2_POW_MINUS_165);
    let (two, three) = (
        PARAM_MESSAGE_2_CARRY_2_KS_PBS_TUNIFORM_2M128,
        V1_8_PARAM_MESSAGE_3_CARRY_3_KS_PBS_TUNIFORM_2M128,
    );
    let mut rows = gates(
        &usual,
        &["tfhe and 2^-64", "tfhe mux 2^-64", "tfhe and 2^-64, 32"],
        &boolean(&usual, -64),
        samples,
    );
    rows.extend(gates(
        &rare,
        &["tfhe and 2^-128", "tfhe mux 2^-128", "tfhe and 2^-128, 32"],
        &boolean(&rare, -165),
        samples,
    ));
    rows.extend(tables(
        two,
        &["tfhe table 2_2", "tfhe table 2_2, 8"],
        &shortint(&two),
        samples,
    ));
    rows.extend(tables(
        three,
        &["tfhe table 3_3", "tfhe table 3_3, 8"],
        &shortint(&three),
        samples,
    ));
    rows
}

fn main() {
    common::run(&[Group {
        name: "tfhe",
        time,
        // It checks its own result.
        values: |_| Vec::new(),
    }]);
}
