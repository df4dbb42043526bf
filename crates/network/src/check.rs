//! Every test that a network from a file must pass.

use crate::error::{Error, Result};
use crate::linear::{Conv, Linear};
use crate::model::{FORMAT, Input, IntNetwork, Layer};

/// Weights, biases, bounds and activations lie below `t / 2` for `t = 65537`.
const MAX_VALUE: i64 = 32_767;
/// A side, channel count, kernel count or padding.
const MAX_SIDE: usize = 1 << 15;
/// Numbers in one list. Accumulators are then below 2^(15 + 15 + 26), far inside `i64`.
const MAX_LEN: usize = 1 << 26;
const MAX_LAYERS: usize = 4096;

impl IntNetwork {
    /// Checks shapes, lengths, ranges and tables.
    ///
    /// # Errors
    /// The first failure, naming the layer, what was found and what was expected.
    pub fn check(&self) -> Result<()> {
        if self.format != FORMAT {
            return Err(Error::Format {
                found: self.format.clone(),
                expected: FORMAT,
            });
        }
        if !(1..=MAX_LAYERS).contains(&self.layers.len()) {
            return Err(Error::LayerCount {
                found: self.layers.len(),
                max: MAX_LAYERS,
            });
        }
        check_input(&self.input)?;
        let mut shape = Shape::Image(self.input.shape);
        for (index, layer) in self.layers.iter().enumerate() {
            let last = index + 1 == self.layers.len();
            shape = check_layer(layer, &shape)?;
            check_table(layer, self.input.max, last)?;
        }
        Ok(())
    }
}

/// What flows between two layers. A dense layer takes an image as the list of its numbers.
enum Shape {
    Image([usize; 3]),
    List(usize),
}

impl Shape {
    fn len(&self) -> usize {
        match self {
            Self::Image(sides) => product(sides),
            Self::List(len) => *len,
        }
    }

    fn words(&self) -> String {
        match self {
            Self::Image([c, h, w]) => format!("{c} channels of {h}x{w}"),
            Self::List(len) => format!("{len} numbers"),
        }
    }
}

/// Product that stops at the largest number instead of wrapping.
fn product(sides: &[usize]) -> usize {
    sides.iter().fold(1, |len, &side| len.saturating_mul(side))
}

/// Names the place of an error.
struct Place(String);

impl Place {
    fn range(&self, what: &'static str, found: i64, min: i64, max: i64) -> Result<()> {
        if (min..=max).contains(&found) {
            return Ok(());
        }
        Err(Error::Range {
            place: self.0.clone(),
            what,
            found,
            min,
            max,
        })
    }

    fn side(&self, what: &'static str, found: usize, min: usize) -> Result<()> {
        let found = i64::try_from(found).unwrap_or(i64::MAX);
        self.range(what, found, min as i64, MAX_SIDE as i64)
    }

    /// `list` has as many entries as the product of `sides`, each at most [`MAX_SIDE`].
    fn list(&self, what: &'static str, list: &[i64], sides: &[usize]) -> Result<()> {
        let expected = product(sides);
        if list.len() != expected {
            return Err(Error::Length {
                place: self.0.clone(),
                what,
                found: list.len(),
                expected,
            });
        }
        self.len(what, expected)
    }

    fn len(&self, what: &'static str, len: usize) -> Result<()> {
        let found = i64::try_from(len).unwrap_or(i64::MAX);
        self.range(what, found, 1, MAX_LEN as i64)
    }

    fn values(&self, what: &'static str, values: &[i64], min: i64, max: i64) -> Result<()> {
        values
            .iter()
            .try_for_each(|&value| self.range(what, value, min, max))
    }
}

fn check_input(input: &Input) -> Result<()> {
    let place = Place("input".to_owned());
    for side in input.shape {
        place.side("a side", side, 1)?;
    }
    place.len("its size", product(&input.shape))?;
    place.range("max", input.max, 1, MAX_VALUE)?;
    if !(input.scale.is_finite() && input.scale > 0.0) {
        return Err(Error::NotPositive {
            place: place.0,
            what: "scale",
            found: input.scale,
        });
    }
    Ok(())
}

fn check_layer(layer: &Layer, given: &Shape) -> Result<Shape> {
    let place = Place(format!("layer {}", layer.name));
    let (taken, result) = match &layer.linear {
        Linear::Conv(conv) => (
            Shape::Image([conv.channels, conv.input[0], conv.input[1]]),
            check_conv(conv, &place)?,
        ),
        Linear::Dense(dense) => {
            place.len("inputs", dense.inputs)?;
            place.len("outputs", dense.outputs)?;
            place.list("weights", &dense.weights, &[dense.outputs, dense.inputs])?;
            place.list("bias", &dense.bias, &[dense.outputs])?;
            (Shape::List(dense.inputs), Shape::List(dense.outputs))
        }
    };
    let fits = match (&taken, given) {
        (Shape::Image(taken), Shape::Image(given)) => taken == given,
        _ => taken.len() == given.len(),
    };
    if !fits {
        return Err(Error::Shape {
            layer: layer.name.clone(),
            found: taken.words(),
            expected: given.words(),
        });
    }
    place.values("a weight", layer.linear.weights(), -MAX_VALUE, MAX_VALUE)?;
    place.values("a bias", layer.linear.bias(), -MAX_VALUE, MAX_VALUE)?;
    Ok(result)
}

fn check_conv(conv: &Conv, place: &Place) -> Result<Shape> {
    place.side("channels", conv.channels, 1)?;
    place.side("kernels", conv.kernels, 1)?;
    place.side("stride", conv.stride, 1)?;
    place.side("padding", conv.padding, 0)?;
    for axis in [0, 1] {
        let (side, kernel) = (conv.input[axis], conv.kernel[axis]);
        place.side("an input side", side, 1)?;
        let padded = (side + 2 * conv.padding) as i64;
        place.side("a kernel side", kernel, 1)?;
        place.range("a kernel side", kernel as i64, 1, padded)?;
    }
    let [rows, columns] = conv.kernel;
    place.list(
        "weights",
        &conv.weights,
        &[conv.kernels, conv.channels, rows, columns],
    )?;
    place.list("bias", &conv.bias, &[conv.kernels])?;
    let [out_rows, out_columns] = conv.output();
    let (taken, result) = (
        [conv.channels, conv.input[0], conv.input[1]],
        [conv.kernels, out_rows, out_columns],
    );
    place.len("its input", product(&taken))?;
    place.len("its output", product(&result))?;
    Ok(Shape::Image(result))
}

fn check_table(layer: &Layer, max: i64, last: bool) -> Result<()> {
    let place = Place(format!("layer {}", layer.name));
    place.range("bound", layer.bound, 1, MAX_VALUE)?;
    match (&layer.lut, last) {
        (Some(lut), false) => {
            place.list("the table", &lut.values, &[2 * layer.bound as usize + 1])?;
            place.values("a table value", &lut.values, 0, max)
        }
        (None, true) => Ok(()),
        _ => Err(Error::Table {
            layer: layer.name.clone(),
            last,
        }),
    }
}
