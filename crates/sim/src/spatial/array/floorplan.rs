//! Figure 9 as a structure: the tiles that a blind rotation needs.

use super::multiplier::{Multiplier, Unit};
use super::product::fits;
use crate::error::{Error, Result};
use crate::spatial::machine::{Machine, Mapping};
use ring::torus::Decomposition;

/// Sizes of a bootstrapping. They need not be secure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Dimension `n` of the LWE ciphertext: number of external products.
    pub lwe_dimension: usize,
    /// Rank `k`: mask polynomials of a ciphertext.
    pub rank: usize,
    /// Ring degree `N`.
    pub n: usize,
    /// Digits of words.
    pub decomposition: Decomposition,
}

impl Parameters {
    /// Set I of the paper's table I, and the code's: CONCRETE's Boolean set.
    ///
    /// # Errors
    /// No error occurs: the digits are in range.
    pub fn set_1() -> Result<Self> {
        Self::new(586, (2, 512), (8, 2))
    }

    /// Set II: TFHE's, with 3 digits as in the code and in the text (12 products in each of 500
    /// steps). Table I prints 2.
    ///
    /// # Errors
    /// No error occurs: the digits are in range.
    pub fn set_2() -> Result<Self> {
        Self::new(500, (1, 1024), (10, 3))
    }

    fn new(lwe_dimension: usize, (rank, n): (usize, usize), digits: (u32, u32)) -> Result<Self> {
        Ok(Self {
            lwe_dimension,
            rank,
            n,
            decomposition: Decomposition::new(digits.0, digits.1)?,
        })
    }

    /// Components of a ciphertext: `k + 1`.
    pub fn components(&self) -> usize {
        self.rank + 1
    }

    /// Rows of a GGSW ciphertext: `(k + 1) l`.
    pub fn rows(&self) -> usize {
        self.components() * self.decomposition.levels() as usize
    }

    /// Words of a GGSW ciphertext.
    pub fn ggsw_words(&self) -> usize {
        self.rows() * self.components() * self.n
    }

    /// Keys of one row for all iterations, in order. `all` may be empty if only times are wanted.
    pub(super) fn keys_of_row(&self, row: usize, turns: usize, all: &[u32]) -> Vec<u32> {
        if all.is_empty() {
            return Vec::new();
        }
        let (len, all_rows) = (self.components() * self.n, self.rows());
        let of_turn = |turn: usize| &all[(turn * all_rows + row) * len..][..len];
        (0..turns)
            .flat_map(|turn| of_turn(turn).iter().copied())
            .collect()
    }

    fn check(&self) -> Result<()> {
        let kept = self.decomposition.bits() as usize;
        for (what, found, most) in [
            ("the LWE dimension", self.lwe_dimension, 1 << 16),
            ("the rank", self.rank, 16),
            ("the number of bits of all digits", kept, 31),
        ] {
            if !(1..=most).contains(&found) {
                return Err(Error::Parameters {
                    what,
                    found,
                    expected: format!("1 to {most}"),
                });
            }
        }
        Ok(())
    }
}

/// A kind of tile, and the number of such tiles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Name.
    pub name: &'static str,
    /// Number of tiles.
    pub tiles: usize,
    /// The work of one tile.
    pub does: &'static str,
}

/// A blind rotation laid out on a machine.
#[derive(Clone, Debug)]
pub struct Floorplan {
    pub(super) machine: Machine,
    pub(super) parameters: Parameters,
    pub(super) mapping: Mapping,
    pub(super) unit: Unit,
}

impl Floorplan {
    /// Lays out a blind rotation by the machine's mapping for its ring degree.
    ///
    /// # Errors
    /// [`Error::Parameters`], [`Error::NoMapping`], and [`Error::TooSmall`] if there are too few
    /// tiles or channels, or too little memory.
    pub fn new(machine: &Machine, parameters: Parameters) -> Result<Self> {
        Self::of(machine, parameters, Multiplier::Direct)
    }

    /// Lays out a blind rotation with multipliers of the kind `multiplier`.
    ///
    /// # Errors
    /// The errors of [`Floorplan::new`].
    pub fn of(machine: &Machine, parameters: Parameters, multiplier: Multiplier) -> Result<Self> {
        parameters.check()?;
        let mapping = machine.mapping(parameters.n)?;
        if !parameters
            .components()
            .is_multiple_of(mapping.components_per_stream)
        {
            return Err(Error::Parameters {
                what: "the number of components",
                found: parameters.components(),
                expected: format!(
                    "a multiple of {} to a stream",
                    mapping.components_per_stream
                ),
            });
        }
        let digit = 1 << (parameters.decomposition.base_log() - 1);
        let size = (parameters.n, mapping.elements);
        let floorplan = Self {
            machine: machine.clone(),
            parameters,
            mapping,
            unit: Unit::new(machine, multiplier, size, digit)?,
        };
        fits(machine, "tiles", floorplan.tiles(), machine.tiles())?;
        fits(
            machine,
            "channels",
            floorplan.channels(),
            machine.channels(),
        )?;
        Ok(floorplan)
    }

