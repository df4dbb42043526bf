//! Rests that rounding leaves of words, and the modulus switch from words to exponents of X.
//!
//! The rest of a word is the word minus its rounded value times the step. Half of a centred integer
//! `x`, rounded down, is `round((x - 1) / 2)` modulo `q / 2`, as centred representative. A sum of
//! rests may exceed a word. Half of a sum is therefore computed as the sum of the halves, plus half
//! of the sum of their remainders, which are 0 or 1.
//!
//! A sum over all words of a polynomial takes `log2 N` multiplications by powers of `X` and
//! additions: by `X^(-N/2)`, by `X^(-N/4)`, and so on. Word 0 of the result is the sum of all
//! words.
//!
//! Source: de Ruijter, D'Anvers, Verbauwhede, "Don't be mean: Reducing Approximation Noise in TFHE
//! through Mean Compensation", IACR ePrint, 2025.

use super::table::{Kept, ModulusTable};
use trace::{Builder, SubId, ValueId};

/// A value's words rounded to the given bits, and their rests.
pub(super) fn rounded(
    table: &ModulusTable,
    b: &mut Builder,
    value: ValueId,
    kept: Kept,
) -> [ValueId; 2] {
    let rounded = b.round(value, kept.modulus);
    let back = b.convert(rounded, table.word..table.word + 1);
    let step = 1 << (table.parameters.word_bits - kept.bits);
    let back = b.scale(back, [step]);
    [rounded, b.sub(value, back)]
}

/// The sub-trace of half of each word, rounded down.
pub(super) fn halve(table: &ModulusTable, b: &mut Builder) -> SubId {
    b.sub_trace("halve", &[table.words()], |b| {
        let one = table.repeated(b, 1, table.word);
        let less = b.sub(0, one);
        let half = b.round(less, table.half);
        vec![b.convert(half, table.word..table.word + 1)]
    })
}

/// The sub-trace of half of the sum of all words of `count` values, rounded down. Word 0 of the
/// result has it.
pub(super) fn half_of_sum(table: &ModulusTable, b: &mut Builder, count: usize) -> SubId {
    let parameters = vec![table.words(); count];
    b.sub_trace(&format!("half_of_sum.{count}"), &parameters, |b| {
        let halve = halve(table, b);
        let mut sums: Option<[ValueId; 2]> = None;
        for value in 0..count {
            let half = b.call(halve, &[value])[0];
            let twice = b.scale(half, [2]);
            let left = b.sub(value, twice);
            sums = Some(match sums {
                None => [half, left],
                Some(sums) => [b.add(sums[0], half), b.add(sums[1], left)],
            });
        }
        let total = total(table, b);
        let sums = sums.expect("there is a value");
        let [halves, left] = sums.map(|sum| b.call(total, &[sum])[0]);
        let more = b.call(halve, &[left])[0];
        vec![b.add(halves, more)]
    })
}

/// The sub-trace of the sum of all words of a value. Word 0 of the result has it.
fn total(table: &ModulusTable, b: &mut Builder) -> SubId {
    let n = table.parameters.n;
    b.sub_trace("total", &[table.words()], |b| {
        let (mut sum, mut width) = (0, n);
        while width > 1 {
            width /= 2;
            let turned = b.shift(sum, 2 * n - width);
            sum = b.add(sum, turned);
        }
        vec![sum]
    })
}

/// The sub-trace of a modulus switch. Parameters: the values of a small sample. It has as many
/// results.
pub(super) fn modulus_switch(table: &ModulusTable, b: &mut Builder, drop: u32) -> SubId {
    let p = &table.parameters;
    let kept = table.kept(p.exponent_bits() - drop);
    let masks = p.small_rank();
    let parameters = vec![table.words(); masks + 1];
    b.sub_trace(&format!("modulus_switch.{drop}"), &parameters, |b| {
        let pairs: Vec<[ValueId; 2]> = (0..masks).map(|v| rounded(table, b, v, kept)).collect();
        let rests: Vec<ValueId> = pairs.iter().map(|pair| pair[1]).collect();
        let half_of_sum = half_of_sum(table, b, masks);
        let mean = b.call(half_of_sum, &rests)[0];
        let body = b.sub(masks, mean);
        // Subtracting half a step and rounding to the nearest is rounding down.
        let half_step = 1 << (p.word_bits - kept.bits - 1);
        let half_step = table.repeated(b, half_step, table.word);
        let body = b.sub(body, half_step);
        let body = b.round(body, kept.modulus);
        let all = pairs.iter().map(|pair| pair[0]).chain([body]);
        let all: Vec<ValueId> = all.collect();
        all.into_iter()
            .map(|exponents| match drop {
                0 => exponents,
                _ => {
                    let wide = b.convert(exponents, table.order..table.order + 1);
                    b.scale(wide, [1 << drop])
                }
            })
            .collect()
    })
}
