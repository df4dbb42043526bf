//! Numbers of several digits.

use crate::common::{integers_insecure, keys, rng};
use palladion_tfhe::{ClientKey, Comparison, Error, Radix, ServerKey};
use rand::Rng;

fn each(run: impl Fn(&ClientKey<u64>, &ServerKey<u64, ring::torus::Naive>, u32)) {
    for message_bits in [1, 2] {
        let (client, server) = keys::<u64>(
            &integers_insecure(message_bits, message_bits, true),
            message_bits.into(),
        );
        run(&client, &server, message_bits);
    }
}

#[test]
fn adds_subtracts_and_compares_insecure() {
    each(|client, server, message_bits| {
        let rng = &mut rng(4);
        let blocks = 8 / message_bits as usize;
        for round in 0..6 {
            let (a, b) = match round {
                0 => (255, 1),
                1 => (77, 77),
                _ => (rng.random_range(0..256u64), rng.random_range(0..256u64)),
            };
            let x = client.encrypt_radix(a, blocks, rng).expect("fits");
            let y = client.encrypt_radix(b, blocks, rng).expect("fits");
            let number = |r: &_| client.decrypt_radix(r).expect("of this key");
            assert_eq!(
                number(&server.add_radix(&x, &y).expect("fits")),
                (a + b) % 256,
                "{a} + {b}"
            );
            assert_eq!(
                number(&server.sub_radix(&x, &y).expect("fits")),
                (256 + a - b) % 256,
                "{a} - {b}"
            );
            use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
            for comparison in [Less, LessOrEqual, Equal, NotEqual, GreaterOrEqual, Greater] {
                let out = server.compare_radix(comparison, &x, &y).expect("fits");
                assert_eq!(
                    client.decrypt(&out).expect("of this key"),
                    comparison.of(a, b).into(),
                    "{comparison:?} of {a}, {b}"
                );
            }
        }
    });
}

/// Batcher's network for 8 numbers: the output of six layers of comparators is sorted.
#[test]
fn sorts_eight_numbers_insecure() {
    const LAYERS: [&[(usize, usize)]; 6] = [
        &[(0, 1), (2, 3), (4, 5), (6, 7)],
        &[(0, 2), (1, 3), (4, 6), (5, 7)],
        &[(1, 2), (5, 6)],
        &[(0, 4), (1, 5), (2, 6), (3, 7)],
        &[(2, 4), (3, 5)],
        &[(1, 2), (3, 4), (5, 6)],
    ];
    each(|client, server, message_bits| {
        let rng = &mut rng(5);
        let mut plain = [9u64, 3, 15, 0, 7, 7, 12, 1];
        let blocks = 4 / message_bits as usize;
        let mut numbers: Vec<Radix<u64>> = plain
            .iter()
            .map(|&x| client.encrypt_radix(x, blocks, rng).expect("fits"))
            .collect();
        for (i, j) in LAYERS.into_iter().flatten() {
            let (smaller, larger) = server
                .min_max_radix(&numbers[*i], &numbers[*j])
                .expect("fits");
            (numbers[*i], numbers[*j]) = (smaller, larger);
        }
        plain.sort_unstable();
        let found: Vec<u64> = numbers
            .iter()
            .map(|x| client.decrypt_radix(x).expect("of this key"))
            .collect();
        assert_eq!(found, plain);
    });
}

#[test]
fn numbers_that_do_not_fit_are_refused_insecure() {
    let (client, server) = keys::<u64>(&integers_insecure(2, 2, true), 6);
    let rng = &mut rng(7);
    assert_eq!(
        client.encrypt_radix(64, 3, rng).expect_err("six bits"),
        Error::Message {
            found: 64,
            limit: 63
        }
    );
    assert_eq!(
        client.encrypt_radix(0, 0, rng).expect_err("no blocks"),
        Error::Blocks { left: 0, right: 0 }
    );
    let [x, y] = [3, 4].map(|blocks| client.encrypt_radix(1, blocks, rng).expect("fits"));
    assert_eq!(
        server.add_radix(&x, &y).expect_err("lengths"),
        Error::Blocks { left: 3, right: 4 }
    );
    let wide = client
        .encrypt_radix(u64::MAX, 33, rng)
        .expect("64 bits of 66");
    assert_eq!(client.decrypt_radix(&wide).expect("of this key"), u64::MAX);
    assert_eq!(
        client
            .decrypt_radix(&server.constant_radix(5, 2).expect("fits"))
            .expect("of this key"),
        5
    );
    // Without carry bits, no sum of two digits fits.
    let (client, server) = keys::<u64>(&integers_insecure(2, 0, true), 6);
    let x = client.encrypt_radix(1, 2, rng).expect("fits");
    assert!(matches!(
        server.add_radix(&x, &x),
        Err(Error::Carry { found: 7, limit: 3 })
    ));
}
