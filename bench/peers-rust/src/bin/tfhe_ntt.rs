//! `tfhe-ntt`, the transform of Zama's TFHE-rs. Its inverse leaves out the factor `1/N`.

use common::{Group, ntt};
use tfhe_ntt::{prime32, prime64};

/// The library has a faster transform for words of 32 bits.
enum Limb {
    Narrow(prime32::Plan, Vec<u32>),
    Wide(prime64::Plan, Vec<u64>),
}

impl ntt::Limb for Limb {
    fn new(q: u64, words: &[u64]) -> Self {
        let n = words.len();
        match u32::try_from(q) {
            Ok(q) => {
                let plan = prime32::Plan::try_new(n, q).expect("q is NTT-friendly");
                Self::Narrow(plan, words.iter().map(|&w| w as u32).collect())
            }
            Err(_) => {
                let plan = prime64::Plan::try_new(n, q).expect("q is NTT-friendly");
                Self::Wide(plan, words.to_vec())
            }
        }
    }

    fn words(&self) -> Vec<u64> {
        match self {
            Self::Narrow(_, words) => words.iter().map(|&w| w.into()).collect(),
            Self::Wide(_, words) => words.clone(),
        }
    }

    fn forward(&mut self) {
        match self {
            Self::Narrow(plan, words) => plan.fwd(words),
            Self::Wide(plan, words) => plan.fwd(words),
        }
    }

    fn inverse(&mut self) {
        match self {
            Self::Narrow(plan, words) => plan.inv(words),
            Self::Wide(plan, words) => plan.inv(words),
        }
    }

    fn mul_assign(&mut self, other: &Self) {
        match (self, other) {
            (Self::Narrow(plan, a), Self::Narrow(_, b)) => plan.mul_assign_normalize(a, b),
            (Self::Wide(plan, a), Self::Wide(_, b)) => plan.mul_assign_normalize(a, b),
            _ => panic!("limbs of one prime have one width"),
        }
    }
}

fn main() {
    common::run(&[Group {
        name: "ntt",
        time: ntt::time::<Limb>,
        values: ntt::values::<Limb>,
    }]);
}
