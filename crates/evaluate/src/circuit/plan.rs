//! The plan of an encrypted run: the form in which it holds each value.
//!
//! Key switching ends with a division by the special moduli, and a relinearisation is a key switch.
//! Both commute with sums. The division also commutes with products by plaintexts. A product
//! therefore stays at three components, and a rotation stays over the special moduli, as long as
//! the next steps can use these forms. Then one relinearisation serves a sum. One division serves a
//! sum of rotations times plaintexts, or a relinearisation and its rescale.
//!
//! A value is held in one of these forms only if no work is repeated: if it has one use, or if all
//! its uses are products with plaintexts.
//!
//! The form of a value depends on the steps that read it, which come later. The plan is therefore
//! no fold.
//!
//! Sums of products with constants that repeat are computed several at a time (`matrices.rs`).

use super::fold::{effect, last_uses};
use super::matrices::{Batch, batches};
use program::circuit::{Change, Circuit, Effect, Multiplier, Type, ValueId};

/// The form of a value: a plaintext, or the components of a ciphertext.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parts {
    Plaintext,
    /// Two components.
    Pair,
    /// Three components: a product before its relinearisation.
    Product,
    /// Two components times the special moduli, over the chain and the special moduli.
    Extended,
}

/// The plan of a run, drawn up before the run starts.
pub struct Plan {
    /// The form that each step computes.
    pub(super) computed: Vec<Parts>,
    /// The form to which each step's value is then brought, for the steps that read it.
    pub(super) held: Vec<Parts>,
    /// For each value in two components, the last of the rotations that share its decomposition.
    pub(super) decomposed_until: Vec<Option<usize>>,
    /// The last use of each value.
    pub(super) last_use: Vec<usize>,
    /// For each value, true if it is a plaintext that multiplies extended ciphertexts. Uses in
    /// matrices do not count, here and in `narrow`.
    pub(super) extended: Vec<bool>,
    /// For each value, true if it is a plaintext that multiplies other ciphertexts.
    pub(super) narrow: Vec<bool>,
    /// For each value, true if it is a plaintext that is added to ciphertexts.
    pub(super) terms: Vec<bool>,
    /// Steps that are computed together.
    pub(super) batches: Vec<Batch>,
    /// For each step, the index of its batch, if it is in one.
    pub(super) batch_of: Vec<Option<usize>>,
}

/// Key switches and divisions that add to the noise of a step's value.
#[derive(Default)]
pub(super) struct Added {
    /// For each key switch, the type of its operand.
    pub(super) key_switches: Vec<Type>,
    /// Number of divisions.
    pub(super) roundings: usize,
}

impl Plan {
    pub(super) fn new(circuit: &Circuit) -> Self {
        let count = circuit.steps.len();
        let mut uses = vec![Vec::new(); count];
        for (index, step) in circuit.steps.iter().enumerate() {
            step.op
                .operands()
                .into_iter()
                .for_each(|v: ValueId| uses[v].push(index));
        }
        let batches = batches(circuit);
        let mut batch_of = vec![None; count];
        for (number, batch) in batches.iter().enumerate() {
            batch
                .rows
                .iter()
                .for_each(|&row| batch_of[row] = Some(number));
        }
        let mut plan = Self {
            computed: Vec::with_capacity(count),
            held: Vec::with_capacity(count),
            decomposed_until: vec![None; count],
            last_use: last_uses(circuit),
            extended: vec![false; count],
            narrow: vec![false; count],
            terms: vec![false; count],
            batches,
            batch_of,
        };
        for index in 0..count {
            let effects = |&user: &usize| effect(&circuit.steps[user].op);
            let uses: Vec<Effect> = uses[index].iter().map(effects).collect();
            let form = plan.computed_form(circuit, index, &uses);
            let stays = match form {
                Parts::Product => matches!(uses[..], [only] if keeps_product(only)),
                Parts::Extended => goes_on(circuit, &uses),
                Parts::Pair | Parts::Plaintext => true,
            };
            plan.computed.push(form);
            plan.held.push(if stays { form } else { Parts::Pair });
            plan.note_uses(circuit, index);
        }
        plan
    }

