//! Tests of energies: what they depend on, and what they do not.

use super::Machine;
use super::vary::varied;
use crate::family::built_in;
use crate::vector::testing::{Random, work};
use crate::vector::work::Work;
use crate::vector::{Options, Report, schedule};

/// The parts whose energy is that of what passes them.
fn dynamic(report: &Report) -> impl Iterator<Item = (&str, f64)> {
    let parts = report.joules.iter();
    parts
        .filter(|(name, _)| !["always on", "leakage"].contains(&name.as_str()))
        .map(|(name, joules)| (name.as_str(), *joules))
}

fn joules(report: &Report, part: &str) -> f64 {
    let mut parts = report.joules.iter();
    parts.find(|(name, _)| name == part).expect("a part").1
}

fn reported(text: &str, work: &Work) -> Report {
    let machine = Machine::from_toml(text).expect("a machine");
    let schedule = schedule(&machine, work, Options::default(), &mut |_, _| true).expect("it fits");
    Report::new(&machine, work, &schedule)
}

fn near(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= 1e-9 * expected.abs()
}

/// Random bandwidths, lanes, ports, units and clocks. Orders differ in what they move, so energies
/// are divided by what passes each part. Words through units do not depend on the order.
#[test]
fn the_same_traffic_and_operations_take_the_same_energy() {
    let text = built_in("tiny").expect("built in");
    let mut random = Random::new(41);
    for seed in 0..3 {
        let work = work(seed, 60);
        let expected = reported(text, &work);
        for _ in 0..4 {
            let mut changes = vec![
                ("lanes".to_owned(), 1 << random.below(5)),
                ("clock_mhz".to_owned(), 300 + random.below(3000) as i64),
                (
                    "memory.bytes_per_second".to_owned(),
                    (1 + random.below(200)) as i64 * 1_000_000_000,
                ),
                ("cluster.ports".to_owned(), 1 + random.below(6) as i64),
                ("scratchpad.banks".to_owned(), 1 + random.below(8) as i64),
                ("cluster.units.mac".to_owned(), 1 + random.below(3) as i64),
                ("cluster.units.ntt".to_owned(), 1 + random.below(3) as i64),
                ("cluster.count".to_owned(), 1 + random.below(4) as i64),
            ];
            changes.retain(|_| random.below(2) == 0);
            let found = reported(&varied(text, &changes).expect("fine"), &work);
            let parts = dynamic(&expected).zip(&expected.accesses);
            let varied = dynamic(&found).zip(&found.accesses);
            for (((name, before), (_, count)), ((_, after), (_, varied_count))) in parts.zip(varied)
            {
                if ["ntt", "mac", "permutation"].contains(&name) {
                    assert_eq!(count, varied_count, "{name}: {changes:?}");
                }
                if *count > 0 && *varied_count > 0 {
                    let each = before / *count as f64;
                    assert!(
                        near(after / *varied_count as f64, each),
                        "{name}: {changes:?}"
                    );
                }
            }
        }
    }
}

/// Watts at an activity, or the energy itself. A file that is edited by hand keeps its energies,
/// and is the machine that a sweep makes.
#[test]
fn two_descriptions_of_a_machine_agree() {
    let f1 = built_in("f1").expect("built in");
    let work = work(3, 60);
    let direct = f1
        .replace(
            "{ watts = 0.45, bytes_per_second = 1.0e12 }",
            "{ picojoules_per_byte = 0.45 }",
        )
        .replace(
            "{ watts = 4.8, words_per_second = 1.28e11 }",
            "{ picojoules_per_word = 37.5 }",
        );
    let (found, expected) = (reported(&direct, &work), reported(f1, &work));
    assert!(near(found.energy(), expected.energy()), "{direct}");

    let edited = f1.replace("= 1_000_000_000_000", "= 2_000_000_000_000");
    assert_ne!(edited, f1);
    let swept = varied(f1, &[("memory.bytes_per_second".into(), 2_000_000_000_000)]);
    let (found, expected) = (
        reported(&edited, &work),
        reported(&swept.expect("fine"), &work),
    );
    assert_eq!(found.seconds, expected.seconds);
    assert!(near(found.energy(), expected.energy()));
}

#[test]
fn energy_of_switching_grows_with_the_square_of_the_voltage() {
    let tiny = built_in("tiny").expect("built in");
    let work = work(5, 60);
    let with = |line: &str| {
        let lines = format!("static_watts = 0.0\nleakage_watts_per_mm2 = 0.1\n{line}");
        reported(&tiny.replace("static_watts = 0.5", &lines), &work)
    };
    let nominal = with("voltage = { energies = 0.8, volts = 0.8 }");
    assert_eq!(nominal, with(""));
    let leakage = 0.1 * nominal.area() * nominal.seconds;
    assert!(near(joules(&nominal, "leakage"), leakage));
    // 1,000 MHz is half the way from 0.6 to 1.0 volts, and 0.4 volts are half of the nominal ones.
    for (line, ratio) in [
        ("voltage = { energies = 0.8, volts = 0.4 }", 0.5),
        (
            "voltage = { energies = 0.4, volts = [[500, 0.6], [1500, 1.0], [2000, 2.0]] }",
            2.0,
        ),
        (
            "voltage = { energies = 0.5, volts = [[1000, 0.6], [2000, 1]] }",
            1.2,
        ),
    ] {
        let found = with(line);
        assert_eq!(found.cycles, nominal.cycles);
        for ((name, after), (_, before)) in dynamic(&found).zip(dynamic(&nominal)) {
            let factor = if name == "memory" { 1.0 } else { ratio * ratio };
            assert!(near(after, before * factor), "{line}: {name}");
        }
        assert!(near(joules(&found, "leakage"), leakage * ratio), "{line}");
    }
}

/// Counts instruction by instruction. Limbs have 16 words of 8 bytes.
#[test]
fn energies_are_those_of_a_naive_count() {
    let work = work(2, 60);
    let report = reported(built_in("tiny").expect("built in"), &work);
    let count = |part: &str| {
        let mut parts = report.accesses.iter();
        parts.find(|(name, _)| name == part).expect("a part").1
    };
    let (mut ntt, mut mac, mut permuted, mut limbs) = (0, 0, 0, 0);
    for i in 0..work.instructions() {
        let n = work.n() as u64;
        match work.kind(i).name() {
            "ntt" | "intt" => ntt += 2 * n, // 16 points are two stages of radix 4
            "permute" | "extract" => permuted += n * work.terms(i) as u64,
            _ => mac += n * work.terms(i) as u64,
        }
        limbs += work.operands(i).count() as u64 + 1;
    }
    assert_eq!(work.n(), 16);
    assert_eq!(
        (count("ntt"), count("mac"), count("permutation")),
        (ntt, mac, permuted)
    );
    assert_eq!(count("register files"), limbs * 16 * 8);
    assert_eq!(count("memory"), report.traffic.total());
    assert_eq!(count("scratchpad"), count("network") + count("memory"));
    assert!(near(joules(&report, "ntt"), ntt as f64 * 62.5e-12));
    assert!(near(
        joules(&report, "memory"),
        report.traffic.total() as f64 * 31.25e-12
    ));
}
