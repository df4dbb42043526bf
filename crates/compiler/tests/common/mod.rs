//! Runs a program in the clear: messages modulo `t`, without keys and without noise.

#![allow(
    unreachable_pub,
    clippy::unwrap_used,
    reason = "a module of a test binary, and tests may panic"
)]

use circuits::steps::packed as packed_values;
use circuits::transform::coefficient_of_slot;
use exchange::LoopParams;
use network::{IntNetwork, Trace};
use program::{Form, Op, Packed, Patch, Program, Row, Shifted, Term, Type, ValueId};
use std::collections::BTreeMap;

/// A message: `N` coefficients, samples or slots, in `[0, t)`.
type Message = Vec<i64>;

/// Results of the steps, and the exact integers of each layer.
pub struct Clear<'a> {
    program: &'a Program,
    network: &'a IntNetwork,
    images: &'a [Vec<i64>],
    traces: &'a [Trace],
    values: Vec<Message>,
    /// Accumulators that have entered a table, and logits, by layer, image and output.
    seen: Vec<Vec<Vec<bool>>>,
    /// The number and the sum of the parts of each result, by image and output.
    results: BTreeMap<(usize, usize), (usize, i64)>,
    most_parts: usize,
}

impl<'a> Clear<'a> {
    /// Runs the whole program and compares every layer with the exact integers. Returns the largest
    /// number of parts of which a result is the sum.
    pub fn check(
        program: &'a Program,
        network: &'a IntNetwork,
        images: &'a [Vec<i64>],
        traces: &'a [Trace],
    ) -> usize {
        let none = |layer: usize| -> Vec<Vec<bool>> {
            let outputs = traces[0].layers[layer].outputs.len();
            vec![vec![false; outputs]; images.len()]
        };
        let mut clear = Self {
            program,
            network,
            images,
            traces,
            values: Vec::new(),
            seen: (0..network.layers.len()).map(none).collect(),
            results: BTreeMap::new(),
            most_parts: 0,
        };
        for step in 0..program.steps.len() {
            let made = clear.step(step);
            clear.values.push(made);
        }
        let last = program.steps.len() - 1;
        for ((image, output), (parts, sum)) in std::mem::take(&mut clear.results) {
            clear.most_parts = clear.most_parts.max(parts);
            clear.accumulator(last, Row { image, output }, sum);
        }
        for (layer, seen) in network.layers.iter().zip(&clear.seen) {
            let missing = seen.iter().flatten().filter(|seen| !**seen).count();
            assert_eq!(
                missing, 0,
                "outputs of layer {} that are missing",
                layer.name
            );
        }
        clear.most_parts
    }

    fn t(&self) -> i64 {
        self.program.parameters.t as i64
    }

    fn n(&self) -> usize {
        self.program.parameters.n
    }

    fn centred(&self, x: i64) -> i64 {
        let x = x.rem_euclid(self.t());
        if x > self.t() / 2 { x - self.t() } else { x }
    }

    fn constant(&self, id: usize) -> &[i64] {
        &self.program.constants[id].values
    }

    /// Number of values in the layout of a step in slots.
    fn room(&self, step: ValueId) -> usize {
        match self.program.steps[step].ty {
            Type::Ciphertext {
                form: Form::Slots(values),
                ..
            } => values,
            other => panic!("{other:?} is not in slots"),
        }
    }

    fn layer_of(&self, step: ValueId) -> usize {
        let name = &self.program.steps[step].layer;
        let found = self.network.layers.iter().position(|l| &l.name == name);
        found.expect("every step's layer is the network's")
    }

