//! The verifier: rejects programs that cannot run or whose results would not decrypt.
//!
//! A program that it accepts can be prepared and run without a panic, and within memory that the
//! file's own size and its parameters imply. Other layers check that moduli are prime and
//! parameters secure. A rehearsal by the runtime checks that levels, noise and keys are those that
//! the circuits give.

mod steps;

use crate::error::{Error, Result};
use crate::ir::{FORMAT, MAX_LOG2_FAILURE, Op, Patch, Program};
use std::fmt::Display;

/// Bounds of the ring degree, and of the number of moduli, special ones included. They bound the
/// transform tables that a file can cause to be built.
const MIN_DEGREE: usize = 1 << 4;
const MAX_DEGREE: usize = 1 << 17;
const MAX_MODULI: usize = 64;
/// Bound of moduli: the kernels only take smaller ones.
const MAX_MODULUS: u64 = 1 << 50;
/// Bound of the plaintext modulus: the constants of linear maps are kept in 32 bits.
const MAX_T: u64 = 1 << 32;
/// Largest size of the interface, in bytes.
const MAX_INTERFACE: usize = 1 << 20;
/// Largest slack: bits of noise above a rounding's that are carried on.
const MAX_SLACK: f64 = 64.0;
const MAX_PIXELS: usize = 1 << 22;
const MAX_BATCH: usize = 1 << 15;
const MAX_STEPS: usize = 1 << 16;
/// Largest number of steps whose constants are prepared before a run. Each takes a few megabytes,
/// for about ten bytes of the file.
const MAX_PREPARED: usize = 1 << 10;

impl Program {
    /// Sets the format, verifies the program and returns it.
    ///
    /// # Errors
    /// As [`Program::verify`].
    pub fn new(mut self) -> Result<Self> {
        self.format = FORMAT.into();
        self.verify()?;
        Ok(self)
    }

    /// Checks parameters, placement, keys, constants and every step: operands exist and have the
    /// right form and level, constants fit, and every result is given once. No ciphertext's
    /// predicted noise may make a run fail more often than [`MAX_LOG2_FAILURE`].
    ///
    /// # Errors
    /// [`Error::Format`] for the text of another version. [`Error::Parameters`],
    /// [`Error::Constant`] or [`Error::Step`] with the first place that breaks a rule.
    pub fn verify(&self) -> Result<()> {
        if self.format != FORMAT {
            return Err(Error::Format {
                found: self.format.clone(),
                expected: FORMAT.into(),
            });
        }
        self.verify_parameters()?;
        self.verify_images()?;
        self.verify_keys()?;
        self.verify_constants()?;
        let prepared = |op: &Op| {
            matches!(
                op,
                Op::Table { .. } | Op::Dense { .. } | Op::SlotsToCoefficients { .. }
            )
        };
        let costly = self.steps.iter().filter(|s| prepared(&s.op)).count();
        range("the number of steps", self.steps.len(), 1, MAX_STEPS)?;
        range(
            "the number of tables and maps from slots",
            costly,
            0,
            MAX_PREPARED,
        )?;
        for index in 0..self.steps.len() {
            self.verify_step(index)?;
        }
        self.verify_results()
    }

