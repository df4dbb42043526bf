//! The client's secrets, and the evaluation keys made from them.

use crate::error::{Error, Result};
use exchange::circuit::{Keys, SparseKeys};
use exchange::packing;
use exchange::{EvaluationKey, EvaluationKeys, Layout, LoopParams, Need, Needs, PackingKey};
use rand::CryptoRng;
use ring::sample::Masks;
use rlwe::lwe::LweSecret;
use rlwe::{DimensionKey, PublicKey, SecretKey};
use zeroize::Zeroizing;

/// The secrets of a program's client.
#[derive(Clone)]
pub struct ClientKeys {
    params: LoopParams,
    secret: SecretKey,
    lwe: LweSecret,
}

impl ClientKeys {
    /// Generates fresh secrets, uniform ternary.
    pub fn generate(params: &LoopParams, rng: &mut impl CryptoRng) -> Self {
        let secret = SecretKey::generate(params.bfv().rlwe(), rng);
        let lwe = LweSecret::generate(params.dimension(), rng);
        Self::from_parts(params, secret, lwe)
    }

    /// Takes the given secrets.
    pub fn from_parts(params: &LoopParams, secret: SecretKey, lwe: LweSecret) -> Self {
        Self {
            params: params.clone(),
            secret,
            lwe,
        }
    }

    /// Parameters of the loop.
    pub fn params(&self) -> &LoopParams {
        &self.params
    }

    /// Secret of the scheme.
    pub fn secret(&self) -> &SecretKey {
        &self.secret
    }

    /// Secret of the LWE samples.
    pub fn lwe(&self) -> &LweSecret {
        &self.lwe
    }

    /// Makes the evaluation keys that are needed, and no others.
    ///
    /// # Errors
    /// [`Error::Key`] for a level or a Galois element that the parameters do not have,
    /// [`exchange::Error::Shape`] if the number of values of a packing is no power of two.
    pub fn evaluation_keys(
        &self,
        needs: &Needs,
        rng: &mut impl CryptoRng,
    ) -> Result<EvaluationKeys> {
        // Tests with seeds measure the noise of the keys that are drawn in this order.
        let mut order: Vec<Need> = needs.each().collect();
        order.sort_by_key(|need| match need {
            Need::Galois { .. } => 0,
            Need::Packing { .. } => 1,
            Need::Relinearization { .. } => 2,
            Need::Dimension => 3,
            Need::Public { .. } => 4,
        });
        let mut keys = EvaluationKeys::default();
        for need in order {
            keys.insert(self.make(need, rng)?);
        }
        Ok(keys)
    }

    /// As [`evaluation_keys`](Self::evaluation_keys), but makes one key at a time: `take` receives
    /// each key before the next is made. They come in the order of [`Needs::each`].
    ///
    /// # Errors
    /// As [`evaluation_keys`](Self::evaluation_keys), and those of `take`.
    pub fn each_evaluation_key(
        &self,
        needs: &Needs,
        rng: &mut impl CryptoRng,
        mut take: impl FnMut(EvaluationKey) -> Result<()>,
    ) -> Result<()> {
        needs
            .each()
            .try_for_each(|need| take(self.make(need, rng)?))
    }

    fn make(&self, need: Need, rng: &mut impl CryptoRng) -> Result<EvaluationKey> {
        Ok(match need {
            Need::Relinearization { .. } | Need::Galois { .. } => {
                switch_key(&self.secret, need, rng)?
            }
            Need::Packing { values, level } => {
                check_level(&self.secret, level)?;
                let layout = Layout::new(self.params.bfv().n(), values)?;
                EvaluationKey::Packing(values, self.packing_key(layout, level, rng)?)
            }
            Need::Dimension => {
                let small = self.params.small();
                let key = DimensionKey::generate(small, &self.secret, &self.lwe, rng);
                EvaluationKey::Dimension(key)
            }
            Need::Public { level } => {
                check_level(&self.secret, level)?;
                let key = PublicKey::generate_at(&self.secret, level, rng);
                EvaluationKey::Public(key)
            }
        })
    }

    fn packing_key(
        &self,
        layout: Layout,
        level: usize,
        rng: &mut impl CryptoRng,
    ) -> Result<PackingKey> {
        let (bfv, mut masks) = (self.params.bfv(), Masks::random(rng));
        let entries = self.lwe.coefficients();
        let mut encrypt = |message: Zeroizing<bfv::Plaintext>| {
            let ct = bfv::encrypt(bfv, &self.secret, &message, level, &mut masks, rng)?;
            Ok(ct)
        };
        let ciphertexts = if layout.values() == packing::ALL {
            let secret = self.lwe.in_ring(bfv.n());
            let message = Zeroizing::new(bfv.encoder().coefficients(&secret));
            vec![encrypt(message)?]
        } else {
            let patterns = packing::key_patterns(&self.params, layout).into_iter();
            let ciphertexts = patterns.map(|pattern| {
                let slots = pattern.into_iter().map(|j| bfv.t().from_i64(entries[j]));
                let slots = Zeroizing::new(slots.collect::<Vec<u64>>());
                encrypt(Zeroizing::new(bfv.encoder().slots_to_plaintext(&slots)))
            });
            ciphertexts.collect::<Result<_>>()?
        };
        Ok(PackingKey::new(*masks.seed(), ciphertexts))
    }
}

/// Makes the keys that a circuit of CKKS, BGV or BFV needs, and no others. `needs` names Galois
/// elements and levels of the ring.
///
/// # Errors
/// [`Error::Key`] for a level or a Galois element that the secret's parameters do not have, and for
/// a packing or a dimension switch, which circuits do not do.
pub fn circuit_keys(secret: &SecretKey, needs: &Needs, rng: &mut impl CryptoRng) -> Result<Keys> {
    let mut keys = Keys::default();
    for need in needs.each() {
        match switch_key(secret, need, rng)? {
            EvaluationKey::Relinearization(key) => keys.relinearization = Some(key),
            EvaluationKey::Galois(element, key) => keys.galois.insert(element, key),
            _ => unreachable!("a key of key switching is one of the two"),
        }
    }
    let sparse = needs.sparse_params();
    keys.sparse = sparse.map(|params| SparseKeys::new(secret.sparse_keys(params, rng)));
    Ok(keys)
}

/// Makes a key for key switching within the ring.
fn switch_key(secret: &SecretKey, need: Need, rng: &mut impl CryptoRng) -> Result<EvaluationKey> {
    match need {
        Need::Relinearization { level } => {
            check_level(secret, level)?;
            let key = secret.relinearization_key(level, rng);
            Ok(EvaluationKey::Relinearization(key))
        }
        Need::Galois { element, level } => {
            check_level(secret, level)?;
            let order = 2 * secret.params().n();
            if element % 2 == 0 || element >= order {
                return Err(Error::Key {
                    what: "a Galois element",
                    found: element.to_string(),
                    expected: format!("an odd number below {order}"),
                });
            }
            let key = secret.galois_key(element, level, rng);
            Ok(EvaluationKey::Galois(element, key))
        }
        other => Err(Error::Key {
            what: "a key of a circuit",
            found: other.to_string(),
            expected: "a relinearization key or a Galois key".into(),
        }),
    }
}

fn check_level(secret: &SecretKey, level: usize) -> Result<()> {
    let top = secret.params().max_level();
    if level <= top {
        return Ok(());
    }
    Err(Error::Key {
        what: "the level of a key",
        found: level.to_string(),
        expected: format!("at most {top}"),
    })
}
