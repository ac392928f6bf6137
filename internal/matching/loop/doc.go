// Package loop runs the director loop: it decides which queued tickets become matches, and commits each match together
// with its session, seats and assignments. Any number of workers run it. One of them owns each profile and decides for
// it; the others own other profiles, and take over those of a worker whose lease expires.
//
// What lives elsewhere: match/decide decides (pure), db/match_commit.go commits, db/loop_*.go reads the queue and keeps
// the owners, internal/matching/ticketbody decodes tickets.
//
// Following the queue:
//
//	queue.go          the tickets of the queue as this worker knows them, and how it learns of changes
//	queue_load.go     reading all of them, at the beginning and to compare them
//	entry.go          one ticket, and the tickets of a profile
//	store.go          what the loop needs of the database; every call is bounded and named
//
// Owning profiles:
//
//	owner.go          which profiles this worker owns and gives up, and its lease; adopt.go takes others, some at a time
//	profile.go        one owned profile: what decides for it, and what it has under way
//	rosters.go        the open matches that its newcomers may join; hosts.go: the game regions with servers
//
// Deciding:
//
//	decider.go        an engine, with the changes that it has not seen, and a turn of it
//	turns.go          runs turns on a few goroutines, and takes what they decided
//	shadow.go         another version that decides beside it, and commits nothing
//	function.go       when the match function of a profile is called, and its result; function_call.go makes one call
//
// What becomes of a decision:
//
//	job.go            a decided match on its way; commit.go sends them to the database in batches, in lanes of a game region
//	outcome.go        what becomes of a match that could not be committed
//	waiting.go        matches that wait for a server, and the demand that they make
//	ready.go          matches whose players are asked first
//	historian.go      what is written after the fact: histories, and when tickets were seen
//	waiting_times.go  how long tickets waited, for estimates
//
// loop.go runs all of it; timers.go says what is due, and anew.go what the loop keeps when an error ends it.
//
// The states of a decided match:
//
//	decided ─┬─► proposed ─► accepted ─┐      (ready check)
//	         └────────────────────────┴─► committing ─┬─► committed
//	                                        ▲         ├─► waiting for a server ─► committing, or after 30 s:
//	                                        └─────────┘   decided anew
//	                                                  └─► dropped: its tickets are candidates again, or gone
//
// Everything is owned by the goroutine of [Loop.Run], except: the lease, which has a goroutine of its own so that
// nothing delays it; transactions and calls of functions, which run beside it and hand in their outcomes through a
// channel; and engines. An engine is used by the goroutine of its turn alone. The loop never touches one: it queues
// changes, and takes the results of turns.
package loop
