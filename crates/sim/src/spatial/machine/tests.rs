//! The machine that comes with the program, and files that are refused.

use super::*;

#[test]
fn the_built_in_machine_is_that_of_the_paper() {
    let machine = Machine::named("versal").expect("built in");
    assert_eq!(machine.name(), "versal-vck190");
    assert_eq!((machine.tiles(), machine.data_memory()), (400, 32 << 10));
    assert!(
        (machine.channel_gigabits() - 149.76).abs() < 1e-9,
        "equation 11"
    );
    assert_eq!(
        (machine.array_cycle(), machine.logic_cycle()),
        (8 * 52, 8 * 125)
    );
    assert_eq!(machine.microseconds(8 * 52 * 1250), 1.0);
}

#[test]
fn unknown_names_and_degrees_are_refused_by_name() {
    let error = Machine::named("f2").expect_err("unknown").to_string();
    assert!(
        error.contains("\"f2\"") && error.contains("versal"),
        "{error}"
    );
    let machine = Machine::named("versal").expect("built in");
    let error = machine.mapping(4096).expect_err("none").to_string();
    assert!(error.contains("4096") && error.contains("1024"), "{error}");
}

#[test]
fn missing_unknown_and_absurd_values_are_refused_by_name() {
    let text = crate::family::built_in("versal").expect("built in");
    for (from, to, words) in [
        ("tiles = 400\n", "", &["missing", "tiles"][..]),
        (
            "tiles = 400",
            "tiles = 400\nrows = 8",
            &["unknown", "rows", "tiles"],
        ),
        ("tiles = 400", "tiles = 0", &["array.tiles", "0", "1 to"]),
        ("tiles = 400", "tiles = -1", &["tiles", "-1"]),
        ("latency_ns = 250", "", &["missing", "latency_ns = 250"]),
        (
            "start_us = 20.0",
            "",
            &["missing", "start_us = 20.0", "[processor]"],
        ),
        (
            "[memory]",
            "[memories]",
            &["missing", "[memory]", "burst_words = 16"],
        ),
        (
            "efficiency_percent = 70",
            "efficiency_percent = 101",
            &["memory.efficiency_percent", "101", "1 to 100"],
        ),
        (
            "cycles_per_product = 0.5",
            "cycles_per_product = -0.5",
            &["processor.cycles_per_product", "-0.5"],
        ),
        (
            "fifo_words = 1024",
            "fifo_words = 0",
            &["streams.fifo_words", "0"],
        ),
        (
            "clock_mhz = 520",
            "clock_mhz = 1000000",
            &["logic.clock_mhz", "1000000"],
        ),
        (
            "stream_bits = 32",
            "stream_bits = 64",
            &["array.stream_bits", "64", "32"],
        ),
        (
            "streams_in = 2",
            "streams_in = 1",
            &["array.streams_in", "1", "2"],
        ),
        ("lanes = 8", "lanes = 16", &["tile.lanes", "16", "8"]),
        (
            "static_watts = 23.55",
            "static_watts = nan",
            &["power.static_watts", "NaN"],
        ),
        (
            "tile_watts = 0.04",
            "voltage = { energies = 0.8, volts = [[500, 0.7], [1000, 0.8]] }\ntile_watts = 0.04",
            &["clock_mhz", "1250", "500 to 1000"],
        ),
        ("tile_mhz = 1250", "tile_mhz = 0", &["power.tile_mhz", "0"]),
        ("elements = 8", "elements = 0", &["mapping.elements", "0"]),
        ("elements = 8", "elements = 7", &["7", "512"]),
        ("n = 1024", "n = 512", &["mapping.n", "512", "once"]),
        (
            "components_per_stream = 1",
            "components_per_stream = 3",
            &["3", "1 to 2"],
        ),
        ("name = \"versal-vck190\"", "name = \"\"", &["name"]),
    ] {
        assert!(text.contains(from), "{from}");
        let error = Machine::from_toml(&text.replacen(from, to, 1));
        let error = error.expect_err(to).to_string();
        for word in words {
            assert!(error.contains(word), "{to}: {error}");
        }
    }
}

/// Half the clock takes half the power of tiles, and with half the voltage an eighth. A cycle of a
/// tile takes the same energy at every clock.
#[test]
fn power_of_tiles_follows_clock_and_voltage() {
    let text = crate::family::built_in("versal").expect("built in");
    let slow = text.replacen("clock_mhz = 1250\n", "clock_mhz = 625\n", 1);
    assert_ne!(slow, text);
    let low = slow.replace(
        "tile_watts = 0.04",
        "voltage = { energies = 0.8, volts = [[500, 0.35], [1250, 0.65]] }\ntile_watts = 0.04",
    );
    let watts = |text: &str| Machine::from_toml(text).expect("fine").watts(217, 50.0);
    let (nominal, slow, low) = (watts(text), watts(&slow), watts(&low));
    assert!((nominal.tile_watts - 0.04 * 217.0).abs() < 1e-9);
    assert!((slow.tile_watts - nominal.tile_watts / 2.0).abs() < 1e-9);
    assert!((low.tile_watts - nominal.tile_watts / 8.0).abs() < 1e-9);
    for other in [slow, low] {
        assert_eq!(other.static_watts, nominal.static_watts);
        assert_eq!(other.channel_watts, nominal.channel_watts);
    }
}
