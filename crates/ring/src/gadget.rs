//! The RNS gadget of hybrid key switching. A polynomial over `Q` is cut into digits of some limbs
//! each, every digit is raised to `Q P`, and the inner product with a key is computed.
//!
//! A digit modulo `D` is raised to its centred representative, in `[-D/2, D/2]`. A conversion that
//! adds unknown multiples of `D` would save a column of its matrix. But it gives digits a mean of
//! half their size for each limb: by the noise formulas the noise is larger by 3.4 bits for digits
//! of six limbs, and it gathers in the slots whose root is near 1.
//!
//! The product takes the moduli of `Q P` in groups: the limbs of one digit at a time. The raised
//! limbs of a group are written, transformed, multiplied and dropped while they are in the cache.

use crate::basis::Basis;
use crate::convert::{BasisConverter, blocks, with_scratch};
use crate::par::for_each_item;
use crate::poly::{Coeff, Eval, Poly};
use kernels::{Modulus, PackedWords, kernels};
use std::ops::Range;

/// Columns of an inner product worked on at a time. Five digits of a block, 160 KB, stay in the L2
/// cache between the two components of the key.
const BLOCK: usize = 1 << 12;

/// Polynomials over `Q` that are multiplied by `P` and added to the two components of a product.
pub type Carry<'a> = [Option<&'a Poly<Eval>>; 2];

/// Tables of the gadget over one basis `Q P`.
pub struct Gadget {
    /// `Q` followed by the special moduli.
    extended: Basis,
    digits: Vec<Digit>,
    /// The limbs of each digit, then the special ones.
    groups: Vec<Range<usize>>,
    /// `P mod q_i`.
    special_product: Vec<u64>,
}

struct Digit {
    limbs: Range<usize>,
    /// Conversion from the digit's limbs to all other limbs of `Q P`, in their order.
    mod_up: BasisConverter,
}

impl Gadget {
    /// Tables for the given digits of `q`, raised to `q` and `special`.
    ///
    /// # Panics
    /// If the digits do not cover all limbs of `q` in order, or the bases share a modulus.
    pub fn new(q: &Basis, special: &Basis, digits: impl Iterator<Item = Range<usize>>) -> Self {
        let mut groups: Vec<Range<usize>> = digits.collect();
        let end = groups.iter().fold(0, |end, digit| {
            assert!(digit.start == end && !digit.is_empty(), "digits in a row");
            digit.end
        });
        assert_eq!(end, q.len(), "digits of all limbs");
        let digits = groups
            .iter()
            .map(|limbs| {
                let mut rest = special.clone();
                if limbs.end < q.len() {
                    rest = q.slice(limbs.end..q.len()).concat(&rest);
                }
                if limbs.start > 0 {
                    rest = q.prefix(limbs.start).concat(&rest);
                }
                Digit {
                    limbs: limbs.clone(),
                    mod_up: BasisConverter::new(&q.slice(limbs.clone()), &rest),
                }
            })
            .collect();
        groups.push(q.len()..q.len() + special.len());
        Self {
            extended: q.concat(special),
            digits,
            groups,
            special_product: q.moduli().map(|q| special.product_mod(q)).collect(),
        }
    }

    /// Cuts `d` into digits and raises each to the limbs of `Q P` that are not its own.
    pub fn raise(&self, d: &Poly<Coeff>) -> Vec<Poly<Coeff>> {
        self.digits
            .iter()
            .map(|digit| {
                let limbs: Vec<&[u64]> = digit.limbs.clone().map(|i| d.limb(i)).collect();
                digit.mod_up.exact_limbs(&limbs)
            })
            .collect()
    }

