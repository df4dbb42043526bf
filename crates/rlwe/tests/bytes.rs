//! The byte form: written objects are read again, and reading anything else is an error, never a
//! panic.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

use palladion_rlwe::bytes::{BytesError, Kind, Reader, Writer, fingerprint};
use palladion_rlwe::{Ciphertext, Params, ParamsSpec, SecretKey, SwitchKey};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use ring::sample::{Masks, Seed};
use ring::{Basis, Coeff, Poly, ntt_primes};

const KIND: Kind = Kind {
    tag: *b"TEST",
    words: "a test object",
    version: 3,
};
const HEADER: usize = 56;
const CHECKSUM: usize = 32;

fn params_insecure() -> Params {
    // Moduli of different sizes, none a whole number of bytes.
    let spec = ParamsSpec {
        n: 16,
        q: vec![
            ntt_primes(50, 16, 1).unwrap()[0],
            ntt_primes(37, 16, 1).unwrap()[0],
        ],
        p: vec![ntt_primes(41, 16, 1).unwrap()[0]],
        digit_limbs: 1,
    };
    Params::new_insecure(&spec).unwrap()
}

/// One of each object that can be written.
#[derive(Clone, Debug, PartialEq)]
struct Sample {
    number: u64,
    level: usize,
    block: Vec<u8>,
    seed: Seed,
    small: Vec<i64>,
    poly: Poly<Coeff>,
    ciphertext: Ciphertext,
}

struct Setup {
    params: Params,
    sample: Sample,
    key: SwitchKey,
}

fn setup() -> Setup {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let params = params_insecure();
    let secret = SecretKey::generate(&params, &mut rng);
    let mut masks = Masks::random(&mut rng);
    let ciphertext = secret.encrypt_zero(1, &mut masks, &mut rng);
    let seed = *masks.seed();
    Setup {
        key: secret.relinearization_key(1, &mut rng),
        sample: Sample {
            number: u64::MAX,
            level: 1,
            block: b"some words".to_vec(),
            seed,
            small: vec![-1, 0, 1, 1, -1],
            poly: ring::sample::uniform_from_seed(params.basis(1), &seed, 7),
            ciphertext,
        },
        params,
    }
}

impl Setup {
    fn write(&self) -> Writer {
        let (mut writer, sample) = (Writer::new(), &self.sample);
        writer.u64(sample.number);
        writer.u64(sample.level as u64);
        writer.block(&sample.block);
        writer.seed(&sample.seed);
        writer.small(&sample.small);
        writer.poly(&sample.poly);
        writer.ciphertext(&sample.ciphertext);
        writer.switch_key(&self.key);
        writer
    }

    fn sealed(&self) -> Vec<u8> {
        self.write().seal(&KIND, &self.fingerprint())
    }

    fn fingerprint(&self) -> [u8; 32] {
        fingerprint(format!("{:?}", self.params).as_bytes())
    }

    fn read(&self, bytes: &[u8]) -> Result<(Sample, SwitchKey), BytesError> {
        let mut reader = Reader::open(bytes, &KIND, &self.fingerprint())?;
        let sample = Sample {
            number: reader.u64("a number")?,
            level: reader.bounded("a level", 0..=self.params.max_level())?,
            block: reader.block("a block")?.to_vec(),
            seed: reader.seed()?,
            small: reader.small("small numbers", 5, 1)?.to_vec(),
            poly: reader.poly(self.params.basis(1))?,
            ciphertext: reader.ciphertext(&self.params, 1, 2)?,
        };
        let key = reader.switch_key(&self.params)?;
        reader.end()?;
        Ok((sample, key))
    }

    /// `payload` with a correct header and checksum.
    fn reseal(&self, payload: &[u8]) -> Vec<u8> {
        let mut writer = Writer::new();
        let (words, rest) = payload.as_chunks::<32>();
        for &word in words {
            writer.seed(&Seed(word));
        }
        let rest: Vec<i64> = rest.iter().map(|&b| i64::from(b as i8)).collect();
        writer.small(&rest);
        writer.seal(&KIND, &self.fingerprint())
    }
}

fn payload(sealed: &[u8]) -> &[u8] {
    &sealed[HEADER..sealed.len() - CHECKSUM]
}

#[test]
fn everything_written_is_read_again() {
    let s = setup();
    let sealed = s.sealed();
    let (sample, key) = s.read(&sealed).unwrap();
    assert_eq!(sample, s.sample);
    assert!(key == s.key, "the mask expands from the seed");
    assert_eq!(s.reseal(payload(&sealed)), sealed);
    assert_eq!(s.sealed(), sealed, "the same object gives the same bytes");

    let (mut reader, found) = Reader::open_any(&sealed, &KIND).unwrap();
    assert_eq!(
        (found, reader.left()),
        (s.fingerprint(), payload(&sealed).len())
    );
    assert_eq!(reader.u64("a number").unwrap(), u64::MAX);
    let left = payload(&sealed).len() as u64 - 8;
    assert_eq!(reader.end().unwrap_err(), BytesError::Trailing { left });
}

