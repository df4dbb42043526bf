//! The speed of this machine, compared with the one on which predictions were measured.

use cost::{ByKind, PASSES};
use kernels::{Combinations, Kernels, Modulus, NttTable, kernels};
use ring::ntt_primes;
use std::ops::Range;
use std::sync::OnceLock;
use std::time::Instant;

/// Words of a limb.
const N: usize = 1 << 15;
/// Limbs of an operand: 32 MiB. As in circuits, operands do not stay in the caches nearest to a
/// core.
const LIMBS: usize = 128;
/// Words of one block of a conversion.
const BLOCK: usize = 1024;
/// Terms of an inner product: the digits of a key switch.
const DIGITS: usize = 6;
/// Limbs that one sample works on: about half a millisecond.
const PIECE: usize = 16;
/// Number of times that all limbs are worked on.
const ROUNDS: usize = 6;
/// For each kind of pass, seconds that this machine takes for one second of the machine on which
/// predictions were measured. It is 2 on a machine of half the speed.
///
/// The kinds differ, because transforms depend on the vector unit and inner products on memory.
/// Measured once per process, on one thread, in a tenth of a second.
pub fn machine_factors() -> ByKind {
    static FACTORS: OnceLock<ByKind> = OnceLock::new();
    *FACTORS.get_or_init(|| ring::in_pool(1, || Loops::new(kernels()).factors()))
}

/// The loops that are timed, and their operands.
struct Loops {
    kernels: &'static dyn Kernels,
    q: Modulus,
    table: NttTable,
    a: Vec<Vec<u64>>,
    b: Vec<Vec<u64>>,
}

