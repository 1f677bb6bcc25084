// SPDX-License-Identifier: MIT
// rusty: the stacks of Rust: closures, trait objects, iterators, threads, panics that are caught.
//
//	walk N		N walks, then {"walks": N}
//	keep N		N boxes of 56 bytes forgotten in rusty::shelf::Shelf<T>::fill
use std::collections::BTreeMap;
use std::io::{BufRead, Write};

struct Walk {
    rng: u64,
    left: u32,
    sum: u64,
}

fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

trait Shape {
    fn go(&self, w: &mut Walk);
}

struct Round(Vec<u8>);
struct Square(String);

impl Shape for Round {
    #[inline(never)]
    fn go(&self, w: &mut Walk) {
        let copy = self.0.clone();
        step(w);
        w.sum += copy.len() as u64;
    }
}

impl Shape for Square {
    #[inline(never)]
    fn go(&self, w: &mut Walk) {
        step(w);
        w.sum += format!("{}{}", self.0, w.left).len() as u64;
    }
}

#[inline(never)]
fn by_trait(w: &mut Walk) {
    let shapes: [Box<dyn Shape>; 2] = [Box::new(Round(vec![1; 100])), Box::new(Square("s".repeat(50)))];
    shapes[(w.rng % 2) as usize].go(w);
}

#[inline(never)]
fn by_closure(w: &mut Walk) {
    let text = "t".repeat(60);
    let f = |w: &mut Walk| {
        w.sum += text.len() as u64;
        step(w);
    };
    (0..1).for_each(|_| f(w));
}

#[inline(never)]
fn by_sort(w: &mut Walk) {
    let mut v: Vec<String> = (0..3).map(|i| format!("{}", 3 - i)).collect();
    v.sort_by(|a, b| {
        if w.left > 0 {
            step(w);
        }
        a.cmp(b)
    });
    w.sum += v.len() as u64;
}

#[inline(never)]
fn by_map(w: &mut Walk) {
    let mut m = BTreeMap::new();
    for i in 0..20 {
        m.insert(i, vec![i; 10]);
    }
    step(w);
    w.sum += m.len() as u64;
}

#[inline(never)]
fn by_panic(w: &mut Walk) {
    let depth = w.left;
    let caught = std::panic::catch_unwind(move || {
        let _kept = vec![0u8; 64];
        if depth < 1000 {
            std::panic::resume_unwind(Box::new(depth));
        }
    });
    w.sum += caught.is_err() as u64;
    step(w);
}

#[inline(never)]
fn step(w: &mut Walk) {
    if w.left == 0 {
        w.sum += vec![7u8; 100].len() as u64;
        return;
    }
    w.left -= 1;
    let steps: [fn(&mut Walk); 5] = [by_trait, by_closure, by_sort, by_map, by_panic];
    steps[(random(&mut w.rng) % 5) as usize](w);
    w.sum += 1;
}

mod shelf {
    pub struct Shelf<T>(pub T);

    impl<T: Copy> Shelf<T> {
        #[inline(never)]
        pub fn fill(&self, n: u32) {
            for _ in 0..n {
                std::mem::forget(Box::new([self.0; 7]));
            }
        }
    }
}

fn main() {
    let mut w = Walk { rng: 0x9e3779b97f4a7c15, left: 0, sum: 0 };
    println!("ready {}", std::process::id());
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        let mut words = line.split(' ');
        let order = words.next().unwrap_or("end");
        let n: u32 = words.next().and_then(|s| s.parse().ok()).unwrap_or(0);
        match order {
            "walk" => {
                for _ in 0..n {
                    w.left = 1 + (random(&mut w.rng) % 8) as u32;
                    step(&mut w);
                }
            }
            "keep" => shelf::Shelf(5u64).fill(n),
            _ => break,
        }
        println!("{{\"walks\": {}}}", n);
        std::io::stdout().flush().unwrap();
    }
    println!("{{}}");
}
