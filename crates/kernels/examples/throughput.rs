//! Prints the speed of every backend of this CPU: `cargo run --release -p palladion-kernels
//! --example throughput [BACKEND [transforms]]`. One thread, medians, data in the caches.

use std::time::{Duration, Instant};

use palladion_kernels::{
    Combinations, Kernels, Modulus, NttTable, PackedWords, Store, available, is_prime,
};

const N: usize = 1 << 15;

/// Median time of one call, in nanoseconds, over about a tenth of a second.
fn median_ns(mut f: impl FnMut()) -> f64 {
    f(); // warm the caches
    let mut samples = Vec::new();
    let start = Instant::now();
    while samples.len() < 15
        || (samples.len() < 4000 && start.elapsed() < Duration::from_millis(100))
    {
        let t = Instant::now();
        f();
        samples.push(t.elapsed().as_nanos() as f64);
    }
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}

fn prime(bits: u32) -> Modulus {
    let step = 4 * N as u64; // also NTT-friendly for degree 2N
    let top = ((1u64 << bits) - 2) / step * step + 1;
    (0..)
        .map(|i| top - i * step)
        .find(|&q| is_prime(q))
        .and_then(Modulus::new)
        .expect("primes of this size exist")
}

fn words(len: usize, bound: u64) -> Vec<u64> {
    (1..=len as u64)
        .map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) % bound)
        .collect()
}

fn transforms(k: &dyn Kernels) {
    println!("  NTT                      forward     inverse   (us)");
    let sizes = [30, 34, 36, 45, 48, 49, 50, 51, 60].map(|bits| (15, bits));
    let others = [(12, 30), (13, 30), (14, 30), (16, 49), (16, 60)];
    for (log_n, bits) in sizes.into_iter().chain(others) {
        let table = NttTable::new(prime(bits), 1 << log_n).expect("1 modulo 2N");
        let mut a = words(1 << log_n, table.modulus().value());
        let forward = median_ns(|| k.ntt(&table, &mut a)) / 1e3;
        let inverse = median_ns(|| k.intt(&table, &mut a)) / 1e3;
        println!("    N = 2^{log_n}, {bits} bits    {forward:9.1} {inverse:11.1}");
    }
    let tables: Vec<NttTable> = (0..15u64)
        .scan(prime(48).value(), |q, _| {
            *q = (1..)
                .map(|i| *q - i * 2 * N as u64)
                .find(|&q| is_prime(q))?;
            NttTable::new(Modulus::new(*q)?, N)
        })
        .collect();
    let mut limbs: Vec<Vec<u64>> = tables
        .iter()
        .map(|t| words(N, t.modulus().value()))
        .collect();
    let mut each = |f: &mut dyn FnMut(&NttTable, &mut [u64])| {
        median_ns(|| tables.iter().zip(&mut limbs).for_each(|(t, a)| f(t, a))) / 15e3
    };
    let forward = each(&mut |t, a| k.ntt(t, a));
    let inverse = each(&mut |t, a| k.intt(t, a));
    println!("    48 bits, 15 primes   {forward:9.1} {inverse:11.1}");
}

fn element_wise(k: &dyn Kernels) {
    println!("  word by word, 2^15 words      (us, 48 | 50 | 60 bits)");
    let qs = [48, 50, 60].map(prime);
    type Operation<'a> = &'a mut dyn FnMut(&Modulus, &mut [u64], &[u64], &[u64]);
    let line = |name: &str, f: Operation| {
        let times = qs.map(|q| {
            let mut acc = words(N, q.value());
            let (a, b) = (acc.clone(), acc.clone());
            median_ns(|| f(&q, &mut acc, &a, &b)) / 1e3
        });
        let [a, b, c] = times;
        println!("    {name:22} {a:8.2} {b:8.2} {c:8.2}");
    };
    line("add_assign", &mut |q, o, a, _| k.add_assign(q, o, a));
    line("add_into", &mut |q, o, a, b| {
        k.add_into(q, o, a, b, Store::Cached)
    });
    line("sub_assign", &mut |q, o, a, _| k.sub_assign(q, o, a));
    line("neg_assign", &mut |q, o, _, _| k.neg_assign(q, o));
    line("mul_assign", &mut |q, o, a, _| k.mul_assign(q, o, a));
    line("mul_into", &mut |q, o, a, b| k.mul_into(q, o, a, b));
    line("mul_add_assign", &mut |q, o, a, b| {
        k.mul_add_assign(q, o, a, b)
    });
    line("scalar_mul_assign", &mut |q, o, _, _| {
        k.scalar_mul_assign(q, o, 12345)
    });
    line("scalar_mul_add_assign", &mut |q, o, a, _| {
        k.scalar_mul_add_assign(q, o, a, 12345)
    });
    line("sub_scalar_mul_assign", &mut |q, o, a, _| {
        k.sub_scalar_mul_assign(q, o, a, 12345)
    });
    line("reduce_into", &mut |q, o, a, _| k.reduce_into(q, o, a));
    line("dot_into, 3 terms", &mut |q, o, a, b| {
        k.dot_into(q, o, &[a, b, a], &[b, b, a])
    });
    line("dot_into, 16 terms", &mut |q, o, a, b| {
        k.dot_into(q, o, &[a; 16], &[b; 16])
    });
    let mut bytes = vec![0; 8 * N];
    line("dot_packed_into, 5", &mut |q, o, a, b| {
        let width = PackedWords::width(q);
        let bytes = &mut bytes[..width * N];
        if bytes.iter().all(|&byte| byte == 0) {
            PackedWords::pack(b, width, bytes);
        }
        k.dot_packed_into(q, o, &[a; 5], &[PackedWords::new(bytes, width); 5])
    });
    line("dot_into, 5 terms", &mut |q, o, a, b| {
        k.dot_into(q, o, &[a; 5], &[b; 5])
    });
    let index = palladion_kernels::eval_automorphism_index(N, 5);
    line("permute_into", &mut |_, o, a, _| {
        k.permute_into(o, a, &index)
    });
    line("automorphism_into", &mut |q, o, a, _| {
        k.automorphism_into(q, o, a, 5)
    });
}

