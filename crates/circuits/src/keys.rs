//! The keys of the loop: what the client keeps, and what the server gets.

use crate::engine::{Engine, SLACK_BITS};
use crate::error::{Error, Result};
use crate::layout::Layout;
use crate::operations::{Dry, Operations, Run};
use crate::pack;
use bfv::{Ciphertext, Evaluator, Params};
use rand::CryptoRng;
use ring::sample::{Masks, Seed};
use rlwe::lwe::LweSecret;
use rlwe::noise::{log2_sum, log2_two_sided_tail};
use rlwe::security::Security;
use rlwe::{DimensionKey, DimensionParams, GaloisKeys, SecretKey, SwitchKey};
use std::collections::BTreeMap;
use std::sync::OnceLock;
use zeroize::Zeroizing;

/// Parameters of the loop: the scheme's, and those of the dimension switch.
#[derive(Clone, Debug)]
pub struct LoopParams {
    bfv: Params,
    small: DimensionParams,
    slack_bits: f64,
    baby_steps: usize,
}

/// Baby steps of packings, where parameters do not say.
const BABY_STEPS: usize = 16;

impl LoopParams {
    /// Parameters with LWE dimension `dimension`, to which digits of `digit_bits` bits lead.
    ///
    /// # Errors
    /// If the dimension does not divide the ring degree, or log2(q_0) exceeds its 128-bit limit.
    pub fn new(bfv: &Params, dimension: usize, digit_bits: u32) -> Result<Self> {
        let q = bfv.rlwe().spec().q[0];
        Ok(Self {
            bfv: bfv.clone(),
            small: DimensionParams::new(bfv.n(), q, dimension, digit_bits)?,
            slack_bits: SLACK_BITS,
            baby_steps: BABY_STEPS,
        })
    }

    /// As [`LoopParams::new`], without the security check of the dimension switch. For unit tests.
    ///
    /// # Errors
    /// If the dimension does not divide the ring degree.
    pub fn new_insecure(bfv: &Params, dimension: usize, digit_bits: u32) -> Result<Self> {
        let q = bfv.rlwe().spec().q[0];
        Ok(Self {
            bfv: bfv.clone(),
            small: DimensionParams::new_insecure(bfv.n(), q, dimension, digit_bits)?,
            slack_bits: SLACK_BITS,
            baby_steps: BABY_STEPS,
        })
    }

    /// These parameters for engines that keep noise up to `bits` bits above a rounding's.
    #[must_use]
    pub fn with_slack(self, bits: f64) -> Self {
        Self {
            slack_bits: bits,
            ..self
        }
    }

    /// These parameters for packings with `count` baby steps, a power of two.
    ///
    /// # Errors
    /// If `count` is no power of two.
    pub fn with_baby_steps(self, count: usize) -> Result<Self> {
        if !count.is_power_of_two() {
            return Err(Error::Shape {
                what: "the number of baby steps of packings",
                found: count.to_string(),
                expected: "a power of two".into(),
            });
        }
        Ok(Self {
            baby_steps: count,
            ..self
        })
    }

    /// Rotations of the LWE secret that are held ready for packings, at most.
    pub fn baby_steps(&self) -> usize {
        self.baby_steps
    }

    /// Noise so many bits above a rounding's is not worth dropping another limb.
    pub fn slack_bits(&self) -> f64 {
        self.slack_bits
    }

