//! Activations on shares.

use crate::error::{Error, Result};
use crate::half::Half;
use crate::link::Channel;

pub(crate) struct Activation;

impl Activation {
    pub(crate) fn server<C: Channel>(_: &Half, _: &mut C, _: u32) -> Result<Self> {
        Ok(Self)
    }
    pub(crate) fn client<C: Channel>(_: &Half, _: &mut C, _: u32) -> Result<Self> {
        Ok(Self)
    }
    pub(crate) fn run<C: Channel>(&mut self, _: &mut C, _: usize, _: Vec<u64>) -> Result<Vec<u64>> {
        Err(Error::Stopped)
    }
}
