//! Small programs at full security: a linear layer, packing, perhaps a table, a dense layer from
//! slots.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    reason = "a module of several binaries: none uses all of it, and tests may panic"
)]

use bfv::{Params, T_FERMAT};
use circuits::coefficients::{Kernel, multiply};
use circuits::lut::Lut;
use circuits::pack::pack;
use circuits::{DryValue, Engine, Value, dense};
use exchange::{Layout, LoopParams};
use program::{
    Constant, Form, Indices, KeyNeeds, Op, Packed, Parameters, Patch, Prediction, Program, Row,
    Step, TableShape, Term, Type, ValueId,
};
use ring::{ntt_primes, ntt_primes_avoiding};
use rlwe::ParamsSpec;

pub const PIXELS: usize = 16;
pub const CLASSES: usize = 3;
/// Weights of the first layer, one kernel as large as the image.
pub const FACTOR: [i64; 3] = [2, -1, 3];
/// Exponents of the weights of the first layer.
const EXPONENTS: [i64; 3] = [0, 1, 2];
/// Weights of the second layer.
pub const WEIGHTS: [[i64; PIXELS]; CLASSES] = [[1; PIXELS], [-2; PIXELS], [3; PIXELS]];
pub const BIAS: [i64; CLASSES] = [100, 200, -300];

/// Polynomial of the table, lowest coefficient first.
pub const TABLE: [i64; 4] = [3, 65536, 7, 1];

/// A program without a table, at N = 2^13 and log QP = 141 of the 214 that 128 bits of security
/// allow. It has 4 MB of keys.
pub fn small_program() -> Program {
    build(1 << 13, 3, 1, None)
}

/// As [`small_program`], with two moduli more: log QP = 209. Its packed values have room for a
/// flood.
pub fn deep_program() -> Program {
    build(1 << 13, 5, 1, None)
}

/// A program with a table between the layers, at N = 2^14 and log QP = 390 of 430.
pub fn table_program(segments: usize) -> Program {
    let digits = [2, 2, 1];
    build(1 << 14, 9, 2, Some(TableShape { segments, digits }))
}

