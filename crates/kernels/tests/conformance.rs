//! Compares every operation of every backend with the scalar reference, and that with integers.

mod common;

use common::{backends, ntt_prime, words};
use palladion_kernels::{Combinations, Kernels, Modulus, PackedWords, Reciprocal, Scalar, Store};
use proptest::prelude::*;

/// Lengths around the width of a vector, of four vectors and of a matrix panel; and one limb.
const LEN: [usize; 16] = [0, 1, 3, 4, 5, 7, 8, 9, 23, 24, 25, 31, 33, 95, 97, 4096];

fn moduli() -> Vec<Modulus> {
    let primes = [20, 30, 36, 48, 49, 50, 51, 55, 60].map(|bits| ntt_prime(bits, 1 << 12));
    let others = [3, 97, 65537, (1 << 50) - 1, (1 << 50) + 1, (1 << 60) - 1]
        .map(|q| Modulus::new(q).expect("odd"));
    primes.into_iter().chain(others).collect()
}

/// Two operands in `[0, q)` whose first words are the extremes.
fn operands(q: &Modulus, len: usize, seed: u64) -> (Vec<u64>, Vec<u64>) {
    let max = q.value() - 1;
    let (mut a, mut b) = (words(seed, len, max + 1), words(!seed, len, max + 1));
    let extremes = [(max, max), (max, 1), (0, max), (0, 0), (max, 0), (1, max)];
    for (i, (x, y)) in extremes.into_iter().enumerate().take(len) {
        (a[i], b[i]) = (x, y);
    }
    (a, b)
}

/// Calls `f` on every backend, modulus and length, and compares with the scalar reference.
fn compare(what: &str, f: impl Fn(&dyn Kernels, &Modulus, &mut Vec<u64>, &[u64], &[u64])) {
    for q in moduli() {
        for len in LEN {
            let seed = q.value() ^ (len as u64) << 50;
            let (a, b) = operands(&q, len, seed);
            let start = words(seed + 1, len, q.value());
            let mut want = start.clone();
            f(&Scalar, &q, &mut want, &a, &b);
            for backend in backends() {
                let mut got = start.clone();
                f(backend, &q, &mut got, &a, &b);
                let name = backend.name();
                assert_eq!(
                    got, want,
                    "{name} {what}: {q:?}, len = {len}, seed = {seed:#x}"
                );
            }
        }
    }
}

#[test]
fn sums_and_negatives() {
    compare("add_assign", |k, q, out, a, b| {
        out.copy_from_slice(a);
        k.add_assign(q, out, b);
    });
    compare("sub_assign", |k, q, out, a, b| {
        out.copy_from_slice(a);
        k.sub_assign(q, out, b);
    });
    for store in [Store::Cached, Store::Streamed] {
        compare("add_into", |k, q, out, a, b| {
            k.add_into(q, out, a, b, store)
        });
        compare("sub_into", |k, q, out, a, b| {
            k.sub_into(q, out, a, b, store)
        });
    }
    compare("neg_assign", |k, q, out, a, _| {
        out.copy_from_slice(a);
        k.neg_assign(q, out);
    });
}

#[test]
fn products() {
    compare("mul_assign", |k, q, out, a, b| {
        out.copy_from_slice(a);
        k.mul_assign(q, out, b);
    });
    compare("mul_into", |k, q, out, a, b| k.mul_into(q, out, a, b));
    compare("mul_add_assign", |k, q, out, a, b| {
        k.mul_add_assign(q, out, a, b)
    });
}

#[test]
fn products_with_scalars() {
    for c in [0, 1, 2, u64::MAX, u64::MAX / 3] {
        compare("scalar_mul_assign", |k, q, out, a, _| {
            out.copy_from_slice(a);
            k.scalar_mul_assign(q, out, c % q.value());
        });
        compare("scalar_mul_add_assign", |k, q, out, a, _| {
            k.scalar_mul_add_assign(q, out, a, c % q.value());
        });
        compare("sub_scalar_mul_assign", |k, q, out, a, b| {
            out.copy_from_slice(a);
            k.sub_scalar_mul_assign(q, out, b, c % q.value());
        });
    }
}

