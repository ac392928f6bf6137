// Package db holds the state. Each decision that two replicas could make differently is made here, in one SQL statement
// or in one transaction over the statements of queries/. A file of queries/ has a file of the same name here, or in
// db/provision.
//
// Where is …?
//
//	game servers               instance*.go: registration, heartbeats, drains, reaping; catalogue.go: which modes exist
//	evacuations                evacuation*.go: of lost regions and hosts; who asked with a ticket waits again, others are seated
//	regions that move          region_move*.go: to another cell, between two databases; region_hold.go: the calls that wait meanwhile
//	who may register           enrolment.go: credentials of game servers that register themselves
//	who is admitted            admission.go, login*.go, valve_act.go: valves, the gate of every way in, places in login queues
//	placement of players       placement*.go, seat*.go, session*.go, demand*.go (the requests that wait for a server)
//	connect tokens             netcode*.go
//	pools and their servers    db/provision; deployment_join.go: the registration of a started server
//	tickets of Open Match      ticket*.go, assignment*.go, backfill*.go, cycle*.go; pool_query.go: which tickets a pool of a profile has
//	the way into the queue     queue*.go, of requests, sessions and rooms; queue.go has the calls from top to bottom
//	tickets of players         player_ticket*.go
//	latencies                  latency.go: where clients measure, and what is known of players; queue_latency.go
//	matches of profiles        match*.go, loop*.go (which worker decides), profile*.go, history.go, replay.go, explain.go
//	the realtime lobby         lobby*.go, realtime*.go; its rules are in lobby/
//	Rivalis processes          agent*.go, command*.go, room*.go, roster.go, replica.go
//	keys, projects, secrets    key.go, project*.go, agent_key.go
//	what operators read        db/opsview, a struct for each view; ops_read.go, ops_sums.go
//	what was true at a time    as_of.go
//	what operators change      console_act.go, instance*.go, profile*.go, db/provision
//	webhooks                   webhook*.go: who delivers for one, and how far it has come; internal/webhooks sends
//	what is known of players   erase*.go removes it from all tables, player_export.go returns it
//	requests and refusals      idempotency.go, refusal.go, request.go
//	the frame                  store*.go, notify.go, clock.go; db/internal has what the parts share. store.go is at the
//	                           bottom, store_open.go, which makes the batches of all capabilities, at the top
//	the statements             db/query, which sqlc generates from queries/; schema.sql is the schema after all migrations
//
// Why these are not packages of their own: a match that a profile makes seats its players (match_commit.go with
// placement), opens Rivalis rooms (room_session.go with command_send.go), and ends the waiting of lobby sessions
// (realtime_ticket*.go), all in one transaction; a lobby's queue call writes tickets in the transaction that changes
// the party (lobby_queue.go with queue.go). Packages would have to know each other's locks and their order. No hot
// transaction crosses what operators declare and workers start, so that is db/provision.
//
// A placement begins in placement.go; placement_open.go decides the requests that must wait for locks. Both run the
// steps of placement_transaction.go, top to bottom: lock players and read (placement_lock.go), find seats that the
// players have already (placement_resume.go, pure), choose a session for each party (placement_candidates.go,
// db/internal/pack, pure), write.
//
// Frequent calls go through a group: the calls that are waiting at one time share one transaction. Protocols live in
// server/, loops in worker/, tokens in token/, what runs game servers in provider/; this package knows none of them.
package db
