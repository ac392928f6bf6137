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
//	├───────────│ resting │ watches its window; swept, oldest first, after a change that counts do not exclude
//	│           └─────────┘
//	│                │ four searches found nothing
//	│                ▼
//	│ widening  ┌─────────┐
//	└───────────│  stuck  │ no newcomer makes it dirty; only swept
//	            └─────────┘
//
// With a trade, a seed whose match is not due yet rests, too, until it is.
//
// Which file holds what:
//
//	engine.go, run.go            the calls, and one turn of searching
//	seeds.go, window.go          which seeds a change makes dirty
//	sweep.go                     the other seeds, in turn
//	queue.go, tree.go            a heap with removal; candidates in order of a number
//	bucket.go, demand.go         who may meet at all; whether counts exclude a match
//	plan.go, moments.go          a profile, prepared for the search; the ages at which something changes
//	candidate.go, normalise.go   a ticket, prepared for the search; lacks.go: why it is no candidate
//	walk.go, choices.go          the candidates for a seed, in its order of preference
//	lineup.go, age.go            tickets that may become a match, and whose age decides
//	search.go                    how a match is searched
//	fill.go, mend.go             filling teams in random orders; changes that bring what is no match nearer to one
//	pack.go, place.go            whether parties fit; tickets into teams
//	balance.go, roles.go         exchanges until the rules hold; players into roles
//	ratings.go                   numbers that depend on the role that a player gets
//	even.go                      teams made as equal as the rules allow
//	regions.go                   game regions that suit everybody
//	rules.go, rules_KIND.go      what all rules have, and one kind a file
//	prefer.go                    the match whose preferences weigh most
//	trade.go                     when a match is due that its players shall wait for
//	roster.go, join.go           joining an open match
//	reason.go, proposal.go       what a proposal says about itself
//	inquiry.go, inquiry_*.go     why one ticket has no match, for match/explain
//
// Where the search is not exact: it gives up after its steps are used up, looks at no more than 2,048 candidates for a seed,
// and does not choose which of the players who may have an optional role get it. A search that ran out of steps is repeated three
// times within a second, with more steps and other random orders. Steps by the mean age of a match are noticed within a second; all
// others at their moment.
package decide
