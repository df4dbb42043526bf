//! Whole traces.

use crate::replay::{MODULI, N, Names, random, residues};
use proptest::prelude::*;
use trace::{Op, TraceBuilder, Type};

proptest! {
    /// A valid trace does not fail, executes what was counted, and its values are residues.
    #[test]
    fn random_traces_execute_what_they_count(numbers in prop::collection::vec(any::<u32>(), 0..400)) {
        let trace = random::trace(&numbers);
        let mut names = Loaded(Names::default());
        let counts = palladion_executor::replay(&trace, &mut names, |_| true);
        prop_assert_eq!(counts.unwrap(), trace.counts());
        let stores = trace.main.instructions.iter().filter(|i| matches!(i.op, Op::Store { .. }));
        prop_assert_eq!(names.0.stored.len(), stores.count());
    }
}

proptest! {
    /// The rest of a trace after some stores gives the same values if it loads the stored values.
    #[test]
    fn the_rest_of_a_trace_stores_what_the_whole_one_does(
        numbers in prop::collection::vec(any::<u32>(), 0..400),
        cut in any::<prop::sample::Index>(),
    ) {
        let trace = random::trace(&numbers);
        let mut whole = Loaded(Names::default());
        palladion_executor::replay(&trace, &mut whole, |_| true).unwrap();
        let stored = trace.main.instructions.iter().filter_map(|i| match &i.op {
            Op::Store { name, .. } => Some(name.as_str()),
            _ => None,
        });
        let stored: Vec<&str> = stored.collect();
        let (given, later) = stored.split_at(cut.index(stored.len() + 1));
        let rest = trace.resumed(|name| given.contains(&name)).unwrap();
        prop_assert_eq!(rest.verify(), Ok(()));
        let mut again = Loaded(Names::default());
        for &name in given {
            again.0.values.insert(name.into(), whole.0.stored[name].clone());
        }
        palladion_executor::replay(&rest, &mut again, |_| true).unwrap();
        prop_assert_eq!(again.0.stored.len(), later.len());
        for name in later {
            prop_assert_eq!(&again.0.stored[*name], &whole.0.stored[*name], "{}", name);
        }
    }
}

/// An outside that loads the values with a name, and otherwise residues for any type. It checks
/// residues that are stored.
struct Loaded(Names);

impl palladion_executor::Outside for Loaded {
    fn load(
        &mut self,
        name: &str,
        ty: &Type,
    ) -> palladion_executor::Result<Vec<palladion_executor::Limb>> {
        if let Some(given) = self.0.values.get(name) {
            return Ok(given.clone());
        }
        let limbs = residues(ty.limbs.clone(), name.len() as u64);
        Ok(limbs.into_iter().map(Into::into).collect())
    }

    fn seed(&mut self, name: &str) -> palladion_executor::Result<ring::sample::Seed> {
        self.0.seed(name)
    }

    fn store(
        &mut self,
        name: &str,
        ty: &Type,
        limbs: Vec<palladion_executor::Limb>,
    ) -> palladion_executor::Result<()> {
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
