//! Changed streams end in other words or a refusal, unless the change is without effect.

use super::{Case, fault, machine};
use sim::vector::{Action, Entry, Kind, Place, Streams};
use trace::{Trace, TraceBuilder, Type};

/// A trace in which no two operands are alike: sums, differences and products of a chain.
pub(super) fn chain() -> Trace {
    let mut builder = TraceBuilder::new(16, &[97, 193]).unwrap();
    let mut main = builder.main();
    let whole = Type::eval(0..2);
    let mut values: Vec<_> = (0..24)
        .map(|i| main.load(format!("x/{i}"), whole.clone()))
        .collect();
    for step in 0..40 {
        let (a, b) = (
            values[step * 7 % values.len()],
            values[values.len() - 1 - step % 5],
        );
        let next = match step % 3 {
            0 => main.sub(a, b),
            1 => main.mul(a, b),
            _ => main.automorphism(a, 5),
        };
        values.push(next);
    }
    // Everything has an effect on the results.
    let mut sum = values[0];
    for &value in &values[1..] {
        let turned = main.automorphism(sum, 3);
        sum = main.sub(turned, value);
    }
    main.store("y", sum);
    builder.finish().unwrap()
}

/// Changes of one entry, or of one and its neighbour. `None` if there is nothing to change.
fn change(
    streams: &mut Streams,
    (stream, index): (usize, usize),
    sort: usize,
) -> Option<&'static str> {
    let entries = &mut streams.streams[stream].entries;
    let next = (index + 1 < entries.len()).then_some(index + 1);
    match (sort, &mut entries[index].action) {
        (0, Action::Execute { operands, .. })
            if operands.len() == 2 && operands[0].from != operands[1].from =>
        {
            let first = operands[0].from;
            operands[0].from = operands[1].from;
            operands[1].from = first;
            Some("two operands are exchanged")
        }
        (1, Action::Execute { operands, .. }) => match &mut operands[0].from {
            Place::Row(row) => {
                *row += 1;
                Some("another row is read")
            }
            Place::Register(register) => {
                *register += 1;
                Some("another register is read")
            }
        },
        (2, Action::Load { .. } | Action::Write { .. }) => {
            let dropped = entries.remove(index);
            if index < entries.len() {
                entries[index].stall += dropped.stall + dropped.busy;
            }
            Some("a transfer is left out")
        }
        (3, _) => {
            let next = next?;
            let (one, other) = entries.split_at_mut(next);
            std::mem::swap(&mut one[index].action, &mut other[0].action);
            Some("two entries are exchanged")
        }
        (4, Action::Load { row, .. } | Action::Write { row, .. }) => {
            *row += 1;
            Some("a transfer is of another row")
        }
        (5, Action::Execute { row: Some(row), .. }) => {
            *row += 1;
            Some("a result goes to another row")
        }
        (6, Action::Load { limb, .. } | Action::Write { limb, .. }) => {
            *limb += 2;
            Some("a transfer is of another limb")
        }
        (7, Action::Execute { .. } | Action::Load { .. }) => {
            // 300 cycles are more than all that a limb waits for here.
            entries[index].stall += 300;
            if let Some(next) = next {
                entries[next].stall = entries[next].stall.saturating_sub(300);
            }
            Some("an entry begins too late")
        }
        _ => None,
    }
}

/// Returns true if a change of the first entry may be without effect: the operands of a product
/// change places, the limb of a load is not read from its row, or the next entry reads no row or
/// register that the entry writes. Others that arrive later may be written.
fn equivalent(entries: &[Entry], sort: usize) -> bool {
    match (sort, &entries[0].action) {
        (0, Action::Execute { kind, .. }) => *kind == Kind::Mul,
        (2 | 4 | 6, Action::Load { .. }) => true,
        (3, one) => {
            let (one, other) = (places(one), places(&entries[1].action));
            // Equal places: only the numbers of two subtractions modulo one prime differ.
            one == other || !one.0.iter().any(|place| other.1.contains(place))
        }
        _ => false,
    }
}

/// The places that an action writes, and those that it reads.
fn places(action: &Action) -> (Vec<Place>, Vec<Place>) {
    match action {
        Action::Execute {
            operands,
            row,
            register,
            ..
        } => {
            let kept = operands.iter().filter_map(|operand| operand.keep);
            let registers = kept.chain(*register).map(Place::Register);
            let written = registers.chain(row.map(Place::Row));
            (
                written.collect(),
                operands.iter().map(|operand| operand.from).collect(),
            )
        }
        Action::Load { row, .. } | Action::Generate { row, .. } => {
            (vec![Place::Row(*row)], Vec::new())
        }
        Action::Write { row, .. } => (Vec::new(), vec![Place::Row(*row)]),
        Action::Join { .. } => (Vec::new(), Vec::new()),
    }
}

