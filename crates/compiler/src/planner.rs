//! Plans tables: the level at which each starts, and the shape that is cheapest.

use crate::choices::{Candidate, Comparison, TableCost};
use crate::error::{Error, Result};
use crate::floods::Floods;
use crate::layers::{Fixed, TablePlan, TableUse};
use crate::products::Next;
use circuits::dense;
use circuits::lut::{self, Lut};
use circuits::pack_all::pack_all;
use circuits::transform::{CoeffsToSlots, SlotsToCoeffs};
use circuits::{Counts, DryValue, dry_engine, pack};
use exchange::{Layout, LoopParams};
use network::{IntNetwork, Layer, Source};
use program::TableShape;
use std::collections::HashMap;
use std::rc::Rc;

/// Level of a table's result where it enters the next linear layer.
const END_LEVEL: usize = 1;
/// Number of levels by which a table may start higher if it ends too noisy.
const MORE_LEVELS: usize = 2;

/// Plans tables for one set of parameters.
pub(crate) struct Planner<'a> {
    pub(crate) network: &'a IntNetwork,
    fixed: &'a Fixed,
    params: &'a LoopParams,
    /// Whether tables read packings of all samples.
    pack_all: bool,
    reach_bits: f64,
    /// Plans by length of the polynomial, layout, operation that follows, and true if the last
    /// layer reads the result and floods its outputs.
    known: HashMap<(usize, Layout, Next, bool), Rc<Planned>>,
}

impl<'a> Planner<'a> {
    pub(crate) fn new(
        network: &'a IntNetwork,
        fixed: &'a Fixed,
        params: &'a LoopParams,
        pack_all: bool,
    ) -> Self {
        Self {
            network,
            fixed,
            params,
            pack_all,
            reach_bits: reach_bits(network),
            known: HashMap::new(),
        }
    }

    /// The cheapest plan of each table.
    pub(crate) fn plan_all(
        &mut self,
        tables: impl IntoIterator<Item = TableUse>,
    ) -> Result<HashMap<TableUse, Rc<Planned>>> {
        tables
            .into_iter()
            .map(|table| Ok((table, self.plan(table)?)))
            .collect()
    }

    pub(crate) fn plan(&mut self, (index, layout, next): TableUse) -> Result<Rc<Planned>> {
        let len = self.fixed.tables[index].len();
        let floods = self.fixed.floods.as_ref();
        let floods = floods.filter(|floods| floods.is_read(Source::Layer(index)));
        let key = (len, layout, next, floods.is_some());
        if let Some(plan) = self.known.get(&key) {
            return Ok(plan.clone());
        }
        let task = Task {
            layer: &self.network.layers[index].name,
            len,
            layout,
            to_slots: self.pack_all.then(|| self.fixed.to_slots().as_ref()),
            transform: (next != Next::Dense).then(|| self.fixed.transform().as_ref()),
            product: next == Next::Product,
            reach_bits: self.reach_bits,
            floods,
        };
        let plan = Rc::new(plan_table(&task, self.params)?);
        self.known.insert(key, plan.clone());
        Ok(plan)
    }
}

/// The cheapest plan of a table, and all plans that were compared.
pub(crate) struct Planned {
    pub(crate) plan: TablePlan,
    pub(crate) compared: Vec<Candidate<TableShape, TableCost>>,
}

/// A table to be planned.
struct Task<'a> {
    layer: &'a str,
    /// Number of coefficients of its polynomial.
    len: usize,
    layout: Layout,
    /// The map to slots, if all samples are packed.
    to_slots: Option<&'a CoeffsToSlots>,
    /// The slots-to-coefficients map after the table, if the next layer reads coefficients.
    transform: Option<&'a SlotsToCoeffs>,
    /// True if a product comes between the table and that map.
    product: bool,
    reach_bits: f64,
    /// Floods over the outputs, if the last layer reads the result.
    floods: Option<&'a Floods>,
}

