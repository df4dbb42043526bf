//! Tables of any values: by products of the index's bits, or by choices from the lowest bit up.

use std::collections::HashMap;

use super::{Bit, Builder, Circuit, MAX_WIDTH};

/// Builds the entry `values[index]` of a table of `2^index.len()` entries of `out_bits` bits. Takes
/// the way that sends fewer bytes.
pub(crate) fn lookup(
    builder: &mut Builder,
    index: &[Bit],
    values: &[u64],
    out_bits: usize,
) -> Vec<Bit> {
    assert_eq!(values.len(), 1 << index.len(), "an entry for each index");
    if out_bits == 0 {
        return Vec::new();
    }
    let sent = |way: Way| sent_bytes(index.len(), values, out_bits, way);
    if sent(by_choices) < sent(by_products) {
        by_choices(builder, index, values, out_bits)
    } else {
        by_products(builder, index, values, out_bits)
    }
}

type Way = fn(&mut Builder, &[Bit], &[u64], usize) -> Vec<Bit>;

/// Number of bytes that 64 lookups of shared bits send.
fn sent_bytes(bits: usize, values: &[u64], out_bits: usize, way: Way) -> u64 {
    let mut builder = Builder::default();
    let (server, client) = builder.input(bits as u32);
    let index: Vec<Bit> = server
        .into_iter()
        .zip(client)
        .map(|(a, b)| builder.xor(a, b))
        .collect();
    way(&mut builder, &index, values, out_bits);
    let circuit: Circuit = builder.finish();
    circuit.cost(1).bytes()
}

/// Looks up by products: each output bit is a sum of products of index bits. First the products
/// within each half of the index are computed, then products of one from each half.
fn by_products(builder: &mut Builder, index: &[Bit], values: &[u64], out_bits: usize) -> Vec<Bit> {
    let polynomial = polynomial(values, index.len());
    let low_bits = index.len() / 2;
    let low = products(builder, &index[..low_bits]);
    let high = products(builder, &index[low_bits..]);
    let mut result = vec![Bit::ZERO; out_bits];
    for (high_at, &high) in high.iter().enumerate() {
        let row = &polynomial[high_at << low_bits..][..low.len()];
        let used: Vec<usize> = (0..low.len()).filter(|&at| row[at] != 0).collect();
        let rights: Vec<Bit> = used.iter().map(|&at| low[at]).collect();
        let terms = builder.and_many(high, &rights);
        for (at, product) in used.into_iter().zip(terms) {
            for (bit, sum) in result.iter_mut().enumerate() {
                if row[at] >> bit & 1 == 1 {
                    *sum = builder.xor(*sum, product);
                }
            }
        }
    }
    result
}

/// Builds the product of each subset of bits. Subset `s` has bit `i` if `s >> i & 1`.
fn products(builder: &mut Builder, bits: &[Bit]) -> Vec<Bit> {
    if bits.len() <= 1 {
        return [Bit::ONE].into_iter().chain(bits.iter().copied()).collect();
    }
    let (low, high) = bits.split_at(bits.len() / 2);
    let (low, high) = (products(builder, low), products(builder, high));
    high.iter()
        .flat_map(|&high| builder.and_many(high, &low))
        .collect()
}

/// Coefficients modulo 2 of each output bit as a polynomial in the index's bits. Bit `b` of an
/// entry belongs to output bit `b`.
fn polynomial(values: &[u64], bits: usize) -> Vec<u64> {
    let mut coefficients = values.to_vec();
    for bit in 0..bits {
        for at in (0..values.len()).filter(|at| at >> bit & 1 == 1) {
            coefficients[at] ^= coefficients[at ^ 1 << bit];
        }
    }
    coefficients
}

/// Looks up by choices: each bit of the index, from the lowest up, halves the table. Equal parts of
/// the table are chosen once, so a table of few steps is cheap.
fn by_choices(builder: &mut Builder, index: &[Bit], values: &[u64], out_bits: usize) -> Vec<Bit> {
    let public = |value: u64| (0..out_bits).map(move |bit| Bit::Public(value >> bit & 1 == 1));
    let mut nodes: Vec<Vec<Bit>> = Vec::new();
    let mut number = HashMap::new();
    let mut table: Vec<usize> = Vec::with_capacity(values.len());
    for &value in values {
        table.push(*number.entry(value).or_insert_with(|| {
            nodes.push(public(value).collect());
            nodes.len() - 1
        }));
    }
    for &choice in index {
        let mut next_nodes: Vec<Vec<Bit>> = Vec::new();
        let mut number = HashMap::new();
        let mut pairs = Vec::new();
        let next_table: Vec<usize> = table
            .chunks(2)
            .map(|pair| {
                *number.entry((pair[0], pair[1])).or_insert_with(|| {
                    pairs.push((pair[0], pair[1]));
                    pairs.len() - 1
                })
            })
            .collect();
        // All choices of a level have the same left operand, so few OTs serve many choices.
        for group in pairs.chunks((MAX_WIDTH / out_bits).max(1)) {
            let join = |of: fn(&(usize, usize)) -> usize| -> Vec<Bit> {
                group
                    .iter()
                    .flat_map(|pair| nodes[of(pair)].clone())
                    .collect()
            };
            let (zeros, ones) = (join(|pair| pair.0), join(|pair| pair.1));
            let chosen = builder.choose(choice, &ones, &zeros);
            next_nodes.extend(chosen.chunks(out_bits).map(<[Bit]>::to_vec));
        }
        (nodes, table) = (next_nodes, next_table);
    }
    nodes.swap_remove(table[0])
}
