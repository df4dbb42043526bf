//! Times of whole bootstrappings. Their words are compared with those of TFHE in `tests/tfhe.rs`.

use super::*;

fn machine(changes: &[(&str, &str)]) -> Machine {
    let mut text = crate::family::built_in("versal")
        .expect("built in")
        .to_owned();
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replacen(from, to, 1);
    }
    Machine::from_toml(&text).expect("in range")
}

/// Both sets of the paper, with the digits of their key switch.
fn sets() -> [(Parameters, Decomposition); 2] {
    let digits = |base_log, levels| Decomposition::new(base_log, levels).expect("in range");
    [
        (Parameters::set_1().expect("in range"), digits(2, 8)),
        (Parameters::set_2().expect("in range"), digits(1, 15)),
    ]
}

fn bootstrapping(machine: &Machine, set: usize, place: Device) -> Bootstrapping {
    let (parameters, digits) = sets()[set];
    Bootstrapping::new(machine, parameters, digits, (Multiplier::Direct, place)).expect("fits")
}

fn milliseconds(machine: &Machine, set: usize, place: Device) -> f64 {
    let bootstrapping = bootstrapping(machine, set, place);
    bootstrapping.simulate().expect("runs").milliseconds()
}

#[test]
fn a_whole_bootstrapping_is_its_parts() {
    let machine = machine(&[]);
    for set in [0, 1] {
        for place in [Device::Processor, Device::Array] {
            let bootstrapping = bootstrapping(&machine, set, place);
            let simulated = bootstrapping.simulate().expect("runs");
            let time = |name: &str| {
                let part = simulated.parts.iter().find(|part| part.name == name);
                part.expect(name).microseconds
            };
            let sum: f64 = simulated.parts.iter().map(|part| part.microseconds).sum();
            assert!((sum / 1000.0 - simulated.milliseconds()).abs() < 1e-9);
            let (parameters, digits) = sets()[set];
            // 1.4 GHz and two cycles for a word.
            let words = (parameters.lwe_dimension + 1) as f64;
            assert!((time("modulus switch") - words / 700.0).abs() < 1e-9);
            assert!(
                (time("starts") - 10.0 * 20.0).abs() < 1e-9,
                "nine channels and the graph"
            );
            if place == Device::Processor {
                let rows = parameters.rank * parameters.n * digits.levels() as usize;
                let bytes = 4.0 * rows as f64 * words;
                assert!(
                    (time("key switch") - bytes / 5000.0).abs() < 1e-6,
                    "the memory's rate"
                );
                assert_eq!(
                    bootstrapping.tiles(),
                    bootstrapping.rotation().floorplan().tiles()
                );
            }
            let energy = simulated.milliseconds() * simulated.power.watts();
            assert!((simulated.millijoules() - energy).abs() < 1e-9);
        }
    }
}

#[test]
fn the_memory_delivers_keys_in_time() {
    // A slower memory would show: the next test.
    for (parameters, _) in sets() {
        let rotation = BlindRotation::new(&machine(&[]), parameters).expect("fits");
        let alone = rotation.simulate().expect("runs").milliseconds;
        for shared in [0, 8] {
            let around = Around {
                supply: Supply::Memory,
                shared,
            };
            let found = rotation.simulate_in(around).expect("runs").milliseconds;
            assert!(found >= alone && found < 1.002 * alone, "{found} {alone}");
        }
    }
}

#[test]
fn a_memory_slower_than_the_keys_sets_the_time() {
    // 1000 MB/s at 70 %: 36,864 and 49,152 bytes of key for an iteration.
    let slow = machine(&[("= 25600", "= 1000")]);
    for (set, bytes) in [(0, 36_864.0), (1, 49_152.0)] {
        let (parameters, _) = sets()[set];
        let rotation = BlindRotation::new(&slow, parameters).expect("fits");
        let around = Around {
            supply: Supply::Memory,
            shared: 0,
        };
        let found = rotation.simulate_in(around).expect("runs").iteration;
        let bound = bytes / 700.0;
        assert!(found >= bound && found < 1.05 * bound, "{found} {bound}");
    }
}

