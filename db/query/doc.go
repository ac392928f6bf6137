// Package query holds the statements of queries/ as Go functions, which sqlc generates: x.sql.go from queries/x.sql,
// and the reason for a statement as its comment. pipeline.go, by hand, sends several of them in one round trip, or with
// COMMIT.
//
// It decides nothing. Package db and its parts compose transactions of these statements; others import it only for
// the few rows that a method of the store returns as they were read.
package query
