//! BFV's operations: the operations on residuals, and the scale-invariant product.

use crate::product::ProductTables;
use exact::Params;
use ring::Cache;
use std::ops::Deref;
use std::sync::Arc;

/// BFV operations for one set of parameters: the operations of [`exact::Evaluator`], and
/// [`mul`](Evaluator::mul). Clones share the tables of the products.
#[derive(Clone)]
pub struct Evaluator {
    exact: exact::Evaluator,
    products: Arc<Cache<usize, ProductTables>>,
}

impl Evaluator {
    /// Operations for `params`.
    pub fn new(params: &Params) -> Self {
        Self {
            exact: exact::Evaluator::new(params),
            products: Arc::default(),
        }
    }

    pub(crate) fn product_tables(&self, level: usize) -> Arc<ProductTables> {
        let make = || ProductTables::new(self.params(), level);
        self.products.get_or(&level, make)
    }
}

/// All operations that need only the residual.
impl Deref for Evaluator {
    type Target = exact::Evaluator;

    fn deref(&self) -> &exact::Evaluator {
        &self.exact
    }
}
