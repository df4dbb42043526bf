//! Writes the trace of a benchmark.
//!
//!     cargo run --release -p palladion-applications --example benchmark -- NAME [DIGIT_LIMBS] > NAME.trace
//!
//! Standard error has what it counts.

use evaluate::circuit::Runner;
use palladion_applications::{Benchmarks, Written};
use program::recording::Recording;
use std::collections::BTreeMap;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let Some(name) = arguments.next() else {
        for benchmark in Benchmarks::ALL {
            println!("{:32} {}", benchmark.name, benchmark.summary);
        }
        return Ok(());
    };
    let digit_limbs = arguments.next().map_or(Ok(1), |text| text.parse())?;
    let written = Benchmarks::named(&name)?.write(digit_limbs)?;
    let rlwe = written.rlwe();
    eprintln!(
        "N = 2^{}, {} limbs, {} special moduli, log2(QP) = {:.0}, {}",
        rlwe.log_n(),
        rlwe.max_level() + 1,
        rlwe.special().len(),
        rlwe.log_qp(),
        rlwe.security()
    );
    let recording = recorded(&written)?;
    let trace = lower::lower(&recording)?;
    eprintln!("{}", trace.counts());
    print!("{trace}");
    Ok(())
}

fn recorded(written: &Written) -> Result<Recording> {
    Ok(match written {
        Written::Approximate(params, circuit) => {
            Runner::new(params, circuit)?.record(&BTreeMap::new())?
        }
        Written::Exact(params, circuit) => Runner::new(params, circuit)?.record(&BTreeMap::new())?,
        Written::Bootstrapping(bootstrap) => bootstrap.record(1)?,
    })
}
