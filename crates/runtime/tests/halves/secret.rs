//! Where the secret is, and where it must not be.

use crate::common::small_program;
use crate::halves::{client_of, image, secret_bytes};
use exchange::files;
use palladion_runtime::{Checkpoint, Prepared, Server};
use ring::{Basis, Coeff, Domain, Eval, Poly};
use rlwe::bytes::{Kind, Writer};
use std::collections::HashSet;

/// Bytes of a small polynomial as packed residues of each modulus. A file would have these bytes if
/// it held the polynomial.
fn packed<D: Domain>(poly: &Poly<D>) -> Vec<u8> {
    const BARE: Kind = Kind {
        tag: *b"TEST",
        words: "",
        version: 1,
    };
    let mut w = Writer::new();
    w.poly(poly);
    let sealed = w.seal(&BARE, &[0; 32]);
    sealed[56..sealed.len() - 32].to_vec()
}

#[test]
fn the_secret_is_in_none_of_the_files_a_server_reads() -> Result<(), Box<dyn std::error::Error>> {
    let prepared = Prepared::new(small_program())?;
    let client = client_of(&prepared, 9);
    let (params, secret) = (prepared.params(), client.keys());
    let lwe = secret.lwe().in_ring(params.bfv().n());
    let small = |values: &[i64]| values.iter().map(|&v| v as u8).collect::<Vec<_>>();
    let mut needles = vec![
        small(secret.secret().coefficients()),
        small(secret.lwe().coefficients()),
        client.secret().to_seed().to_vec(),
    ];
    // The secret as polynomials modulo each modulus, in both domains.
    let moduli = params
        .bfv()
        .rlwe()
        .extended(params.bfv().rlwe().max_level());
    let moduli = moduli
        .values()
        .into_iter()
        .chain(params.small().basis().values());
    for q in moduli {
        let basis = Basis::new(params.bfv().n(), &[q]).unwrap();
        for coefficients in [secret.secret().coefficients(), &lwe] {
            let poly: Poly<Coeff> = Poly::from_signed(&basis, coefficients);
            needles.push(packed(&poly));
            let eval: Poly<Eval> = poly.into_eval();
            needles.push(packed(&eval));
        }
    }
    let occurs = |file: &[u8]| -> bool {
        // Sixteen bytes from several places: a part of a secret is as bad as all of it.
        let parts = needles
            .iter()
            .flat_map(|n| n.chunks_exact(16).step_by((n.len() / 64).max(1)).take(8));
        let parts: HashSet<&[u8]> = parts.filter(|part| part.iter().any(|&b| b != 0)).collect();
        file.windows(16).any(|window| parts.contains(window))
    };
    let own = secret_bytes(&client);
    assert!(occurs(&own), "the search finds a secret where there is one");
    let query = client.encrypt(&[image()])?;
    let keys = client.evaluation_keys()?;
    let mut checkpoints = Vec::new();
    let save = |state: &Checkpoint| {
        checkpoints.extend(state.to_bytes(&prepared));
        true
    };
    let (answer, _) = Server::new(&prepared, &keys).resume(&query, None, |_| true, save)?;
    assert!(!checkpoints.is_empty());
    for file in [
        checkpoints,
        files::program_to_bytes(&prepared),
        files::keys_to_bytes(prepared.params(), &keys)?,
        files::query_to_bytes(&query),
        files::answer_to_bytes(&prepared, &answer),
    ] {
        assert!(!occurs(&file));
    }
    Ok(())
}
