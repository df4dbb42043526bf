//! The CKKS of `crates/ckks`.

use crate::keys::Keys;
use ::ckks::{
    Ciphertext, Complex64, Evaluator, Params, ParamsSpec, Plaintext, decrypt, encrypt_public,
};
use common::scheme::{Operation, Result, Scheme};
use common::{ChainDefinition, Definitions, Row, words};
use ring::ntt_primes;
use serde_json::{Value, json};

pub struct Ours {
    evaluator: Evaluator,
    keys: Keys,
    rotations: Vec<isize>,
    values: Vec<Complex64>,
    plain: [Plaintext; 2],
    a: Ciphertext,
    b: Ciphertext,
    product: Ciphertext,
}

/// The input named `seed`: real parts, then imaginary parts, in [-1, 1).
pub fn complexes(seed: u64, len: usize) -> Vec<Complex64> {
    let parts = words(seed, 2 * len, 1 << 53);
    let part = |i: usize| parts[i] as f64 / 2f64.powi(52) - 1.0;
    (0..len)
        .map(|i| Complex64::new(part(i), part(len + i)))
        .collect()
}

fn pairs(slots: &[Complex64]) -> Value {
    slots.iter().map(|z| json!([z.re, z.im])).collect()
}

impl Ours {
    fn new(definition: &ChainDefinition) -> Self {
        let n = 1 << definition.log_n;
        let digit_limbs = definition.moduli / definition.digits;
        let primes = ntt_primes(definition.modulus_bits, n, definition.moduli + digit_limbs);
        let primes = primes.expect("enough primes");
        let (moduli, special) = primes.split_at(definition.moduli);
        let spec = ParamsSpec {
            n,
            levels: moduli.iter().map(|&q| vec![q]).collect(),
            special: special.to_vec(),
            digit_limbs,
            log_scale: f64::from(definition.modulus_bits),
        };
        let params = Params::new(&spec).expect("128-bit parameters");
        let encoder = params.encoder();
        let rotations: Vec<isize> = (1..=definition.rotations as isize).collect();
        let elements = rotations.iter().map(|&k| encoder.rotation_element(k));
        let keys = Keys::generate(
            params.rlwe(),
            elements.chain([encoder.conjugation_element()]),
        );
        let inputs = [1, 2].map(|seed| complexes(seed, params.slots()));
        let encode = |values: &Vec<Complex64>| {
            Plaintext::encode(&params, values, params.max_level(), params.scale())
                .expect("values in range")
        };
        let plain = inputs.each_ref().map(encode);
        let encrypt = |m: &Plaintext| {
            encrypt_public(&params, &keys.public, m, &mut rand::rng()).expect("a level")
        };
        let [a, b] = plain.each_ref().map(encrypt);
        let evaluator = Evaluator::new(&params);
        let product = evaluator.mul(&a, &b).expect("fresh ciphertexts");
        let product = evaluator.relinearize(&product, &keys.relinearization);
        let [values, _] = inputs;
        Self {
            product: product.expect("the key"),
            evaluator,
            keys,
            rotations,
            values,
            plain,
            a,
            b,
        }
    }

    fn ciphertexts<'a>(
        &'a self,
        name: &'static str,
        calls: usize,
        run: impl Fn() -> ::ckks::Result<Ciphertext> + 'a,
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
        Encoded(
            self.0,
            decrypt(&self.0.keys.secret, &self.1).expect("a key of the parameters"),
        )
        .slots()
    }
}

struct Encoded<'a>(&'a Ours, Plaintext);

impl Result for Encoded<'_> {
    fn slots(&self) -> Option<Value> {
        let params = self.0.evaluator.params();
        Some(pairs(
            &self.1.decode(params, params.slots()).expect("all slots"),
        ))
    }
}

struct Decoded(Vec<Complex64>);

impl Result for Decoded {
    fn slots(&self) -> Option<Value> {
        Some(pairs(&self.0))
    }
}

impl Scheme for Ours {
    fn parameters(&self) -> Value {
        let params = self.evaluator.params();
        let rlwe = params.rlwe();
        let log_q = rlwe.log_q(rlwe.max_level());
        json!({
            "log_n": rlwe.log_n(),
            "log_q": log_q.round() as u32,
            "log_p": (rlwe.log_qp() - log_q).round() as u32,
            "moduli": rlwe.max_level() + 1,
            "log_scale": params.spec().log_scale,
            "key_switching": format!("special moduli, digits of {} moduli", params.spec().digit_limbs),
        })
    }

    fn operations(&self) -> Vec<Operation<'_>> {
        let Self {
            evaluator,
            keys,
            a,
            b,
            plain,
            ..
        } = self;
        let params = evaluator.params();
        let (level, scale, slots) = (params.max_level(), params.scale(), params.slots());
        let relinearized = move |a: &Ciphertext, b: &Ciphertext| {
            evaluator.relinearize(&evaluator.mul(a, b)?, &keys.relinearization)
        };
        vec![
            Operation {
                name: "ckks keygen",
                calls: 1,
                run: Box::new(move || {
                    let rotation = params.encoder().rotation_element(1);
                    Box::new(Keys::generate(params.rlwe(), [rotation]))
                }),
            },
            Operation {
                name: "ckks encode",
                calls: 1,
                run: Box::new(move || {
                    let encoded = Plaintext::encode(params, &self.values, level, scale);
                    Box::new(Encoded(self, encoded.expect("values in range")))
                }),
            },
            Operation {
                name: "ckks decode",
                calls: 1,
                run: Box::new(move || {
                    Box::new(Decoded(plain[0].decode(params, slots).expect("all slots")))
                }),
            },
            self.ciphertexts("ckks encrypt", 1, move || {
                encrypt_public(params, &keys.public, &plain[0], &mut rand::rng())
            }),
            Operation {
                name: "ckks decrypt, decode",
                calls: 1,
                run: Box::new(move || {
                    let decoded = decrypt(&keys.secret, a)
                        .expect("a key of the parameters")
                        .decode(params, slots);
                    Box::new(Decoded(decoded.expect("all slots")))
                }),
            },
            self.ciphertexts("ckks sum", 1, move || evaluator.add(a, b)),
            self.ciphertexts("ckks plaintext product", 1, move || {
                let mut product = a.clone();
                evaluator.mul_plain_assign(&mut product, &plain[1])?;
                Ok(product)
            }),
            self.ciphertexts("ckks product, relin.", 1, move || relinearized(a, b)),
            self.ciphertexts("ckks square, relin.", 1, move || relinearized(a, a)),
            self.ciphertexts("ckks rescaling", 1, move || {
                let mut product = self.product.clone();
                evaluator.rescale(&mut product)?;
                Ok(product)
            }),
            self.ciphertexts("ckks rotation", 1, move || {
                evaluator.rotate(a, 1, &keys.galois)
            }),
            self.ciphertexts("ckks hoisted rotation", self.rotations.len(), move || {
                let all = evaluator.rotate_hoisted(a, &self.rotations, &keys.galois)?;
                Ok(all.into_iter().last().expect("a rotation"))
            }),
            self.ciphertexts("ckks conjugation", 1, move || {
                evaluator.conjugate(a, &keys.galois)
            }),
        ]
    }
}

pub fn time(definitions: &Definitions) -> Vec<Row> {
    common::scheme::time(&Ours::new(&definitions.ckks), definitions.ckks.samples)
}

pub fn values(definitions: &Definitions) -> Vec<Value> {
    common::scheme::values(&Ours::new(&definitions.ckks))
}
