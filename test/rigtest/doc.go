// Package rigtest is an installation for tests of the whole product: a Postgres of its own and real processes of the
// director, with the callers that several test packages need. What is particular to one fault or one scenario is in the
// tests that use it (test/faults, test/upgrade).
package rigtest
