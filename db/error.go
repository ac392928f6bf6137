package db

import "github.com/lattice-director/director/db/internal/frame"

// classify returns the error that callers get of one of pgx. Every method of the store returns its errors through it.
func classify(err error) error { return frame.Classify(err) }
