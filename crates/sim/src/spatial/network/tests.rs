//! Closed forms for small networks.

use super::*;

/// Writes or reads `count` words in each turn, one every `ticks` ticks, after `rest` ticks without
/// a stream.
struct Mover {
    turns: usize,
    count: usize,
    ticks: u64,
    rest: u64,
    ports: (Ports, Ports),
    got: Vec<u32>,
}

impl Kernel for Mover {
    fn turns(&self) -> usize {
        self.turns
    }
    fn turn(&self, _turn: usize) -> Vec<Phase> {
        let moved = Phase::Move {
            words: self.count,
            from: self.ports.0,
            to: self.ports.1,
            ticks: self.ticks,
        };
        vec![Phase::Compute { ticks: self.rest }, moved]
    }
    fn step(&mut self, _phase: usize, i: usize, words: [u32; 2]) -> [u32; 2] {
        self.got.push(words[0]);
        [i as u32 + 1, words[0]]
    }
    fn take(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.got)
    }
}

fn mover(count: usize, ticks: u64, rest: u64, ports: (Ports, Ports)) -> Box<Mover> {
    Box::new(Mover {
        turns: 1,
        count,
        ticks,
        rest,
        ports,
        got: Vec::new(),
    })
}

/// Finish times of a source that sends 10 words, one every 5 ticks, and of a sink that reads one
/// word every `ticks` ticks, starting at `rest`.
fn pair(ticks: u64, rest: u64, (room, latency): (usize, u64)) -> [u64; 2] {
    let mut network = Network::new(true);
    let source = network.add("source", "a".into(), mover(10, 5, 0, (NONE, FIRST)));
    let sink = network.add("sink", "b".into(), mover(10, ticks, rest, (FIRST, NONE)));
    network.connect(port(source, 0), &[port(sink, 0)], (room, latency));
    let usage = network.run().expect("no deadlock");
    assert_eq!(network.take(sink), (1..=10).collect::<Vec<u32>>());
    assert_eq!((network.moved(), usage[1].busy), (10, 10 * ticks + rest));
    [usage[0].ends[0], usage[1].ends[0]]
}

#[test]
fn a_word_is_read_when_it_has_arrived_and_not_a_tick_before() {
    for latency in [0, 1, 7] {
        // The sink is faster. It waits for each word, and the last is written in tick 50.
        assert_eq!(pair(2, 0, (16, latency)), [50, 50 + latency + 2]);
    }
    // A sink that starts at the last moment for the first word loses nothing. One that starts a
    // tick later does.
    assert_eq!(pair(5, 12, (16, 7))[1], 12 + 50);
    assert_eq!(pair(5, 13, (16, 7))[1], 13 + 50);
    assert_eq!(pair(5, 11, (16, 7))[1], 12 + 50);
}

#[test]
fn a_word_is_written_when_there_is_room_and_not_a_tick_before() {
    // The sink reads nothing before tick 100. With room for all words the source does not notice.
    assert_eq!(pair(5, 100, (10, 0)), [50, 150]);
    // With room for 4, word 4 is written in the step that starts when word 0 is read.
    assert_eq!(pair(5, 100, (4, 0)), [100 + 6 * 5, 150]);
    // The last tick at which the source needs room so as not to wait: the start of its step 4.
    assert_eq!(pair(5, 20, (4, 0))[0], 50);
    assert_eq!(pair(5, 21, (4, 0))[0], 51);
}

#[test]
fn the_slower_end_sets_the_rate() {
    for (ticks, end) in [(1, 50 + 1), (5, 50 + 5), (9, 5 + 90)] {
        assert_eq!(pair(ticks, 0, (4, 0))[1], end);
    }
}

#[test]
fn every_reader_of_a_stream_gets_every_word_and_the_slowest_makes_room() {
    let mut network = Network::new(true);
    let source = network.add("source", "a".into(), mover(10, 1, 0, (NONE, FIRST)));
    let slow = network.add("sink", "b".into(), mover(10, 10, 0, (FIRST, NONE)));
    let fast = network.add("sink", "c".into(), mover(10, 1, 0, (FIRST, NONE)));
    network.connect(port(source, 0), &[port(slow, 0), port(fast, 0)], (2, 0));
    let usage = network.run().expect("no deadlock");
    assert_eq!(network.take(slow), network.take(fast));
    // The slow sink reads word i in tick 1 + 10 i. Word 9 is written when it reads word 7.
    assert_eq!(
        [usage[0].ends[0], usage[1].ends[0], usage[2].ends[0]],
        [72, 101, 73]
    );
}

#[test]
fn streams_that_are_too_short_are_a_deadlock_with_a_name() {
    // Sends two words to the first port before any to the second. The reader takes from both at
    // once.
    struct Uneven;
    impl Kernel for Uneven {
        fn turns(&self) -> usize {
            1
        }
        fn turn(&self, _turn: usize) -> Vec<Phase> {
            let to = |to| Phase::Move {
                words: 2,
                from: NONE,
                to,
                ticks: 1,
            };
            vec![to(FIRST), to(SECOND)]
        }
        fn step(&mut self, _phase: usize, _i: usize, _words: [u32; 2]) -> [u32; 2] {
            [0; 2]
        }
    }
    let run = |room| {
        let mut network = Network::new(false);
        let source = network.add("source", "uneven".into(), Box::new(Uneven));
        let sink = network.add("sink", "even".into(), mover(2, 1, 0, (BOTH, NONE)));
        network.connect(port(source, 0), &[port(sink, 0)], (room, 0));
        network.connect(port(source, 1), &[port(sink, 1)], (room, 0));
        network.run()
    };
    assert!(run(2).is_ok());
    let error = run(1).expect_err("no room").to_string();
    assert!(
        error.contains("uneven") && error.contains("turn 0"),
        "{error}"
    );
}
