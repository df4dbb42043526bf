use std::time::Instant;

use mpc::{Duplex, Party, Role, memory_pair, preprocess};

use super::*;
use crate::cipher::RingSpec;

/// The products of one kind, for `count` products of one input, with the ring of the planner.
fn products(kind: ProductKind, bits: u32, count: usize) -> Products {
    let rings = RingSpec::candidates().unwrap();
    let plan = ProductPlan::choose((kind, bits), count, -42.0, &rings).unwrap();
    let ring = &rings[plan.ring];
    let basis = Basis::new(ring.n, &ring.moduli).unwrap();
    Products::new(&plan, &basis).unwrap()
}

/// Computes products under BFV. Returns the results of `run` at server and client. Compares the
/// bytes with the prediction.
fn both<T: Send>(
    products: &Products,
    count: usize,
    run: impl Fn(&mut Party<Duplex>) -> T + Sync,
) -> [T; 2] {
    let mut rng = SecretRng::from_os();
    let secret = SecretKey::generate(&products.basis, &mut rng);
    let key = PublicKey::generate(&secret, &mut rng);
    let key = PublicKey::read(&products.basis, &key).unwrap();
    let (mut left, mut right) = memory_pair();
    let (rounds, [to_server, to_client]) = products.cost(count);
    std::thread::scope(|scope| {
        let run = &run;
        let server = scope.spawn(move || {
            let mut material = Material::default();
            products
                .server(&mut left, &key, count, &mut material)
                .unwrap();
            run(&mut Party::new(Role::Server, left, material))
        });
        let mut material = Material::default();
        products
            .client(&mut right, &secret, count, &mut material)
            .unwrap();
        let traffic = right.traffic();
        let bytes = (traffic.sent, traffic.received, traffic.rounds);
        assert_eq!(bytes, (to_server, to_client, rounds));
        let ours = run(&mut Party::new(Role::Client, right, material));
        [server.join().unwrap(), ours]
    })
}

/// Every residue of small moduli, numbers near the ends of large moduli, and more than a batch.
#[test]
fn products_under_bfv_are_exact() {
    for (bits, count) in [(2, 16), (5, 1024), (37, 100), (50, 9_000), (62, 300)] {
        let x: Vec<u64> = (0..count as u64)
            .map(|i| match i % 3 {
                0 => i,
                1 => i.wrapping_neg(),
                _ => i.wrapping_mul(0x9e37_79b9_7f4a_7c15),
            })
            .collect();
        let y: Vec<u64> = x.iter().map(|x| x.wrapping_mul(77) >> 3).collect();
        let share = |role: Role, x: &[u64]| -> Vec<u64> {
            let of = |(i, x): (usize, &u64)| {
                let mask = (i as u64 + 7).wrapping_mul(0x0123_4567_89ab_cdef);
                match role {
                    Role::Server => mask,
                    Role::Client => x.wrapping_sub(mask),
                }
            };
            x.iter().enumerate().map(of).collect()
        };
        let squares = products(ProductKind::Squares, bits, count);
        let [_, found] = both(&squares, count, |party| {
            let shares = share(party.role(), &x);
            let squares = party.square(bits, &shares).unwrap();
            // All material is used up, and none is used twice.
            party.square(bits, &shares[..1]).unwrap_err();
            party.reveal(bits, &squares).unwrap()
        });
        let want: Vec<u64> = x.iter().map(|x| x.wrapping_mul(*x) & mask(bits)).collect();
        assert_eq!(found, want, "{bits} bits");
        let triples = products(ProductKind::Triples, bits, count);
        let [_, found] = both(&triples, count, |party| {
            let [x, y] = [&x, &y].map(|x| share(party.role(), x));
            let products = party.multiply(bits, &x, &y).unwrap();
            party.reveal(bits, &products).unwrap()
        });
        let pairs = x.iter().zip(&y);
        let want: Vec<u64> = pairs
            .map(|(x, y)| x.wrapping_mul(*y) & mask(bits))
            .collect();
        assert_eq!(found, want, "{bits} bits");
    }
}

