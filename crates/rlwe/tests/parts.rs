//! Sealed objects that are read in parts, beside the same objects read whole.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

use palladion_rlwe::bytes::{BytesError, Kind, Reader, Unsealer, Writer};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use std::io::{self, Read};

const KIND: Kind = Kind {
    tag: *b"PART",
    words: "an object in parts",
    version: 3,
};
const OLDEST: u32 = 2;
const FINGERPRINT: [u8; 32] = [7; 32];
const HEADER: usize = 56;

#[derive(Debug)]
enum Error {
    Bytes(BytesError),
    Io(io::Error),
}

impl From<BytesError> for Error {
    fn from(error: BytesError) -> Self {
        Self::Bytes(error)
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl Error {
    fn bytes(self) -> BytesError {
        match self {
            Self::Bytes(error) => error,
            Self::Io(error) => panic!("an error of the bytes, not {error}"),
        }
    }
}

/// A block and three numbers.
fn sealed() -> Vec<u8> {
    let mut writer = Writer::new();
    writer.block(b"some words");
    (1..4).for_each(|number| writer.u64(number));
    writer.seal(&KIND, &FINGERPRINT)
}

fn in_parts(input: impl Read + Send) -> Result<(Vec<u8>, Vec<u64>), Error> {
    let unsealer = Unsealer::new::<Error>(input, KIND, OLDEST)?;
    let (content, _) = unsealer.read_all(|from| {
        let block = from.bounded_block::<Error>("a block", 10)?;
        let numbers =
            (0..3).map(|_| from.part("a number", 8, |r| Ok::<_, Error>(r.u64("a number")?)));
        Ok::<_, Error>((block, numbers.collect::<Result<_, _>>()?))
    })?;
    Ok(content)
}

fn whole(bytes: &[u8]) -> Result<(Vec<u8>, Vec<u64>), BytesError> {
    let (mut r, _) = Reader::open_any(bytes, &KIND.since(OLDEST, bytes))?;
    let block = r.bounded_block("a block", 10)?.to_vec();
    let numbers = (0..3)
        .map(|_| r.u64("a number"))
        .collect::<Result<_, _>>()?;
    r.end()?;
    Ok((block, numbers))
}

/// A connection that gives one byte at a time.
struct Slow<'a>(&'a [u8]);

impl Read for Slow<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = out.len().min(1);
        self.0.read(&mut out[..count])
    }
}

#[test]
fn parts_are_those_of_the_whole() {
    let sealed = sealed();
    let expected = (b"some words".to_vec(), vec![1, 2, 3]);
    assert_eq!(whole(&sealed).unwrap(), expected);
    assert_eq!(in_parts(&sealed[..]).unwrap(), expected);
    assert_eq!(in_parts(Slow(&sealed)).unwrap(), expected);
    let unsealer = Unsealer::new::<Error>(&sealed[..], KIND, OLDEST).unwrap();
    assert_eq!(unsealer.fingerprint(), &FINGERPRINT);
    assert_eq!(unsealer.kind().version, 3);
    let skip = |from: &mut Unsealer<&[u8]>| {
        let rest = sealed.len() - HEADER - 32;
        from.part("all", rest, |r| Ok::<_, Error>(r.skip("all", rest)?))
    };
    let ((), checksum) = unsealer.read_all(skip).unwrap();
    assert_eq!(checksum, sealed[sealed.len() - 32..]);
}

#[test]
fn cut_and_appended_files_and_flipped_bits_give_the_errors_of_the_whole() {
    let sealed = sealed();
    for cut in 0..sealed.len() {
        let error = in_parts(&sealed[..cut]).unwrap_err().bytes();
        assert_eq!(error, whole(&sealed[..cut]).unwrap_err(), "cut at {cut}");
    }
    let long = [&sealed[..], &[0; 3]].concat();
    assert_eq!(
        in_parts(&long[..]).unwrap_err().bytes(),
        whole(&long).unwrap_err()
    );
    for bit in 0..8 * sealed.len() {
        let mut bytes = sealed.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let error = in_parts(&bytes[..]).unwrap_err().bytes();
        match whole(&bytes).unwrap_err() {
            // A stream does not know its length: it is too short, or the checksum is elsewhere.
            BytesError::Length { .. } => assert!(
                matches!(error, BytesError::Length { .. } | BytesError::Checksum),
                "bit {bit}: {error}"
            ),
            other => assert_eq!(error, other, "bit {bit}"),
        }
    }
}

#[test]
fn parts_that_do_not_fit_the_payload_are_named() {
    let sealed = sealed();
    let read = |count: usize, taken: usize| {
        let unsealer = Unsealer::new::<Error>(&sealed[..], KIND, OLDEST).unwrap();
        let read = unsealer.read_all(|from| {
            from.part("a part", count, |r| Ok::<_, Error>(r.skip("bytes", taken)?))
        });
        read.unwrap_err().bytes()
    };
    let payload = sealed.len() - HEADER - 32;
    let (need, have) = (payload as u64 + 1, payload as u64);
    let what = "a part";
    assert_eq!(
        read(payload + 1, 0),
        BytesError::Truncated { what, need, have }
    );
    // The reader leaves bytes of the part, or parts of the payload.
    assert_eq!(read(payload, payload - 4), BytesError::Trailing { left: 4 });
    assert_eq!(
        read(payload - 5, payload - 5),
        BytesError::Trailing { left: 5 }
    );
}

#[test]
fn errors_of_the_input_come_through() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("the cable is cut"))
        }
    }
    let sealed = sealed();
    for whole in [0, 30, HEADER, HEADER + 20, sealed.len() - 3] {
        let error = in_parts(sealed[..whole].chain(Broken)).unwrap_err();
        assert!(
            matches!(error, Error::Io(_)),
            "after {whole} bytes: {error:?}"
        );
    }
}

#[test]
fn arbitrary_bytes_never_panic() {
    let mut rng = ChaCha20Rng::seed_from_u64(3);
    let start = &sealed()[..48]; // the lengths are arbitrary
    for _ in 0..2000 {
        let mut bytes = vec![0; rng.random_range(0..200)];
        rng.fill(&mut bytes[..]);
        assert!(in_parts(&[start, &bytes].concat()[..]).is_err());
        assert!(in_parts(&bytes[..]).is_err());
    }
}
