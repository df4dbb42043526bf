//! The transform of `crates/kernels`, with the backend that the product chooses on this machine.

use kernels::{Modulus, NttTable, kernels};

pub struct Limb {
    table: NttTable,
    words: Vec<u64>,
}

impl common::ntt::Limb for Limb {
    fn new(q: u64, words: &[u64]) -> Self {
        let modulus = Modulus::new(q).expect("an odd modulus below 2^50");
        Self {
            table: NttTable::new(modulus, words.len()).expect("q is NTT-friendly"),
            words: words.to_vec(),
        }
    }

    fn words(&self) -> Vec<u64> {
        self.words.clone()
    }

    fn forward(&mut self) {
        kernels().ntt(&self.table, &mut self.words);
    }

    fn inverse(&mut self) {
        kernels().intt(&self.table, &mut self.words);
    }

    fn mul_assign(&mut self, other: &Self) {
        kernels().mul_assign(self.table.modulus(), &mut self.words, &other.words);
    }
}
