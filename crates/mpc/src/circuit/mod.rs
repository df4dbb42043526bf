//! Boolean circuits on bits that one party knows or that both share.
//!
//! A [`Builder`] records which parties have a part in each bit. Sums (XOR) are free. A product of
//! two bits that the same party knows is free, a product of the server's with the client's takes
//! one random oblivious transfer (OT), and a product of two shared bits takes two. Products with
//! the same left operand share the OT, so [`Builder::and_many`] is cheaper than several single
//! products.
//!
//! [`Circuit`] is the finished list of operations, in layers: the products of one layer are one
//! exchange.

mod activation;
mod builder;
mod carry;
mod choose;
mod table;

pub(crate) use activation::{Lengths, clamped_sum, piecewise};
pub(crate) use builder::{Bit, Builder};
pub(crate) use carry::{add, sum};
pub(crate) use choose::{argmax, maximum};
pub(crate) use table::lookup;

use crate::cost::{Cost, Role};

/// Largest number of right operands of a product: an OT has 128 bits.
pub(crate) const MAX_WIDTH: usize = 128;

/// A free operation: each party computes `out` from its own shares.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Local {
    Xor {
        out: u32,
        a: u32,
        b: u32,
    },
    /// Negation: `who` flips its share.
    Not {
        out: u32,
        a: u32,
        who: Role,
    },
    /// Product of two bits that the same party knows. The other party's shares of both are zero.
    And {
        out: u32,
        a: u32,
        b: u32,
    },
}

/// Products of one bit, `left`, with several bits, `rights`.
#[derive(Clone, Debug)]
pub(crate) struct Product {
    pub(crate) left: u32,
    pub(crate) rights: Vec<u32>,
    pub(crate) outs: Vec<u32>,
    /// For each chooser, the positions in `rights` of the bits in which the other party has a part.
    /// The product of the chooser's part of `left` and the other's parts of these bits takes an OT.
    crossed: [Vec<usize>; 2],
}

impl Product {
    /// The positions in `rights` that the OT of `chooser` covers.
    pub(crate) fn crossed(&self, chooser: Role) -> &[usize] {
        match chooser {
            Role::Server => &self.crossed[0],
            Role::Client => &self.crossed[1],
        }
    }
}

/// The free operations and then the products of one exchange.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layer {
    pub(crate) locals: Vec<Local>,
    pub(crate) products: Vec<Product>,
}

/// A finished circuit.
#[derive(Clone, Debug)]
pub(crate) struct Circuit {
    /// Number of wires. The first wires are inputs: for each input value the server's bits, then
    /// the client's.
    pub(crate) wires: usize,
    pub(crate) layers: Vec<Layer>,
}

impl Circuit {
    /// Number of exchanges of one evaluation.
    pub(crate) fn rounds(&self) -> u64 {
        let exchanges = |layer: &&Layer| !layer.products.is_empty();
        self.layers.iter().filter(exchanges).count() as u64
    }

    /// Cost of one evaluation on planes of `words` words.
    pub(crate) fn cost(&self, words: usize) -> Cost {
        let mut cost = Cost {
            rounds: self.rounds(),
            ..Cost::default()
        };
        for product in self.products() {
            for chooser in [Role::Server, Role::Client] {
                let width = product.crossed(chooser).len();
                if width > 0 {
                    cost.add_bytes(chooser.other(), 8 * words as u64);
                    cost.add_bytes(chooser, (8 * words * width) as u64);
                }
            }
        }
        cost
    }

    /// The widths of the OTs in which `chooser` chooses, in the order of use.
    pub(crate) fn widths(&self, chooser: Role) -> impl Iterator<Item = usize> {
        self.products()
            .map(move |product| product.crossed(chooser).len())
            .filter(|&width| width > 0)
    }

    fn products(&self) -> impl Iterator<Item = &Product> {
        self.layers.iter().flat_map(|layer| &layer.products)
    }
}
