// Package opsview defines what operators see: for each view of schema ops a struct with the view's columns, what
// selects its rows, and in which order they are listed. The command line, the console and doctor read the views by
// these definitions, and a new column of a view is one field here.
//
//	view.go        View, its pages, and the statement that it reads by
//	filter.go      what filters are made of
//	all.go         AllViews, for the test that compares each struct with its view in the database
//	agents.go      Rivalis game servers, their rooms, commands to them
//	fleet.go       game servers, regions, drains
//	enrolments.go  enrolments and credentials of game servers that register themselves
//	evacuations.go evacuations, and who went where in them
//	beacons.go     where clients measure latencies
//	cells.go       other cells, and regions that move
//	sessions.go    sessions and seats, open and past
//	players.go     what is known of a player
//	valves.go      valves, and the places in login queues
//	queue.go       the queue of tickets, and profiles
//	matches.go     matches, and how good they are
//	lobby.go       the realtime lobby, and keys of its projects
//	deployments.go deployments, pools, providers
//	planned.go     schedules and forecasts of pools
//	capacity.go    what regions can take, and the requests that wait for servers
//	events.go      the log of events; event_feed.go reads it in order, without gaps
//	webhooks.go    webhooks and their deliveries
//	erasures.go    players that are being erased
//	health.go      replicas, workers, Postgres, invariants
//	keys.go        signing keys, key-encryption keys
//
// Tags of fields: db is the column; sql an expression over the view's columns, where the field is not the column as it
// is; json the name in the output of the command line, "-" for a column that it does not print.
//
// A new view: a struct, a View, and its entry in AllViews.
package opsview
