//! Memory of a process that lives for a moment: handed out by moving an address, given back into lists of blocks of one size.
//!
//! A C library's allocator asks the kernel for more in small steps and keeps books for years of use; both cost a hook more than judging a
//! command does. Here one system call brings a megabyte, of which only pages that are used cost anything; blocks that are given back serve the next request of their
//! size, and what is large comes from the kernel and goes back to it.
//!
//! The main thread has lists of its own and takes no lock. All other threads share theirs under one.
#![expect(unsafe_code, reason = "an allocator, and C's names for one, have no safe counterpart")]

use std::alloc::{GlobalAlloc, Layout};
use std::cell::{Cell, UnsafeCell};
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

/// All blocks begin at a multiple of this.
const STEP: usize = 16;
/// Classes up to here differ by [`STEP`], those above by a factor of two.
const FINE: usize = 1024;
/// Number of bytes of the largest class. What is larger is mapped by itself.
const LARGEST: usize = 128 * 1024;
/// Of each size one class.
const CLASSES: usize = FINE / STEP + (LARGEST / FINE).trailing_zeros() as usize;
/// Number of bytes that come from the kernel at once, but for what is mapped by itself.
const REGION: usize = 1 << 20;

/// Number of bytes of a page, at whose multiples mappings begin. Nothing asks for more.
const PAGE: usize = 4096;

/// The class of blocks that hold `size` bytes, and their size; `None` for what is mapped by itself.
fn size_class(size: usize) -> Option<(usize, usize)> {
    if size <= FINE {
        let steps = size.max(1).div_ceil(STEP);
        return Some((steps - 1, steps * STEP));
    }
    let rounded = size.checked_next_power_of_two().filter(|rounded| *rounded <= LARGEST)?;
    let doublings = rounded.trailing_zeros() - FINE.trailing_zeros();
    Some((FINE / STEP - 1 + doublings as usize, rounded))
}

/// Blocks that were given back, by class, and the region that new ones are cut from.
struct FreeLists {
    next: usize,
    end: usize,
    free: [*mut c_void; CLASSES],
}

impl FreeLists {
    const fn new() -> Self {
        Self { next: 0, end: 0, free: [ptr::null_mut(); CLASSES] }
    }

    /// A block of a class; null if the kernel has no memory.
    fn take_block(&mut self, class: usize, size: usize) -> *mut u8 {
        let block = self.free[class];
        if block.is_null() {
            return self.cut_block(size, STEP);
        }
        // SAFETY: a block in a list begins with the address of the next one, written by `give`.
        self.free[class] = unsafe { *block.cast() };
        block.cast()
    }

    fn give_block(&mut self, block: *mut u8, class: usize) {
        // SAFETY: a block has at least `STEP` bytes, is aligned to them, and belongs to nobody any more.
        unsafe { *block.cast() = self.free[class] };
        self.free[class] = block.cast();
    }

    /// `size` new bytes.
    fn cut_block(&mut self, size: usize, align: usize) -> *mut u8 {
        let begin = self.next.next_multiple_of(align);
        if let Some(end) = begin.checked_add(size).filter(|end| *end <= self.end) {
            self.next = end;
            return ptr::with_exposed_provenance_mut(begin);
        }
        let region = map_pages(REGION);
        if region.is_null() {
            return region;
        }
        self.next = region.expose_provenance() + size;
        self.end = region.expose_provenance() + REGION;
        region
    }

    /// Makes the block that was cut last, of `old` bytes, one of `new` bytes. Returns whether it was that block, and there was room.
    fn stretch_block(&mut self, block: *mut u8, old: usize, new: usize) -> bool {
        let begin = block.expose_provenance();
        let fits = begin + old == self.next && begin + new <= self.end;
        if fits {
            self.next = begin + new;
        }
        fits
    }
}

