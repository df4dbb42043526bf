//! Prints the time of each pass over one limb. Operands and results lie in memory, as in circuits:
//! `cargo run --release -p palladion-kernels --example prices`. One thread, medians, N = 2^15.
//!
//! `crates/cost` predicts costs from the prices of such passes.

use std::time::Instant;

use palladion_kernels::{Kernels, Modulus, NttTable, is_prime, kernels};

const N: usize = 1 << 15;
/// Limbs of one operand: 32 MiB, beyond the caches.
const LIMBS: usize = 128;
/// Words of one block of a conversion or combination.
const BLOCK: usize = 1024;
const ROUNDS: usize = 15;

fn prime(bits: u32) -> Modulus {
    let step = 2 * N as u64;
    let top = ((1u64 << bits) - 2) / step * step + 1;
    (0..)
        .map(|i| top - i * step)
        .find(|&q| is_prime(q))
        .and_then(Modulus::new)
        .expect("primes of this size exist")
}

/// `LIMBS` limbs of words below `bound`.
fn limbs(bound: u64, seed: u64) -> Vec<Vec<u64>> {
    let word = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) % bound;
    let limb = |k: u64| (0..N as u64).map(|i| word(i + k + seed)).collect();
    (0..LIMBS as u64).map(limb).collect()
}

/// Prints the median time of one of `passes` passes.
fn line(name: &str, passes: usize, mut f: impl FnMut()) {
    f();
    let mut times: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let begin = Instant::now();
            f();
            begin.elapsed().as_secs_f64()
        })
        .collect();
    times.sort_by(f64::total_cmp);
    println!(
        "{name:<44} {:8.2} us",
        times[ROUNDS / 2] / passes as f64 * 1e6
    );
}

fn transforms(k: &dyn Kernels, bits: u32) {
    let q = prime(bits);
    let table = NttTable::new(q, N).expect("1 modulo 2N");
    let mut a = limbs(q.value(), 1);
    line(&format!("transform, {bits} bits"), LIMBS, || {
        a.iter_mut().for_each(|a| k.ntt(&table, a));
    });
    line(&format!("inverse transform, {bits} bits"), LIMBS, || {
        a.iter_mut().for_each(|a| k.intt(&table, a));
    });
}

fn words(k: &dyn Kernels) {
    let q = prime(34);
    let (mut a, b) = (limbs(q.value(), 1), limbs(q.value(), 2));
    line("sum", LIMBS, || {
        a.iter_mut()
            .zip(&b)
            .for_each(|(a, b)| k.add_assign(&q, a, b));
    });
    line("product with a word", LIMBS, || {
        a.iter_mut().for_each(|a| k.scalar_mul_assign(&q, a, 12345));
    });
    let index: Vec<u32> = (0..N as u32)
        .map(|i| i.wrapping_mul(5) % N as u32)
        .collect();
    line("permutation", LIMBS, || {
        a.iter_mut()
            .zip(&b)
            .for_each(|(a, b)| k.permute_into(a, b, &index));
    });
    let digits = 6;
    let out = LIMBS / digits;
    line("term of an inner product, 6 terms", out * digits, || {
        for (i, a) in a.iter_mut().take(out).enumerate() {
            let x: Vec<&[u64]> = (0..digits).map(|j| &b[i * digits + j][..]).collect();
            let y: Vec<&[u64]> = (0..digits).map(|j| &b[(i + j) % LIMBS][..]).collect();
            k.dot_into(&q, a, &x, &y);
        }
    });
}

/// Times products that give `rows` results from `inner` limbs each, with matrix entries below
/// `2^entry_bits`.
fn matrices(k: &dyn Kernels, name: &str, (rows, inner, entry_bits): (usize, usize, u32)) {
    let q = prime(34);
    let b = limbs(q.value(), 2);
    let mut a = limbs(q.value(), 1);
    let entries =
        (0..(rows * inner) as u64).map(|i| i.wrapping_mul(0x9e37_79b9) % (1 << entry_bits));
    let (m, moduli): (Vec<u64>, _) = (entries.collect(), vec![q; rows]);
    line(name, rows * inner, || {
        for start in (0..N).step_by(BLOCK) {
            let columns = start..start + BLOCK;
            let x: Vec<&[u64]> = b[..inner].iter().map(|b| &b[columns.clone()]).collect();
            let mut out: Vec<&mut [u64]> = a[..rows]
                .iter_mut()
                .map(|a| &mut a[columns.clone()])
                .collect();
            k.mat_mul_into(&moduli, &m, (&x, q.bits()), &mut out);
        }
    });
}

fn main() {
    let k = kernels();
    println!("{}", k.name());
    transforms(k, 34);
    transforms(k, 49);
    words(k);
    matrices(k, "term of a conversion, 5 limbs to 19", (19, 5, 34));
    matrices(k, "term of a conversion, 3 limbs to 21", (21, 3, 34));
    matrices(k, "term of a combination, 16 by 16", (16, 16, 16));
    matrices(k, "term of a combination, 64 by 64", (64, 64, 16));
}
