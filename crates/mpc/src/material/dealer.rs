//! A dealer of material, who knows both parties' parts: for tests of everything but the OTs.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use zeroize::Zeroizing;

use super::needs::index;
use super::store::Rows;
use super::{Material, Needs, Squares, Triples};
use crate::cost::Role;
use crate::slices::mask;

/// Deals the material of the server and of the client.
pub(crate) fn deal(needs: &Needs, seed: u64) -> [Material; 2] {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let [mut server, mut client] = [Material::default(), Material::default()];
    for chooser in [Role::Server, Role::Client] {
        for (&width, &words) in &needs.transfers[index(chooser)] {
            let (mut chosen, mut sent) = (Vec::new(), Vec::new());
            for _ in 0..words {
                let choice: u64 = rng.random();
                let first: Vec<u64> = (0..width).map(|_| rng.random()).collect();
                let change: Vec<u64> = (0..width).map(|_| rng.random()).collect();
                chosen.push(choice);
                chosen.extend(first.iter().zip(&change).map(|(m, d)| m ^ (choice & d)));
                sent.extend(first);
                sent.extend(change);
            }
            let (of_chooser, of_other) = match chooser {
                Role::Server => (&mut server, &mut client),
                Role::Client => (&mut client, &mut server),
            };
            let at = index(chooser);
            of_chooser.transfers[at].insert(width, Rows::new(chosen.into()));
            of_other.transfers[at].insert(width, Rows::new(sent.into()));
        }
    }
    for (&bits, &words) in &needs.random_bits {
        let (mut server_rows, mut client_rows) = (
            [Rows::default(), Rows::default()],
            [Rows::default(), Rows::default()],
        );
        for _ in 0..words {
            let (a, b): (u64, u64) = (rng.random(), rng.random());
            server_rows[0].push(&[a]);
            client_rows[0].push(&[b]);
            for at in 0..64 {
                let share: u64 = rng.random();
                let bit = (a ^ b) >> at & 1;
                server_rows[1].push(&[share & mask(bits)]);
                client_rows[1].push(&[bit.wrapping_sub(share) & mask(bits)]);
            }
        }
        server.random_bits.insert(bits, server_rows);
        client.random_bits.insert(bits, client_rows);
    }
    for (&bits, &count) in needs.squares() {
        let mut share = |value: u64| {
            let share: u64 = rng.random();
            (share, value.wrapping_sub(share))
        };
        let (mut of_server, mut of_client) = ((vec![], vec![]), (vec![], vec![]));
        for at in 0..count as u64 {
            let a = at.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let (first, second) = (share(a), share(a.wrapping_mul(a)));
            of_server.0.push(first.0);
            of_client.0.push(first.1);
            of_server.1.push(second.0);
            of_client.1.push(second.1);
        }
        for (material, (a, a_squared)) in [(&mut server, of_server), (&mut client, of_client)] {
            material
                .add_squares(
                    bits,
                    Squares {
                        a: Vec::into(a),
                        a_squared: Vec::into(a_squared),
                    },
                )
                .expect("equal lengths");
        }
    }
    for (&bits, &count) in needs.triples() {
        let numbers = |seed: u64| -> Vec<u64> {
            let mut rng = ChaCha20Rng::seed_from_u64(seed);
            (0..count).map(|_| rng.random()).collect()
        };
        let [a, b, product, c, d] = [1, 2, 3, 4, 5].map(|part| numbers(seed ^ part));
        let whole = |at: usize| {
            a[at]
                .wrapping_add(c[at])
                .wrapping_mul(b[at].wrapping_add(d[at]))
        };
        let rest = (0..count)
            .map(|at| whole(at).wrapping_sub(product[at]))
            .collect();
        let of_client = Triples {
            a: c.clone().into(),
            b: d.clone().into(),
            product: Zeroizing::new(rest),
        };
        client.add_triples(bits, of_client).expect("equal lengths");
        server
            .add_triples(
                bits,
                Triples {
                    a: a.into(),
                    b: b.into(),
                    product: product.into(),
                },
            )
            .expect("equal lengths");
    }
    [server, client]
}
