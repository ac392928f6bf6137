// Package verifytest generates random valid profiles with tickets for them, for property tests of what decides about
// them: each part of a profile occurs in some of them, and there are few names and values, so that tickets often fit
// together.
//
//	profiles.go, rules*.go, tickets.go   small profiles and few tickets, drawn by rapid, which shrinks what fails
//	large.go                             the same for matches of more than 40 players
//	queue*.go                            tickets as the players of a game would have, drawn by seed
//	denial.go                            a rule that contradicts another one
//	names.go                             the names that profiles and tickets share
package verifytest
