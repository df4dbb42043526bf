//! A whole bootstrapping, from LWE sample in to LWE sample out.
//!
//! The parts of a bootstrapping are steps of the processor, the blind rotation on the array, and
//! the key switch on either. Every part needs the last word of the part before it, so the times of
//! the parts add up. Keys that a channel fetches while the previous part is still running would
//! save at most the words of a buffer, and are not counted.

use super::blind::{Around, BlindRotation};
use super::floorplan::{Kind, Parameters};
use super::memory::Supply;
use super::multiplier::Multiplier;
use super::processor::{Times, accumulator, extract, key_switch, modulus_switch};
use super::product::expect;
use super::switch::{Sizes, Switch};
use crate::error::{Error, Result};
use crate::spatial::machine::{Machine, Power};
use ring::torus::Decomposition;

/// The place of the key switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Device {
    /// On the processor, as in the paper's code.
    Processor,
    /// On the array: our design, which the paper does not have.
    Array,
}

/// The order of the parts. Both take the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Key switch, modulus switch, blind rotation, extraction: that of `tfhe`, between samples of
    /// dimension `k N`.
    SwitchFirst,
    /// Modulus switch, blind rotation, extraction, key switch: that of the paper's algorithm 1,
    /// between samples of dimension `n`.
    SwitchLast,
}

/// A bootstrapping on a machine.
#[derive(Clone, Debug)]
pub struct Bootstrapping {
    rotation: BlindRotation,
    sizes: Sizes,
    /// The key switch on the array. Without it, the processor does the key switch.
    switch: Option<Switch>,
}

/// A part of a bootstrapping.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    /// Name.
    pub name: &'static str,
    /// `processor` or `array`.
    pub at: &'static str,
    /// Time.
    pub microseconds: f64,
}

/// The result of a simulation.
#[derive(Clone, Debug, PartialEq)]
pub struct Bootstrapped {
    /// The parts, in the order of the paper.
    pub parts: Vec<Part>,
    /// Average power by component.
    pub power: Power,
}

/// Keys of a bootstrapping, as words.
#[derive(Clone, Copy, Debug)]
pub struct Keys<'a> {
    /// A GGSW ciphertext for each bit of the small secret, as [`BlindRotation::emulate`] takes
    /// them.
    pub bootstrap: &'a [u32],
    /// For each word of a mask of dimension `k N` and each digit, a sample of dimension `n`.
    pub switch: &'a [u32],
}

/// The result of an emulation.
#[derive(Clone, Debug, PartialEq)]
pub struct SampleEmulated {
    /// The mask, then the body.
    pub sample: Vec<u32>,
    /// Time from the first word in to the last word out.
    pub milliseconds: f64,
}

impl Bootstrapped {
    /// Time of all parts.
    pub fn milliseconds(&self) -> f64 {
        self.parts.iter().map(|part| part.microseconds).sum::<f64>() / 1000.0
    }

    /// Energy.
    pub fn millijoules(&self) -> f64 {
        self.milliseconds() * self.power.watts()
    }
}

impl Bootstrapping {
    /// Lays out a bootstrapping. Its key switch decomposes words into `digits`.
    ///
    /// # Errors
    /// The errors of [`BlindRotation::of`]. [`Error::Parameters`] if the digits keep more than 31
    /// bits. [`Error::TooSmall`] if there is no room for a key switch on the array.
    pub fn new(
        machine: &Machine,
        parameters: Parameters,
        digits: Decomposition,
        (multiplier, place): (Multiplier, Device),
    ) -> Result<Self> {
        let rotation = BlindRotation::of(machine, parameters, multiplier)?;
        if digits.bits() > 31 {
            return Err(Error::Parameters {
                what: "the number of bits of all digits of the key switch",
                found: digits.bits() as usize,
                expected: "1 to 31".into(),
            });
        }
        let sizes = Sizes::new(&parameters, digits);
        let floorplan = rotation.floorplan();
        let taken = (floorplan.tiles(), floorplan.channels() - 1);
        let switch = match place {
            Device::Processor => None,
            Device::Array => Some(Switch::new(machine, sizes, taken)?),
        };
        Ok(Self {
            rotation,
            sizes,
            switch,
        })
    }

    /// The blind rotation.
    pub fn rotation(&self) -> &BlindRotation {
        &self.rotation
    }

    /// Number of channels through which a key switch on the array gets its key.
    pub fn switch_channels(&self) -> Option<usize> {
        self.switch.as_ref().map(Switch::width)
    }

    /// Bytes of the bootstrapping key, and of the key for the key switch.
    pub fn key_bytes(&self) -> [usize; 2] {
        let parameters = self.parameters();
        let bootstrap = parameters.lwe_dimension * parameters.ggsw_words();
        [4 * bootstrap, 4 * self.sizes.key_words()]
    }

    /// Tiles by kind.
    pub fn kinds(&self) -> Vec<Kind> {
        let mut kinds = self.rotation.floorplan().kinds();
        for kind in self.switch.iter().flat_map(Switch::kinds) {
            match kinds.iter_mut().find(|other| other.name == kind.name) {
                Some(other) => other.tiles += kind.tiles,
                None => kinds.push(kind),
            }
        }
        kinds
    }

    /// Number of all tiles.
    pub fn tiles(&self) -> usize {
        self.kinds().iter().map(|kind| kind.tiles).sum()
    }

    /// The sizes of its key switch.
    pub(super) fn sizes(&self) -> Sizes {
        self.sizes
    }

