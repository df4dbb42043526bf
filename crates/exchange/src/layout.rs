//! The places of values in the slots.

use crate::error::{Error, Result};

/// A layout of `values` values in all `N` slots. Each value has `copies = N / values` slots.
///
/// The slots are two rows of columns `0 .. N/2`. If there is more than one copy, value `i` is in
/// every slot of each column congruent to `i` modulo `values`. Its copy `c` is in row
/// `c / (copies/2)`, column `i + values (c mod copies/2)`. Hence a rotation by a multiple of
/// `values`, or a swap of the rows, permutes the copies of every value. A layout of one copy has
/// value `i` in slot `i`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Layout {
    slots: usize,
    values: usize,
}

impl Layout {
    /// Returns the layout of `values` values, a power of two, in `slots` slots.
    ///
    /// # Errors
    /// [`Error::Shape`] if `values` is no power of two or exceeds `slots`.
    pub fn new(slots: usize, values: usize) -> Result<Self> {
        if !values.is_power_of_two() || values > slots {
            return Err(Error::Shape {
                what: "the number of values in slots",
                found: values.to_string(),
                expected: format!("a power of two up to {slots}"),
            });
        }
        Ok(Self { slots, values })
    }

    /// Number of slots.
    pub fn slots(self) -> usize {
        self.slots
    }

    /// Number of values.
    pub fn values(self) -> usize {
        self.values
    }

    /// Number of copies of each value.
    pub fn copies(self) -> usize {
        self.slots / self.values
    }

    /// Value in the given slot.
    pub fn value_of(self, slot: usize) -> usize {
        slot % self.values
    }

    /// Number of the copy in the given slot.
    pub fn copy_of(self, slot: usize) -> usize {
        // A row holds copies/2 blocks of `values` columns each, so block numbers count through both
        // rows.
        slot / self.values
    }

    /// Rotations of the columns, shortest first. Their sums reach all copies within a row; the swap
    /// of the rows reaches the other half.
    pub fn rotations(self) -> Vec<usize> {
        let columns = self.slots / 2;
        std::iter::successors(Some(self.values), |&k| Some(2 * k))
            .take_while(|&k| k < columns)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_and_values_name_every_slot_once() {
        for values in [1, 2, 16, 64, 128] {
            let layout = Layout::new(128, values).unwrap();
            let mut seen = [false; 128];
            for slot in 0..128 {
                let (value, copy) = (layout.value_of(slot), layout.copy_of(slot));
                assert!(value < values && copy < layout.copies());
                assert!(!std::mem::replace(&mut seen[copy * values + value], true));
            }
        }
        assert!(Layout::new(128, 3).is_err() && Layout::new(128, 256).is_err());
    }
}