    /// The machine.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// The parameters.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// Number of elements of each multiplier.
    pub fn elements(&self) -> usize {
        self.unit.elements()
    }

    /// Number of passes of a product: 1 for a direct multiplier.
    pub fn passes(&self) -> usize {
        self.unit.passes()
    }

    /// Number of multipliers: one for each row and component.
    pub fn multipliers(&self) -> usize {
        self.parameters.rows() * self.parameters.components()
    }

    /// Number of groups of components that share a stream.
    pub(super) fn groups(&self) -> usize {
        self.parameters.components() / self.mapping.components_per_stream
    }

    /// Number of channels between logic and array: one for the keys of each row, one each for
    /// accumulators in and out, and one for exponents.
    pub fn channels(&self) -> usize {
        self.parameters.rows() + 3
    }

    /// Number of all tiles.
    pub fn tiles(&self) -> usize {
        self.kinds().iter().map(|kind| kind.tiles).sum()
    }

    /// Tiles by kind, in the order in which words pass them.
    pub fn kinds(&self) -> Vec<Kind> {
        let (rows, groups) = (self.parameters.rows(), self.groups());
        let kind = |name, tiles, does| Kind { name, tiles, does };
        vec![
            kind("rotation", groups, "X^a ACC - ACC"),
            kind("decomposition", rows, "digits of one level"),
            kind(
                "split",
                rows * self.parameters.rank,
                "keys of a row to its multipliers",
            ),
            kind(
                "element",
                self.multipliers() * self.elements(),
                self.unit.does(),
            ),
            kind(
                "merge",
                rows * groups * (self.mapping.components_per_stream - 1),
                "two components on one stream",
            ),
            kind("composition", (rows - 1) * groups, "sums of products"),
            kind("accumulation", groups, "ACC + products"),
        ]
    }

    /// Bits of keys that one iteration reads.
    pub fn key_bits(&self) -> u64 {
        32 * self.parameters.ggsw_words() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn versal() -> Machine {
        Machine::named("versal").expect("built in")
    }

    #[test]
    fn set_two_has_the_217_tiles_of_the_published_graph() {
        let floorplan =
            Floorplan::new(&versal(), Parameters::set_2().expect("in range")).expect("fits");
        assert_eq!((floorplan.multipliers(), floorplan.elements()), (12, 16));
        let tiles: Vec<_> = floorplan.kinds().iter().map(|kind| kind.tiles).collect();
        assert_eq!(tiles, [1, 6, 6, 12 * 16, 6, 5, 1]);
        assert_eq!((floorplan.tiles(), floorplan.channels()), (217, 9));
        assert_eq!(floorplan.multipliers() * 500, 6000, "section II-C");
    }

    #[test]
    fn set_one_has_18_multipliers_of_8_elements() {
        let floorplan =
            Floorplan::new(&versal(), Parameters::set_1().expect("in range")).expect("fits");
        assert_eq!((floorplan.multipliers(), floorplan.elements()), (18, 8));
        assert_eq!(
            (floorplan.tiles(), floorplan.channels()),
            (144 + 3 + 6 + 12 + 15 + 3, 9)
        );
    }

    #[test]
    fn what_does_not_fit_is_refused_by_name() {
        let text = crate::family::built_in("versal").expect("built in");
        for (from, to, word) in [
            ("tiles = 400", "tiles = 216", "217 tiles"),
            ("channels = 9", "channels = 8", "9 channels"),
            ("n = 1024 #", "n = 256 #", "N = 1024"),
        ] {
            let machine = Machine::from_toml(&text.replacen(from, to, 1)).expect("in range");
            let error = Floorplan::new(&machine, Parameters::set_2().expect("in range"));
            let error = error.expect_err(to).to_string();
            assert!(error.contains(word), "{error}");
        }
        let mut parameters = Parameters::set_2().expect("in range");
        parameters.rank = 2; // three components, two to a stream
        assert!(Floorplan::new(&versal(), parameters).is_err());
        parameters.rank = 0;
        assert!(Floorplan::new(&versal(), parameters).is_err());
    }
}
