package sdk

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"strconv"
	"time"
)

const (
	// streamFailures is how many streams in a row may bring no state before Watch polls instead.
	streamFailures = 3
	// steadyStream is how long a stream must have lasted so that the next failure counts as the first.
	steadyStream = 10 * time.Second
)

// Watch returns a channel of the ticket's states, beginning with the current one or, after Next or an earlier Watch,
// with those that the program has missed. A waiting ticket is sent again when one of its rules widens. The channel is
// closed after a final state, when ctx ends, and after an error that a retry cannot change, which err returns once the
// channel is closed.
//
// Watch follows a stream of events and, where a stream breaks, connects again without a loss. A replica that does not
// answer within Options.AttemptTimeout is left for the next one. Where streams bring nothing, as behind a proxy that
// buffers answers, it polls.
func (q *Queued) Watch(ctx context.Context) (states <-chan QueueStatus, err func() error) {
	w := &watch{queuedTicket: q, statusOut: make(chan QueueStatus)}
	var failed error
	go func() {
		defer close(w.statusOut)
		failed = w.followTicket(ctx)
	}()
	return w.statusOut, func() error { return failed }
}

// watch is one call of [Queued.Watch].
type watch struct {
	queuedTicket     *Queued
	statusOut        chan QueueStatus
	lastPassed       *QueueStatus // the last state that was passed on; nil before the first
	statesSeen       int          // counts the states that arrived, also those that are no news
	hadInternalError bool         // a replica has answered with an internal error
}

// followTicket passes on the ticket's states until a final one.
func (w *watch) followTicket(ctx context.Context) error {
	if w.queuedTicket.lastStatus.State.Final() {
		return w.passOn(ctx, w.queuedTicket.lastStatus)
	}
	pause := newPacer(w.queuedTicket.player.apiClient.clientOptions)
	emptyStreams := 0 // in a row
	for emptyStreams < streamFailures {
		opened, seenBefore := time.Now(), w.statesSeen
		err := w.followStream(ctx)
		switch {
		case w.queuedTicket.lastStatus.State.Final():
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		}
		if retries := w.takeRetry(err); !retries {
			return err
		}
		emptyStreams++
		if w.statesSeen > seenBefore {
			emptyStreams = 0
			if time.Since(opened) >= steadyStream {
				pause.Reset()
			}
		}
		pause.noteResult(err)
		if err := sleepPause(ctx, pause); err != nil {
			return err
		}
	}
	return w.pollTicket(ctx)
}

// takeRetry reports whether another stream may work. It allows one after an internal error once, as docs/players.md
// says.
func (w *watch) takeRetry(err error) bool {
	if answer, answered := errors.AsType[*Error](err); answered && answer.Status == http.StatusInternalServerError &&
		!w.hadInternalError {
		w.hadInternalError = true
		return true
	}
	return isRetryable(err)
}

// passOn passes on a state, unless the program has it: a new stream begins with the current state.
func (w *watch) passOn(ctx context.Context, s QueueStatus) error {
	w.statesSeen++
	if p := w.lastPassed; p != nil && (s.Version < p.Version ||
		s.Version == p.Version && s.State == p.State && reflect.DeepEqual(s.Step, p.Step)) {
		return nil
	}
	w.lastPassed, w.queuedTicket.lastStatus = &s, s
	select {
	case w.statusOut <- s:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (w *watch) pollTicket(ctx context.Context) error {
	var s QueueStatus
	err := w.queuedTicket.player.callAPI(ctx,
		call{method: http.MethodGet, path: w.queuedTicket.ticketPath(""), ticket: w.queuedTicket.ticketID}, &s)
	for err == nil {
		if err = w.passOn(ctx, s); err != nil || s.State.Final() {
			return err
		}
		s, err = w.queuedTicket.Next(ctx)
	}
	return err
}

// followStream follows one stream of events until it ends, which is an error unless the last state was final.
func (w *watch) followStream(ctx context.Context) error {
	events, err := w.openStream(ctx)
	if err != nil {
		return err
	}
	defer events.close()
	for {
		var s QueueStatus
		if err := events.next(&s); err != nil {
			return err
		}
		if s.TicketID != w.queuedTicket.ticketID {
			return &unreachableError{fmt.Errorf("an event is not of ticket %s", w.queuedTicket.ticketID)}
		}
		if err := w.passOn(ctx, s); err != nil || s.State.Final() {
			return err
		}
	}
}

// openStream opens a stream at the next replica that answers.
func (w *watch) openStream(ctx context.Context) (events *eventStream, err error) {
	token, err := w.queuedTicket.player.accessToken(ctx)
	if err != nil {
		return nil, fmt.Errorf("sdk: access token: %w", err)
	}
	k := call{method: http.MethodGet, path: w.queuedTicket.ticketPath("/events"),
		ticket: w.queuedTicket.ticketID}.withToken(token)
	if w.queuedTicket.lastStatus.Version > 0 {
		k.header.Set("Last-Event-ID", strconv.Itoa(w.queuedTicket.lastStatus.Version))
	}
	c := w.queuedTicket.player.apiClient
	_, err = c.reachReplica(ctx, k, func(base string) error {
		events, err = c.openEvents(ctx, base, k)
		if replicaUnavailable(err) {
			c.clientOptions.Logger.LogAttrs(ctx, slog.LevelDebug, "a replica streams no events", slog.Any("error", err))
		}
		return err
	})
	return events, err
}
