// Package decide forms matches: it says which tickets of a profile's queue play together, in which teams, with which roles
// and in which game regions, and why. It owns the order in which tickets get their turn and the search for a match. The
// rules themselves are documents of match/profile; what becomes of a proposal, and when it is committed, is decided by the
// caller.
//
// The package is pure. It knows no database, clock, network or protocol, starts no goroutine and depends on no order of a
// map: the same calls with the same arguments return the same bytes. Ties go to the ticket that was created first, then to
// the lower id. Sums are taken in the order of ids.
//
// [Engine] keeps the candidates of one version of a profile and looks only at what a change can affect. [Decide] is a whole
// decision over given tickets, for tests, replays and comparisons.
//
// Every candidate is a seed: a ticket around which a match is searched. It waits in one of these states:
//
//	            Add, Return
//	                 │
//	                 ▼
//	  newcomer  ┌─────────┐  Run: found   ┌──────────┐
//	┌──────────▶│  dirty  │──────────────▶│ proposed │──▶ Remove
//	│ widening  └─────────┘               └──────────┘
//	│                │ Run: nothing found       │ Return
//	│                ▼                          └──────▶ dirty
//	│           ┌─────────┐
//	├───────────│  clean  │ swept, oldest first, after every change
//	│           └─────────┘
//	│                │ three complete searches found nothing
//	│                ▼
//	│ widening  ┌─────────┐
//	└───────────│  stuck  │ no newcomer makes it dirty; only swept
//	            └─────────┘
//
// Which file holds what:
//
//	engine.go, run.go      the calls, and one turn of searching
//	seeds.go, window.go    which seeds a change makes dirty
//	queue.go, tree.go      a heap with removal; candidates in order of a number
//	plan.go, normalise.go  a profile and a ticket, prepared for the search
//	walk.go, choices.go    the candidates for a seed, in its order of preference
//	search.go, large.go    choosing tickets: with backtracking, or over 40 players without
//	place.go, balance.go   tickets into teams, and exchanges until the rules hold
//	roles.go, regions.go   players into roles; game regions that suit everybody
//	rules*.go              one kind of rule a file
//	join.go, reason.go     joining an open match; what the proposal says about itself
package decide