    fn step(&mut self, step: ValueId) -> Message {
        let made = match &self.program.steps[step].op {
            Op::Input { index } if self.program.interleaved => {
                let mut message: Message = self.images.iter().map(|image| image[*index]).collect();
                message.resize(self.n(), 0);
                message
            }
            Op::Input { index } => self.input(&self.program.placement[*index]),
            Op::MulCoefficients { terms } => self.products(terms),
            Op::AddCoefficients { value, term, at } => {
                let (mut sum, term) = (self.values[*value].clone(), self.constant(*term));
                for (index, &place) in self.constant(*at).iter().enumerate() {
                    sum[place as usize] += term[index % term.len()];
                }
                sum
            }
            Op::ToSamples { value } => self.values[*value].clone(),
            Op::Pack {
                sources, values, ..
            } => return self.pack(step, sources, values),
            Op::PackAll {
                value,
                outputs,
                batch,
                ..
            } => {
                for (strip, &output) in outputs.iter().enumerate() {
                    for image in 0..*batch {
                        let found = self.values[*value][strip * batch + image];
                        self.accumulator(step, Row { image, output }, found);
                    }
                }
                let coefficient = |slot| coefficient_of_slot(self.n(), slot);
                let slots = 0..self.n();
                slots
                    .map(|slot| self.values[*value][coefficient(slot)])
                    .collect()
            }
            Op::Table {
                value, polynomial, ..
            } => return self.table(step, *value, *polynomial),
            Op::Product { left, right } => {
                let factors = self.values[*left].iter().zip(&self.values[*right]);
                factors.map(|(x, y)| x * y).collect()
            }
            Op::Dense {
                value,
                weights,
                inputs,
                rows,
            } => self.dense(*value, *weights, *inputs, rows),
            Op::SlotsToCoefficients { value, kept } => {
                let slots = &self.values[*value];
                let [from, to] = kept.unwrap_or([0, self.n()]);
                let mut message = vec![0; self.n()];
                for (slot, &x) in slots.iter().enumerate() {
                    let at = coefficient_of_slot(self.n(), slot);
                    message[at] = if (from..to).contains(&at) { x } else { 0 };
                }
                message
            }
            Op::Merge { sources } => self.merge(sources),
            Op::Output {
                value, rows, at, ..
            } => {
                let (message, rows, at) = (self.values[*value].clone(), rows.clone(), at.clone());
                for (row, at) in rows.into_iter().zip(at) {
                    let (parts, sum) = self.results.entry((row.image, row.output)).or_default();
                    (*parts, *sum) = (*parts + 1, *sum + message[at]);
                }
                message
            }
        };
        made.into_iter().map(|x| x.rem_euclid(self.t())).collect()
    }

    fn input(&self, tiles: &[Patch]) -> Message {
        let [_, height, width] = self.program.input;
        let mut message = vec![0; self.n()];
        let mut taken = vec![false; self.n()];
        for tile in tiles {
            let [from, to] = tile.channels;
            for c in from..to {
                for (y, x) in (0..height).flat_map(|y| (0..width).map(move |x| (y, x))) {
                    let at = tile.start + (c - from) * tile.pitch[0] + y * tile.pitch[1] + x;
                    assert!(!taken[at], "parts of images lie apart");
                    taken[at] = true;
                    message[at] = self.images[tile.image][(c * height + y) * width + x];
                }
            }
        }
        message
    }

    /// Sum of negacyclic products, not reduced on the way. Values are below `2^17` and weights
    /// below `2^15`. There are at most `2^15` products in each of at most `2^10` terms.
    fn products(&self, terms: &[Term]) -> Message {
        let n = self.n();
        let mut sum = vec![0; n];
        for term in terms {
            let (message, weights) = (&self.values[term.value], self.constant(term.weights));
            for (&weight, &exponent) in weights.iter().zip(self.constant(term.exponents)) {
                let (shift, sign) = match exponent as usize {
                    e if e < n => (e, weight),
                    e => (e - n, -weight),
                };
                let (low, high) = sum.split_at_mut(shift);
                let add = |sum: &mut [i64], part: &[i64], weight: i64| {
                    for (sum, x) in sum.iter_mut().zip(part) {
                        *sum += weight * x;
                    }
                };
                add(high, &message[..n - shift], sign);
                add(low, &message[n - shift..], -sign);
            }
        }
        sum
    }

