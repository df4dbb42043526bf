//! Key switches by samples, from the big secret to the small one.
//!
//! A word of the result is a sum of products of digits and words of the key, over all words of the
//! mask and all digits. It is coefficient 0 of a product of polynomials: the digits as polynomials
//! times the key's words under `X -> X^-1`. A switch of `k` polynomials in `l` digits takes `k l`
//! transforms, and `n + 1` inverse transforms with `k l` products each. The fast path has no
//! transforms: it multiplies `k N l (n + 1)` words.
//!
//! Source: Chillotti, Gama, Georgieva, Izabachène, "TFHE: Fast Fully Homomorphic Encryption over
//! the Torus", Journal of Cryptology 33, 2020, section 4.1.

use super::product::{digits, product};
use super::rounding::{half_of_sum, rounded};
use super::table::ModulusTable;
use program::torus::Digits;
use trace::{Builder, Constant, SubId, ValueId};

/// Masks and body of a small sample, from those of a sample and all columns of the key. Words of
/// the last mask beyond the LWE dimension are 0.
pub(super) fn key_switch(
    table: &ModulusTable,
    b: &mut Builder,
    (sample, columns): (&[ValueId], &[ValueId]),
    gadget: Digits,
) -> Vec<ValueId> {
    let p = &table.parameters;
    let count = p.rank * gadget.count as usize;
    let cut = cut(table, b, gadget);
    let mut factors = b.call(cut, sample);
    let body = factors.pop().expect("the last result is the body");
    let column = word(table, b, count);
    let words = columns.chunks_exact(count).map(|words| {
        let mut arguments = factors.clone();
        arguments.extend(words);
        b.call(column, &arguments)[0]
    });
    let words: Vec<ValueId> = words.collect();
    let (last, masks) = words.split_last().expect("a sample has a body");
    let mut results = Vec::with_capacity(p.small_rank() + 1);
    for words in masks.chunks(p.n) {
        let place = |at: usize| {
            if at < words.len() {
                (at * p.n) as i64
            } else {
                -1
            }
        };
        let places = b.define(Constant::Words((0..p.n).map(place).collect()));
        let mask = b.extract(words, places, None);
        let zero = b.zero(table.words());
        results.push(b.sub(zero, mask));
    }
    results.push(b.sub(body, *last));
    results
}

/// The sub-trace that gives the digits of a sample as factors, and its body minus half of the sum
/// of the digits' rests.
fn cut(table: &ModulusTable, b: &mut Builder, gadget: Digits) -> SubId {
    let rank = table.parameters.rank;
    let parameters = vec![table.words(); rank + 1];
    b.sub_trace("cut", &parameters, |b| {
        let kept = table.kept(gadget.kept());
        let (mut results, mut rests) = (Vec::new(), Vec::new());
        for mask in 0..rank {
            let [rounded, rest] = rounded(table, b, mask, kept);
            results.extend(digits(table, b, rounded, gadget));
            rests.push(rest);
        }
        let half_of_sum = half_of_sum(table, b, rank);
        let mean = b.call(half_of_sum, &rests)[0];
        results.push(b.sub(rank, mean));
        results
    })
}

/// The sub-trace of one word of the small sample, as word 0. Parameters: factors and a column of
/// the key.
fn word(table: &ModulusTable, b: &mut Builder, count: usize) -> SubId {
    let parameters = vec![table.factors(); 2 * count];
    b.sub_trace("word", &parameters, |b| {
        let [factors, column] = [0, count].map(|first| (first..first + count).collect::<Vec<_>>());
        vec![product(table, b, &factors, &column)]
    })
}
