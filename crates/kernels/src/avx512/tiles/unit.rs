//! The matrix unit itself: whether it is there, its configuration, and one product of tiles.
//!
//! Rust has no stable intrinsics for it, so its instructions are written in assembly. Source: Intel
//! 64 and IA-32 Architectures Software Developer's Manual, volume 1, chapter 18.

use std::arch::asm;
use std::arch::x86_64::{__cpuid_count, _xgetbv, CpuidResult};

use crate::aligned::Line;

/// Bytes of a row of a tile, and of a line.
pub(super) const ROW: usize = 64;
/// Rows of a tile.
pub(super) const ROWS: usize = 16;
/// Byte planes of the left factor's entries, and of the right one's.
pub(super) const LEFT: usize = 2;
pub(super) const RIGHT: usize = 5;
/// Sums of products of planes `a` and `b` with the same `a + b`.
pub(super) const DIAGONALS: usize = LEFT + RIGHT - 1;

/// The sums of a product of tiles: 16 rows of 16 words of 32 bits for each diagonal.
pub(super) type Sums = [[Line; ROWS]; DIAGONALS];

/// Whether CPU and system have the unit. Asks Linux for the right to use it, which all threads of
/// the process then have.
pub(in crate::avx512) fn allowed() -> bool {
    has_instructions() && system_saves_tiles() && granted()
}

/// AMX-TILE and AMX-INT8.
fn has_instructions() -> bool {
    const TILE_AND_INT8: u32 = 0b11 << 24;
    identify(0).eax >= 7 && identify(7).edx & TILE_AND_INT8 == TILE_AND_INT8
}

/// The first part of a leaf of `cpuid`.
#[allow(unused_unsafe, reason = "unsafe in Rust 1.89, safe in later ones")]
fn identify(leaf: u32) -> CpuidResult {
    // SAFETY: all CPUs for x86-64 have this instruction.
    unsafe { __cpuid_count(leaf, 0) }
}

/// Whether the system keeps tiles when it changes between threads: bits 17 and 18 of XCR0.
fn system_saves_tiles() -> bool {
    const OSXSAVE: u32 = 1 << 27;
    const TILES: u64 = 0b11 << 17;
    #[target_feature(enable = "xsave")]
    fn enabled() -> u64 {
        // SAFETY: register 0 exists wherever `xgetbv` does.
        #[allow(unused_unsafe, reason = "unsafe in Rust 1.89, safe in later ones")]
        unsafe {
            _xgetbv(0)
        }
    }
    // SAFETY: OSXSAVE says that `xgetbv` may be used.
    identify(1).ecx & OSXSAVE != 0 && unsafe { enabled() } & TILES == TILES
}

