//! Maximum and argmax of several values.

use super::activation::greater;
use super::{Bit, Builder};

/// The largest of several unsigned values.
pub(crate) fn maximum(builder: &mut Builder, values: Vec<Vec<Bit>>) -> Vec<Bit> {
    let values = values
        .into_iter()
        .map(|value| (value, Vec::new()))
        .collect();
    tournament(builder, values).0
}

/// The index of the largest of several unsigned values: of equal values, the first.
pub(crate) fn argmax(builder: &mut Builder, values: Vec<Vec<Bit>>) -> Vec<Bit> {
    let bits = usize::BITS - (values.len() - 1).leading_zeros();
    let index = |index: usize| {
        (0..bits)
            .map(|bit| Bit::Public(index >> bit & 1 == 1))
            .collect()
    };
    let values = values.into_iter().enumerate();
    let values = values.map(|(at, value)| (value, index(at))).collect();
    tournament(builder, values).1
}

/// The largest value and its label. Of equal values the first wins.
fn tournament(
    builder: &mut Builder,
    mut values: Vec<(Vec<Bit>, Vec<Bit>)>,
) -> (Vec<Bit>, Vec<Bit>) {
    while values.len() > 1 {
        let is_last = values.len() == 2;
        let mut winners = Vec::with_capacity(values.len().div_ceil(2));
        for pair in values.chunks(2) {
            let [(a, a_label), (b, b_label)] = pair else {
                winners.push(pair[0].clone());
                continue;
            };
            let second = greater(builder, b, a);
            // One product chooses both the value and the label. If only the label matters, the last
            // round drops the value.
            let keep = if is_last && !a_label.is_empty() {
                0
            } else {
                a.len()
            };
            let ones: Vec<Bit> = b[..keep].iter().chain(b_label).copied().collect();
            let zeros: Vec<Bit> = a[..keep].iter().chain(a_label).copied().collect();
            let mut value = builder.choose(second, &ones, &zeros);
            let label = value.split_off(keep);
            winners.push((value, label));
        }
        values = winners;
    }
    values.pop().expect("at least one value")
}
