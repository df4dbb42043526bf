//! Palladion under the benchmark's protocol, beside its peers.

mod bfv;
mod bgv;
mod bootstrap;
mod ckks;
mod keys;
mod lookup;
mod ntt;
mod tfhe;

use common::Group;

fn main() {
    common::run(&[
        Group {
            name: "ntt",
            time: common::ntt::time::<ntt::Limb>,
            values: common::ntt::values::<ntt::Limb>,
        },
        Group {
            name: "bfv",
            time: common::bfv::time::<bfv::Ours>,
            values: common::bfv::values::<bfv::Ours>,
        },
        Group {
            name: "bgv",
            time: bgv::time,
            values: bgv::values,
        },
        Group {
            name: "ckks",
            time: ckks::time,
            values: ckks::values,
        },
        Group {
            name: "bootstrap",
            time: bootstrap::time,
            // It checks its own result.
            values: |_| Vec::new(),
        },
        Group {
            name: "lookup",
            time: lookup::time,
            // It checks its own result.
            values: |_| Vec::new(),
        },
        Group {
            name: "tfhe",
            time: tfhe::time,
            // It checks its own result.
            values: |_| Vec::new(),
        },
    ]);
}
