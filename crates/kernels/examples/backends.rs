//! Compares every kernel of every backend with the scalar one: `cargo run --release -p
//! palladion-kernels --example backends`. Prints how many times faster each is, and fails if one is
//! slower. One thread, the best of several rounds that take turns, data in the caches.

use palladion_kernels::{
    Digits, FftTable, Kernels, Modulus, NttTable, Product, Store, TorusKernels,
};
use std::process::ExitCode;
use std::time::{Duration, Instant};

const N: usize = 1 << 12;
const TORUS_N: usize = 1 << 11;
/// Below this a kernel counts as slower. It leaves room for the error of measuring.
const LEAST: f64 = 0.9;
const ROUNDS: usize = 7;
/// A kernel that seems slower is measured so many times more.
const AGAIN: usize = 2;

/// The least time of a call within about five milliseconds, in nanoseconds.
fn least_ns(f: &mut dyn FnMut()) -> f64 {
    let start = Instant::now();
    let mut least = f64::INFINITY;
    while start.elapsed() < Duration::from_millis(5) {
        let before = Instant::now();
        f();
        least = least.min(before.elapsed().as_nanos() as f64);
    }
    least
}

fn prime(bits: u32) -> Modulus {
    let step = 2 * N as u64;
    let top = ((1u64 << bits) - 2) / step * step + 1;
    (0..)
        .map(|i| top - i * step)
        .find(|&q| palladion_kernels::is_prime(q))
        .and_then(Modulus::new)
        .expect("primes of this size exist")
}

fn words(len: usize, bound: u64) -> Vec<u64> {
    (1..=len as u64)
        .map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) % bound)
        .collect()
}

type Work<'a> = Box<dyn FnMut() + 'a>;

/// Prints a line for a kernel, `work[b]` on backend `b`, of which the first is the scalar one.
/// Returns whether all are fast enough.
fn compare(name: &str, work: &mut [Work<'_>]) -> bool {
    let mut least = vec![f64::INFINITY; work.len()];
    let mut ratios = Vec::new();
    let mut right = false;
    for _ in 0..=AGAIN {
        for _ in 0..ROUNDS {
            for (least, work) in least.iter_mut().zip(work.iter_mut()) {
                *least = least.min(least_ns(work));
            }
        }
        ratios = least.iter().map(|ns| least[0] / ns).collect();
        right = ratios.iter().all(|&ratio| ratio >= LEAST);
        if right {
            break;
        }
    }
    let columns: String = ratios.iter().map(|ratio| format!("{ratio:9.2}")).collect();
    let verdict = if right { "" } else { "  SLOWER THAN SCALAR" };
    println!("{name:34}{columns}{verdict}");
    right
}

/// The kernels on words modulo a prime.
fn moduli(backends: &[&dyn Kernels]) -> bool {
    let mut right = true;
    for bits in [36, 48, 50, 60] {
        let q = prime(bits);
        let table = NttTable::new(q, N).expect("1 modulo 2N");
        let (a, b) = (words(N, q.value()), words(N, q.value()));
        let index = palladion_kernels::eval_automorphism_index(N, 5);
        type Call<'a> = dyn Fn(&dyn Kernels, &mut [u64]) + 'a;
        let mut one = |name: &str, call: &Call<'_>| {
            let mut work: Vec<Work<'_>> = Vec::new();
            for &k in backends {
                let mut out = a.clone();
                work.push(Box::new(move || call(k, &mut out)));
            }
            right &= compare(&format!("{name}, {bits} bits"), &mut work);
        };
        one("ntt", &|k, x| k.ntt(&table, x));
        one("intt", &|k, x| k.intt(&table, x));
        one("add_assign", &|k, x| k.add_assign(&q, x, &b));
        one("sub_assign", &|k, x| k.sub_assign(&q, x, &b));
        one("add_into", &|k, x| k.add_into(&q, x, &a, &b, Store::Cached));
        one("sub_into", &|k, x| k.sub_into(&q, x, &a, &b, Store::Cached));
        one("neg_assign", &|k, x| k.neg_assign(&q, x));
        one("mul_assign", &|k, x| k.mul_assign(&q, x, &b));
        one("mul_into", &|k, x| k.mul_into(&q, x, &a, &b));
        one("mul_add_assign", &|k, x| k.mul_add_assign(&q, x, &a, &b));
        one("scalar_mul_assign", &|k, x| k.scalar_mul_assign(&q, x, 123));
        one("scalar_mul_add_assign", &|k, x| {
            k.scalar_mul_add_assign(&q, x, &b, 123)
        });
        one("sub_scalar_mul_assign", &|k, x| {
            k.sub_scalar_mul_assign(&q, x, &b, 123)
        });
        one("reduce_into", &|k, x| k.reduce_into(&q, x, &a));
        one("dot_into, 16 terms", &|k, x| {
            k.dot_into(&q, x, &[&a[..]; 16], &[&b[..]; 16])
        });
        one("dot_add_assign, 16 terms", &|k, x| {
            k.dot_add_assign(&q, x, &[&a[..]; 16], &[&b[..]; 16])
        });
        one("permute_into", &|k, x| k.permute_into(x, &a, &index));
        one("automorphism_into", &|k, x| {
            k.automorphism_into(&q, x, &a, 5)
        });
        let (inner, rows, columns) = (16, 8, 256);
        let matrix = words(rows * inner, 65537);
        let lines = vec![words(columns, q.value()); inner];
        let lines: Vec<&[u64]> = lines.iter().map(|line| &line[..]).collect();
        let mut work: Vec<Work<'_>> = Vec::new();
        for &k in backends {
            let (matrix, lines, moduli) = (&matrix, &lines, [q; 8]);
            let mut out = vec![vec![0; columns]; rows];
            work.push(Box::new(move || {
                let mut out: Vec<&mut [u64]> = out.iter_mut().map(|row| &mut row[..]).collect();
                k.mat_mul_into(&moduli, matrix, (lines, q.bits()), &mut out);
            }));
        }
        right &= compare(&format!("mat_mul_into, {bits} bits"), &mut work);
    }
    right
}

