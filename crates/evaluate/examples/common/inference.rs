//! Shared by LoLa's networks: runs images through one circuit, encrypted and in the clear, and
//! compares with the network by its definition.

use crate::common::{Result, timed};
use crate::replay::replay;
use crate::trace::counted;
use ckks::{Ciphertext, Complex64, Params, Plaintext, decrypt, encrypt};
use palladion_evaluate::circuit::{Argument, Runner, Slots, needs, predict, run_clear};
use program::circuit::Circuit;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use ring::sample::Masks;
use rlwe::SecretKey;
use std::collections::BTreeMap;
use std::time::Instant;

/// Largest difference of a logit in the clear. Doubles are added up in another order.
const TOLERANCE_CLEAR: f64 = 1e-9;

/// The inputs of an image, the logits expected of it, and its label.
pub(crate) struct Image<'a> {
    pub(crate) inputs: Slots,
    pub(crate) logits: &'a [f64],
    pub(crate) label: u8,
}

/// The client: its secret, and a source of masks.
struct Client {
    secret: SecretKey,
    masks: Masks,
    rng: ChaCha20Rng,
}

impl Client {
    fn new(params: &Params) -> Self {
        let mut rng = ChaCha20Rng::from_os_rng();
        Self {
            secret: SecretKey::generate(params.rlwe(), &mut rng),
            masks: Masks::random(&mut rng),
            rng,
        }
    }

    fn encrypt(&mut self, message: &Plaintext) -> ckks::Result<Ciphertext> {
        let masks = &mut self.masks;
        encrypt(&self.secret, message, masks, &mut self.rng)
    }

    /// Encrypts the inputs of the circuit.
    fn encrypt_all(
        &mut self,
        runner: &Runner,
        slots: &Slots,
    ) -> Result<BTreeMap<String, Ciphertext>> {
        let encrypted = slots.iter().map(|(name, slots)| {
            let message = runner.encode(name, slots)?;
            Ok((name.clone(), self.encrypt(&message)?))
        });
        encrypted.collect()
    }
}

/// Real slots by name.
pub(crate) fn complex(values: impl IntoIterator<Item = (String, Vec<f64>)>) -> Slots {
    let slots = |v: Vec<f64>| v.into_iter().map(Complex64::from).collect();
    values
        .into_iter()
        .map(|(name, v)| (name, slots(v)))
        .collect()
}

/// Runs images through a circuit with an output `logits`. Prints seconds, and differences with
/// their predictions. `weights` are inputs that are the same for all images.
///
/// # Errors
/// If a class differs from the expected one, or a logit differs by more than the tolerance.
pub(crate) fn infer<'a>(
    params: &Params,
    circuit: &Circuit,
    weights: &Slots,
    images: impl Iterator<Item = Image<'a>>,
    tolerance: f64,
) -> Result<()> {
    let counted = counted()?;
    print!("{}", circuit.counts());
    let mut client = Client::new(params);
    let (runner, encrypted) = timed("model", || {
        let runner = Runner::new(params, circuit)?;
        let weights = client.encrypt_all(&runner, weights)?;
        Ok((runner, weights))
    })?;
    println!("{:.1} MB of constants", runner.byte_len() as f64 / 1e6);
    let keys = timed("keys", || {
        let (secret, rng) = (&client.secret, &mut client.rng);
        Ok(client::circuit_keys(
            secret,
            &needs(params, &circuit.keys()),
            rng,
        )?)
    })?;
    let (count, bytes) = (keys.galois.iter().len(), keys.galois.byte_len());
    println!("{count} Galois keys, {:.1} MB", bytes as f64 / 1e6);

    let (mut seconds, mut worst, mut right) = (Vec::new(), 0.0f64, 0);
    let (mut squares, mut compared) = (0.0, 0.0);
    for (i, image) in images.enumerate() {
        let sent = client.encrypt_all(&runner, &image.inputs)?;
        let arguments = sent.iter().chain(&encrypted);
        let arguments = arguments
            .map(|(name, ct)| (name.as_str(), Argument::Ciphertext(ct)))
            .collect();
        if let Some(counted) = counted {
            counted.take();
        }
        let start = Instant::now();
        let result = runner.run(&arguments, &keys)?;
        seconds.push(start.elapsed().as_secs_f64());
        if let (Some(counted), 0) = (counted, i) {
            replay(&runner, (&arguments, &keys), &result, counted.take())?;
        }
        let classes = image.logits.len();
        let found = decrypt(&client.secret, &result["logits"])?;
        let found = found.decode(params, classes.next_power_of_two())?;
        let found: Vec<f64> = found[..classes].iter().map(|v| v.re).collect();

        let mut inputs = image.inputs;
        inputs.extend(weights.clone());
        check_clear(circuit, &inputs, image.logits)?;
        if i == 0 {
            let predicted = &predict(params, circuit, &inputs)?["logits"];
            // Half of the mean square of an error is in the real part. This is half a bit more
            // precision.
            let bits = predicted.noise(classes).precision() + 0.5;
            println!("predicted for image 0: {bits:.1} bits in a logit");
        }
        let differences = || found.iter().zip(image.logits).map(|(a, b)| (a - b).abs());
        let difference = differences().fold(0.0, f64::max);
        worst = worst.max(difference);
        squares += differences().map(|d| d * d).sum::<f64>();
        compared += classes as f64;
        right += usize::from(largest(&found) == usize::from(image.label));
        if largest(&found) != largest(image.logits) || difference > tolerance {
            let text = format!("image {i}: encrypted {found:?}, plain {:?}", image.logits);
            return Err(text.into());
        }
    }
    seconds.sort_by(f64::total_cmp);
    println!(
        "{right} of {} encrypted images right, the plain class in all; largest difference of a logit {worst:.2e}, {:.1} bits on average",
        seconds.len(),
        -(squares / compared).log2() / 2.0
    );
    if let (Some(fastest), Some(median)) = (seconds.first(), seconds.get(seconds.len() / 2)) {
        println!("inference: median {median:.3} s, fastest {fastest:.3} s");
    }
    Ok(())
}

/// Compares the circuit in the clear with the layers by their definition.
fn check_clear(circuit: &Circuit, slots: &Slots, expected: &[f64]) -> Result<()> {
    let found = &run_clear(circuit, slots)?["logits"];
    let differences = found.iter().zip(expected).map(|(a, b)| (a - b).norm());
    let worst = differences.fold(0.0, f64::max);
    if worst < TOLERANCE_CLEAR {
        return Ok(());
    }
    Err(format!(
        "the circuit in the clear differs by {worst:e}, expected less than {TOLERANCE_CLEAR:e}"
    )
    .into())
}

/// Logits of all images, and the number of images whose label has the largest logit.
pub(crate) fn plain(
    images: &[Vec<u8>],
    labels: &[u8],
    evaluate: impl Fn(&[u8]) -> Vec<f64> + Sync,
) -> Result<Vec<Vec<f64>>> {
    let logits: Vec<Vec<f64>> = timed("plain, all test images", || {
        Ok(ring::par_map(images.len(), |i| evaluate(&images[i])))
    })?;
    let right = logits.iter().zip(labels);
    let right = right.filter(|(l, label)| largest(l) == usize::from(**label));
    println!("plain accuracy {} of {}", right.count(), labels.len());
    Ok(logits)
}

fn largest(values: &[f64]) -> usize {
    let order = |&a: &usize, &b: &usize| values[a].total_cmp(&values[b]);
    (0..values.len()).max_by(order).expect("ten logits")
}
