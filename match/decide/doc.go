// Package decide forms matches: it says which tickets of a profile's queue play together, in which teams, with which
// roles and in which game regions, and why. It owns the order in which tickets get their turn and the search for a
// match. The rules themselves are documents of match/profile; what becomes of a proposal, and when it is committed, is
// decided by the caller.
//
// The package is pure. It knows no database, clock, network or protocol, starts no goroutine and depends on no order of
// a map: the same calls with the same arguments return the same bytes. Ties go to the ticket that was created first,
// then to the lower id. Sums are taken in the order of ids.
//
// [Engine] keeps the candidates of one version of a profile and looks only at what a change can affect. [Decide] is a
// whole decision over given tickets, for tests, replays and comparisons.
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
//	engine.go                    the candidates of a profile, and the calls that change them
//	run.go                       one turn of searching
//	search.go                    how a match is searched; run.go calls it for each seed
//	choices.go                   the candidates for a seed, in its order of preference
//	variety.go                   places among them for rare values of `different` rules
//	fill.go                      filling teams in random orders, and changes that bring what is no match nearer to one
//	lineup.go                    tickets that may become a match, and whose age decides
//	place.go, roles.go           parties into teams; players into roles, and the numbers that depend on a role
//	balance.go, even.go          exchanges until the rules hold; teams made as equal as the rules allow
//	regions.go                   game regions that suit everybody
//	prefer.go                    the match whose preferences weigh most
//	trade.go                     when a match is due that its players shall wait for
//	join.go                      joining an open match
//	proposal.go                  what was found, what it says about itself, and what match functions found
//	seeds.go                     which seeds a change makes dirty, and the sweep over the others
//	bucket.go                    who may meet at all; whether counts exclude a match
//	queue.go, tree.go            a heap with removal; candidates in order of a number
//	plan.go                      a profile, prepared for the search; the ages at which something changes
//	candidate.go, admission.go   a ticket, prepared for the search; why it is no candidate
//	rules.go, rules_KIND.go      what all rules have, and one kind a file; fold.go: one number of many
//	inquiry.go, inquiry_*.go     why one ticket has no match, for match/explain
//
// Where the search is not exact: it gives up after its steps are used up, looks at no more than 2,048 candidates for a
// seed, and does not choose which of the players who may have an optional role get it. A search that ran out of steps
// is repeated three times within a second, with more steps and other random orders. Steps by the mean age of a match
// are noticed within a second; all others at their moment.
package decide