    /// Every `m`-th coefficient of each source, in the order of bits in reverse.
    fn merge(&self, sources: &[Shifted]) -> Message {
        let (n, count) = (self.n(), sources.len());
        let m = count.next_power_of_two();
        let mut message = vec![0; n];
        for (k, source) in sources.iter().enumerate() {
            let bits = (0..).take_while(|b| 1 << b < m);
            let place: usize = bits.map(|b| (k >> b & 1) * (m >> (b + 1))).sum();
            for i in (0..n).step_by(m) {
                let from = i + source.back;
                let word = self.values[source.value][from % n];
                message[i + place] = if from < n { word } else { -word };
            }
        }
        message
    }

    /// Checks an accumulator: it equals the exact one and is the first of its kind. Factors of
    /// products may occur more than once: they are packed for the products too, at all places where
    /// these need them.
    fn accumulator(&mut self, step: ValueId, row: Row, found: i64) {
        let layer = self.layer_of(step);
        let wanted = self.traces[row.image].layers[layer].accumulators[row.output];
        let found = self.centred(found);
        let name = &self.network.layers[layer].name;
        assert_eq!(found, wanted, "layer {name}, step {step}, {row:?}");
        let seen = &mut self.seen[layer][row.image][row.output];
        let own = network::Source::Layer(layer);
        let products = self.network.layers.iter().filter_map(|l| l.product);
        let factor = products
            .into_iter()
            .any(|p| p.left == own || p.right == own);
        assert!(
            !std::mem::replace(seen, true) || factor,
            "layer {name}, {row:?} twice"
        );
    }

    fn pack(&mut self, step: ValueId, sources: &[ValueId], values: &[Packed]) -> Message {
        let room = self.room(step);
        let mut slots = vec![0; room];
        for &Packed(slot, image, output, ref samples) in values {
            let taken = samples.iter().map(|&[s, at]| self.values[sources[s]][at]);
            let sum = taken.sum::<i64>().rem_euclid(self.t());
            slots[slot] = sum;
            self.accumulator(step, Row { image, output }, sum);
        }
        (0..self.n()).map(|slot| slots[slot % room]).collect()
    }

    /// The polynomial's values in every slot. Where there is an accumulator, the value equals that
    /// of the network's table.
    fn table(&self, step: ValueId, packed: ValueId, polynomial: usize) -> Message {
        let (room, t) = (self.room(step), self.t());
        let mut known = std::collections::HashMap::new();
        let evaluate = |x: i64| {
            let horner = |sum, &c: &i64| (sum * x + c) % t;
            self.constant(polynomial).iter().rev().fold(0, horner)
        };
        let slots: Vec<i64> = self.values[packed][..room]
            .iter()
            .map(|&x| *known.entry(x).or_insert_with(|| evaluate(x)))
            .collect();
        let layer = self.layer_of(step);
        let params = LoopParams::of(&self.program.parameters).unwrap();
        let packing = packed_values(&params, &self.program.steps[packed].op);
        let (_, values) = packing.expect("a table follows a packing");
        for &Packed(slot, image, output, _) in &*values {
            let wanted = self.traces[image].layers[layer].outputs[output];
            assert_eq!(
                self.centred(slots[slot]),
                wanted,
                "step {step}, slot {slot}"
            );
        }
        (0..self.n()).map(|slot| slots[slot % room]).collect()
    }

    /// Coefficients that are not outputs hold values that no step may read.
    fn dense(&self, value: ValueId, weights: usize, inputs: usize, rows: &[Row]) -> Message {
        let (slots, weights) = (&self.values[value], self.constant(weights));
        let mut message: Vec<i64> = (0..self.n() as i64).map(|k| k * 7919 + 12_345).collect();
        for (out, row) in message.iter_mut().zip(rows) {
            let x = &slots[row.image * inputs..][..inputs];
            let w = &weights[row.output * inputs..][..inputs];
            *out = x.iter().zip(w).map(|(x, w)| x * w).sum();
        }
        message
    }
}
