//! Compares each protocol with plain integers, with material from a dealer. Every test also
//! compares the predicted cost with the counts of the channel.

mod refusals;

use std::ops::RangeInclusive;
use std::thread;

use proptest::prelude::*;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;

use crate::material::dealer::deal;
use crate::slices::mask;
use crate::{Cost, Duplex, Material, Needs, Party, Piece, Protocol, Requantisation, Result, Role};
use crate::{memory_pair, preprocess};

/// Runs both parties, each in a thread, and returns both results.
pub(super) fn both<T: Send>(
    material: [Material; 2],
    run: impl Fn(&mut Party<Duplex>) -> T + Sync,
) -> ([T; 2], Cost) {
    let (server, client) = memory_pair();
    let [for_server, for_client] = material;
    let mut server = Party::new(Role::Server, server, for_server);
    let mut client = Party::new(Role::Client, client, for_client);
    let results = thread::scope(|scope| {
        let of_server = scope.spawn(|| run(&mut server));
        let of_client = run(&mut client);
        [of_server.join().expect("the server ends"), of_client]
    });
    let (sent, received) = (server.traffic(), client.traffic());
    assert_eq!(
        (sent.sent, sent.received),
        (received.received, received.sent)
    );
    assert_eq!(sent.rounds, received.rounds, "both count the same rounds");
    let cost = Cost {
        rounds: sent.rounds,
        bytes_to_server: sent.received,
        bytes_to_client: sent.sent,
    };
    (results, cost)
}

fn share(rng: &mut ChaCha20Rng, values: &[i64]) -> [Vec<u64>; 2] {
    let first: Vec<u64> = values.iter().map(|_| rng.random()).collect();
    let second = values
        .iter()
        .zip(&first)
        .map(|(&v, f)| (v as u64).wrapping_sub(*f));
    let second = second.collect();
    [first, second]
}

/// The results of a protocol for plain values, modulo `2^out_bits`.
fn results(protocol: &Protocol, values: &[i64], seed: u64) -> Vec<[u64; 2]> {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let shares = share(&mut rng, values);
    let count = values.len() / protocol.inputs();
    let (results, cost) = both(deal(&protocol.needs(count), seed), |party| {
        let own = match party.role() {
            Role::Server => &shares[0],
            Role::Client => &shares[1],
        };
        party.run(protocol, own).expect("enough material")
    });
    assert_eq!(cost, protocol.cost(count), "predicted and counted");
    let [server, client] = results;
    server
        .into_iter()
        .zip(client)
        .map(|(s, c)| [s, c])
        .collect()
}

fn values(protocol: &Protocol, of: &[i64], out_bits: u32, seed: u64) -> Vec<i64> {
    let signed = |sum: u64| ((sum << (64 - out_bits)) as i64) >> (64 - out_bits);
    let results = results(protocol, of, seed).into_iter();
    results
        .map(|[s, c]| {
            assert_eq!(
                (s & !mask(out_bits), c & !mask(out_bits)),
                (0, 0),
                "shares are reduced"
            );
            signed(s.wrapping_add(c))
        })
        .collect()
}

/// Test values: both ends of a range, both sides of zero, and values between.
fn inputs(rng: &mut ChaCha20Rng, range: &RangeInclusive<i64>, count: usize) -> Vec<i64> {
    let (minimum, maximum) = (*range.start(), *range.end());
    let edges = [
        minimum,
        maximum,
        0,
        -1,
        1,
        minimum.saturating_add(1),
        maximum.saturating_sub(1),
    ];
    let edges = edges.into_iter().map(|x| x.clamp(minimum, maximum));
    let random = std::iter::repeat_with(|| rng.random_range(minimum..=maximum));
    edges.chain(random).take(count).collect()
}

fn requantised(r: &Requantisation, x: i64) -> i64 {
    let y = (i128::from(x) + i128::from(r.offset)) >> r.shift;
    y.clamp(i128::from(r.low), i128::from(r.high)) as i64
}

fn check_requantisation(r: &Requantisation, count: usize, seed: u64) {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let mut x = inputs(&mut rng, &(r.minimum..=r.maximum), count);
    // Values around each threshold that lies in the range.
    for y in [
        r.low,
        r.low.saturating_add(1),
        r.high,
        r.high.saturating_add(1),
    ] {
        let threshold = (i128::from(y) << r.shift) - i128::from(r.offset);
        for near in -1..=1 {
            let near = threshold + near;
            if i128::from(r.minimum) <= near && near <= i128::from(r.maximum) {
                x.push(near as i64);
            }
        }
    }
    x.truncate(count);
    let protocol = Protocol::requantise(r).expect("in range");
    let want: Vec<i64> = x
        .iter()
        .map(|&x| requantised(r, x))
        .map(|y| ((y as u64) << (64 - r.out_bits)) as i64 >> (64 - r.out_bits))
        .collect();
    assert_eq!(
        values(&protocol, &x, r.out_bits, seed),
        want,
        "{r:?}, x = {x:?}"
    );
}

