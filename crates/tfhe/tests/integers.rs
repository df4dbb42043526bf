//! Small integers: random tables, sums, comparisons, and refused operations.

use crate::common::{integers_insecure, keys, rng};
use palladion_tfhe::{ClientKey, Comparison, Error, Integer, Params, ServerKey, Table};
use proptest::prelude::*;
use rand::Rng;
use ring::torus::Naive;
use std::sync::OnceLock;

type Keys = (ClientKey<u64>, ServerKey<u64, Naive>);

/// 2 message and 2 carry bits.
fn two_two() -> &'static Keys {
    static KEYS: OnceLock<Keys> = OnceLock::new();
    KEYS.get_or_init(|| keys(&integers_insecure(2, 2, true), 1))
}

fn encrypt(message: u64, seed: u64) -> Integer<u64> {
    two_two()
        .0
        .encrypt(message, &mut rng(seed))
        .expect("a message")
}

fn value(x: &Integer<u64>) -> u64 {
    two_two().0.decrypt_with_carry(x).expect("of this key")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Every value below the padding bit, constant or encrypted, and several tables at once.
    #[test]
    fn tables_are_looked_up_insecure(entries in proptest::collection::vec(0u64..16, 32), high in 0u64..4, low in 0u64..4, seed in any::<u64>()) {
        let (_, server) = two_two();
        let (first, second) = entries.split_at(16);
        let x = server.pair(&encrypt(high, seed), &encrypt(low, seed ^ 1)).expect("fits");
        let at = (4 * high + low) as usize;
        prop_assert_eq!(value(&x), at as u64);
        let one = Table::new(server.params(), &[first.to_vec()]).expect("a table");
        let out = server.apply(&x, &one).expect("of this key");
        prop_assert_eq!(value(&out), first[at]);
        prop_assert_eq!((out.max(), out.noise()), (*first.iter().max().expect("entries"), 1));
        let two = Table::new(server.params(), &[first.to_vec(), second.to_vec()]).expect("two tables");
        let fresh = server.apply(&x, &Table::of(server.params(), |v| v).expect("a table")).expect("of this key");
        let out: Vec<u64> = server.apply_tables(&fresh, &two).expect("of this key").iter().map(value).collect();
        prop_assert_eq!(out, vec![first[at], second[at]]);
    }

    /// Sums of messages, compared in the message modulo 4 and its carry.
    #[test]
    fn sums_and_differences_are_exact_insecure(x in 0u64..4, y in 0u64..4, seed in any::<u64>()) {
        let (client, server) = two_two();
        let (cx, cy) = (encrypt(x, seed), encrypt(y, !seed));
        let sum = server.add(&cx, &cy).expect("fits");
        prop_assert_eq!(value(&sum), x + y);
        prop_assert_eq!(value(&server.message(&sum).expect("of this key")), (x + y) % 4);
        prop_assert_eq!(value(&server.carry(&sum).expect("of this key")), (x + y) / 4);
        let message = |c: &_| client.decrypt(c).expect("of this key");
        prop_assert_eq!(message(&server.sub(&cx, &cy).expect("fits")), (x + 4 - y) % 4);
        prop_assert_eq!(message(&server.neg(&cx).expect("fits")), (4 - x) % 4);
        prop_assert_eq!(value(&server.scale(&cx, 3).expect("fits")), 3 * x);
        prop_assert_eq!(value(&server.add_constant(&cx, 7).expect("fits")), x + 7);
        let product = server.apply_pair(&cx, &cy, |x, y| x * y).expect("fits");
        prop_assert_eq!(value(&product), x * y);
    }
}

#[test]
fn comparisons_are_right_on_all_messages_insecure() {
    let (_, server) = two_two();
    use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
    for (x, y) in (0..16).map(|i| (i / 4, i % 4)) {
        let comparison =
            [Less, LessOrEqual, Equal, NotEqual, GreaterOrEqual, Greater][(x + y) as usize % 6];
        let out = server
            .compare(comparison, &encrypt(x, x), &encrypt(y, 9))
            .expect("fits");
        assert_eq!(
            value(&out),
            u64::from(comparison.of(x, y)),
            "{comparison:?} of {x}, {y}"
        );
    }
}

