//! The steps of a network: linear groups and tables in turn.

use crate::Options;
use crate::builder::{Builder, Sample, Slot};
use crate::error::{Error, Result};
use crate::floods::Floods;
use crate::forms::{Form, Forms, Placing};
use crate::heads;
use crate::linear::{self, Operand, Outputs, Part, Places, Tensor};
use crate::merge;
use crate::products::{Next, alone, identity};
use circuits::lut;
use circuits::steps::Maps;
use circuits::transform::{CoeffsToSlots, SlotsToCoeffs};
use circuits::{Value, dry_engine};
use exchange::{Layout, LoopParams};
use network::{IntNetwork, Layer, Linear, Shape, Source, partners};
use program::TableShape;
use program::{Indices, Row, ValueId};
use rlwe::noise::deviations;
use std::collections::HashMap;
use std::sync::Arc;

/// Level at which the client encrypts and at which a dense layer ends. LWE samples are rounded from
/// level 0, one limb lower.
pub(crate) const LINEAR_LEVEL: usize = 1;

/// Plan of one table and the packing before it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TablePlan {
    pub(crate) start_level: usize,
    /// Level at which the next layer reads the result.
    pub(crate) end_level: usize,
    pub(crate) shape: TableShape,
    /// Predicted seconds, including slots to coefficients if it follows.
    pub(crate) seconds: f64,
}

/// One evaluation of a table: the layer, the layout of the slots, and the operation that follows.
pub(crate) type TableUse = (usize, Layout, Next);

/// Plans of all evaluations of tables.
pub(crate) type Plans = HashMap<TableUse, TablePlan>;

/// Data that depend on the plaintext modulus but on no other parameter.
pub(crate) struct Fixed {
    /// Polynomials of the tables, by layer.
    pub(crate) tables: Vec<Vec<i64>>,
    /// Indices of each table.
    pub(crate) indices: Vec<Indices>,
    /// Floods over the outputs, if their noise is hidden.
    pub(crate) floods: Option<Floods>,
    /// The maps between slots and coefficients.
    pub(crate) maps: Maps,
    trial: LoopParams,
}

impl Fixed {
    /// Interpolates the tables with the plaintext modulus of `trial`.
    pub(crate) fn new(network: &IntNetwork, options: Options, trial: &LoopParams) -> Result<Self> {
        let borders = Borders::new(network, options)?;
        let indices: Vec<Indices> = network
            .layers
            .iter()
            .map(|layer| borders.indices(layer, trial))
            .collect::<Result<_>>()?;
        let tables = ring::par_map(network.layers.len(), |i| {
            table_of(&network.layers[i], indices[i], trial)
        });
        Ok(Self {
            indices,
            tables: tables.into_iter().collect::<Result<_>>()?,
            floods: Floods::new(network, options)?,
            maps: Maps::default(),
            trial: trial.clone(),
        })
    }

    /// Level at which the client encrypts.
    pub(crate) fn input_level(&self, params: &LoopParams) -> Result<usize> {
        let floods = self.floods.as_ref();
        match floods.filter(|floods| floods.is_read(Source::Input)) {
            None => Ok(LINEAR_LEVEL),
            Some(floods) => {
                let fresh = Value::dry(LINEAR_LEVEL, dry_engine(params).model().fresh());
                Ok(floods.level(params, &fresh, None)?.max(LINEAR_LEVEL))
            }
        }
    }

    /// The map from slots to coefficients.
    pub(crate) fn transform(&self) -> &Arc<SlotsToCoeffs> {
        let made = self.maps.to_coefficients(self.trial.bfv());
        made.expect("a ring of 32,768 slots has three stages")
    }

    /// The map from coefficients to slots.
    pub(crate) fn to_slots(&self) -> &Arc<CoeffsToSlots> {
        self.maps.to_slots(&self.trial)
    }
}

/// The margin beyond a layer's bound within which its table must be correct.
struct Borders {
    /// Width of the margin, in standard deviations of a value's rounding noise.
    deviations: f64,
    log2_failure: f64,
}

impl Borders {
    /// Gives half of the allowed probability to the tables, in equal shares for all values that
    /// enter a table. A layer that is a factor of products is packed once more for each product.
    fn new(network: &IntNetwork, options: Options) -> Result<Self> {
        let shapes = network.shapes()?;
        let factor = |index: usize| {
            let products = network.layers.iter().filter_map(|layer| layer.product);
            let sources = products.flat_map(<[Source; 2]>::from);
            sources.filter(|&s| s == Source::Layer(index)).count()
        };
        let values = shapes.iter().enumerate().map(|(index, shape)| {
            let times = 1 + factor(index);
            times * shape.iter().product::<usize>()
        });
        let values = (values.sum::<usize>() * options.batch) as f64;
        Ok(Self {
            deviations: deviations(options.log2_failure - 1.0 - values.log2()),
            log2_failure: options.log2_failure,
        })
    }

