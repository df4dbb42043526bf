//! A single multiplier between channels of the logic: table II of the paper.

use super::element::add_chain;
use super::ends::{Sink, Source};
use crate::error::{Error, Result};
use crate::machine::Machine;
use crate::network::{Network, port};
use ring::torus::Wavefront;

/// A wavefront multiplier through which products are streamed.
#[derive(Clone, Debug)]
pub struct Products {
    machine: Machine,
    n: usize,
    elements: usize,
}

/// Time of products, one after another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timing {
    /// Microseconds from the first word in to the last word out, for a product that finds the array
    /// idle.
    pub latency: f64,
    /// Microseconds from one result to the next.
    pub interval: f64,
    /// Share of the time in which an element computes.
    pub computing: f64,
}

impl Products {
    /// A multiplier of `elements` for polynomials of `n` coefficients.
    ///
    /// # Errors
    /// [`Error::Ring`] if blocks of the result are not whole vectors. [`Error::TooSmall`] if the
    /// machine has too little memory or too few tiles.
    pub fn new(machine: &Machine, n: usize, elements: usize) -> Result<Self> {
        chain_fits(machine, n, elements)?;
        fits(machine, "tiles", elements, machine.tiles())?;
        Ok(Self {
            machine: machine.clone(),
            n,
            elements,
        })
    }

    fn network(&self, turns: usize, operands: [Vec<u32>; 2]) -> Result<(Network, usize)> {
        let (machine, n) = (&self.machine, self.n);
        let stream = (machine.fifo(), machine.hop());
        let mut network = Network::new(!operands[0].is_empty());
        let (first, results) =
            add_chain(&mut network, machine, "element", (n, self.elements, turns))?;
        for (input, words) in operands.into_iter().enumerate() {
            let source = Source::new(machine, (turns, n), words);
            let source = network.add("channel", format!("in{input}"), Box::new(source));
            network.connect(port(source, 0), &[port(first, input)], stream);
        }
        let sink = Sink::new(machine, (turns, n));
        let sink = network.add("channel", "out".into(), Box::new(sink));
        network.connect(results, &[port(sink, 0)], stream);
        Ok((network, sink))
    }

    /// Time of many products.
    ///
    /// # Errors
    /// [`Error::Deadlock`] if streams are too short.
    pub fn simulate(&self) -> Result<Timing> {
        // The array is full long before: at most two products are in progress.
        const COUNT: usize = 8;
        let (mut network, sink) = self.network(COUNT, [Vec::new(), Vec::new()])?;
        let usage = network.run()?;
        let ends = &usage[sink].ends;
        let interval = ends[COUNT - 1] - ends[COUNT - 2];
        let moved = self.machine.array_cycle() * (self.n + self.n / self.elements) as u64;
        let computing = usage[0].busy / COUNT as u64 - moved;
        Ok(Timing {
            latency: self.machine.microseconds(ends[0]),
            interval: self.machine.microseconds(interval),
            computing: computing as f64 / interval as f64,
        })
    }

    /// Computes the products of polynomials, one after another, as the array does.
    ///
    /// # Errors
    /// [`Error::Words`] unless both arguments have the same number of whole polynomials.
    pub fn emulate(&self, digits: &[i32], words: &[u32]) -> Result<Vec<u32>> {
        let whole = words.len().next_multiple_of(self.n);
        expect("the second polynomials", words.len(), whole)?;
        expect("the first polynomials", digits.len(), words.len())?;
        let digits = digits.iter().map(|&digit| digit as u32).collect();
        let turns = words.len() / self.n;
        let (mut network, sink) = self.network(turns, [digits, words.to_vec()])?;
        network.run()?;
        Ok(network.take(sink))
    }
}

/// Checks, before any element is made, that the elements of a multiplier exist and have enough
/// memory.
pub(super) fn chain_fits(machine: &Machine, n: usize, elements: usize) -> Result<()> {
    let memory = Wavefront::new(n, elements)?.element_memory();
    fits(
        machine,
        "bytes of memory of a tile",
        memory,
        machine.data_memory(),
    )
}

pub(super) fn fits(
    machine: &Machine,
    what: &'static str,
    needed: usize,
    available: usize,
) -> Result<()> {
    if needed <= available {
        return Ok(());
    }
    Err(Error::TooSmall {
        machine: machine.name().to_owned(),
        what,
        needed,
        available,
    })
}

pub(super) fn expect(what: &'static str, found: usize, expected: usize) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    Err(Error::Words {
        what,
        found,
        expected,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ring::torus::{Multiplier, Naive};

    fn versal() -> Machine {
        Machine::named("versal").expect("built in")
    }

    fn changed(from: &str, to: &str) -> Machine {
        let text = Machine::file("versal").expect("built in");
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
        let (array, logic, hop) = (52, 125, machine.hop());
        // The last word of the operands reaches the last element after the channel and 15 steps of
        // forwarding.
        let there = n * logic + hop + (elements - 1) * (array + hop) + array;
        let computed = there + (closed_form(n, 64) - 2 * n) * array;
        // Its predecessors have sent all but their last results meanwhile. It sends N words, faster
        // than the channel takes them.
        let out = computed + array + hop + n * logic;
        assert!(
            (timing.latency - machine.microseconds(out)).abs() < 0.1,
            "{timing:?}"
        );
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
}
