//! The handshake of a session: versions, the program, and the client's wish.
//!
//! The client greets with the hash of the public program that it expects, or with zeros. The server
//! answers with its program. The client checks the program and sends its wish. The server agrees,
//! or sends its reason against it.

use mpc::Channel;
use rlwe::bytes::{Fingerprint, fingerprint};

use crate::error::{Error, Result};
use crate::program::PublicProgram;

/// First bytes of both greetings.
const MAGIC: &[u8; 8] = b"PLDNHYBR";
/// Version of the messages.
const VERSION: u32 = 1;
/// Largest size of a public program in bytes: enough for a network with 4,096 layers of windows and
/// tables.
const MOST_JSON: u64 = 1 << 26;

fn greeting(hash: &Fingerprint) -> Vec<u8> {
    [&MAGIC[..], &VERSION.to_le_bytes(), hash].concat()
}

/// Checks magic and version of a greeting, and returns its hash.
fn read_greeting(channel: &mut impl Channel) -> Result<Fingerprint> {
    let [mut magic, mut version, mut hash] = [vec![0; 8], vec![0; 4], vec![0; 32]];
    channel.receive(&mut magic)?;
    if magic != MAGIC {
        let found = String::from_utf8_lossy(&magic).into_owned();
        return Err(Error::message(
            "the greeting",
            format!("{found:?}"),
            "that of palladion's hybrid mode",
        ));
    }
    channel.receive(&mut version)?;
    let version = u32::from_le_bytes([version[0], version[1], version[2], version[3]]);
    if version != VERSION {
        let (found, expected) = (
            format!("{version}"),
            format!("{VERSION}: update one of the two"),
        );
        return Err(Error::message("the version", found, expected));
    }
    channel.receive(&mut hash)?;
    Ok(std::array::from_fn(|i| hash[i]))
}

/// A hash in hexadecimal digits.
pub fn hex(hash: &Fingerprint) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Meets the server, as the client, and receives its program. `expected` is the program's hash if
/// the client insists on one.
///
/// # Errors
/// [`Error::Message`] for a server of another kind or version or with another program,
/// [`Error::Program`] for a program that does not pass its check.
pub(crate) fn meet(
    channel: &mut impl Channel,
    expected: Option<&Fingerprint>,
) -> Result<(PublicProgram, Fingerprint)> {
    channel.send(&greeting(expected.unwrap_or(&[0; 32])))?;
    channel.flush()?;
    let hash = read_greeting(channel)?;
    let mut length = [0; 8];
    channel.receive(&mut length)?;
    let length = u64::from_le_bytes(length);
    if length > MOST_JSON {
        let expected = format!("at most {MOST_JSON} bytes");
        return Err(Error::message(
            "the program",
            format!("{length} bytes"),
            expected,
        ));
    }
    let mut json = vec![0; length as usize];
    channel.receive(&mut json)?;
    if fingerprint(&json) != hash {
        let (found, expected) = (hex(&fingerprint(&json)), hex(&hash));
        return Err(Error::message("the program's hash", found, expected));
    }
    if let Some(expected) = expected.filter(|&expected| *expected != hash) {
        let expected = format!("{}: this client has another program", hex(expected));
        return Err(Error::message("the program's hash", hex(&hash), expected));
    }
    let text = String::from_utf8(json);
    let text = text.map_err(|error| Error::message("the program", error, "text"))?;
    Ok((PublicProgram::from_json(&text)?, hash))
}

/// A client's wish: the program, the shape of its inputs, and their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wish {
    pub(crate) hash: Fingerprint,
    pub(crate) shape: [u32; 3],
    pub(crate) inputs: u32,
}

impl Wish {
    fn to_bytes(self) -> Vec<u8> {
        let numbers = self.shape.into_iter().chain([self.inputs]);
        let numbers = numbers.flat_map(u32::to_le_bytes);
        self.hash.into_iter().chain(numbers).collect()
    }

    fn read(channel: &mut impl Channel) -> Result<Self> {
        let mut bytes = [0; 48];
        channel.receive(&mut bytes)?;
        let number = |i: usize| {
            let at = 32 + 4 * i;
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        Ok(Self {
            hash: std::array::from_fn(|i| bytes[i]),
            shape: std::array::from_fn(number),
            inputs: number(3),
        })
    }
}

/// Sends the client's wish, and waits for the server's agreement.
///
/// # Errors
/// [`Error::Message`] with the server's reason if it refuses.
pub(crate) fn ask(channel: &mut impl Channel, wish: &Wish) -> Result<()> {
    channel.send(&wish.to_bytes())?;
    channel.flush()?;
    let mut length = [0; 2];
    channel.receive(&mut length)?;
    let length = u16::from_le_bytes(length);
    if length == 0 {
        return Ok(());
    }
    let mut reason = vec![0; usize::from(length)];
    channel.receive(&mut reason)?;
    let reason = String::from_utf8_lossy(&reason).into_owned();
    Err(Error::message("the verdict", reason, "agreement"))
}

/// Decides on a wish for a number of inputs. The client receives the error.
pub(crate) type Admit<'a> = &'a mut dyn FnMut(u32) -> std::result::Result<(), String>;

/// Receives a client, as the server: greets, sends the program, and agrees with the client's wish
/// or refuses it.
///
/// # Errors
/// [`Error::Message`] for a client of another kind or version; for a wish for another program,
/// another shape or too many inputs; and for a wish that `admit` refuses.
pub(crate) fn receive_client(
    channel: &mut impl Channel,
    json: &str,
    expected: &Wish,
    admit: Admit<'_>,
) -> Result<Wish> {
    let greeted = read_greeting(channel);
    // A client of another version reads the version in the answer, and names both.
    channel.send(&greeting(&expected.hash))?;
    channel.send(&(json.len() as u64).to_le_bytes())?;
    channel.send(json.as_bytes())?;
    channel.flush()?;
    greeted?;
    let wish = Wish::read(channel)?;
    let fault = if wish.hash != expected.hash {
        Some(("the program's hash", hex(&wish.hash), hex(&expected.hash)))
    } else if wish.shape != expected.shape {
        let words = |shape: [u32; 3]| format!("{shape:?}");
        Some((
            "the shape of the input",
            words(wish.shape),
            words(expected.shape),
        ))
    } else if wish.inputs == 0 || wish.inputs > expected.inputs {
        let most = format!("1 to {}", expected.inputs);
        Some(("the number of inputs", wish.inputs.to_string(), most))
    } else {
        None
    };
    let refused = match &fault {
        Some((what, found, expected)) => {
            Err(format!("{what} is {found}, the server expected {expected}"))
        }
        None => admit(wish.inputs),
    };
    let reason = refused.as_ref().err().map_or("", String::as_str);
    channel.send(&(reason.len() as u16).to_le_bytes())?;
    channel.send(reason.as_bytes())?;
    channel.flush()?;
    match (fault, refused) {
        (Some((what, found, expected)), _) => Err(Error::message(what, found, expected)),
        (None, Err(reason)) => Err(Error::message("the wish", "refused", reason)),
        (None, Ok(())) => Ok(wish),
    }
}
