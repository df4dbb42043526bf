//! Products of two values: their placing, and the tables that they need.
//!
//! Both factors are packed in the slots of the product. Their tables end a limb higher than others,
//! to leave a limb for the product (`docs/adr/0007-products-in-slots.md`).

use crate::error::Result;
use crate::forms::{Form, Forms, Placing, readers};
use crate::layers::TableUse;
use network::{IntNetwork, Linear, Product, Shape, Source, Window};

/// The operation that follows on a value in slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Next {
    /// A dense layer from slots.
    Dense,
    /// Slots to coefficients.
    Coefficients,
    /// A product of two values, and then slots to coefficients.
    Product,
}

/// The map by which a layer reads its own product.
pub(crate) fn identity(shape: Shape) -> Linear {
    Linear::Window(Window {
        kernel: [1, 1],
        stride: [1, 1],
        dilation: [1, 1],
        pads: [0; 4],
        weights: vec![1],
        first: 0,
        channels: shape[0],
    })
}

impl Forms {
    /// Products of which a layer is a factor: the layer of the product, the product, and its
    /// placing.
    pub(crate) fn products_of<'f>(
        &'f self,
        network: &'f IntNetwork,
        factor: usize,
    ) -> impl Iterator<Item = (usize, Product, &'f Placing)> + 'f {
        let layers = network.layers.iter().zip(&self.products).enumerate();
        layers.filter_map(move |(index, (layer, placing))| {
            let (product, placing) = (layer.product?, placing.as_ref()?);
            let factors = <[Source; 2]>::from(product);
            factors
                .contains(&Source::Layer(factor))
                .then_some((index, product, placing))
        })
    }

    /// All evaluations of tables, each with the number of ciphertexts of a batch.
    pub(crate) fn tables(
        &self,
        network: &IntNetwork,
        slots: usize,
        batch: usize,
    ) -> Result<Vec<(TableUse, usize)>> {
        let mut tables = Vec::new();
        for (index, form) in self.layers.iter().enumerate() {
            if let Some(form) = form {
                let table = (index, form.layout(slots)?, form.next());
                tables.push((table, form.parts(batch)));
            }
            for (_, _, placing) in self.products_of(network, index) {
                let table = (index, placing.layout(slots)?, Next::Product);
                tables.push((table, placing.count(batch)));
            }
        }
        Ok(tables)
    }
}

/// The layer of a product's left factor.
pub(crate) fn left_of(product: Product) -> usize {
    match product.left {
        Source::Layer(index) => index,
        Source::Input => unreachable!("a checked network multiplies layers' outputs"),
    }
}

/// The placing of a factor that maps read too. If the product has the same placing, one table
/// serves both. Its coefficients have a limb more than others, so the maps must not be added up
/// with other maps.
pub(crate) fn shared<'f>(
    network: &IntNetwork,
    layers: &'f [Option<Form>],
    product: Product,
    shapes: &[Shape],
) -> Option<&'f Placing> {
    let whole = shapes[left_of(product)];
    <[Source; 2]>::from(product).into_iter().find_map(|source| {
        let Source::Layer(index) = source else {
            return None;
        };
        match &layers[index] {
            Some(Form::Coefficients(placing))
                if shapes[index] == whole && alone(network, index) =>
            {
                Some(placing)
            }
            _ => None,
        }
    })
}

/// Returns true if every map that reads the layer is the only term of its own layer.
pub(crate) fn alone(network: &IntNetwork, index: usize) -> bool {
    let readers = readers(network, Source::Layer(index));
    readers
        .iter()
        .all(|(layer, _)| layer.terms.len() == 1 && layer.product.is_none())
}
