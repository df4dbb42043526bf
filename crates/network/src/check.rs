//! All tests that a network must pass, and the shapes of its layers.

use std::collections::HashMap;

use crate::error::{Error, Result};
use crate::input::Input;
use crate::model::{IntNetwork, Layer, Product, Source};
use crate::place::{MAX_BIAS, MAX_LEN, MAX_VALUE, Place, Shape, product, words};
use serde_json::Value;

const MAX_LAYERS: usize = 4096;
/// A term adds up at most 2^26 products of 30 bits. Accumulators of at most 2^6 terms and a product
/// stay far inside `i64`.
const MAX_TERMS: usize = 64;
/// Largest size of the interface, in bytes. Labels of a few thousand classes fit.
const MAX_INTERFACE: usize = 1 << 20;

impl IntNetwork {
    /// Checks shapes, lengths, ranges, sources and tables.
    ///
    /// # Errors
    /// The error of the first rule that the network breaks. It names the place, the value there and
    /// the values that are allowed.
    pub fn check(&self) -> Result<()> {
        self.shapes().map(drop)
    }

    /// Returns the shape of each layer's output: channels, height, width. Checks the network too.
    ///
    /// # Errors
    /// The errors of [`check`](Self::check).
    pub fn shapes(&self) -> Result<Vec<Shape>> {
        let whole = Place("network".to_owned());
        whole.count("the number of layers", self.layers.len(), 1, MAX_LAYERS)?;
        self.check_names()?;
        check_input(&self.input)?;
        check_interface(self.interface.as_ref())?;
        let mut shapes = vec![self.input.shape];
        let mut values = product(&self.input.shape);
        for layer in &self.layers {
            let shape = check_terms(layer, &shapes)?;
            let place = Place(format!("layer {}", layer.name));
            place.list("bias", &layer.bias, &[shape[0]])?;
            place.values("a bias", &layer.bias, -MAX_BIAS, MAX_BIAS)?;
            place.positive("scale", layer.scale)?;
            check_table(layer, shapes.len() == self.layers.len(), &place)?;
            values = values.saturating_add(product(&shape));
            whole.count("the number of values", values, 1, MAX_LEN)?;
            shapes.push(shape);
        }
        self.check_readers()?;
        shapes.remove(0);
        Ok(shapes)
    }

    fn check_names(&self) -> Result<()> {
        let mut numbers = HashMap::new();
        for (index, layer) in self.layers.iter().enumerate() {
            if let Some(first) = numbers.insert(&layer.name, index + 1) {
                return Err(Error::Name {
                    name: layer.name.clone(),
                    first,
                    second: index + 1,
                });
            }
        }
        Ok(())
    }

    /// Checks that every layer but the last is read.
    fn check_readers(&self) -> Result<()> {
        let mut read = vec![false; self.layers.len()];
        for source in self.layers.iter().flat_map(Layer::sources) {
            if let Source::Layer(index) = source {
                read[index] = true;
            }
        }
        read.pop();
        match self.layers.iter().zip(read).find(|(_, read)| !read) {
            None => Ok(()),
            Some((layer, _)) => Err(Error::Unread {
                layer: layer.name.clone(),
            }),
        }
    }
}

/// Checks only that the interface is small. Its content is passed on unchanged.
fn check_interface(interface: Option<&Value>) -> Result<()> {
    let bytes = interface.map_or(0, |value| value.to_string().len());
    let place = Place("interface".to_owned());
    place.count("its bytes", bytes, 0, MAX_INTERFACE)
}

fn check_input(input: &Input) -> Result<()> {
    let place = Place("input".to_owned());
    for side in input.shape {
        place.side("a side", side)?;
    }
    place.count("its size", product(&input.shape), 1, MAX_LEN)?;
    place.range("min", input.min, -MAX_VALUE, MAX_VALUE - 1)?;
    place.range("max", input.max, input.min + 1, MAX_VALUE)?;
    place.positive("scale", input.scale)?;
    for (what, list) in [("mean", &input.mean), ("std", &input.std)] {
        if !list.is_empty() && list.len() != input.shape[0] {
            return Err(place.length(what, list.len(), input.shape[0]));
        }
    }
    for &std in &input.std {
        let good = std.is_finite() && std != 0.0;
        place.real("a std", std, good, "a finite number other than 0")?;
    }
    for &mean in &input.mean {
        place.real("a mean", mean, mean.is_finite(), "a finite number")?;
    }
    Ok(())
}

/// Returns the common shape of a layer's terms and its product, given the shapes of its sources.
fn check_terms(layer: &Layer, sources: &[Shape]) -> Result<Shape> {
    let single = layer.terms.len() == 1;
    Place(format!("layer {}", layer.name)).count(
        "the number of terms",
        layer.terms.len(),
        usize::from(layer.product.is_none()),
        MAX_TERMS,
    )?;
    let mut common = None;
    if let Some(product) = layer.product {
        let place = Place(format!("layer {}, product", layer.name));
        common = Some(check_product(product, sources, &place)?);
    }
    for (index, term) in layer.terms.iter().enumerate() {
        let place = Place(if single {
            format!("layer {}", layer.name)
        } else {
            format!("layer {}, term {}", layer.name, index + 1)
        });
        let number = usize::from(term.source);
        place.count("its source", number, 0, sources.len() - 1)?;
        let shape = term.linear.check(sources[number], &place)?;
        place.values("a weight", term.linear.weights(), -MAX_VALUE, MAX_VALUE)?;
        let expected = *common.get_or_insert(shape);
        if shape != expected {
            return Err(place.terms(shape, expected));
        }
    }
    Ok(common.expect("a layer has at least one term or a product"))
}

/// Returns the shape of a product. The input cannot be a factor: it has no table, which would leave
/// its values in slots.
fn check_product(product: Product, sources: &[Shape], place: &Place) -> Result<Shape> {
    let [left, right] = [product.left, product.right].map(usize::from);
    for number in [left, right] {
        place.count("a factor's source", number, 1, sources.len() - 1)?;
    }
    let (left, right) = (sources[left], sources[right]);
    let fits = left.iter().zip(right).all(|(&l, r)| r == l || r == 1);
    if !fits {
        let wanted = format!("{}, or 1 in place of any side", words(left));
        return Err(place.shape(wanted, right));
    }
    Ok(left)
}

fn check_table(layer: &Layer, last: bool, place: &Place) -> Result<()> {
    place.range("bound", layer.bound, 1, MAX_VALUE)?;
    let lut = match (&layer.lut, last) {
        (Some(lut), false) => lut,
        (None, true) => return Ok(()),
        _ => {
            return Err(Error::Table {
                layer: layer.name.clone(),
                last,
            });
        }
    };
    let runs = lut.starts.len();
    place.count(
        "the number of runs of the table",
        runs,
        1,
        2 * MAX_VALUE as usize + 1,
    )?;
    place.list("the list of values of the table", &lut.values, &[runs])?;
    place.values("a value of the table", &lut.values, -MAX_VALUE, MAX_VALUE)?;
    let (mut least, mut most) = (-layer.bound, -layer.bound);
    for &start in &lut.starts {
        place.range("a start of the table", start, least, most)?;
        (least, most) = (start + 1, layer.bound);
    }
    Ok(())
}
