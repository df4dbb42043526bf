//! Words compared with the definition, and times with closed forms.

use super::*;
use ring::torus::{Multiplier, Naive};

fn versal() -> Machine {
    Machine::named("versal").expect("built in")
}

fn changed(from: &str, to: &str) -> Machine {
    let text = crate::family::built_in("versal").expect("built in");
    assert!(text.contains(from), "{from}");
    Machine::from_toml(&text.replacen(from, to, 1)).expect("in range")
}

#[test]
fn the_array_gives_the_words_of_the_definition() {
    for (n, elements, count) in [(512, 8, 3), (1024, 32, 2), (2048, 32, 1)] {
        let digits: Vec<i32> = (0..count * n)
            .map(|i| (i * i % 1023) as i32 - 511)
            .collect();
        let words: Vec<u32> = (0..count * n)
            .map(|i| (i as u32).wrapping_mul(0x9e37_79b9))
            .collect();
        let naive = Naive::new(n);
        let mut want = vec![0; count * n];
        for (i, want) in want.chunks_exact_mut(n).enumerate() {
            let range = i * n..(i + 1) * n;
            naive.dot_add(want, &digits[range.clone()], &words[range], &mut ());
        }
        let products = Products::new(&versal(), n, elements).expect("fits");
        assert!(products.emulate(&digits, &words) == Ok(want), "N = {n}");
    }
}

/// Cycles of the array between products: operands in, two loops over four accumulators for each
/// 64 results, and all results out of the last element.
fn closed_form(n: u64, block: u64) -> u64 {
    let loops = block / 32 * (8 + 12 * n + 8);
    n + loops + n
}

#[test]
fn products_follow_each_other_by_two_polynomials_and_the_loops() {
    // Operands are waiting when an element asks for them if a polynomial fits the stream.
    for (n, elements) in [(512, 8), (1024, 16), (1024, 32), (512, 16)] {
        let timing = Products::new(&versal(), n, elements)
            .expect("fits")
            .simulate()
            .expect("runs");
        let cycles = closed_form(n as u64, (n / elements) as u64);
        assert!(
            (timing.interval - cycles as f64 / 1250.0).abs() < 1e-9,
            "{n}/{elements}: {timing:?}"
        );
        assert!(
            timing.computing > 0.8 && timing.computing < 1.0,
            "{timing:?}"
        );
    }
}

#[test]
fn longer_polynomials_than_streams_wait_for_the_logic() {
    let interval = |machine: &Machine| {
        Products::new(machine, 2048, 32)
            .expect("fits")
            .simulate()
            .expect("runs")
            .interval
    };
    let bound = closed_form(2048, 64) as f64 / 1250.0;
    let found = interval(&versal());
    assert!(
        found > bound && found < bound + 1024.0 / 520.0,
        "{found} {bound}"
    );
    let long = interval(&changed("fifo_words = 1024", "fifo_words = 2048"));
    assert!((long - bound).abs() < 1e-9, "{long} {bound}");
}

#[test]
fn the_published_times_come_out_within_a_tenth() {
    for (n, elements, microseconds) in [
        (512, 8, 11.56),
        (1024, 16, 21.33),
        (1024, 32, 11.68),
        (1024, 32, 8.0 * 1.46), // eight arrays of 32: "256 PEs"
        (2048, 32, 43.17),
    ] {
        let products = Products::new(&versal(), n, elements).expect("fits");
        let ratio = products.simulate().expect("runs").interval / microseconds;
        assert!((0.9..1.1).contains(&ratio), "{n}/{elements}: {ratio}");
    }
}

#[test]
fn a_product_alone_passes_every_stage() {
    let (n, elements, machine) = (1024u64, 16u64, versal());
    let timing = Products::new(&machine, 1024, 16)
        .expect("fits")
        .simulate()
        .expect("runs");
    let (array, logic, hop) = (8 * 52, 8 * 125, machine.hop());
    // The last word of the operands reaches the last element after the channel and 15 steps of
    // forwarding.
    let there = n * logic + hop + (elements - 1) * (array + hop) + array;
    let computed = there + (closed_form(n, 64) - 2 * n) * array;
    // The predecessors of the last element have meanwhile sent all but their last results. The last
    // element sends N words, faster than the channel takes them.
    let out = computed + array + hop + n * logic;
    assert!(
        (timing.latency - machine.microseconds(out)).abs() < 0.1,
        "{timing:?}"
    );
}