#[test]
fn better_machines_are_never_slower() {
    for (place, from, values) in [
        (
            Device::Processor,
            "= 25600",
            &["= 500", "= 2000", "= 8000", "= 25600", "= 99999"][..],
        ),
        (
            Device::Array,
            "= 25600",
            &["= 500", "= 2000", "= 8000", "= 25600", "= 99999"][..],
        ),
        (
            Device::Array,
            "channels = 9",
            &["channels = 9", "channels = 10", "channels = 20"][..],
        ),
        (
            Device::Array,
            "tiles = 400",
            &["tiles = 221", "tiles = 229", "tiles = 400"][..],
        ),
        (
            Device::Array,
            "buffer_words = 256",
            &[
                "buffer_words = 1",
                "buffer_words = 64",
                "buffer_words = 512",
            ][..],
        ),
        (
            Device::Array,
            "clock_mhz = 520",
            &["clock_mhz = 260", "clock_mhz = 520", "clock_mhz = 1250"][..],
        ),
        (
            Device::Processor,
            "clock_mhz = 1400",
            &["clock_mhz = 100", "clock_mhz = 1400", "clock_mhz = 3000"][..],
        ),
    ] {
        let times: Vec<f64> = values
            .iter()
            .map(|to| milliseconds(&machine(&[(from, to)]), 1, place))
            .collect();
        assert!(times.is_sorted_by(|a, b| *a >= *b), "{from}: {times:?}");
        assert!(times[0] > times[times.len() - 1], "{from}: {times:?}");
    }
}

#[test]
fn an_emulation_takes_the_time_of_the_simulation() {
    let machine = machine(&[("n = 512 #", "n = 64 #"), ("elements = 8", "elements = 2")]);
    let parameters = Parameters {
        lwe_dimension: 5,
        rank: 2,
        n: 64,
        decomposition: Decomposition::new(8, 2).expect("in range"),
    };
    let digits = Decomposition::new(2, 8).expect("in range");
    for multiplier in [Multiplier::Direct, Multiplier::Fft] {
        for place in [Device::Processor, Device::Array] {
            let design = (multiplier, place);
            let bootstrapping =
                Bootstrapping::new(&machine, parameters, digits, design).expect("fits");
            let bootstrap = vec![7; 5 * parameters.ggsw_words()];
            let switch = vec![9; 128 * 8 * 6];
            let keys = Keys {
                bootstrap: &bootstrap,
                switch: &switch,
            };
            let want = bootstrapping.simulate().expect("runs").milliseconds();
            for (order, length) in [(Order::SwitchFirst, 129), (Order::SwitchLast, 6)] {
                let found = bootstrapping.emulate(order, keys, &[1; 64], &vec![5; length]);
                let found = found.expect("runs").milliseconds;
                assert!(
                    (found / want - 1.0).abs() < 1e-3,
                    "{design:?}: {found} {want}"
                );
            }
        }
    }
}

#[test]
fn lengths_and_digits_are_checked() {
    let machine = machine(&[]);
    let (parameters, _) = sets()[0];
    let wide = Decomposition::new(16, 2).expect("in range");
    let design = (Multiplier::Direct, Device::Processor);
    let error = Bootstrapping::new(&machine, parameters, wide, design).expect_err("32 bits");
    assert!(error.to_string().contains("32"), "{error}");
    let bootstrapping = bootstrapping(&machine, 0, Device::Processor);
    let keys = Keys {
        bootstrap: &[],
        switch: &[],
    };
    let words = vec![0; 512];
    for (test, sample) in [
        (&words[..511], 1025),
        (&words[..], 1024),
        (&words[..], 1025),
    ] {
        let sample = vec![0; sample];
        assert!(
            bootstrapping
                .emulate(Order::SwitchFirst, keys, test, &sample)
                .is_err()
        );
    }
}

#[test]
fn pipelines_of_transforms_fit_for_set_two_alone() {
    let machine = machine(&[]);
    let with = |set: usize, place| {
        let (parameters, digits) = sets()[set];
        Bootstrapping::new(&machine, parameters, digits, (Multiplier::Fft, place))
    };
    let error = with(0, Device::Processor)
        .expect_err("504 elements")
        .to_string();
    assert!(
        error.contains("543 tiles") && error.contains("400"),
        "{error}"
    );
    assert_eq!(with(1, Device::Processor).expect("fits").tiles(), 397);
    assert_eq!(with(1, Device::Array).expect("fits").tiles(), 400);
}