#[test]
fn reductions_of_words_below_2_to_52_and_of_all_words_modulo_wide_moduli() {
    compare("reduce_into", |k, q, out, a, _| {
        let largest = if q.is_wide() { u64::MAX } else { (1 << 52) - 1 };
        let mut wide = words(a.len() as u64, a.len(), largest);
        let value = q.value();
        let edges = [
            largest,
            largest - largest % value,
            value,
            2 * value,
            value - 1,
        ];
        for (x, edge) in wide.iter_mut().zip(edges) {
            *x = edge.min(largest);
        }
        k.reduce_into(q, out, &wide);
    });
}

#[test]
fn lifts_of_signed_words() {
    compare("lift_into", |k, q, out, a, _| {
        let most = (q.value() - 1).min(1 << 31);
        let signed = |(i, &x): (usize, &u64)| {
            let size = if i < 4 { most } else { x % (most + 1) };
            if i % 2 == 0 {
                -(size as i64) as i32
            } else {
                size.min((1 << 31) - 1) as i32
            }
        };
        let signed: Vec<i32> = a.iter().enumerate().map(signed).collect();
        k.lift_into(q, out, &signed);
        let residues: Vec<u64> = signed.iter().map(|&c| q.from_i64(c.into())).collect();
        assert_eq!(*out, residues);
    });
}

#[test]
fn dot_products_up_to_256_terms() {
    for terms in [0, 1, 2, 3, 16, 255, 256] {
        let rows = |x: &[u64], shift: usize| -> Vec<Vec<u64>> {
            (0..terms)
                .map(|k| {
                    let mut row = x.to_vec();
                    // The first two words stay where they are: the largest sums.
                    if let Some(rest) = row.get_mut(2..).filter(|r| !r.is_empty()) {
                        let by = (k * shift) % rest.len();
                        rest.rotate_left(by);
                    }
                    row
                })
                .collect()
        };
        compare("dot_into, dot_add_assign", |k, q, out, a, b| {
            let (a, b) = (rows(a, 1), rows(b, 3));
            let a: Vec<&[u64]> = a.iter().map(|r| &r[..]).collect();
            let b: Vec<&[u64]> = b.iter().map(|r| &r[..]).collect();
            let mut sum = out.clone();
            k.dot_add_assign(q, &mut sum, &a, &b);
            k.dot_into(q, out, &a, &b);
            out.extend(sum);
        });
    }
}

#[test]
fn dot_products_with_packed_terms() {
    for terms in [0, 1, 5, 256] {
        compare("dot_packed_into", |k, q, out, a, b| {
            let width = PackedWords::width(q);
            let mut bytes = vec![0; width * b.len()];
            PackedWords::pack(b, width, &mut bytes);
            let packed = vec![PackedWords::new(&bytes, width); terms];
            let a = vec![a; terms];
            k.dot_packed_into(q, out, &a, &packed);
            if let Some(words) = packed.first() {
                let mut unpacked = vec![1; b.len()];
                words.unpack_into(&mut unpacked);
                assert_eq!(unpacked, b, "{}: {q:?}", k.name());
            }
            let mut plain = out.clone();
            k.dot_into(q, &mut plain, &a, &vec![b; terms]);
            assert_eq!(*out, plain, "{q:?}");
        });
    }
}

/// One matrix product. `entries` bounds the matrix (for narrow moduli 2^50 does too), `bound`
/// bounds `x`.
fn mat_mul_case(moduli: &[Modulus], inner: usize, columns: usize, entries: u64, bound: u64) {
    let below = |q: &Modulus| {
        if q.is_wide() {
            entries
        } else {
            entries.min(1 << 50)
        }
    };
    let rows = (7..).zip(moduli);
    let mut m: Vec<u64> = rows.flat_map(|(r, q)| words(r, inner, below(q))).collect();
    let mut x: Vec<Vec<u64>> = (0..inner)
        .map(|k| words(k as u64, columns, bound))
        .collect();
    if !moduli.is_empty() && inner > 0 && columns > 0 {
        m[..inner].fill(below(&moduli[0]) - 1);
        x.iter_mut().for_each(|row| row[columns - 1] = bound - 1);
    }
    let x: Vec<&[u64]> = x.iter().map(|row| &row[..]).collect();
    let x_bits = 64 - (bound - 1).leading_zeros();
    let run = |k: &dyn Kernels| {
        let mut out = vec![vec![1; columns]; moduli.len()];
        let mut rows: Vec<&mut [u64]> = out.iter_mut().map(|row| &mut row[..]).collect();
        k.mat_mul_into(moduli, &m, (&x, x_bits), &mut rows);
        out
    };
    let want = run(&Scalar);
    for backend in backends() {
        let name = backend.name();
        let rows = moduli.len();
        assert!(
            run(backend) == want,
            "{name}: {rows} x {inner} x {columns}, entries < {entries:#x}, words < {bound:#x}"
        );
    }
}

