//! The keys of a circuit: loaded, expanded and prepared once for all bootstrappings.

use super::names;
use super::product::{prepare, prepare_column};
use super::table::ModulusTable;
use program::torus::KeySwitch;
use trace::{Builder, ValueId};

/// The polynomials of all rows or columns, as factors of products. Empty until they are needed.
#[derive(Default)]
pub(super) struct Keys {
    bootstrap: Vec<ValueId>,
    switch: Vec<ValueId>,
}

impl Keys {
    /// The rows of all GGSW ciphertexts.
    pub(super) fn bootstrap(&mut self, table: &ModulusTable, b: &mut Builder) -> &[ValueId] {
        if self.bootstrap.is_empty() {
            let p = &table.parameters;
            let components = p.rank + 1;
            let rows = p.dimension * components * p.bootstrap.count as usize;
            self.bootstrap = load_rows(table, b, names::BOOTSTRAP, (rows, components));
        }
        &self.bootstrap
    }

    /// The rows of a key switching key in the ring, or the columns of a key switching key by
    /// samples.
    pub(super) fn switch(&mut self, table: &ModulusTable, b: &mut Builder) -> &[ValueId] {
        if self.switch.is_empty() {
            let p = &table.parameters;
            let count = p.rank * p.key_switch.digits().count as usize;
            self.switch = match p.key_switch {
                KeySwitch::Ring(_) => {
                    load_rows(table, b, names::SWITCH, (count, p.small_rank() + 1))
                }
                KeySwitch::Lwe(_) => load_columns(table, b, (p.dimension + 1, count)),
            };
        }
        &self.switch
    }
}

/// Loads rows of `components` polynomials. The last polynomial of a row is the body.
fn load_rows(
    table: &ModulusTable,
    b: &mut Builder,
    key: &str,
    (rows, components): (usize, usize),
) -> Vec<ValueId> {
    let prepare = prepare(table, b, components);
    let n = table.parameters.n;
    let row = |row: usize| {
        let skips = (0..components - 1).map(|mask| (mask * n) as u32);
        let mut parts: Vec<ValueId> = skips
            .map(|skip| b.expand(key, (row as u32, skip), table.word))
            .collect();
        parts.push(b.load(names::body(key, row), table.words()));
        b.call(prepare, &parts)
    };
    (0..rows).flat_map(row).collect()
}

/// Loads columns of `polynomials` polynomials.
fn load_columns(
    table: &ModulusTable,
    b: &mut Builder,
    (columns, polynomials): (usize, usize),
) -> Vec<ValueId> {
    let prepare = prepare_column(table, b, polynomials);
    let column = |column: usize| {
        let parts = (0..polynomials).map(|part| names::part(names::SWITCH, column, part));
        let parts: Vec<ValueId> = parts.map(|name| b.load(name, table.words())).collect();
        b.call(prepare, &parts)
    };
    (0..columns).flat_map(column).collect()
}
