//! Uses each part of Palladion as a crate of its own would, beside another crate that is called
//! `ring`.

use palladion::{backend, bgv, ckks, client, compile, server, sim, tfhe};

fn main() {
    let random = ring::rand::SystemRandom::new();
    drop(random);
    let _ = bgv::Params::named("exact-13").map(|params| params.generate_secret(&mut palladion::rng()));
    let _ = ckks::Params::for_depth(13, 1, 30);
    let _ = tfhe::sets::gates_2m128();
    let _: fn(&client::Terms) -> client::Client = client::Client::generate;
    let _ = compile::compile;
    let _ = server::Prepared::new;
    let _ = backend::Values::default();
    let _ = sim::names();
    let _ = palladion_hybrid::compile;
}
