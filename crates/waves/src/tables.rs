//! Tables that instructions share: matrices, conversions, permutations and places.

use crate::kernel::Shape;
use kernels::Modulus;
use std::collections::HashMap;
use std::hash::Hash;
use trace::{Constant, ConstantId, Limbs, Op, Trace};

/// Tables that instructions name by index.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tables {
    /// Matrices of combinations, by shape: `writes` rows of `reads` integers each, row by row. Rows
    /// and columns beyond the combination's are 0.
    pub matrices: HashMap<Shape, Vec<Vec<u32>>>,
    /// Conversions, by shape.
    pub conversions: HashMap<Shape, Vec<Conversion>>,
    /// Permutations of `N` words. Entry `i` is the index of word `i` of the result in the operand,
    /// plus [`Tables::NEGATIVE`] if the word is negated.
    pub permutations: Vec<Vec<u32>>,
    /// Places of extractions: constants of `N` integers. Places are as in the constant; entries are
    /// reduced modulo `2N`.
    pub places: Vec<Vec<i32>>,
}

/// Tables of a [basis conversion](trace::Op::Convert). Rows beyond the conversion's count as 0
/// modulo prime 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Conversion {
    /// Index of the prime of each row that is read.
    pub from: Vec<u32>,
    /// Index of the prime of each row that is written.
    pub to: Vec<u32>,
    /// `(Q/q_i)^-1 mod q_i` for each row that is read.
    pub hat_inverse: Vec<u32>,
    /// For each row that is written, modulo its prime: `Q/q_i` for each row that is read, then
    /// `-Q`.
    pub matrix: Vec<u32>,
}

impl Tables {
    /// The bit of a permutation's entry whose word is negated.
    pub const NEGATIVE: u32 = 1 << 31;
}

/// Indices of the entries seen so far.
struct Known<K>(HashMap<K, u32>);

impl<K> Default for Known<K> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<K: Hash + Eq> Known<K> {
    /// The index of an entry, and true if it is new. `count` is the number of entries so far.
    fn index(&mut self, key: K, count: usize) -> (usize, bool) {
        let next = count as u32;
        let index = *self.0.entry(key).or_insert(next);
        (index as usize, index == next)
    }
}

/// A permutation of the words of a row.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Permutation {
    /// `X -> X^element` in the evaluation domain.
    Eval(usize),
    /// `X -> X^element` on coefficients.
    Coeff(usize),
    /// [`Op::Shift`] by an exponent below `2N`.
    Shift(usize),
    /// Slots to the evaluation domain.
    Slots,
}

/// Key of a matrix: list of integers, index of the first one, modulus, factors of rows and of
/// columns.
type MatrixKey = (ConstantId, usize, usize, Vec<u64>, Vec<u64>);

/// The tables of a trace, collected while it is written out.
pub(crate) struct Collector<'a> {
    trace: &'a Trace,
    pub(crate) moduli: Vec<Modulus>,
    pub(crate) tables: Tables,
    matrices: Known<MatrixKey>,
    conversions: Known<(Limbs, Limbs)>,
    permutations: Known<Permutation>,
    places: Known<(ConstantId, bool)>,
}

impl<'a> Collector<'a> {
    pub(crate) fn new(trace: &'a Trace, moduli: Vec<Modulus>) -> Self {
        Self {
            trace,
            moduli,
            tables: Tables::default(),
            matrices: Known::default(),
            conversions: Known::default(),
            permutations: Known::default(),
            places: Known::default(),
        }
    }

    /// The index of a combination's matrix, among the matrices of its shape.
    pub(crate) fn matrix(&mut self, op: &Op, shape: Shape) -> u32 {
        let Op::Combine {
            list,
            first,
            modulus,
            rows,
            columns,
            ..
        } = op
        else {
            unreachable!("the operation is a combination")
        };
        let matrices = self.tables.matrices.entry(shape).or_default();
        let key = (*list, *first, *modulus, rows.clone(), columns.clone());
        let (index, new) = self.matrices.index(key, matrices.len());
        if new {
            let t = &self.moduli[*modulus];
            let Constant::List(integers) = &self.trace.constants[*list] else {
                unreachable!("the verifier saw a list")
            };
            let mut matrix = vec![0; shape.reads * shape.writes];
            for (r, &row) in rows.iter().enumerate() {
                for (k, &column) in columns.iter().enumerate() {
                    let place = r.checked_mul(columns.len());
                    let place = place.and_then(|place| place.checked_add(k)?.checked_add(*first));
                    let integer = place.and_then(|place| integers.get(place));
                    let integer = t.from_i64(integer.copied().unwrap_or(0));
                    let entry = t.mul(t.mul(integer, row), column);
                    matrix[r * shape.reads + k] = entry as u32;
                }
            }
            matrices.push(matrix);
        }
        index as u32
    }