#[test]
fn residues_take_the_bits_of_their_modulus() {
    let mut rng = ChaCha20Rng::seed_from_u64(2);
    for bits in 6..=60 {
        let Ok(primes) = ntt_primes(bits, 16, 1) else {
            continue;
        };
        let basis = Basis::new(16, &primes).unwrap();
        let q = primes[0];
        let mut words: Vec<u64> = (0..16).map(|_| rng.random_range(0..q)).collect();
        (words[0], words[15]) = (0, q - 1);
        let poly: Poly<Coeff> = Poly::from_words(&basis, words).unwrap();
        let mut writer = Writer::new();
        writer.poly(&poly);
        let sealed = writer.seal(&KIND, &[0; 32]);
        assert_eq!(
            payload(&sealed).len(),
            2 * bits as usize,
            "16 residues of {bits} bits"
        );
        let mut reader = Reader::open(&sealed, &KIND, &[0; 32]).unwrap();
        assert_eq!(reader.poly::<Coeff>(&basis).unwrap(), poly);
        reader.end().unwrap();
    }
}

#[test]
fn a_key_is_half_its_size_in_memory() {
    let s = setup();
    let mut writer = Writer::new();
    writer.switch_key(&s.key);
    let sealed = writer.seal(&KIND, &[0; 32]);
    // Two digits of one body each, over 50 + 37 + 41 bits; level and seed.
    assert_eq!(payload(&sealed).len(), 8 + 32 + 2 * 2 * (50 + 37 + 41));
}

#[test]
fn files_cut_anywhere_or_with_bytes_appended_are_named_so() {
    let s = setup();
    let sealed = s.sealed();
    let whole = sealed.len() as u64;
    for cut in 0..sealed.len() {
        let expected = match cut {
            0..8 => BytesError::Magic,
            // Before its end, the header does not say how long the file ought to be.
            _ if cut < HEADER => BytesError::Length {
                found: cut as u64,
                expected: (HEADER + CHECKSUM) as u64,
            },
            _ => BytesError::Length {
                found: cut as u64,
                expected: whole,
            },
        };
        assert_eq!(
            s.read(&sealed[..cut]).unwrap_err(),
            expected,
            "cut at {cut}"
        );
    }
    let mut long = sealed;
    long.push(0);
    let (found, expected) = (whole + 1, whole);
    assert_eq!(
        s.read(&long).unwrap_err(),
        BytesError::Length { found, expected }
    );
}

#[test]
fn every_flipped_bit_is_found() {
    let s = setup();
    let sealed = s.sealed();
    for bit in 0..8 * sealed.len() {
        let mut bytes = sealed.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let error = s.read(&bytes).unwrap_err();
        let right = match bit / 8 {
            0..8 => error == BytesError::Magic,
            8..12 => matches!(error, BytesError::Kind { .. }),
            12..16 => matches!(error, BytesError::Version { expected: 3, .. }),
            48..56 => matches!(error, BytesError::Length { .. }),
            _ => error == BytesError::Checksum,
        };
        assert!(right, "bit {bit}: {error}");
    }
}

#[test]
fn files_of_another_kind_version_or_parameters_are_named_so() {
    let s = setup();
    let other_kind = Kind {
        tag: *b"ELSE",
        words: "something else",
        version: 3,
    };
    let found = s
        .read(&s.write().seal(&other_kind, &s.fingerprint()))
        .unwrap_err();
    assert_eq!(
        found,
        BytesError::Kind {
            found: "an object of kind \"ELSE\"".into(),
            expected: "a test object".into(),
        }
    );
    for version in [2, 4, u32::MAX] {
        let other = Kind { version, ..KIND };
        let found = s
            .read(&s.write().seal(&other, &s.fingerprint()))
            .unwrap_err();
        assert_eq!(
            found,
            BytesError::Version {
                kind: "a test object".into(),
                found: version,
                expected: 3,
            }
        );
    }
    let found = s.read(&s.write().seal(&KIND, &[0xab; 32])).unwrap_err();
    let BytesError::Fingerprint {
        found, expected, ..
    } = found
    else {
        panic!("{found}");
    };
    assert_eq!(found, "abababababab");
    assert_ne!(found, expected);
    // Lengths that would wrap, or make a reader allocate memory.
    for length in [0, 1, u64::MAX, u64::MAX - 88, 1 << 40] {
        let mut bytes = s.sealed();
        bytes[48..56].copy_from_slice(&length.to_le_bytes());
        let error = s.read(&bytes).unwrap_err();
        assert!(
            matches!(error, BytesError::Length { .. }),
            "{length}: {error}"
        );
    }
}