#[test]
fn requantises_every_value_of_small_moduli() {
    for bits in 1..=7 {
        let half = 1i64 << (bits - 1);
        let x: Vec<i64> = (-half..half).collect();
        for shift in 0..=bits + 1 {
            for (low, high) in [(0, 3), (-2, 2), (1, 1), (-4, 9), (-1, 0)] {
                for offset in [0, 1, -half, half - 1, 1 << shift >> 1] {
                    let r = Requantisation {
                        bits,
                        minimum: -half,
                        maximum: half - 1,
                        offset,
                        shift,
                        low,
                        high,
                        out_bits: 5,
                    };
                    let protocol = Protocol::requantise(&r).expect("in range");
                    let want: Vec<i64> = x.iter().map(|&x| requantised(&r, x)).collect();
                    assert_eq!(values(&protocol, &x, 5, 1), want, "{r:?}");
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// All moduli: with the whole range, for the wide form, and with a part of it, for the cheap
    /// form.
    #[test]
    fn requantises_exactly(
        (bits, out_bits, shift) in (1u32..=64, 1u32..=64, 0u32..=40),
        low in -300i64..300,
        span in prop_oneof![0i64..5, Just(127), Just(254), Just(255), 0i64..1 << 31],
        (offset, part) in (-(1i64 << 30)..1 << 30, 0u32..3),
        (count, seed) in (0usize..130, any::<u64>()),
    ) {
        let highest = (mask(bits) >> 1) as i64;
        let (minimum, maximum) = match part {
            0 => (-highest - 1, highest),
            1 => (-highest / 2, highest / 2),
            _ => (-highest / 3, highest / 5),
        };
        let high = low + span;
        let r = Requantisation { bits, minimum, maximum, offset, shift, low, high, out_bits };
        check_requantisation(&r, count, seed);
    }

    /// The form of networks: a range that leaves room, for the cheap form.
    #[test]
    fn requantises_activations(
        (bits, shift) in (8u32..=48, 0u32..=30),
        high in prop_oneof![Just(127i64), Just(63), 1i64..200],
        symmetric in any::<bool>(),
        (count, seed) in (0usize..200, any::<u64>()),
    ) {
        let shift = shift.min(bits - 2);
        let maximum = 1i64 << (bits - 2);
        let low = if symmetric { -high } else { 0 };
        let offset = 1i64 << shift >> 1;
        let r = Requantisation {
            bits, minimum: -maximum, maximum: maximum - 1, offset, shift, low, high, out_bits: 20,
        };
        check_requantisation(&r, count, seed);
    }

    /// Random tables, and tables of few steps, for which the way by choices is cheaper.
    #[test]
    fn looks_tables_up(
        (bits, out_bits) in (10u32..=40, 1u32..=40),
        (length, steps) in (1usize..300, prop::option::of(1i64..4)),
        minimum in -200i64..0,
        (count, seed) in (0usize..70, any::<u64>()),
    ) {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let minimum = minimum.max(-(1 << (bits - 2)));
        let table: Vec<i64> = (0..length as i64)
            .map(|at| match steps {
                Some(steps) => at * steps / length as i64,
                None => rng.random_range(-1000..1000),
            })
            .collect();
        let maximum = minimum + length as i64 - 1;
        let x = inputs(&mut rng, &(minimum..=maximum), count);
        let protocol = Protocol::table(bits, minimum, &table, out_bits).expect("in range");
        let out = |y: i64| ((y as u64) << (64 - out_bits)) as i64 >> (64 - out_bits);
        let want: Vec<i64> = x.iter().map(|&x| out(table[(x - minimum) as usize])).collect();
        prop_assert_eq!(values(&protocol, &x, out_bits, seed), want);
    }

    #[test]
    fn finds_maxima(
        (bits, group) in (2u32..=64, 1usize..10),
        narrow in any::<bool>(),
        (count, seed) in (0usize..70, any::<u64>()),
    ) {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let highest = (mask(bits) >> 1) as i64;
        let range = if narrow { -highest.min(2)..=highest.min(3) } else { -highest - 1..=highest };
        let x = inputs(&mut rng, &range, count * group);
        let largest = Protocol::maximum(group, bits, range.clone(), bits).expect("in range");
        let want: Vec<i64> = x.chunks(group).map(|x| *x.iter().max().unwrap()).collect();
        prop_assert_eq!(values(&largest, &x, bits, seed), want);

        // In the narrow range most groups have equal values, of which the first counts.
        let place = Protocol::argmax(group, bits, range).expect("in range");
        for ([server, client], x) in results(&place, &x, seed).into_iter().zip(x.chunks(group)) {
            let first = x.iter().position(|v| v == x.iter().max().unwrap());
            prop_assert_eq!((server, Some(client as usize)), (0, first));
        }
    }

    #[test]
    fn extends_moduli(
        (bits, more) in (1u32..=63, 1u32..=40),
        (count, seed) in (0usize..70, any::<u64>()),
    ) {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let out_bits = (bits + more).min(64);
        let highest = (mask(bits) >> 1) as i64;
        let range = -highest - 1..=highest;
        let x = inputs(&mut rng, &range, count);
        let protocol = Protocol::extend(bits, range, out_bits).expect("in range");
        prop_assert_eq!(values(&protocol, &x, out_bits, seed), x);
    }

    #[test]
    fn evaluates_pieces(
        slopes in prop::collection::vec((-40i64..40, -5000i64..5000, 0u32..6, 1i64..300), 1..5),
        (count, seed) in (0usize..70, any::<u64>()),
    ) {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let mut start = -500;
        let mut pieces = Vec::new();
        for (multiplier, constant, shift, length) in slopes {
            pieces.push(Piece { start, multiplier, constant, shift });
            start += length;
        }
        let maximum = start - 1;
        let mut x = inputs(&mut rng, &(-500..=maximum), count);
        x.extend(pieces.iter().map(|piece| piece.start));
        let protocol = Protocol::piecewise(14, maximum, &pieces, 24).expect("in range");
        let want: Vec<i64> = x
            .iter()
            .map(|&x| {
                let piece = pieces.iter().rev().find(|piece| piece.start <= x).unwrap();
                (piece.multiplier * x + piece.constant) >> piece.shift
            })
            .collect();
        prop_assert_eq!(values(&protocol, &x, 24, seed), want);
    }

    #[test]
    fn multiplies_and_reveals(bits in 1u32..=64, (count, seed) in (0usize..70, any::<u64>())) {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let x: Vec<i64> = (0..count).map(|_| rng.random()).collect();
        let y: Vec<i64> = (0..count).map(|_| rng.random()).collect();
        let (x_shares, y_shares) = (share(&mut rng, &x), share(&mut rng, &y));
        let needs = Needs::square(bits, count) + Needs::multiply(bits, count);
        let run = |party: &mut Party<Duplex>| -> Result<[Vec<u64>; 2]> {
            let own = if party.role() == Role::Server { 0 } else { 1 };
            let squares = party.square(bits, &x_shares[own])?;
            let products = party.multiply(bits, &x_shares[own], &y_shares[own])?;
            Ok([party.reveal(bits, &squares)?, party.reveal(bits, &products)?])
        };
        let ([server, client], cost) = both(deal(&needs, seed), |party| run(party).unwrap());
        let product = |(x, y): (&i64, &i64)| x.wrapping_mul(*y) as u64 & mask(bits);
        let squares: Vec<u64> = x.iter().zip(&x).map(product).collect();
        let products: Vec<u64> = x.iter().zip(&y).map(product).collect();
        prop_assert_eq!(client, [squares, products]);
        prop_assert_eq!(server, [vec![0; count], vec![0; count]]);
        type P = Party<Duplex>;
        let want = P::square_cost(bits, count) + P::multiply_cost(bits, count)
            + P::reveal_cost(bits, count) * 2;
        prop_assert_eq!(cost, want);
    }
}

/// The cheap forms must stay cheap: the decision record states these numbers.
#[test]
fn an_activation_has_the_recorded_cost() {
    let activation = Requantisation {
        bits: 32,
        minimum: -(1 << 30),
        maximum: (1 << 30) - 1,
        offset: 1 << 17,
        shift: 18,
        low: 0,
        high: 63,
        out_bits: 24,
    };
    let protocol = Protocol::requantise(&activation).expect("in range");
    let cost = protocol.cost(64);
    assert_eq!(protocol.needs(64).oblivious_transfers(), 64 * 107);
    assert_eq!(
        (cost.rounds, cost.bytes_to_server, cost.bytes_to_client),
        (9, 1152, 1136)
    );
}

/// The two sources of material: bits that a party draws itself, and bits from the transfers.
#[test]
fn made_bits_are_random() {
    let relu = Protocol::requantise(&refusals::RELU).expect("in range");
    let needs = relu.needs(64 * 64);
    let (mut left, mut right) = memory_pair();
    let own = |material: &mut Material| {
        let (&modulus, &words) = needs.random_bits.iter().next().expect("a conversion");
        material.take_random_bits(modulus, words).bits.to_vec()
    };
    let [server, client] = std::thread::scope(|scope| {
        let (needs, own) = (&needs, &own);
        let server = scope.spawn(move || {
            own(&mut preprocess(Role::Server, &mut left, needs, &mut |_, _| {}).expect("connected"))
        });
        let mut client = preprocess(Role::Client, &mut right, needs, &mut |_, _| {});
        let client = own(client.as_mut().expect("connected"));
        [server.join().expect("it ends"), client]
    });
    for words in [server, client] {
        let different: std::collections::BTreeSet<&u64> = words.iter().collect();
        assert_eq!(different.len(), words.len(), "no word twice");
        let (ones, bits) = (
            words.iter().map(|w| w.count_ones()).sum::<u32>(),
            64 * words.len(),
        );
        let off = f64::from(ones) - bits as f64 / 2.0;
        assert!(off.abs() < 3.0 * (bits as f64).sqrt(), "{ones} of {bits}");
    }
}
