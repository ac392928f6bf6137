// Package outage logs the failures of calls that are repeated: an outage is two log lines, its beginning and its end,
// not one a second.
package outage

import (
	"context"
	"log/slog"
	"sync"
)

// Log logs outages of several calls, each by its name. Make it with [New]. Safe for concurrent use.
type Log struct {
	log *slog.Logger

	mu          sync.Mutex
	callsByName map[string]*Call
}

// New returns a Log that writes to log.
func New(log *slog.Logger) *Log { return &Log{log: log, callsByName: map[string]*Call{}} }

// Report records the outcome of a call; err is nil for a success.
func (l *Log) Report(ctx context.Context, call string, err error) { l.Call(call).Report(ctx, err) }

// Call returns the call of a name, whose outages are logged as "failing" and "works again".
func (l *Log) Call(name string) *Call {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.callsByName[name]
	if c == nil {
		c = NewCall(l.log.With(slog.String("call", name)), "failing", "works again")
		l.callsByName[name] = c
	}
	return c
}

// Call logs the outages of one call. Make it with [NewCall]. Safe for concurrent use.
type Call struct {
	log                      *slog.Logger
	beginMessage, endMessage string
	mu                       sync.Mutex
	outageRunning            bool
}

// NewCall returns a call with the messages of the beginning and of the end of its outages. The first says what stops
// meanwhile.
func NewCall(log *slog.Logger, begins, ends string) *Call {
	return &Call{log: log, beginMessage: begins, endMessage: ends}
}

// Report logs the first failure and the first success after it; err is nil for a success. The outcome of a call whose
// context has ended does not count.
func (c *Call) Report(ctx context.Context, err error) {
	// The process stops: the call was cut off, and its error says nothing about an outage.
	if ctx.Err() != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err != nil && !c.outageRunning:
		//nolint:sloglint // given once, at its making
		c.log.LogAttrs(ctx, slog.LevelWarn, c.beginMessage, slog.Any("error", err))
	case err == nil && c.outageRunning:
		c.log.LogAttrs(ctx, slog.LevelInfo, c.endMessage) //nolint:sloglint // the same
	}
	c.outageRunning = err != nil
}
