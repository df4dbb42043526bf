//! Weights in safetensors files.

use crate::common::Result;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A safetensors file.
pub(crate) struct Tensors {
    path: PathBuf,
    bytes: Vec<u8>,
}

impl Tensors {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let bytes = std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
        let path = path.to_owned();
        Ok(Self { path, bytes })
    }

    /// A tensor of `size` values in bfloat16.
    pub(crate) fn read(&self, name: &str, size: usize) -> Result<Vec<f64>> {
        let values = self.bfloat16(name);
        let values = values.ok_or(format!("{}: no tensor {name}", self.path.display()))?;
        if values.len() == size {
            Ok(values)
        } else {
            let found = values.len();
            Err(format!("{name} has {found} values, expected {size}").into())
        }
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