#[test]
fn matrix_products_with_one_modulus() {
    for q in moduli() {
        let bound = 1u64 << q.bits();
        for (rows, inner, columns) in [(1, 1, 1), (4, 3, 24), (9, 17, 25), (13, 64, 101), (8, 0, 9)]
        {
            for entries in [65537, q.value(), 1 << 60] {
                mat_mul_case(&vec![q; rows], inner, columns, entries, bound);
            }
        }
    }
    let q = ntt_prime(50, 1 << 12);
    mat_mul_case(&[q; 5], 512, 33, 1 << 50, 1 << 50);
    mat_mul_case(&[ntt_prime(60, 1 << 12); 5], 512, 33, 1 << 60, 1 << 60);
    mat_mul_case(&[ntt_prime(36, 1 << 12); 16], 512, 96, 1 << 16, 1 << 36);
    mat_mul_case(&[], 4, 5, 2, 2);
}

#[test]
fn matrix_products_with_a_modulus_per_row() {
    let all = moduli();
    let large: Vec<Modulus> = all.iter().copied().filter(|q| q.bits() > 16).collect();
    for moduli in [all, large] {
        for (inner, columns) in [(1, 8), (5, 40), (20, 97), (512, 30)] {
            mat_mul_case(&moduli, inner, columns, 1 << 60, 1 << 50);
            mat_mul_case(&moduli, inner, columns, 1 << 60, 1 << 60);
            mat_mul_case(&moduli, inner, columns, 2, 1 << 50); // every product below 2^52
        }
    }
}

/// Groups of combinations, each multiplied with factors, against the sums of their definition.
fn tensor_combinations_case(
    q: &Modulus,
    (groups, height, inner): (usize, usize, usize),
    columns: usize,
    entries: u64,
) {
    let mut m = words(3, groups * height * inner, entries);
    // Entries, words and factors at their limits, alone and side by side.
    m.iter_mut().step_by(5).for_each(|m| *m = entries - 1);
    let ahead = (inner * height).min(m.len());
    m[..ahead].fill(entries - 1);
    let limbs = |seed: u64, count: usize| -> Vec<Vec<u64>> {
        let limb = |k| {
            let mut limb = words(seed + k, columns, q.value());
            limb.iter_mut().step_by(3).for_each(|x| *x = q.value() - 1);
            limb
        };
        (0..count as u64).map(limb).collect()
    };
    let x = [limbs(100, inner), limbs(1000, inner)];
    let y = [limbs(2000, height), limbs(3000, height)];
    let sum = |g: usize, factors: &[(usize, usize)], c: usize| {
        let mut sum = 0;
        for &(a, b) in factors {
            for (j, y) in y[b].iter().enumerate() {
                let m = &m[(g * height + j) * inner..][..inner];
                let terms = m.iter().zip(&x[a]);
                let p = terms.fold(0, |p, (&m, x)| q.add(p, q.mul(q.reduce(m), x[c])));
                sum = q.add(sum, q.mul(p, y[c]));
            }
        }
        sum
    };
    let parts: [&[(usize, usize)]; 3] = [&[(0, 0)], &[(0, 1), (1, 0)], &[(1, 1)]];
    let want: Vec<Vec<u64>> = (0..groups)
        .flat_map(|g| parts.map(|part| (0..columns).map(|c| sum(g, part, c)).collect()))
        .collect();
    let [[x0, x1], [y0, y1]] = [&x, &y].map(|parts| {
        parts
            .each_ref()
            .map(|limbs| limbs.iter().map(|limb| &limb[..]).collect::<Vec<_>>())
    });
    let combinations = Combinations {
        matrix: &m,
        x: [&x0, &x1],
        y: [&y0, &y1],
    };
    for backend in backends() {
        let mut got = vec![vec![7; columns]; 3 * groups];
        let mut rows: Vec<&mut [u64]> = got.iter_mut().map(|row| &mut row[..]).collect();
        backend.tensor_combinations(q, &combinations, &mut rows);
        assert!(
            got == want,
            "{}: {groups} x {height} x {inner} x {columns}, {q:?}, entries < {entries}",
            backend.name()
        );
    }
}

