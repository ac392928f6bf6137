package batch

import (
	"context"
	"log/slog"
	"time"
)

// Observer is notified of each batch (how many calls it decided, how long the oldest of them had waited, how long the
// batch took) and of each panic, which fails the batch in which it happens. Methods are called from many goroutines.
type Observer interface {
	Batch(group string, calls int, waited, took time.Duration)
	Panic(group string)
}

// Errors is what the errors of a database mean to a group.
type Errors struct {
	// IsConflict reports that the transaction lost against another one and that a retry is all it takes.
	IsConflict func(error) bool
	// IsData reports that the database refused the data of at least one call of the batch.
	IsData func(error) bool
	// IsOfKey reports that each call with the key would fail with this error of the data, so that halves are not tried.
	// May be nil.
	IsOfKey func(key string, err error) bool
	// Classify returns the error that callers get.
	Classify func(error) error
	// Unavailable returns the error that callers get when their call was not decided.
	Unavailable func(detail string, cause error) error
}

// Config is what all groups of a store have in common.
type Config struct {
	MaxWaiting      int           // calls that may wait in one group
	MaxWaitingBytes int           // memory that the requests of these calls may take
	BatchTimeout    time.Duration // how long a batch may take
	Errors          Errors
	// Reconsider is called with the error of a call after its batch, in the goroutine of the caller, and may wait. If
	// Reconsider returns nil, the call goes into another batch; otherwise the caller gets the error that Reconsider
	// returns. May be nil.
	Reconsider func(ctx context.Context, err error) error
	Observer   Observer // may be nil
	Log        *slog.Logger
}

// Limits bounds the batches of one kind of call.
type Limits[Req any] struct {
	MaxWeight  int           // the most that the calls of a batch weigh together
	CallWeight func(Req) int // the weight of a call
	CallBytes  func(Req) int // about how much memory a waiting call takes
}

// One is the CallWeight of calls that all weigh the same.
func One[Req any](Req) int { return 1 }