    fn verify_parameters(&self) -> Result<()> {
        let p = &self.parameters;
        range("the ring degree", p.n, MIN_DEGREE, MAX_DEGREE)?;
        check(
            p.n.is_power_of_two(),
            "the ring degree",
            p.n,
            "a power of two",
        )?;
        range(
            "the number of moduli of the chain",
            p.q.len(),
            1,
            MAX_MODULI,
        )?;
        let most = MAX_MODULI - p.q.len();
        range("the number of special moduli", p.p.len(), 1, most)?;
        let splits = |q: u64| q % (2 * p.n as u64) == 1;
        let moduli: Vec<u64> = p.q.iter().chain(&p.p).copied().collect();
        for (index, &q) in moduli.iter().enumerate() {
            let fits = q < MAX_MODULUS && splits(q) && !moduli[..index].contains(&q);
            let expected = "a prime below 2^50 with q = 1 mod 2N that is not there yet";
            check(fits, "a modulus", q, expected)?;
        }
        range("the limbs of a digit", p.digit_limbs, 1, p.q.len())?;
        check(
            p.t < MAX_T && splits(p.t) && !moduli.contains(&p.t),
            "the plaintext modulus",
            p.t,
            "a prime below 2^32 with t = 1 mod 2N outside the chain",
        )?;
        check(
            p.lwe_dimension.is_power_of_two() && p.lwe_dimension <= p.n,
            "the LWE dimension",
            p.lwe_dimension,
            "a power of two up to N",
        )?;
        check(
            (1..=30).contains(&p.lwe_digit_bits),
            "the bits of a digit of the dimension switch",
            p.lwe_digit_bits,
            "1 to 30",
        )?;
        check(
            (0.0..=MAX_SLACK).contains(&p.slack_bits),
            "the slack",
            p.slack_bits,
            &format!("0 to {MAX_SLACK} bits"),
        )?;
        check(
            p.baby_steps.is_power_of_two() && p.baby_steps <= p.lwe_dimension,
            "the number of baby steps of packings",
            p.baby_steps,
            "a power of two up to the LWE dimension",
        )?;
        let margin = self.prediction.margin_bits;
        check(
            margin.is_finite(),
            "the predicted margin",
            margin,
            "a number",
        )?;
        let failure = self.prediction.log2_failure;
        check(
            failure.is_finite() && failure <= MAX_LOG2_FAILURE,
            "the probability that a run is wrong",
            format!("2^{failure:.1}"),
            &format!("at most 2^{MAX_LOG2_FAILURE}"),
        )
    }

    fn verify_images(&self) -> Result<()> {
        let p = &self.parameters;
        range("the batch", self.batch, 1, MAX_BATCH)?;
        check(self.classes > 0, "the number of classes", 0, "at least 1")?;
        let interface = self.interface.as_ref().map_or(0, |i| i.to_string().len());
        range("the bytes of the interface", interface, 0, MAX_INTERFACE)?;
        let size = self.input.iter().try_fold(1usize, |s, &d| s.checked_mul(d));
        let [channels, ..] = self.input;
        let pixels = match size {
            Some(size) if (1..=MAX_PIXELS).contains(&size) => size,
            _ => {
                let found = format!("{:?}", self.input);
                return check(
                    false,
                    "the shape of an image",
                    found,
                    "sides of at least 1 and at most 2^22 pixels",
                );
            }
        };
        let half = (p.t / 2) as i64;
        let [min, max] = self.input_range;
        check(
            -half <= min && min < max && max <= half,
            "the range of an image's integers",
            format!("{min} to {max}"),
            &format!("a smaller and a larger one within -{half} to {half}"),
        )?;
        let tiles = self.placement.iter().map(Vec::len).sum();
        range(
            "the number of parts of images",
            tiles,
            1,
            pixels.saturating_mul(self.batch),
        )?;
        let mut placed = vec![Vec::new(); self.batch];
        for tile in self.placement.iter().flatten() {
            range("the image of a part", tile.image, 0, self.batch - 1)?;
            self.verify_tile(tile)?;
            placed[tile.image].push(tile.channels);
        }
        for parts in &mut placed {
            parts.sort_unstable();
            let count: usize = parts.iter().map(|[from, to]| to - from).sum();
            let expected = channels.to_string();
            check(
                count == channels,
                "the number of placed channels",
                count,
                &expected,
            )?;
            if let Some(pair) = parts.windows(2).find(|pair| pair[1][0] < pair[0][1]) {
                let expected = format!("at least {}, the end of the part before it", pair[0][1]);
                return check(false, "the first channel of a part", pair[1][0], &expected);
            }
        }
        Ok(())
    }

