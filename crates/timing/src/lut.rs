//! Functional bootstrapping.

use crate::error::Result;
use crate::meter::{GoOn, Hear, Meter, N, meter};
use ::bfv::{Params, T_FERMAT, encrypt};
use circuits::lut::{Lut, interpolate};
use circuits::{Engine, Value};
use client::ClientKeys;
use exchange::{Layout, LoopParams};
use program::TableShape;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use ring::sample::Masks;
use ring::{Reuse, ntt_primes, ntt_primes_avoiding};
use rlwe::ParamsSpec;

/// A table, and parameters that hold it.
struct Table {
    name: &'static str,
    entries: u64,
    bound: i64,
    shape: TableShape,
    limbs: usize,
    digit_limbs: usize,
    special: (u32, usize),
}

/// Random tables on all slots: a table of every residue, one of 8,192 entries, and one of 8,192
/// entries on 256 values, where the copies of each value share the work.
const TABLES: [Table; 3] = [
    Table {
        name: "table of all residues",
        entries: 65_537,
        bound: 32_768,
        shape: TableShape {
            segments: 1,
            digits: [64, 32, 33],
        },
        limbs: 19,
        digit_limbs: 5,
        special: (49, 4),
    },
    Table {
        name: "table of 8192 entries",
        entries: 8_193,
        bound: 4_096,
        shape: TableShape {
            segments: 1,
            digits: [32, 16, 17],
        },
        limbs: 16,
        digit_limbs: 6,
        special: (49, 4),
    },
    Table {
        name: "table of 8192 entries on 256 values",
        entries: 8_193,
        bound: 4_096,
        shape: TableShape {
            segments: 128,
            digits: [16, 8, 1],
        },
        limbs: 20,
        digit_limbs: 6,
        special: (49, 4),
    },
];

/// Measures functional bootstrapping of random tables.
///
/// # Errors
/// [`Error::Stopped`](crate::Error::Stopped).
pub fn lut(samples: usize, hear: Hear<'_>, go_on: GoOn<'_>) -> Result<()> {
    let mut meter = meter(samples, hear, go_on);
    let _reuse = Reuse::begin(); // as a run
    for table in &TABLES {
        one_table(&mut meter, table)?;
    }
    Ok(())
}

fn one_table(meter: &mut Meter<'_>, table: &Table) -> Result<()> {
    let primes = |bits, count| ntt_primes(bits, N, count).map_err(rlwe::Error::from);
    let mut q = primes(25, 1)?;
    q.extend(primes(34, table.limbs - 1)?);
    let (bits, count) = table.special;
    let p = ntt_primes_avoiding(bits, N, count, &q).map_err(rlwe::Error::from)?;
    let spec = ParamsSpec {
        n: N,
        q,
        p,
        digit_limbs: table.digit_limbs,
    };
    let params = LoopParams::new(&Params::new(&spec, T_FERMAT)?, 1024, 3)?;
    let (bfv, mut rng) = (params.bfv(), ChaCha20Rng::seed_from_u64(1));
    let keys = ClientKeys::generate(&params, &mut rng);
    let t = *bfv.t();
    let values: Vec<i64> = (0..T_FERMAT)
        .map(|_| rng.random_range(0..T_FERMAT as i64))
        .collect();
    let polynomial = interpolate(&t, table.bound, |x| values[t.from_i64(x) as usize])?;
    let lut = Lut::new(polynomial, table.shape)?;
    let layout = Layout::new(N, N / table.shape.segments)?;
    let x: Vec<u64> = (0..layout.values())
        .map(|_| t.from_i64(rng.random_range(-table.bound..=table.bound)))
        .collect();
    let slots: Vec<u64> = (0..N).map(|slot| x[layout.value_of(slot)]).collect();
    let message = bfv.encoder().slots_to_plaintext(&slots);
    let top = bfv.rlwe().max_level();
    let masks = &mut Masks::random(&mut rng);
    let ct = encrypt(bfv, keys.secret(), &message, top, masks, &mut rng)?;
    let dry = Engine::dry(bfv);
    lut.apply(&dry, layout, &Value::dry(top, dry.model().fresh()))?;
    let evaluation = keys.evaluation_keys(&dry.needs(), &mut rng)?;
    let engine = Engine::new(bfv, &evaluation);
    let sizes = [
        ("log_n", N.ilog2().into()),
        ("log_qp", bfv.rlwe().log_qp().round() as u64),
        ("entries", table.entries),
        ("values", layout.values() as u64),
    ];
    let input = || Value::encrypted(ct.clone(), engine.model().fresh());
    let result = lut.apply(&engine, layout, &input())?;
    let ct = result.ciphertext();
    let found = bfv
        .encoder()
        .slots_of(&bfv::decrypt(bfv, keys.secret(), ct)?);
    let right = (0..N).all(|slot| found[slot] == values[x[layout.value_of(slot)] as usize] as u64);
    assert!(right, "{}: a slot is wrong", table.name);
    meter.row(table.name, &sizes, input, |x| {
        lut.apply(&engine, layout, &x)
    })
}
