// Package roster keeps this replica's copy of a fleet of Rivalis processes, and follows its events. It knows no
// protocol.
//
// [Roster] reads changes (db.Store.RosterSince) when it is notified, at most every 5 ms, and at least every two
// seconds. It answers lists, totals and state hashes as JSON from its copy, without a database call. A change of one
// instance of 10,000 encodes and hashes only that instance. Answers that all replicas must agree on at once, such as
// whether a room exists, are read from the database and not from the roster.
//
// [Events] reads the event log once for all streams of this replica, in the order of its transactions, and replays it
// for a stream that resumes. The roster half of the package (roster.go, fleet.go, view.go, instance.go, stats.go,
// json.go) does not depend on the event half (events.go, sync.go, recent.go, stream.go, event.go).
package roster