impl Loops {
    fn new(kernels: &'static dyn Kernels) -> Self {
        let primes = ntt_primes(34, N, 1).expect("there is a prime of 34 bits");
        let q = Modulus::new(primes[0]).expect("an odd prime");
        let limbs = |seed: u64| {
            let word = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) % q.value();
            let limb = |k: u64| (0..N as u64).map(|i| word(i + k + seed)).collect();
            (0..LIMBS as u64).map(limb).collect()
        };
        Self {
            kernels,
            q,
            table: NttTable::new(q, N).expect("1 modulo 2N"),
            a: limbs(1),
            b: limbs(2),
        }
    }

    fn factors(mut self) -> ByKind {
        ByKind {
            transforms: self.transforms() / PASSES.transforms,
            inner_products: self.inner_products() / PASSES.inner_products,
            conversions: self.conversion(21, 3) / PASSES.conversions,
            combinations: self.combinations(),
            others: self.others() / PASSES.others,
        }
    }

    /// A transform and an inverse transform count as two passes.
    fn transforms(&mut self) -> f64 {
        let Self {
            kernels, table, a, ..
        } = self;
        microseconds(2 * PIECE, |start| {
            let a = &mut a[start..start + PIECE];
            a.iter_mut().for_each(|a| kernels.ntt(table, a));
            a.iter_mut().for_each(|a| kernels.intt(table, a));
        })
    }

    fn inner_products(&mut self) -> f64 {
        let Self {
            kernels, q, a, b, ..
        } = self;
        microseconds(2 * DIGITS, |start| {
            for a in &mut a[start..start + 2] {
                let x: Vec<&[u64]> = (0..DIGITS).map(|j| &b[start + j][..]).collect();
                let y = (0..DIGITS).map(|j| &b[(start + DIGITS + j) % LIMBS][..]);
                kernels.dot_into(q, a, &x, &y.collect::<Vec<_>>());
            }
        })
    }

    /// Products that give `rows` limbs from `inner` limbs.
    fn conversion(&mut self, rows: usize, inner: usize) -> f64 {
        let Self {
            kernels, q, a, b, ..
        } = self;
        let entries: Vec<u64> = (0..(rows * inner) as u64)
            .map(|i| q.reduce(mixed(i)))
            .collect();
        let moduli = vec![*q; rows];
        microseconds(rows * inner, |start| {
            for start in part(start).step_by(BLOCK) {
                let columns = start..start + BLOCK;
                let x = cut(&b[..inner], &columns);
                let mut out: Vec<&mut [u64]> = a[..rows]
                    .iter_mut()
                    .map(|a| &mut a[columns.clone()])
                    .collect();
                kernels.mat_mul_into(&moduli, &entries, (&x, q.bits()), &mut out);
            }
        }) * (LIMBS / PIECE) as f64
    }

    /// Combinations and their products, for one second of both on the other machine.
    fn combinations(&mut self) -> f64 {
        const GROUPS: usize = 2;
        const HEIGHT: usize = 32;
        const INNER: usize = 64;
        let Self {
            kernels, q, a, b, ..
        } = self;
        let terms = 2 * GROUPS * HEIGHT * INNER; // of two components
        let products = 4 * GROUPS * HEIGHT;
        let entries = (0..(GROUPS * HEIGHT * INNER) as u64).map(|i| mixed(i) % (1 << 16));
        let entries: Vec<u64> = entries.collect();
        let here = microseconds(1, |start| {
            let columns = part(start);
            let (x, y) = (
                cut(&b[..INNER], &columns),
                cut(&b[INNER..][..HEIGHT], &columns),
            );
            let mut out: Vec<&mut [u64]> = a[..3 * GROUPS]
                .iter_mut()
                .map(|a| &mut a[columns.clone()])
                .collect();
            let combinations = Combinations {
                matrix: &entries,
                x: [&x, &x],
                y: [&y, &y],
            };
            kernels.tensor_combinations(q, &combinations, &mut out);
        }) * (LIMBS / PIECE) as f64;
        here / (terms as f64 * PASSES.combinations + products as f64 * PASSES.inner_products)
    }

    /// A sum, a product with a word and a permutation count as three passes.
    fn others(&mut self) -> f64 {
        let Self {
            kernels, q, a, b, ..
        } = self;
        let index: Vec<u32> = (0..N as u32).map(|i| i * 5 % N as u32).collect();
        microseconds(3 * PIECE, |start| {
            let (a, b) = (&mut a[start..start + PIECE], &b[start..start + PIECE]);
            for (a, b) in a.iter_mut().zip(b) {
                kernels.add_assign(q, a, b);
            }
            a.iter_mut()
                .for_each(|a| kernels.scalar_mul_assign(q, a, 12345));
            for (a, b) in a.iter_mut().zip(b) {
                kernels.permute_into(a, b, &index);
            }
        })
    }
}

/// The columns that a sample from `start` on works on: as many words as those of [`PIECE`] limbs.
fn part(start: usize) -> Range<usize> {
    let width = N * PIECE / LIMBS;
    let first = start / PIECE * width;
    first..first + width
}

/// Some columns of all limbs.
fn cut<'a>(limbs: &'a [Vec<u64>], columns: &Range<usize>) -> Vec<&'a [u64]> {
    limbs.iter().map(|limb| &limb[columns.clone()]).collect()
}

/// A word for a matrix.
fn mixed(i: u64) -> u64 {
    i.wrapping_mul(0x9e37_79b9)
}

/// Microseconds of one of the `passes` passes of `run`, which is called with the first limb of a
/// piece. The lower quartile of all samples: another process that runs at times does not count.
fn microseconds(passes: usize, mut run: impl FnMut(usize)) -> f64 {
    let starts = (0..ROUNDS).flat_map(|_| (0..LIMBS).step_by(PIECE));
    let mut times: Vec<f64> = starts
        .map(|start| {
            let begin = Instant::now();
            run(start);
            begin.elapsed().as_secs_f64()
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 4] / passes as f64 * 1e6
}

#[cfg(test)]
mod tests {
    #[test]
    fn factors_are_numbers_and_stay() {
        let factors = super::machine_factors();
        assert!(factors.all().iter().all(|&(_, x)| x.is_finite() && x > 0.0));
        assert_eq!(factors, super::machine_factors());
    }
}
