// Package loop runs the director loop: it decides which queued tickets become matches, and commits each match together
// with its session, seats and assignments. Any number of workers run it. One of them owns each profile and decides for
// it; the others own other profiles, and take over those of a worker whose lease expires.
//
// What lives elsewhere: match/decide decides (pure), db/match_commit.go commits, db/loop_*.go reads the queue and keeps
// the owners, internal/matching/ticketbody decodes tickets.
//
// loop.go is what a worker keeps in memory. Below it are its parts, which know nothing of the loop; above it are the
// steps, and run.go runs all of them.
//
// Running:
//
//	run.go            what is done in which order; anew.go: what stays in memory after an error ended it
//	wakes.go          the notifications that end a sleep; timers.go: what is due when
//
// Following the queue:
//
//	queue.go          the tickets of the queue as this worker knows them; queue_follow.go reads what changes in it
//	queue_load.go     reads all tickets at the beginning; queue_compare.go compares them now and then
//	entry.go          one ticket; index.go: the tickets of a profile
//	candidates.go     passes changes of the queue on to the profiles that may take the ticket
//	store.go          what the loop needs of the database; every call is bounded and named
//
// Owning profiles:
//
//	owner.go          which profiles this worker owns and gives up; adopt.go takes others, some at a time
//	lease.go          the sign of life of this worker
//	profile.go        one owned profile: what decides for it, and what it has under way
//	rosters.go        the open matches that its newcomers may join
//	hosts.go          the game regions with servers, as far as they are known; hosts_read.go reads them
//
// Deciding:
//
//	deciding.go       which profiles have a turn now, and what is done with what they decided
//	turns.go          runs turns on a few goroutines, first come, first served
//	decider.go        an engine, with the changes that it has not seen (change.go), and a turn of it
//	shadow.go         a version that decides beside the live one, and commits nothing; shadow_turns.go gives it turns
//	function.go       when the match function of a profile is called; function_call.go makes one call, and
//	                  function_run.go begins calls and takes their results
//
// What becomes of a decision:
//
//	decision.go       whether a decided match is still valid, and whether its players are asked first
//	job.go            a decided match on its way; new_job.go makes it
//	commit.go         sends jobs to the database in batches, in lanes of a game region
//	outcome.go        what becomes of a match that was sent
//	give_back.go      how the tickets of a dropped match become candidates again; marks.go: those marked by a cycle
//	waiting.go        matches that wait for a server; waiting_serve.go commits them, and records their demand
//	ready.go          matches whose players are asked first
//	historian.go      what is written after the fact: histories, and when tickets were seen (sightings.go)
//	waiting_times.go  how long tickets waited, for estimates
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
