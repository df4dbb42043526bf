use super::slots_to_coeffs::stage_maps;
use super::*;
use crate::engine::{DryValue, EncryptedValue, Value};
use crate::error::Error;
use crate::operations::{Dry, Run};
use bfv::noise::Noise;
use bfv::{Params, T_FERMAT, decrypt, encrypt, measure};
use client::ClientKeys;
use exchange::LoopParams;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use ring::sample::Masks;
use ring::{ntt_primes, ntt_primes_avoiding};
use rlwe::ParamsSpec;
use rlwe::lwe::LweSecret;

const T: u64 = T_FERMAT;

fn params_insecure(n: usize, limbs: usize) -> Params {
    let mut q = ntt_primes(25, n, 1).unwrap();
    q.extend(ntt_primes(33, n, limbs - 1).unwrap());
    let p = ntt_primes_avoiding(38, n, 2, &q).unwrap();
    let spec = ParamsSpec {
        n,
        q,
        p,
        digit_limbs: 2,
    };
    Params::new_insecure(&spec, T).unwrap()
}

fn random_slots(n: usize, rng: &mut ChaCha20Rng) -> Vec<u64> {
    (0..n).map(|_| rng.random_range(0..T)).collect()
}

#[test]
fn stages_composed_place_slots_at_their_coefficients() {
    for (n, layers) in [(16, &[1, 2][..]), (1 << 9, &[8]), (1 << 9, &[3, 2, 3])] {
        let params = params_insecure(n, 2);
        let (encoder, t) = (params.encoder(), params.t());
        let mut rng = ChaCha20Rng::seed_from_u64(n as u64);
        let input = random_slots(n, &mut rng);
        let out = stage_maps(encoder, layers)
            .iter()
            .fold(input.clone(), |slots, map| map.apply(t, &slots));
        let coefficients = encoder.slots_to_plaintext(&out);
        for (slot, value) in input.iter().enumerate() {
            let place = coefficient_of_slot(n, slot);
            assert_eq!(coefficient_of_slot(n, place), slot);
            assert_eq!(coefficients.coefficients()[place], *value, "N = {n}");
        }
    }
}

#[test]
fn blocks_come_to_their_coefficients() {
    for (n, dimension, layers) in [
        (16, 16, &[1, 2][..]),
        (1 << 9, 1 << 9, &[3, 3, 2]),
        (1 << 9, 64, &[2, 2, 1]),
        (1 << 9, 4, &[1]),
    ] {
        let params = params_insecure(n, 2);
        let (encoder, t) = (params.encoder(), params.t());
        let coefficients = random_slots(n, &mut ChaCha20Rng::seed_from_u64(n as u64));
        let slots = blocks(encoder, dimension, &coefficients);
        let maps = coeffs_to_slots::stage_maps(encoder, layers);
        let slots = maps.iter().fold(slots, |slots, map| map.apply(t, &slots));
        for (slot, value) in slots.iter().enumerate() {
            let expected = coefficients[coefficient_of_slot(n, slot)];
            assert_eq!(*value, expected, "N = {n}, n = {dimension}");
        }
    }
}

/// The blocks of a product with a polynomial of the subring are products slot by slot.
#[test]
fn blocks_of_a_product_are_products() {
    let (n, dimension) = (1 << 9, 64);
    let params = params_insecure(n, 2);
    let (encoder, t) = (params.encoder(), params.t());
    let mut rng = ChaCha20Rng::seed_from_u64(7);
    let a = random_slots(n, &mut rng);
    let mut z = vec![0; n];
    z.iter_mut()
        .step_by(n / dimension)
        .for_each(|z| *z = rng.random_range(0..T));
    let mut product = vec![0; n];
    for (i, &x) in a.iter().enumerate() {
        for (j, &y) in z.iter().enumerate().filter(|&(_, &y)| y != 0) {
            let (at, term) = ((i + j) % n, t.mul(x, y));
            product[at] = match i + j < n {
                true => t.add(product[at], term),
                false => t.sub(product[at], term),
            };
        }
    }
    let z = encoder.slots_of(&encoder.from_residues(z));
    let factors = blocks(encoder, dimension, &a).into_iter().zip(z);
    let expected: Vec<u64> = factors.map(|(x, y)| t.mul(x, y)).collect();
    assert_eq!(blocks(encoder, dimension, &product), expected);
}

