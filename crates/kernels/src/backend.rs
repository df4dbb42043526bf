//! The operations on limbs, and the choice of the code that runs them.

use std::sync::OnceLock;

use crate::automorphism::coefficient_target;
use crate::combine::{self, Combinations};
use crate::packed::{self, PackedWords};
use crate::quotient::{self, Reciprocal};
use crate::{Modulus, NttTable, Scalar};

/// Where the words of a result go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Store {
    /// Into the caches, for an operation that reads them soon.
    Cached,
    /// To memory, if the backend can: a result larger than the caches would only read its lines
    /// before it overwrites them. That is a quarter of the traffic of a sum.
    Streamed,
}

/// Operations on one limb: a slice of residues modulo `q`.
///
/// Unless a method says otherwise, every input word lies in `[0, q)` and so does every output word.
/// All backends therefore give the same words. Inputs out of range give unspecified words or, with
/// debug assertions, a panic, but never undefined behaviour. Slices may have any length (a limb has
/// `N` words), except for the transforms.
///
/// # Panics
/// Every method panics if its slices differ in length.
pub trait Kernels: Send + Sync {
    /// Name of the backend, as `PALLADION_KERNELS` takes it.
    fn name(&self) -> &'static str;

    /// Negacyclic NTT in place: coefficients in, values in bit-reversed order out.
    fn ntt(&self, table: &NttTable, a: &mut [u64]);
    /// Inverse of [`Kernels::ntt`], the factor `1/N` included.
    fn intt(&self, table: &NttTable, a: &mut [u64]);

    /// `a += b`.
    fn add_assign(&self, q: &Modulus, a: &mut [u64], b: &[u64]);
    /// `a -= b`.
    fn sub_assign(&self, q: &Modulus, a: &mut [u64], b: &[u64]);
    /// `out = a + b`.
    fn add_into(&self, q: &Modulus, out: &mut [u64], a: &[u64], b: &[u64], _store: Store) {
        check_lengths(out, [a.len(), b.len()]);
        by_runs(out, a, b, |out, b| self.add_assign(q, out, b));
    }
    /// `out = a - b`.
    fn sub_into(&self, q: &Modulus, out: &mut [u64], a: &[u64], b: &[u64], _store: Store) {
        check_lengths(out, [a.len(), b.len()]);
        by_runs(out, a, b, |out, b| self.sub_assign(q, out, b));
    }
    /// `a = -a`.
    fn neg_assign(&self, q: &Modulus, a: &mut [u64]);
    /// `a *= b`, word by word.
    fn mul_assign(&self, q: &Modulus, a: &mut [u64], b: &[u64]);
    /// `out = a * b`, word by word.
    fn mul_into(&self, q: &Modulus, out: &mut [u64], a: &[u64], b: &[u64]);
    /// `acc += a * b`, word by word.
    fn mul_add_assign(&self, q: &Modulus, acc: &mut [u64], a: &[u64], b: &[u64]);
    /// `a *= c`.
    fn scalar_mul_assign(&self, q: &Modulus, a: &mut [u64], c: u64);
    /// `acc += a * c`.
    fn scalar_mul_add_assign(&self, q: &Modulus, acc: &mut [u64], a: &[u64], c: u64);
    /// `a = (a - b) * c`: the step of mod down and of rescaling.
    fn sub_scalar_mul_assign(&self, q: &Modulus, a: &mut [u64], b: &[u64], c: u64);
    /// `out = a mod q`, for words `a < 2^52`, or for any words if `q` is wide.
    fn reduce_into(&self, q: &Modulus, out: &mut [u64], a: &[u64]);

    /// `out[i] = sum over k of a[k][i] * b[k][i]`, one reduction per output, up to 256 terms.
    ///
    /// # Panics
    /// Also if `a` and `b` have different numbers of terms, or more than 256.
    fn dot_into(&self, q: &Modulus, out: &mut [u64], a: &[&[u64]], b: &[&[u64]]);
    /// `acc[i] += sum over k of a[k][i] * b[k][i]`; as [`Kernels::dot_into`].
    fn dot_add_assign(&self, q: &Modulus, acc: &mut [u64], a: &[&[u64]], b: &[&[u64]]);

    /// As [`Kernels::dot_into`], with the terms of `b` packed.
    ///
    /// # Panics
    /// As [`Kernels::dot_into`], and if the terms of `b` differ in the bytes of a word.
    fn dot_packed_into(&self, q: &Modulus, out: &mut [u64], a: &[&[u64]], b: &[PackedWords]) {
        packed::check(out, a, b);
        packed::dot(self, q, out, a, b);
    }

