// Package cycle runs Open Match's FetchMatches: the callers on all replicas of a region propose matches together, one
// evaluator accepts the best of them, and one replica commits these, so that no ticket is in two matches.
//
// Where is a ticket matched? A match function proposes matches (outside this program), the evaluator chooses among them
// (evaluation.go, [match.Evaluate] by default), and the owner of the cycle commits the chosen ones (commit.go, which
// calls [db.Store.AcceptMatches]; [match.Keep] decides there under locks).
//
// # A cycle
//
// A region runs one cycle at a time. It is a row of match_cycles, which is the source of truth for its state. The
// replica that inserts the row owns the cycle; the other replicas with callers in it follow it.
//
//	  JoinCycle
//	      │
//	      ▼
//	registering    callers join, propose, and receive matches
//	      │        Options.Registration is over
//	      ▼
//	 collecting    nobody joins
//	      │        all match functions have ended, or Options.Collection is over
//	      ▼
//	 evaluating    nobody proposes; the evaluator has all its input
//	      │        the evaluator has ended and what it accepted is committed
//	      ▼
//	    ended      the next cycle may begin
//
// The owner renews a lease on the row. When the lease expires, a follower takes the cycle over in the state in which it
// is. A cycle also ends from any state when it fails for all callers, and from collecting on when all callers have
// left. Proposals of followers and verdicts on them are rows, too; match_cycles, match_callers and match_proposals are
// unlogged tables, so a crash of Postgres ends the cycle with an error.
//
// # A call
//
// A call of [Engine.Fetch] has a state that only advances (call.go), under the call's own lock:
//
//	waiting ──▶ proposing ──▶ proposed ──▶ ended ──▶ left
//	                 │            │          ▲
//	                 └────────────┴─▶ failing┘
//
//	waiting    queued for a cycle                                 set by Fetch
//	proposing  in a cycle; the match function runs                set by the round, when the call has joined
//	proposed   the match function has ended                       set by its goroutine, or by the round at the time limit
//	failing    the call has failed by itself; a decision about    set by its match function's goroutine
//	           its matches may still be under way
//	ended      the result is known; matches may be undelivered    set by the round
//	left       Fetch has returned                                 set by Fetch; possible from every state
//
// # Files
//
// engine.go and options.go are the engine, resources.go is what it shares with its rounds and calls. join.go puts calls
// into cycles and runs these. call.go and proposals.go are one call, caller.go is what the callers of the package
// implement.
// round.go is a cycle as this replica takes part in it: one goroutine, which wakes up, takes a step of its role, and
// waits; take_part.go chooses the role. One role is owner.go, whose steps are in owner_run.go (collect.go takes
// proposals, evaluation.go runs the evaluator, queue.go and commit.go commit what it accepts, lease.go holds the row),
// the other follower.go (report.go writes proposals for the owner, and takes calls out). A follower that takes the
// cycle over becomes its owner.
//
// A replica that dies loses only its own callers. Tickets that were marked pending for them are free again after
// PendingFor of [db.Timing].
package cycle
