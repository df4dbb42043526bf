//! Shows the value of each pass of the scheduler: a trace on a vector machine, with one pass
//! switched off at a time.
//!
//!     cargo run --release -p palladion-sim --example passes -- mnist.trace f1
//!
//! The machine is a name or a file. Each schedule is checked.

use program::trace::Trace;
use sim::vector::{Eviction, Machine, Options, Order, Report, Work, check, schedule};
use std::error::Error;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [trace, machine] = arguments.as_slice() else {
        return Err("expected a trace and a machine".into());
    };
    let work = Work::new(&Trace::parse(&std::fs::read_to_string(trace)?)?)?;
    let machine = match std::fs::read_to_string(machine) {
        Ok(text) => Machine::from_toml(&text)?,
        Err(_) => Machine::named(machine)?,
    };
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
