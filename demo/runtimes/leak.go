// SPDX-License-Identifier: MIT
// Of doc/recipes.md: every tenth session of the C library is not closed.
package main

// #include <stdlib.h>
// static void *session_open(size_t n) { return malloc(n); }
// static void session_close(void *s) { free(s); }
import "C"

import (
	"fmt"
	"os"
	"time"
)

func serve(n int) {
	session := C.session_open(3000)
	if n%10 != 0 {
		C.session_close(session)
	}
}

func main() {
	fmt.Println("ready", os.Getpid())
	for n := 0; ; n++ {
		serve(n)
		if n%100 == 0 {
			time.Sleep(20 * time.Millisecond)
		}
	}
}