/// Prints the multiply-adds per nanosecond of a `rows x inner` matrix times an `inner x columns`
/// one.
fn matrix(k: &dyn Kernels, name: &str, moduli: &[Modulus], shape: (usize, usize), entries: u64) {
    let (inner, columns) = shape;
    let m = words(moduli.len() * inner, entries);
    let x: Vec<Vec<u64>> = (0..inner)
        .map(|_| words(columns, moduli[0].value()))
        .collect();
    let x: Vec<&[u64]> = x.iter().map(|row| &row[..]).collect();
    let mut out = vec![vec![0; columns]; moduli.len()];
    let mut out: Vec<&mut [u64]> = out.iter_mut().map(|row| &mut row[..]).collect();
    let ns = median_ns(|| k.mat_mul_into(moduli, &m, (&x, moduli[0].bits()), &mut out));
    let products = (moduli.len() * inner * columns) as f64;
    let rows = moduli.len();
    println!(
        "    {name:30} {rows:3} x {inner:3} x {columns:6} {:8.2}",
        products / ns
    );
}

/// Prints the multiply-adds per nanosecond of both components of `groups x height` combinations of
/// `inner` ciphertexts, with their products.
fn combinations(k: &dyn Kernels, (groups, height, inner): (usize, usize, usize)) {
    const COLUMNS: usize = 1 << 12;
    let q = prime(34);
    let m = words(groups * height * inner, 65537);
    let limbs = |count: usize| vec![words(COLUMNS, q.value()); count];
    let (x, y) = (limbs(inner), limbs(height));
    let x: Vec<&[u64]> = x.iter().map(|limb| &limb[..]).collect();
    let y: Vec<&[u64]> = y.iter().map(|limb| &limb[..]).collect();
    let mut out = limbs(3 * groups);
    let mut out: Vec<&mut [u64]> = out.iter_mut().map(|row| &mut row[..]).collect();
    let combinations = Combinations {
        matrix: &m,
        x: [&x, &x],
        y: [&y, &y],
    };
    let ns = median_ns(|| k.tensor_combinations(&q, &combinations, &mut out));
    let products = (2 * m.len() * COLUMNS) as f64;
    println!(
        "    {groups:3} x {height:3} x {inner:3} {:31.1}",
        products / ns
    );
}

fn main() {
    let [only, part] = [1, 2].map(|i| std::env::args().nth(i));
    let (only, part) = (only.filter(|name| !name.is_empty()), part.as_deref());
    for k in available() {
        if part == Some("names") {
            println!("{}", k.name());
            continue;
        }
        if only.as_deref().is_some_and(|name| name != k.name()) {
            continue;
        }
        println!("{}", k.name());
        transforms(k);
        if part == Some("transforms") {
            continue;
        }
        element_wise(k);
        println!("  matrix product                                    (multiply-adds per ns)");
        let columns = if k.name() == "scalar" { 256 } else { 4096 };
        matrix(k, "17 x 50 bits", &[prime(50); 256], (256, columns), 65537);
        matrix(k, "17 x 48 bits", &[prime(48); 256], (256, columns), 65537);
        matrix(k, "17 x 34 bits", &[prime(34); 256], (256, columns), 65537);
        matrix(k, "16 x 36 bits", &[prime(36); 256], (256, columns), 65536);
        matrix(k, "17 x 30 bits", &[prime(30); 256], (256, columns), 65537);
        let mut moduli = vec![prime(48); 18];
        moduli[17] = prime(49);
        matrix(
            k,
            "48 x 48 bits, basis conversion",
            &moduli,
            (15, N),
            1 << 48,
        );
        moduli[17] = prime(60);
        matrix(
            k,
            "48 x 48 bits, a modulus of 60",
            &moduli,
            (15, N),
            1 << 48,
        );
        matrix(k, "60 x 60 bits", &[prime(60); 18], (15, N), 1 << 60);
        println!("  combinations of a table, 34 bits                  (multiply-adds per ns)");
        for shape in [
            (8, 64, 128),
            (16, 64, 64),
            (4, 32, 64),
            (2, 64, 64),
            (2, 16, 32),
        ] {
            combinations(k, shape);
        }
    }
}