    /// An engine on ciphertexts.
    pub fn engine<'k>(&self, keys: &'k EvaluationKeys) -> Engine<Run<'k>> {
        self.engine_of(Run::new(&self.bfv, keys))
    }

    /// An engine that only predicts.
    pub fn dry_engine(&self) -> Engine<Dry> {
        self.engine_of(Dry)
    }

    /// An engine in the mode of `operations`.
    pub fn engine_of<O: Operations>(&self, operations: O) -> Engine<O> {
        Engine::of(&self.bfv, operations).with_slack(self.slack_bits)
    }

    /// Parameters of the scheme.
    pub fn bfv(&self) -> &Params {
        &self.bfv
    }

    /// Parameters of the dimension switch, modulo `q_0`.
    pub fn small(&self) -> &DimensionParams {
        &self.small
    }

    /// LWE dimension.
    pub fn dimension(&self) -> usize {
        self.small.dimension()
    }

    /// Estimated security: the weaker of the ring's secret and the small one.
    pub fn security(&self) -> Security {
        let ring = self.bfv.rlwe().security();
        ring.weaker(self.small.security())
    }

    /// Standard deviation of the noise of LWE samples modulo `t`: rounding adds a variance of
    /// `(1 + |z|^2) / 12`, the dimension switch before it its own, scaled down.
    pub fn rounding_sigma(&self) -> f64 {
        let rounding = (1.0 + 2.0 * self.dimension() as f64 / 3.0) / 12.0;
        let scale = self.bfv.t().value() as f64 / self.small.log_q().exp2();
        (rounding + self.small.noise_variance() * scale * scale).sqrt()
    }

    /// log2 of a bound on the probability that noise takes any of some values `room` or more beyond
    /// where it stood: of each value, the number of samples it is a sum of.
    ///
    /// It is an average over keys, as the deviation is.
    pub fn log2_beyond(&self, room: i64, values: impl Iterator<Item = usize>) -> f64 {
        let mut counts = BTreeMap::new();
        for samples in values {
            *counts.entry(samples).or_insert(0usize) += 1;
        }
        // The noise is an integer: more than `room` is nearer to the Gaussian's `room + 1/2`.
        let reach = (room as f64 + 0.5) / self.rounding_sigma();
        let tail = |samples: usize| log2_two_sided_tail(reach / (samples as f64).sqrt());
        let noisy = counts.into_iter().filter(|&(samples, _)| samples > 0);
        noisy
            .map(|(samples, count)| (count as f64).log2() + tail(samples))
            .fold(f64::NEG_INFINITY, log2_sum)
    }
}

/// What a program needs of the evaluation keys, each with the highest level it is used at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    relinearize: Option<usize>,
    galois: BTreeMap<usize, usize>,
    packing: BTreeMap<usize, usize>,
    switch: bool,
}

impl Needs {
    /// Needs as a program lists them: the level of the relinearization key, Galois elements with their
    /// levels, numbers of values packed with theirs. What is packed comes from a dimension switch.
    pub fn new(
        relinearization: Option<usize>,
        galois: &[(usize, usize)],
        packing: &[(usize, usize)],
    ) -> Self {
        Self {
            relinearize: relinearization,
            galois: galois.iter().copied().collect(),
            packing: packing.iter().copied().collect(),
            switch: !packing.is_empty(),
        }
    }

    pub(crate) fn relinearize(&mut self, level: usize) {
        self.relinearize = self.relinearize.max(Some(level));
    }

    pub(crate) fn galois(&mut self, element: usize, level: usize) {
        let highest = self.galois.entry(element).or_insert(level);
        *highest = level.max(*highest);
    }

    /// Notes a packing; returns whether it is the first of this number of values.
    pub(crate) fn packing(&mut self, values: usize, level: usize) -> bool {
        let before = self.packing.get(&values).copied();
        self.packing.insert(values, level.max(before.unwrap_or(0)));
        before.is_none()
    }

    /// Asks for the key of the dimension switch.
    pub fn switch(&mut self) {
        self.switch = true;
    }

    /// Level of the relinearization key, if one is needed.
    pub fn relinearization(&self) -> Option<usize> {
        self.relinearize
    }

    /// Galois elements and the levels of their keys.
    pub fn galois_elements(&self) -> &BTreeMap<usize, usize> {
        &self.galois
    }

    /// Numbers of values that are packed, and the levels of their packing keys.
    pub fn packings(&self) -> &BTreeMap<usize, usize> {
        &self.packing
    }

    /// Whether the key of the dimension switch is needed.
    pub fn switches(&self) -> bool {
        self.switch
    }

    /// Bytes in memory of the keys: what [`EvaluationKeys::byte_len`] says before the first packing.
    ///
    /// # Errors
    /// If a packing is no power of two of values.
    pub fn byte_len(&self, params: &LoopParams) -> Result<usize> {
        let (rlwe, small) = (params.bfv.rlwe(), &params.small);
        let switch_key = |params: &rlwe::Params, level: usize| {
            let limbs = level + 1 + params.special().len();
            2 * limbs * SwitchKey::digit_count(params, level) * params.n() * size_of::<u64>()
        };
        let digits = small.digits() * usize::from(self.switch);
        let mut bytes = 2 * digits * rlwe.n() * size_of::<u64>();
        let levels = self.galois.values().chain(&self.relinearize);
        bytes += levels.map(|&level| switch_key(rlwe, level)).sum::<usize>();
        Ok(bytes + self.packing_byte_len(params, pack::key_len)?)
    }

    /// Bytes in memory of the baby steps that packings make from the keys.
    ///
    /// # Errors
    /// If a packing is no power of two of values.
    pub fn baby_steps_byte_len(&self, params: &LoopParams) -> Result<usize> {
        self.packing_byte_len(params, pack::baby_steps)
    }