    /// `sum_j d_j k_j` over `Q P` for both components of a key. `key(j, part, i)` is limb `i` of
    /// component `part` for digit `j`.
    ///
    /// `own` is `d` in the evaluation domain if the caller has it. Otherwise it is computed.
    ///
    /// # Panics
    /// If `d` or the carry is not over `Q`.
    pub fn product<'a>(
        &self,
        d: Poly<Coeff>,
        (own, carry): (Option<&Poly<Eval>>, Carry<'_>),
        key: impl Fn(usize, usize, usize) -> PackedWords<'a> + Sync,
    ) -> [Poly<Eval>; 2] {
        assert!(
            d.basis().values() == self.extended.prefix(d.limbs()).values()
                && d.limbs() + self.special() == self.extended.len(),
            "operand over Q"
        );
        for c in carry.iter().flatten() {
            assert_eq!(c.basis(), d.basis(), "carry over Q");
        }
        let computed = own.is_none().then(|| d.clone().into_eval());
        let own = own.or(computed.as_ref()).expect("one of the two");
        let mut scaled = d;
        let quotients = self.scale(&mut scaled);
        let mut out = [(); 2].map(|()| Poly::stale(&self.extended));
        let [out0, out1] = &mut out;
        let mut outputs = out0.limbs_mut().zip(out1.limbs_mut());
        let mut groups = Vec::with_capacity(self.groups.len());
        for group in &self.groups {
            let limbs: Vec<_> = outputs.by_ref().take(group.len()).collect();
            groups.push((group.clone(), limbs));
        }
        drop(outputs);
        for_each_item(groups, |_, (group, outputs)| {
            self.group_product(&group, (&scaled, &quotients), (own, carry), &key, outputs);
        });
        out
    }

    fn special(&self) -> usize {
        self.groups.last().expect("there is a special group").len()
    }

    fn digit_of(&self, limb: usize) -> usize {
        self.digits.partition_point(|digit| digit.limbs.end <= limb)
    }

    /// The first step of raising all digits: scales `d` in place and returns the quotients of each
    /// digit.
    fn scale(&self, d: &mut Poly<Coeff>) -> Vec<Vec<u64>> {
        let mut quotients = vec![vec![0; d.n()]; self.digits.len()];
        let mut limbs = d.limbs_mut();
        let mut items = Vec::new();
        for (digit, v) in self.digits.iter().zip(&mut quotients) {
            let own = blocks(limbs.by_ref().take(digit.limbs.len()));
            let v = blocks(std::iter::once(&mut v[..])).into_iter().flatten();
            items.extend(own.into_iter().zip(v).map(|(y, v)| (digit, y, v)));
        }
        drop(limbs);
        for_each_item(items, |_, (digit, mut y, v)| digit.mod_up.scale(&mut y, v));
        quotients
    }