impl Task<'_> {
    /// Plans the table in one shape. The table starts at the lowest level from which the next
    /// linear layer can use its result.
    ///
    /// First the table starts at the top. If it ends too high, it starts lower by as many levels.
    /// Then it ends at the right level in most cases. It does not if digits of key switching are
    /// cut differently, or if a limb is kept because of noise. Then it starts a little higher.
    fn plan(&self, params: &LoopParams, shape: TableShape) -> Result<TableCost> {
        let top = params.bfv().rlwe().max_level();
        let lut = Lut::new(vec![0; self.len], shape)?;
        let (end, _) = self.run_dry(params, &lut, top, END_LEVEL)?;
        let end_level = self.end_level(params, &end)?;
        let lowest = (top + end_level).saturating_sub(end.level());
        let mut last = self.too_long("the number of limbs of its table", lowest + 1, top + 1);
        for start_level in lowest..=(lowest + MORE_LEVELS).min(top) {
            match self.run_dry(params, &lut, start_level, end_level) {
                Ok((end, counts)) if self.goes_on(params, &end, end_level)? => {
                    return Ok(TableCost {
                        start_level,
                        end_level,
                        products: counts.products,
                        seconds: counts.seconds(params.bfv().n()),
                    });
                }
                Ok(_) => {}
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Lowest level at which the next layer can read `end`, the result of a table.
    fn end_level(&self, params: &LoopParams, end: &DryValue) -> Result<usize> {
        let slots = self.transform.is_none().then_some(self.layout);
        let flooded = self.floods.map(|floods| floods.level(params, end, slots));
        Ok(flooded.transpose()?.unwrap_or(END_LEVEL).max(END_LEVEL))
    }

    /// Result of the table, and its cost, packing included. A dense layer reads it at `end_level`.
    fn run_dry(
        &self,
        params: &LoopParams,
        lut: &Lut,
        start_level: usize,
        end_level: usize,
    ) -> Result<(DryValue, Counts)> {
        let engine = dry_engine(params);
        let pack = || match self.to_slots {
            Some(map) => pack_all(&engine, map, &(), start_level),
            None => pack::pack(&engine, params, self.layout, &[], start_level),
        };
        // The first packing makes the baby steps for all packings. A later packing, which takes
        // less, is counted.
        pack()?;
        let before = engine.counts();
        let packed = pack()?;
        let mut result = lut.apply(&engine, self.layout, &packed)?;
        if self.product {
            let like_it = result.clone();
            result = engine.mul("product", &result, &like_it)?;
        }
        if let Some(transform) = self.transform {
            result = transform.apply(&engine, &result)?;
        } else if result.level() >= end_level {
            result = dense::Layer::ready(&engine, self.layout, result, end_level)?;
        }
        Ok((result, engine.counts().since(&before)))
    }

    /// Returns true if products with the next layers' weights still decrypt. A dense layer from
    /// slots has a plaintext as large as `t`, whatever its weights, so the level alone decides.
    fn goes_on(&self, params: &LoopParams, end: &DryValue, end_level: usize) -> Result<bool> {
        let engine = dry_engine(params);
        let reaches = || {
            engine.margin_bits(end) >= self.reach_bits
                && engine.bears_points(end, self.reach_bits - ROOM_BITS)
        };
        let is_high = end.level() >= end_level && self.end_level(params, end)? <= end_level;
        Ok(is_high && (self.transform.is_none() || reaches()))
    }

    fn too_long(&self, what: &'static str, found: usize, expected: usize) -> Error {
        Error::Layer {
            layer: self.layer.into(),
            what,
            found: found.to_string(),
            expected: format!("at most {expected}"),
        }
    }
}

/// The cheapest plan of a table.
fn plan_table(task: &Task<'_>, params: &LoopParams) -> Result<Planned> {
    let mut comparison = Comparison::new();
    let shapes = lut::shapes(task.len, task.layout);
    for &shape in &shapes {
        comparison.add(shape, task.plan(params, shape));
    }
    let Some((best, &cost)) = comparison.cheapest() else {
        let too_large = || task.too_long("the size of its table", task.len, 65537);
        return Err(comparison.reason().unwrap_or_else(too_large));
    };
    Ok(Planned {
        plan: TablePlan {
            start_level: cost.start_level,
            end_level: cost.end_level,
            shape: shapes[best],
            seconds: cost.seconds,
        },
        compared: comparison.choose(best, |cost| cost),
    })
}

/// Reserve on top of the growth of noise in products with weights, in bits.
const ROOM_BITS: f64 = 3.0;

/// Largest number of bits by which products with the weights of a network's layers raise noise,
/// plus [`ROOM_BITS`].
fn reach_bits(network: &IntNetwork) -> f64 {
    let squares = |layer: &Layer| -> f64 {
        let weights = layer.terms.iter().flat_map(|t| t.linear.weights());
        weights.map(|&w| (w as f64).powi(2)).sum()
    };
    let largest = network.layers.iter().map(squares).fold(1.0, f64::max);
    largest.log2() / 2.0 + ROOM_BITS
}