/// Linux gives a process tiles on request, and refuses where the stack of a signal handler is too
/// small to save them. Source: Documentation/arch/x86/xstate.rst of its kernel.
#[cfg(target_os = "linux")]
fn granted() -> bool {
    const ARCH_PRCTL: i64 = 158;
    const ARCH_REQ_XCOMP_PERM: i64 = 0x1023;
    const TILE_DATA: i64 = 18;
    let mut result = ARCH_PRCTL;
    // SAFETY: this system call reads and writes no memory of the process.
    unsafe {
        asm!("syscall", inlateout("rax") result, in("rdi") ARCH_REQ_XCOMP_PERM, in("rsi") TILE_DATA,
            lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    result == 0
}

#[cfg(not(target_os = "linux"))]
fn granted() -> bool {
    false
}

/// The unit, configured for the thread that made this. Its tiles are given back at the end.
pub(super) struct Unit {
    /// Not for other threads, whose units are not configured.
    _own: std::marker::PhantomData<*const ()>,
}

/// Layout of `ldtilecfg`'s operand.
#[repr(C, align(64))]
struct Configuration {
    palette: u8,
    start_row: u8,
    reserved: [u8; 14],
    row_bytes: [u16; 16],
    rows: [u8; 16],
}

impl Unit {
    /// Configures tiles 0 to 5 for sums of `rows` rows, 6 for a left factor of `rows` rows of
    /// `depth` bytes, and 7 for a right factor of `depth / 4` rows.
    ///
    /// # Safety
    /// [`allowed`] has returned true. No other `Unit` of this thread is alive.
    pub(super) unsafe fn new(rows: usize, depth: usize) -> Self {
        assert!((1..=ROWS).contains(&rows));
        assert!((4..=ROW).contains(&depth) && depth.is_multiple_of(4));
        let mut configuration = Configuration {
            palette: 1,
            start_row: 0,
            reserved: [0; 14],
            row_bytes: [0; 16],
            rows: [0; 16],
        };
        for tile in 0..8 {
            configuration.row_bytes[tile] = if tile == 6 { depth } else { ROW } as u16;
            configuration.rows[tile] = if tile == 7 { depth / 4 } else { rows } as u8;
        }
        // SAFETY: the unit is there, and the configuration is one of palette 1.
        unsafe {
            asm!("ldtilecfg [{}]", in(reg) &configuration, options(nostack, readonly, preserves_flags),
                out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _);
        }
        let _own = std::marker::PhantomData;
        Self { _own }
    }

    /// Multiplies tiles of bytes and adds up `count` products, by diagonals.
    ///
    /// For each product, `left` has [`LEFT`] planes: 16 rows of 64 bytes each. `right` has
    /// [`RIGHT`] planes of 16 rows: row `r` holds the entries `4r` to `4r + 3` of column 0, then of
    /// column 1, and so on. A sum stays below `2^32` for up to 512 entries in all.
    pub(super) fn multiply(&self, left: &[Line], right: &[Line], sums: &mut Sums) {
        let count = left.len() / (LEFT * ROWS);
        assert!(count > 0 && left.len() == count * LEFT * ROWS);
        assert_eq!(right.len(), count * RIGHT * ROWS);
        // SAFETY: `self` is proof of the configuration. The loop reads `count` times two planes of
        // 1 KB from `left` and five from `right`, and writes six of 1 KB.
        unsafe {
            asm!(
                "tilezero tmm0",
                "tilezero tmm1",
                "tilezero tmm2",
                "tilezero tmm3",
                "tilezero tmm4",
                "tilezero tmm5",
                "2:",
                "tileloadd tmm6, [{left} + {row}]",
                "tileloadd tmm7, [{right} + {row}]",
                "tdpbuud tmm0, tmm6, tmm7",
                "tileloadd tmm7, [{right} + {row} + 1024]",
                "tdpbuud tmm1, tmm6, tmm7",
                "tileloadd tmm7, [{right} + {row} + 2048]",
                "tdpbuud tmm2, tmm6, tmm7",
                "tileloadd tmm7, [{right} + {row} + 3072]",
                "tdpbuud tmm3, tmm6, tmm7",
                "tileloadd tmm7, [{right} + {row} + 4096]",
                "tdpbuud tmm4, tmm6, tmm7",
                // The other plane on the left, from the last one on the right, which is here.
                "tileloadd tmm6, [{left} + {row} + 1024]",
                "tdpbuud tmm5, tmm6, tmm7",
                "tileloadd tmm7, [{right} + {row} + 3072]",
                "tdpbuud tmm4, tmm6, tmm7",
                "tileloadd tmm7, [{right} + {row} + 2048]",
                "tdpbuud tmm3, tmm6, tmm7",
                "tileloadd tmm7, [{right} + {row} + 1024]",
                "tdpbuud tmm2, tmm6, tmm7",
                "tileloadd tmm7, [{right} + {row}]",
                "tdpbuud tmm1, tmm6, tmm7",
                "add {left}, 2048",
                "add {right}, 5120",
                "dec {count}",
                "jnz 2b",
                "tilestored [{sums} + {row}], tmm0",
                "tilestored [{sums} + {row} + 1024], tmm1",
                "tilestored [{sums} + {row} + 2048], tmm2",
                "tilestored [{sums} + {row} + 3072], tmm3",
                "tilestored [{sums} + {row} + 4096], tmm4",
                "tilestored [{sums} + {row} + 5120], tmm5",
                left = inout(reg) left.as_ptr() => _,
                right = inout(reg) right.as_ptr() => _,
                count = inout(reg) count => _,
                sums = in(reg) sums.as_mut_ptr(),
                row = in(reg) ROW,
                out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
                options(nostack),
            );
        }
    }
}

impl Drop for Unit {
    fn drop(&mut self) {
        // SAFETY: the unit is there. No other code of this thread uses tiles meanwhile.
        unsafe {
            asm!("tilerelease", options(nostack, nomem, preserves_flags),
                out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _);
        }
    }
}
