// Package functions calls the code that users of Open Match write, match functions and evaluators, and runs the cycles
// of internal/openmatch/cycle with them. Replicas do so for callers of FetchMatches, workers for profiles with a
// function.
//
// The addresses of match functions come from callers and from profiles, so dial.go checks each one against an
// allow-list (internal/base/outbound) right before it connects. matchmaker.go makes the engine, package cycle, with the
// functions that it calls; profile.go calls the function of a profile. functions*.go and evaluator*.go call user code,
// over connections.go and results.go; proposal.go, teams.go and backfill.go translate what match functions send.
package functions
