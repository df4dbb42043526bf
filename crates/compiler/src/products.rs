//! Products of two values: where they lie, and which tables they need.
//!
//! Both factors are packed in the slots where the product is to lie, and their tables end a limb higher than
//! others, for the product (`docs/adr/0007-products-in-slots.md`).

use crate::error::Result;
use crate::forms::{Form, Forms, Placing, readers};
use crate::layers::TableUse;
use network::{IntNetwork, Linear, Product, Shape, Source, Window};

/// What happens to a value in slots next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Next {
    /// A dense layer from slots.
    Dense,
    /// Slots to coefficients.
    Coefficients,
    /// A product of two values, and then slots to coefficients.
    Product,
}

/// How a layer reads its own product.
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
    /// Products that a layer is a factor of: the layer that they belong to, the product, and where it lies.
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

    /// Every evaluation of a table, and the ciphertexts of a batch on which it is done.
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

/// Where a factor lies that maps read as well: one table serves both if the product lies there too. Its coefficients
/// have a limb more than others, so the maps must not be added up with others'.
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

/// Whether every map that reads a layer is all that its own layer adds up.
pub(crate) fn alone(network: &IntNetwork, index: usize) -> bool {
    let readers = readers(network, Source::Layer(index));
    readers
        .iter()
        .all(|(layer, _)| layer.terms.len() == 1 && layer.product.is_none())
}
