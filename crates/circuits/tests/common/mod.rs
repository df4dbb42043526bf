//! Full-size parameters with 128-bit security, and the comparison of noise with its prediction.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    reason = "a module of several test binaries: none uses all of it, and tests may panic"
)]

pub mod conv;

use bfv::{Ciphertext, Params, Plaintext, T_FERMAT, decrypt, encrypt, measure};
use client::ClientKeys;
use exchange::{EvaluationKeys, Layout, LoopParams};
use palladion_circuits::operations::{Dry, Run};
use palladion_circuits::{EncryptedValue, Engine, Value, dry_engine};
use program::TableShape;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use ring::sample::Masks;
use ring::{ntt_primes, ntt_primes_avoiding};
use rlwe::{DimensionKey, ParamsSpec};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

pub const N: usize = 1 << 15;
pub const T: u64 = T_FERMAT;
pub const DIMENSION: usize = 1024;

/// log2 of the largest probability that a slot of a ciphertext is wrong.
pub const RARE: f64 = -40.0;

/// Only one of these tests runs at a time. Each uses all threads and up to 2 GB.
pub fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Client, parameters and random numbers of one test.
pub struct Setup {
    pub params: LoopParams,
    pub keys: ClientKeys,
    pub rng: ChaCha20Rng,
    seed: u64,
}

/// A chain of 26 bits and `limbs - 1` times 34, digits of four limbs, special moduli of 3 * 49
/// bits. At 20 limbs these are 819 bits of 868.
pub fn setup(limbs: usize, seed: u64) -> Setup {
    setup_of((34, 1.5), (49, 3), limbs, seed)
}

/// As [`setup`], with limbs of another size, another slack, and the given number and bits of
/// special moduli.
pub fn setup_of(
    (limb_bits, slack_bits): (u32, f64),
    (special_bits, special): (u32, usize),
    limbs: usize,
    seed: u64,
) -> Setup {
    let mut q = ntt_primes(26, N, 1).unwrap();
    q.extend(ntt_primes(limb_bits, N, limbs - 1).unwrap());
    let p = ntt_primes_avoiding(special_bits, N, special, &q).unwrap();
    let spec = ParamsSpec {
        n: N,
        q,
        p,
        digit_limbs: limbs.min(4),
    };
    let bfv = Params::new(&spec, T).unwrap();
    let params = LoopParams::new(&bfv, DIMENSION, 3)
        .unwrap()
        .with_slack(slack_bits);
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    println!(
        "N = {N}, t = {T}, {limbs} limbs, log2(QP) = {:.0}, LWE dimension {DIMENSION}, seed {seed}",
        bfv.rlwe().log_qp()
    );
    Setup {
        keys: ClientKeys::generate(&params, &mut rng),
        params,
        rng,
        seed,
    }
}

impl Setup {
    pub fn bfv(&self) -> &Params {
        self.params.bfv()
    }

    pub fn dimension_key(&mut self) -> DimensionKey {
        let (secret, lwe) = (self.keys.secret(), self.keys.lwe());
        DimensionKey::generate(self.params.small(), secret, lwe, &mut self.rng)
    }

    pub fn top(&self) -> usize {
        self.bfv().rlwe().max_level()
    }

    pub fn residues(&mut self, count: usize) -> Vec<u64> {
        (0..count).map(|_| self.rng.random_range(0..T)).collect()
    }

    /// A random table over the whole of `Z_t`, by residue.
    pub fn table(&mut self) -> Vec<i64> {
        (0..T).map(|_| self.rng.random_range(0..T as i64)).collect()
    }

    pub fn encrypt(&mut self, message: &Plaintext, level: usize) -> EncryptedValue {
        let mut masks = Masks::random(&mut self.rng);
        let secret = self.keys.secret();
        let bfv = self.params.bfv();
        let ct = encrypt(bfv, secret, message, level, &mut masks, &mut self.rng).unwrap();
        Value::encrypted(ct, Engine::dry(bfv).model().fresh())
    }

    pub fn encrypt_slots(&mut self, slots: &[u64], level: usize) -> EncryptedValue {
        let message = self.bfv().encoder().slots_to_plaintext(slots);
        self.encrypt(&message, level)
    }

    pub fn coefficients(&self, value: &EncryptedValue) -> Vec<u64> {
        let message = decrypt(self.bfv(), self.keys.secret(), ciphertext(value)).unwrap();
        message.coefficients().to_vec()
    }

    pub fn slots(&self, value: &EncryptedValue) -> Vec<u64> {
        let message = decrypt(self.bfv(), self.keys.secret(), ciphertext(value)).unwrap();
        self.bfv().encoder().slots_of(&message)
    }

    /// Switches a value to a level. This takes no key.
    pub fn switched(&self, value: EncryptedValue, level: usize) -> EncryptedValue {
        let keys = EvaluationKeys::from_parts(None, Default::default(), Default::default(), None);
        let engine: Engine<Run<'_>> = Engine::new(self.bfv(), &keys);
        engine.switch_to(value, level).unwrap()
    }

    /// Generates the keys that a dry run of `circuit` needs.
    pub fn keys_for<R>(&mut self, circuit: impl Fn(&Engine<Dry>) -> R) -> EvaluationKeys {
        let dry = dry_engine(&self.params);
        circuit(&dry);
        let needs = dry.needs();
        let keys = self.keys.evaluation_keys(&needs, &mut self.rng).unwrap();
        assert_eq!(needs.byte_len(&self.params).unwrap(), keys.byte_len());
        keys
    }

