//! Products of matrices with polynomials whose words repeat, compared with single products.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

use palladion_ring::sample::{Seed, uniform_from_seed};
use palladion_ring::{Basis, Eval, Pair, Poly, block_combinations, in_pool, ntt_primes};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;

#[test]
fn block_combinations_are_sums_of_products() {
    for (n, bits) in [(64, 30), (256, 46), (64, 60), (2048, 36)] {
        let basis = Basis::new(n, &ntt_primes(bits, n, 1).unwrap()).unwrap();
        let basis = basis.concat(&Basis::new(n, &ntt_primes(36, n, 2).unwrap()).unwrap());
        let mut rng = ChaCha20Rng::seed_from_u64(u64::from(bits));
        let seed = Seed::random(&mut rng);
        for (gap, rows, count) in [(1, 2, 3), (4, 5, 1), (16, 1, 20), (64, 7, 12), (n, 2, 2)] {
            let x: Vec<[Poly<Eval>; 2]> = (0..count as u32)
                .map(|k| [0, 1].map(|part| uniform_from_seed(&basis, &seed, 2 * k + part)))
                .collect();
            let blocks = n / gap;
            let mut matrix = Vec::new();
            for q in basis.moduli() {
                matrix.extend((0..blocks * rows * count).map(|_| rng.random_range(0..q.value())));
            }
            let pairs: Vec<Pair> = x.iter().map(|pair| pair.each_ref()).collect();
            let found = block_combinations(&basis, &matrix, (gap, rows), &pairs);
            let many = in_pool(16, || {
                block_combinations(&basis, &matrix, (gap, rows), &pairs)
            });
            assert!(found == many, "{n}, {gap}: strips of several threads");
            assert_eq!(found.len(), rows);
            for (r, found) in found.iter().enumerate() {
                for (part, found) in found.iter().enumerate() {
                    for (i, q) in basis.moduli().enumerate() {
                        for j in 0..n {
                            let m = &matrix[((i * blocks + j / gap) * rows + r) * count..][..count];
                            let terms = m.iter().zip(&x);
                            let sum = terms
                                .fold(0, |sum, (&m, x)| q.add(sum, q.mul(m, x[part].limb(i)[j])));
                            assert_eq!(
                                found.limb(i)[j],
                                sum,
                                "{n}, {bits}, {gap}, {rows}: {r}, {j}"
                            );
                        }
                    }
                }
            }
        }
    }
}