#[test]
fn a_pipeline_of_transforms_gives_the_words_of_the_definition() {
    for (n, digit, count) in [(64, 16, 3), (1024, 512, 2)] {
        let digits: Vec<i32> = (0..count * n)
            .map(|i| (i * i % (2 * digit)) as i32 - digit as i32)
            .collect();
        let words: Vec<u32> = (0..count * n)
            .map(|i| (i as u32).wrapping_mul(0x9e37_79b9))
            .collect();
        let naive = Naive::new(n);
        let mut want = vec![0; count * n];
        for (i, want) in want.chunks_exact_mut(n).enumerate() {
            let range = i * n..(i + 1) * n;
            naive.dot_add(want, &digits[range.clone()], &words[range], &mut ());
        }
        let digit = digit as u32;
        let products = Products::fft(&versal(), n, digit, true).expect("fits");
        assert!(products.emulate(&digits, &words) == Ok(want), "N = {n}");
        let printed = Products::fft(&versal(), n, digit, false).expect("fits");
        let error = printed.emulate(&digits, &words).expect_err("wrong words");
        assert!(error.to_string().contains("3 passes"), "{error}");
    }
}

#[test]
fn a_pipeline_takes_its_stages_one_after_the_other() {
    // A product of three passes passes 23 of 34 tiles: a twist, ten stages, the product, ten
    // stages, and the last tile. Each receives all values of a pass before it computes.
    let machine = versal();
    let products = Products::fft(&machine, 2048, 512, false).expect("fits");
    assert_eq!((products.elements(), products.passes()), (34, 3));
    let timing = products.simulate().expect("runs");
    let (array, hop) = (1.0 / 1250.0, 12.0 / 1250.0);
    let half = 1024.0;
    // 16 butterflies at a time. By hand: the last of four vectors is loaded in cycle 5, and its
    // difference waits for products of the others until cycle 14. Its two products follow in
    // cycles 20 and 26, and its store in cycle 32.
    let (stage, stages) = (half / 2.0 / 16.0 * 33.0, 10.0);
    let channel = 2048.0 / 520.0;
    let rest = 2.0 * stages * (half + stage) * array;
    assert!(timing.latency > channel + rest + 23.0 * hop, "{timing:?}");
    // Every tile receives, computes and sends three times for a product.
    let slowest = 3.0 * (half + stage + half) * array;
    assert!(timing.interval >= slowest - 1e-9, "{timing:?} {slowest}");
    // The last tile computes longest. It receives all values of each pass, and sends N words: half
    // of them when the channel has taken the other half out of the stream.
    let last = timing.computing * timing.interval + 3.0 * half * array + 1024.0 / 520.0;
    assert!((timing.interval - last).abs() < 0.1, "{timing:?} {last}");
    // Two operands of complex numbers come to the tile of products over two streams in each pass.
    // The paper's throughput, 3.97 us for a product, is below that: it is the rate of a channel.
    let operands = 3.0 * 4.0 * half / 2.0 * array;
    assert!(timing.interval > operands && operands > 3.97 && (channel - 3.97).abs() < 0.04);
}

#[test]
fn a_chain_of_one_element_is_a_multiplier() {
    let products = Products::new(&versal(), 512, 1).expect("fits");
    let mut x = vec![0; 512];
    x[1] = 1;
    let ramp: Vec<u32> = (0..512).collect();
    let turned = products.emulate(&x, &ramp).expect("whole polynomials");
    assert_eq!(
        (turned[0], turned[1], turned[511]),
        (511u32.wrapping_neg(), 0, 510)
    );
}

#[test]
fn what_does_not_fit_is_refused() {
    let error = Products::new(&versal(), 4096, 32)
        .expect_err("48 KB")
        .to_string();
    assert!(
        error.contains("memory") && error.contains("32768"),
        "{error}"
    );
    assert!(Products::new(&versal(), 4096, 512).is_err());
    assert!(Products::new(&versal(), 1024, 24).is_err());
    assert!(Products::new(&versal(), 1024, 0).is_err());
    assert!(Products::new(&versal(), 1 << 60, 1 << 20).is_err());
    let products = Products::new(&versal(), 512, 8).expect("fits");
    assert!(products.emulate(&[0; 512], &[0; 100]).is_err());
    assert!(products.emulate(&[0; 100], &[0; 512]).is_err());
}
