//! Athena's functional bootstrapping: a table on every coefficient of two ciphertexts, from
//! coefficients to coefficients.

use bfv::{Params, T_FERMAT, decrypt, encrypt};
use circuits::lut::{Lut, interpolate};
use circuits::operations::{Operations, Sample};
use circuits::pack::pack;
use circuits::transform::{SlotsToCoeffs, coefficient_of_slot};
use circuits::{Engine, ValueOf};
use client::ClientKeys;
use common::{Definitions, Row, words};
use exchange::{Layout, LoopParams};
use program::TableShape;
use ring::sample::Masks;
use ring::{ntt_primes, ntt_primes_avoiding};
use rlwe::lwe::LweBatch;
use rlwe::{DimensionKey, ParamsSpec};
use serde_json::json;
use std::time::Instant;

const N: usize = 1 << 15;
/// The whole of Z_t: 64 * 32 * 33 coefficients are enough for 65,537.
const SHAPE: TableShape = TableShape {
    segments: 1,
    digits: [64, 32, 33],
};

/// The circuits after the dimension switch.
struct Loop {
    params: LoopParams,
    layout: Layout,
    lut: Lut,
    to_coeffs: SlotsToCoeffs,
}

impl Loop {
    /// At `N = 2^15` and 128-bit security: log2(QP) = 866.
    fn new(table: impl Fn(i64) -> i64) -> Self {
        let mut q = ntt_primes(26, N, 1).expect("primes of 26 bits");
        q.extend(ntt_primes(34, N, 21).expect("primes of 34 bits"));
        let p = ntt_primes_avoiding(42, N, 3, &q).expect("primes of 42 bits");
        let spec = ParamsSpec {
            n: N,
            q,
            p,
            digit_limbs: 4,
        };
        let bfv = Params::new(&spec, T_FERMAT).expect("128-bit parameters");
        let polynomial = interpolate(bfv.t(), (T_FERMAT / 2) as i64, table);
        Self {
            layout: Layout::new(N, N).expect("a value a slot"),
            lut: Lut::new(polynomial.expect("a bound in range"), SHAPE).expect("a shape that fits"),
            to_coeffs: SlotsToCoeffs::balanced(&bfv).expect("the full ring"),
            params: LoopParams::new(&bfv, 1024, 3).expect("a secure dimension"),
        }
    }

    fn run<O: Operations>(
        &self,
        engine: &Engine<O>,
        samples: &[Vec<Sample<'_, O::Samples>>],
    ) -> circuits::Result<ValueOf<O>> {
        let top = self.params.bfv().rlwe().max_level();
        let packed = pack(engine, &self.params, self.layout, samples, top)?;
        let looked_up = self.lut.apply(engine, self.layout, &packed)?;
        self.to_coeffs.apply(engine, &looked_up)
    }
}

/// One row: a random table of `bits` bits on `2^log_n` values. Each value is a multiple of
/// `t / 2^bits`, in the input and in the result, so that rounding errors do not change it.
pub fn time(definitions: &Definitions) -> Vec<Row> {
    let definition = &definitions.lookup;
    let space = 1u64 << definition.bits;
    let gap = T_FERMAT / space;
    let table = words(2, space as usize, space);
    let at = |x: i64| (x.rem_euclid(T_FERMAT as i64) as u64 + gap / 2) / gap % space;
    let it = Loop::new(|x| (table[at(x) as usize] * gap) as i64);
    let (bfv, mut rng) = (it.params.bfv(), rand::rng());

    eprintln!("stage: making keys");
    let start = Instant::now();
    let keys = ClientKeys::generate(&it.params, &mut rng);
    let dimension = DimensionKey::generate(it.params.small(), keys.secret(), keys.lwe(), &mut rng);
    let dry = Engine::dry(bfv);
    it.run(&dry, &[]).expect("levels enough");
    let evaluation = keys.evaluation_keys(&dry.needs(), &mut rng);
    let evaluation = evaluation.expect("keys of the circuit");
    let keygen_seconds = start.elapsed().as_secs_f64();

    let values = words(1, 1 << definition.log_n, space);
    let inputs: Vec<_> = values
        .chunks(N)
        .map(|values| {
            let coefficients: Vec<i64> = values.iter().map(|&v| (v * gap) as i64).collect();
            let message = bfv.encoder().coefficients(&coefficients);
            let mask = &mut Masks::random(&mut rng);
            encrypt(bfv, keys.secret(), &message, 0, mask, &mut rng)
                .expect("a key of the parameters")
        })
        .collect();
    let engine = Engine::new(bfv, &evaluation);
    let mut results = Vec::new();
    let log_q = bfv.rlwe().log_q(bfv.rlwe().max_level());
    let parameters = json!({
        "log_n": N.ilog2(),
        "log_q": log_q.round() as u32,
        "log_p": (bfv.rlwe().log_qp() - log_q).round() as u32,
        "moduli": bfv.rlwe().max_level() + 1,
        "t": T_FERMAT,
        "bits": definition.bits,
        "secret": "uniform ternary",
        "key_switching": "special moduli, digits of 4 moduli",
    });
    eprintln!("stage: looking up");
    let mut row = Row::measure("lookup", &parameters, definition.samples, || {
        results = inputs
            .iter()
            .map(|input| {
                let batch = LweBatch::switch(input.rlwe(), &dimension, T_FERMAT);
                let batch = batch.expect("a ciphertext at level 0");
                let sample = |coefficient| Sample {
                    batch: &batch,
                    coefficient,
                };
                let samples: Vec<_> = (0..N).map(|k| vec![sample(k)]).collect();
                it.run(&engine, &samples).expect("keys of the circuit")
            })
            .collect();
    });
    let mut wrong = 0;
    for (values, result) in values.chunks(N).zip(&results) {
        let ct = result.ciphertext();
        let found = decrypt(bfv, keys.secret(), ct).expect("a key of the parameters");
        wrong += (0..N)
            .filter(|&slot| {
                let expected = table[values[slot] as usize] * gap;
                found.coefficients()[coefficient_of_slot(N, slot)] != expected
            })
            .count();
    }
    row.found = Some(json!({
        "values": values.len(),
        "wrong": wrong,
        "key_bytes": evaluation.byte_len(),
        "keygen_seconds": keygen_seconds,
    }));
    vec![row]
}