/// Whole pages from the kernel; null if it has none.
fn map_pages(size: usize) -> *mut u8 {
    let (rights, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping at an address that the kernel chooses.
    let mapped = unsafe { libc::mmap(ptr::null_mut(), size, rights, kind, -1, 0) };
    if mapped == libc::MAP_FAILED { ptr::null_mut() } else { mapped.cast() }
}

/// The allocator of a program that lives for a moment; [`crate::short_lived_memory`] makes it that of a program.
pub struct ShortLivedMemory {
    /// Only the main thread uses them, and no signal handler of this workspace allocates.
    main: UnsafeCell<FreeLists>,
    others: UnsafeCell<FreeLists>,
    /// Set while a thread uses `others`.
    taken: AtomicBool,
}

// SAFETY: `main` is used by one thread, and `others` by the one that has set `taken`.
unsafe impl Sync for ShortLivedMemory {}

thread_local! {
    static IS_MAIN: Cell<bool> = const { Cell::new(false) };
}

/// Gives the calling thread lists of its own.
///
/// # Safety
///
/// No more than one thread of a process may call it.
pub(super) unsafe fn this_is_the_main_thread() {
    IS_MAIN.set(true);
}

impl ShortLivedMemory {
    /// An allocator that has handed out nothing.
    pub const fn new() -> Self {
        Self {
            main: UnsafeCell::new(FreeLists::new()),
            others: UnsafeCell::new(FreeLists::new()),
            taken: AtomicBool::new(false),
        }
    }

    #[inline]
    fn with_lists<T>(&self, change: impl FnOnce(&mut FreeLists) -> T) -> T {
        if IS_MAIN.get() {
            // SAFETY: one thread is the main thread, and `change` does not allocate.
            return change(unsafe { &mut *self.main.get() });
        }
        while self.taken.swap(true, Ordering::Acquire) {
            std::hint::spin_loop();
        }
        // SAFETY: whoever sets `taken` is alone until it is taken back.
        let result = change(unsafe { &mut *self.others.get() });
        self.taken.store(false, Ordering::Release);
        result
    }

    /// The part of `realloc` that is not done in place.
    unsafe fn move_to(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's, of `realloc`: the size is not zero, and rounded up to the alignment it is an `isize`.
        let moved = unsafe { self.alloc(Layout::from_size_align_unchecked(size, layout.align())) };
        if !moved.is_null() {
            // SAFETY: two blocks, each as long as the shorter of both sizes, and the old one is given back.
            unsafe {
                ptr::copy_nonoverlapping(block, moved, layout.size().min(size));
                self.dealloc(block, layout);
            }
        }
        moved
    }
}

impl Default for ShortLivedMemory {
    fn default() -> Self {
        Self::new()
    }
}

// SAFETY: blocks are cut from mappings that nobody else has, never overlap, and are in one list at most.
unsafe impl GlobalAlloc for ShortLivedMemory {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.align() > PAGE {
            return ptr::null_mut();
        }
        match size_class(layout.size()) {
            Some((class, size)) if layout.align() <= STEP => {
                self.with_lists(|lists| lists.take_block(class, size))
            }
            Some((_, size)) => self.with_lists(|lists| lists.cut_block(size, layout.align())),
            None => map_pages(layout.size()),
        }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        match size_class(layout.size()) {
            Some((class, _)) => self.with_lists(|lists| lists.give_block(block, class)),
            // SAFETY: the caller promises that the block is of this size, so that it was mapped by itself.
            None => drop(unsafe { libc::munmap(block.cast(), layout.size()) }),
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        match (size_class(layout.size()), size_class(size)) {
            (Some((old, _)), Some((new, _))) if old == new => block,
            (Some((_, old)), Some((_, new)))
                if new > old && self.with_lists(|lists| lists.stretch_block(block, old, new)) =>
            {
                block
            }
            (None, None) => {
                // SAFETY: the caller promises that the block is of this size, so that it was mapped by itself.
                let moved = unsafe { libc::mremap(block.cast(), layout.size(), size, libc::MREMAP_MAYMOVE) };
                if moved == libc::MAP_FAILED { ptr::null_mut() } else { moved.cast() }
            }
            // SAFETY: the caller's.
            _ => unsafe { self.move_to(block, layout, size) },
        }
    }
}

/// Number of bytes before a block of C's, which hold its size: a step of their own.
const HEADER: usize = STEP;

/// The functions of C's that allocate, on a [`ShortLivedMemory`]. A C library lets a program bring its own.
pub mod c {
    use super::{GlobalAlloc, HEADER, Layout, STEP, ShortLivedMemory, c_void, ptr};

    /// The header of a block, which begins at a multiple of [`STEP`].
    fn block_header(block: *mut u8) -> *mut usize {
        let header: *mut c_void = block.cast();
        header.cast()
    }

    fn block_layout(size: usize) -> Option<Layout> {
        Layout::from_size_align(size.checked_add(HEADER)?, STEP).ok()
    }

    /// C's `malloc`.
    pub fn malloc(memory: &ShortLivedMemory, size: usize) -> *mut c_void {
        let Some(block_layout) = block_layout(size) else { return ptr::null_mut() };
        // SAFETY: the size is not zero, and the block is long enough for the header.
        unsafe {
            let block = memory.alloc(block_layout);
            if block.is_null() {
                return ptr::null_mut();
            }
            block_header(block).write(size);
            block.add(HEADER).cast()
        }
    }

    /// C's `calloc`.
    pub fn calloc(memory: &ShortLivedMemory, count: usize, size: usize) -> *mut c_void {
        let Some(size) = count.checked_mul(size) else { return ptr::null_mut() };
        let block = malloc(memory, size);
        if !block.is_null() {
            // SAFETY: the block has `size` bytes.
            unsafe { block.write_bytes(0, size) };
        }
        block
    }

    /// C's `free`.
    ///
    /// # Safety
    ///
    /// `block` must be null or come from a function of this module with this memory, and not be used again.
    pub unsafe fn free(memory: &ShortLivedMemory, block: *mut c_void) {
        if block.is_null() {
            return;
        }
        // SAFETY: the header of a block of ours says its size.
        unsafe {
            let begin = block.cast::<u8>().sub(HEADER);
            if let Some(block_layout) = block_layout(block_header(begin).read()) {
                memory.dealloc(begin, block_layout);
            }
        }
    }

    /// C's `realloc`.
    ///
    /// # Safety
    ///
    /// That of [`free`].
    pub unsafe fn realloc(memory: &ShortLivedMemory, block: *mut c_void, size: usize) -> *mut c_void {
        if block.is_null() {
            return malloc(memory, size);
        }
        // SAFETY: the header of a block of ours says its size.
        unsafe {
            let begin = block.cast::<u8>().sub(HEADER);
            let (Some(old), Some(new)) = (block_layout(block_header(begin).read()), block_layout(size))
            else {
                return ptr::null_mut();
            };
            let moved = memory.realloc(begin, old, new.size());
            if moved.is_null() {
                return ptr::null_mut();
            }
            block_header(moved).write(size);
            moved.add(HEADER).cast()
        }
    }
}

/// Gives a program that begins with [`crate::bare_main`] a [`ShortLivedMemory`]; where it is linked with musl, C's code too.
///
/// Elsewhere C's functions have relatives (`memalign`, `malloc_usable_size`) that a program would have to bring with them.
#[macro_export]
macro_rules! short_lived_memory {
    () => {
        #[global_allocator]
        static MEMORY: $crate::memory::ShortLivedMemory = $crate::memory::ShortLivedMemory::new();

        #[cfg(target_env = "musl")]
        mod c_memory {
            use std::ffi::c_void;

            use $crate::memory::c;

            use super::MEMORY;

            #[unsafe(no_mangle)]
            extern "C" fn malloc(size: usize) -> *mut c_void {
                c::malloc(&MEMORY, size)
            }

            #[unsafe(no_mangle)]
            extern "C" fn calloc(count: usize, size: usize) -> *mut c_void {
                c::calloc(&MEMORY, count, size)
            }

            #[unsafe(no_mangle)]
            unsafe extern "C" fn realloc(block: *mut c_void, size: usize) -> *mut c_void {
                // SAFETY: C's promise.
                unsafe { c::realloc(&MEMORY, block, size) }
            }

            #[unsafe(no_mangle)]
            unsafe extern "C" fn free(block: *mut c_void) {
                // SAFETY: C's promise.
                unsafe { c::free(&MEMORY, block) }
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that look random and are not.
    fn next(state: &mut usize) -> usize {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        *state >> 33
    }

    /// Blocks of all sizes, each full of a byte of its own, changed and given back in no order.
    fn churn(memory: &ShortLivedMemory, seed: usize) {
        let mut state = seed;
        let mut blocks: Vec<(*mut u8, Layout, u8)> = Vec::new();
        let holds = |(block, layout, byte): (*mut u8, Layout, u8), size: usize| {
            // SAFETY: the block is alive, and has as many bytes.
            let bytes = unsafe { std::slice::from_raw_parts(block, size) };
            assert!(bytes.iter().all(|found| *found == byte), "a block of {layout:?} was written to");
        };
        for turn in 0..4000 {
            let byte = u8::try_from(turn % 251).unwrap();
            let size = 1 + next(&mut state) % [24, 300, 5000, 300_000][next(&mut state) % 4];
            if blocks.len() < 50 || next(&mut state).is_multiple_of(2) {
                let layout = Layout::from_size_align(size, 1 << (next(&mut state) % 8)).unwrap();
                // SAFETY: the size is not zero; the block has as many bytes.
                let block = unsafe {
                    let block = memory.alloc(layout);
                    assert!(!block.is_null() && (block as usize).is_multiple_of(layout.align()));
                    block.write_bytes(byte, size);
                    block
                };
                blocks.push((block, layout, byte));
                continue;
            }
            let (block, layout, old) = blocks.swap_remove(next(&mut state) % blocks.len());
            holds((block, layout, old), layout.size());
            if next(&mut state).is_multiple_of(2) {
                // SAFETY: the block is of this layout.
                unsafe { memory.dealloc(block, layout) };
                continue;
            }
            // SAFETY: the block is of this layout, and the new one has `size` bytes.
            let block = unsafe { memory.realloc(block, layout, size) };
            assert!((block as usize).is_multiple_of(layout.align().min(STEP)));
            holds((block, layout, old), size.min(layout.size()));
            // SAFETY: as above.
            unsafe { block.write_bytes(byte, size) };
            blocks.push((block, Layout::from_size_align(size, layout.align()).unwrap(), byte));
        }
        for (block, layout, byte) in blocks {
            holds((block, layout, byte), layout.size());
            // SAFETY: the block is of this layout.
            unsafe { memory.dealloc(block, layout) };
        }
    }

    #[test]
    fn no_block_is_handed_out_twice_on_any_thread() {
        let memory = ShortLivedMemory::new();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                // SAFETY: the one thread that does so with this allocator.
                unsafe { this_is_the_main_thread() };
                churn(&memory, 1);
            });
            for seed in 2..5 {
                scope.spawn({
                    let memory = &memory;
                    move || churn(memory, seed)
                });
            }
        });
    }

    #[test]
    fn what_is_given_back_is_used_again() {
        let memory = ShortLivedMemory::new();
        let layout = Layout::from_size_align(100, 8).unwrap();
        // SAFETY: the size is not zero, and each block is given back once.
        let blocks = [0; 3].map(|_| unsafe {
            let block = memory.alloc(layout);
            memory.dealloc(block, layout);
            block
        });
        assert_eq!(blocks[0], blocks[2]);
        // A vector that grows by itself stays where it is, up to what is mapped by itself.
        let small = Layout::from_size_align(2048, 8).unwrap();
        // SAFETY: the size is not zero, and the block is of that layout.
        unsafe {
            let block = memory.alloc(small);
            assert_eq!(memory.realloc(block, small, LARGEST), block);
        }
    }

    #[test]
    fn sizes_that_no_memory_has_are_refused() {
        let memory = ShortLivedMemory::new();
        assert!(c::malloc(&memory, usize::MAX).is_null());
        assert!(c::calloc(&memory, usize::MAX / 2, 3).is_null());
        assert!(c::malloc(&memory, 1 << 60).is_null());
        // SAFETY: blocks of this memory, used no more after.
        unsafe {
            let block = c::malloc(&memory, 10);
            assert!(c::realloc(&memory, block, usize::MAX).is_null());
            block.cast::<u8>().write_bytes(7, 10);
            let block = c::realloc(&memory, block, 1 << 20);
            assert_eq!(block.cast::<[u8; 10]>().read(), [7; 10]);
            c::free(&memory, block);
            c::free(&memory, ptr::null_mut());
        }
    }

    #[test]
    fn each_size_has_the_class_of_blocks_that_hold_it() {
        assert_eq!(size_class(0), Some((0, 16)));
        let mut last = (0, 0);
        for size in 1..=LARGEST {
            let found = size_class(size).unwrap();
            assert!(found.1 >= size && found.0 < CLASSES, "{size}: {found:?}");
            assert!(found == last || found.0 == last.0 + 1 || size == 1, "{size}: {found:?}");
            last = found;
        }
        assert_eq!((last.0, size_class(LARGEST + 1)), (CLASSES - 1, None));
    }
}
