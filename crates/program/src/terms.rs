//! The terms on which client and server exchange files: the facts of a program that a client must
//! know.

use crate::error::Result;
use crate::flood::Flood;
use crate::ir::{KeyNeeds, Op, Parameters, Patch, Program, Row, Type, ValueId, is_false};
use crate::public_inputs::PublicInputs;
use crate::verify::{check, range};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

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
/// Number of values that stands for a packing of all samples of a ciphertext, in the list of
/// packing keys.
pub const PACK_ALL: usize = 1;
/// Largest number of images in one run. Every image has its own values in every layer, and the
/// program lists them.
pub const MAX_BATCH: usize = 1 << 15;
/// Largest flood in bits. The flood is a sum of four numbers, which has to fit into 128 bits.
pub(crate) const MAX_FLOOD: usize = 120;

/// The facts of a program that a client must know: parameters, the keys to make, the places of
/// inputs and outputs, and the meaning of the model's own arrays. Terms have no weight, no bias and
/// no table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Terms {
    /// Name of the network.
    pub name: String,
    /// Largest number of images in one run.
    pub batch: usize,
    /// Shape of an image: channels, height, width.
    pub input: [usize; 3],
    /// Smallest and largest integer of an image.
    pub input_range: [i64; 2],
    /// Number of classes.
    pub classes: usize,
    /// As [`Program::interface`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<serde_json::Value>,
    /// For each of the client's ciphertexts, the parts of images in it. Empty if images are
    /// interleaved.
    pub placement: Vec<Vec<Patch>>,
    /// Whether images are interleaved: ciphertext `i` has value `i` of every image, that of image
    /// `b` at coefficient `b`.
    #[serde(default, skip_serializing_if = "is_false")]
    pub interleaved: bool,
    /// Level of the client's ciphertexts.
    pub input_level: usize,
    /// Parameters.
    pub parameters: Parameters,
    /// Keys that the program uses, each with the highest level at which it is used.
    pub keys: KeyNeeds,
    /// The ciphertexts of an answer, in order.
    pub outputs: Vec<Outputs>,
    /// As [`Prediction::public_inputs`](crate::Prediction::public_inputs).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub public_inputs: Option<PublicInputs>,
}

/// One ciphertext of an answer, and the outputs in it. An output that several ciphertexts have is
/// the sum of its parts. Before the server answers, it adds random numbers to the parts. The sum of
/// these numbers is 0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outputs {
    /// Level of the ciphertext.
    pub level: usize,
    /// Image and class of each output, in order.
    pub rows: Vec<Row>,
    /// Coefficient of each output.
    pub at: Vec<usize>,
    /// Factor of the message modulo `t`: 1, or the factor of a merge.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub factor: u64,
    /// Bound of the predicted noise before the ciphertext is hidden: log2 of the residual's root
    /// mean square, in whole bits, so that the number says little about the weights. With a flood,
    /// it is the bound of the flood's residual.
    pub noise_bits: u32,
    /// The flood over the noise of the outputs, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flood: Option<Flood>,
}

fn one() -> u64 {
    1
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes fields by reference"
)]
fn is_one(factor: &u64) -> bool {
    *factor == 1
}

/// Number of the client's ciphertexts: with interleaved images, one for each value of an image.
pub(crate) fn inputs(placement: &[Vec<Patch>], interleaved: bool, image: [usize; 3]) -> usize {
    match interleaved {
        true => image.iter().product(),
        false => placement.len(),
    }
}

impl Program {
    /// Factor of a value's message. Only merges have another factor than 1 when they are given
    /// away.
    fn factor(&self, value: ValueId) -> u64 {
        match &self.steps[value].op {
            Op::Merge { sources } => sources.len().next_power_of_two() as u64 % self.parameters.t,
            _ => 1,
        }
    }

    /// The facts of this program that a client must know.
    pub fn terms(&self) -> Terms {
        let level_of = |ty: Type| match ty {
            Type::Ciphertext { level, .. } => level,
            Type::Samples => 0,
        };
        let noise_of = |ty: Type| match ty {
            Type::Ciphertext { noise_bits, .. } => noise_bits,
            Type::Samples => 0.0,
        };
        let outputs = self.steps.iter().filter_map(|step| match &step.op {
            Op::Output {
                value,
                rows,
                at,
                flood,
            } => Some(Outputs {
                level: level_of(step.ty),
                rows: rows.clone(),
                at: at.clone(),
                factor: self.factor(*value),
                noise_bits: match flood {
                    Some(flood) => flood.residual_bits(self.parameters.t).ceil() as u32,
                    None => noise_of(step.ty).ceil() as u32,
                },
                flood: *flood,
            }),
            _ => None,
        });
        let mut steps = self.steps.iter();
        let input = steps.find(|step| matches!(step.op, Op::Input { .. }));
        Terms {
            name: self.name.clone(),
            batch: self.batch,
            input: self.input,
            input_range: self.input_range,
            classes: self.classes,
            interface: self.interface.clone(),
            placement: self.placement.clone(),
            interleaved: self.interleaved,
            input_level: input.map_or(0, |step| level_of(step.ty)),
            parameters: self.parameters.clone(),
            keys: self.keys.clone(),
            outputs: outputs.collect(),
            public_inputs: self.prediction.public_inputs,
        }
    }
}

