//! Whole traces.

use crate::{MODULI, N, Names, random, residues};
use program::trace::{Op, TraceBuilder, Type};
use proptest::prelude::*;

proptest! {
    /// A valid trace does not fail, executes what was counted, and its values are residues.
    #[test]
    fn random_traces_execute_what_they_count(numbers in prop::collection::vec(any::<u32>(), 0..400)) {
        let trace = random::trace(&numbers);
        let mut names = Loaded(Names::default());
        let counts = runtime::replay::replay(&trace, &mut names, |_| true);
        prop_assert_eq!(counts.unwrap(), trace.counts());
        let stores = trace.main.instructions.iter().filter(|i| matches!(i.op, Op::Store { .. }));
        prop_assert_eq!(names.0.stored.len(), stores.count());
    }
}

/// Loads residues for any type, and checks residues that are stored.
struct Loaded(Names);

impl runtime::replay::Outside for Loaded {
    fn load(&mut self, name: &str, ty: &Type) -> runtime::Result<Vec<runtime::replay::Limb>> {
        let limbs = residues(ty.limbs.clone(), name.len() as u64);
        Ok(limbs.into_iter().map(Into::into).collect())
    }

    fn seed(&mut self, name: &str) -> runtime::Result<ring::sample::Seed> {
        self.0.seed(name)
    }

    fn store(
        &mut self,
        name: &str,
        ty: &Type,
        limbs: Vec<runtime::replay::Limb>,
    ) -> runtime::Result<()> {
        for (id, limb) in ty.limbs.iter().zip(&limbs) {
            assert_eq!(limb.len(), N, "{name}");
            let greatest = random::TABLE.greatest(id);
            assert!(limb.iter().all(|&word| word <= greatest), "{name}");
        }
        self.0.store(name, ty, limbs)
    }
}

/// Calls that nest deeper than the stack of a thread.
#[test]
fn calls_may_nest_deeply() {
    const DEPTH: usize = 100_000;
    let mut builder = TraceBuilder::new(N, &MODULI).unwrap();
    let mut main = builder.main();
    let ty = [Type::eval(0..1)];
    let mut sub = main.sub_trace("0", &ty, |b| vec![b.add(0, 0)]);
    for depth in 1..DEPTH {
        sub = main.sub_trace(&depth.to_string(), &ty, |b| b.call(sub, &[0]));
    }
    let x = main.load("x", ty[0].clone());
    let y = main.call(sub, &[x])[0];
    main.store("y", y);
    let trace = builder.finish().unwrap();
    let mut names = Names::default().with("x", &[vec![1; N]]);
    let counts = names.run(&trace).unwrap();
    assert_eq!(counts, trace.counts());
    assert_eq!(names.stored("y"), [vec![2; N]]);
}