    /// The indices of a layer's table: its accumulators, and the margin that noise can reach. Each
    /// term that is added up as samples brings noise of its own. Near `t / 2` the margin is
    /// smaller. The margin must be enough for a single value. A check of the complete program shows
    /// if it is enough for the whole run.
    fn indices(&self, layer: &Layer, params: &LoopParams) -> Result<Indices> {
        let half = (params.bfv().t().value() as i64 - 1) / 2;
        let samples = layer.most_samples();
        let sigma = params.rounding_sigma() * (samples as f64).sqrt();
        let wanted = (self.deviations * sigma).ceil() as i64;
        // The last residue is left out, so that there are 65,536 coefficients, which can be cut
        // into powers of two.
        let room = wanted.min(half - 1 - layer.bound);
        let failure = params.log2_beyond(room, std::iter::once(samples));
        if layer.lut.is_some() && (room < 1 || failure > self.log2_failure) {
            let most = half - 1 - wanted;
            return Err(Error::Layer {
                layer: layer.name.clone(),
                what: "the bound of its accumulators",
                found: layer.bound.to_string(),
                expected: format!(
                    "at most {most}, which leaves the {wanted} that noise needs below t / 2 for a \
                     failure of 2^{} (noise leads such a value astray with 2^{failure:.1}): \
                     quantise with a lower limit or a smaller resolution",
                    self.log2_failure
                ),
            });
        }
        Ok(Indices {
            bound: layer.bound,
            border: layer.bound + room,
        })
    }
}

/// A layer's table as a polynomial that is correct up to the border of its indices.
fn table_of(layer: &Layer, indices: Indices, params: &LoopParams) -> Result<Vec<i64>> {
    let Some(lut) = &layer.lut else {
        return Ok(Vec::new());
    };
    let t = params.bfv().t();
    let coefficients = lut::interpolate(t, indices.border, |x| lut.apply(x))?;
    Ok(coefficients.into_iter().map(|c| c as i64).collect())
}

/// The samples of a layer's accumulators, by image and output. Each accumulator is a sum of
/// samples.
struct Accumulators {
    outputs: usize,
    sums: Vec<Vec<Sample>>,
}

impl Accumulators {
    fn new(outputs: usize, batch: usize) -> Self {
        Self {
            outputs,
            sums: vec![Vec::new(); outputs * batch],
        }
    }

    fn add(&mut self, b: &mut Builder<'_>, found: &Outputs) -> Result<()> {
        let batch = b.samples_of(found.value)?;
        for (row, &coefficient) in found.rows.iter().zip(&found.at) {
            let sum = &mut self.sums[row.image * self.outputs + row.output];
            sum.push(Sample { batch, coefficient });
        }
        Ok(())
    }

    fn slot(&self, slot: usize, row: Row) -> Slot<'_> {
        Slot {
            slot,
            row,
            sum: &self.sums[row.image * self.outputs + row.output],
        }
    }
}

/// A layer's values in the form that the next layers read.
enum Values {
    /// Values in slots, with the level at which a dense layer reads them.
    Slots(ValueId, Layout, usize),
    Coefficients(Tensor),
}

/// Writes the steps of a network.
pub(crate) struct Writer<'a, 'p> {
    pub(crate) b: &'a mut Builder<'p>,
    pub(crate) network: &'a IntNetwork,
    pub(crate) batch: usize,
    pub(crate) fixed: &'a Fixed,
    pub(crate) forms: &'a Forms,
    pub(crate) plans: &'a Plans,
    /// The ciphertexts of each factor of a product, by the product's layer and the factor's source.
    pub(crate) factors: HashMap<(usize, Source), Vec<ValueId>>,
}

impl Writer<'_, '_> {
    /// Writes all steps.
    pub(crate) fn write(mut self) -> Result<()> {
        let network = self.network;
        self.b.layer(&network.layers[0].name);
        let shapes = network.shapes()?;
        let mut values = vec![Some(Values::Coefficients(self.input()?))];
        for (index, layer) in network.layers.iter().enumerate() {
            self.b.layer(&layer.name);
            let found = self.linear(index, shapes[index], &values)?;
            if layer.lut.is_none() {
                return self.outputs(found.into_iter().flatten().collect());
            }
            let count = shapes[index].iter().product();
            let mut sums = Accumulators::new(count, self.batch);
            for outputs in found.iter().flatten() {
                sums.add(self.b, outputs)?;
            }
            let made = self.table(index, shapes[index], &sums)?;
            values.push(made);
        }
        Ok(())
    }