    /// `out[r][c] = sum over k of m[r * inner + k] * x[k][c] mod moduli[r]`, `inner = x.len()`.
    ///
    /// Entries of `m` are below `2^50`, or below `2^60` in the rows of wide moduli. Entries of `x`
    /// are below `2^x_bits`, with `x_bits` at most 60; the argument `x` is the pair `(x, x_bits)`.
    /// Entries need not be below the modulus. Small ones are faster, above all with `x_bits` up to
    /// 50. `inner` is at most 512.
    ///
    /// Table look-ups use this for inner products (one modulus, small `m`), and RNS basis
    /// conversion with one modulus per row.
    ///
    /// # Panics
    /// Also if `m` has not `moduli.len() * inner` entries, or `inner` exceeds 512.
    fn mat_mul_into(
        &self,
        moduli: &[Modulus],
        m: &[u64],
        x: (&[&[u64]], u32),
        out: &mut [&mut [u64]],
    );

    /// For each group `g`, the sum over `j` of `(sum_i m[g][j][i] x_i) (x) y_j`: three rows `d_0, d_1,
    /// d_2` of `out`, with `(a_0, a_1) (x) (b_0, b_1) = (a_0 b_0, a_0 b_1 + a_1 b_0, a_1 b_1)`. This is
    /// the inner loop of a table.
    ///
    /// The matrix is group-major, then by `j`, then by `i`, with entries as in
    /// [`Kernels::mat_mul_into`]. Entries of at most 2^16 may be faster. There are 1 to 512 `x`
    /// and 1 to 128 `y`.
    ///
    /// # Panics
    /// Also if there are more or fewer `x` or `y`, or if the matrix has another size.
    fn tensor_combinations(
        &self,
        q: &Modulus,
        combinations: &Combinations,
        out: &mut [&mut [u64]],
    ) {
        combine::check(combinations, out);
        combine::tensor_combinations(self, q, combinations, out);
    }

    /// `out[k] = round(sum_i y[i][k] / q_i)`, from the reciprocals of the moduli `q_i`: the
    /// quotient of a basis conversion. `y[i]` holds residues modulo `q_i`.
    ///
    /// Exact for one modulus. For `l > 1` moduli, the result may be one too small where the sum
    /// exceeds the middle of two integers by less than `l 2^-30`. The computation is in integers,
    /// so that all machines give the same result: see `trace::Op::Convert`.
    ///
    /// # Panics
    /// Also if there are more than 64 moduli.
    fn quotients(&self, y: &[&mut [u64]], reciprocals: &[Reciprocal], out: &mut [u64]) {
        quotient::check(y, reciprocals, out);
        quotient::quotients(y, reciprocals, out);
    }

    /// `out = a mod q`, for signed words below `q` in absolute value.
    fn lift_into(&self, q: &Modulus, out: &mut [u64], a: &[i32]) {
        check_lengths(out, [a.len()]);
        lift(q, out, a);
    }

    /// `out[i] = a[index[i]]`: an automorphism in the evaluation domain.
    ///
    /// # Panics
    /// Also if an index lies outside `a`.
    fn permute_into(&self, out: &mut [u64], a: &[u64], index: &[u32]) {
        check_lengths(out, [a.len(), index.len()]);
        for (o, &i) in out.iter_mut().zip(index) {
            *o = a[i as usize];
        }
    }

    /// `X -> X^g` on coefficients.
    ///
    /// # Panics
    /// Also if the length is not a power of two, or `g` is even.
    fn automorphism_into(&self, q: &Modulus, out: &mut [u64], a: &[u64], g: usize) {
        check_lengths(out, [a.len()]);
        assert!(a.len().is_power_of_two(), "N = {}", a.len());
        assert!(g % 2 == 1, "the Galois element {g} is even");
        for (i, &x) in a.iter().enumerate() {
            let (target, negative) = coefficient_target(i, g, a.len());
            out[target] = if negative { q.neg(x) } else { x };
        }
    }
}

/// Copies `a` to `out` and runs `work(out, b)`, in runs that stay in the L1 cache between the two.
fn by_runs(out: &mut [u64], a: &[u64], b: &[u64], work: impl Fn(&mut [u64], &[u64])) {
    const RUN: usize = 1024;
    let pairs = a.chunks(RUN).zip(b.chunks(RUN));
    for (out, (a, b)) in out.chunks_mut(RUN).zip(pairs) {
        out.copy_from_slice(a);
        work(out, b);
    }
}

/// [`Kernels::lift_into`]. Backends compile this code for their own vectors.
#[inline(always)]
pub(crate) fn lift(q: &Modulus, out: &mut [u64], a: &[i32]) {
    let wrap = q.value() as i64;
    for (x, &c) in out.iter_mut().zip(a) {
        let c = i64::from(c);
        *x = (c + (wrap & (c >> 63))) as u64;
    }
}