    fn machine(&self) -> &Machine {
        self.rotation.floorplan().machine()
    }

    fn parameters(&self) -> &Parameters {
        self.rotation.floorplan().parameters()
    }

    fn around(&self) -> Around {
        Around {
            supply: Supply::Memory,
            shared: self.switch.as_ref().map_or(0, Switch::shared),
        }
    }

    /// Lists the parts. `rotation` and `switch` are the microseconds of the parts on the array.
    /// Results of these parts return to the memory.
    fn parts(&self, rotation: f64, switch: f64) -> Vec<Part> {
        let parameters = self.parameters();
        let times = Times(self.machine());
        let back = self.machine().memory().latency_ns as f64 / 1000.0;
        let part = |name, at, microseconds| Part {
            name,
            at,
            microseconds,
        };
        let of_processor = |name, microseconds| part(name, "processor", microseconds);
        let of_array = |name, microseconds| part(name, "array", microseconds + back);
        let accumulator = parameters.components() * parameters.n;
        let channels = self.rotation.floorplan().channels();
        let mut parts = vec![
            of_processor("modulus switch", times.words(self.sizes.to + 1)),
            of_processor("accumulator", times.words(accumulator)),
            of_processor("starts", times.starts(channels + 1)),
            of_array("blind rotation", rotation),
            of_processor("extraction", times.words(self.sizes.from + 1)),
        ];
        match &self.switch {
            None => parts.push(of_processor("key switch", switch)),
            Some(on_array) => {
                let starts = on_array.starts();
                parts.push(of_processor("starts of the key switch", starts));
                parts.push(of_array("key switch", switch));
            }
        }
        parts
    }

    /// Simulates the times of all parts, and the power.
    ///
    /// # Errors
    /// [`Error::Deadlock`] if streams or buffers are too short.
    pub fn simulate(&self) -> Result<Bootstrapped> {
        let rotation = self.rotation.simulate_in(self.around())?.milliseconds * 1000.0;
        let switch = match &self.switch {
            None => Times(self.machine()).key_switch(&self.sizes),
            Some(switch) => switch.simulate()?,
        };
        let parts = self.parts(rotation, switch);
        let microseconds: f64 = parts.iter().map(|part| part.microseconds).sum();
        let [bootstrap, key] = self.key_bytes();
        // Only keys that pass the channels draw power there.
        let bytes = bootstrap + if self.switch.is_some() { key } else { 0 };
        let gigabits = 8.0 * bytes as f64 / microseconds / 1000.0;
        Ok(Bootstrapped {
            parts,
            power: self.machine().watts(self.tiles(), gigabits),
        })
    }

    /// Computes every word as the machine does.
    ///
    /// # Shape
    /// - `test`: the `N` words of the test polynomial.
    /// - `sample`: mask and body, of dimension `k N` or `n`, by the order.
    ///
    /// # Errors
    /// [`Error::Words`] for other lengths, [`Error::Inexact`] for multipliers as printed.
    pub fn emulate(
        &self,
        order: Order,
        keys: Keys<'_>,
        test: &[u32],
        sample: &[u32],
    ) -> Result<SampleEmulated> {
        expect("the test polynomial", test.len(), self.parameters().n)?;
        let (from, to) = (self.sizes.from, self.sizes.to);
        let dimension = match order {
            Order::SwitchFirst => from,
            Order::SwitchLast => to,
        };
        expect("the sample", sample.len(), dimension + 1)?;
        let words = self.sizes.key_words();
        expect("the key of the key switch", keys.switch.len(), words)?;
        let (sample, rotation, switch) = match order {
            Order::SwitchFirst => {
                let (small, switch) = self.switched(sample, keys)?;
                let (sample, rotation) = self.rotated(&small, keys, test)?;
                (sample, rotation, switch)
            }
            Order::SwitchLast => {
                let (big, rotation) = self.rotated(sample, keys, test)?;
                let (sample, switch) = self.switched(&big, keys)?;
                (sample, rotation, switch)
            }
        };
        let parts = self.parts(rotation, switch);
        Ok(SampleEmulated {
            sample,
            milliseconds: parts.iter().map(|part| part.microseconds).sum::<f64>() / 1000.0,
        })
    }

    /// Does the key switch. Returns the sample and the microseconds.
    fn switched(&self, sample: &[u32], keys: Keys<'_>) -> Result<(Vec<u32>, f64)> {
        match &self.switch {
            Some(switch) => switch.emulate(sample, keys.switch),
            None => {
                let time = Times(self.machine()).key_switch(&self.sizes);
                Ok((key_switch(&self.sizes, sample, keys.switch), time))
            }
        }
    }

    /// Does modulus switch, blind rotation and extraction. Returns the sample and the microseconds
    /// on the array.
    fn rotated(&self, sample: &[u32], keys: Keys<'_>, test: &[u32]) -> Result<(Vec<u32>, f64)> {
        let parameters = self.parameters();
        let n = parameters.n;
        let exponents = modulus_switch(sample, (2 * n).ilog2());
        let (mask, body) = exponents.split_at(self.sizes.to);
        let start = accumulator(test, parameters.rank, body[0]);
        let rotated = self
            .rotation
            .emulate_in(self.around(), &start, mask, keys.bootstrap)?;
        Ok((
            extract(&rotated.accumulator, n),
            rotated.milliseconds * 1000.0,
        ))
    }
}

#[cfg(test)]
mod tests;
