// Package replay runs a profile on recorded or simulated tickets in virtual time. It reports how long
// they wait, how good their matches are, and, for recorded tickets, how that compares with the history.
//
// What lives elsewhere: match/decide decides, match/simulate makes arrivals, internal/matching/replayer reads the
// history and shows reports.
//
// The package is pure. It knows no database, clock or file. The same input has the same report, to the byte.
//
// Virtual time moves from event to event: a ticket arrives or leaves, a ready check ends, a server becomes free, or the
// engine has scheduled work. The director loop decides at the same moments (internal/matching/loop/decider.go), which
// is why a replay of the version that was live repeats its matches.
//
//	input.go     what is replayed
//	run.go       virtual time; state.go: a replay under way
//	queue.go     tickets and matches in the virtual queue, and the heap of future events
//	compare.go   which recorded matches the replay makes; difference.go: the first that it does not
//	accept.go    what players answer to a ready check
//	capacity.go  whether a match finds a server
//	report.go    the report; sums.go fills it in, sketch.go counts distributions, lacking.go tickets that are no candidates
//	trade.go     what waiting and matches cost by the profile's trade; optimum.go compares it with the least possible
//	notes.go     what a replay does not reproduce, in words
package replay