/// Terms of the longest dot product. With terms of `2^50 * 2^50` they leave room in every
/// accumulator. With terms of `(2^60 - 1)^2`, and one more residue, they stay below 2^128.
pub(crate) const MAX_DOT: usize = 256;
/// Longest inner dimension of the matrix product.
pub(crate) const MAX_INNER: usize = 512;

#[track_caller]
pub(crate) fn check_lengths<const K: usize>(out: &[u64], others: [usize; K]) {
    for len in others {
        assert_eq!(out.len(), len, "slices of one operation have one length");
    }
}

#[track_caller]
pub(crate) fn check_ntt(table: &NttTable, a: &[u64]) {
    assert_eq!(a.len(), table.n(), "a limb has N words");
}

#[track_caller]
pub(crate) fn check_dot(out: &[u64], a: &[&[u64]], b: &[&[u64]]) {
    assert_eq!(a.len(), b.len(), "a dot product pairs its terms");
    assert!(a.len() <= MAX_DOT, "{} terms, at most {MAX_DOT}", a.len());
    for row in a.iter().chain(b) {
        check_lengths(out, [row.len()]);
    }
}

#[track_caller]
pub(crate) fn check_mat_mul(moduli: &[Modulus], m: &[u64], x: &[&[u64]], out: &[&mut [u64]]) {
    let inner = x.len();
    assert!(inner <= MAX_INNER, "{inner} terms, at most {MAX_INNER}");
    assert_eq!(out.len(), moduli.len(), "a row of the result per modulus");
    assert_eq!(m.len(), moduli.len() * inner, "a matrix of rows * inner");
    let columns = out.first().map_or(0, |row| row.len());
    let lengths = out.iter().map(|row| row.len());
    for len in lengths.chain(x.iter().map(|row| row.len())) {
        assert!(
            out.is_empty() || len == columns,
            "rows of one matrix have one length"
        );
    }
}

/// A part of a matrix product: moduli, the rows of the matrix and the rows of the result.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(crate) type Rows<'a, 'b, 'c> = (&'a [Modulus], &'a [u64], &'b mut [&'c mut [u64]]);

/// Cuts a matrix product of `inner` terms with words of `x_bits` bits into runs of rows. Calls
/// `narrow` where moduli and words have at most 50 bits, else `wide`.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(crate) fn by_width(
    (moduli, mut m, mut out): Rows,
    (inner, x_bits): (usize, u32),
    mut narrow: impl FnMut(Rows),
    mut wide: impl FnMut(Rows),
) {
    for run in moduli.chunk_by(|p, q| p.is_wide() == q.is_wide()) {
        let (factors, rows);
        (factors, m) = m.split_at(run.len() * inner);
        (rows, out) = std::mem::take(&mut out).split_at_mut(run.len());
        if run[0].is_wide() || x_bits > Modulus::FAST_BITS {
            wide((run, factors, rows));
        } else {
            narrow((run, factors, rows));
        }
    }
}

/// Every backend that this CPU can run, slowest first. The scalar reference is always there.
pub fn available() -> Vec<&'static dyn Kernels> {
    #[cfg_attr(
        not(any(
            target_arch = "x86_64",
            target_arch = "aarch64",
            target_arch = "wasm32"
        )),
        expect(unused_mut, reason = "nothing to add")
    )]
    let mut all: Vec<&'static dyn Kernels> = vec![&Scalar];
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    if let Some(four) = crate::four::Four::detect() {
        all.push(four);
    }
    #[cfg(target_arch = "x86_64")]
    all.extend(crate::avx512::Avx512::detect());
    #[cfg(target_arch = "wasm32")]
    all.push(&crate::Float);
    all
}

/// The backend of the process, set by the first call of [`kernels`].
pub(crate) static CHOSEN: OnceLock<&'static dyn Kernels> = OnceLock::new();

/// The backend in use: the one that `PALLADION_KERNELS` names (as in `PALLADION_KERNELS=scalar`),
/// otherwise the fastest.
///
/// # Panics
/// If the forced name is not available, so that a typo cannot pass for a measurement.
pub fn kernels() -> &'static dyn Kernels {
    *CHOSEN.get_or_init(|| {
        let all = available();
        match std::env::var("PALLADION_KERNELS") {
            Ok(want) => *all
                .iter()
                .find(|k| k.name() == want)
                .unwrap_or_else(|| panic!("PALLADION_KERNELS={want} is not available here")),
            Err(_) => *all.last().expect("the scalar reference is always there"),
        }
    })
}