/// The server's masks lie in the interval that hides products, at the largest and smallest sizes.
#[test]
fn masks_lie_in_their_interval() {
    for bits in [2, 32, 33, 62] {
        let squares = products(ProductKind::Squares, bits, 1_000);
        let (mask_bits, least) = (squares.plan.mask_bits, squares.plan.product_bits());
        let wide = |words: &[u64; 3]| {
            let words = words.iter().rev();
            words.fold(0.0, |sum, &word| sum * 64f64.exp2() + word as f64)
        };
        let masks = squares.draw_hiding(20_000);
        let range = f64::from(mask_bits).exp2() + f64::from(least).exp2();
        let mean = masks.iter().map(|words| wide(words) / range).sum::<f64>() / 20_000.0;
        // A mean of uniform numbers deviates by 1 / sqrt(12 n): six deviations.
        assert!((mean - 0.5).abs() < 0.0125, "{mean} for {bits} bits");
        let ends = masks.iter().map(wide);
        assert!(ends.clone().fold(f64::MAX, f64::min) >= f64::from(least).exp2());
        assert!(ends.fold(0.0, f64::max) < range);
    }
}

/// Bytes and seconds of squares under BFV and by oblivious transfers. Figures, no test:
/// `cargo test --release -p palladion-hybrid --lib squares_both_ways -- --ignored --nocapture`.
#[test]
#[ignore = "prints figures"]
fn squares_both_ways() {
    println!("squares  bits  BFV: n, primes     kB  B each      s   transfers: kB  B each      s");
    for (count, bits) in [
        (320, 50),
        (8_192, 50),
        (32_768, 50),
        (131_072, 50),
        (32_768, 36),
    ] {
        let squares = products(ProductKind::Squares, bits, count);
        let (_, bytes) = squares.cost(count);
        let started = Instant::now();
        both(&squares, count, |_| ());
        let seconds = started.elapsed().as_secs_f64();
        let needs = Needs::make_squares(bits, count);
        let (mut left, mut right) = memory_pair();
        let started = Instant::now();
        std::thread::scope(|scope| {
            let needs = &needs;
            scope
                .spawn(move || preprocess(Role::Server, &mut left, needs, &mut |_, _| {}).unwrap());
            preprocess(Role::Client, &mut right, needs, &mut |_, _| {}).unwrap();
        });
        let by_transfers = started.elapsed().as_secs_f64();
        let (bytes, transfers) = (
            bytes.iter().sum::<u64>() as f64,
            needs.cost().bytes() as f64,
        );
        let each = count as f64;
        println!(
            "{count:7}  {bits:4}  {:6} {:3} {:11.0} {:7.1} {seconds:6.2} {:16.0} {:7.1} {by_transfers:6.2}",
            squares.basis.n(),
            squares.primes.len(),
            bytes / 1e3,
            bytes / each,
            transfers / 1e3,
            transfers / each,
        );
    }
}

/// The numbers that mask later products: they hide every factor.
#[test]
fn numbers_are_fresh() {
    for (kind, bits) in [(ProductKind::Squares, 36), (ProductKind::Triples, 24)] {
        let products = products(kind, bits, 1000);
        let drawn: Vec<u64> = [(); 2]
            .into_iter()
            .flat_map(|()| products.draw(1000))
            .flat_map(|numbers| numbers.to_vec())
            .collect();
        assert!(drawn.iter().all(|number| *number <= mask(bits)));
        let different: std::collections::BTreeSet<u64> = drawn.iter().copied().collect();
        assert!(
            different.len() > drawn.len() * 99 / 100,
            "{}",
            different.len()
        );
        // Each bit is one half of the time: six deviations.
        for bit in 0..bits {
            let ones = drawn
                .iter()
                .filter(|number| **number >> bit & 1 == 1)
                .count() as f64;
            let count = drawn.len() as f64;
            assert!(
                (ones - count / 2.0).abs() < 3.0 * count.sqrt(),
                "bit {bit}: {ones}"
            );
        }
    }
}
