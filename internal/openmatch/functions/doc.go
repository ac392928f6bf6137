// Package functions calls the code that users of Open Match write, match functions and evaluators, and runs the cycles
// of internal/openmatch/cycle with them. Replicas do so for callers of FetchMatches, workers for profiles with a
// function.
//
// The addresses of match functions come from callers and from profiles, so allow.go limits them, and dial.go judges
// each address right before it connects. matchmaker.go is the engine with its user code; functions*.go and
// evaluator*.go call user code, over connections.go and results.go; proposal.go and backfill.go translate what match
// functions send.
package functions