    /// Checks that a part lies within the ciphertext, and that its channels and rows do not
    /// overlap.
    fn verify_tile(&self, tile: &Patch) -> Result<()> {
        let [channels, height, width] = self.input;
        let [from, to] = tile.channels;
        check(
            from < to && to <= channels,
            "the channels of a part",
            format!("{from} to {to}"),
            &format!("a range within 0 to {channels}"),
        )?;
        let [pitch, row] = tile.pitch;
        let n = self.parameters.n;
        range("the pitch of rows", row, width, n)?;
        range(
            "the pitch of channels",
            pitch,
            row.saturating_mul(height),
            n,
        )?;
        let end = (to - from - 1)
            .saturating_mul(pitch)
            .saturating_add((height - 1).saturating_mul(row) + width);
        let last = tile.start.saturating_add(end);
        range("the end of a part", last, 1, n)
    }

    fn verify_keys(&self) -> Result<()> {
        let (p, keys) = (&self.parameters, &self.keys);
        let top = p.q.len() - 1;
        let levels = keys.relinearization.iter();
        let levels = levels.chain(keys.galois.iter().chain(&keys.packing).map(|(_, l)| l));
        for &level in levels {
            range("the level of a key", level, 0, top)?;
        }
        for &(element, _) in &keys.galois {
            check(
                element % 2 == 1 && (3..2 * p.n).contains(&element),
                "a Galois element",
                element,
                &format!("an odd number from 3 to {}", 2 * p.n - 1),
            )?;
        }
        let fewest = p.n / p.lwe_dimension;
        for &(values, _) in &keys.packing {
            check(
                values.is_power_of_two() && (fewest..=p.n).contains(&values),
                "the number of values of a packing key",
                values,
                &format!("a power of two from {fewest} to {}", p.n),
            )?;
        }
        for list in [&keys.galois, &keys.packing] {
            if let Some(pair) = list.windows(2).find(|pair| pair[0].0 >= pair[1].0) {
                let expected = format!("more than {}, the one before it", pair[0].0);
                return check(false, "a key in order", pair[1].0, &expected);
            }
        }
        Ok(())
    }

    /// Checks that values are residues modulo `t`, of either sign.
    fn verify_constants(&self) -> Result<()> {
        let bound = self.parameters.t - 1;
        for (id, constant) in self.constants.iter().enumerate() {
            let mut values = constant.values.iter().enumerate();
            if let Some((index, &found)) = values.find(|(_, v)| v.unsigned_abs() > bound) {
                return Err(Error::Constant {
                    id,
                    index,
                    found,
                    bound,
                });
            }
        }
        Ok(())
    }

    /// Checks that every class of every image is given exactly once.
    fn verify_results(&self) -> Result<()> {
        let rows = || {
            self.steps.iter().flat_map(|step| match &step.op {
                Op::Output { rows, .. } => rows.as_slice(),
                _ => &[],
            })
        };
        let count = rows().count();
        let expected = self.classes.checked_mul(self.batch);
        check(
            expected == Some(count),
            "the number of results",
            count,
            &format!("{} classes of {} images", self.classes, self.batch),
        )?;
        let mut given = vec![false; count];
        for row in rows() {
            let place = row.image * self.classes + row.output;
            check(
                !std::mem::replace(&mut given[place], true),
                "a result given twice",
                format!("class {} of image {}", row.output, row.image),
                "every one once",
            )?;
        }
        Ok(())
    }
}

fn check(ok: bool, what: &'static str, found: impl Display, expected: &str) -> Result<()> {
    if ok {
        return Ok(());
    }
    Err(Error::Parameters {
        what,
        found: found.to_string(),
        expected: expected.into(),
    })
}

fn range(what: &'static str, found: usize, min: usize, max: usize) -> Result<()> {
    let expected = format!("{min} to {max}");
    check((min..=max).contains(&found), what, found, &expected)
}