    /// The limbs `group` of the product, from the scaled digits and their quotients.
    fn group_product<'a>(
        &self,
        group: &Range<usize>,
        (scaled, quotients): (&Poly<Coeff>, &[Vec<u64>]),
        (own, carry): (&Poly<Eval>, Carry<'_>),
        key: &(impl Fn(usize, usize, usize) -> PackedWords<'a> + Sync),
        outputs: Vec<(&mut [u64], &mut [u64])>,
    ) {
        let basis = self.extended.slice(group.clone());
        let mut raised: Vec<(usize, Poly<Coeff>)> = Vec::with_capacity(self.digits.len());
        for (j, digit) in self.digits.iter().enumerate() {
            if digit.limbs == *group {
                continue;
            }
            // Positions of the group among the limbs that are not the digit's own.
            let before = if digit.limbs.end <= group.start {
                digit.limbs.len()
            } else {
                0
            };
            let rows = group.start - before..group.end - before;
            let own = digit.limbs.clone().map(|i| scaled.limb(i));
            let y: Vec<&[u64]> = own.chain([&*quotients[j]]).collect();
            let mut limbs = Poly::stale(&basis);
            let mut targets: Vec<&mut [u64]> = limbs.limbs_mut().collect();
            digit.mod_up.combine(&y, rows, &mut targets);
            raised.push((j, limbs));
        }
        let mut by_limb: Vec<Vec<(usize, &mut [u64])>> = Vec::new();
        by_limb.resize_with(group.len(), Vec::new);
        for (j, poly) in &mut raised {
            for (list, limb) in by_limb.iter_mut().zip(poly.limbs_mut()) {
                list.push((*j, limb));
            }
        }
        let items = by_limb.into_iter().zip(outputs).collect();
        for_each_item(items, |at, (mut digits, (out0, out1))| {
            let (i, table) = (group.start + at, &basis.tables()[at]);
            for (_, limb) in &mut digits {
                kernels().ntt(table, limb);
            }
            let mut left: Vec<(usize, &[u64])> = digits.iter().map(|(j, l)| (*j, &**l)).collect();
            if i < own.limbs() {
                left.push((self.digit_of(i), own.limb(i)));
            }
            let keys = [0, 1].map(|part| left.iter().map(|&(j, _)| key(j, part, i)).collect());
            let left: Vec<&[u64]> = left.iter().map(|(_, l)| *l).collect();
            let carry = carry.map(|c| {
                let c = c.filter(|_| i < own.limbs())?;
                Some((c.limb(i), self.special_product[i]))
            });
            dot_pair(table.modulus(), [out0, out1], (&left, &keys), carry);
        });
    }
}

/// Two inner products with the same left factors, limb by limb. Limb `i` of result `p` is
/// `sum_k left_k * right_k[p]`, where `factors(i)` gives the limbs.
///
/// # Panics
/// If there are not as many left factors as right ones.
pub fn dot_pairs<'a>(
    basis: &Basis,
    factors: impl Fn(usize) -> (Vec<&'a [u64]>, [Vec<PackedWords<'a>>; 2]) + Sync,
) -> [Poly<Eval>; 2] {
    let mut out = [(); 2].map(|()| Poly::stale(basis));
    let [out0, out1] = &mut out;
    let items = out0.limbs_mut().zip(out1.limbs_mut()).collect();
    for_each_item(items, |i, (out0, out1)| {
        let (left, right) = factors(i);
        dot_pair(basis.modulus(i), [out0, out1], (&left, &right), [None; 2]);
    });
    out
}

/// Plaintexts that are transformed before they are multiplied: 512 KB of a limb stay in the L2
/// cache.
const TRANSFORMED: usize = 2;

/// As [`dot_pairs`], for several rows of left factors that share the right ones, with left factors
/// given by small signed coefficients, the same for all limbs. `left` has the rows one after the
/// other. Each factor is transformed limb by limb, multiplied and dropped, so that only the right
/// factors are read from memory, and once for all rows. The packings of ResNet-20 on 8 images take
/// 95 s with one row at a time, and 140 s if whole plaintexts are transformed first.
///
/// `right(i)` gives limb `i` of both right factors.
///
/// # Panics
/// If `left` does not have as many factors as `rows` times the right ones, or if one of them does
/// not have `N` coefficients.
pub fn dot_pairs_signed<'a>(
    basis: &Basis,
    (rows, left): (usize, &[Vec<i32>]),
    right: impl Fn(usize) -> [Vec<&'a [u64]>; 2] + Sync,
) -> Vec<[Poly<Eval>; 2]> {
    let n = basis.n();
    assert!(left.iter().all(|c| c.len() == n), "N coefficients");
    assert_eq!(left.len() % rows, 0, "rows of one length");
    let largest = left.iter().flatten().map(|c| c.unsigned_abs()).max();
    let largest = u64::from(largest.unwrap_or(0));
    let count = left.len() / rows;
    let fill = |row: usize, k: usize, i: usize, buffer: &mut [u64]| {
        let (q, left) = (basis.modulus(i), &left[row * count + k]);
        if largest < q.value() {
            kernels().lift_into(q, buffer, left);
        } else {
            let words = buffer.iter_mut().zip(left);
            words.for_each(|(x, &c)| *x = q.from_i64(c.into()));
        }
        kernels().ntt(&basis.tables()[i], buffer);
    };
    dot_pairs_filled(basis, rows, count, fill, right)
}

