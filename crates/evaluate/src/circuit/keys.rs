//! The evaluation keys that a circuit needs from its client.

use super::scheme::Scheme;
use exchange::Needs;
use program::circuit::KeyNeeds;

/// The keys that a circuit [needs](program::circuit::Circuit::keys) with the parameters of a
/// scheme, by Galois element and level of the ring. Each key has the highest level at which it is
/// used, and no other key is listed. A client makes them.
///
/// # Panics
/// If the parameters do not have a level. They have all levels of a circuit that a
/// [`Runner`](super::Runner) accepts.
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
