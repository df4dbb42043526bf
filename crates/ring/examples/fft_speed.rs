use ring::torus::*;
use std::time::Instant;
fn main() {
    for (n, k, l, b) in [(512usize, 3usize, 1u32, 17u32), (1024, 1, 2, 7), (2048, 1, 1, 23), (8192, 1, 1, 26), (8192,1,2,14)] {
        let fft = Fft::new(n).unwrap();
        let rows = (k + 1) * l as usize;
        let d = Decomposition::new(b, l).unwrap();
        let iters = 800;
        let poly: Vec<u64> = (0..(k + 1) * n).map(|i| (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        let one = Multiplier::<u64>::prepare(&fft, &vec![12345u64; n * rows * (k + 1)]);
        let mut key = Vec::new();
        for _ in 0..iters { key.extend_from_slice(&one); }
        let mut acc = poly.clone();
        let mut digits = vec![0; rows * n];
        let mut scratch = Multiplier::<u64>::scratch(&fft, rows, k + 1);
        let mut best = f64::MAX; let mut bd = f64::MAX;
        for _ in 0..7 {
            let t = Instant::now();
            let mut td = 0.0;
            for i in 0..iters {
                let t0 = Instant::now();
                for c in 0..=k {
                    d.rotated_digits_into(&mut digits[c * l as usize * n..][..l as usize * n], &acc[c * n..][..n], (i * 37) % (2 * n));
                }
                td += t0.elapsed().as_secs_f64();
                fft.dot_add(&mut acc, &digits, &key[i * one.len()..][..one.len()], &mut scratch);
            }
            best = best.min(t.elapsed().as_secs_f64()); bd = bd.min(td);
        }
        println!("N {n} k {k} l {l}: {:.2} us an iteration, digits {:.2}", best / iters as f64 * 1e6, bd / iters as f64 * 1e6);
    }
}
