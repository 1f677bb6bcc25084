// SPDX-License-Identifier: MIT
// jemallocated: a service whose global allocator is a jemalloc of its own, called as the crate jemallocator does
// (_rjem_malloc, _rjem_mallocx, ...). Two threads serve requests: each makes strings, a list and a table, and
// frees them. One in EVERY (100) is kept in a list of the past and never looked at again; one in a thousand is
// kept for half a second. After each of the former a thread sleeps for PAUSE (20) ms.
//
//	jemallocated [EVERY [PAUSE]]
//
//	truth	{"kept": N, "served": N}
use std::alloc::{GlobalAlloc, Layout};
use std::collections::{HashMap, VecDeque};
use std::io::{BufRead, Write};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

extern "C" {
    fn _rjem_malloc(size: usize) -> *mut u8;
    fn _rjem_mallocx(size: usize, flags: i32) -> *mut u8;
    fn _rjem_calloc(n: usize, size: usize) -> *mut u8;
    fn _rjem_realloc(at: *mut u8, size: usize) -> *mut u8;
    fn _rjem_rallocx(at: *mut u8, size: usize, flags: i32) -> *mut u8;
    fn _rjem_sdallocx(at: *mut u8, size: usize, flags: i32);
}

const QUANTUM: usize = 16;

struct Jemalloc;

fn flags(layout: &Layout) -> i32 {
    if layout.align() <= QUANTUM && layout.align() <= layout.size() { 0 } else { layout.align().trailing_zeros() as i32 }
}

unsafe impl GlobalAlloc for Jemalloc {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match flags(&layout) {
            0 => _rjem_malloc(layout.size()),
            flags => _rjem_mallocx(layout.size(), flags),
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        match flags(&layout) {
            0 => _rjem_calloc(1, layout.size()),
            flags => _rjem_mallocx(layout.size(), flags | 0x40),
        }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        _rjem_sdallocx(at, layout.size(), flags(&layout))
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        match flags(&layout) {
            0 => _rjem_realloc(at, size),
            flags => _rjem_rallocx(at, size, flags),
        }
    }
}

#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

static KEPT: AtomicU64 = AtomicU64::new(0);
static SERVED: AtomicU64 = AtomicU64::new(0);

struct Past {
    number: u64,
    text: [u8; 200],
}

#[inline(never)]
fn keep(past: &mut Vec<Box<Past>>, number: u64) {
    past.push(Box::new(Past { number, text: [number as u8; 200] }));
    KEPT.fetch_add(1, Relaxed);
}

#[inline(never)]
fn answer(number: u64) -> String {
    let mut table = HashMap::new();
    for i in 0..8 {
        table.insert(i, format!("value {} of {}", i, number));
    }
    let mut words: Vec<&str> = table.values().map(|v| v.as_str()).collect();
    words.sort_unstable();
    words.join(", ")
}

#[inline(never)]
fn serve(every: u64, pause: u64) {
    let mut past: Vec<Box<Past>> = Vec::with_capacity(1 << 20);
    let mut recent: VecDeque<(Instant, String)> = VecDeque::new();
    for number in 0u64.. {
        let text = answer(number);
        if number % every == 0 {
            keep(&mut past, number);
            if pause > 0 {
                std::thread::sleep(Duration::from_millis(pause));
            }
        }
        if number % 1000 == 0 {
            recent.push_back((Instant::now(), text));
        }
        while recent.front().map_or(false, |r| r.0.elapsed() > Duration::from_millis(500)) {
            recent.pop_front();
        }
        SERVED.fetch_add(1, Relaxed);
    }
    std::process::exit(past.iter().map(|p| p.number as i32 + p.text[0] as i32).sum());
}

fn main() {
    let numbers: Vec<u64> = std::env::args().skip(1).map(|a| a.parse().expect("a number")).collect();
    let (every, pause) = (*numbers.get(0).unwrap_or(&100), *numbers.get(1).unwrap_or(&20));
    for _ in 0..2 {
        std::thread::spawn(move || serve(every, pause));
    }
    println!("ready {}", std::process::id());
    std::io::stdout().flush().unwrap();
    for line in std::io::stdin().lock().lines() {
        if line.unwrap() == "end" {
            break;
        }
        println!("{{\"kept\": {}, \"served\": {}}}", KEPT.load(Relaxed), SERVED.load(Relaxed));
        std::io::stdout().flush().unwrap();
    }
    println!("{{\"kept\": {}}}", KEPT.load(Relaxed));
}