impl Terms {
    /// Number of the client's ciphertexts.
    pub fn inputs(&self) -> usize {
        inputs(&self.placement, self.interleaved, self.input)
    }

    /// Checks that terms from outside can be used without a panic, and within memory that their own
    /// size and their parameters imply.
    ///
    /// # Errors
    /// [`Error::Parameters`](crate::Error::Parameters) with the first rule that is broken.
    pub fn verify(&self) -> Result<()> {
        self.parameters.verify()?;
        self.verify_images()?;
        self.verify_keys()?;
        self.verify_outputs()?;
        self.public_inputs
            .as_ref()
            .map_or(Ok(()), PublicInputs::verify)?;
        self.verify_results()
    }

    pub(crate) fn verify_images(&self) -> Result<()> {
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
        if self.interleaved {
            let found = self.placement.len();
            check(found == 0, "the parts of interleaved images", found, "none")?;
            return range("the batch of interleaved images", self.batch, 1, p.n);
        }
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

    pub(crate) fn verify_keys(&self) -> Result<()> {
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
            let slots = values.is_power_of_two() && (fewest..=p.n).contains(&values);
            check(
                slots || values == PACK_ALL,
                "the number of values of a packing key",
                values,
                &format!("{PACK_ALL}, or a power of two from {fewest} to {}", p.n),
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

    /// Checks levels and places of inputs and outputs.
    fn verify_outputs(&self) -> Result<()> {
        let (n, top) = (self.parameters.n, self.parameters.q.len() - 1);
        range("the level of the inputs", self.input_level, 0, top)?;
        for outputs in &self.outputs {
            range("the level of an output", outputs.level, 0, top)?;
            let (places, rows) = (outputs.at.len(), outputs.rows.len());
            range("the number of places of outputs", places, rows, rows)?;
            outputs.verify_places(n)?;
            let factor = outputs.factor;
            check(
                (1..self.parameters.t).contains(&factor),
                "the factor of an output",
                factor,
                &format!("1 to {}", self.parameters.t - 1),
            )?;
            for row in &outputs.rows {
                range("the class of an output", row.output, 0, self.classes - 1)?;
                range("the image of an output", row.image, 0, self.batch - 1)?;
            }
        }
        Ok(())
    }

    /// Returns true if a ciphertext of the answer has parts of results, which are sums over several
    /// ciphertexts.
    pub fn has_parts(&self, outputs: &Outputs) -> bool {
        let others = self
            .outputs
            .iter()
            .filter(|&other| !std::ptr::eq(other, outputs));
        let elsewhere: BTreeSet<_> = others
            .flat_map(|other| &other.rows)
            .map(|row| (row.image, row.output))
            .collect();
        outputs
            .rows
            .iter()
            .any(|row| elsewhere.contains(&(row.image, row.output)))
    }

    /// Checks that every class of every image is given: once, or in parts that lie in different
    /// ciphertexts and are added up.
    ///
    /// A part gets a random number of its own ([`Outputs`]), so no other output may share its
    /// coefficient, and it must be one.
    pub(crate) fn verify_results(&self) -> Result<()> {
        let expected = || format!("{} classes of {} images", self.classes, self.batch);
        let mut parts = BTreeMap::<_, usize>::new();
        for outputs in &self.outputs {
            let mut given = BTreeSet::new();
            for row in &outputs.rows {
                let place = (row.image, row.output);
                *parts.entry(place).or_default() += 1;
                check(
                    given.insert(place),
                    "a result given twice in one ciphertext",
                    format!("class {} of image {}", row.output, row.image),
                    "every one once",
                )?;
            }
        }
        check(
            self.classes.checked_mul(self.batch) == Some(parts.len()),
            "the number of results",
            parts.len(),
            &expected(),
        )?;
        for outputs in &self.outputs {
            let mut at: BTreeMap<usize, usize> = BTreeMap::new();
            outputs
                .at
                .iter()
                .for_each(|&place| *at.entry(place).or_default() += 1);
            for (row, place) in outputs.rows.iter().zip(&outputs.at) {
                check(
                    at[place] == 1 || parts[&(row.image, row.output)] == 1,
                    "the place of a part of a result",
                    format!("{place}, which serves several results"),
                    "a coefficient of its own",
                )?;
            }
        }
        Ok(())
    }
}

impl Outputs {
    /// Checks places and flood for a ring of degree `n`.
    fn verify_places(&self, n: usize) -> Result<()> {
        for &place in &self.at {
            range("the place of an output", place, 0, n - 1)?;
        }
        match self.flood {
            None => Ok(()),
            Some(flood) => range("the bits of a flood", flood.bits as usize, 0, MAX_FLOOD),
        }
    }
}

impl Parameters {
    /// Checks that parameters from outside name moduli and digits, within memory that their own
    /// size implies. Whether they are secure is checked where a ring is made of them.
    ///
    /// # Errors
    /// [`Error::Parameters`](crate::Error::Parameters) with the first rule that is broken.
    pub fn verify(&self) -> Result<()> {
        let p = self;
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
        )
    }
}