#[test]
fn payloads_cut_at_any_byte_end_inside_a_named_object() {
    let s = setup();
    let sealed = s.sealed();
    let payload = payload(&sealed);
    for cut in 0..payload.len() {
        let error = s.read(&s.reseal(&payload[..cut])).unwrap_err();
        match error {
            BytesError::Truncated { need, have, .. } => assert!(have < need, "cut at {cut}"),
            // The length of a block is compared with the bytes left.
            BytesError::Value {
                what: "a block", ..
            } => assert!((24..34).contains(&cut)),
            other => panic!("cut at {cut}: {other}"),
        }
    }
    let mut long = payload.to_vec();
    long.extend([0; 9]);
    assert_eq!(
        s.read(&s.reseal(&long)).unwrap_err(),
        BytesError::Trailing { left: 9 }
    );
}

#[test]
fn values_out_of_range_are_refused_where_they_stand() {
    let s = setup();
    let sealed = s.sealed();
    let original = payload(&sealed);
    let with = |at: usize, bytes: &[u8]| {
        let mut payload = original.to_vec();
        payload[at..at + bytes.len()].copy_from_slice(bytes);
        s.read(&s.reseal(&payload)).unwrap_err()
    };
    let value = |what: &'static str, found: u64, expected: &str| BytesError::Value {
        what,
        found,
        expected: expected.into(),
    };
    let level = with(8, &2u64.to_le_bytes());
    assert_eq!(level, value("a level", 2, "0 to 1"));
    let block = with(16, &u64::MAX.to_le_bytes());
    let left = original.len() - 24;
    assert_eq!(block, value("a block", u64::MAX, &format!("0 to {left}")));
    let small = with(66, &[2]);
    assert_eq!(small, value("small numbers", 2, "a magnitude of at most 1"));
    let small = with(70, &[0x80]);
    assert_eq!(
        small,
        value("small numbers", 0x80, "a magnitude of at most 1")
    );
    // The first residue of the polynomial, which has 50 bits, and of both components of the
    // ciphertext.
    let q = s.params.basis(0).modulus(0).value();
    let poly_bytes = 2 * (50 + 37);
    for place in 0..3 {
        let found = with(71 + place * poly_bytes, &[0xff; 7]);
        let BytesError::Value {
            what,
            found,
            expected,
        } = found
        else {
            panic!("{found}");
        };
        assert_eq!((what, expected), ("a residue", format!("less than {q}")));
        assert!(found >= q);
    }
    let key = with(71 + 3 * poly_bytes, &2u64.to_le_bytes());
    assert_eq!(key, value("the level of a key", 2, "0 to 1"));
    // A key of a smaller level is smaller, so bytes are left.
    let key = with(71 + 3 * poly_bytes, &0u64.to_le_bytes());
    assert!(matches!(
        key,
        BytesError::Trailing { .. } | BytesError::Value { .. }
    ));
}

#[test]
fn mutated_payloads_with_a_right_checksum_never_panic() {
    let s = setup();
    let sealed = s.sealed();
    let original = payload(&sealed);
    let mut rng = ChaCha20Rng::seed_from_u64(9);
    let mut read = 0;
    for _ in 0..20_000 {
        let mut payload = original.to_vec();
        for _ in 0..rng.random_range(1..4) {
            let at = rng.random_range(0..payload.len());
            match rng.random_range(0..5) {
                0 => payload[at] ^= 1 << rng.random_range(0..8),
                1 => payload[at] = [0, 0x7f, 0x80, 0xff][rng.random_range(0..4)],
                2 => payload.truncate(at + 1),
                3 => payload.insert(at, rng.random()),
                _ => drop(payload.drain(at..(at + 8).min(payload.len() - 1).max(at))),
            }
        }
        match s.read(&s.reseal(&payload)) {
            Ok(_) => read += 1, // changed residues are valid too
            Err(
                BytesError::Truncated { .. }
                | BytesError::Trailing { .. }
                | BytesError::Value { .. },
            ) => {}
            Err(other) => panic!("{other}"),
        }
    }
    assert!(
        read > 1000,
        "{read} were valid: the mutations reach the residues"
    );
}

#[test]
fn arbitrary_bytes_never_panic() {
    let s = setup();
    let mut rng = ChaCha20Rng::seed_from_u64(10);
    for _ in 0..20_000 {
        let mut bytes: Vec<u8> = (0..rng.random_range(0..200))
            .map(|_| rng.random())
            .collect();
        let header = s.sealed();
        let keep = rng.random_range(0..=HEADER).min(bytes.len());
        bytes[..keep].copy_from_slice(&header[..keep]);
        assert!(s.read(&bytes).is_err());
    }
}
