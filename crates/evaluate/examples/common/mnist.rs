//! MNIST.

use crate::common::Result;
use flate2::read::GzDecoder;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Images of 28 x 28 pixels, 0 to 255, with their labels.
pub(crate) struct Images {
    pub(crate) pixels: Vec<Vec<u8>>,
    pub(crate) labels: Vec<u8>,
}

impl Images {
    /// Loads the gzipped IDX files of `part`, `train` or `t10k`, in `folder`.
    pub(crate) fn load(folder: &Path, part: &str) -> Result<Self> {
        let pixels = idx(&folder.join(format!("{part}-images-idx3-ubyte.gz")), 3)?;
        let labels = idx(&folder.join(format!("{part}-labels-idx1-ubyte.gz")), 1)?;
        let pixels: Vec<Vec<u8>> = pixels.chunks_exact(28 * 28).map(<[u8]>::to_vec).collect();
        if pixels.len() == labels.len() {
            Ok(Self { pixels, labels })
        } else {
            Err(format!("{} images, {} labels", pixels.len(), labels.len()).into())
        }
    }
}

/// Reads the bytes of an IDX file with the given number of dimensions.
fn idx(path: &Path, dimensions: usize) -> Result<Vec<u8>> {
    let within = |error: std::io::Error| format!("{}: {error}", path.display());
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(within)?;
    GzDecoder::new(file)
        .read_to_end(&mut bytes)
        .map_err(within)?;
    let header = 4 + 4 * dimensions;
    if bytes.get(..4) != Some(&[0, 0, 8, dimensions as u8]) || bytes.len() < header {
        let text = format!("{}: no IDX file of {dimensions} dimensions", path.display());
        return Err(text.into());
    }
    let sides = bytes[4..header].chunks_exact(4);
    let size: usize = sides
        .map(|b| u32::from_be_bytes([b[0], b[1], b[2], b[3]]) as usize)
        .product();
    let found = bytes.len() - header;
    if found != size {
        let text = format!("{}: {found} bytes of data, expected {size}", path.display());
        return Err(text.into());
    }
    Ok(bytes.split_off(header))
}
