//! Products `a (x) b` of one pair of ciphertexts or of many. Products of residuals are multiplied
//! by `t`.
//!
//! For `k` pairs at `l` limbs: `4 k` products of limbs for each limb, added up, and `3 l` scalings
//! if there is a `t`.

use crate::chain::{Chain, PlainModulus};
use trace::{Builder, ConstantId, ValueId};

/// `t sum_k left_k (x) right_k`, from components at one level. Without a `t`, the sum alone.
pub(crate) fn tensor(
    chain: &Chain,
    b: &mut Builder,
    (level, t): (usize, Option<PlainModulus>),
    [left, right]: [&[[ValueId; 2]]; 2],
) -> [ValueId; 3] {
    let count = left.len();
    let parameters = vec![chain.component(level); 4 * count];
    let of = t.map_or(String::new(), |t| format!(".t{}", t.t.value()));
    let name = format!("tensor.{level}.{count}{of}");
    let sub = b.sub_trace(&name, &parameters, |b| {
        let part = |side: usize, part: usize| -> Vec<ValueId> {
            (0..count)
                .map(|k| 2 * count * side + 2 * k + part)
                .collect()
        };
        let (l, r) = ([part(0, 0), part(0, 1)], [part(1, 0), part(1, 1)]);
        sums(chain, b, (level, t), [&l, &r]).to_vec()
    });
    let arguments: Vec<ValueId> = left.iter().chain(right).flatten().copied().collect();
    let parts = b.call(sub, &arguments);
    [parts[0], parts[1], parts[2]]
}

/// The matrix of a combination: a list, the index where the matrix begins in it, and the factors of
/// rows and columns.
pub(crate) struct Matrix {
    pub(crate) list: ConstantId,
    pub(crate) first: usize,
    pub(crate) rows: Vec<u64>,
    pub(crate) columns: Vec<u64>,
}

/// `t sum_j (sum_i m_ji low_i) (x) middle_j`, from components at one level.
pub(crate) fn combine(
    chain: &Chain,
    b: &mut Builder,
    (level, t): (usize, PlainModulus),
    matrix: &Matrix,
    [low, middle]: [&[[ValueId; 2]]; 2],
) -> [ValueId; 3] {
    let combined = [0, 1].map(|part| {
        let values: Vec<ValueId> = low.iter().map(|pair| pair[part]).collect();
        let factors = (matrix.rows.clone(), matrix.columns.clone());
        b.combine(values, (matrix.list, matrix.first), t.id, factors)
    });
    let middle = [0, 1].map(|part| middle.iter().map(|pair| pair[part]).collect());
    sums(chain, b, (level, Some(t)), [&combined, &middle])
}

/// `t (sum l_0 r_0, sum l_0 r_1 + l_1 r_0, sum l_1 r_1)`.
fn sums(
    chain: &Chain,
    b: &mut Builder,
    (level, t): (usize, Option<PlainModulus>),
    [[l0, l1], [r0, r1]]: [&[Vec<ValueId>; 2]; 2],
) -> [ValueId; 3] {
    // Both terms of a pair follow each other, so that a part of this sum reads the same pairs as
    // the parts of the other two.
    let each = |(a, b): (&ValueId, &ValueId)| [*a, *b];
    let crossed: Vec<ValueId> = l0.iter().zip(l1).flat_map(each).collect();
    let others: Vec<ValueId> = r1.iter().zip(r0).flat_map(each).collect();
    let dots = [
        b.dot(l0.as_slice(), r0.as_slice()),
        b.dot(crossed, others),
        b.dot(l1.as_slice(), r1.as_slice()),
    ];
    let Some(t) = t else {
        return dots;
    };
    let t = chain.words(&chain.level(level), |q| q.reduce(t.t.value()));
    dots.map(|sum| b.scale(sum, t.clone()))
}
