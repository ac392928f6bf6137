// Package loop runs the director loop: it decides which queued tickets become matches, and commits each match together with
// its session, seats and assignments. Any number of workers run it. One of them owns each profile and decides for it; the
// others own other profiles, and take over those of a worker whose lease expires.
//
// What lives elsewhere: match/decide decides (pure), db/match_commit.go commits, db/loop_*.go reads the queue and keeps the
// owners, internal/matching/ticketbody decodes tickets.
//
//	owner.go    which profiles this worker owns, and gives up; adopt.go takes others, some at a time
//	queue.go    the tickets of the queue as this worker knows them, and how it learns of changes; reconcile.go compares them
//	entry.go    one ticket; index.go finds those of a profile
//	profile.go  one owned profile: what decides for it, and what it has under way
//	decider.go  an engine, with the changes that it has not seen (change.go), and a turn of it
//	turns.go    runs turns on a few goroutines; turn.go begins them and takes what they decided
//	shadow.go   another version that decides beside it, and commits nothing
//	function.go when the match function of a profile is called; function_call.go makes one call, function_result.go handles its result
//	commit.go   sends decided matches to the database in batches, one game region at a time
//	outcome.go  what becomes of a match that could not be committed
//	waiting.go  matches that wait for a server, and the demand that they make
//	ready.go    matches whose players are asked first
//	anew.go     what the loop keeps when an error ends it; reading.go bounds and names the calls of the database
//
// The states of a decided match:
//
//	decided ─┬─► proposed ─► accepted ─┐      (ready check)
//	         └────────────────────────┴─► committing ─┬─► committed
//	                                        ▲         ├─► waiting for a server ─► committing, or after 30 s:
//	                                        └─────────┘   decided anew
//	                                                  └─► dropped: its tickets are candidates again, or gone
//
// Everything is owned by the goroutine of [Loop.Run], except: the lease, which has a goroutine of its own so that nothing delays it;
// transactions and calls of functions, which run beside it and hand in their outcomes through a channel; and engines. An engine is used by
// the goroutine of its turn alone. The loop never touches one: it queues changes, and takes the results of turns.
package loop
