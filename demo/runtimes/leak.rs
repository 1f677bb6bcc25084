// SPDX-License-Identifier: MIT
// Of doc/recipes.md: every tenth session stays in the table; and every hundredth is forgotten.
use std::collections::HashMap;

struct Session {
    data: Vec<u8>,
}

#[inline(never)]
fn open_session(table: &mut HashMap<u64, Session>, n: u64) {
    let session = Session { data: vec![1; 3000] };
    if n % 100 == 1 {
        std::mem::forget(session);
    } else if n % 10 == 0 {
        table.insert(n, session);
    }
}

fn main() {
    let mut table = HashMap::new();
    println!("ready {}", std::process::id());
    for n in 0.. {
        open_session(&mut table, n);
        if n % 100 == 0 {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        if n == u64::MAX {
            println!("{}", table.values().map(|s| s.data.len()).sum::<usize>());
        }
    }
}
