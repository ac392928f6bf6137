// Package functions calls the code that users of Open Match write, match functions and evaluators, and runs the cycles
// of internal/openmatch/cycle with them. Replicas do so for callers of FetchMatches, workers for profiles with a
// function.
//
// The addresses of match functions come from callers and from profiles, so an allow-list of internal/base/outbound
// limits them, by which dial.go checks each address right before it connects. matchmaker.go is the engine with its user code;
// profile.go calls the function of a profile. functions*.go and evaluator*.go call user code, over connections.go and
// results.go; proposal.go, teams.go and backfill.go translate what match functions send.
package functions
