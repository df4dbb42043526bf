//! Tests that read a timeline back with an independent reader of protocol buffers.

use super::{MAX_SLICES, check_length, timeline};
use crate::error::Error;
use crate::vector::machine::Machine;
use crate::vector::passes::{Event, Options, Schedule, schedule};
use crate::vector::testing::work;
use crate::vector::tracks::{Part, Slice, Track, tracks};
use crate::vector::work::Work;
use std::collections::BTreeMap;

/// A field: a number, or bytes.
enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

fn fields(mut bytes: &[u8]) -> Vec<(u64, Field<'_>)> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let (mut value, mut shift) = (0, 0);
        loop {
            let (&byte, rest) = bytes.split_first().expect("a byte");
            *bytes = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return value;
            }
            shift += 7;
        }
    }
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let field = match key & 7 {
            0 => Field::Number(varint(&mut bytes)),
            2 => {
                let length = varint(&mut bytes) as usize;
                let (value, rest) = bytes.split_at(length);
                bytes = rest;
                Field::Bytes(value)
            }
            wire => panic!("wire type {wire}"),
        };
        fields.push((key >> 3, field));
    }
    fields
}

fn number(of: &[(u64, Field<'_>)], wanted: u64) -> Option<u64> {
    of.iter().find_map(|(field, value)| match value {
        Field::Number(value) if *field == wanted => Some(*value),
        _ => None,
    })
}

fn bytes<'a>(of: &[(u64, Field<'a>)], wanted: u64) -> Option<&'a [u8]> {
    of.iter().find_map(|(field, value)| match value {
        Field::Bytes(value) if *field == wanted => Some(*value),
        _ => None,
    })
}

/// Slices of a timeline by track: first cycle, end, and number of the name.
fn read(file: &[u8]) -> BTreeMap<u64, Vec<(u64, u64, u64)>> {
    let mut tracks: BTreeMap<u64, Vec<(u64, u64, u64)>> = BTreeMap::new();
    for (field, packet) in fields(file) {
        let Field::Bytes(packet) = packet else {
            panic!("a packet is a message");
        };
        assert_eq!(field, 1);
        let packet = fields(packet);
        assert_eq!(number(&packet, 10), Some(1), "one sequence");
        let Some(event) = bytes(&packet, 11) else {
            continue;
        };
        let (event, time) = (fields(event), number(&packet, 8).expect("a time"));
        let slices = tracks
            .entry(number(&event, 11).expect("a track"))
            .or_default();
        match number(&event, 9) {
            Some(1) => slices.push((time, u64::MAX, number(&event, 10).expect("a name"))),
            Some(2) => slices.last_mut().expect("it has begun").1 = time,
            Some(4) => {}
            other => panic!("type {other:?}"),
        }
    }
    tracks.retain(|_, slices| !slices.is_empty());
    tracks
}

fn scheduled(seed: u64) -> (Machine, Work, Schedule) {
    let machine = Machine::named(if seed == 0 { "athena" } else { "tiny" }).expect("built in");
    let work = work(seed, 40);
    let schedule = schedule(&machine, &work, Options::default(), &mut |_, _| true);
    let schedule = schedule.expect("it fits");
    (machine, work, schedule)
}

#[test]
fn a_timeline_has_every_slice_of_every_track() {
    for seed in 0..5 {
        let (machine, work, schedule) = scheduled(seed);
        let file = timeline(&machine, &work, &schedule, None).expect("short enough");
        let slices: Vec<Vec<(u64, u64)>> = read(&file)
            .into_values()
            .map(|slices| slices.into_iter().map(|(from, to, _)| (from, to)).collect())
            .collect();
        let expected: Vec<Vec<(u64, u64)>> = tracks(&machine, &work, &schedule)
            .iter()
            .filter(|track| !track.slices.is_empty())
            .map(|track| track.slices.iter().map(|s| (s.start, s.end)).collect())
            .collect();
        assert_eq!(slices, expected);
    }
}

#[test]
fn a_window_has_what_lies_in_it() {
    let (machine, work, schedule) = scheduled(1);
    let cycles = schedule.cycles();
    let all = read(&timeline(&machine, &work, &schedule, None).expect("short enough"));
    let (from, to) = (cycles / 3, cycles / 2);
    let cut = timeline(&machine, &work, &schedule, Some(from..to)).expect("short enough");
    let cut: Vec<Vec<(u64, u64)>> = read(&cut)
        .into_values()
        .map(|slices| slices.into_iter().map(|(a, b, _)| (a, b)).collect())
        .collect();
    let expected: Vec<Vec<(u64, u64)>> = all
        .into_values()
        .map(|slices| {
            let inner = slices.into_iter().filter(|&(a, b, _)| a < to && b > from);
            inner.map(|(a, b, _)| (a.max(from), b.min(to))).collect()
        })
        .filter(|slices: &Vec<_>| !slices.is_empty())
        .collect();
    assert_eq!(cut, expected);
    assert!(timeline(&machine, &work, &schedule, Some(0..u64::MAX)).is_ok());
}

#[test]
fn windows_and_lengths_that_cannot_be_are_refused() {
    let (machine, work, schedule) = scheduled(2);
    let cycles = schedule.cycles();
    for (window, words) in [
        (cycles..cycles + 1, ["the first cycle", "below"]),
        (5..5, ["the end", "behind its first, 5"]),
    ] {
        let error = timeline(&machine, &work, &schedule, Some(window)).expect_err("no window");
        let text = error.to_string();
        assert!(words.iter().all(|word| text.contains(word)), "{text}");
    }
    let slice = |start| Slice {
        start,
        end: start + 1,
        event: Event::Fetch(0),
    };
    let slices: Vec<Slice> = (0..=MAX_SLICES as u64).map(slice).collect();
    let part = Part::Memory;
    let tracks = [Track { part, slices }];
    let window = 0..MAX_SLICES as u64 + 1;
    let error = check_length(&tracks, &window).expect_err("too long");
    assert!(matches!(error, Error::Parameters { found, .. } if found == MAX_SLICES + 1));
    assert!(error.to_string().contains("--timeline-cycles"), "{error}");
    assert!(error.to_string().contains("0:1000000"), "{error}");
}

#[test]
fn names_say_operation_and_step() {
    let (machine, work, schedule) = scheduled(3);
    let file = timeline(&machine, &work, &schedule, None).expect("short enough");
    let text = String::from_utf8_lossy(&file);
    for name in [
        "ntt (the whole program)",
        "dot (the whole program)",
        "load input",
        "load hint",
        "scratchpad",
    ] {
        assert!(text.contains(name), "{name}");
    }
}