/// The kernels of the torus.
fn torus(backends: &[&dyn TorusKernels]) -> bool {
    const ROWS: usize = 4;
    let table = FftTable::new(TORUS_N).expect("in range");
    let coefficients: Vec<i32> = words(TORUS_N, 512)
        .iter()
        .map(|&w| w as i32 - 256)
        .collect();
    let numbers: Vec<f64> = coefficients.iter().map(|&c| c.into()).collect();
    let values: Vec<f64> = (0..ROWS * TORUS_N).map(|i| i as f64 * 1e-9).collect();
    let wide = words(TORUS_N, u64::MAX);
    let narrow: Vec<u32> = wide.iter().map(|&w| w as u32).collect();
    let product = Product {
        digits: &values,
        column: &values,
        row_len: TORUS_N,
        ahead: &[],
    };
    let mut right = true;
    type Call<'a> = dyn Fn(&dyn TorusKernels, &mut Memory) + 'a;
    struct Memory {
        floats: Vec<f64>,
        wide: Vec<u64>,
        narrow: Vec<u32>,
        digits: Vec<i32>,
    }
    let mut one = |name: &str, call: &Call<'_>| {
        let mut work: Vec<Work<'_>> = Vec::new();
        for &k in backends {
            let mut memory = Memory {
                floats: vec![0.0; TORUS_N],
                wide: wide.clone(),
                narrow: narrow.clone(),
                digits: vec![0; 2 * TORUS_N],
            };
            work.push(Box::new(move || call(k, &mut memory)));
        }
        right &= compare(name, &mut work);
    };
    one("fft_digits", &|k, m| {
        k.fft_digits(&table, &mut m.floats, &coefficients, &[])
    });
    one("fft", &|k, m| k.fft(&table, &mut m.floats, &numbers));
    one("products_add_64", &|k, m| {
        k.products_add_64(&table, &mut m.wide, product, &mut m.floats)
    });
    one("products_add_32", &|k, m| {
        k.products_add_32(&table, &mut m.narrow, product, &mut m.floats)
    });
    one("digits_64", &|k, m| {
        k.digits_64(
            &mut m.digits,
            &wide,
            Digits {
                base_log: 15,
                levels: 2,
            },
        )
    });
    one("digits_32", &|k, m| {
        k.digits_32(
            &mut m.digits,
            &narrow,
            Digits {
                base_log: 8,
                levels: 2,
            },
        )
    });
    one("rotated_digits_64", &|k, m| {
        k.rotated_digits_64(
            &mut m.digits,
            &wide,
            77,
            Digits {
                base_log: 15,
                levels: 2,
            },
        )
    });
    one("rotated_digits_32", &|k, m| {
        k.rotated_digits_32(
            &mut m.digits,
            &narrow,
            77,
            Digits {
                base_log: 8,
                levels: 2,
            },
        )
    });
    right
}

fn main() -> ExitCode {
    let backends = palladion_kernels::available();
    let names: String = backends
        .iter()
        .map(|k| format!("{:>9}", k.name()))
        .collect();
    println!("{:34}{names}   (speed, scalar = 1)", "");
    assert_eq!(
        backends[0].name(),
        "scalar",
        "the scalar backend is the first"
    );
    let right = [
        moduli(&backends),
        torus(&palladion_kernels::torus_available()),
    ];
    if right == [true; 2] {
        ExitCode::SUCCESS
    } else {
        println!("a backend is slower than the scalar one: see SLOWER above");
        ExitCode::FAILURE
    }
}
