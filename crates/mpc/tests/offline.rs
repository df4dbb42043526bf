//! Whole runs with real oblivious transfers.

use std::thread;

use palladion_mpc::{
    Channel, Cost, Duplex, Needs, Party, Protocol, Requantisation, Role, memory_pair, preprocess,
};

/// Runs both parties. Returns their results and the cost of the traffic on the channel.
fn both<T: Send>(run: impl Fn(Role, &mut Duplex) -> T + Sync) -> ([T; 2], Cost) {
    let (mut server, mut client) = memory_pair();
    let results = thread::scope(|scope| {
        let of_server = scope.spawn(|| run(Role::Server, &mut server));
        let of_client = run(Role::Client, &mut client);
        [of_server.join().expect("the server ends"), of_client]
    });
    let (server, client) = (server.traffic(), client.traffic());
    assert_eq!(
        (server.sent, server.rounds),
        (client.received, client.rounds)
    );
    assert_eq!(server.received, client.sent);
    let cost = Cost {
        rounds: server.rounds,
        bytes_to_server: server.received,
        bytes_to_client: server.sent,
    };
    (results, cost)
}

const ACTIVATION: Requantisation = Requantisation {
    bits: 24,
    minimum: -(1 << 22),
    maximum: (1 << 22) - 1,
    offset: 1 << 9,
    shift: 10,
    low: -3,
    high: 120,
    out_bits: 20,
};

/// Few values take IKNP alone, many take both kinds of transfers.
#[test]
fn made_material_gives_exact_results_at_the_predicted_cost() {
    let protocol = Protocol::requantise(&ACTIVATION).expect("in range");
    for count in [0, 1, 65, 300] {
        let x: Vec<i64> = (0..count)
            .map(|i| (i * 7_654_321 % (1 << 23)) - (1 << 22))
            .collect();
        let needs = protocol.needs(x.len());
        let (results, cost) = both(|role, channel| {
            let material = preprocess(role, channel, &needs, &mut |_, _| {}).expect("both agree");
            let share = |(i, &x): (usize, &i64)| {
                let mask = (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                match role {
                    Role::Server => mask,
                    Role::Client => (x as u64).wrapping_sub(mask),
                }
            };
            let shares: Vec<u64> = x.iter().enumerate().map(share).collect();
            let mut party = Party::new(role, channel, material);
            let y = party.run(&protocol, &shares).expect("enough material");
            // Everything was used up.
            party.run(&protocol, &[1]).expect_err("nothing is left");
            party.reveal(20, &y).expect("connected")
        });
        let want: Vec<u64> = x
            .iter()
            .map(|x| ((x + 512) >> 10).clamp(-3, 120) as u64 & 0xf_ffff)
            .collect();
        assert_eq!(results[1], want);
        let revealed = Party::<Duplex>::reveal_cost(20, x.len());
        assert_eq!(
            cost,
            needs.cost() + protocol.cost(x.len()) + revealed,
            "{count} values"
        );
    }
}

/// Squares of numbers of all sizes, from few transfers and from many.
#[test]
fn made_squares_are_exact_at_the_predicted_cost() {
    for (bits, count) in [(2, 1), (13, 65), (50, 200), (64, 130), (50, 0)] {
        let x: Vec<u64> = (0..count)
            .map(|i| (i as u64).wrapping_mul(0x0123_4567_89ab_cdef))
            .collect();
        let needs = Needs::make_squares(bits, count);
        let (results, cost) = both(|role, channel| {
            let material = preprocess(role, channel, &needs, &mut |_, _| {}).expect("both agree");
            let share = |(i, &x): (usize, &u64)| {
                let mask = (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                match role {
                    Role::Server => mask,
                    Role::Client => x.wrapping_sub(mask),
                }
            };
            let shares: Vec<u64> = x.iter().enumerate().map(share).collect();
            let mut party = Party::new(role, channel, material);
            let squares = party.square(bits, &shares).expect("enough material");
            party.square(bits, &[1]).expect_err("nothing is left");
            party.reveal(bits, &squares).expect("connected")
        });
        let modulus = u64::MAX >> (64 - bits);
        let want: Vec<u64> = x.iter().map(|x| x.wrapping_mul(*x) & modulus).collect();
        assert_eq!(results[1], want, "{bits} bits");
        let online =
            Party::<Duplex>::square_cost(bits, count) + Party::<Duplex>::reveal_cost(bits, count);
        assert_eq!(cost, needs.cost() + online, "{bits} bits");
    }
}

#[test]
fn different_needs_are_an_error_before_any_transfer() {
    let protocol = Protocol::requantise(&ACTIVATION).expect("in range");
    let (results, cost) = both(|role, channel| {
        let count = if role == Role::Server { 64 } else { 128 };
        preprocess(role, channel, &protocol.needs(count), &mut |_, _| {}).map(|_| ())
    });
    for result in results {
        let text = result.expect_err("different needs").to_string();
        assert!(text.contains("needs that differ"), "{text}");
    }
    assert_eq!(cost.bytes(), 20);
}

#[test]
fn no_needs_take_no_transfers() {
    let (results, cost) = both(|role, channel| {
        preprocess(role, channel, &Needs::default(), &mut |_, _| {}).map(|_| ())
    });
    assert!(results.iter().all(Result::is_ok));
    assert_eq!(cost, Needs::default().cost());
}

/// Lengths of all messages, in order, as each party sends them.
fn transcript(x: u64) -> [Vec<usize>; 2] {
    let protocol = Protocol::requantise(&ACTIVATION).expect("in range");
    let largest = Protocol::argmax(5, 20, -9..=300).expect("in range");
    let needs = protocol.needs(70) + largest.needs(14);
    let (mut server, mut client) = memory_pair();
    let run = |role: Role, channel: &mut Duplex| {
        let material = preprocess(role, channel, &needs, &mut |_, _| {}).expect("both agree");
        let mut recorder = Recorder {
            channel,
            lengths: Vec::new(),
        };
        let mut party = Party::new(role, &mut recorder, material);
        let y = party.run(&protocol, &[x; 70]).expect("enough material");
        party.run(&largest, &y).expect("enough material");
        recorder.lengths
    };
    thread::scope(|scope| {
        let of_server = scope.spawn(|| run(Role::Server, &mut server));
        let of_client = run(Role::Client, &mut client);
        [of_server.join().expect("the server ends"), of_client]
    })
}

struct Recorder<'a> {
    channel: &'a mut Duplex,
    lengths: Vec<usize>,
}

impl Channel for Recorder<'_> {
    fn send(&mut self, bytes: &[u8]) -> palladion_mpc::Result<()> {
        self.lengths.push(bytes.len());
        self.channel.send(bytes)
    }

    fn receive(&mut self, bytes: &mut [u8]) -> palladion_mpc::Result<()> {
        self.channel.receive(bytes)
    }

    fn flush(&mut self) -> palladion_mpc::Result<()> {
        self.channel.flush()
    }

    fn traffic(&self) -> palladion_mpc::Traffic {
        self.channel.traffic()
    }

    fn halves(&mut self) -> (&mut palladion_mpc::Outgoing, &mut palladion_mpc::Incoming) {
        self.channel.halves()
    }

    fn add_rounds(&mut self, rounds: u64) {
        self.channel.add_rounds(rounds);
    }
}