#[test]
fn tensor_combinations_are_sums_of_products() {
    for q in moduli() {
        for shape in [(1, 1, 1), (2, 3, 5), (3, 17, 30), (0, 2, 2)] {
            for (columns, entries) in [(1, 65537), (16, 65536), (71, 65537), (40, 1 << 17)] {
                tensor_combinations_case(&q, shape, columns, entries);
            }
        }
    }
    // Shapes of tables, and the most terms for words of 32 bits, with every size of modulus.
    for bits in [31, 34, 38, 39, 40] {
        let q = ntt_prime(bits, 1 << 12);
        for shape in [(2, 16, 64), (1, 20, 65), (2, 5, 128), (1, 128, 129)] {
            tensor_combinations_case(&q, shape, 130, 65537);
        }
    }
}

/// Words of a basis conversion, which a backend may cut into pieces, to moduli of two sizes.
#[test]
fn matrix_products_of_wide_words() {
    let mut moduli = vec![ntt_prime(34, 1 << 12); 9];
    moduli.extend([ntt_prime(49, 1 << 12); 3]);
    moduli.extend([ntt_prime(20, 1 << 12); 2]);
    for x_bits in [17, 33, 34, 36, 49, 50] {
        for inner in [1, 3, 6, 17, 64] {
            mat_mul_case(&moduli, inner, 41, 1 << 50, 1 << x_bits);
        }
    }
}

/// Against the fixed-point sum that defines the quotient, and against the nearest integer where the
/// sum is not near the middle of two.
#[test]
fn quotients_of_sums_of_up_to_64_moduli() {
    for moduli in [
        vec![ntt_prime(30, 1 << 12)],
        vec![ntt_prime(32, 1 << 12); 2],
        vec![ntt_prime(34, 1 << 12); 5],
        [20, 28, 31, 32, 33, 36, 49, 50, 51, 60]
            .map(|bits| ntt_prime(bits, 1 << 12))
            .to_vec(),
        vec![ntt_prime(60, 1 << 12); 64],
    ] {
        for len in LEN {
            let mut y: Vec<Vec<u64>> = (0..)
                .zip(&moduli)
                .map(|(i, q)| operands(q, len, i).0)
                .collect();
            let reciprocals: Vec<Reciprocal> = moduli.iter().map(Reciprocal::new).collect();
            let rows: Vec<&mut [u64]> = y.iter_mut().map(|row| &mut row[..]).collect();
            let run = |backend: &dyn Kernels| {
                let mut out = vec![1; len];
                backend.quotients(&rows, &reciprocals, &mut out);
                out
            };
            let want = run(&Scalar);
            for (k, &v) in want.iter().enumerate() {
                assert_eq!(v, quotient(&moduli, |i| rows[i][k]), "word {k} of {len}");
            }
            for backend in backends() {
                assert_eq!(run(backend), want, "{}: {moduli:?}, {len}", backend.name());
            }
        }
    }
}

