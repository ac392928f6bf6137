// Package faults has only tests: they start the real binary as the processes an operator would run, break things (kill
// -9, a Postgres that stops at once, answers that get lost, a server that sleeps) and hold the promises of
// docs/architecture.md against what is in the database afterwards.
package faults
