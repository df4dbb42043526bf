//! Which evaluation keys a circuit needs of its client.

use super::scheme::Scheme;
use exchange::Needs;
use program::circuit::KeyNeeds;

/// The keys that a circuit [needs](program::circuit::Circuit::keys) at the parameters of a scheme,
/// by Galois element and level of the ring: each for the highest level it is used at, and no other.
/// A client makes them.
///
/// # Panics
/// If a level is none of the parameters': of a circuit that a [`Runner`](super::Runner) takes, all
/// are.
pub fn needs<S: Scheme>(params: &S, needs: &KeyNeeds) -> Needs {
    let mut found = Needs::default();
    let rotations = needs.rotations.iter();
    let rotations = rotations.map(|(&k, &level)| (params.rotation(k), level));
    let reflection = needs.conjugation.map(|level| (params.reflection(), level));
    for (element, level) in rotations.chain(reflection) {
        found.galois(element, params.ring_level(level));
    }
    if let Some(level) = needs.relinearization {
        found.relinearize(params.ring_level(level));
    }
    if needs.bootstrapping
        && let Some(sparse) = params.sparse()
    {
        found.sparse(sparse);
    }
    found
}
