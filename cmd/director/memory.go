package main

// ballast counts as memory in use, so that garbage is collected when there are 64 MiB of it and not, as by Go's default,
// when there is as much as a replica keeps: 10 to 20 MiB, which comes together dozens of times a second. It is never
// touched, so it takes addresses and no memory. GOGC and GOMEMLIMIT do what they always do.
var ballast = make([]byte, 64<<20)
