//! The NTT of every backend, compared with its definition, the reference, and known answers.

mod common;

use common::{backends, ntt_prime, some_ntt_prime, words};
use palladion_kernels::{Kernels, NttTable, Scalar, eval_automorphism_index, naive};

/// Sizes on both sides of every change of algorithm: 31 | 32, 45 | 46, 48 | 49 | 50 | 51 bits.
const BITS: [u32; 21] = [
    12, 14, 16, 18, 20, 24, 28, 30, 31, 32, 36, 44, 45, 46, 47, 48, 49, 50, 51, 55, 60,
];

#[test]
fn the_transform_is_its_definition_and_turns_products_into_products() {
    for backend in backends() {
        for (bits, n) in [
            (17, 16),
            (20, 32),
            (30, 64),
            (12, 128),
            (31, 256),
            (36, 128),
            (45, 512),
            (48, 256),
            (49, 256),
            (50, 512),
            (51, 64),
            (55, 16),
            (60, 128),
            (60, 256),
        ] {
            let q = ntt_prime(bits, n);
            let table = NttTable::new(q, n).unwrap();
            let (a, b) = (words(1, n, q.value()), words(2, n, q.value()));
            let (mut x, mut y) = (a.clone(), b.clone());
            backend.ntt(&table, &mut x);
            assert_eq!(x, naive::ntt(&table, &a), "{} N = {n}", backend.name());
            backend.ntt(&table, &mut y);
            backend.mul_assign(&q, &mut x, &y);
            backend.intt(&table, &mut x);
            let want = naive::negacyclic_mul(&q, &a, &b);
            assert_eq!(x, want, "{} N = {n}", backend.name());
        }
    }
}

#[test]
fn every_backend_transforms_like_the_scalar_reference_at_every_degree() {
    compare_with_scalar(4..=16);
}

// Half of the work, so that two threads share it.
#[test]
fn every_backend_transforms_like_the_scalar_reference_at_the_largest_degree() {
    compare_with_scalar(17..=17);
}

fn compare_with_scalar(log_degrees: std::ops::RangeInclusive<u32>) {
    for log_n in log_degrees {
        let n = 1usize << log_n;
        for (bits, q) in BITS
            .into_iter()
            .filter_map(|b| Some((b, some_ntt_prime(b, n)?)))
        {
            let table = NttTable::new(q, n).expect("a prime, 1 modulo 2N");
            let max = q.value() - 1;
            // All words q - 1 are the largest input. Alternating extremes give the largest
            // differences.
            let inputs = [
                words(u64::from(bits), n, q.value()),
                vec![max; n],
                (0..n).map(|i| if i % 2 == 0 { max } else { 0 }).collect(),
                (0..n).map(|i| if i < n / 2 { max } else { 0 }).collect(),
            ];
            for (which, input) in inputs.iter().enumerate() {
                let (mut forward, mut inverse) = (input.clone(), input.clone());
                Scalar.ntt(&table, &mut forward);
                Scalar.intt(&table, &mut inverse);
                for backend in backends() {
                    let case = format!("{} {q:?} N = {n} input {which}", backend.name());
                    let mut x = input.clone();
                    backend.ntt(&table, &mut x);
                    assert!(x == forward, "ntt, {case}");
                    backend.intt(&table, &mut x);
                    assert!(x == *input, "round trip, {case}");
                    backend.intt(&table, &mut x);
                    assert!(x == inverse, "intt, {case}");
                }
            }
        }
    }
}

/// Known answer, made outside this project with Python's `pow`:
/// `r = min(x for x in range(2, 97) if pow(x, 16, 97) == 96)` and `pow(r, 2 * bitrev(i) + 1, 97)`.
#[test]
fn the_monomial_x_transforms_to_the_odd_powers_of_the_root() {
    let q = palladion_kernels::Modulus::new(97).unwrap();
    let table = NttTable::new(q, 16).unwrap();
    assert_eq!(table.root(), 19);
    let mut x = vec![0; 16];
    x[1] = 1;
    let want = [
        19, 78, 67, 30, 77, 20, 52, 45, 69, 28, 34, 63, 55, 42, 51, 46,
    ];
    for backend in backends() {
        let mut got = x.clone();
        backend.ntt(&table, &mut got);
        assert_eq!(got, want, "{}", backend.name());
    }
}

#[test]
fn both_domains_have_the_same_automorphisms() {
    let n = 64;
    let q = ntt_prime(30, n);
    let table = NttTable::new(q, n).unwrap();
    let a = words(3, n, q.value());
    for backend in backends() {
        for g in [1, 3, 5, 25, 2 * n - 1, 2 * n + 3] {
            let (mut left, mut right) = (vec![0; n], vec![0; n]);
            backend.automorphism_into(&q, &mut left, &a, g);
            backend.ntt(&table, &mut left);
            let mut values = a.clone();
            backend.ntt(&table, &mut values);
            backend.permute_into(&mut right, &values, &eval_automorphism_index(n, g));
            assert_eq!(left, right, "{} g = {g}", backend.name());
        }
    }
}

#[test]
fn any_index_is_followed() {
    // Identity, reversal, one word everywhere, a rotation: with and without whole groups of 8.
    for len in [1usize, 7, 8, 16, 21, 64] {
        let a = words(5, len, 1 << 50);
        let indices = [0, 1, 2, 3].map(|kind| -> Vec<u32> {
            let at = |i: usize| [i, len - 1 - i, len / 2, (i + 3) % len][kind] as u32;
            (0..len).map(at).collect()
        });
        for backend in backends() {
            for index in &indices {
                let mut got = vec![0; len];
                backend.permute_into(&mut got, &a, index);
                let want: Vec<u64> = index.iter().map(|&i| a[i as usize]).collect();
                assert_eq!(got, want, "{} {index:?}", backend.name());
            }
        }
    }
}

#[test]
fn an_index_outside_the_limb_is_refused() {
    let a = words(6, 16, 1 << 50);
    let mut index: Vec<u32> = (0..16).collect();
    (index[8], index[15]) = (16, 23);
    for backend in backends() {
        let call = || backend.permute_into(&mut [0; 16], &a, &index);
        let attempt = std::panic::catch_unwind(std::panic::AssertUnwindSafe(call));
        assert!(attempt.is_err(), "{}", backend.name());
    }
}