    /// Writes the outputs. Their floods hide all of them together.
    fn outputs(&mut self, found: Vec<Outputs>) -> Result<()> {
        let count = found.iter().map(|outputs| outputs.at.len()).sum();
        let floods = self.fixed.floods.as_ref();
        let over = floods.map(|floods| (count, floods.answers()));
        for outputs in merge::merged(self.b, found, over)? {
            self.b.output(outputs, over)?;
        }
        Ok(())
    }

    /// Writes the steps that take the client's ciphertexts.
    fn input(&mut self) -> Result<Tensor> {
        let placing = &self.forms.input;
        let level = self.fixed.input_level(self.b.params())?;
        let values = (0..placing.parts(self.batch).len())
            .map(|index| self.b.input(index, level))
            .collect::<Result<_>>()?;
        Ok(tensor(placing, self.batch, values))
    }

    /// Writes a layer's accumulators, for each group of terms that add up under encryption.
    fn linear(
        &mut self,
        index: usize,
        shape: Shape,
        values: &[Option<Values>],
    ) -> Result<Vec<Vec<Outputs>>> {
        let network = self.network;
        let layer = &network.layers[index];
        let source = |source: Source| {
            let values = values[usize::from(source)].as_ref();
            values.expect("what a term reads has a form for it")
        };
        let product = self.product(index)?;
        let mut operands: Vec<Operand<'_>> = product
            .iter()
            .map(|(linear, tensor)| Operand { linear, tensor })
            .collect();
        for term in &layer.terms {
            match (source(term.source), &term.linear) {
                (Values::Coefficients(tensor), linear) => operands.push(Operand { linear, tensor }),
                (&Values::Slots(value, layout, level), Linear::Dense(dense)) => {
                    let slots = (value, layout, level);
                    return Ok(vec![self.dense_on_slots(layer, dense, slots)?]);
                }
                (Values::Slots(..), _) => unreachable!("only dense layers read slots"),
            }
        }
        let groups = linear::groups(&operands);
        let outputs: usize = shape.iter().product();
        let mut given = vec![false; outputs * self.batch];
        let mut found = Vec::new();
        if groups.len() == 1 || layer.lut.is_some() {
            for group in &groups {
                found.push(linear::accumulate(
                    self.b,
                    layer,
                    shape,
                    group,
                    Places::Shared,
                    &mut given,
                )?);
            }
        } else {
            let heads = heads::channels(&groups, shape);
            let places = match heads::meet(&heads) {
                true => Places::Own,
                false => Places::Shared,
            };
            for (group, own) in groups.iter().zip(&heads) {
                // Other channels get no bias, since they count as given.
                let others = |index| !own[heads::channel(index % outputs, shape)];
                let mut made: Vec<bool> = (0..given.len())
                    .map(|index| others(index) || given[index])
                    .collect();
                let all = linear::accumulate(self.b, layer, shape, group, places, &mut made)?;
                let kept = all
                    .into_iter()
                    .filter_map(|all| heads::kept(all, own, shape));
                found.push(kept.collect());
                for (index, given) in given.iter_mut().enumerate() {
                    *given |= made[index] && !others(index);
                }
            }
        }
        found.extend(linear::only_bias(
            self.b,
            layer,
            shape,
            operands[0].tensor,
            &given,
        )?);
        Ok(found)
    }

    /// Writes the layer's product. Returns it with the map by which the layer adds it up.
    fn product(&mut self, index: usize) -> Result<Option<(Linear, Tensor)>> {
        let (Some(product), Some(placing)) = (
            self.network.layers[index].product,
            &self.forms.products[index],
        ) else {
            return Ok(None);
        };
        let [left, right] =
            <[Source; 2]>::from(product).map(|source| self.factors[&(index, source)].clone());
        let layout = placing.layout(self.b.params().bfv().n())?;
        let mut made = Vec::new();
        for (left, right) in left.into_iter().zip(right) {
            let value = self.b.product(left, right, layout)?;
            made.push(self.b.slots_to_coefficients(value)?);
        }
        Ok(Some((
            identity(placing.shape),
            tensor(placing, self.batch, made),
        )))
    }

    /// A dense layer on slots. Each product gives as many outputs as there are copies.
    fn dense_on_slots(
        &mut self,
        layer: &Layer,
        dense: &network::Dense,
        (value, layout, level): (ValueId, Layout, usize),
    ) -> Result<Vec<Outputs>> {
        let weights = self.b.constant("weight", dense.weights.clone());
        let all: Vec<Row> = (0..self.batch)
            .flat_map(|image| (0..dense.outputs).map(move |output| Row { image, output }))
            .collect();
        all.chunks(layout.copies())
            .map(|rows| {
                let weights = (weights, dense.inputs);
                let product = self.b.dense(value, level, weights, rows.to_vec())?;
                let bias = rows.iter().map(|row| layer.bias[row.output]).collect();
                let at: Vec<usize> = (0..rows.len()).collect();
                let term = self.b.constant("bias", bias);
                let places = self
                    .b
                    .constant("places", at.iter().map(|&a| a as i64).collect());
                Ok(Outputs {
                    value: self.b.add_coefficients(product, term, places)?,
                    rows: rows.to_vec(),
                    at,
                })
            })
            .collect()
    }

