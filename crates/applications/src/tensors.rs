//! Weights of networks, from safetensors files or synthetic.

use crate::error::{Error, Result};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A source of weights.
pub(crate) trait Weights {
    /// Reads the tensor `name`: for each output, one value for each input.
    ///
    /// # Errors
    /// [`Error::Model`] if there is no such tensor of this size.
    fn read(&mut self, name: &str, size: Size) -> Result<Vec<f64>>;
}

/// The size of a tensor: a matrix of weights, or biases, which have one input.
#[derive(Clone, Copy)]
pub(crate) struct Size {
    pub(crate) outputs: usize,
    pub(crate) inputs: usize,
}

impl Size {
    fn values(self) -> usize {
        self.outputs * self.inputs
    }
}

/// A safetensors file with tensors in bfloat16.
pub(crate) struct Tensors {
    path: PathBuf,
    bytes: Vec<u8>,
}

impl Tensors {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let bytes = std::fs::read(path).map_err(|error| Error::Model {
            path: path.to_owned(),
            what: "the file".into(),
            found: error.to_string(),
            expected: "a safetensors file".into(),
        })?;
        let path = path.to_owned();
        Ok(Self { path, bytes })
    }

    fn bfloat16(&self, name: &str) -> Option<Vec<f64>> {
        let length = u64::from_le_bytes(self.bytes.get(..8)?.try_into().ok()?);
        let start = 8usize.checked_add(usize::try_from(length).ok()?)?;
        let header: Value = serde_json::from_slice(self.bytes.get(8..start)?).ok()?;
        let tensor = &header[name];
        let offset = |i: usize| {
            start.checked_add(usize::try_from(tensor["data_offsets"][i].as_u64()?).ok()?)
        };
        let data = self.bytes.get(offset(0)?..offset(1)?)?;
        let value = |b: &[u8]| f64::from(f32::from_le_bytes([0, 0, b[0], b[1]]));
        (tensor["dtype"] == "BF16").then(|| data.chunks_exact(2).map(value).collect())
    }
}

impl Weights for Tensors {
    fn read(&mut self, name: &str, size: Size) -> Result<Vec<f64>> {
        let size = size.values();
        let wrong = |found: String| Error::Model {
            path: self.path.clone(),
            what: format!("tensor {name}"),
            found,
            expected: format!("{size} values in bfloat16"),
        };
        let values = self.bfloat16(name);
        let values = values.ok_or_else(|| wrong("missing or of another type".into()))?;
        if values.len() == size {
            return Ok(values);
        }
        Err(wrong(format!("{} values", values.len())))
    }
}

/// Synthetic weights, of no trained model. Each differs from 0, and the sums of a layer stay about
/// as large as its inputs.
///
/// The instructions of a trace depend on no weight, so synthetic weights are enough for a
/// simulation.
pub(crate) struct Synthetic {
    state: u64,
}

impl Synthetic {
    pub(crate) fn new() -> Self {
        Self { state: 1 }
    }
}

impl Weights for Synthetic {
    fn read(&mut self, _: &str, size: Size) -> Result<Vec<f64>> {
        // Knuth's generator of 64 bits (The Art of Computer Programming, volume 2, 3.3.4).
        let mut next = || {
            let product = self.state.wrapping_mul(6_364_136_223_846_793_005);
            self.state = product.wrapping_add(1_442_695_040_888_963_407);
            // An odd number over a power of two is not 0.
            (((self.state >> 44) as f64) - 524_287.5) / 524_288.0
        };
        let part = (size.inputs as f64).sqrt();
        Ok((0..size.values()).map(|_| next() / part).collect())
    }
}
