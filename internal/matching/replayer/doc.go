// Package replayer reads recorded tickets and matches for match/replay, and turns its reports into
// tables and a page.
//
//	history.go  the tickets of match_history and ticket_history, in pages
//	waiting.go  the tickets that still wait
//	decode.go   rows into tickets; hashed.go: which rules a hashed history cannot replay
//	table.go    a report as lines of a table
//	page.go     a report as a page, page.html; plot.go: its plots
package replayer
