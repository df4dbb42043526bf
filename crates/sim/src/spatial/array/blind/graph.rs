//! The graph of a blind rotation: the connections between tiles.

use crate::error::Result;
use crate::spatial::array::ends::Sink;
use crate::spatial::array::floorplan::Floorplan;
use crate::spatial::array::memory::{Channels, Load, Supply};
use crate::spatial::array::multiplier::Tables;
use crate::spatial::array::streams::{Merge, Split, add_sums};
use crate::spatial::array::tiles::{Accumulate, Decompose, Rotation};
use crate::spatial::network::{Network, Port, port};

/// The words for a run. They are empty if only times are wanted.
#[derive(Default)]
pub(in crate::spatial::array) struct Job {
    pub(in crate::spatial::array) accumulator: Vec<u32>,
    pub(in crate::spatial::array) exponents: Vec<u32>,
    pub(in crate::spatial::array) rows: Vec<u32>,
}

/// The surroundings of a blind rotation: the supply of its channels, and the channels that it
/// shares.
#[derive(Clone, Copy, Debug)]
pub(in crate::spatial::array) struct Around {
    /// Source of the words of its channels.
    pub(in crate::spatial::array) supply: Supply,
    /// Number of channels that the rotation shares with a key switch on the array. A tile behind
    /// each of them sends words to one of the two. If there are shared channels, both share the
    /// channel of results too.
    pub(in crate::spatial::array) shared: usize,
}

impl Around {
    /// A blind rotation alone, whose words are always there.
    pub(in crate::spatial::array) const NOTHING: Self = Self {
        supply: Supply::Ready,
        shared: 0,
    };
}

/// A network, and the tiles from which words and times are read.
pub(in crate::spatial::array) struct Graph {
    pub(in crate::spatial::array) network: Network,
    pub(in crate::spatial::array) sink: usize,
    pub(super) rotation: usize,
}

/// The data from which all parts of a graph are built.
struct Builder<'a> {
    floorplan: &'a Floorplan,
    around: Around,
    tables: Tables,
    channels: Channels<'a>,
    /// Number of channels so far.
    count: usize,
}

impl Graph {
    /// Builds the graph of `turns` iterations.
    pub(in crate::spatial::array) fn new(
        floorplan: &Floorplan,
        around: Around,
        turns: usize,
        job: Job,
    ) -> Result<Self> {
        let mut build = Builder {
            floorplan,
            around,
            tables: floorplan.unit.tables()?,
            channels: Channels::new(&floorplan.machine, around.supply),
            count: 0,
        };
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
                let (digits, words): (Vec<Port>, Vec<Port>) = inputs
                    .into_iter()
                    .map(|[digits, words]| (digits, words))
                    .unzip();
                network.connect(port(tile, 0), &digits, stream);
                let keys = parameters.keys_of_row(row, turns, &job.rows);
                build.key_stream(network, (row, turns), keys, &words);
                for (group, outputs) in outputs.chunks(per_group).enumerate() {
                    products[group].push(build.merged(network, (row, group, turns), outputs));
                }
            }
        }
        debug_assert!(products.iter().all(|group| group.len() == rows));
        for (group, products) in products.into_iter().enumerate() {
            let name = format!("composition{group}");
            let sum = add_sums(network, machine, (&name, group_words, turns), products);
            network.connect(sum, &[port(accumulations[group], 0)], stream);
        }

        let words = components * n;
        let load = |turns, words| Load {
            turns,
            words,
            ahead: true,
        };
        let from = build.channel(network, "in0".into(), load(1, words), job.accumulator);
        network.connect(from, &[port(accumulations[0], 1)], stream);
        let from = build.channel(network, "exponents".into(), load(turns, 1), job.exponents);
        let inputs: Vec<Port> = rotations.iter().map(|&tile| port(tile, 1)).collect();
        network.connect(from, &inputs, stream);
        let mut last = port(accumulations[floorplan.groups() - 1], 1);
        if around.shared > 0 {
            let join = Merge {
                machine: machine.clone(),
                first: words,
                rest: 0,
                turns: 1,
            };
            let join = network.add("join", "join".into(), Box::new(join));
            network.connect(last, &[port(join, 0)], stream);
            last = port(join, 0);
        }
        let sink = Sink::new(machine, (1, words));
        let sink = network.add("channel", "out0".into(), Box::new(sink));
        network.connect(last, &[port(sink, 0)], stream);
        build.channels.finish(network);
        Ok(Self {
            network: std::mem::take(network),
            sink,
            rotation: rotations[0],
        })
    }
}

impl Builder<'_> {
    /// The multipliers of a row. Returns their inputs and their outputs.
    fn row(
        &self,
        network: &mut Network,
        row: usize,
        turns: usize,
    ) -> Result<(Vec<[Port; 2]>, Vec<Port>)> {
        let floorplan = self.floorplan;
        let chains = (0..floorplan.parameters.components()).map(|column| {
            let name = format!("element{row}.{column}");
            let name = (name.as_str(), turns);
            floorplan
                .unit
                .add(network, &floorplan.machine, &self.tables, name)
        });
        Ok(chains.collect::<Result<Vec<_>>>()?.into_iter().unzip())
    }

    /// A channel into the array. If a key switch shares it, a tile passes the words on.
    fn channel(
        &mut self,
        network: &mut Network,
        name: String,
        load: Load,
        words: Vec<u32>,
    ) -> Port {
        let machine = &self.floorplan.machine;
        let gate = format!("gate.{name}");
        let from = self.channels.add(network, name, load, words);
        self.count += 1;
        if self.count > self.around.shared {
            return from;
        }
        let tile = Split {
            machine: machine.clone(),
            first: load.words,
            rest: 0,
            turns: load.turns,
        };
        let tile = network.add("gate", gate, Box::new(tile));
        network.connect(from, &[port(tile, 0)], (machine.fifo(), machine.hop()));
        port(tile, 0)
    }

    /// A channel of keys through splits. Each split sends a polynomial to a multiplier and passes
    /// the rest on.
    fn key_stream(
        &mut self,
        network: &mut Network,
        (row, turns): (usize, usize),
        keys: Vec<u32>,
        multipliers: &[Port],
    ) {
        let (machine, n) = (&self.floorplan.machine, self.floorplan.parameters.n);
        let stream = (machine.fifo(), machine.hop());
        let load = Load {
            turns,
            words: multipliers.len() * n,
            ahead: false,
        };
        let mut from = self.channel(network, format!("key{row}"), load, keys);
        for (column, &words) in multipliers.iter().enumerate() {
            let rest = multipliers.len() - column - 1;
            if rest == 0 {
                network.connect(from, &[words], stream);
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
            network.connect(port(split, 0), &[words], stream);
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
            first: self.floorplan.parameters.n,
            rest: self.floorplan.parameters.n,
            turns,
        };
        let merge = network.add("merge", format!("merge{row}.{group}"), Box::new(merge));
        network.connect(first, &[port(merge, 0)], stream);
        network.connect(second, &[port(merge, 1)], stream);
        port(merge, 0)
    }
}
