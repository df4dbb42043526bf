//! The gain of each pass of the scheduler: a trace on a vector machine, with one pass switched off
//! at a time.
//!
//!     cargo run --release -p palladion-sim --example passes -- mnist.trace f1
//!
//! The machine is a name or a file. Each schedule is checked. With `--timeline`, where the cycles go with all passes on:
//! bounds, traffic by kind, results that are never read, and how busy each part is over time, in
//! tenths.

use palladion_sim::vector::{
    Event, Eviction, Machine, Options, Order, Report, Spread, Work, check, schedule,
};
use std::collections::BTreeMap;
use std::error::Error;
use std::time::Instant;
use trace::Trace;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let timeline = arguments.iter().position(|one| one == "--timeline");
    let timeline = timeline.map(|place| arguments.remove(place)).is_some();
    let [trace, machine] = arguments.as_slice() else {
        return Err("expected a trace and a machine".into());
    };
    let work = Work::new(&Trace::parse(&std::fs::read_to_string(trace)?)?)?;
    let machine = match std::fs::read_to_string(machine) {
        Ok(text) => Machine::from_toml(&text)?,
        Err(_) => Machine::named(machine)?,
    };
    if timeline {
        return timeline_of(&machine, &work);
    }
    println!(
        "{}: {} instructions on limbs",
        machine.name(),
        work.instructions()
    );
    println!(
        "{:22} {:>12} {:>7} {:>10} {:>9}",
        "", "cycles", "gap", "traffic GB", "seconds"
    );
    let all = Options::default();
    for (name, options) in [
        ("all passes", all),
        (
            "order of the trace",
            Options {
                order: Order::Program,
                ..all
            },
        ),
        (
            "not limb by limb",
            Options {
                region: Some(0),
                ..all
            },
        ),
        (
            "not interleaved",
            Options {
                window: Some(1),
                ..all
            },
        ),
        (
            "LRU",
            Options {
                eviction: Eviction::Lru,
                ..all
            },
        ),
        (
            "pressure",
            Options {
                spread: Spread::Pressure,
                ..all
            },
        ),
        (
            "as planned",
            Options {
                listed: false,
                ..all
            },
        ),
    ] {
        let begun = Instant::now();
        let found = schedule(&machine, &work, options, &mut |_, _| true)?;
        let seconds = begun.elapsed().as_secs_f64();
        check(&machine, &work, &found)?;
        let report = Report::new(&machine, &work, &found);
        let gigabytes = report.traffic.total() as f64 / 1e9;
        println!(
            "{name:22} {:12} {:7.2} {gigabytes:10.2} {seconds:9.2}",
            report.cycles,
            report.gap()
        );
    }
    Ok(())
}

/// For each operation, how many results no output depends on, and how many there are.
fn unread(work: &Work) -> BTreeMap<&'static str, (usize, usize)> {
    let mut read = vec![false; work.limbs()];
    for &output in work.outputs() {
        read[output as usize] = true;
    }
    let mut counts: BTreeMap<_, (usize, usize)> = BTreeMap::new();
    for i in (0..work.instructions()).rev() {
        let (unread, all) = counts.entry(work.kind(i).name()).or_default();
        *all += 1;
        if read[i] {
            work.operands(i).for_each(|limb| read[limb as usize] = true);
        } else {
            *unread += 1;
        }
    }
    counts
}

/// Columns of the timeline.
const COLUMNS: usize = 100;

fn timeline_of(machine: &Machine, work: &Work) -> Result<(), Box<dyn Error>> {
    let found = schedule(machine, work, Options::default(), &mut |_, _| true)?;
    check(machine, work, &found)?;
    let report = Report::new(machine, work, &found);
    let ports: u64 = (0..work.instructions()).map(|i| found.ports(i)).sum();
    let transfers = report.traffic.total() / machine.limb_bytes(work.n());
    println!(
        "{} cycles, {:.2} times {:?}",
        report.cycles,
        report.gap(),
        report.bound
    );
    println!(
        "ports {} cycles of each cluster",
        ports / machine.clusters().len() as u64
    );
    println!("memory {} cycles", transfers * machine.transfer(work.n()));
    let limbs = |bytes: u64| bytes / machine.limb_bytes(work.n());
    for (name, bytes) in report.traffic.all() {
        println!("{name:16} {:9} limbs", limbs(bytes));
    }
    println!("{:?}", report.stalls);
    for (kind, (unread, all)) in unread(work) {
        println!("{kind}: {unread} of {all} results are never read");
    }

    let units = machine.units().len();
    let rows = ["ports", "loads", "again", "writes"];
    let names = machine
        .units()
        .iter()
        .map(|unit| unit.name.as_str())
        .chain(rows);
    let mut busy = vec![[0.0f64; COLUMNS]; units + rows.len()];
    let column = report.cycles as f64 / COLUMNS as f64;
    let mut add = |row: usize, start: u64, cycles: u64, of: usize| {
        let place = (start as f64 / column) as usize;
        busy[row][place.min(COLUMNS - 1)] += cycles as f64 / column / of as f64;
    };
    let counts: Vec<usize> = (0..units)
        .map(|unit| {
            machine
                .clusters()
                .iter()
                .map(|cluster| cluster.units[unit])
                .sum()
        })
        .collect();
    let mut known = vec![false; work.limbs()];
    for (event, start) in found.events() {
        match event {
            Event::Issue(instruction) => {
                let i = instruction as usize;
                for &unit in machine.uses(work.kind(i)) {
                    let pass = machine.units()[unit].pass(work.n()) * work.terms(i) as u64;
                    add(unit, start, pass, counts[unit]);
                }
                add(units, start, found.ports(i), machine.clusters().len());
            }
            Event::Fetch(limb) => {
                let first = !std::mem::replace(&mut known[limb as usize], true);
                let first = first && work.input(limb).is_some();
                add(
                    units + if first { 1 } else { 2 },
                    start,
                    machine.transfer(work.n()),
                    1,
                );
            }
            Event::WriteBack(_) => add(units + 3, start, machine.transfer(work.n()), 1),
            Event::Release(_) => {}
        }
    }
    for (name, row) in names.zip(&busy) {
        let digit =
            |share: &f64| char::from_digit(((share * 10.0) as u32).min(9), 10).unwrap_or('?');
        println!("{name:12} {}", row.iter().map(digit).collect::<String>());
    }
    Ok(())
}