    /// The index of a conversion, among the conversions of its shape.
    pub(crate) fn conversion(&mut self, (from, to): (&Limbs, &Limbs), shape: Shape) -> u32 {
        let conversions = self.tables.conversions.entry(shape).or_default();
        let key = (from.clone(), to.clone());
        let (index, new) = self.conversions.index(key, conversions.len());
        if new {
            conversions.push(conversion(&self.moduli, (from, to), shape));
        }
        index as u32
    }

    /// The index of a permutation.
    pub(crate) fn permutation(&mut self, kind: Permutation) -> u32 {
        let permutations = &mut self.tables.permutations;
        let (index, new) = self.permutations.index(kind, permutations.len());
        if new {
            permutations.push(permutation(kind, self.trace.n));
        }
        index as u32
    }

    /// The index of a constant's places or, if `entries`, of its entries, and the number of steps
    /// by which their halves are rotated left.
    pub(crate) fn places(&mut self, id: ConstantId, entries: bool) -> [u32; 2] {
        let (trace, n) = (self.trace, self.trace.n);
        let (mut root, mut turn) = (id, 0);
        while let Constant::Turn { of, steps } = &trace.constants[root] {
            (root, turn) = (*of, (turn + steps) % (n / 2));
        }
        let places = &mut self.tables.places;
        let (index, new) = self.places.index((root, entries), places.len());
        if new {
            let words = Constant::words(&trace.constants, root, n).into_iter();
            let place = |word: i64| match entries {
                true => (word % (2 * n as i64)) as i32,
                false => word.max(-1) as i32,
            };
            places.push(words.map(place).collect());
        }
        [index as u32, turn as u32]
    }
}

fn conversion(moduli: &[Modulus], (from, to): (&Limbs, &Limbs), shape: Shape) -> Conversion {
    let ids = |limbs: &Limbs| limbs.iter().map(|id| id as u32).collect::<Vec<u32>>();
    let (mut from, mut to) = (ids(from), ids(to));
    let product = |p: &Modulus, without: Option<usize>| {
        let factors = from.iter().enumerate().filter(|(i, _)| Some(*i) != without);
        factors.fold(p.reduce(1), |product, (_, &id)| {
            p.mul(product, p.reduce(moduli[id as usize].value()))
        })
    };
    let mut hat_inverse: Vec<u32> = Vec::with_capacity(shape.reads);
    for (i, &id) in from.iter().enumerate() {
        let q = &moduli[id as usize];
        let inverse = q.inv(product(q, Some(i)));
        hat_inverse.push(inverse.expect("different primes have no common factor") as u32);
    }
    let mut matrix = vec![0; shape.writes * (shape.reads + 1)];
    for (&id, row) in to.iter().zip(matrix.chunks_mut(shape.reads + 1)) {
        let p = &moduli[id as usize];
        for (i, entry) in row[..from.len()].iter_mut().enumerate() {
            *entry = product(p, Some(i)) as u32;
        }
        row[shape.reads] = p.neg(product(p, None)) as u32;
    }
    hat_inverse.resize(shape.reads, 0);
    from.resize(shape.reads, 0);
    to.resize(shape.writes, 0);
    Conversion {
        from,
        to,
        hat_inverse,
        matrix,
    }
}

/// The index of each word of the result in the operand, with [`Tables::NEGATIVE`] for negated
/// words.
fn permutation(kind: Permutation, n: usize) -> Vec<u32> {
    let reverse = |i: usize| i.reverse_bits() >> (usize::BITS - n.ilog2());
    // Word `i` is the value at the root's power of this odd exponent. `place` is the inverse.
    let exponent = |i: usize| 2 * reverse(i) + 1;
    let place = |exponent: usize| reverse(exponent % (2 * n) / 2);
    let mut words = vec![0; n];
    match kind {
        Permutation::Eval(element) => {
            for (i, word) in words.iter_mut().enumerate() {
                *word = place(exponent(i) * element) as u32;
            }
        }
        Permutation::Coeff(element) => {
            for i in 0..n {
                let to = i * element % (2 * n);
                let sign = if to < n { 0 } else { Tables::NEGATIVE };
                words[to % n] = i as u32 | sign;
            }
        }
        Permutation::Shift(exponent) => {
            for i in 0..n {
                let to = (i + exponent) % (2 * n);
                let sign = if to < n { 0 } else { Tables::NEGATIVE };
                words[to % n] = i as u32 | sign;
            }
        }
        Permutation::Slots => {
            let mut power = 1;
            for slot in 0..n / 2 {
                words[place(power)] = slot as u32;
                words[place(2 * n - power)] = (n / 2 + slot) as u32;
                power = power * 5 % (2 * n);
            }
        }
    }
    words
}
