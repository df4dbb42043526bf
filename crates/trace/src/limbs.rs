//! The set of limbs of a value.

use std::fmt::{Display, Formatter};
use std::ops::Range;

/// A set of moduli, given by their indices in the trace's table. A value's limbs are in the order
/// of the table.
///
/// The text form lists ranges: `0..13,25..28`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Limbs(Vec<Range<usize>>);

impl Limbs {
    /// Makes the set of the given ranges, in any order. Empty ranges are ignored.
    pub fn new(ranges: impl IntoIterator<Item = Range<usize>>) -> Self {
        let mut ranges: Vec<Range<usize>> = ranges
            .into_iter()
            .filter(|range| !range.is_empty())
            .collect();
        ranges.sort_unstable_by_key(|range| range.start);
        let mut merged: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
        for range in ranges {
            match merged.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => merged.push(range),
            }
        }
        Self(merged)
    }

    /// Makes the set of one modulus.
    pub fn one(modulus: usize) -> Self {
        Self::from(modulus..modulus + 1)
    }

    /// The ranges in order. They neither overlap nor touch.
    pub fn ranges(&self) -> &[Range<usize>] {
        &self.0
    }

    /// The indices of the moduli, in order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().cloned().flatten()
    }

    /// Number of limbs.
    pub fn len(&self) -> usize {
        self.0.iter().map(Range::len).sum()
    }

    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns true if the set contains a modulus.
    pub fn contains(&self, modulus: usize) -> bool {
        let next = self.0.partition_point(|range| range.end <= modulus);
        self.0.get(next).is_some_and(|range| range.start <= modulus)
    }

    /// Returns true if `other` contains all moduli of this set.
    pub fn is_subset(&self, other: &Self) -> bool {
        self.iter().all(|modulus| other.contains(modulus))
    }

    /// Returns true if no modulus is in both sets.
    pub fn is_disjoint(&self, other: &Self) -> bool {
        !self.iter().any(|modulus| other.contains(modulus))
    }

    /// The moduli that are in at least one of the sets.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        Self::new(self.0.iter().chain(&other.0).cloned())
    }

    /// The moduli of this set that are not in the other set.
    #[must_use]
    pub fn minus(&self, other: &Self) -> Self {
        let kept = self.iter().filter(|&modulus| !other.contains(modulus));
        Self::new(kept.map(|modulus| modulus..modulus + 1))
    }

    /// Index of a modulus among the limbs of a value. `None` if the value has no such limb.
    pub fn position(&self, modulus: usize) -> Option<usize> {
        let next = self.0.partition_point(|range| range.end <= modulus);
        let range = self.0.get(next).filter(|range| range.start <= modulus)?;
        let before: usize = self.0[..next].iter().map(Range::len).sum();
        Some(before + modulus - range.start)
    }
}

impl From<Range<usize>> for Limbs {
    fn from(range: Range<usize>) -> Self {
        Self::new([range])
    }
}

impl Display for Limbs {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        for (index, Range { start, end }) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str(",")?;
            }
            write!(f, "{start}..{end}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_merged_and_cut() {
        let limbs = Limbs::new([5..8, 0..3, 3..4, 9..9]);
        assert_eq!(limbs.to_string(), "0..4,5..8");
        assert_eq!(limbs.len(), 7);
        let tail = Limbs::from(2..6);
        assert_eq!(limbs.minus(&tail).to_string(), "0..2,6..8");
        assert_eq!(limbs.union(&tail).to_string(), "0..8");
        let places: Vec<_> = limbs.iter().map(|limb| limbs.position(limb)).collect();
        assert_eq!(places, (0..7).map(Some).collect::<Vec<_>>());
        assert_eq!([4, 8, 9].map(|limb| limbs.position(limb)), [None; 3]);
        assert_eq!((0..9).filter(|&limb| limbs.contains(limb)).count(), 7);
        assert!(Limbs::one(7).is_subset(&limbs) && limbs.is_disjoint(&Limbs::one(4)));
    }
}
