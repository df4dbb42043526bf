//! Shared by the applications: options and timing.

use std::time::Instant;

pub(crate) type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// The value after `--name` on the command line.
pub(crate) fn option(name: &str) -> Option<String> {
    let mut arguments = std::env::args().skip_while(|a| a.strip_prefix("--") != Some(name));
    arguments.nth(1)
}

/// As [`option`], as a number.
pub(crate) fn number(name: &str, default: usize) -> Result<usize> {
    let Some(text) = option(name) else {
        return Ok(default);
    };
    let parsed = text.parse();
    Ok(parsed.map_err(|_| format!("--{name} is {text}, expected a number"))?)
}

/// Runs `work` and prints its seconds.
pub(crate) fn timed<T>(what: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let start = Instant::now();
    let out = work()?;
    println!("{what:28} {:9.3} s", start.elapsed().as_secs_f64());
    Ok(out)
}
