//! Values.

use super::frame::Frame;
use super::spare::Spare;
use crate::outside::Limb;
use ring::par_map;
use std::sync::Arc;
use trace::{ModulusId, Type, ValueId};

/// A value: its limbs, in the order of its type.
#[derive(Clone)]
pub(super) struct Value {
    pub(super) ty: Type,
    pub(super) limbs: Vec<Limb>,
}

impl Value {
    /// Makes all limbs. `work` receives place and modulus.
    pub(super) fn each(ty: &Type, work: impl Fn(usize, ModulusId) -> Vec<u64> + Sync) -> Self {
        let ids: Vec<ModulusId> = ty.limbs.iter().collect();
        Self {
            ty: ty.clone(),
            limbs: par_map(ids.len(), |i| Arc::new(work(i, ids[i]))),
        }
    }

    /// Gives back the memory of its limbs that are not shared.
    pub(super) fn give_to(self, spare: &Spare) {
        self.limbs.into_iter().for_each(|limb| spare.give(limb));
    }

    pub(super) fn len(&self) -> u64 {
        self.limbs.len() as u64
    }

    /// The limb of a modulus.
    pub(super) fn limb(&self, id: ModulusId) -> Option<&Limb> {
        self.ty.limbs.position(id).map(|place| &self.limbs[place])
    }
}

/// Returns a value whose limbs are among those of the given values.
pub(super) fn gather(ty: &Type, values: &[&Value]) -> Value {
    let limb = |id: ModulusId| {
        let limb = values.iter().find_map(|value| value.limb(id));
        limb.expect("the verifier saw this limb").clone()
    };
    Value {
        ty: ty.clone(),
        limbs: ty.limbs.iter().map(limb).collect(),
    }
}

pub(super) fn operands<'a>(frame: &'a Frame, ids: &[ValueId]) -> Vec<&'a Value> {
    ids.iter().map(|&id| frame.value(id)).collect()
}

/// The limb at one place of each value.
pub(super) fn slices<'a>(values: &[&'a Value], limb: usize) -> Vec<&'a [u64]> {
    let limbs = values.iter().map(|value| &value.limbs[limb]);
    limbs.map(|limb| limb.as_slice()).collect()
}
