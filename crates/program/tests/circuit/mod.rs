//! Circuits: their types, refusals, text and JSON, and needs.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

mod auto;
mod exact;
mod layers;
mod parts;
mod refused;
mod text;

use palladion_program::circuit::{Arithmetic, Circuit, CircuitBuilder, Type};

/// A builder with three levels of 30 bits above one of 40 bits, and 8 slots.
fn builder() -> CircuitBuilder {
    let moduli = [40.0, 30.0, 30.0, 30.0].map(f64::exp2).to_vec();
    CircuitBuilder::new("every operation", Arithmetic::Approximate { moduli }, 8).unwrap()
}

fn ciphertext(level: usize, log_scale: f64) -> Type {
    Type {
        encrypted: true,
        level,
        scale: log_scale.exp2(),
    }
}

fn every_operation() -> Circuit {
    let mut b = builder();
    let x = b.input("x", ciphertext(3, 30.0)).unwrap();
    let plain = Type {
        encrypted: false,
        ..ciphertext(3, 30.0)
    };
    let p = b.input("p", plain).unwrap();
    let c = b.constant("bias", &[1.0, -0.5], (3, 30f64.exp2())).unwrap();
    let near = b.rotate(x, 1).unwrap();
    let far = b.rotate(x, -2).unwrap();
    let sum = b.dot(&[[x, p], [near, c], [far, p]]).unwrap();
    let sum = b.rescale(sum).unwrap();
    let low = b.drop_to(x, 2).unwrap();
    let product = b.mul(sum, low).unwrap();
    let product = b.rescale(product).unwrap();
    let conjugate = b.conjugate(product).unwrap();
    let difference = b.sub(product, conjugate).unwrap();
    let difference = b.rotate(difference, 1).unwrap();
    let both = b.add(difference, conjugate).unwrap();
    let half = b.read(both, 0.5).unwrap();
    b.output("y", half).unwrap();
    b.output("square's root", conjugate).unwrap();
    b.finish().unwrap()
}
