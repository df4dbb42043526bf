//! The dry mode computes nothing. A circuit then gives only levels, noise, counts and keys.

use super::{Combination, Operations, Packing, Plain, Words};
use crate::error::Result;

/// The mode that computes nothing. A ciphertext is `()`.
#[derive(Clone, Copy, Debug)]
pub struct Dry;

impl Operations for Dry {
    type Ciphertext = ();
    type Samples = ();
    type Masks = ();

    const READS_PLAINTEXTS: bool = false;

    fn tensor_sum(&self, _: &[&()], _: &[&()]) -> Result<()> {
        Ok(())
    }

    fn combine(
        &self,
        (_, factors): (usize, &[u64]),
        _: &Combination<'_>,
        _: &[&()],
        _: &[&()],
    ) -> Result<Vec<()>> {
        Ok(vec![(); factors.len()])
    }

    fn relinearize(&self, (): &(), _: usize) -> Result<()> {
        Ok(())
    }

    fn mul_plain_sum(
        &self,
        _: (usize, u64),
        _: &[&()],
        _: impl Fn(usize) -> Plain + Sync,
    ) -> Result<()> {
        Ok(())
    }

    fn masks(&self, _: &Packing<'_, ()>) {}

    fn mul_masks(&self, _: usize, _: (&Packing<'_, ()>, &()), giants: &[usize]) -> Result<Vec<()>> {
        Ok(vec![(); giants.len()])
    }

    fn add_bodies(&self, (): &mut (), _: &Packing<'_, ()>) -> Result<()> {
        Ok(())
    }

    fn secret(&self) -> Result<()> {
        Ok(())
    }

    fn blocks(&self, (): &(), _: usize) -> Plain {
        Plain::Coefficients(Words::Sparse(Vec::new()))
    }

    fn trivial(&self, _: usize, _: impl FnOnce() -> Plain) {}

    fn add_assign(&self, (): &mut (), (): &()) -> Result<()> {
        Ok(())
    }

    fn sub_assign(&self, (): &mut (), (): &()) -> Result<()> {
        Ok(())
    }

    fn add_plain_assign(&self, (): &mut (), _: impl FnOnce() -> Plain) {}

    fn automorphisms(&self, (): &(), elements: &[usize]) -> Result<Vec<()>> {
        Ok(vec![(); elements.len()])
    }

    fn automorphism(&self, (): &(), _: usize) -> Result<()> {
        Ok(())
    }

    fn switch_to(&self, (): (), _: usize) -> Result<()> {
        Ok(())
    }

    fn drop_to(&self, (): (), _: usize) -> Result<()> {
        Ok(())
    }

    fn reread(&self, (): (), _: u64) {}

    fn rounded(&self, (): &(), _: usize, _: u64) -> Result<Plain> {
        Ok(Plain::Coefficients(Words::Sparse(Vec::new())))
    }

    fn to_samples(&self, (): &()) -> Result<()> {
        Ok(())
    }
}
