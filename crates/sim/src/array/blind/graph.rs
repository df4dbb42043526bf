//! The graph of a blind rotation: the connections between tiles.

use crate::array::element::add_chain;
use crate::array::ends::{Sink, Source};
use crate::array::floorplan::Floorplan;
use crate::array::tiles::{Accumulate, Compose, Decompose, Merge, Rotation, Split};
use crate::error::Result;
use crate::network::{Network, Port, port};

/// Words for a run. Empty if only times are wanted.
#[derive(Default)]
pub(super) struct Job {
    pub(super) accumulator: Vec<u32>,
    pub(super) exponents: Vec<u32>,
    pub(super) rows: Vec<u32>,
}

/// A network, and the tiles from which words and times are read.
pub(super) struct Graph {
    pub(super) network: Network,
    pub(super) sink: usize,
    pub(super) rotation: usize,
}

/// The data from which all parts of a graph are built.
struct Builder<'a> {
    floorplan: &'a Floorplan,
}

impl Graph {
    /// The graph of `turns` iterations.
    pub(super) fn new(floorplan: &Floorplan, turns: usize, job: Job) -> Result<Self> {
        let build = Builder { floorplan };
        let (machine, parameters) = (&floorplan.machine, &floorplan.parameters);
        let (n, components, rows) = (parameters.n, parameters.components(), parameters.rows());
        let per_group = floorplan.mapping.components_per_stream;
        let group_words = per_group * n;
        let stream = (machine.fifo(), machine.hop());
        let network = &mut Network::new(!job.accumulator.is_empty());

        let mut rotations = Vec::new();
        let mut accumulations = Vec::new();
        for group in 0..floorplan.groups() {
            let rotation = Rotation::new(machine, (n, per_group), turns);
            rotations.push(network.add("rotation", format!("rotation{group}"), Box::new(rotation)));
            let before = group * group_words;
            let after = components * n - before - group_words;
            let tile = Accumulate::new(machine, group_words, (before, after), turns);
            let tile = network.add(
                "accumulation",
                format!("accumulation{group}"),
                Box::new(tile),
            );
            network.connect(port(tile, 0), &[port(rotations[group], 0)], stream);
            accumulations.push(tile);
        }
        for pair in accumulations.windows(2) {
            network.connect(port(pair[0], 1), &[port(pair[1], 1)], stream);
        }

        // Digits of a component and level go to the multipliers of their row. `streams[group]` are
        // the streams of products to be added.
        let mut products: Vec<Vec<Port>> = vec![Vec::new(); floorplan.groups()];
        for component in 0..components {
            let mut levels = Vec::new();
            for level in 1..=parameters.decomposition.levels() {
                let tile = Decompose::new(machine, n, (parameters.decomposition, level), turns);
                let name = format!("decomposition{component}.{level}");
                levels.push(network.add("decomposition", name, Box::new(tile)));
            }
            let inputs: Vec<Port> = levels.iter().map(|&tile| port(tile, 0)).collect();
            let from = port(rotations[component / per_group], component % per_group);
            network.connect(from, &inputs, stream);
            for (level, tile) in levels.into_iter().enumerate() {
                let row = component * parameters.decomposition.levels() as usize + level;
                let (inputs, outputs) = build.row(network, row, turns)?;
                let digits: Vec<Port> = inputs.iter().map(|&tile| port(tile, 0)).collect();
                network.connect(port(tile, 0), &digits, stream);
                let keys = build.keys_of_row(row, turns, &job.rows);
                build.key_stream(network, (row, turns), keys, &inputs);
                for (group, outputs) in outputs.chunks(per_group).enumerate() {
                    products[group].push(build.merged(network, (row, group, turns), outputs));
                }
            }
        }
        debug_assert!(products.iter().all(|group| group.len() == rows));
        for (group, products) in products.into_iter().enumerate() {
            let sum = build.composed(network, (group, turns), products);
            network.connect(sum, &[port(accumulations[group], 0)], stream);
        }

        let words = (1, components * n);
        let source = Source::new(machine, words, job.accumulator);
        let source = network.add("channel", "in0".into(), Box::new(source));
        network.connect(port(source, 0), &[port(accumulations[0], 1)], stream);
        let source = Source::new(machine, (turns, 1), job.exponents);
        let source = network.add("channel", "exponents".into(), Box::new(source));
        let inputs: Vec<Port> = rotations.iter().map(|&tile| port(tile, 1)).collect();
        network.connect(port(source, 0), &inputs, stream);
        let sink = network.add(
            "channel",
            "out0".into(),
            Box::new(Sink::new(machine, words)),
        );
        let last = accumulations[floorplan.groups() - 1];
        network.connect(port(last, 1), &[port(sink, 0)], stream);
        Ok(Self {
            network: std::mem::take(network),
            sink,
            rotation: rotations[0],
        })
    }
}

