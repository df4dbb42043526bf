//! The evaluation keys that a circuit needs from its client.

use super::scheme::Scheme;
use exchange::Needs;
use program::circuit::KeyNeeds;

/// The keys that a client generates for a circuit's [needs](program::circuit::Circuit::keys), with
/// the parameters of a scheme, by Galois element and level of the ring. Each key has the highest
/// level at which it is used, and no other key is listed.
///
/// # Panics
/// If the parameters lack a level. They have all levels of a circuit that a
/// [`Runner`](super::Runner) accepts.
pub fn needs<S: Scheme>(params: &S, needs: &KeyNeeds) -> Needs {
    let mut keys = Needs::default();
    let rotations = needs.rotations.iter();
    let rotations = rotations.map(|(&k, &level)| (params.rotation(k), level));
    let reflection = needs.conjugation.map(|level| (params.reflection(), level));
    for (element, level) in rotations.chain(reflection) {
        keys.galois(element, params.ring_level(level));
    }
    if let Some(level) = needs.relinearization {
        keys.relinearize(params.ring_level(level));
    }
    if needs.bootstrapping
        && let Some(sparse) = params.sparse()
    {
        keys.sparse(sparse);
    }
    keys
}
