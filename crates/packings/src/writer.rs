//! Writing the circuit of a packing.

use crate::error::{Result, shape};
use crate::frame::Frame;
use crate::packed::{Contents, Messages, Packed};
use program::circuit::{CircuitBuilder, MAX_TERMS, Type, ValueId};

/// A circuit, and the places of values in its inputs and outputs.
pub(crate) struct Writer<'a> {
    b: CircuitBuilder,
    frame: &'a Frame,
    depth: usize,
    inputs: Vec<Contents>,
    outputs: Vec<Contents>,
    plain: Messages,
    weights: usize,
}

impl<'a> Writer<'a> {
    /// Starts a circuit whose inputs are `depth` levels above its outputs.
    pub(crate) fn new(name: &str, frame: &'a Frame, depth: usize) -> Result<Self> {
        let arithmetic = frame.arithmetic();
        let levels = arithmetic.levels() - 1;
        if levels < depth {
            let what = format!("the number of levels for the packing {name}");
            return Err(shape(what, levels, format!("at least {depth}")));
        }
        Ok(Self {
            b: CircuitBuilder::new(name, arithmetic, frame.slots())?,
            frame,
            depth,
            inputs: Vec::new(),
            outputs: Vec::new(),
            plain: Messages::new(),
            weights: 0,
        })
    }

    /// An encrypted input, with the numbers of the values in its slots.
    pub(crate) fn input(&mut self, values: Vec<Option<u32>>) -> Result<ValueId> {
        let name = format!("x{}", self.inputs.len());
        let id = self.b.input(&name, self.frame.fresh(self.depth))?;
        self.inputs.push(Contents { name, values });
        Ok(id)
    }

    /// An output, with the numbers of the results in its slots.
    pub(crate) fn output(&mut self, value: ValueId, values: Vec<Option<u32>>) -> Result<()> {
        let name = format!("y{}", self.outputs.len());
        self.b.output(&name, value)?;
        self.outputs.push(Contents { name, values });
        Ok(())
    }

    /// Weights or a mask in slots, for products with ciphertexts that are `above` levels above the
    /// outputs.
    pub(crate) fn weights(&mut self, slots: &[i64], above: usize) -> Result<ValueId> {
        let values: Vec<f64> = slots.iter().map(|&v| v as f64).collect();
        let name = format!("w{}", self.weights);
        self.weights += 1;
        let scale = self.b.arithmetic().factor_scale(above);
        Ok(self.b.constant(&name, &values, (above, scale))?)
    }

    /// Weights in coefficients, for products one level above the outputs.
    pub(crate) fn polynomial(&mut self, coefficients: &[i64]) -> Result<ValueId> {
        let slots = self.frame.slots_of(coefficients)?;
        if let Frame::Exact(_) = self.frame {
            let slots: Vec<i64> = slots.iter().map(|v| v.re as i64).collect();
            return self.weights(&slots, 1);
        }
        let name = format!("w{}", self.weights);
        self.weights += 1;
        let ty = Type {
            encrypted: false,
            level: 1,
            scale: self.b.arithmetic().factor_scale(1),
        };
        let id = self.b.input(&name, ty)?;
        self.plain.insert(name, slots);
        Ok(id)
    }

    /// A sum of products, one level lower and with the scale of its ciphertexts.
    pub(crate) fn sum(&mut self, terms: &[[ValueId; 2]]) -> Result<ValueId> {
        let mut parts = terms.chunks(MAX_TERMS);
        let mut sum = self.b.dot(parts.next().unwrap_or_default())?;
        for part in parts {
            let more = self.b.dot(part)?;
            sum = self.b.add(sum, more)?;
        }
        Ok(self.b.rescale(sum)?)
    }

    /// The value at the level that is `above` levels above the outputs.
    pub(crate) fn drop_to(&mut self, value: ValueId, above: usize) -> Result<ValueId> {
        Ok(self.b.drop_to(value, above)?)
    }

    /// A rotation to the left.
    pub(crate) fn rotate(&mut self, value: ValueId, steps: usize) -> Result<ValueId> {
        Ok(self.b.rotate(value, steps as isize)?)
    }

    /// A rotation to the right.
    pub(crate) fn rotate_right(&mut self, value: ValueId, steps: usize) -> Result<ValueId> {
        Ok(self.b.rotate(value, -(steps as isize))?)
    }

    /// A sum of two ciphertexts.
    pub(crate) fn add(&mut self, left: ValueId, right: ValueId) -> Result<ValueId> {
        Ok(self.b.add(left, right)?)
    }

    /// `sum_i rot^i(values_i)`, where `rot` rotates by `steps`: every value but the last one is
    /// rotated once, and all rotations use one key.
    pub(crate) fn nested(&mut self, values: &[ValueId], steps: usize) -> Result<ValueId> {
        let (&last, before) = values.split_last().expect("there is a value");
        let mut sum = last;
        for &value in before.iter().rev() {
            let rotated = self.rotate(sum, steps)?;
            sum = self.b.add(rotated, value)?;
        }
        Ok(sum)
    }

    /// The sum of `count` slots that are `stride` apart, from each slot on. The sum takes one
    /// rotation for each doubling, and one for each further bit of `count`.
    pub(crate) fn fold(&mut self, x: ValueId, stride: usize, count: usize) -> Result<ValueId> {
        let (mut power, mut total) = (x, None);
        let mut covered = 0;
        for bit in 0..=count.ilog2() {
            if bit > 0 {
                let rotated = self.rotate(power, stride << (bit - 1))?;
                power = self.b.add(power, rotated)?;
            }
            if count >> bit & 1 == 1 {
                total = Some(match total {
                    None => power,
                    Some(total) => {
                        let rotated = self.rotate(power, stride * covered)?;
                        self.b.add(rotated, total)?
                    }
                });
                covered += 1 << bit;
            }
        }
        Ok(total.expect("a number above zero has a bit"))
    }

    /// The finished layer.
    pub(crate) fn finish(self, coefficients: bool) -> Result<Packed> {
        Ok(Packed {
            circuit: self.b.finish()?,
            inputs: self.inputs,
            outputs: self.outputs,
            plain: self.plain,
            coefficients,
            frame: self.frame.clone(),
        })
    }
}
