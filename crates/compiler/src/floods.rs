//! Floods: noise that hides the noise of the outputs.
//!
//! The noise of an output depends on the weights. The client has made all keys, so it could compute
//! facts about the weights from the noise. A flood drowns the noise and needs room above it.
//! Therefore the values that the last layer reads end at a higher level than other values.

use crate::Options;
use crate::error::{Error, Result};
use circuits::dense;
use circuits::{DryValue, dry_engine};
use exchange::{Layout, LoopParams};
use network::{IntNetwork, Source};
use program::Flood;
use rlwe::noise::deviations;

/// Bits by which the noise of the outputs may be above the estimate before the program is written.
const RESERVE_BITS: f64 = 1.0;

/// Sizes of the noise that floods over the outputs of a network must hide.
#[derive(Clone, Debug)]
pub(crate) struct Floods {
    /// Sources that the last layer reads.
    sources: Vec<Source>,
    /// log2 of the root of the sum of the last layer's squared weights.
    weights_bits: f64,
    /// Outputs of a whole batch.
    outputs: usize,
    answers: u64,
    log2_failure: f64,
}

impl Floods {
    /// Measures the last layer of a network. Returns `None` if the options ask for no floods.
    pub(crate) fn new(network: &IntNetwork, options: Options) -> Result<Option<Self>> {
        let (Some(answers), Some(last)) = (options.flooded_answers, network.layers.last()) else {
            return Ok(None);
        };
        let mut sources: Vec<Source> = last.terms.iter().map(|term| term.source).collect();
        sources.extend(last.product.iter().flat_map(|&p| <[Source; 2]>::from(p)));
        let weights = last.terms.iter().flat_map(|term| term.linear.weights());
        let squares: f64 = weights.map(|&w| (w as f64).powi(2)).sum();
        let shapes = network.shapes()?;
        let outputs = shapes.last().map_or(1, |shape| shape.iter().product());
        Ok(Some(Self {
            // Each source may give a part of each output.
            outputs: outputs * options.batch * sources.len(),
            sources,
            weights_bits: squares.max(1.0).log2() / 2.0,
            answers,
            log2_failure: options.log2_failure,
        }))
    }

    /// The number of answers over which noise is hidden.
    pub(crate) fn answers(&self) -> u64 {
        self.answers
    }

    /// Returns true if the last layer reads the source.
    pub(crate) fn is_read(&self, source: Source) -> bool {
        self.sources.contains(&source)
    }

    /// The lowest level at which a flood fits over the outputs, where the last layer reads `value`,
    /// in slots of the given layout or in coefficients.
    pub(crate) fn level(
        &self,
        params: &LoopParams,
        value: &DryValue,
        slots: Option<Layout>,
    ) -> Result<usize> {
        let noise = match slots {
            None => value.peak().bits() + self.weights_bits,
            Some(layout) => dense::Layer::largest(layout)?
                .apply(&dry_engine(params), value)?
                .peak()
                .bits(),
        };
        let t = params.bfv().t().value();
        let flood = Flood::over(noise + RESERVE_BITS, t, self.outputs, self.answers);
        let deviations = deviations(self.log2_failure - (self.outputs as f64).log2() - 1.0);
        let needed = flood.residual_bits(t) + deviations.log2() + 1.0;
        let rlwe = params.bfv().rlwe();
        let levels = 0..=rlwe.max_level();
        let fits = |&level: &usize| rlwe.log_q(level) > needed;
        levels.clone().find(fits).ok_or(Error::Layer {
            layer: "the last".into(),
            what: "the modulus that a flood over its outputs needs",
            found: format!("of {needed:.0} bits"),
            expected: format!("at most {:.0} bits", rlwe.log_q(*levels.end())),
        })
    }
}