#[test]
fn changed_streams_give_other_words_or_are_refused() {
    let case = Case::new(machine(9, 2), chain()).unwrap();
    let good = case.replayed().stored;
    assert_eq!(case.run(&case.streams).unwrap().stored, good);
    let mut harmless = [0; 8];
    let mut all = [0; 8];
    let (mut words, mut refused) = (0, 0);
    for (stream, of) in case.streams.streams.iter().enumerate() {
        for index in 0..of.entries.len() {
            for sort in 0..8 {
                let mut streams = case.streams.clone();
                let Some(what) = change(&mut streams, (stream, index), sort) else {
                    continue;
                };
                all[sort] += 1;
                match case.run(&streams) {
                    Err(_) => refused += 1,
                    Ok(outside) if outside.stored != good => words += 1,
                    Ok(_) => {
                        harmless[sort] += 1;
                        let entries = &of.entries[index..];
                        assert!(equivalent(entries, sort), "{what}: {} {index}", of.name);
                    }
                }
            }
        }
    }
    assert!(
        harmless[3] < all[3] / 2,
        "{} of {} exchanges",
        harmless[3],
        all[3]
    );
    // The words of one limb that is loaded again are then found in registers alone.
    assert_eq!([harmless[2], harmless[4], harmless[6]], [1; 3]);
    assert!(words > 0 && refused > 0, "{words} and {refused}");
}

#[test]
fn streams_that_contradict_are_refused_in_words() {
    let case = Case::new(machine(9, 2), chain()).unwrap();
    let refuse = |change: &dyn Fn(&mut Streams), expected: &str| {
        let mut streams = case.streams.clone();
        change(&mut streams);
        let text = fault(case.run(&streams)).to_string();
        assert!(text.contains(expected), "{text}");
    };
    let units = case
        .streams
        .streams
        .iter()
        .position(|stream| stream.name.ends_with("mac"));
    let mac = units.unwrap();
    refuse(
        &|streams| streams.machine = "f1".into(),
        "the machine is f1, expected tiny",
    );
    refuse(
        &|streams| streams.n = 32,
        "the ring degree is 32, expected 16",
    );
    refuse(
        &|streams| drop(streams.streams.pop()),
        "the list of streams",
    );
    refuse(
        &|streams| drop(streams.streams[mac].entries.pop()),
        "none of instruction",
    );
    refuse(
        &|streams| streams.streams[mac].entries[0].busy = 1,
        "the number of busy cycles is 1",
    );
    refuse(
        &|streams| streams.streams[mac].entries[1].stall = u64::MAX,
        "above 2^64",
    );
    refuse(
        &|streams| {
            let Action::Execute { operands, .. } = &mut streams.streams[mac].entries[0].action
            else {
                panic!("a unit executes")
            };
            operands[0].from = Place::Row(9);
        },
        "the row is 9, expected below 9",
    );
    refuse(
        &|streams| {
            let entry = streams.streams[mac].entries[0].clone();
            streams.streams[mac].entries.push(entry);
        },
        "one that no entry has before",
    );
}

#[test]
fn damaged_files_are_refused() {
    let case = Case::new(machine(9, 2), chain()).unwrap();
    let bytes = case.streams.to_bytes();
    for length in 0..bytes.len() {
        Streams::from_bytes(&bytes[..length]).unwrap_err();
    }
    let fault = Streams::from_bytes(&[&bytes[..], &[0]].concat()).unwrap_err();
    assert!(
        fault
            .to_string()
            .ends_with("the end is 1 more bytes, expected none"),
        "{fault}"
    );
    // Every byte has a meaning: a change is refused, or gives other streams.
    for place in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[place] ^= 1;
        assert_ne!(
            Streams::from_bytes(&changed).ok().as_ref(),
            Some(&case.streams),
            "byte {place}"
        );
    }
    let texts: Vec<String> = case.streams.to_texts().map(|(_, text)| text).collect();
    for (wrong, expected) in [
        ("busy", "expected wait CYCLES busy CYCLES"),
        ("ring", "the header"),
        ("palladion", "expected palladion-streams/1"),
    ] {
        let changed = texts[0].replacen(wrong, "other", 1);
        let changed = Streams::from_texts([&*changed]);
        if texts[0].contains(wrong) {
            let text = changed.unwrap_err().to_string();
            assert!(text.contains(expected), "{text}");
        }
    }
    let other = texts[1].replace("machine tiny", "machine f1");
    let text = Streams::from_texts([&*texts[0], &other])
        .unwrap_err()
        .to_string();
    assert!(text.contains("expected tiny, ring 16"), "{text}");
}
