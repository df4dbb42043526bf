//! A processing element of a wavefront multiplier as a tile, and chains of such tiles.

use super::moved;
use crate::error::Result;
use crate::spatial::machine::Machine;
use crate::spatial::network::{BOTH, FIRST, Kernel, NONE, Network, Object, Phase, Port, port};
use crate::spatial::schedule::compute_cycles;
use ring::torus::Wavefront;
use ring::torus::wavefront::Element;

/// Receives both operands and passes them on, computes its block, passes on the results of the
/// elements before it, and sends its own.
struct ElementTile {
    element: Element,
    phases: Vec<Phase>,
    last: bool,
    turns: usize,
}

const COMPUTE: usize = 1;
const OWN: usize = 3;

impl ElementTile {
    fn new(machine: &Machine, element: Element, last: bool, turns: usize) -> Self {
        let forwards = if last { NONE } else { BOTH };
        let cycles = compute_cycles(machine, &element);
        let phases = vec![
            moved(machine, element.n(), BOTH, forwards),
            Phase::Compute {
                ticks: cycles * machine.array_cycle(),
            },
            moved(machine, element.before(), FIRST, FIRST),
            moved(machine, element.block(), NONE, FIRST),
        ];
        Self {
            element,
            phases,
            last,
            turns,
        }
    }
}

impl Kernel for ElementTile {
    fn turns(&self) -> usize {
        self.turns
    }

    fn turn(&self, _turn: usize) -> Vec<Phase> {
        self.phases.clone()
    }

    fn step(&mut self, phase: usize, i: usize, words: [u32; 2]) -> [u32; 2] {
        match phase {
            0 => self.element.receive(i, words),
            OWN => [self.element.results()[i], 0],
            _ => words,
        }
    }

    fn compute(&mut self, phase: usize) {
        debug_assert_eq!(phase, COMPUTE);
        self.element.compute(|_| ());
    }

    fn memory(&self) -> usize {
        self.element.memory()
    }

    fn object(&self) -> Option<Object> {
        Some(Object {
            class: if self.last { "LastElement" } else { "Element" },
            arguments: vec![self.element.before() as u32],
        })
    }
}

/// Adds a multiplier of `elements` elements to a network. Returns the inputs of digits and of
/// words, and the output of results.
pub(super) fn add_chain(
    network: &mut Network,
    machine: &Machine,
    name: &str,
    (n, elements, turns): (usize, usize, usize),
) -> Result<([Port; 2], Port)> {
    let chain = Wavefront::new(n, elements)?.chain();
    let mut tiles = Vec::with_capacity(elements);
    for (place, element) in chain.into_iter().enumerate() {
        let tile = ElementTile::new(machine, element, place + 1 == elements, turns);
        tiles.push(network.add("element", format!("{name}.{place}"), Box::new(tile)));
    }
    let stream = (machine.fifo(), machine.hop());
    for pair in tiles.windows(2) {
        network.connect(port(pair[0], 0), &[port(pair[1], 0)], stream);
        // The last element sends only results, but takes both operands.
        network.connect(port(pair[0], 1), &[port(pair[1], 1)], stream);
    }
    let inputs = [0, 1].map(|input| port(tiles[0], input));
    Ok((inputs, port(tiles[elements - 1], 0)))
}