    /// Packs accumulators, applies the layer's table, and brings the values into the forms in which
    /// they are read.
    fn table(&mut self, index: usize, shape: Shape, sums: &Accumulators) -> Result<Option<Values>> {
        let forms = self.forms;
        let mut known: Vec<(&Placing, Vec<ValueId>)> = Vec::new();
        for (reader, _, placing) in forms.products_of(self.network, index) {
            let made = match known.iter().find(|(other, _)| *other == placing) {
                Some((_, made)) => made.clone(),
                None => {
                    let made = self.placed(index, shape, placing, sums, Next::Product)?;
                    known.push((placing, made.clone()));
                    made
                }
            };
            self.factors.insert((reader, Source::Layer(index)), made);
        }
        Ok(match &forms.layers[index] {
            None => None,
            Some(Form::Slots(layout)) => {
                let rows = (0..self.batch)
                    .flat_map(|image| (0..sums.outputs).map(move |output| Row { image, output }));
                let slots: Vec<Slot<'_>> =
                    rows.enumerate().map(|(s, row)| sums.slot(s, row)).collect();
                let made = self.activate(index, &slots, *layout, Next::Dense)?;
                let level = self.plans[&(index, *layout, Next::Dense)].end_level;
                Some(Values::Slots(made, *layout, level))
            }
            Some(Form::Coefficients(placing)) => {
                let factor = known.into_iter().find(|(other, _)| *other == placing);
                let made = match factor {
                    Some((_, made)) if alone(self.network, index) => made,
                    _ => self.placed(index, shape, placing, sums, Next::Coefficients)?,
                };
                let mut values = Vec::new();
                for (part, value) in placing.parts(self.batch).iter().zip(made) {
                    let value = self.b.slots_to_coefficients(value)?;
                    values.push(self.with_zeros(index, placing, &part.values, value)?);
                }
                Some(Values::Coefficients(tensor(placing, self.batch, values)))
            }
        })
    }

    /// A layer's values in slots, in the places of `placing`. If a factor has sides of 1, each of
    /// its values is put at all places where the product uses it.
    fn placed(
        &mut self,
        index: usize,
        shape: Shape,
        placing: &Placing,
        sums: &Accumulators,
        next: Next,
    ) -> Result<Vec<ValueId>> {
        let layout = placing.layout(self.b.params().bfv().n())?;
        let own = partners(placing.shape, shape);
        let mut made = Vec::new();
        for part in placing.parts(self.batch) {
            let slots = part.values.iter().map(|&(position, row)| {
                let output = own[row.output];
                sums.slot(placing.ring.value(position), Row { output, ..row })
            });
            let slots: Vec<Slot<'_>> = slots.collect();
            made.push(self.activate(index, &slots, layout, next)?);
        }
        Ok(made)
    }

    fn activate(
        &mut self,
        index: usize,
        slots: &[Slot<'_>],
        layout: Layout,
        next: Next,
    ) -> Result<ValueId> {
        let plan = self.plans[&(index, layout, next)];
        let polynomial = self.b.constant("table", self.fixed.tables[index].clone());
        let packed = self.b.pack(slots, layout, plan.start_level)?;
        let table = (polynomial, self.fixed.indices[index]);
        self.b.table(packed, layout, table, plan.shape)
    }

    /// Sets positions without a value to 0. Before, they have the table's value at 0.
    fn with_zeros(
        &mut self,
        index: usize,
        placing: &Placing,
        values: &[(usize, Row)],
        value: ValueId,
    ) -> Result<ValueId> {
        let idle = self.network.layers[index]
            .lut
            .as_ref()
            .map_or(0, |lut| lut.apply(0));
        let mut free = vec![true; placing.ring.len()];
        for &(position, _) in values {
            free[position] = false;
        }
        let positions = (0..free.len()).filter(|&p| free[p]);
        let places: Vec<i64> = positions
            .flat_map(|p| placing.ring.coefficients(p))
            .collect();
        if idle == 0 || places.is_empty() {
            return Ok(value);
        }
        let term = self.b.constant("zero", vec![-idle]);
        let places = self.b.constant("places", places);
        self.b.add_coefficients(value, term, places)
    }
}

fn tensor(placing: &Placing, batch: usize, values: Vec<ValueId>) -> Tensor {
    let parts = placing.parts(batch);
    let parts = parts.into_iter().zip(values).map(|(part, value)| Part {
        value,
        images: part.images,
        channels: part.channels,
    });
    Tensor {
        ring: placing.ring,
        raster: placing.raster,
        shape: placing.shape,
        parts: parts.collect(),
    }
}
