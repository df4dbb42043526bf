//! Tells the module which commit it is built of: `PALLADION_COMMIT`, else the checkout's, else that
//! of the file `COMMIT` of a source distribution, else `unknown`.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-env-changed=PALLADION_COMMIT");
    let here = env::var_os("CARGO_MANIFEST_DIR").expect("Cargo sets it for every build script");
    let root = Path::new(&here).join("../..");
    let stated = env::var("PALLADION_COMMIT").unwrap_or_default();
    let file = root.join("COMMIT");
    let commit = if !stated.is_empty() {
        stated
    } else if let Some(commit) = of_checkout(&root) {
        commit
    } else if let Ok(text) = fs::read_to_string(&file) {
        println!("cargo::rerun-if-changed={}", file.display());
        text.trim().to_owned()
    } else {
        "unknown".to_owned()
    };
    match shortened(&commit) {
        Some(commit) => println!("cargo::rustc-env=PALLADION_BUILT_OF={commit}"),
        None => println!(
            "cargo::error=the commit is {commit:?}, expected 12 to 40 hexadecimal digits, and \
             `+changes` if files differ from it: set PALLADION_COMMIT to that, or do not set it"
        ),
    }
}

/// The commit of the checkout at `root`, and whether tracked files differ from it. `None` without
/// git, and in a source distribution that was unpacked within somebody's checkout.
///
/// It is asked for again when the source of a crate changes, which compiles this crate anyway, and
/// when the log of HEAD grows, with every commit and checkout. Then this crate alone is compiled.
fn of_checkout(root: &Path) -> Option<String> {
    let top = PathBuf::from(git(root, &["rev-parse", "--show-toplevel"])?);
    if top.canonicalize().ok()? != root.canonicalize().ok()? {
        return None;
    }
    let commit = git(root, &["rev-parse", "--short=12", "HEAD"])?;
    let crates = fs::read_dir(root.join("crates")).ok()?.flatten();
    let sources = crates.map(|entry| entry.path().join("src"));
    let log = git(root, &["rev-parse", "--git-path", "logs/HEAD"])?;
    let others = ["Cargo.toml", "Cargo.lock", log.as_str()].map(|name| root.join(name));
    for path in sources.chain(others) {
        // Cargo would take a path that is missing for one that has changed, every time.
        if path.exists() {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
    let same = git(root, &["diff", "--quiet", "HEAD"]).is_some();
    Some(if same { commit } else { commit + "+changes" })
}

/// The output of git, or `None` if it fails.
fn git(root: &Path, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new("git");
    command.current_dir(root).args(arguments);
    command.env("GIT_OPTIONAL_LOCKS", "0");
    let done = command.output().ok().filter(|done| done.status.success())?;
    Some(String::from_utf8(done.stdout).ok()?.trim().to_owned())
}

/// A commit with 12 digits, and with the mark that it had. `None` if the text is no commit.
fn shortened(text: &str) -> Option<String> {
    if text == "unknown" {
        return Some(text.to_owned());
    }
    let digits = text.strip_suffix("+changes").unwrap_or(text);
    let mark = &text[digits.len()..];
    let right = digits.len() <= 40 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    right.then(|| digits.get(..12).map(|short| short.to_owned() + mark))?
}
