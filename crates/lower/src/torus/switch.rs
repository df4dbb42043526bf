//! Key switches in the ring, from the big secret to the small one.
//!
//! The words of a mask become polynomials by `X -> X^-1`. These are cut into digits and multiplied
//! by the rows of the key. The rests of the digits are multiplied by secret bits of mean 1/2, so
//! half of the sum of the rests is subtracted from the body.
//!
//! Source: Bergerat et al., "New Secret Keys for Enhanced Performance in (T)FHE", CCS 2024,
//! <https://ia.cr/2023/979>.

use super::product::{digits, products};
use super::rounding::{half_of_sum, halve, rounded};
use super::table::ModulusTable;
use program::torus::Digits;
use trace::{Builder, Constant, SubId, ValueId};

/// The sub-trace of a key switch. Parameters: masks and body of a sample, and the rows of the key.
/// Results: masks and body of a small sample. Words of the last mask beyond the LWE dimension are
/// 0.
pub(super) fn key_switch(table: &ModulusTable, b: &mut Builder, gadget: Digits) -> SubId {
    let p = &table.parameters;
    let (rows, components) = (p.rank * gadget.count as usize, p.small_rank() + 1);
    let mut parameters = vec![table.words(); p.rank + 1];
    parameters.extend(table.rows(rows, components));
    b.sub_trace("key_switch", &parameters, |b| {
        let (body, first) = (p.rank, p.rank + 1);
        let kept = table.kept(gadget.kept());
        let (mut factors, mut rests) = (Vec::with_capacity(rows), Vec::new());
        for mask in 0..p.rank {
            let poly = table.reversed(b, mask);
            let [rounded, rest] = rounded(table, b, poly, kept);
            factors.extend(digits(table, b, rounded, gadget));
            rests.push(rest);
        }
        let half_of_sum = half_of_sum(table, b, p.rank);
        let mean = b.call(half_of_sum, &rests)[0];
        let mut sums = products(table, b, &factors, (first, components));
        let sum = sums.pop().expect("a row has a body");
        let mut own = b.add(sum, body);
        own = b.add(own, mean);
        // Coefficient 0 is multiplied by its bit with a plus sign, all others with a minus sign.
        let halve = halve(table, b);
        for rest in rests {
            let half = b.call(halve, &[rest])[0];
            let twice = b.scale(half, [2]);
            own = b.sub(own, twice);
        }
        let masks = sums.into_iter().map(|sum| table.reversed(b, sum));
        let mut results: Vec<ValueId> = masks.collect();
        if let Some(last) = results.pop() {
            results.push(first_words(b, last, p.dimension - results.len() * p.n));
        }
        results.push(own);
        results
    })
}

/// The first words of a value, and 0 for the others.
fn first_words(b: &mut Builder, value: ValueId, count: usize) -> ValueId {
    let n = b.n();
    if count == n {
        return value;
    }
    let place = |at: usize| if at < count { at as i64 } else { -1 };
    let places = b.define(Constant::Words((0..n).map(place).collect()));
    b.extract([value], places, None)
}
