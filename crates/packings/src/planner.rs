//! The cheapest packing for a layer's shape, and the packings with which it was compared.

use crate::counts::Counts;
use crate::error::{Error, Result};
use crate::frame::{Arith, Frame};
use crate::layer::Layer;
use crate::packing::{ALL, Packing};
use crate::price::{Prices, Traffic};

/// A packing of a layer, with its price.
pub struct Candidate {
    /// The packing.
    pub packing: &'static dyn Packing,
    /// Products with plaintexts in a row.
    pub depth: usize,
    /// Counts of the packing for the layer.
    pub counts: Counts,
    /// Bytes by kind.
    pub traffic: Traffic,
    /// Predicted seconds of the computation on one thread. The encoding of weights is not included,
    /// because it is done once.
    pub seconds: f64,
    /// Predicted seconds in which ciphertexts are on their way, at the price of a byte.
    pub moving_seconds: f64,
}

impl Candidate {
    /// The figure by which packings are compared: the seconds of computation and transfer.
    pub fn price(&self) -> f64 {
        self.seconds + self.moving_seconds
    }
}

/// All packings that can compute a layer, the cheapest first, and the errors of the others.
pub struct Choice {
    /// The packings by price.
    pub candidates: Vec<Candidate>,
    /// Names of the packings that cannot compute the layer, with the errors.
    pub refused: Vec<(&'static str, Error)>,
}

/// Prices all packings for a layer, with a ring degree of `2^log_n`.
///
/// # Errors
/// [`Error::Shape`] for a shape that no layer has and for a ring degree without parameters, and the
/// error of the first packing if none can compute the layer.
pub fn choose(layer: &Layer, arith: Arith, log_n: u32, prices: &Prices) -> Result<Choice> {
    layer.check()?;
    let frames = [1, 2].map(|depth| Frame::new(arith, log_n, depth));
    let mut candidates = Vec::new();
    let mut refused = Vec::new();
    for packing in ALL {
        let depth = packing.depth(layer);
        let found = match &frames[depth - 1] {
            Ok(frame) => priced(packing, layer, (frame, depth), prices),
            // `Frame::new` runs again for an error of its own: errors cannot be cloned.
            Err(_) => Frame::new(arith, log_n, depth)
                .and_then(|frame| priced(packing, layer, (&frame, depth), prices)),
        };
        match found {
            Ok(candidate) => candidates.push(candidate),
            Err(error) => refused.push((packing.name(), error)),
        }
    }
    if candidates.is_empty() {
        return Err(refused.swap_remove(0).1);
    }
    candidates.sort_by(|a, b| a.price().total_cmp(&b.price()));
    Ok(Choice {
        candidates,
        refused,
    })
}

fn priced(
    packing: &'static dyn Packing,
    layer: &Layer,
    (frame, depth): (&Frame, usize),
    prices: &Prices,
) -> Result<Candidate> {
    let counts = packing.counts(layer, frame)?;
    let traffic = Traffic::new(&counts, frame, depth);
    Ok(Candidate {
        packing,
        depth,
        counts,
        traffic,
        moving_seconds: traffic.moved() as f64 * prices.byte,
        seconds: counts.seconds(frame, depth, prices),
    })
}
