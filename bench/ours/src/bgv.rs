//! The BGV of `crates/bgv`.

use crate::keys::Keys;
use ::bgv::{Ciphertext, Evaluator, Params, Plaintext, decrypt, encrypt_public};
use common::scheme::{Operation, Result, Scheme};
use common::{Definitions, Row, words};
use ring::{Eval, Poly, ntt_primes};
use rlwe::ParamsSpec;
use serde_json::{Value, json};

pub struct Ours {
    evaluator: Evaluator,
    keys: Keys,
    rotations: Vec<isize>,
    values: Vec<u64>,
    a_plain: Plaintext,
    b_plain: Poly<Eval>,
    a: Ciphertext,
    b: Ciphertext,
    product: Ciphertext,
}

impl Ours {
    fn new(definitions: &Definitions) -> Self {
        let (chain, t) = (&definitions.bgv.chain, definitions.bgv.t);
        let n = 1 << chain.log_n;
        let digit_limbs = chain.moduli / chain.digits;
        let primes = ntt_primes(chain.modulus_bits, n, chain.moduli + digit_limbs);
        let primes = primes.expect("enough primes");
        let (q, p) = primes.split_at(chain.moduli);
        let spec = ParamsSpec {
            n,
            q: q.to_vec(),
            p: p.to_vec(),
            digit_limbs,
        };
        let params = Params::new(&spec, t).expect("128-bit parameters");
        let rotations: Vec<isize> = (1..=chain.rotations as isize).collect();
        let encoder = params.encoder();
        let elements = rotations.iter().map(|&k| encoder.rotation_element(k));
        let keys = Keys::generate(params.rlwe(), elements);
        let level = params.rlwe().max_level();
        let inputs = [1, 2].map(|seed| words(seed, n, t));
        let plain = inputs
            .each_ref()
            .map(|slots| params.encoder().slots_to_plaintext(slots));
        let encrypt = |m: &Plaintext| {
            let ct = encrypt_public(&params, &keys.public, m, level, &mut rand::rng());
            ct.expect("a message and a level")
        };
        let [a, b] = plain.each_ref().map(encrypt);
        let evaluator = Evaluator::new(&params);
        let product = evaluator.mul(&a, &b, &keys.relinearization);
        let [values, _] = inputs;
        let [a_plain, b_plain] = plain;
        Self {
            product: product.expect("fresh ciphertexts and the key"),
            b_plain: evaluator.lift(&b_plain, level).expect("a level"),
            evaluator,
            keys,
            rotations,
            values,
            a_plain,
            a,
            b,
        }
    }

    fn ciphertexts<'a>(
        &'a self,
        name: &'static str,
        calls: usize,
        run: impl Fn() -> ::bgv::Result<Ciphertext> + 'a,
    ) -> Operation<'a> {
        let run = move || -> Box<dyn Result + 'a> {
            Box::new(Encrypted(self, run().expect("fresh ciphertexts and keys")))
        };
        Operation {
            name,
            calls,
            run: Box::new(run),
        }
    }
}

struct Encrypted<'a>(&'a Ours, Ciphertext);

impl Result for Encrypted<'_> {
    fn slots(&self) -> Option<Value> {
        let message = decrypt(&self.0.keys.secret, &self.1).expect("one set of parameters");
        Encoded(self.0, message).slots()
    }
}

struct Encoded<'a>(&'a Ours, Plaintext);

impl Result for Encoded<'_> {
    fn slots(&self) -> Option<Value> {
        let encoder = self.0.evaluator.params().encoder();
        Some(encoder.slots_of(&self.1).into())
    }
}

/// A message, and the same message over all moduli.
struct Lifted<'a>(
    Encoded<'a>,
    #[expect(dead_code, reason = "made to be timed")] Poly<Eval>,
);

impl Result for Lifted<'_> {
    fn slots(&self) -> Option<Value> {
        self.0.slots()
    }
}

impl Scheme for Ours {
    fn parameters(&self) -> Value {
        let params = self.evaluator.params();
        let rlwe = params.rlwe();
        let log_q = rlwe.log_q(rlwe.max_level());
        json!({
            "log_n": rlwe.log_n(),
            "t": params.t().value(),
            "log_q": log_q.round() as u32,
            "log_p": (rlwe.log_qp() - log_q).round() as u32,
            "moduli": rlwe.max_level() + 1,
            "key_switching": format!("special moduli, digits of {} moduli", rlwe.spec().digit_limbs),
        })
    }

    fn operations(&self) -> Vec<Operation<'_>> {
        let Self {
            evaluator,
            keys,
            a,
            b,
            ..
        } = self;
        let params = evaluator.params();
        let level = params.rlwe().max_level();
        vec![
            Operation {
                name: "bgv keygen",
                calls: 1,
                run: Box::new(move || {
                    let rotation = params.encoder().rotation_element(1);
                    Box::new(Keys::generate(params.rlwe(), [rotation]))
                }),
            },
            Operation {
                name: "bgv encode",
                calls: 1,
                run: Box::new(move || {
                    let message = params.encoder().slots_to_plaintext(&self.values);
                    let lifted = evaluator.lift(&message, level).expect("a level");
                    Box::new(Lifted(Encoded(self, message), lifted))
                }),
            },
            self.ciphertexts("bgv encrypt", 1, move || {
                encrypt_public(params, &keys.public, &self.a_plain, level, &mut rand::rng())
            }),
            self.ciphertexts("bgv sum", 1, move || evaluator.add(a, b)),
            self.ciphertexts("bgv plaintext product", 1, move || {
                let mut product = a.clone();
                evaluator.mul_plain_assign(&mut product, &self.b_plain)?;
                Ok(product)
            }),
            self.ciphertexts("bgv product, relin.", 1, move || {
                evaluator.mul(a, b, &keys.relinearization)
            }),
            self.ciphertexts("bgv modulus switch", 1, move || {
                let mut product = self.product.clone();
                evaluator.switch_to(&mut product, level - 1)?;
                Ok(product)
            }),
            self.ciphertexts("bgv rotation", 1, move || {
                evaluator.rotate(a, 1, &keys.galois)
            }),
            self.ciphertexts("bgv hoisted rotation", self.rotations.len(), move || {
                let all = evaluator.rotate_hoisted(a, &self.rotations, &keys.galois)?;
                Ok(all.into_iter().last().expect("a rotation"))
            }),
        ]
    }
}

pub fn time(definitions: &Definitions) -> Vec<Row> {
    common::scheme::time(&Ours::new(definitions), definitions.bgv.chain.samples)
}

pub fn values(definitions: &Definitions) -> Vec<Value> {
    common::scheme::values(&Ours::new(definitions))
}
