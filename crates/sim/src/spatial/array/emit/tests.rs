//! Emitted folders, compiled and run.

use crate::spatial::array::{Bootstrapping, Device, Multiplier, Parameters};
use crate::spatial::machine::Machine;
use ring::torus::Decomposition;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A machine with small polynomials: `elements` of each multiplier and `components` to a stream.
fn machine(elements: usize, components: usize) -> Machine {
    let text = crate::family::built_in("versal").expect("built in");
    let mapping = format!(
        "n = 64\nelements = {elements}\ncomponents_per_stream = {components}\n\n[[mapping]]\nn = 512 #"
    );
    Machine::from_toml(&text.replacen("n = 512 #", &mapping, 1)).expect("in range")
}

/// A bootstrapping of few steps with small polynomials.
fn small_insecure(machine: &Machine, rank: usize, digits: (u32, u32)) -> Bootstrapping {
    let parameters = Parameters {
        lwe_dimension: 3,
        rank,
        n: 64,
        decomposition: Decomposition::new(digits.0, digits.1).expect("in range"),
    };
    let switch = Decomposition::new(3, 4).expect("in range");
    let design = (Multiplier::Direct, Device::Processor);
    Bootstrapping::new(machine, parameters, switch, design).expect("fits")
}

/// A folder of this test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, design: &Bootstrapping) -> Self {
        let path = std::env::temp_dir().join(format!("palladion-{name}-{}", std::process::id()));
        for (file, content) in design.emit().expect("emits").files {
            let to = path.join(file);
            std::fs::create_dir_all(to.parent().expect("in the folder")).expect("a folder");
            std::fs::write(to, content).expect("room");
        }
        Self(path)
    }

    /// Runs `make check`. Returns whether all words are equal, and what it wrote.
    fn check(&self) -> (bool, String) {
        let run = Command::new("make")
            .arg("check")
            .current_dir(&self.0)
            .output()
            .expect("make");
        let text = [run.stdout, run.stderr].concat();
        (
            run.status.success(),
            String::from_utf8_lossy(&text).into_owned(),
        )
    }

    fn change(&self, file: &str, from: &str, to: &str) {
        let path = self.0.join(file);
        let text = std::fs::read_to_string(&path).expect("text");
        assert!(text.contains(from), "{from} in {file}");
        std::fs::write(path, text.replacen(from, to, 1)).expect("room");
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).expect("removed");
    }
}

/// Whether `make` and a compiler are there. Says so if not.
fn can_compile() -> bool {
    let runs = |program: &str| Command::new(program).arg("--version").output().is_ok();
    let all = runs("make") && runs("c++");
    if !all {
        eprintln!("skipped: there is no make or no c++, which compile what is emitted");
    }
    all
}

fn first_line(path: &Path) -> String {
    let text = std::fs::read_to_string(path).expect("text");
    text.lines().next().expect("a word").to_owned()
}

#[test]
fn compiled_kernels_give_every_word_of_the_emulation_insecure() {
    if !can_compile() {
        return;
    }
    // A loop for each half of a product, and four elements with half of a loop each.
    for (name, (elements, components), rank, digits) in [
        ("merged", (1, 2), 1, (10, 3)),
        ("chained", (4, 1), 2, (15, 1)),
    ] {
        let folder = Folder::new(
            name,
            &small_insecure(&machine(elements, components), rank, digits),
        );
        let (equal, text) = folder.check();
        assert!(
            equal && text.contains("all words are those"),
            "{name}: {text}"
        );
        if name == "merged" {
            mutate(&folder);
        }
    }
}

/// Changes a word of a key and connections, one after the other.
fn mutate(folder: &Folder) {
    let word = first_line(&folder.0.join("data/key5.txt"));
    let other = format!("{}\n", word.parse::<i32>().expect("a word") ^ 1);
    let word = format!("{word}\n");
    let first_product = (
        "element0_0_0.out[0], merge0_0.in[0]",
        "element0_0_0.out[0], merge0_0.in[1]",
    );
    let second_product = (
        "element0_1_0.out[0], merge0_0.in[1]",
        "element0_1_0.out[0], merge0_0.in[0]",
    );
    let short = ("fifo_depth(stream8) = 1024", "fifo_depth(stream8) = 0");
    for (file, changes, says) in [
        (
            "data/key5.txt",
            &[(word.as_str(), other.as_str())][..],
            "expected/streams.txt differ",
        ),
        (
            "graph.h",
            &[first_product, second_product],
            "expected/streams.txt differ",
        ),
        ("graph.h", &[first_product], "two streams for one input"),
        ("graph.h", &[short], "waits forever"),
    ] {
        for (from, to) in changes {
            folder.change(file, from, to);
        }
        let (equal, text) = folder.check();
        assert!(!equal && text.contains(says), "{changes:?}: {text}");
        for (from, to) in changes {
            folder.change(file, to, from);
        }
    }
}

#[test]
fn every_call_writes_the_same_words_and_only_the_kernels_that_are_used_insecure() {
    let design = || small_insecure(&machine(4, 1), 2, (15, 1));
    let emitted = design().emit().expect("emits");
    assert_eq!(emitted, design().emit().expect("emits"));
    let paths: Vec<_> = emitted
        .files
        .iter()
        .map(|(path, _)| path.as_str())
        .collect();
    assert!(paths.contains(&"kernels/split.cc") && !paths.contains(&"kernels/merge.cc"));
    let places = emitted
        .files
        .iter()
        .find(|(path, _)| path == "placement.csv")
        .expect("written");
    let lines = places.1.iter().filter(|&&byte| byte == b'\n').count();
    assert_eq!(lines, 1 + emitted.placement.placed.len());
}

#[test]
fn designs_without_kernels_are_refused_by_name() {
    let parameters = Parameters {
        lwe_dimension: 1,
        ..Parameters::set_2().expect("in range")
    };
    let design = (Multiplier::Fft, Device::Processor);
    let switch = Decomposition::new(1, 15).expect("in range");
    let machine = Machine::named("versal").expect("built in");
    let made = Bootstrapping::new(&machine, parameters, switch, design).expect("fits");
    let error = made.emit().expect_err("no kernels").to_string();
    assert!(error.contains("direct multipliers"), "{error}");
}
