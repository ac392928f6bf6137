// Package simulate makes tickets that arrive at a queue, to try rules before players do: at the rates of a real day,
// with skills, parties, roles and latencies that follow distributions. The same options and seed make the same tickets.
// On another architecture a number may differ in its last digit, where package math of Go computes it otherwise.
//
//	options.go     what is made, with the defaults
//	arrivals.go    when tickets arrive
//	ticket.go      one ticket; player.go: the attributes of one player
//	maker.go       what is drawn by chance
//	attributes.go  what the profile's rules compare; distribution.go: how one number is distributed
package simulate
