//! Sums of products of digits with the rows of a key: external products and key switches in the
//! ring.
//!
//! Digits and rows are raised to the primes of the table, transformed, multiplied and summed. The
//! sum is converted back to words. This is exact because the table's primes are large enough for
//! it.
//!
//! For `r` rows of `c` polynomials and `p` primes: `r p` transforms, `r c p` terms of inner
//! products, `c p` inverse transforms. Preparing a row takes `c p` transforms, once.
//!
//! Source: Chillotti, Gama, Georgieva, Izabachène, "TFHE: Fast Fully Homomorphic Encryption over
//! the Torus", Journal of Cryptology 33, 2020, section 3.3.

use super::table::ModulusTable;
use program::torus::Digits;
use trace::{Builder, SubId, ValueId};

/// The sub-trace that prepares a row of `components` polynomials as factors.
pub(super) fn prepare(table: &ModulusTable, b: &mut Builder, components: usize) -> SubId {
    let parameters = vec![table.words(); components];
    b.sub_trace(&format!("prepare.{components}"), &parameters, |b| {
        (0..components).map(|poly| factor(table, b, poly)).collect()
    })
}

/// The sub-trace that prepares a column of a key by samples as factors. It has `polynomials`
/// polynomials.
pub(super) fn prepare_column(table: &ModulusTable, b: &mut Builder, polynomials: usize) -> SubId {
    let parameters = vec![table.words(); polynomials];
    b.sub_trace("prepare_column", &parameters, |b| {
        let ready = |words| {
            let poly = table.reversed(b, words);
            factor(table, b, poly)
        };
        (0..polynomials).map(ready).collect()
    })
}

/// The digits of a rounded value as factors of products, the most significant digit first.
pub(super) fn digits(
    table: &ModulusTable,
    b: &mut Builder,
    rounded: ValueId,
    digits: Digits,
) -> Vec<ValueId> {
    let count = digits.count as usize;
    let cut = match count {
        // All bits are in one digit.
        1 => vec![rounded],
        count => b.digits(rounded, digits.bits, count),
    };
    let cut = cut.into_iter().rev();
    cut.map(|digit| factor(table, b, digit)).collect()
}

/// Sums of factors times rows, over all rows. The polynomials of the rows are the values from
/// `first` on, row by row.
pub(super) fn products(
    table: &ModulusTable,
    b: &mut Builder,
    factors: &[ValueId],
    (first, components): (ValueId, usize),
) -> Vec<ValueId> {
    let column = |component: usize| -> Vec<ValueId> {
        let rows = 0..factors.len();
        rows.map(|row| first + row * components + component)
            .collect()
    };
    let sum = |component| product(table, b, factors, &column(component));
    (0..components).map(sum).collect()
}

/// The sum of products of `left` and `right`, as words.
pub(super) fn product(
    table: &ModulusTable,
    b: &mut Builder,
    left: &[ValueId],
    right: &[ValueId],
) -> ValueId {
    let sum = b.dot(left, right);
    let sum = b.intt(sum);
    b.convert(sum, table.word..table.word + 1)
}

/// Centred integers as factors of products.
fn factor(table: &ModulusTable, b: &mut Builder, value: ValueId) -> ValueId {
    let raised = b.convert(value, table.primes.clone());
    b.ntt(raised)
}