    /// The form that a step computes from the forms of its operands. `uses` has the effects of the
    /// steps that read its value.
    fn computed_form(&self, circuit: &Circuit, index: usize, uses: &[Effect]) -> Parts {
        match effect(&circuit.steps[index].op) {
            Effect::Input { .. } if circuit.ty(index).encrypted => Parts::Pair,
            Effect::Input { .. } | Effect::Constant { .. } => Parts::Plaintext,
            Effect::Sum { left, right, .. } => match (self.held[left], self.held[right]) {
                (Parts::Extended, Parts::Plaintext) => Parts::Pair,
                (form, Parts::Plaintext) => form,
                (Parts::Extended, _) | (_, Parts::Extended) => Parts::Extended,
                (Parts::Product, _) | (_, Parts::Product) => Parts::Product,
                (Parts::Pair, _) | (Parts::Plaintext, _) => Parts::Pair,
            },
            Effect::Products { .. } if self.batch_of[index].is_some() => self.batch_form(index),
            Effect::Products { terms } => {
                let mut forms = terms
                    .iter()
                    .map(|&[left, right]| (self.held[left], self.held[right]));
                if forms.clone().any(|(_, right)| right != Parts::Plaintext) {
                    Parts::Product
                } else if forms.any(|(left, _)| left == Parts::Extended) {
                    Parts::Extended
                } else {
                    Parts::Pair
                }
            }
            Effect::Unary { value, change } => match change {
                Change::Permuted(_) => {
                    let only_products = uses.iter().all(|user| is_plain_product(circuit, user));
                    if self.held[value] == Parts::Extended || only_products {
                        Parts::Extended
                    } else {
                        Parts::Pair
                    }
                }
                Change::Multiplied(Multiplier::Integer(_)) => self.held[value],
                _ => Parts::Pair,
            },
        }
    }

    /// The form of all rows of a step's batch.
    fn batch_form(&self, index: usize) -> Parts {
        let batch = self.batch_of[index].map(|number| &self.batches[number]);
        let mut columns = batch.iter().flat_map(|batch| &batch.columns);
        let extended = columns.any(|&column| self.held[column] == Parts::Extended);
        if extended {
            Parts::Extended
        } else {
            Parts::Pair
        }
    }

    /// Marks the uses of plaintexts and the shared decompositions of a step.
    fn note_uses(&mut self, circuit: &Circuit, index: usize) {
        match effect(&circuit.steps[index].op) {
            Effect::Products { .. } if self.batch_of[index].is_some() => {}
            Effect::Products { terms } => {
                let extended = terms
                    .iter()
                    .any(|&[left, _]| self.held[left] == Parts::Extended);
                let whole = if extended {
                    &mut self.extended
                } else {
                    &mut self.narrow
                };
                terms.iter().for_each(|&[_, right]| whole[right] = true);
            }
            Effect::Sum { right, .. } => {
                self.terms[right] |= self.held[right] == Parts::Plaintext;
            }
            Effect::Unary { value, change } => {
                if change.permutation().is_some() && self.held[value] == Parts::Pair {
                    self.decomposed_until[value] = Some(index);
                }
            }
            Effect::Input { .. } | Effect::Constant { .. } => {}
        }
    }

    /// Key switches and divisions of a step, including the conversions of its operands and of its
    /// result to their forms.
    pub(super) fn added(&self, circuit: &Circuit, index: usize) -> Added {
        let ty = circuit.ty(index);
        let of = |value: ValueId| self.held[value];
        let (computed, held) = (self.computed[index], of(index));
        let mut added = Added::default();
        match effect(&circuit.steps[index].op) {
            Effect::Sum { left, right, .. } => {
                added.conversion(of(left), computed, ty);
                added.conversion(of(right), computed, ty);
            }
            Effect::Unary { value, change } => match change {
                Change::Divided => {
                    if of(value) == Parts::Product {
                        added.key_switches.push(circuit.ty(value));
                    }
                    added.roundings += 1;
                }
                Change::Permuted(_) => {
                    added.key_switches.push(ty);
                    // A rotation of a value over the special moduli first divides one component.
                    let divides = of(value) == Parts::Extended || computed == Parts::Pair;
                    added.roundings += usize::from(divides);
                }
                _ => {}
            },
            _ => {}
        }
        added.conversion(computed, held, ty);
        added
    }
}

impl Added {
    fn conversion(&mut self, from: Parts, to: Parts, ty: Type) {
        match (from, to) {
            (Parts::Product, Parts::Pair | Parts::Extended) => {
                self.key_switches.push(ty);
                self.roundings += 1;
            }
            (Parts::Extended, Parts::Pair) => self.roundings += 1,
            _ => {}
        }
    }
}

/// Returns true if a step can use a product before its relinearisation.
fn keeps_product(user: Effect) -> bool {
    let keeps = |change| {
        matches!(
            change,
            Change::Divided | Change::Multiplied(Multiplier::Integer(_))
        )
    };
    matches!(user, Effect::Sum { .. }) || user.change().is_some_and(keeps)
}

/// Returns true if a value over the special moduli may stay in this form for all its uses.
fn goes_on(circuit: &Circuit, uses: &[Effect]) -> bool {
    let permutes = |user: Effect| user.change().and_then(Change::permutation).is_some();
    let only = match uses {
        [only] => keeps_product(*only) || permutes(*only),
        _ => false,
    };
    only || uses.iter().all(|user| is_plain_product(circuit, user))
}

fn is_plain_product(circuit: &Circuit, user: &Effect) -> bool {
    match user {
        Effect::Products { terms } => terms.iter().all(|&[_, right]| !circuit.ty(right).encrypted),
        _ => false,
    }
}
