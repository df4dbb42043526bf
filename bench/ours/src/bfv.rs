//! The BFV of `crates/bfv`, with the chain of the encrypted networks: 48-bit moduli, on which the
//! kernels are fastest.

use bfv::{Ciphertext, Evaluator, Params, decrypt, encrypt};
use common::BfvDefinition;
use common::bfv::Operation;
use ring::{Eval, Poly, ntt_primes, sample::Masks};
use rlwe::{GaloisKeys, ParamsSpec, SecretKey, SwitchKey};
use serde_json::{Value, json};

const MODULUS_BITS: u32 = 48;
const SPECIAL_BITS: u32 = 49;
const SPECIAL_MODULI: usize = 3;
const DIGIT_LIMBS: usize = 3;
/// Number of moduli by which the residual product divides. One brings the noise back to that of a
/// fresh ciphertext.
const DROPPED: usize = 1;

pub struct Ours {
    evaluator: Evaluator,
    secret: SecretKey,
    relinearization: SwitchKey,
    galois: GaloisKeys,
    a: Ciphertext,
    b: Ciphertext,
    b_plain: Poly<Eval>,
}

impl common::bfv::Bfv for Ours {
    type Ciphertext = Ciphertext;

    fn new(definition: &BfvDefinition, a: &[u64], b: &[u64]) -> Self {
        let n = 1 << definition.log_n;
        let limbs = (definition.log_q / MODULUS_BITS) as usize;
        let spec = ParamsSpec {
            n,
            q: ntt_primes(MODULUS_BITS, n, limbs).expect("enough primes"),
            p: ntt_primes(SPECIAL_BITS, n, SPECIAL_MODULI).expect("enough primes"),
            digit_limbs: DIGIT_LIMBS,
        };
        let params = Params::new(&spec, definition.t).expect("128-bit parameters");
        let level = params.rlwe().max_level();
        let mut rng = rand::rng();
        let secret = SecretKey::generate(params.rlwe(), &mut rng);
        let relinearization = secret.relinearization_key(level, &mut rng);
        let mut galois = GaloisKeys::new();
        let encoder = params.encoder();
        for element in [encoder.rotation_element(1), encoder.swap_element()] {
            galois.insert(element, secret.galois_key(element, level, &mut rng));
        }
        let [a_plain, b_plain] = [a, b].map(|slots| encoder.slots_to_plaintext(slots));
        let mut masks = Masks::random(&mut rng);
        let a = encrypt(&params, &secret, &a_plain, level, &mut masks, &mut rng)
            .expect("a key of the parameters");
        let b = encrypt(&params, &secret, &b_plain, level, &mut masks, &mut rng)
            .expect("a key of the parameters");
        let evaluator = Evaluator::new(&params);
        Self {
            b_plain: evaluator
                .lift(&b_plain, level)
                .expect("a plaintext of these parameters"),
            evaluator,
            secret,
            relinearization,
            galois,
            a,
            b,
        }
    }

    fn parameters(&self) -> Value {
        let rlwe = self.evaluator.params().rlwe();
        let log_q = rlwe.log_q(rlwe.max_level());
        json!({
            "log_q": log_q.round() as u32,
            "log_p": (rlwe.log_qp() - log_q).round() as u32,
            "key_switching": format!("special moduli, digits of {DIGIT_LIMBS} moduli"),
        })
    }

    fn operations(&self) -> Vec<Operation<'_, Ciphertext>> {
        let Self {
            evaluator, a, b, ..
        } = self;
        let encoder = evaluator.params().encoder();
        let rotation = encoder.rotation_element(1);
        let swap = encoder.swap_element();
        vec![
            (
                "bfv product, relin.",
                Box::new(|| {
                    evaluator
                        .mul(a, b, &self.relinearization)
                        .expect("fresh ciphertexts and the key")
                }),
            ),
            (
                "bfv product",
                Box::new(|| evaluator.mul_no_relin(a, b).expect("fresh ciphertexts")),
            ),
            (
                "bfv residual product",
                Box::new(|| {
                    evaluator
                        .mul_and_switch(a, b, &self.relinearization, DROPPED)
                        .expect("fresh ciphertexts and the key")
                }),
            ),
            (
                "bfv rotation",
                Box::new(move || {
                    evaluator
                        .automorphism(a, rotation, &self.galois)
                        .expect("a key")
                }),
            ),
            (
                "bfv row swap",
                Box::new(move || {
                    evaluator
                        .automorphism(a, swap, &self.galois)
                        .expect("a key")
                }),
            ),
            (
                "bfv plaintext product",
                Box::new(|| {
                    let mut product = a.clone();
                    evaluator
                        .mul_plain_assign(&mut product, &self.b_plain)
                        .expect("a plaintext of these parameters");
                    product
                }),
            ),
            (
                "bfv sum",
                Box::new(|| evaluator.add(a, b).expect("fresh ciphertexts")),
            ),
        ]
    }

    fn decrypt(&self, ciphertext: &Ciphertext) -> Vec<u64> {
        let params = self.evaluator.params();
        params
            .encoder()
            .slots_of(&decrypt(params, &self.secret, ciphertext).expect("a key of the parameters"))
    }
}
