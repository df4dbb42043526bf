//! Seconds of one table on all slots, by size and shape. One thread unless RAYON_NUM_THREADS says more.

use bfv::{Params, T_FERMAT, decrypt, encrypt};
use circuits::lut::{Lut, Shape, interpolate};
use circuits::{ClientKeys, Engine, Layout, LoopParams, Value};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use ring::{ntt_primes, ntt_primes_avoiding, sample::Seed};
use rlwe::ParamsSpec;
use std::time::Instant;

fn main() {
    let args: Vec<usize> = std::env::args()
        .skip(1)
        .map(|a| a.parse().expect("numbers"))
        .collect();
    let [
        bound,
        segments,
        k0,
        k1,
        k2,
        limbs,
        digit_limbs,
        p_count,
        p_bits,
    ] = args[..]
    else {
        panic!("usage: lut_timing BOUND SEGMENTS K0 K1 K2 LIMBS DIGIT_LIMBS P_COUNT P_BITS");
    };
    let n = 1 << 15;
    let mut q = ntt_primes(25, n, 1).unwrap();
    q.extend(ntt_primes(33, n, limbs - 1).unwrap());
    let p = ntt_primes_avoiding(p_bits as u32, n, p_count, &q).unwrap();
    let spec = ParamsSpec {
        n,
        q,
        p,
        digit_limbs,
    };
    let params = Params::new(&spec, T_FERMAT).unwrap();
    println!("log QP {:.1}", params.rlwe().log_qp());
    let small = ntt_primes(27, n, 1).unwrap()[0];
    let params = LoopParams::new(&params, small, 2048).unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let keys = ClientKeys::generate(&params, &mut rng);
    let t = *params.bfv().t();
    let table: Vec<i64> = (0..T_FERMAT)
        .map(|_| rng.random_range(0..T_FERMAT as i64))
        .collect();
    let f = |x: i64| table[t.from_i64(x) as usize];
    let polynomial = interpolate(&t, bound as i64, f).unwrap();
    let lut = Lut::new(
        polynomial,
        Shape {
            segments,
            digits: [k0, k1, k2],
        },
    )
    .unwrap();

    let layout = Layout::new(n, n / segments).unwrap();
    let top = params.bfv().rlwe().max_level();
    let x: Vec<i64> = (0..layout.values())
        .map(|_| rng.random_range(-(bound as i64)..=bound as i64))
        .collect();
    let slots: Vec<u64> = (0..n).map(|s| t.from_i64(x[layout.value_of(s)])).collect();
    let message = params.bfv().encoder().slots_to_plaintext(&slots);
    let ct = encrypt(
        params.bfv(),
        keys.secret(),
        &message,
        top,
        (&Seed([1; 32]), 0),
        &mut rng,
    );

    let dry = Engine::dry(params.bfv());
    let end = lut
        .apply(&dry, layout, &Value::dry(top, dry.model().fresh()))
        .unwrap();
    println!(
        "dry: ends at level {} noise {:.1}, {:?}",
        end.level(),
        end.noise().bits(),
        dry.counts()
    );
    let evaluation = keys.evaluation_keys(&dry.needs(), &mut rng).unwrap();
    let engine = Engine::new(params.bfv(), &evaluation);
    for _ in 0..2 {
        let start = Instant::now();
        let y = lut
            .apply(
                &engine,
                layout,
                &Value::encrypted(ct.clone(), engine.model().fresh()),
            )
            .unwrap();
        let seconds = start.elapsed().as_secs_f64();
        let got = params.bfv().encoder().slots_of(&decrypt(
            params.bfv(),
            keys.secret(),
            y.ciphertext().unwrap(),
        ));
        let wrong = (0..n)
            .filter(|&s| got[s] as i64 != f(x[layout.value_of(s)]))
            .count();
        let (size, budget) = bfv::measure(params.bfv(), keys.secret(), y.ciphertext().unwrap());
        println!(
            "{seconds:.2} s, {wrong} wrong slots, level {}, factor {}, noise {:.2} predicted {:.2}, budget {budget:.1}",
            y.level(),
            y.factor(),
            size.log2_rms,
            y.noise().bits()
        );
    }
}
