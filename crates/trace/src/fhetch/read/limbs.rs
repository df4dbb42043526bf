//! Joins limbs of several values to one value, and splits a value into limbs.

use super::at;
use super::value::{Act, Cell, Poly};
use crate::Builder;
use crate::error::Result;
use crate::ir::{Domain, ModulusId, Op, ValueId};
use crate::limbs::Limbs;
use std::collections::HashMap;

/// Values that a body has already made from limbs.
#[derive(Default)]
pub(super) struct Made(HashMap<Vec<Cell>, ValueId>);

impl Made {
    /// Returns the value that has these limbs. Selects and joins limbs, and does their pending
    /// transforms and scalings.
    pub(super) fn whole(&mut self, b: &mut Builder, poly: &Poly, line: usize) -> Result<ValueId> {
        let key: Vec<Cell> = poly.values().copied().collect();
        if let Some(&known) = self.0.get(&key) {
            return Ok(known);
        }
        let mut groups: Vec<Vec<Cell>> = Vec::new();
        for &cell in &key {
            let alike = |group: &&mut Vec<Cell>| {
                let first = group[0];
                first.value == cell.value && same_act(first.act, cell.act)
            };
            match groups.iter_mut().find(alike) {
                Some(group) => group.push(cell),
                None => groups.push(vec![cell]),
            }
        }
        let mut parts = Vec::with_capacity(groups.len());
        for group in &groups {
            let part = match self.0.get(group) {
                Some(&known) => known,
                None => self.part(b, group).map_err(|error| at(line, error))?,
            };
            self.0.insert(group.clone(), part);
            parts.push(part);
        }
        let whole = match parts[..] {
            [part] => part,
            _ => b.push(Op::Join(parts)).map_err(|e| at(line, e))?.start,
        };
        self.0.insert(key, whole);
        Ok(whole)
    }

    /// Makes a value of limbs of one value that all have the same pending act.
    fn part(&self, b: &mut Builder, group: &[Cell]) -> Result<ValueId> {
        let (of, limbs) = (group[0].value, group.iter().map(|cell| cell.limb));
        let limbs = Limbs::new(limbs.map(|limb| limb..limb + 1));
        let selected = match b.ty(of).limbs == limbs {
            true => of,
            false => b.push(Op::Select { value: of, limbs })?.start,
        };
        let factor = |cell: &Cell| match cell.act {
            Act::Scale(factor) => factor,
            Act::Nothing | Act::Ntt => 1,
        };
        match group[0].act {
            Act::Nothing => Ok(selected),
            Act::Ntt => Ok(b.push(Op::Ntt(selected))?.start),
            Act::Scale(_) => {
                let factors = group.iter().map(factor).collect();
                let value = selected;
                Ok(b.push(Op::Scale { value, factors })?.start)
            }
        }
    }

    /// Returns the value of a single limb.
    pub(super) fn one(&mut self, b: &mut Builder, cell: Cell, line: usize) -> Result<ValueId> {
        self.whole(b, &Poly::from([(cell.limb, cell)]), line)
    }
}

fn same_act(left: Act, right: Act) -> bool {
    std::mem::discriminant(&left) == std::mem::discriminant(&right)
}

impl Cell {
    pub(super) fn of(value: ValueId, limb: ModulusId) -> Self {
        let act = Act::Nothing;
        Self { value, limb, act }
    }

    pub(super) fn domain(&self, b: &Builder) -> Domain {
        match self.act {
            Act::Ntt => Domain::Eval,
            Act::Nothing | Act::Scale(_) => b.ty(self.value).domain,
        }
    }
}

/// Returns all limbs of a value.
pub(super) fn limbs_of(b: &Builder, value: ValueId) -> Poly {
    let limbs = b.ty(value).limbs.iter();
    limbs.map(|limb| (limb, Cell::of(value, limb))).collect()
}
