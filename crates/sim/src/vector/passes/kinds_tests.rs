//! Tests of machines with several kinds of clusters, and closed forms of the units of Athena's
//! accelerator.

use super::{Options, Schedule, schedule};
use crate::vector::check::check;
use crate::vector::machine::{Machine, Operation};
use crate::vector::report::Report;
use crate::vector::testing::{Knobs, Random, work};
use crate::vector::work::Work;
use trace::{Builder, Constant, Limbs, TraceBuilder, Type, ValueId};

const N: usize = 1 << 15;
/// Primes `q` with `q = 1` modulo 2^16.
const MODULI: [u64; 5] = [65537, 786_433, 1_179_649, 1_769_473, 2_424_833];

fn run(machine: &Machine, work: &Work) -> Schedule {
    let schedule = schedule(machine, work, Options::default(), &mut |_, _| true).expect("it fits");
    check(machine, work, &schedule).expect("a schedule of ours");
    schedule
}

/// A trace of polynomials with `N = 2^15`.
fn of(write: impl FnOnce(&mut Builder<'_>) -> ValueId) -> Work {
    let mut builder = TraceBuilder::new(N, &MODULI).expect("moduli");
    let mut main = builder.main();
    let last = write(&mut main);
    main.store("z", last);
    Work::new(&builder.finish().expect("a trace")).expect("short enough")
}

fn instructions(work: &Work, kind: Operation) -> impl Iterator<Item = usize> + '_ {
    (0..work.instructions()).filter(move |&i| work.kind(i) == kind)
}

#[test]
fn operations_run_where_they_are_listed_and_a_larger_buffer_never_slows() {
    for seed in 0..150 {
        let mut random = Random::new(seed);
        let work = work(seed, 1 + random.below(40));
        let knobs = Knobs::random(&mut random);
        let buffer = random.below(6);
        let machine = knobs.apart(buffer);
        let schedule = run(&machine, &work);
        for i in 0..work.instructions() {
            let cluster = &machine.clusters()[usize::from(schedule.place(i).cluster)];
            let expected = match work.kind(i) {
                Operation::Dot => ["sums"].as_slice(),
                Operation::Add => &["cluster", "sums"],
                _ => &["cluster"],
            };
            assert!(expected.contains(&cluster.name.as_str()), "seed {seed}");
        }
        let report = Report::new(&machine, &work, &schedule);
        assert!(report.gap() >= 1.0, "seed {seed}: {:?}", report.bound);
        let more = run(&knobs.apart(2 * buffer + 1), &work);
        assert!(
            more.cycles() <= schedule.cycles(),
            "seed {seed}: {} cycles with {buffer} limbs in the buffer, {} with more",
            schedule.cycles(),
            more.cycles()
        );
    }
}

#[test]
fn what_the_other_kind_made_last_does_not_pass_the_ports() {
    let one = Type::eval(0..1);
    let work = {
        let mut builder = TraceBuilder::new(16, &[97]).expect("moduli");
        let mut main = builder.main();
        let x = main.load("x", one);
        let dot = main.dot(vec![x, x], vec![x, x]);
        let square = main.mul(dot, dot);
        main.store("z", square);
        Work::new(&builder.finish().expect("a trace")).expect("short enough")
    };
    let knobs = Knobs {
        limbs: 40,
        bandwidth: 64,
        lanes: 8,
        ports: 1,
        registers: 0,
    };
    // A limb has 128 bytes, and the port has 16. Without registers an operand that is read twice
    // passes the port twice.
    for (buffer, limbs) in [(0, 2 + 1), (1, 1)] {
        let schedule = run(&knobs.apart(buffer), &work);
        assert_eq!(schedule.ports(1), limbs * 8, "{buffer} limbs in the buffer");
    }
}

