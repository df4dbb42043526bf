//! What both halves make of a public program before they meet, and the steps they have in common.

use ring::Basis;

use crate::bits::packed_len;
use crate::error::Result;
use crate::linear::Tables;
use crate::local::add_window;
use crate::program::{Activations, LayerPlan, PublicProgram, Step};

/// A public program with its tables.
pub(crate) struct Half {
    pub(crate) public: PublicProgram,
    pub(crate) bases: Vec<Basis>,
    /// For each layer, those of its encrypted terms.
    pub(crate) tables: Vec<Vec<Tables>>,
}

impl Half {
    /// Checks the program first.
    pub(crate) fn new(public: PublicProgram) -> Result<Self> {
        public.check()?;
        let bases = public
            .rings
            .iter()
            .map(|ring| Basis::new(ring.n, &ring.moduli));
        let bases = bases.collect::<ring::Result<Vec<_>>>()?;
        let of_layer = |layer: &LayerPlan| {
            let terms = layer.encrypted.iter();
            terms
                .map(|term| Tables::new(term, &bases[term.ring], layer.bits))
                .collect()
        };
        let tables = public.layers.iter().map(of_layer);
        let tables = tables.collect::<Result<Vec<Vec<_>>>>()?;
        Ok(Self {
            public,
            bases,
            tables,
        })
    }

    /// Adds the layer's local terms of a party's shares. `shares` holds the input and the outputs of
    /// the layers before; `None` is zero.
    pub(crate) fn add_local(&self, layer: usize, shares: &[Option<Vec<u64>>], sums: &mut [u64]) {
        for term in &self.public.layers[layer].local {
            if let Some(share) = &shares[term.source] {
                let shape = self.public.shape_of(term.source);
                add_window(sums, &term.window, shape, share);
            }
        }
    }

    /// Number of values of a layer.
    pub(crate) fn values(&self, layer: usize) -> usize {
        self.public.layers[layer].shape.iter().product()
    }

    /// Whether the server reveals the layer's accumulators to the client.
    pub(crate) fn reveals(&self, layer: usize) -> bool {
        let revealed = self.public.activations == Activations::Revealed;
        revealed || self.public.layers[layer].step == Step::Logits
    }

    /// Bytes of the server's share of a layer's accumulators.
    pub(crate) fn revealed_len(&self, layer: usize) -> usize {
        packed_len(self.values(layer), self.public.layers[layer].bits)
    }

    /// Bytes of all queries and of all answers of a layer.
    pub(crate) fn linear_len(&self, layer: usize) -> [usize; 2] {
        let tables = &self.tables[layer];
        [
            tables.iter().map(Tables::query_len).sum(),
            tables.iter().map(Tables::answer_len).sum(),
        ]
    }
}
