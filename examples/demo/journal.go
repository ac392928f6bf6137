package main

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// mood is how an event feels, for its colour.
type mood int

const (
	calm mood = iota
	good
	bad
)

// event is a line of the ticker.
type event struct {
	at   time.Duration // since the play began
	mood mood
	text string
}

// journal is what happened. Safe for concurrent use.
type journal struct {
	begun time.Time
	heard func(event) // told of each event, one at a time

	mu     sync.Mutex
	events []event
}

func (j *journal) sayf(m mood, format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	e := event{time.Since(j.begun), m, fmt.Sprintf(format, args...)}
	j.events = append(j.events, e)
	j.heard(e)
}

func (j *journal) all() []event {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.events)
}