    /// The shape with the smallest predicted time for `len` coefficients and `segments` segments.
    pub fn shape(&self, len: usize, layout: Layout, segments: usize) -> TableShape {
        let dry_seconds = |shape: &TableShape| {
            let engine = Engine::dry(self.bfv());
            let x = Value::dry(self.top(), engine.model().fresh());
            let lut = palladion_circuits::lut::Lut::new(vec![1; len], *shape).ok()?;
            lut.apply(&engine, layout, &x).ok()?;
            Some((engine.counts().seconds(N), *shape))
        };
        palladion_circuits::lut::shapes(len, layout)
            .iter()
            .filter(|shape| shape.segments == segments)
            .filter_map(dry_seconds)
            .min_by(|a, b| a.0.total_cmp(&b.0))
            .expect("a shape fits the chain")
            .1
    }

    /// Compares the noise of `value` with its prediction, from both sides. Checks that the
    /// probability of a wrong slot is below [`RARE`].
    ///
    /// The root mean square of `N` near-normal samples has a relative deviation of `1/sqrt(2N)`,
    /// 0.006 bits, and the norm of a key with `2N/3` nonzero coefficients one of `sqrt(1/(8N))`,
    /// 0.003. A tenth of a bit is more than ten deviations of both, and a fifth of the half bit
    /// that one forgotten rounding makes.
    pub fn check_noise(&self, step: &str, value: &EncryptedValue) {
        self.check_noise_carried(step, value, N, 0.0);
    }

    /// As [`Setup::check_noise`], for noise that is concentrated in `samples` coefficients. The
    /// measured noise at the start was `carried` bits above its prediction. Returns how many bits
    /// this noise is above its prediction.
    ///
    /// Copies are added up by a sum over automorphisms, which is a trace: it multiplies the
    /// coefficients of a subring by the number of copies and cancels the others. Over all
    /// coefficients the variance is that of a sum of independent terms, but it is all in `samples`
    /// coefficients. So the measured value has a relative deviation of `1/sqrt(2 samples)`, of
    /// which five are allowed, and failure is `log2(copies)/2` bits nearer.
    pub fn check_noise_carried(
        &self,
        step: &str,
        value: &EncryptedValue,
        samples: usize,
        carried: f64,
    ) -> f64 {
        let five = 5.0 * std::f64::consts::LOG2_E / (2.0 * samples as f64).sqrt();
        let tolerance = five.max(0.1);
        let (size, budget) = measure(self.bfv(), self.keys.secret(), ciphertext(value)).unwrap();
        let (rlwe, predicted) = (self.bfv().rlwe(), value.noise().bits());
        let peak = (N as f64 / samples as f64).log2() / 2.0;
        let margin = rlwe.log_q(value.level()) - 1.0 - predicted - peak;
        let wrong = log2_wrong_slot(margin);
        println!(
            "{step}: level {}, noise {:.2} bits, predicted {predicted:.2}, budget {budget:.1}, \
             margin {:.1}, wrong slot below 2^{:.0}",
            value.level(),
            size.log2_rms,
            margin - 6f64.log2(),
            wrong.max(-999.0)
        );
        let (off, seed) = (size.log2_rms - predicted, self.seed);
        // The largest of `samples` normal values is near `sqrt(2 ln(2 samples))` deviations, minus
        // the second term of that expansion.
        let far = (2.0 * (2.0 * samples as f64).ln()).sqrt();
        let far = far - (far * far / 2.0 * 4.0 * std::f64::consts::PI).ln() / (2.0 * far);
        let largest = size.log2_max - value.peak().bits() - off - far.log2();
        println!("{step}: largest coefficient {largest:.2} bits off its prediction");
        // The peak is an upper bound. The noise of the last automorphisms gathers less than it
        // says.
        assert!(
            (-0.7..0.4).contains(&largest),
            "{step}: the largest coefficient is off by {largest:.2} bits, seed {seed}"
        );
        assert!(
            (off - carried).abs() <= tolerance,
            "{step}: off by {off:.3} bits, seed {seed}"
        );
        assert!(budget > 0.0, "{step}: no budget, seed {seed}");
        assert!(
            wrong < RARE,
            "{step}: a wrong slot has probability 2^{wrong:.1}"
        );
        off
    }
}

/// log2 of a bound on the probability that one of `N` coefficients of a normal residual exceeds
/// `Q/2`, where `margin = log2(Q/2) - log2(rms)`. `Q/2` is `x = 2^margin` deviations away, so each
/// coefficient exceeds it with `P(|g| > x) < 2 exp(-x^2/2) / (x sqrt(2 pi))`. One wrong coefficient
/// makes slots wrong.
pub fn log2_wrong_slot(margin: f64) -> f64 {
    let x = margin.exp2();
    let one = 1.0
        - x * x / 2.0 * std::f64::consts::LOG2_E
        - (x * (2.0 * std::f64::consts::PI).sqrt()).log2();
    (N as f64).log2() + one
}

pub fn ciphertext(value: &EncryptedValue) -> &Ciphertext {
    value.ciphertext()
}

/// Standard deviation of centred errors modulo `t`.
pub fn deviation(errors: impl ExactSizeIterator<Item = i64>) -> f64 {
    let count = errors.len() as f64;
    let sum: f64 = errors.map(|e| (e as f64).powi(2)).sum();
    (sum / count).sqrt()
}

pub fn timed<R>(what: &str, work: impl FnOnce() -> R) -> R {
    let start = Instant::now();
    let result = work();
    println!("{what}: {:.2} s", start.elapsed().as_secs_f64());
    result
}