    fn packing_byte_len(
        &self,
        params: &LoopParams,
        ciphertexts: impl Fn(&LoopParams, Layout) -> usize,
    ) -> Result<usize> {
        let of_packing = |(&values, &level): (&usize, &usize)| {
            let layout = Layout::new(params.bfv.n(), values)?;
            Ok(ciphertexts(params, layout) * 2 * (level + 1) * params.bfv.n() * size_of::<u64>())
        };
        self.packing.iter().map(of_packing).sum()
    }
}

/// The client's secrets.
#[derive(Clone)]
pub struct ClientKeys {
    params: LoopParams,
    secret: SecretKey,
    lwe: LweSecret,
}

impl ClientKeys {
    /// Fresh secrets, uniform ternary.
    pub fn generate(params: &LoopParams, rng: &mut impl CryptoRng) -> Self {
        let secret = SecretKey::generate(params.bfv.rlwe(), rng);
        let lwe = LweSecret::generate(params.dimension(), rng);
        Self::from_parts(params, secret, lwe)
    }

    /// The given secrets.
    pub fn from_parts(params: &LoopParams, secret: SecretKey, lwe: LweSecret) -> Self {
        Self {
            params: params.clone(),
            secret,
            lwe,
        }
    }

    /// Parameters.
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

    /// The evaluation keys a program needs, and no others.
    ///
    /// # Errors
    /// If a packing is no power of two of values.
    pub fn evaluation_keys(
        &self,
        needs: &Needs,
        rng: &mut impl CryptoRng,
    ) -> Result<EvaluationKeys> {
        let mut galois = GaloisKeys::new();
        for (&element, &level) in &needs.galois {
            galois.insert(element, self.secret.galois_key(element, level, rng));
        }
        let mut packing = BTreeMap::new();
        for (&values, &level) in &needs.packing {
            let layout = Layout::new(self.params.bfv.n(), values)?;
            let key = PackingKey::generate(self, (layout, level), rng)?;
            packing.insert(values, key);
        }
        let relinearization = needs.relinearize;
        let small = &self.params.small;
        Ok(EvaluationKeys {
            relinearization: relinearization
                .map(|level| self.secret.relinearization_key(level, rng)),
            galois,
            packing,
            switch: needs
                .switch
                .then(|| DimensionKey::generate(small, &self.secret, &self.lwe, rng)),
        })
    }

    /// As [`evaluation_keys`](Self::evaluation_keys), one at a time: each is given away before the next is made. They come
    /// in the order of [`EvaluationKey`], those of one kind by element or number of values.
    ///
    /// # Errors
    /// If a packing is no power of two of values, and those of `take`.
    pub fn each_evaluation_key<E: From<Error>>(
        &self,
        needs: &Needs,
        rng: &mut impl CryptoRng,
        mut take: impl FnMut(EvaluationKey) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        if let Some(level) = needs.relinearize {
            let key = self.secret.relinearization_key(level, rng);
            take(EvaluationKey::Relinearization(key))?;
        }
        for (&element, &level) in &needs.galois {
            let key = self.secret.galois_key(element, level, rng);
            take(EvaluationKey::Galois(element, key))?;
        }
        for (&values, &level) in &needs.packing {
            let layout = Layout::new(self.params.bfv.n(), values)?;
            let key = PackingKey::generate(self, (layout, level), rng)?;
            take(EvaluationKey::Packing(values, key))?;
        }
        if needs.switch {
            let small = &self.params.small;
            let key = DimensionKey::generate(small, &self.secret, &self.lwe, rng);
            take(EvaluationKey::Dimension(key))?;
        }
        Ok(())
    }
}

/// One of the evaluation keys.
pub enum EvaluationKey {
    /// The relinearization key.
    Relinearization(SwitchKey),
    /// The Galois key of an element.
    Galois(usize, SwitchKey),
    /// The packing key for a number of values.
    Packing(usize, PackingKey),
    /// The key of the dimension switch.
    Dimension(DimensionKey),
}

/// The LWE secret in the slots of a few ciphertexts, rotated as [packing](crate::pack) wants it.
#[derive(Clone)]
pub struct PackingKey {
    seed: Seed,
    /// Key material.
    ciphertexts: Vec<Ciphertext>,
    /// All baby steps, which the first packing makes.
    baby_steps: OnceLock<Vec<Ciphertext>>,
}