#[test]
fn tables_are_right_in_both_kinds_of_key_switch_insecure() {
    for ring in [false, true] {
        let (client, server) = keys::<u64>(&integers_insecure(1, 1, ring), 3);
        for x in 0..2 {
            let c = client.encrypt(x, &mut rng(x)).expect("a message");
            let out = server
                .apply(&c, &Table::of(server.params(), |v| 3 - v).expect("a table"))
                .expect("of this key");
            assert_eq!(
                client.decrypt_with_carry(&out).expect("of this key"),
                3 - x,
                "ring {ring}"
            );
        }
    }
}

#[test]
fn threads_share_a_server_insecure() {
    let (_, server) = two_two();
    let inputs: Vec<_> = (0..12).map(|i| encrypt(i % 4, i)).collect();
    let table = Table::of(server.params(), |v| (v * v) % 16).expect("a table");
    let jobs: Vec<_> = inputs.iter().map(|x| (x, &table)).collect();
    let run = |threads| ring::in_pool(threads, || server.apply_all(&jobs).expect("of this key"));
    let (one, four) = (run(1), run(4));
    assert_eq!(one, four);
    for (i, out) in one.iter().enumerate() {
        assert_eq!(value(&out[0]), (i as u64 % 4).pow(2));
    }
}

#[test]
fn what_cannot_be_is_refused_insecure() {
    let (client, server) = two_two();
    let params = server.params();
    assert_eq!(
        client.encrypt(4, &mut rng(1)).expect_err("two bits"),
        Error::Message { found: 4, limit: 3 }
    );
    assert_eq!(
        server.constant(16).expect_err("four bits"),
        Error::Message {
            found: 16,
            limit: 15
        }
    );
    let table = |tables: &[Vec<u64>]| Table::<u64>::new(params, tables).expect_err("no table");
    assert_eq!(
        table(&[vec![0; 15]]),
        Error::TableLength {
            found: 15,
            expected: 16
        }
    );
    assert_eq!(
        table(&[vec![16; 16]]),
        Error::Message {
            found: 16,
            limit: 15
        }
    );
    assert_eq!(table(&[]), Error::Tables { found: 0, limit: 8 });
    assert_eq!(
        table(&vec![vec![0; 16]; 9]),
        Error::Tables { found: 9, limit: 8 }
    );
    let x = encrypt(3, 1);
    assert_eq!(
        server.scale(&x, 6).expect_err("18 > 15"),
        Error::Carry {
            found: 18,
            limit: 15
        }
    );
    let sum = server.add(&x, &x).expect("fits");
    assert_eq!(
        server.pair(&x, &sum).expect_err("no message"),
        Error::Carry { found: 6, limit: 3 }
    );
    let bit = server.compare(Comparison::Equal, &x, &x).expect("fits");
    assert_eq!(
        server.scale(&bit, 6).expect_err("noise"),
        Error::Noise { found: 6, limit: 5 }
    );
    assert!(server.scale(&x, u64::MAX).is_err());
    let other = integers_insecure(2, 2, false);
    let (stranger, _) = keys::<u64>(&other, 1);
    let found = server
        .add(&x, &stranger.encrypt(1, &mut rng(1)).expect("a message"))
        .expect_err("of other parameters");
    assert!(
        matches!(
            found,
            Error::Fingerprint {
                what: "an integer",
                ..
            }
        ),
        "{found}"
    );
    let of_other = Table::of(&other, |v| v).expect("a table");
    let found = server
        .apply(&x, &of_other)
        .expect_err("of other parameters");
    assert!(
        matches!(
            found,
            Error::Fingerprint {
                what: "a table",
                ..
            }
        ),
        "{found}"
    );
    let no_carry = Params::new_insecure(integers_insecure(2, 0, true).spec()).expect("in range");
    assert_eq!(no_carry.values(), 4);
}

