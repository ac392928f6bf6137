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
// Which file holds what, from what drives a decision down to what it is made of. A file uses only those below it:
//
//	decide.go                    a whole decision over given tickets
//	run.go                       one turn of searching: dirty seeds, the sweep, and when the next turn is
//	join.go, roster.go           joining an open match; an open match as the search sees it
//	change.go                    the calls that change the candidates and regions
//	describe.go, proposal.go     what a proposal says about its match; the types of a proposal
//	prefer.go                    the match whose preferences weigh most
//	trade.go                     what a match costs its players, and when it is due
//	attempt.go                   the steps, random numbers and regions of one search
//	seeds.go, sweep.go           which seeds a change makes dirty; the sweep over the others
//	engine.go                    the candidates of a profile, and what the engine keeps beside them
//
//	find.go                      how a match is searched around a seed
//	fill.go                      filling teams in random orders, and changes that bring what is no match nearer to one
//	place.go, balance.go         parties into teams; exchanges until the rules hold
//	even.go                      teams made as equal as the rules allow
//	units.go                     what stays in one team
//	pull.go                      the choices, taken from the queue as the search asks for them
//	refuse.go                    why a ticket cannot be in a line-up
//	judge.go                     the rules, judged over a line-up with its teams and roles
//	search.go                    what a search keeps
//	choices.go, variety.go       the candidates for a seed, in its order; places among them for rare values
//
//	bucket.go, windows.go        who may meet at all; whose window holds a newcomer
//	demand.go                    whether counts exclude a match
//	walk.go, tree.go, queue.go   candidates outward from a number; in order of a number; a heap with removal
//
//	completer.go                 what match functions found
//	admission.go                 why a ticket is no candidate
//	prepare.go                   a ticket, prepared for the search
//	compile*.go                  a profile, prepared for the search
//	regions.go, preferred.go     game regions that suit everybody; what preferences weigh
//	plan.go, pivot.go, column.go a prepared profile; the number that candidates are sorted by; the values that rules compare
//	rules.go, rules_KIND.go      what all rules have, and one kind a file, or two that are alike
//	roles.go                     players into roles
//	lineup.go, scope.go          tickets that may become a match; whose numbers a rule takes
//	candidate.go                 a ticket as the search compares it
//	fold.go, lot.go              one number of many; random numbers that never change
//
//	inquiry*.go                  why one ticket has no match, for match/explain; findings.go has its result, shortlist.go
//	                             the candidates that it keeps
//
// Where the search is not exact: it gives up after its steps are used up, looks at no more than 2,048 candidates for a
// seed, and does not choose which of the players who may have an optional role get it. A search that ran out of steps
// is repeated three times within a second, with more steps and other random orders. Steps by the mean age of a match
// are noticed within a second; all others at their moment.
package decide