/// The quotient by its definition.
fn quotient(moduli: &[Modulus], word: impl Fn(usize) -> u64) -> u64 {
    if let [q] = moduli {
        return u64::from(2 * u128::from(word(0)) >= u128::from(q.value()));
    }
    let terms = moduli.iter().enumerate().map(|(i, q)| {
        let leading = (u128::from(word(i)) << 32) >> q.bits();
        let factor = (1u128 << (31 + q.bits())) / u128::from(q.value());
        (leading * factor) >> 7
    });
    let sum = (1u128 << 55) + terms.sum::<u128>();
    let ratio: f64 = (0..moduli.len())
        .map(|i| word(i) as f64 / moduli[i].value() as f64)
        .sum();
    if (ratio.fract() - 0.5).abs() > moduli.len() as f64 * 2f64.powi(-30) {
        assert_eq!((sum >> 56) as f64, ratio.round());
    }
    (sum >> 56) as u64
}

/// On other CPUs a backend may be absent, and its tests pass without it.
#[cfg(target_arch = "aarch64")]
#[test]
fn every_aarch64_cpu_has_the_kernels_for_neon() {
    assert!(backends().iter().any(|k| k.name() == "neon"));
    assert!(
        palladion_kernels::torus_available()
            .iter()
            .any(|k| k.name() == "neon")
    );
}

#[test]
#[should_panic(expected = "one length")]
fn lengths_that_differ_are_refused() {
    let q = Modulus::new(65537).unwrap();
    palladion_kernels::kernels().add_assign(&q, &mut [1, 2], &[3]);
}

proptest! {
    // Any odd modulus of 2 to 60 bits and any words: the bounds of the quotients must also hold for
    // composite moduli next to powers of two.
    #[test]
    fn backends_agree_with_integers(
        raw in 0u64..1 << 59, shift in 0u32..57, seed: u64, near_power: bool,
    ) {
        let raw = if near_power { (1 << 59) - 1 - (raw >> 55) } else { raw };
        let q = Modulus::new((2 * (raw >> shift) + 1).max(3)).unwrap();
        let wide = u128::from(q.value());
        let (a, b) = operands(&q, 21, seed);
        for backend in backends() {
            let mut product = vec![0; 21];
            backend.mul_into(&q, &mut product, &a, &b);
            let mut sum = a.clone();
            backend.mul_add_assign(&q, &mut sum, &a, &b);
            let mut dot = b.clone();
            backend.dot_add_assign(&q, &mut dot, &[&a, &b, &a], &[&b, &b, &a]);
            let c = b[6];
            let [mut scaled, mut scaled_sum, mut difference] = [a.clone(), b.clone(), a.clone()];
            backend.scalar_mul_assign(&q, &mut scaled, c);
            backend.scalar_mul_add_assign(&q, &mut scaled_sum, &a, c);
            backend.sub_scalar_mul_assign(&q, &mut difference, &b, c);
            // Rows of this modulus, of the largest narrow one and of a wide one, words and entries
            // of 60 bits.
            let moduli = [q.value(), (1 << 50) - 1, (1 << 60) - 1].map(|q| Modulus::new(q).unwrap());
            let entry = |q: &Modulus| if q.is_wide() { (1 << 60) - 1 } else { (1 << 50) - 1 };
            let m = moduli.each_ref().map(|q| [entry(q), c.min(entry(q))]).concat();
            let mut rows = [[0; 21]; 3];
            let [r0, r1, r2] = &mut rows;
            backend.mat_mul_into(&moduli, &m, (&[&a, &b], 60), &mut [r0, r1, r2]);
            let c = u128::from(c);
            for i in 0..21 {
                let (x, y) = (u128::from(a[i]), u128::from(b[i]));
                prop_assert_eq!(u128::from(product[i]), x * y % wide);
                prop_assert_eq!(u128::from(sum[i]), (x + x * y) % wide);
                prop_assert_eq!(u128::from(dot[i]), (y + x * y + y * y + x * x) % wide);
                prop_assert_eq!(u128::from(scaled[i]), x * c % wide);
                prop_assert_eq!(u128::from(scaled_sum[i]), (y + x * c) % wide);
                prop_assert_eq!(u128::from(difference[i]), (x + wide - y) * c % wide);
                for (r, q) in moduli.iter().enumerate() {
                    let want = u128::from(m[2 * r]) * x + u128::from(m[2 * r + 1]) * y;
                    prop_assert_eq!(u128::from(rows[r][i]), want % u128::from(q.value()));
                }
            }
        }
    }
}