/// The failure probability of a lookup, made large enough to be counted.
#[test]
fn wrong_entries_are_as_many_as_predicted_insecure() {
    let mut spec = integers_insecure(3, 2, false).spec().clone();
    spec.lwe_dimension = 96; // boxes of 8 coefficients, rounding of deviation 1.41: 2.83 deviations
    let params = Params::new_insecure(&spec).expect("in range");
    let predicted = params.noise().log2_failure(1.0, 0.25 / 32.0, 0).exp2();
    let rng = &mut rng(7);
    let (mut wrong, count) = (0u32, 40_000u32);
    let secret: Vec<u64> = (0..96).map(|_| rng.random_range(0..2)).collect();
    let mut exponents = vec![0; 97];
    for _ in 0..count {
        // The result of a key switch without its noise, which is small here.
        let mut words: Vec<u64> = (0..96).map(|_| rng.random()).collect();
        let x = rng.random_range(0..32u64);
        words.push(
            words
                .iter()
                .zip(&secret)
                .fold(x << 58, |b, (a, s)| b.wrapping_add(a.wrapping_mul(*s))),
        );
        palladion_tfhe::modulus_switch(&mut exponents, &words, 9, 0);
        let sum = exponents[..96]
            .iter()
            .zip(&secret)
            .fold(0, |sum, (a, s)| sum + a * *s as usize);
        let index = (exponents[96] + 97 * 512 - sum) % 512;
        wrong += u32::from((index + 4) / 8 % 64 != x as usize);
    }
    let expected = predicted * f64::from(count);
    println!("{wrong} of {count} wrong, predicted {expected:.0}");
    assert!(expected > 100.0, "{expected} is too few to count");
    // The sum of 96 bounded roundings has thinner tails than the normal distribution, by some
    // percent here.
    assert!(
        (f64::from(wrong) - expected).abs() < 6.0 * expected.sqrt() + 0.1 * expected,
        "{wrong}, predicted {expected}"
    );
}

#[test]
fn integers_of_two_keys_do_not_meet_insecure() {
    let (client, server) = two_two();
    let params = server.params();
    let (stranger, other) = keys::<u64>(params, 21);
    let x = client.encrypt(3, &mut rng(22)).expect("a message");
    let y = stranger.encrypt(1, &mut rng(23)).expect("a message");
    let table = Table::of(params, |v| v % 4).expect("a table");
    let refused = |error: Option<Error>| {
        let error = error.expect("of two keys");
        assert!(matches!(error, Error::KeyMismatch(_)), "{error}");
    };
    refused(server.add(&x, &y).err());
    refused(server.sub(&x, &y).err());
    refused(server.scale(&y, 2).err());
    refused(server.add_constant(&y, 2).err());
    refused(server.apply(&y, &table).err());
    refused(other.apply(&x, &table).err());
    refused(server.apply_pair(&x, &y, |x, y| x + y).err());
    refused(server.compare(Comparison::Less, &x, &y).err());
    refused(client.decrypt(&y).err());
    let sum = server.apply(&server.add(&x, &x).expect("fits"), &table);
    let sum = sum.expect("of one key");
    refused(stranger.decrypt(&sum).err());
    assert_eq!(client.decrypt(&sum), Ok(2));
    // A constant fits every key.
    let five = server.constant(5).expect("fits");
    let sum = server.add(&five, &x).expect("fits");
    assert_eq!(client.decrypt_with_carry(&sum), Ok(8));
    refused(stranger.decrypt(&sum).err());

    let number =
        |client: &ClientKey<u64>, v| client.encrypt_radix(v, 3, &mut rng(24)).expect("fits");
    let [a, b] = [number(client, 20), number(&stranger, 30)];
    refused(server.add_radix(&a, &b).err());
    refused(server.compare_radix(Comparison::Equal, &a, &b).err());
    refused(client.decrypt_radix(&b).err());
}