#[test]
fn messages_have_the_same_number_and_lengths_for_all_inputs() {
    let zeros = transcript(0);
    assert!(zeros.iter().all(|lengths| lengths.len() > 10));
    for x in [1, 1 << 22, u64::MAX] {
        assert_eq!(transcript(x), zeros, "x = {x}");
    }
}

/// A party that is told wrong bytes in the place of the transfers' messages.
#[test]
fn malformed_transfers_are_an_error() {
    let protocol = Protocol::requantise(&ACTIVATION).expect("in range");
    let needs = protocol.needs(1);
    let long_frame = [&[0][..], &[0xff; 4]].concat();
    let unread = vec![1, 9, 9, 1, 0, 0, 0, 7, 0xff];
    // Ends of streams, each of another name, and an end that comes twice.
    let names = (0..1000u16).flat_map(|name| {
        let [low, high] = name.to_le_bytes();
        [1, low, high, 0, 0, 0, 0]
    });
    let twice = [1, 9, 9, 0, 0, 0, 0].repeat(2);
    for (message, expected) in [
        (vec![200], "a stream's name of 200 numbers"),
        (long_frame, "a frame of 4294967300 bytes after all but"),
        (
            names.collect(),
            "more than 64 streams that no step has opened",
        ),
        (twice, "a frame after the end of its stream"),
        (vec![0xfe], "the other party met an error"),
        (vec![0xff], "the oblivious transfers failed"),
        (unread, "the oblivious transfers failed"),
    ] {
        let (mut server, mut client) = memory_pair();
        let error = thread::scope(|scope| {
            scope.spawn(|| {
                // The channel stays open, and the server must end although nothing more comes.
                let mut greeting = [0; 10];
                client.receive(&mut greeting).expect("connected");
                client.send(&greeting).expect("connected");
                client.send(&message).expect("connected");
                client.flush().expect("connected");
            });
            preprocess(Role::Server, &mut server, &needs, &mut |_, _| {}).expect_err("malformed")
        });
        let text = error.to_string();
        assert!(text.contains(expected), "{text}");
    }
}
