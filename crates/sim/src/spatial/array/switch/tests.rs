//! Words compared with the definition, and times with closed forms.

use super::super::processor::key_switch;
use super::*;

fn machine(changes: &[(&str, &str)]) -> Machine {
    let mut text = crate::family::built_in("versal")
        .expect("built in")
        .to_owned();
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replacen(from, to, 1);
    }
    Machine::from_toml(&text).expect("in range")
}

fn sizes(from: usize, to: usize, (base_log, levels): (u32, u32)) -> Sizes {
    let digits = Decomposition::new(base_log, levels).expect("in range");
    Sizes { from, to, digits }
}

fn words(count: usize, seed: u32) -> Vec<u32> {
    (0..count as u32)
        .map(|i| (i ^ seed).wrapping_mul(0x9e37_79b9).rotate_left(i % 31))
        .collect()
}

/// Set II's key switch, and set I's.
fn published() -> [Sizes; 2] {
    [sizes(1024, 500, (1, 15)), sizes(1024, 586, (2, 8))]
}

#[test]
fn every_width_gives_the_words_of_the_definition() {
    for sizes in [
        sizes(19, 10, (2, 8)),
        sizes(16, 7, (1, 15)),
        sizes(5, 33, (10, 3)),
    ] {
        let sample = words(sizes.from + 1, 7);
        let key = words(sizes.key_words(), 99);
        let want = key_switch(&sizes, &sample, &key);
        for width in 1..=sizes.from.min(8) {
            let switch = Switch {
                machine: machine(&[]),
                sizes,
                width,
                shared: width / 2,
            };
            let (words, _) = switch.emulate(&sample, &key).expect("runs");
            assert_eq!(words, want, "{sizes:?}, {width} channels");
        }
    }
}

#[test]
fn halves_of_rests_are_taken_of_their_sum() {
    // Two rests of 1: half of the sum is 1, and the sum of halves is 0.
    let sizes = sizes(2, 1, (15, 2));
    let key = vec![0; sizes.key_words()];
    let want = vec![0, 100 - 1];
    assert_eq!(key_switch(&sizes, &[1, 1, 100], &key), want);
    let switch = Switch {
        machine: machine(&[]),
        sizes,
        width: 2,
        shared: 2,
    };
    assert_eq!(switch.emulate(&[1, 1, 100], &key).expect("runs").0, want);
}

#[test]
fn the_channels_set_the_time_and_all_are_used() {
    for sizes in published() {
        let switch = Switch::new(&machine(&[]), sizes, (217, 8)).expect("fits");
        assert_eq!((switch.width(), switch.shared()), (8, 8));
        let found = switch.simulate().expect("runs");
        let bound = (sizes.key_words() + sizes.from) as f64 / (8.0 * 520.0);
        assert!(found > bound && found < 1.02 * bound, "{found} {bound}");
    }
}

#[test]
fn counted_words_of_the_mask_take_as_long_as_simulated_ones() {
    for width in [1, 3, 8] {
        let switch = Switch {
            machine: machine(&[]),
            sizes: sizes(24 * width, 90, (1, 15)),
            width,
            shared: width,
        };
        let counted = switch.simulate().expect("runs");
        let (mut network, sink) = switch.network(&switch.shares(), None);
        let all = network.run().expect("runs")[sink].ends[0];
        let all = switch.machine.microseconds(all);
        assert!((counted / all - 1.0).abs() < 1e-3, "{counted} {all}");
    }
}

#[test]
fn more_channels_tiles_and_bandwidth_are_never_slower() {
    let sizes = published()[0];
    let time = |from: &str, to: &str| {
        let machine = machine(&[(from, to)]);
        let switch = Switch::new(&machine, sizes, (217, 8)).expect("fits");
        switch.cost().expect("runs")
    };
    for (from, values) in [
        (
            "channels = 9",
            &[
                "channels = 2",
                "channels = 3",
                "channels = 9",
                "channels = 16",
                "channels = 33",
            ][..],
        ),
        (
            "tiles = 400",
            &["tiles = 220", "tiles = 224", "tiles = 230", "tiles = 400"][..],
        ),
        ("= 25600", &["= 1000", "= 6400", "= 25600", "= 100000"][..]),
    ] {
        let times: Vec<f64> = values.iter().map(|to| time(from, to)).collect();
        assert!(times.is_sorted_by(|a, b| a >= b), "{from}: {times:?}");
        assert!(times[0] > times[times.len() - 1], "{from}: {times:?}");
    }
}

#[test]
fn a_key_switch_without_room_is_refused() {
    let sizes = published()[0];
    let full = Switch::new(&machine(&[("tiles = 400", "tiles = 219")]), sizes, (217, 8));
    let error = full.expect_err("three tiles").to_string();
    assert!(
        error.contains("220 tiles") && error.contains("219"),
        "{error}"
    );
    let small = machine(&[("data_memory_bytes = 32768", "data_memory_bytes = 2000")]);
    let error = Switch::new(&small, sizes, (217, 8))
        .expect_err("a sum")
        .to_string();
    assert!(
        error.contains("memory") && error.contains("2000"),
        "{error}"
    );
}
