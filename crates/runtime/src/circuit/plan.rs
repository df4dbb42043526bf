//! How the encrypted run holds each value.
//!
//! Key switching ends with a division by the special moduli, and a relinearisation is a key switch. Both commute with sums, the
//! division with products by plaintexts too. So a product stays at three components, and a rotation over the special moduli, as
//! long as what follows can go on from there: one relinearisation then serves a sum, and one division serves a sum of rotations
//! times plaintexts, or a relinearisation and its rescale.
//!
//! A value is held so only where that repeats nothing: if it has one use, or all its uses are products with plaintexts.

use super::walk::last_uses;
use program::circuit::{Circuit, Op, ValueId};

/// How a value is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Plaintext,
    /// Two components.
    Pair,
    /// Three components: a product that is not relinearised.
    Product,
    /// Two components over the special moduli as well, times their product.
    Extended,
}

/// What is known of a run before it starts.
pub(super) struct Plan {
    /// The form that a step makes its value in, and the one that the value is then brought to and held in.
    pub(super) made: Vec<Form>,
    pub(super) forms: Vec<Form>,
    /// Of a value in two components that rotations share the decomposition of, the last of them.
    pub(super) decomposed_until: Vec<Option<usize>>,
    /// The last use of each value.
    pub(super) last_use: Vec<usize>,
    /// Plaintexts that are multiplied with extended ciphertexts, and those that are used otherwise.
    pub(super) extended: Vec<bool>,
    pub(super) narrow: Vec<bool>,
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
        let mut plan = Self {
            made: Vec::with_capacity(count),
            forms: Vec::with_capacity(count),
            decomposed_until: vec![None; count],
            last_use: last_uses(circuit),
            extended: vec![false; count],
            narrow: vec![false; count],
        };
        for index in 0..count {
            let made = plan.made_of(circuit, index, &uses);
            let uses: Vec<&Op> = uses[index].iter().map(|&u| &circuit.steps[u].op).collect();
            let kept = match made {
                Form::Product => matches!(
                    uses[..],
                    [Op::Add { .. } | Op::Sub { .. } | Op::Rescale { .. }]
                ),
                Form::Extended => goes_on(circuit, &uses),
                Form::Pair | Form::Plaintext => true,
            };
            plan.made.push(made);
            plan.forms.push(if kept { made } else { Form::Pair });
            plan.note_uses(circuit, index);
        }
        plan
    }

    /// The form that a step makes of the forms of its operands.
    fn made_of(&self, circuit: &Circuit, index: usize, uses: &[Vec<usize>]) -> Form {
        match &circuit.steps[index].op {
            Op::Input { .. } if circuit.ty(index).encrypted => Form::Pair,
            Op::Input { .. } | Op::Constant { .. } => Form::Plaintext,
            Op::Add { left, right } | Op::Sub { left, right } => {
                match (self.forms[*left], self.forms[*right]) {
                    (Form::Extended, Form::Plaintext) => Form::Pair,
                    (form, Form::Plaintext) => form,
                    (Form::Extended, _) | (_, Form::Extended) => Form::Extended,
                    (Form::Product, _) | (_, Form::Product) => Form::Product,
                    (Form::Pair, _) | (Form::Plaintext, _) => Form::Pair,
                }
            }
            Op::Mul { terms } => {
                let mut forms = terms
                    .iter()
                    .map(|&[left, right]| (self.forms[left], self.forms[right]));
                if forms.clone().any(|(_, right)| right != Form::Plaintext) {
                    Form::Product
                } else if forms.any(|(left, _)| left == Form::Extended) {
                    Form::Extended
                } else {
                    Form::Pair
                }
            }
            Op::Rotate { value, .. } | Op::Conjugate { value } => {
                let mut users = uses[index].iter().map(|&u| &circuit.steps[u].op);
                let only_products = users.all(|op| is_plain_product(circuit, op));
                if self.forms[*value] == Form::Extended || only_products {
                    Form::Extended
                } else {
                    Form::Pair
                }
            }
            Op::Rescale { .. } | Op::Drop { .. } | Op::Read { .. } | Op::Output { .. } => {
                Form::Pair
            }
        }
    }

    /// What the step asks of its operands.
    fn note_uses(&mut self, circuit: &Circuit, index: usize) {
        match &circuit.steps[index].op {
            Op::Mul { terms } => {
                let extended = terms
                    .iter()
                    .any(|&[left, _]| self.forms[left] == Form::Extended);
                let whole = if extended {
                    &mut self.extended
                } else {
                    &mut self.narrow
                };
                terms.iter().for_each(|&[_, right]| whole[right] = true);
            }
            Op::Add { right, .. } | Op::Sub { right, .. } => self.narrow[*right] = true,
            Op::Rotate { value, .. } | Op::Conjugate { value }
                if self.forms[*value] == Form::Pair =>
            {
                self.decomposed_until[*value] = Some(index);
            }
            _ => {}
        }
    }
}

/// Whether a value over the special moduli may stay so for what uses it.
fn goes_on(circuit: &Circuit, uses: &[&Op]) -> bool {
    match uses {
        [
            Op::Add { .. }
            | Op::Sub { .. }
            | Op::Rescale { .. }
            | Op::Rotate { .. }
            | Op::Conjugate { .. },
        ] => true,
        uses => uses.iter().all(|op| is_plain_product(circuit, op)),
    }
}

fn is_plain_product(circuit: &Circuit, op: &Op) -> bool {
    match op {
        Op::Mul { terms } => terms.iter().all(|&[_, right]| !circuit.ty(right).encrypted),
        _ => false,
    }
}
