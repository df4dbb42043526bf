//! Tests of built-in machines, of files that are refused, and of closed forms of costs.

use super::{Machine, Operation};
use crate::family::{Family, built_in};

#[test]
fn f1_and_athena_have_the_printed_figures() {
    let f1 = Machine::named("f1").expect("built in");
    assert_eq!(
        (f1.clusters().len(), f1.scratchpad_limbs(16384)),
        (16, 1024)
    );
    assert_eq!(f1.register_limbs(0, 16384), 8);
    let network: u64 = f1
        .clusters()
        .iter()
        .map(|cluster| cluster.bytes_per_cycle)
        .sum();
    assert_eq!(network, 24576, "24 TB/s at 1 GHz");
    let area: f64 = f1.areas().iter().map(|(_, area)| area).sum();
    assert!((area - 151.4).abs() < 0.1, "{area}");

    let athena = Machine::named("athena").expect("built in");
    let area: f64 = athena.areas().iter().map(|(_, area)| area).sum();
    assert!((area - 116.4).abs() < 0.1, "table 9: {area}");
    let network: u64 = athena
        .clusters()
        .iter()
        .map(|cluster| cluster.bytes_per_cycle)
        .sum();
    assert!((179_000..=180_000).contains(&network), "table 8: {network}");
    assert_eq!(athena.generation(1 << 15), Some((16, 20)));
    assert_eq!(f1.generation(1 << 15), None);
}

/// Figures of the papers on these machines, as tables 8 and 9 of "Athena" (MICRO 2025) print them.
#[test]
fn craterlake_and_sharp_have_the_printed_figures() {
    for (name, mm2, watts, megabytes, files, terabytes) in [
        ("craterlake", 222.7, Some(207.0), 256, 26, 84_000),
        ("sharp", 178.8, None, 180, 18, 72_000),
    ] {
        let machine = Machine::named(name).expect("built in");
        let area: f64 = machine.areas().iter().map(|(_, area)| area).sum();
        assert!((area - mm2).abs() < 0.01, "{name}: {area} mm2");
        let watts_of = machine.unit_watts();
        let units = machine.clusters().iter().flat_map(|cluster| {
            let counts = cluster.units.iter().zip(&watts_of);
            counts.map(|(&count, watts)| count as f64 * watts)
        });
        let parts = machine.part_watts();
        let sum: f64 = units.chain(parts.map(|(_, watts)| watts)).sum();
        assert!(
            watts.is_none_or(|watts| (sum - watts).abs() < 0.01),
            "{name}: {sum} W"
        );
        assert_eq!(machine.scratchpad_bytes(), megabytes << 20);
        let clusters = machine.clusters().iter();
        let network: u64 = clusters.clone().map(|one| one.bytes_per_cycle).sum();
        assert_eq!(network, terabytes, "{name}");
        let of_files: u64 = clusters.map(|one| one.register_file_bytes).sum();
        assert_eq!(of_files, files << 20, "{name}");
        assert_eq!(machine.bytes_per_second(), 1_000_000_000_000);
    }
}

/// Figures of tables 3 and 4 of Hyena. The memory is not in table 4.
#[test]
fn hyena_has_the_printed_figures() {
    let hyena = Machine::named("hyena").expect("built in");
    let area: f64 = hyena.areas().iter().map(|(_, area)| area).sum();
    assert!((area - 163.02).abs() < 0.02, "{area} mm2");
    let watts_of = hyena.unit_watts();
    let units = hyena.clusters().iter().flat_map(|cluster| {
        let counts = cluster.units.iter().zip(&watts_of);
        counts.map(|(&count, watts)| count as f64 * watts)
    });
    let parts = hyena.part_watts();
    let chip = parts.into_iter().filter(|(name, _)| *name != "memory");
    let watts: f64 = units.chain(chip.map(|(_, watts)| watts)).sum();
    assert!((watts - 16.75).abs() < 0.01, "{watts} W");
    assert_eq!(hyena.scratchpad_bytes(), 14 << 20);
    let files = hyena.clusters()[0].register_file_bytes;
    assert_eq!(files, (2048 + 1024 + 2048 * 64) * 4, "table 4, in words");
    assert_eq!((hyena.word_bits(), hyena.max_n()), (32, 1 << 15));
    let pass = |operation: Operation, log_n: u32| {
        let unit = hyena.uses(operation)[0];
        hyena.units()[unit].pass(1 << log_n)
    };
    // Section 6.3: a transform of N points takes log N cycles on N multipliers.
    assert_eq!(pass(Operation::Ntt, 10), 10);
    assert_eq!(pass(Operation::Intt, 15), 32 * 15);
    assert_eq!(pass(Operation::Dot, 10), 1);
    assert_eq!(pass(Operation::Permute, 10), 1);
    assert_eq!(pass(Operation::Permute, 15), 32);
}

