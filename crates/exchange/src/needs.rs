//! The evaluation keys that a program or a circuit needs.

use crate::error::{Error, Result};
use crate::layout::Layout;
use crate::packing;
use crate::params::LoopParams;
use rlwe::SwitchKey;
use std::collections::BTreeMap;
use std::fmt;

/// The evaluation keys that a program or a circuit needs, each with the highest level at which it
/// is used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    relinearize: Option<usize>,
    galois: BTreeMap<usize, usize>,
    packing: BTreeMap<usize, usize>,
    switch: bool,
    public: Option<usize>,
    sparse: Option<rlwe::Params>,
}

impl Needs {
    /// Makes the needs from a program's lists: the level of the relinearization key, pairs of a
    /// Galois element and its key's level, pairs of a number of packed values and its key's level.
    /// If anything is packed, the key of the dimension switch is needed too.
    pub fn new(
        relinearization: Option<usize>,
        galois: &[(usize, usize)],
        packing: &[(usize, usize)],
    ) -> Self {
        Self {
            relinearize: relinearization,
            galois: galois.iter().copied().collect(),
            packing: packing.iter().copied().collect(),
            switch: !packing.is_empty(),
            public: None,
            sparse: None,
        }
    }

    /// Asks for a key. A higher level that was asked for before stays.
    pub fn add(&mut self, need: Need) {
        match need {
            Need::Relinearization { level } => self.relinearize(level),
            Need::Galois { element, level } => self.galois(element, level),
            Need::Packing { values, level } => {
                self.packing(values, level);
            }
            Need::Dimension => self.switch(),
            Need::Public { level } => self.public(level),
        }
    }

    /// The keys that `has` does not cover.
    #[must_use]
    pub fn without(&self, has: &Self) -> Self {
        self.each().filter(|need| !has.covers(*need)).collect()
    }

    /// Asks for the relinearization key at a level. A higher level that was asked for before stays.
    pub fn relinearize(&mut self, level: usize) {
        self.relinearize = self.relinearize.max(Some(level));
    }

    /// Asks for the Galois key of an element at a level. A higher level that was asked for before
    /// stays.
    pub fn galois(&mut self, element: usize, level: usize) {
        let highest = self.galois.entry(element).or_insert(level);
        *highest = level.max(*highest);
    }

    /// Asks for the packing key of a number of values at a level. A higher level that was asked for
    /// before stays. Returns true if it is the first packing of this number.
    pub fn packing(&mut self, values: usize, level: usize) -> bool {
        let before = self.packing.get(&values).copied();
        self.packing.insert(values, level.max(before.unwrap_or(0)));
        before.is_none()
    }

    /// Asks for the key of the dimension switch.
    pub fn switch(&mut self) {
        self.switch = true;
    }

    /// Asks for the public key at a level, with which a server re-randomises answers.
    pub fn public(&mut self, level: usize) {
        self.public = self.public.max(Some(level));
    }

    /// Asks for the keys to a sparse secret with these parameters, and back. A circuit that
    /// bootstraps needs them.
    pub fn sparse(&mut self, params: rlwe::Params) {
        self.sparse = Some(params);
    }

    /// Parameters of the sparse secret, if a circuit bootstraps. [`each`](Self::each) does not name
    /// its keys, because programs need none.
    pub fn sparse_params(&self) -> Option<&rlwe::Params> {
        self.sparse.as_ref()
    }

    /// Level of the public key, if it is needed.
    pub fn public_level(&self) -> Option<usize> {
        self.public
    }

    /// Level of the relinearization key, if it is needed.
    pub fn relinearization(&self) -> Option<usize> {
        self.relinearize
    }

    /// Galois elements and the levels of their keys.
    pub fn galois_elements(&self) -> &BTreeMap<usize, usize> {
        &self.galois
    }

    /// Numbers of values that are packed, and the levels of their packing keys.
    pub fn packings(&self) -> &BTreeMap<usize, usize> {
        &self.packing
    }

    /// Returns true if the key of the dimension switch is needed.
    pub fn switches(&self) -> bool {
        self.switch
    }

    /// Returns the keys one by one, in the order in which they are made, written and read. Keys of
    /// one kind are ordered by Galois element or by number of values.
    pub fn each(&self) -> impl Iterator<Item = Need> {
        let relinearization = self.relinearize.into_iter();
        let galois = self.galois.iter();
        let packing = self.packing.iter();
        relinearization
            .map(|level| Need::Relinearization { level })
            .chain(galois.map(|(&element, &level)| Need::Galois { element, level }))
            .chain(packing.map(|(&values, &level)| Need::Packing { values, level }))
            .chain(self.switch.then_some(Need::Dimension))
            .chain(self.public.map(|level| Need::Public { level }))
    }

    /// Whether one of the keys serves as `need`. A key of a higher level serves lower ones.
    pub fn covers(&self, need: Need) -> bool {
        let at_least = |has: Option<usize>, level| has.is_some_and(|has| has >= level);
        match need {
            Need::Relinearization { level } => at_least(self.relinearize, level),
            Need::Galois { element, level } => at_least(self.galois.get(&element).copied(), level),
            Need::Packing { values, level } => at_least(self.packing.get(&values).copied(), level),
            Need::Dimension => self.switch,
            Need::Public { level } => at_least(self.public, level),
        }
    }

    /// Checks that the keys `has` cover all of these.
    ///
    /// # Errors
    /// [`Error::MissingKeys`].
    pub fn check_met_by(&self, has: &Self) -> Result<()> {
        let mut missing = self.each().filter(|need| !has.covers(*need));
        match missing.next() {
            None => Ok(()),
            Some(first) => Err(Error::MissingKeys {
                count: 1 + missing.count(),
                first,
            }),
        }
    }