#[test]
fn stages_have_as_many_diagonals_as_their_layers_say() {
    let params = params_insecure(1 << 9, 2);
    let lengths = |layers: &[usize]| -> Vec<usize> {
        stage_maps(params.encoder(), layers)
            .iter()
            .map(Diagonals::len)
            .collect()
    };
    assert_eq!(lengths(&[2, 3, 3]), [2 * 7, 15, 8]);
    assert_eq!(lengths(&[4, 4]), [2 * 31, 16]);
    assert!(matches!(
        SlotsToCoeffs::new(params.encoder(), &[4, 5]),
        Err(Error::Shape { .. })
    ));
}

#[test]
fn progressions_start_after_the_widest_gap() {
    let of = |steps: &[usize]| Progression::of(&steps.iter().copied().collect(), 64);
    let expect = |start, stride, count| Progression {
        start,
        stride,
        count,
    };
    assert_eq!(of(&[0, 4, 8, 56, 60]), expect(56, 4, 5));
    assert_eq!(of(&[0, 16, 32, 48]).count, 4);
    assert_eq!(of(&[7]), expect(7, 64, 1));
    assert_eq!(of(&[3, 9]), expect(3, 2, 4));
}

/// A ring of degree 512, far from secure, with all its keys.
struct Small {
    params: Params,
    keys: ClientKeys,
    rng: ChaCha20Rng,
}

fn small_insecure(limbs: usize, seed: u64) -> Small {
    let params = params_insecure(1 << 9, limbs);
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let looped = LoopParams::new_insecure(&params, 64, 3).unwrap();
    let secret = rlwe::SecretKey::generate(params.rlwe(), &mut rng);
    let lwe = LweSecret::generate(64, &mut rng);
    Small {
        keys: ClientKeys::from_parts(&looped, secret, lwe),
        params,
        rng,
    }
}

impl Small {
    fn encrypt(&mut self, slots: &[u64]) -> EncryptedValue {
        let message = self.params.encoder().slots_to_plaintext(slots);
        let masks = &mut Masks::random(&mut self.rng);
        let level = self.params.rlwe().max_level();
        let secret = self.keys.secret();
        let ct = encrypt(&self.params, secret, &message, level, masks, &mut self.rng).unwrap();
        Value::encrypted(ct, Engine::dry(&self.params).model().fresh())
    }

