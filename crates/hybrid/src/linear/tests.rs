//! Tests that an answer reveals nothing of the weights, as far as its distributions show.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;

use super::*;
use crate::cipher::RingSpec;
use crate::geometry::ConvShape;
use crate::noise::{Flooding, Norms};

const BITS: u32 = 20;
const OUTPUTS: usize = 640;
const RUNS: usize = 24;

/// Answers to a query of zeros under a secret of zeros, so that only the hiding is visible. For
/// each answer: the words of the masks and of the bodies, and the server's shares.
struct Seen {
    masks: Vec<Vec<u64>>,
    bodies: Vec<Vec<u64>>,
    shares: Vec<Vec<u64>>,
    answer_bits: u32,
    /// Half the width of the flood, in units of the distance between two messages.
    half_width: f64,
}

fn answers() -> Seen {
    let ring = &RingSpec::candidates().unwrap()[0];
    let basis = Basis::new(ring.n, &ring.moduli).unwrap();
    let shape = ConvShape::of_dense(64, OUTPUTS);
    let mut rng = ChaCha20Rng::seed_from_u64(11);
    let weights: Vec<i64> = (0..64 * OUTPUTS)
        .map(|_| rng.random_range(-60..=60))
        .collect();
    let layout = Geometry::new(&shape, ring.n, 64).unwrap();
    let norms = Norms::of(layout.block_weights(&weights));
    let flooding = Flooding::largest(ring, BITS, &norms, OUTPUTS).unwrap();
    let term = EncryptedTerm {
        source: 0,
        shape,
        tile_channels: 64,
        ring: 0,
        flood_bits: flooding.bits,
        answer_bits: flooding.answer_bits,
    };
    let tables = Tables::new(&term, &basis, BITS).unwrap();
    let prepared = Prepared::new(&tables, &term, &weights);
    let secret = SecretKey::zero(&basis);
    let key = PublicKey::generate(&secret, &mut rng);
    let key = PublicKey::read(&basis, &key).unwrap();
    let query = vec![0; tables.query_len()];
    let answer_bits = term.answer_bits;
    let mut seen = Seen {
        masks: Vec::new(),
        bodies: Vec::new(),
        shares: Vec::new(),
        answer_bits,
        half_width: (f64::from(flooding.bits + BITS) - ring.log_q()).exp2(),
    };
    for _ in 0..RUNS {
        let (bytes, shares) = prepared.answer(&tables, &key, &query, None).unwrap();
        let sums = tables.open(&secret, &bytes).into_iter().zip(&shares);
        let sums = sums.map(|(own, other)| own.wrapping_add(*other) & low_bits(BITS));
        assert!(
            sums.into_iter().all(|sum| sum == 0),
            "zero times the weights"
        );
        let (mut masks, mut bodies, mut rest) = (Vec::new(), Vec::new(), &bytes[..]);
        for answer in 0..tables.geometry.answers() {
            let count = ring.n + tables.geometry.answer_places(answer).len();
            let (part, after) = rest.split_at(packed_len(count, answer_bits));
            let words = unpack(part, count, answer_bits);
            masks.extend_from_slice(&words[..ring.n]);
            bodies.extend_from_slice(&words[ring.n..]);
            rest = after;
        }
        seen.masks.push(masks);
        seen.bodies.push(bodies);
        seen.shares.push(shares);
    }
    seen
}

#[test]
fn answers_are_hidden() {
    let seen = answers();
    // Shares are uniform: 15 degrees of freedom, of which one in 10^7 exceeds 60.
    let mut counts = [0.0f64; 16];
    for share in seen.shares.iter().flatten() {
        counts[(share >> (BITS - 4)) as usize] += 1.0;
    }
    let expected = (RUNS * OUTPUTS) as f64 / 16.0;
    let squares: f64 = counts
        .iter()
        .map(|count| (count - expected).powi(2) / expected)
        .sum();
    assert!(squares < 60.0, "chi-square {squares} of {counts:?}");

    // The flood has the stated width and deviation.
    let unit = (seen.answer_bits - BITS) as i32;
    let rest = seen.bodies.iter().flatten().map(|word| {
        let rest = (word << (64 - unit)) as i64 as f64 / 2f64.powi(64);
        assert!(
            rest.abs() < seen.half_width * 1.01,
            "{rest} beyond {}",
            seen.half_width
        );
        rest
    });
    let rest: Vec<f64> = rest.collect();
    let most = rest.iter().fold(0.0f64, |most, x| most.max(x.abs()));
    assert!(
        most > 0.99 * seen.half_width,
        "{most}, stated {}",
        seen.half_width
    );
    let deviation = (rest.iter().map(|x| x * x).sum::<f64>() / rest.len() as f64).sqrt();
    let stated = seen.half_width / 3f64.sqrt();
    assert!(
        (deviation / stated - 1.0).abs() < 0.03,
        "{deviation}, stated {stated}"
    );

    // Equal queries have different masks, and different shares.
    for (words, what) in [(&seen.masks, "masks"), (&seen.shares, "shares")] {
        let equal = words[0]
            .iter()
            .zip(&words[1])
            .filter(|(a, b)| a == b)
            .count();
        assert!(
            equal < words[0].len() / 100,
            "{equal} {what} are the same twice"
        );
    }
}