#[test]
fn a_pass_takes_its_closed_form() {
    let pass = |machine: &str, operation: Operation, log_n: u32| {
        let machine = Machine::named(machine).expect("built in");
        let unit = machine.uses(operation)[0];
        machine.units()[unit].pass(1 << log_n)
    };
    assert_eq!(pass("f1", Operation::Ntt, 14), 128, "N / 128");
    assert_eq!(pass("f1", Operation::Add, 10), 8);
    assert_eq!(
        pass("athena", Operation::Ntt, 15),
        5 * 16,
        "section 4.2.1: 5 iterations"
    );
    assert_eq!(
        pass("athena", Operation::Permute, 15),
        2 * (256 + 128),
        "section 4.2.1: 2 (l + N / l)"
    );
    assert_eq!(pass("athena", Operation::Dot, 15), 16);
    assert_eq!(
        pass("tiny", Operation::Ntt, 5),
        3 * 4,
        "32 points are three stages of radix 4"
    );
}

#[test]
fn a_transfer_takes_whole_cycles() {
    let f1 = Machine::named("f1").expect("built in");
    assert_eq!(f1.limb_bytes(16384), 65536);
    assert_eq!(f1.transfer(16384), 66, "65.536 cycles of 1000 bytes");
    let athena = Machine::named("athena").expect("built in");
    assert_eq!(
        (athena.limb_bytes(32768), athena.limb_bytes(17)),
        (147_456, 77)
    );
}

#[test]
fn the_key_family_chooses() {
    for (name, family) in [
        ("versal", "spatial"),
        ("f1", "vector"),
        ("athena", "vector"),
        ("tiny", "vector"),
    ] {
        let machine = Family::from_toml(built_in(name).expect("built in")).expect("a machine");
        assert_eq!(machine.name(), family);
    }
    for (text, words) in [
        ("family = 3", ["family", "3", "spatial"]),
        ("family = \"quantum\"", ["quantum", "spatial", "vector"]),
    ] {
        let error = Family::from_toml(text).expect_err("no family").to_string();
        assert!(words.iter().all(|word| error.contains(word)), "{error}");
    }
    let error = Machine::named("versal").expect_err("spatial").to_string();
    assert!(
        error.contains("spatial") && error.contains("simulate pbs"),
        "{error}"
    );
    let error = crate::spatial::Machine::named("f1")
        .expect_err("vector")
        .to_string();
    assert!(
        error.contains("vector") && error.contains("simulate run"),
        "{error}"
    );
}