impl PackingKey {
    fn generate(
        keys: &ClientKeys,
        (layout, level): (Layout, usize),
        rng: &mut impl CryptoRng,
    ) -> Result<Self> {
        let (params, mut masks) = (&keys.params, Masks::random(rng));
        let t = params.bfv.t();
        let ciphertexts: Vec<Ciphertext> = pack::key_patterns(params, layout)
            .into_iter()
            .map(|pattern| {
                let slots: Zeroizing<Vec<u64>> = pattern
                    .into_iter()
                    .map(|j| t.from_i64(keys.lwe.coefficients()[j]))
                    .collect::<Vec<_>>()
                    .into();
                let message = Zeroizing::new(params.bfv.encoder().slots_to_plaintext(&slots));
                let (of, masks) = (&params.bfv, &mut masks);
                Ok(bfv::encrypt(of, &keys.secret, &message, level, masks, rng)?)
            })
            .collect::<Result<_>>()?;
        Ok(Self::new(*masks.seed(), ciphertexts))
    }

    /// A key from its seed and ciphertexts.
    pub fn new(seed: Seed, ciphertexts: Vec<Ciphertext>) -> Self {
        Self {
            seed,
            ciphertexts,
            baby_steps: OnceLock::new(),
        }
    }

    /// Seed of the ciphertexts' masks.
    pub fn seed(&self) -> &Seed {
        &self.seed
    }

    /// The ciphertexts that are key material.
    pub fn ciphertexts(&self) -> &[Ciphertext] {
        &self.ciphertexts
    }

    /// The first `count` rotations of the secret. The first call makes them.
    ///
    /// # Errors
    /// If the Galois key that makes them is missing, or the key was made for fewer.
    pub(crate) fn baby_steps(
        &self,
        evaluator: &Evaluator,
        keys: &EvaluationKeys,
        count: usize,
    ) -> Result<&[Ciphertext]> {
        let made = match self.baby_steps.get() {
            Some(made) => made,
            None => {
                // Where two threads come here at once both make them, and the first to end is kept.
                let made = pack::make_baby_steps(evaluator, keys, count, &self.ciphertexts)?;
                self.baby_steps.get_or_init(|| made)
            }
        };
        // Keys that never were a file may be of another program, with another number.
        made.get(..count).ok_or_else(|| Error::Shape {
            what: "the number of baby steps of a packing key",
            found: made.len().to_string(),
            expected: format!("at least {count}: keys made for this program"),
        })
    }
}

/// Public key material of the server.
#[derive(Clone)]
pub struct EvaluationKeys {
    relinearization: Option<SwitchKey>,
    galois: GaloisKeys,
    packing: BTreeMap<usize, PackingKey>,
    switch: Option<DimensionKey>,
}

impl EvaluationKeys {
    /// Keys from their parts.
    pub fn from_parts(
        relinearization: Option<SwitchKey>,
        galois: GaloisKeys,
        packing: BTreeMap<usize, PackingKey>,
        switch: Option<DimensionKey>,
    ) -> Self {
        Self {
            relinearization,
            galois,
            packing,
            switch,
        }
    }

    /// Relinearization key.
    ///
    /// # Errors
    /// [`Error::MissingKey`].
    pub fn relinearization(&self) -> Result<&SwitchKey> {
        self.relinearization.as_ref().ok_or(Error::MissingKey {
            what: "relinearization key",
        })
    }

    /// Galois keys.
    pub fn galois(&self) -> &GaloisKeys {
        &self.galois
    }

    /// Packing key for a number of values.
    ///
    /// # Errors
    /// [`Error::MissingPackingKey`].
    pub fn packing(&self, values: usize) -> Result<&PackingKey> {
        self.packing
            .get(&values)
            .ok_or(Error::MissingPackingKey { values })
    }

    /// All packing keys, by number of values.
    pub fn packings(&self) -> &BTreeMap<usize, PackingKey> {
        &self.packing
    }

    /// Key of the dimension switch.
    ///
    /// # Errors
    /// [`Error::MissingKey`].
    pub fn switch(&self) -> Result<&DimensionKey> {
        self.switch.as_ref().ok_or(Error::MissingKey {
            what: "key of the dimension switch",
        })
    }

    /// Bytes in memory.
    pub fn byte_len(&self) -> usize {
        let switch = self.switch.iter().map(DimensionKey::byte_len);
        let keys = self.relinearization.iter().map(SwitchKey::byte_len);
        let packing = self
            .packing
            .values()
            .flat_map(|p| {
                p.ciphertexts
                    .iter()
                    .chain(p.baby_steps.get().into_iter().flatten())
            })
            .map(Ciphertext::byte_len);
        self.galois.byte_len() + switch.chain(keys).chain(packing).sum::<usize>()
    }
}
