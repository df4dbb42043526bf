//! Chains of products: the number of products that follow a value, and the inputs that values
//! share.

use bgv::noise::Factors;
use program::circuit::{Circuit, Op, ValueId};

/// Dependencies between the products of a circuit.
pub(super) struct Chains {
    /// For each value, the length of the longest chain of products of ciphertexts that follows it.
    pub(super) ahead: Vec<usize>,
    /// For each value, the encrypted inputs from which it is computed, as a bit set.
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

    /// The dependence between the two factors of a product.
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