#[test]
fn missing_unknown_and_absurd_values_are_refused_by_name() {
    let text = built_in("tiny").expect("built in");
    for (from, to, words) in [
        (
            "word_bits = 64 # every program runs on it\n",
            "",
            &["missing", "word_bits"][..],
        ),
        (
            "word_bits = 64",
            "word_bits = 65",
            &["word_bits", "65", "1 to 64"],
        ),
        (
            "max_n = 65536",
            "max_n = 65536\nrows = 8",
            &["unknown", "rows"],
        ),
        (
            "latency = 12",
            "latency = -12",
            &["unit.ntt.latency", "-12", "1 to"],
        ),
        (
            "latency = 12",
            "latency = 0",
            &["unit.ntt.latency", "0", "1 to"],
        ),
        ("latency = 20", "latency = 0", &["memory.latency", "0"]),
        ("lanes = 8", "lanes = 0", &["unit.ntt.lanes", "0"]),
        (
            "radix = 4",
            "radix = 1",
            &["unit.ntt.shape.radix", "1", "2 to"],
        ),
        ("radix = 4", "base = 4", &["base"]),
        ("kind = \"square\"", "kind = \"cube\"", &["cube", "square"]),
        (
            "count = 2",
            "count = 0",
            &["cluster \"cluster\".count", "0"],
        ),
        ("mac = 1 }", "mac = 1, fru = 1 }", &["units", "fru", "mac"]),
        (
            "permutation = 1, ",
            "",
            &["operations.permute", "permutation", "no cluster"],
        ),
        (
            "add = [\"mac\"]",
            "add = [\"adder\"]",
            &["operations.add", "adder"],
        ),
        (
            "add = [\"mac\"]",
            "add = []",
            &["operations.add", "0", "1 to 2"],
        ),
        (
            "add = [\"mac\"]",
            "add = [\"mac\", \"mac\"]",
            &["operations.add", "twice"],
        ),
        ("add = [\"mac\"]\n", "", &["operations.add", "missing"]),
        (
            "add = [\"mac\"]",
            "sum = [\"mac\"]",
            &["operations.sum", "add"],
        ),
        (
            "static_watts = 0.5",
            "static_watts = nan",
            &["static_watts", "NaN"],
        ),
        ("bytes = 16777216", "bytes = 0", &["scratchpad.bytes", "0"]),
        ("name = \"tiny\"", "name = \"\"", &["name"]),
        (
            "operations = \"all\"\n",
            "",
            &[
                "cluster \"cluster\".operations",
                "missing",
                "operations = \"all\"",
            ],
        ),
        (
            "operations = \"all\"",
            "operations = \"some\"",
            &["cluster \"cluster\".operations", "some", "all"],
        ),
        (
            "operations = \"all\"",
            "operations = [\"ntt\", \"sum\"]",
            &["cluster \"cluster\".operations", "sum", "one of ntt"],
        ),
        (
            "operations = \"all\"",
            "operations = [\"ntt\", \"intt\"]",
            &["operations.add", "mac", "no cluster"],
        ),
        (
            "mac = 1 }\noperations = \"all\"",
            "mac = 1 }\noperations = \"all\"\n\n[[cluster]]\nname = \"second\"\ncount = 1\nports = 1\nport_bytes = 64\n\
             register_file_bytes = 0\nregister_file_area_mm2 = 0\nregister_file_energy = { picojoules_per_byte = 1 }\nunits = { mac = 1 }\n\
             operations = [\"ntt\"]",
            &[
                "cluster \"second\".operations",
                "ntt",
                "units that the cluster has",
            ],
        ),
        (
            "energy = { picojoules_per_byte = 31.25 }",
            "watts = 2.0",
            &[
                "memory.watts is 2,",
                "energy = { watts = 2.0, bytes_per_second = 6.4e10 }",
            ],
        ),
        (
            "register_file_energy = { picojoules_per_byte = 1.0 }",
            "",
            &["register_file_energy is missing", "picojoules_per_byte"],
        ),
        (
            "energy = { picojoules_per_word = 125.0 }",
            "energy = { picojoules_per_byte = 125.0 }",
            &[
                "unit.permutation.energy",
                "picojoules_per_byte",
                "words_per_second",
            ],
        ),
        (
            "energy = { picojoules_per_word = 125.0 }",
            "energy = { picojoules_per_word = 125.0, watts = 1.0 }",
            &["unit.permutation.energy", "{ picojoules_per_word, watts }"],
        ),
        (
            "static_watts = 0.5",
            "static_watts = 0.5\nvoltage = { energies = 0.8, volts = [[500, 0.6], [900, 0.8]] }",
            &["clock_mhz", "1000", "500 to 900"],
        ),
        (
            "static_watts = 0.5",
            "static_watts = 0.5\nvoltage = { energies = 0.8, volts = [[900, 0.6], [500, 0.8]] }",
            &["voltage.volts", "rising clock"],
        ),
        (
            "static_watts = 0.5",
            "static_watts = 0.5\nleakage_watts_per_mm2 = -1.0",
            &["leakage_watts_per_mm2 is -1"],
        ),
        (
            "buffer_bytes = 0\n",
            "",
            &["network.buffer_bytes", "missing", "0 where"],
        ),
    ] {
        assert!(text.contains(from), "{from}");
        let error = Machine::from_toml(&text.replacen(from, to, 1))
            .expect_err(to)
            .to_string();
        for word in words {
            assert!(error.contains(word), "{to}: {error}");
        }
    }
}

/// Limbs are striped over the banks, one port's width of words after another, so each limb passes
/// the ports of all banks in turn. Streams that begin in different phases never meet in a bank.
/// While fewer streams run than all banks have ports, a phase is free within one turn of the banks.
#[test]
fn striped_limbs_wait_for_less_than_a_turn_of_the_banks() {
    for (banks, ports, length, seed) in
        [(16, 3, 128, 1), (16, 1, 18, 2), (4, 2, 7, 3), (1, 1, 5, 4)]
    {
        let mut random = crate::vector::testing::Random::new(seed);
        // The first cycle of each stream that is under way.
        let mut running: Vec<usize> = Vec::new();
        let mut cycle = 0;
        for _ in 0..2000 {
            cycle += random.below(3);
            running.retain(|start| start + length > cycle);
            if running.len() == banks * ports {
                cycle = running.iter().min().expect("one") + length;
                running.retain(|start| start + length > cycle);
            }
            let phase = |start: usize| start % banks;
            let free = |start: &usize| {
                running
                    .iter()
                    .filter(|&&one| phase(one) == phase(*start))
                    .count()
                    < ports
            };
            let start = (cycle..cycle + banks).find(free).expect("a phase is free");
            running.push(start);
            for later in start..start + length {
                let under_way = running
                    .iter()
                    .filter(|&&one| (one..one + length).contains(&later));
                let mut taken = vec![0; banks];
                under_way.for_each(|&one| taken[(later - one) % banks] += 1);
                assert!(taken.iter().all(|&taken| taken <= ports));
            }
        }
    }
}