/// As [`dot_pairs`], for `rows` rows of `count` left factors that share the right ones. Left
/// factors are written when they are needed: `fill(row, k, i, words)` writes limb `i` of factor
/// `k` of a row. It stays in the cache between the two products.
///
/// `right(i)` gives limb `i` of both right factors.
///
/// # Panics
/// If there are not `count` right factors, or none.
pub fn dot_pairs_filled<'a>(
    basis: &Basis,
    rows: usize,
    count: usize,
    fill: impl Fn(usize, usize, usize, &mut [u64]) + Sync,
    right: impl Fn(usize) -> [Vec<&'a [u64]>; 2] + Sync,
) -> Vec<[Poly<Eval>; 2]> {
    assert!(count > 0, "a sum of at least one product");
    let n = basis.n();
    let mut out = Vec::new();
    out.resize_with(rows, || [(); 2].map(|()| Poly::stale(basis)));
    let mut items: Vec<Vec<[&mut [u64]; 2]>> = Vec::new();
    items.resize_with(basis.len(), Vec::new);
    for [out0, out1] in &mut out {
        let limbs = out0.limbs_mut().zip(out1.limbs_mut());
        for (item, (out0, out1)) in items.iter_mut().zip(limbs) {
            item.push([out0, out1]);
        }
    }
    for_each_item(items, |i, mut outputs| {
        let (q, right) = (basis.modulus(i), right(i));
        assert_eq!([count; 2], [right[0].len(), right[1].len()]);
        with_scratch(TRANSFORMED.min(count) * n, |buffers| {
            for first in (0..count).step_by(TRANSFORMED) {
                let own = first..(first + TRANSFORMED).min(count);
                let right = right.each_ref().map(|factors| &factors[own.clone()]);
                for (row, out) in outputs.iter_mut().enumerate() {
                    let buffers = buffers.chunks_exact_mut(n);
                    let filled = own.clone().zip(buffers).map(|(k, buffer)| {
                        fill(row, k, i, buffer);
                        &*buffer
                    });
                    add_dot_pair(q, (out, first > 0), &filled.collect::<Vec<_>>(), right);
                }
            }
        });
    });
    out
}

/// Both inner products of one limb, added to `out` or written over it. Each block of the left
/// factors is read from memory once.
fn add_dot_pair(
    q: &Modulus,
    (out, adds): (&mut [&mut [u64]; 2], bool),
    left: &[&[u64]],
    right: [&[&[u64]]; 2],
) {
    let n = out[0].len();
    for start in (0..n).step_by(BLOCK) {
        let columns = start..(start + BLOCK).min(n);
        let left: Vec<&[u64]> = left.iter().map(|r| &r[columns.clone()]).collect();
        for (out, right) in out.iter_mut().zip(right) {
            let right: Vec<&[u64]> = right.iter().map(|r| &r[columns.clone()]).collect();
            let out = &mut out[columns.clone()];
            match adds {
                true => kernels().dot_add_assign(q, out, &left, &right),
                false => kernels().dot_into(q, out, &left, &right),
            }
        }
    }
}

/// Both inner products of one limb. Each block of the left factors is read from memory once. The
/// words of `carry` are multiplied by a number and added.
fn dot_pair(
    q: &Modulus,
    [out0, out1]: [&mut [u64]; 2],
    (left, right): (&[&[u64]], &[Vec<PackedWords>; 2]),
    carry: [Option<(&[u64], u64)>; 2],
) {
    let blocks = out0.chunks_mut(BLOCK).zip(out1.chunks_mut(BLOCK));
    for (start, (out0, out1)) in (0..).step_by(BLOCK).zip(blocks) {
        let columns = start..start + out0.len();
        let left: Vec<&[u64]> = left.iter().map(|l| &l[columns.clone()]).collect();
        for (part, out) in [out0, out1].into_iter().enumerate() {
            let rows = right[part].iter().map(|r| r.slice(columns.clone()));
            kernels().dot_packed_into(q, out, &left, &rows.collect::<Vec<_>>());
            if let Some((words, scalar)) = carry[part] {
                kernels().scalar_mul_add_assign(q, out, &words[columns.clone()], scalar);
            }
        }
    }
}
