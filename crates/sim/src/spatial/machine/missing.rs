//! A check for keys that the file of a spatial machine lacks. The error says which lines to write.

use crate::error::{Error, Result};
use crate::family::built_in;
use toml::{Table, Value};

/// The machine whose file has every key.
const COMPLETE: &str = "versal";

/// Compares the keys of a file with those of a complete one.
///
/// # Errors
/// [`Error::Missing`] for the first key or section that is missing, with the lines to write.
pub(super) fn check(text: &str) -> Result<()> {
    let parse = |text: &str| -> Result<Table> {
        toml::from_str(text).map_err(|error| Error::Toml(error.to_string()))
    };
    let (file, complete) = (parse(text)?, parse(built_in(COMPLETE)?)?);
    for (key, value) in &complete {
        let missing = |field: &String, write: String| {
            Err(Error::Missing {
                field: field.clone(),
                write,
            })
        };
        match (value, file.get(key)) {
            (Value::Table(lines), None) => {
                let lines: Vec<_> = lines
                    .iter()
                    .map(|(key, v)| format!("{key} = {v}"))
                    .collect();
                return missing(key, format!("[{key}]\n{}", lines.join("\n")));
            }
            (Value::Table(lines), Some(Value::Table(present))) => {
                if let Some((field, v)) = lines
                    .iter()
                    .find(|(field, _)| !present.contains_key(*field))
                {
                    return missing(field, format!("{field} = {v}\nbelow [{key}]"));
                }
            }
            (Value::Array(_), _) | (_, Some(_)) => {}
            (value, None) => return missing(key, format!("{key} = {value}")),
        }
    }
    Ok(())
}