    /// Runs dry, then with the keys that the dry run needs. Both must agree.
    fn run(
        &mut self,
        x: &EncryptedValue,
        plan: impl Fn(&Engine<Dry>, &DryValue) -> DryValue,
        circuit: impl Fn(&Engine<Run<'_>>, &EncryptedValue) -> EncryptedValue,
    ) -> EncryptedValue {
        let dry = Engine::dry(&self.params);
        let planned = plan(&dry, &x.to_dry());
        let keys = self
            .keys
            .evaluation_keys(&dry.needs(), &mut self.rng)
            .unwrap();
        let engine = Engine::new(&self.params, &keys);
        let out = circuit(&engine, x);
        assert_eq!(
            (out.level(), out.factor(), out.noise()),
            (planned.level(), planned.factor(), planned.noise())
        );
        assert_eq!(
            (engine.counts(), engine.needs()),
            (dry.counts(), dry.needs())
        );
        out
    }

    /// The root mean square of 512 samples has a relative deviation of 1/32, 0.045 bits, and the
    /// norm of the key adds half as much. A quarter of a bit is therefore five deviations. Special
    /// moduli are wide enough for key switching to add nothing to that.
    fn check_noise(&self, out: &EncryptedValue, predicted: Noise) {
        let (size, _) = measure(&self.params, self.keys.secret(), out.ciphertext()).unwrap();
        let off = size.log2_rms - predicted.bits();
        println!(
            "noise {:.2}, predicted {:.2}",
            size.log2_rms,
            predicted.bits()
        );
        assert!(off.abs() < 0.25, "noise off by {off:.2} bits");
    }
}

#[test]
fn any_map_on_slots_is_exact_insecure() {
    let mut s = small_insecure(4, 1);
    let n = s.params.n();
    let t = *s.params.t();
    let mut map = Diagonals::zero(n);
    for (swap, steps) in [
        (false, 0),
        (false, 3),
        (false, 250),
        (true, 9),
        (true, 253),
        (false, 12),
    ] {
        let diagonal = random_slots(n, &mut s.rng);
        map.add(&t, Offset { swap, steps }, |slot| diagonal[slot]);
    }
    let slots = random_slots(n, &mut s.rng);
    let x = s.encrypt(&slots);
    let transform = LinearTransform::new(s.params.encoder(), &map);
    let out = s.run(
        &x,
        |engine, x| transform.apply(engine, x).unwrap(),
        |engine, x| transform.apply(engine, x).unwrap(),
    );
    let message = decrypt(&s.params, s.keys.secret(), out.ciphertext()).unwrap();
    assert_eq!(s.params.encoder().slots_of(&message), map.apply(&t, &slots));
    s.check_noise(&out, out.noise());
}

#[test]
fn slots_to_coefficients_is_exact_insecure() {
    let mut s = small_insecure(5, 2);
    let n = s.params.n();
    for layers in [&[2, 3, 3][..], &[4, 4]] {
        let transform = SlotsToCoeffs::new(s.params.encoder(), layers).unwrap();
        let slots = random_slots(n, &mut s.rng);
        let x = s.encrypt(&slots);
        let out = s.run(
            &x,
            |engine, x| transform.apply(engine, x).unwrap(),
            |engine, x| transform.apply(engine, x).unwrap(),
        );
        let message = decrypt(&s.params, s.keys.secret(), out.ciphertext()).unwrap();
        for (slot, value) in slots.iter().enumerate() {
            assert_eq!(message.coefficients()[coefficient_of_slot(n, slot)], *value);
        }
        s.check_noise(&out, out.noise());
    }
}

#[test]
fn coefficients_to_slots_is_exact_and_takes_few_keys_insecure() {
    let mut s = small_insecure(5, 3);
    let n = s.params.n();
    let map = CoeffsToSlots::new(&s.params, 64);
    let input = random_slots(n, &mut s.rng);
    let x = s.encrypt(&blocks(s.params.encoder(), 64, &input));
    let dry = Engine::dry(&s.params);
    map.apply(&dry, &x.to_dry()).unwrap();
    // For each of three stages the first baby step, a step and a giant step, and the swap.
    assert!(dry.needs().galois_elements().len() <= 3 * 3 + 1);
    let out = s.run(
        &x,
        |engine, x| map.apply(engine, x).unwrap(),
        |engine, x| map.apply(engine, x).unwrap(),
    );
    let message = decrypt(&s.params, s.keys.secret(), out.ciphertext()).unwrap();
    for (slot, value) in s.params.encoder().slots_of(&message).iter().enumerate() {
        assert_eq!(*value, input[coefficient_of_slot(n, slot)]);
    }
    s.check_noise(&out, out.noise());
}

#[test]
fn too_short_a_chain_is_an_error_insecure() {
    let params = params_insecure(1 << 9, 2);
    let engine = Engine::dry(&params);
    let x = Value::dry(1, engine.model().fresh());
    assert!(matches!(
        slots_to_coeffs(&engine, &x),
        Err(Error::OutOfLevels { .. })
    ));
}
