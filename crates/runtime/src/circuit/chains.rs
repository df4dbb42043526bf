//! Products one after the other: what is to come, and what goes back to the same input.

use bgv::noise::Factors;
use program::circuit::{Circuit, Op, ValueId};

/// What is known of a circuit's products.
pub(super) struct Chains {
    /// By value, the products of ciphertexts one after the other that it goes into, at most.
    pub(super) ahead: Vec<usize>,
    /// By value, the encrypted inputs that it is computed from, a bit each.
    from: Vec<Vec<u64>>,
}

impl Chains {
    pub(super) fn new(circuit: &Circuit) -> Self {
        let count = circuit.steps.len();
        let mut ahead = vec![0; count];
        for (index, step) in circuit.steps.iter().enumerate().rev() {
            let product = match &step.op {
                Op::Mul { terms } => circuit.ty(terms[0][1]).encrypted,
                _ => false,
            };
            let own = ahead[index] + usize::from(product);
            let operands = step.op.operands().into_iter();
            operands.for_each(|value| ahead[value] = own.max(ahead[value]));
        }
        let mut from: Vec<Vec<u64>> = Vec::with_capacity(count);
        let mut inputs = 0;
        for step in &circuit.steps {
            let mut own = Vec::new();
            if matches!(step.op, Op::Input { .. }) && step.ty.encrypted {
                own.resize(inputs / 64 + 1, 0);
                own[inputs / 64] = 1 << (inputs % 64);
                inputs += 1;
            }
            for value in step.op.operands() {
                let other = &from[value];
                own.resize(own.len().max(other.len()), 0);
                own.iter_mut().zip(other).for_each(|(a, b)| *a |= b);
            }
            from.push(own);
        }
        Self { ahead, from }
    }

    /// How the factors of a product depend on each other.
    pub(super) fn factors(&self, left: ValueId, right: ValueId) -> Factors {
        let mut both = self.from[left].iter().zip(&self.from[right]);
        if left == right {
            Factors::Same
        } else if both.any(|(a, b)| a & b != 0) {
            Factors::Alike
        } else {
            Factors::Apart
        }
    }
}
