// Package replayer reads recorded tickets and matches for match/replay, and turns its reports into
// tables and a page.
//
//	past.go     the input of a replay, or why there is none
//	arrivals.go the tickets of match_history and ticket_history in the order in which workers saw them
//	waiting.go  the tickets that still wait
//	history.go  what a reading needs
//	decode.go   rows into tickets; hashed.go: which rules a hashed history cannot replay
//	table.go    a report as text: a table, and lines that say more
//	page.go     a report as a page, page.html; plot.go: its plots
package replayer
