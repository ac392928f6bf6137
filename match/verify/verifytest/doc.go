// Package verifytest generates random valid profiles with tickets for them, for property tests of what decides about
// them. There are few names and values, so that tickets often fit, and of everything that a profile can say there is
// some.
package verifytest