fn build(n: usize, limbs: usize, digit_limbs: usize, table: Option<TableShape>) -> Program {
    let mut q = ntt_primes(26, n, 1).unwrap();
    q.extend(ntt_primes(34, n, limbs - 1).unwrap());
    let p = ntt_primes_avoiding(49, n, digit_limbs, &q).unwrap();
    let spec = ParamsSpec {
        n,
        q: q.clone(),
        p: p.clone(),
        digit_limbs,
    };
    let (lwe_dimension, lwe_digit_bits) = (1024, 3);
    let params = Params::new(&spec, T_FERMAT).unwrap();
    let params = LoopParams::new(&params, lwe_dimension, lwe_digit_bits).unwrap();

    // Levels, noise and keys come from the circuits themselves.
    let engine = Engine::dry(params.bfv());
    let layout = Layout::new(n, PIXELS).unwrap();
    let input = Value::dry(1, engine.model().fresh());
    let kernel = Kernel {
        weights: &FACTOR,
        exponents: &EXPONENTS,
    };
    let product = multiply(&engine, &[(&input, kernel)]).unwrap();
    let start_level = limbs - 1;
    let packed = pack(&engine, &params, layout, &[], start_level).unwrap();
    let activated = match table {
        None => packed.clone(),
        Some(shape) => {
            let lut = Lut::new(vec![0; TABLE.len()], shape).unwrap();
            lut.apply(&engine, layout, &packed).unwrap()
        }
    };
    let low = engine.drop_to(activated.clone(), 1).unwrap();
    let weights = vec![(0, vec![1; PIXELS]); CLASSES];
    let layer = dense::Layer::new(layout, weights).unwrap();
    let results = layer.apply(&engine, &low).unwrap();
    let margin_bits = engine.margin_bits(&results);
    let log2_failure = circuits::total_failure(&[engine.take_failure()]);
    let needs = engine.needs();

    let ciphertext = |value: &DryValue, form: Form| Type::Ciphertext {
        form,
        level: value.level(),
        noise_bits: value.noise().bits(),
    };
    let coefficients = |value: &DryValue| ciphertext(value, Form::Coefficients);
    let step = |op: Op, ty: Type, layer: &str| Step {
        op,
        ty,
        layer: layer.into(),
        seconds: 0.0,
    };
    let rows: Vec<Row> = (0..CLASSES)
        .map(|output| Row { image: 0, output })
        .collect();
    let at: Vec<usize> = (0..CLASSES).collect();
    let constant = |name: &str, values: Vec<i64>| Constant {
        name: name.into(),
        values,
    };
    let value: ValueId = 0;
    let mut steps = vec![
        step(Op::Input { index: 0 }, coefficients(&input), "first"),
        step(
            Op::MulCoefficients {
                terms: vec![Term {
                    value,
                    weights: 0,
                    exponents: 5,
                }],
            },
            coefficients(&product),
            "first",
        ),
        step(
            Op::AddCoefficients {
                value: 1,
                term: 1,
                at: 6,
            },
            coefficients(&product),
            "first",
        ),
        step(Op::ToSamples { value: 2 }, Type::Samples, "first"),
        step(
            Op::Pack {
                sources: vec![3],
                values: (0..PIXELS).map(|k| Packed(k, 0, k, vec![[0, k]])).collect(),
                start_level,
            },
            ciphertext(&packed, Form::Slots(PIXELS)),
            "first",
        ),
    ];
    if let Some(shape) = table {
        let op = Op::Table {
            value: 4,
            polynomial: 4,
            shape,
            // A polynomial is correct everywhere.
            indices: Indices {
                bound: 1000,
                border: 32_768,
            },
        };
        steps.push(step(
            op,
            ciphertext(&activated, Form::Slots(PIXELS)),
            "first",
        ));
    }
    let value = steps.len() - 1;
    steps.extend([
        step(
            Op::Dense {
                value,
                weights: 2,
                inputs: PIXELS,
                rows: rows.clone(),
            },
            coefficients(&results),
            "last",
        ),
        step(
            Op::AddCoefficients {
                value: value + 1,
                term: 3,
                at: 7,
            },
            coefficients(&results),
            "last",
        ),
        step(
            Op::Output {
                value: value + 2,
                rows,
                at: at.clone(),
                flood: None,
            },
            coefficients(&results),
            "last",
        ),
    ]);
    let program = Program {
        format: String::new(),
        name: "small".into(),
        batch: 1,
        input: [1, 4, 4],
        input_range: [0, 127],
        classes: CLASSES,
        interface: None,
        interleaved: false,
        placement: vec![vec![Patch {
            image: 0,
            channels: [0, 1],
            start: 0,
            pitch: [16, 4],
        }]],
        parameters: Parameters {
            n,
            t: T_FERMAT,
            q,
            p,
            digit_limbs,
            lwe_dimension,
            lwe_digit_bits,
            slack_bits: params.slack_bits(),
            baby_steps: params.baby_steps(),
        },
        keys: KeyNeeds {
            relinearization: needs.relinearization(),
            galois: needs
                .galois_elements()
                .iter()
                .map(|(&g, &l)| (g, l))
                .collect(),
            packing: needs.packings().iter().map(|(&v, &l)| (v, l)).collect(),
        },
        prediction: Prediction {
            input_bytes: 0,
            key_bytes: 0,
            margin_bits,
            log2_failure,
            public_inputs: None,
        },
        constants: vec![
            constant("first.weight", FACTOR.to_vec()),
            constant("first.bias", vec![5, -7]),
            constant("last.weight", WEIGHTS.concat()),
            constant("last.bias", BIAS.to_vec()),
            constant("first.table", TABLE.to_vec()),
            constant("first.exponents", EXPONENTS.to_vec()),
            constant("first.places", vec![0, 1]),
            constant("last.places", at.iter().map(|&a| a as i64).collect()),
        ],
        steps,
    };
    program.new().unwrap()
}

/// The values that are packed, without noise.
pub fn first_layer(image: &[i64]) -> Vec<i64> {
    let tap = |k: usize, shift: usize| match k.checked_sub(shift) {
        Some(place) => FACTOR[shift] * image[place],
        None => 0,
    };
    let bias = |k: usize| [5, -7].get(k).copied().unwrap_or(0);
    (0..PIXELS)
        .map(|k| bias(k) + (0..FACTOR.len()).map(|shift| tap(k, shift)).sum::<i64>())
        .collect()
}

/// The second layer's results for the packed values.
pub fn last_layer(packed: &[i64]) -> Vec<i64> {
    let sum = |weights: &[i64; PIXELS]| weights.iter().zip(packed).map(|(w, x)| w * x).sum::<i64>();
    WEIGHTS
        .iter()
        .zip(BIAS)
        .map(|(row, bias)| sum(row) + bias)
        .collect()
}
