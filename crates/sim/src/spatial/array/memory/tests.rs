//! Closed forms for channels that wait for the memory.

use super::*;
use crate::spatial::array::ends::Sink;

fn changed(changes: &[(&str, &str)]) -> Machine {
    let mut text = crate::family::built_in("versal")
        .expect("built in")
        .to_owned();
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replacen(from, to, 1);
    }
    Machine::from_toml(&text).expect("in range")
}

/// Ends of channels that bring these loads, each to a sink of its own, with the words that came.
fn run(machine: &Machine, supply: Supply, loads: &[Load]) -> Vec<(u64, Vec<u32>)> {
    let mut network = Network::new(true);
    let mut channels = Channels::new(machine, supply);
    let sinks: Vec<usize> = loads
        .iter()
        .enumerate()
        .map(|(i, &load)| {
            let words = (0..load.turns * load.words).map(|word| (word << 8 | i) as u32);
            let from = channels.add(&mut network, format!("in{i}"), load, words.collect());
            let sink = Sink::new(machine, (load.turns, load.words));
            let sink = network.add("channel", format!("out{i}"), Box::new(sink));
            network.connect(from, &[port(sink, 0)], (1024, 0));
            sink
        })
        .collect();
    channels.finish(&mut network);
    let usage = network.run().expect("no deadlock");
    let ends = sinks
        .iter()
        .map(|&sink| *usage[sink].ends.last().expect("a turn"));
    ends.zip(sinks.iter().map(|&sink| network.take(sink)))
        .collect()
}

fn load(turns: usize, words: usize, ahead: bool) -> Load {
    Load {
        turns,
        words,
        ahead,
    }
}

#[test]
fn every_channel_gets_its_own_words_in_order() {
    let machine = changed(&[]);
    let loads = [
        load(3, 40, false),
        load(1, 100, true),
        load(3, 1, true),
        load(2, 7, false),
    ];
    for supply in [Supply::Ready, Supply::Memory] {
        for (i, (_, words)) in run(&machine, supply, &loads).into_iter().enumerate() {
            let count = loads[i].turns * loads[i].words;
            let want: Vec<u32> = (0..count).map(|word| (word << 8 | i) as u32).collect();
            assert_eq!(words, want, "{supply:?}, channel {i}");
        }
    }
}

#[test]
fn a_fast_memory_costs_its_first_burst_and_its_latency() {
    let machine = changed(&[]);
    let loads = [load(1, 1024, false)];
    let ready = run(&machine, Supply::Ready, &loads)[0].0;
    let found = run(&machine, Supply::Memory, &loads)[0].0;
    assert_eq!(found, ready + machine.burst() + machine.memory_latency());
}

#[test]
fn a_slow_memory_sets_the_rate_of_all_channels_together() {
    // 400 MB/s, 70 % of it: 280 bytes in a microsecond, 4 of which are a word.
    let machine = changed(&[("= 25600", "= 400")]);
    for count in [1, 2, 6] {
        let loads = vec![load(1, 1600, false); count];
        let last = run(&machine, Supply::Memory, &loads);
        let last = last.iter().map(|(end, _)| *end).max().expect("a channel");
        let words = (1600 * count) as f64;
        let bound = words * 4.0 / 280.0;
        let found = machine.microseconds(last);
        // The last burst arrives after the latency, and is sent to the array.
        assert!(
            found > bound && found < bound + 0.25 + 16.0 / 520.0 + 0.01,
            "{found} {bound}"
        );
    }
}

#[test]
fn a_buffer_shorter_than_the_latency_sets_the_rate() {
    // 16 words are on their way at a time, so the next 16 leave when these have arrived.
    let machine = changed(&[("buffer_words = 256", "buffer_words = 16")]);
    let found = run(&machine, Supply::Memory, &[load(1, 1600, false)])[0].0;
    let latency = machine.memory_latency();
    assert!(found > 100 * latency, "{found} {latency}");
    let ends = machine.burst() + 32 * machine.logic_cycle();
    assert!(found < 100 * latency + ends, "{found} {latency}");
}

#[test]
fn better_memories_are_never_slower() {
    let loads = [
        load(4, 2048, false),
        load(4, 2048, false),
        load(1, 512, true),
        load(4, 1, true),
    ];
    let time = |changes: &[(&str, &str)]| {
        let ends = run(&changed(changes), Supply::Memory, &loads);
        ends.iter().map(|(end, _)| *end).max().expect("a channel")
    };
    let series = |from: &str, values: &[&str]| {
        let times: Vec<u64> = values.iter().map(|to| time(&[(from, to)])).collect();
        assert!(times.is_sorted_by(|a, b| a >= b), "{from}: {times:?}");
        assert!(times[0] > times[values.len() - 1], "{from}: {times:?}");
    };
    series(
        "peak_megabytes_per_second = 25600",
        &[
            "peak_megabytes_per_second = 100",
            "peak_megabytes_per_second = 999",
            "peak_megabytes_per_second = 5000",
            "peak_megabytes_per_second = 25600",
            "peak_megabytes_per_second = 100000",
        ],
    );
    series(
        "efficiency_percent = 70",
        &[
            "efficiency_percent = 1",
            "efficiency_percent = 70",
            "efficiency_percent = 100",
        ],
    );
    series(
        "buffer_words = 256",
        &[
            "buffer_words = 1",
            "buffer_words = 17",
            "buffer_words = 256",
            "buffer_words = 4096",
        ],
    );
    series(
        "latency_ns = 250",
        &["latency_ns = 4000", "latency_ns = 250", "latency_ns = 0"],
    );
}