impl Builder<'_> {
    /// The multipliers of a row. Returns their first tiles and their outputs.
    fn row(
        &self,
        network: &mut Network,
        row: usize,
        turns: usize,
    ) -> Result<(Vec<usize>, Vec<Port>)> {
        let floorplan = self.floorplan;
        let size = (floorplan.parameters.n, floorplan.elements(), turns);
        let chains = (0..floorplan.parameters.components()).map(|column| {
            add_chain(
                network,
                &floorplan.machine,
                &format!("element{row}.{column}"),
                size,
            )
        });
        Ok(chains.collect::<Result<Vec<_>>>()?.into_iter().unzip())
    }

    /// Keys of one row for all iterations, in order.
    fn keys_of_row(&self, row: usize, turns: usize, all: &[u32]) -> Vec<u32> {
        if all.is_empty() {
            return Vec::new();
        }
        let parameters = &self.floorplan.parameters;
        let (len, all_rows) = (parameters.components() * parameters.n, parameters.rows());
        let of_turn = |turn: usize| &all[(turn * all_rows + row) * len..][..len];
        (0..turns)
            .flat_map(|turn| of_turn(turn).iter().copied())
            .collect()
    }

    /// A channel of keys through splits. Each split sends a polynomial to a multiplier and passes
    /// the rest on.
    fn key_stream(
        &self,
        network: &mut Network,
        (row, turns): (usize, usize),
        keys: Vec<u32>,
        multipliers: &[usize],
    ) {
        let (machine, n) = (&self.floorplan.machine, self.floorplan.parameters.n);
        let stream = (machine.fifo(), machine.hop());
        let source = Source::new(machine, (turns, multipliers.len() * n), keys);
        let mut from = port(
            network.add("channel", format!("key{row}"), Box::new(source)),
            0,
        );
        for (column, &tile) in multipliers.iter().enumerate() {
            let rest = multipliers.len() - column - 1;
            if rest == 0 {
                network.connect(from, &[port(tile, 1)], stream);
                break;
            }
            let split = Split {
                machine: machine.clone(),
                first: n,
                rest: rest * n,
                turns,
            };
            let split = network.add("split", format!("split{row}.{column}"), Box::new(split));
            network.connect(from, &[port(split, 0)], stream);
            network.connect(port(split, 0), &[port(tile, 1)], stream);
            from = port(split, 1);
        }
    }

    /// One or two products of a row on one stream.
    fn merged(
        &self,
        network: &mut Network,
        (row, group, turns): (usize, usize, usize),
        outputs: &[Port],
    ) -> Port {
        let machine = &self.floorplan.machine;
        let stream = (machine.fifo(), machine.hop());
        let [first, second] = *outputs else {
            return outputs[0];
        };
        let merge = Merge {
            machine: machine.clone(),
            n: self.floorplan.parameters.n,
            turns,
        };
        let merge = network.add("merge", format!("merge{row}.{group}"), Box::new(merge));
        network.connect(first, &[port(merge, 0)], stream);
        network.connect(second, &[port(merge, 1)], stream);
        port(merge, 0)
    }

    /// The sum of all streams of a group, added in pairs.
    fn composed(
        &self,
        network: &mut Network,
        (group, turns): (usize, usize),
        mut waiting: Vec<Port>,
    ) -> Port {
        let machine = &self.floorplan.machine;
        let stream = (machine.fifo(), machine.hop());
        let words = self.floorplan.mapping.components_per_stream * self.floorplan.parameters.n;
        let mut count = 0;
        while waiting.len() > 1 {
            let mut sums = Vec::new();
            for pair in waiting.chunks(2) {
                let [left, right] = *pair else {
                    sums.push(pair[0]);
                    continue;
                };
                let tile = Compose {
                    machine: machine.clone(),
                    words,
                    turns,
                };
                let name = format!("composition{group}.{count}");
                let tile = network.add("composition", name, Box::new(tile));
                count += 1;
                network.connect(left, &[port(tile, 0)], stream);
                network.connect(right, &[port(tile, 1)], stream);
                sums.push(port(tile, 0));
            }
            waiting = sums;
        }
        waiting[0]
    }
}