    /// Whether a key of the kind, element and number of values of `need` is needed, at any level.
    pub fn has(&self, need: Need) -> bool {
        match need {
            Need::Relinearization { .. } => self.relinearize.is_some(),
            Need::Galois { element, .. } => self.galois.contains_key(&element),
            Need::Packing { values, .. } => self.packing.contains_key(&values),
            Need::Dimension => self.switch,
            Need::Public { .. } => self.public.is_some(),
        }
    }

    /// Memory that the keys take, in bytes. It is
    /// [`EvaluationKeys::byte_len`](crate::EvaluationKeys::byte_len) before the first packing.
    ///
    /// # Errors
    /// [`Error::Shape`] if the number of values of a packing is no power of
    /// two.
    pub fn byte_len(&self, params: &LoopParams) -> Result<usize> {
        let (rlwe, small) = (params.bfv().rlwe(), params.small());
        let switch_key = |level: usize| SwitchKey::byte_len_at(rlwe, level);
        let mut bytes = self.packing_byte_len(params, packing::key_len)?;
        for need in self.each() {
            bytes += match need {
                Need::Relinearization { level } | Need::Galois { level, .. } => switch_key(level),
                Need::Packing { .. } => 0,
                Need::Dimension => 2 * small.digits() * rlwe.n() * size_of::<u64>(),
                Need::Public { level } => 2 * (level + 1) * rlwe.n() * size_of::<u64>(),
            };
        }
        Ok(bytes)
    }

    /// Working memory of making and writing the largest key, in bytes: the key, its bytes in a file,
    /// and six polynomials, namely both secrets, a body and a mask, their product and the errors.
    pub fn writing_byte_len(&self, params: &LoopParams) -> usize {
        let rlwe = params.bfv().rlwe();
        let levels = self.galois.values().copied();
        let top = levels.chain(self.relinearize).max().unwrap_or(0);
        let polynomial = rlwe.extended(top).len() * rlwe.n() * size_of::<u64>();
        SwitchKey::byte_len_at(rlwe, top) + rlwe::bytes::switch_key_len(rlwe, top) + 6 * polynomial
    }

    /// Memory that the baby steps of all packings take, in bytes. They are made from the keys.
    ///
    /// # Errors
    /// [`Error::Shape`] if the number of values of a packing is no power of
    /// two.
    pub fn baby_steps_byte_len(&self, params: &LoopParams) -> Result<usize> {
        self.packing_byte_len(params, packing::baby_steps)
    }

    fn packing_byte_len(
        &self,
        params: &LoopParams,
        ciphertexts: impl Fn(&LoopParams, Layout) -> usize,
    ) -> Result<usize> {
        let of_packing = |(&values, &level): (&usize, &usize)| {
            let layout = Layout::new(params.bfv().n(), values)?;
            Ok(ciphertexts(params, layout) * 2 * (level + 1) * params.bfv().n() * size_of::<u64>())
        };
        self.packing.iter().map(of_packing).sum()
    }
}

impl FromIterator<Need> for Needs {
    fn from_iter<I: IntoIterator<Item = Need>>(each: I) -> Self {
        let mut needs = Self::default();
        each.into_iter().for_each(|need| needs.add(need));
        needs
    }
}

/// One evaluation key that is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// The relinearization key.
    Relinearization {
        /// Level of the key.
        level: usize,
    },
    /// A Galois key.
    Galois {
        /// Galois element of the key.
        element: usize,
        /// Level of the key.
        level: usize,
    },
    /// A packing key.
    Packing {
        /// Number of values that the key packs.
        values: usize,
        /// Level of the key.
        level: usize,
    },
    /// The key of the dimension switch.
    Dimension,
    /// The public key.
    Public {
        /// Level of the key.
        level: usize,
    },
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Relinearization { level } => {
                write!(f, "the relinearization key of level {level}")
            }
            Self::Galois { element, level } => {
                write!(f, "the Galois key of element {element} and level {level}")
            }
            Self::Packing { values, level } => {
                write!(f, "the packing key of {values} values and level {level}")
            }
            Self::Dimension => write!(f, "the key of the dimension switch"),
            Self::Public { level } => write!(f, "the public key of level {level}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn needs_are_each_of_the_highest_level_and_in_order() {
        let mut needs = Needs::default();
        for (element, level) in [(5, 1), (3, 2), (5, 4), (3, 0)] {
            needs.galois(element, level);
        }
        let firsts = [(16, 2), (8, 1), (16, 3)].map(|(values, level)| needs.packing(values, level));
        assert_eq!(firsts, [true, true, false]);
        for level in [1, 3, 2] {
            needs.relinearize(level);
        }
        needs.switch();
        needs.public(1);
        let each: Vec<Need> = needs.each().collect();
        let galois = |element, level| Need::Galois { element, level };
        let packing = |values, level| Need::Packing { values, level };
        let expected = [
            Need::Relinearization { level: 3 },
            galois(3, 2),
            galois(5, 4),
            packing(8, 1),
            packing(16, 3),
            Need::Dimension,
            Need::Public { level: 1 },
        ];
        assert_eq!(each, expected);
        // A program lists the same keys, and packs the result of a dimension switch.
        let mut listed = Needs::new(Some(3), &[(3, 2), (5, 4)], &[(8, 1), (16, 3)]);
        listed.public(1);
        assert_eq!(listed, needs);
        assert_eq!(Needs::default().each().count(), 0);
    }
}
