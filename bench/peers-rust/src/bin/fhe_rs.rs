//! `fhe`, the BFV library known as fhe.rs. It key-switches digit by digit, without special moduli.

use common::{BfvDefinition, Group, bfv};
use fhe::bfv::{
    BfvParameters, BfvParametersBuilder, Ciphertext, Encoding, EvaluationKey, EvaluationKeyBuilder,
    Multiplicator, Plaintext, RelinearizationKey, SecretKey,
};
use fhe_traits::{FheDecoder, FheDecrypter, FheEncoder, FheEncrypter};
use serde_json::{Value, json};
use std::sync::Arc;

/// Bits of each modulus.
const MODULUS_BITS: usize = 60;

struct FheRs {
    parameters: Arc<BfvParameters>,
    secret: SecretKey,
    multiplicator: Multiplicator,
    galois: EvaluationKey,
    a: Ciphertext,
    b: Ciphertext,
    b_plain: Plaintext,
}

impl bfv::Bfv for FheRs {
    type Ciphertext = Ciphertext;

    fn new(definition: &BfvDefinition, a: &[u64], b: &[u64]) -> Self {
        let sizes = vec![MODULUS_BITS; definition.log_q as usize / MODULUS_BITS];
        let parameters = BfvParametersBuilder::new()
            .set_degree(1 << definition.log_n)
            .set_plaintext_modulus(definition.t)
            .set_moduli_sizes(&sizes)
            .build_arc()
            .expect("the parameters exist");
        let mut rng = rand::rng();
        let secret = SecretKey::random(&parameters, &mut rng);
        let relinearization = RelinearizationKey::new(&secret, &mut rng).expect("a key");
        let galois = EvaluationKeyBuilder::new(&secret)
            .and_then(|mut builder| {
                builder
                    .enable_column_rotation(1)?
                    .enable_row_rotation()?
                    .build(&mut rng)
            })
            .expect("keys for one rotation and the swap of rows");
        let [a_plain, b_plain] = [a, b].map(|slots| {
            Plaintext::try_encode(slots, Encoding::simd(), &parameters).expect("N slots below t")
        });
        let [a, b] = [&a_plain, &b_plain].map(|plain| {
            secret
                .try_encrypt(plain, &mut rng)
                .expect("same parameters")
        });
        Self {
            multiplicator: Multiplicator::default(&relinearization).expect("a strategy"),
            parameters,
            secret,
            galois,
            a,
            b,
            b_plain,
        }
    }

    fn parameters(&self) -> Value {
        let log_q: usize = self.parameters.moduli_sizes().iter().sum();
        json!({ "log_q": log_q, "log_p": 0, "key_switching": "one digit per modulus" })
    }

    fn operations(&self) -> Vec<bfv::Operation<'_, Ciphertext>> {
        vec![
            (
                "bfv product, relin.",
                Box::new(|| {
                    self.multiplicator
                        .multiply(&self.a, &self.b)
                        .expect("fresh")
                }),
            ),
            ("bfv product", Box::new(|| &self.a * &self.b)),
            (
                "bfv rotation",
                Box::new(|| self.galois.rotates_columns_by(&self.a, 1).expect("a key")),
            ),
            (
                "bfv row swap",
                Box::new(|| self.galois.rotates_rows(&self.a).expect("a key")),
            ),
            (
                "bfv plaintext product",
                Box::new(|| &self.a * &self.b_plain),
            ),
            ("bfv sum", Box::new(|| &self.a + &self.b)),
        ]
    }

    fn decrypt(&self, ciphertext: &Ciphertext) -> Vec<u64> {
        let plaintext = self
            .secret
            .try_decrypt(ciphertext)
            .expect("same parameters");
        Vec::<u64>::try_decode(&plaintext, Encoding::simd()).expect("slots")
    }
}

fn main() {
    common::run(&[Group {
        name: "bfv",
        time: bfv::time::<FheRs>,
        values: bfv::values::<FheRs>,
    }]);
}
