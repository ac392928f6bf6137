// Package faults has only tests. They start the real binary as an operator does, inject faults (kill -9, a crash of
// Postgres, lost answers, a frozen game server) and then compare the database with the promises of
// docs/architecture.md. Replicas that must panic run inside the test process.
package faults
