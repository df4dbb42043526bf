//! Products with small signed polynomials, compared with transforms and products of whole
//! polynomials.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

use palladion_ring::sample::{Seed, uniform_from_seed};
use palladion_ring::{Basis, Coeff, Eval, Poly, dot_pairs_signed, ntt_primes};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;

#[test]
fn they_are_the_products_of_transformed_polynomials() {
    // The last prime is smaller than the coefficients, so they are reduced.
    for (n, bits) in [(64, 30), (1 << 13, 33), (64, 15), (64, 60)] {
        let basis = Basis::new(n, &ntt_primes(bits, n, 1).unwrap()).unwrap();
        let basis = basis.concat(&Basis::new(n, &ntt_primes(40, n, 2).unwrap()).unwrap());
        let mut rng = ChaCha20Rng::seed_from_u64(u64::from(bits));
        for (rows, count) in [(1, 1), (1, 2), (3, 5)] {
            let left: Vec<Vec<i32>> = (0..rows * count)
                .map(|_| (0..n).map(|_| rng.random_range(-32768..=32768)).collect())
                .collect();
            let seed = Seed::random(&mut rng);
            let right: Vec<[Poly<Eval>; 2]> = (0..count as u32)
                .map(|k| [0, 1].map(|part| uniform_from_seed(&basis, &seed, 2 * k + part)))
                .collect();
            let sums = dot_pairs_signed(&basis, (rows, &left), |i| {
                [0, 1].map(|part| right.iter().map(|pair| pair[part].limb(i)).collect())
            });
            assert_eq!(sums.len(), rows);
            for (sums, left) in sums.iter().zip(left.chunks(count)) {
                for (part, found) in sums.iter().enumerate() {
                    let mut sum = Poly::<Eval>::zero(&basis);
                    for (left, right) in left.iter().zip(&right) {
                        let wide: Vec<i64> = left.iter().map(|&c| c.into()).collect();
                        let left = Poly::<Coeff>::from_signed(&basis, &wide).into_eval();
                        sum.add_assign(&left.mul(&right[part]));
                    }
                    assert_eq!(*found, sum, "{n}, {bits}, {rows} x {count}, {part}");
                }
            }
        }
    }
}