/// Section 4.2.3 of the paper: a sample of 2,048 entries takes about one cycle on average.
#[test]
fn athena_extracts_a_sample_a_cycle_from_however_many_polynomials() {
    let athena = Machine::named("athena").expect("built in");
    let (dimension, values) = (2048, 4096);
    let width = dimension * values / N;
    for sources in [1, 7, 16] {
        let work = of(|main| {
            let row = Type::coeff(0..1);
            let read: Vec<ValueId> = (0..sources)
                .map(|i| main.load(format!("x/{i}"), row.clone()))
                .collect();
            let entries = main.define(Constant::Words((0..N as i64).map(|s| s % 2048).collect()));
            let rows: Vec<ValueId> = (0..width)
                .map(|turn| {
                    let value = |s: usize| ((s + turn) % (sources * N)) as i64;
                    let at = main.define(Constant::Words((0..N).map(value).collect()));
                    main.extract(read.clone(), at, Some((entries, N / dimension)))
                })
                .collect();
            rows[1..]
                .iter()
                .fold(rows[0], |sum, &row| main.add(sum, row))
        });
        let unit = &athena.units()[athena.uses(Operation::Extract)[0]];
        let extracts = instructions(&work, Operation::Extract);
        let cycles: u64 = extracts.map(|i| unit.cycles(N, work.terms(i))).sum();
        assert_eq!(cycles, values as u64, "{sources} polynomials");
        let schedule = run(&athena, &work);
        for i in instructions(&work, Operation::Extract) {
            let ports = schedule.ports(i);
            assert_eq!(schedule.busy(i), ports.max(16), "{sources} polynomials");
        }
    }
}

/// Section 4.2.2: on the first data path both factors of a term are vectors, on the second one is
/// broadcast.
#[test]
fn the_data_paths_of_an_fru_take_a_term_in_as_many_cycles_and_other_ports() {
    let athena = Machine::named("athena").expect("built in");
    let pass = N as u64 / 2048;
    let limb = athena.limb_bytes(N);
    for terms in [1, 4, 16] {
        let work = of(|main| {
            let mut load = |name: String| main.load(name, Type::eval(0..1));
            let left: Vec<ValueId> = (0..terms).map(|i| load(format!("x/{i}"))).collect();
            let right: Vec<ValueId> = (0..terms).map(|i| load(format!("y/{i}"))).collect();
            main.dot(left, right)
        });
        let schedule = run(&athena, &work);
        let bytes = athena.clusters()[usize::from(schedule.place(0).cluster)].bytes_per_cycle;
        let ports = ((2 * terms as u64 + 1) * limb).div_ceil(bytes);
        assert_eq!(
            schedule.ports(0),
            ports,
            "two limbs for each term, and the sum"
        );
        assert_eq!(schedule.busy(0), (terms as u64 * pass).max(ports));
    }
    for from in 1..=4 {
        let work = of(|main| {
            let low = main.load("x", Type::coeff(0..from));
            main.convert(low, Limbs::from(from..from + 1))
        });
        let schedule = run(&athena, &work);
        let convert = instructions(&work, Operation::Convert).next().expect("one");
        let cluster = &athena.clusters()[usize::from(schedule.place(convert).cluster)];
        assert_eq!(
            cluster.name, "region 0",
            "changes of bases are part of a product"
        );
        let terms = from as u64 + 1;
        let ports = ((terms + 1) * limb).div_ceil(cluster.bytes_per_cycle);
        assert!(
            schedule.ports(convert) <= ports,
            "a limb for each term at most, and the sum"
        );
        assert_eq!(schedule.busy(convert), terms * pass);
    }
}

/// Section 4.3 and figure 7: sums in region 1, products of ciphertexts and their key switches in
/// region 0.
#[test]
fn sums_and_products_of_a_table_work_side_by_side() {
    let athena = Machine::named("athena").expect("built in");
    let work = of(|main| {
        let list = main.define(Constant::List((0..64).collect()));
        let powers: Vec<ValueId> = (0..8)
            .map(|i| main.load(format!("x/{i}"), Type::eval(0..1)))
            .collect();
        let mut sum = powers[0];
        for first in 0..8 {
            let sums = main.combine(powers.clone(), (list, 8 * first), 0, (vec![1], vec![1; 8]));
            let square = main.mul(sums[0], sums[0]);
            let coefficients = main.intt(square);
            let values = main.ntt(coefficients);
            sum = main.add(sum, values);
        }
        sum
    });
    let schedule = run(&athena, &work);
    for i in 0..work.instructions() {
        let cluster = &athena.clusters()[usize::from(schedule.place(i).cluster)].name;
        match work.kind(i) {
            Operation::Combine => assert_eq!(cluster, "region 1"),
            Operation::Ntt | Operation::Intt => assert_eq!(cluster, "region 0"),
            _ => {}
        }
    }
    let report = Report::new(&athena, &work, &schedule);
    assert_eq!(report.kinds, ["region 0", "region 1"]);
    assert!(report.together.together > 0, "{:?}", report.together);
    let least = report.together.works.iter().min().copied();
    assert!(Some(report.together.together) <= least);
}
