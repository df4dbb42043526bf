//! The common half of both parties: tables that follow from a public program alone, and shared
//! steps.

use ring::Basis;

use crate::bits::packed_len;
use crate::error::Result;
use crate::linear::Tables;
use crate::local::add_window;
use crate::program::{Activations, LayerPlan, PublicProgram, Step, in_range};

/// Largest size of a layer's encrypted terms in bytes, in each direction: a message is in memory as
/// a whole.
const MOST_MESSAGE: u64 = 1 << 30;
/// Largest size of a program's transformed kernels in bytes. The kernels of VGG-16 take a tenth of
/// it.
const MOST_KERNELS: u64 = 16 << 30;

/// A public program with the tables that both parties need.
pub(crate) struct Half {
    pub(crate) public: PublicProgram,
    pub(crate) bases: Vec<Basis>,
    /// The tables of each layer's encrypted terms.
    pub(crate) tables: Vec<Vec<Tables>>,
}

impl Half {
    /// Checks a program and computes its tables.
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
        let half = Self {
            public,
            bases,
            tables,
        };
        for (layer, terms) in half.public.layers.iter().zip(&half.tables) {
            let messages = terms.iter().map(Tables::largest_message);
            let bytes = messages.fold(0, u64::saturating_add);
            let what = format!("layer {}: the bytes of a message", layer.name);
            in_range(what, bytes, 0, MOST_MESSAGE)?;
        }
        Ok(half)
    }

    /// Checks that the transformed kernels have room in memory.
    ///
    /// # Errors
    /// [`Error::Program`](crate::Error::Program) for kernels that are too large.
    pub(crate) fn check_kernels(&self) -> Result<()> {
        let terms = self.tables.iter().flatten();
        let bytes = terms.map(Tables::kernel_bytes).fold(0, u64::saturating_add);
        in_range("the bytes of all kernels", bytes, 0, MOST_KERNELS)
    }

    /// Adds the local terms of a layer to `sums`, from a party's shares. `shares` holds the input
    /// and the outputs of the layers before; `None` is zero.
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

    /// Returns true if the server reveals all accumulators to the client.
    pub(crate) fn reveals_all(&self) -> bool {
        self.public.activations == Activations::Revealed
    }

    /// Returns true if the server reveals the layer's accumulators to the client.
    pub(crate) fn reveals(&self, layer: usize) -> bool {
        self.reveals_all() || self.public.layers[layer].step == Step::Logits
    }

    /// A party's shares of the factors of a layer's product, if the layer has a product on shares.
    /// A `None` among the shares is zero, which occurs only where accumulators are revealed.
    pub(crate) fn factors<'a>(
        &self,
        layer: usize,
        shares: &'a [Option<Vec<u64>>],
    ) -> Option<[&'a [u64]; 2]> {
        let product = self.public.layers[layer].product?;
        let share = |source: usize| shares[source].as_deref();
        Some([share(product.left)?, share(product.right)?])
    }

    /// Adds a layer's product to the client's accumulators, if the server reveals accumulators:
    /// then the client knows the factors.
    pub(crate) fn add_known_product(
        &self,
        layer: usize,
        shares: &[Option<Vec<u64>>],
        sums: &mut [u64],
    ) {
        let (Some(product), true) = (self.public.layers[layer].product, self.reveals_all()) else {
            return;
        };
        let Some([left, right]) = self.factors(layer, shares) else {
            return;
        };
        let [of_left, of_right] = [product.left, product.right].map(|s| self.public.shape_of(s));
        let partners = network::partners(of_left, of_right);
        for ((sum, &left), partner) in sums.iter_mut().zip(left).zip(partners) {
            *sum = sum.wrapping_add(left.wrapping_mul(right[partner]));
        }
    }

    /// Length in bytes of the server's share of a layer's accumulators.
    pub(crate) fn revealed_len(&self, layer: usize) -> usize {
        packed_len(self.values(layer), self.public.layers[layer].bits)
    }
}
