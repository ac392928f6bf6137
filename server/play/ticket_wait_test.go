package play_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/matching/watch"
	"github.com/lattice-director/director/internal/testkit/background"
	"github.com/lattice-director/director/server/play"
)

// changingTicket is a ticket whose second reading fails and whose third one finds that it has expired, and the feed that
// signals a change of it once.
type changingTicket struct {
	watch.Store
	ticketSink
	readings, feedReadings atomic.Int64
	firstRead              chan struct{} // closed by the first reading of the ticket
}

func (s *changingTicket) SeePlayerTicket(context.Context, string, string, string) (db.PlayerTicket, error) {
	switch s.readings.Add(1) {
	case 1:
		close(s.firstRead)
		return db.PlayerTicket{ID: "x", State: db.TicketQueued, Party: []string{"alice"}}, nil
	case 2:
		return db.PlayerTicket{}, fault.NewUnavailable("the database starts", nil)
	}
	return db.PlayerTicket{ID: "x", State: db.TicketExpired, StateVersion: 1, Party: []string{"alice"}}, nil
}

func (s *changingTicket) TicketEvents(context.Context, string, string, int) ([]db.TicketEvent, error) {
	return nil, nil
}

func (s *changingTicket) Now() time.Time { return time.Now() }

func (s *changingTicket) Subscribe(string, string) (wake <-chan struct{}, stop func()) {
	return nil, func() {}
}

func (s *changingTicket) SettledSince(ctx context.Context, _ string, _ db.FeedPoint) (db.SettledPage, error) {
	// The first reading of the feed is behind that of the ticket, and wakes all followers. There is no other.
	after := s.firstRead
	if s.feedReadings.Add(1) > 1 {
		after = nil
	}
	select {
	case <-after:
		return db.SettledPage{}, nil
	case <-ctx.Done():
		return db.SettledPage{}, ctx.Err()
	}
}

func (s *changingTicket) TicketEventsSince(context.Context, string, db.FeedPoint) (db.TicketEventsPage, error) {
	return db.TicketEventsPage{}, nil
}

// waitFor makes a call that waits for a changing ticket, until it is answered or ctx has ended, which it returns.
// checkHere gets the ticket.
func waitFor(t *testing.T, path string, w http.ResponseWriter, checkHere func(*changingTicket) error) context.Context {
	t.Helper()
	s := &changingTicket{firstRead: make(chan struct{})}
	hub := watch.New(s, "global", 1, nil, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	t.Cleanup(cancel)
	background.Loop(t, func(ctx context.Context) { _ = hub.Run(ctx) })
	e := engine(t)
	tickets := play.Tickets{Store: s, Hub: hub, Region: "global", Stopping: ctx.Done()}
	if checkHere != nil {
		tickets.CheckHere = func(string) error { return checkHere(s) }
	}
	play.MountTickets(e, e, tickets)
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Header.Set("Authorization", "Bearer x")
	e.ServeHTTP(w, r)
	return ctx
}

// Pins a change whose one signal was used up by a reading that failed: a long poll ended with 503, and a stream learned
// of the end of its ticket never.
func TestAReadingThatFailsLosesNoChange(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/tickets/x?wait=30s", "/tickets/x/events"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			w := httptest.NewRecorder()
			ctx := waitFor(t, path, w, nil)
			require.Equal(t, http.StatusOK, w.Code, w.Body)
			require.Contains(t, w.Body.String(), `"state":"expired"`)
			require.NoError(t, ctx.Err())
		})
	}
}

// Pins 404 for a ticket whose universe moves to another cell while a call waits for it: its rows are gone here.
func TestACallThatWaitsIsSentToTheOtherCell(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	ctx := waitFor(t, "/tickets/x?wait=30s", w, func(s *changingTicket) error {
		if s.readings.Load() == 0 {
			return nil
		}
		return fault.NewElsewhere(&fault.Cell{Name: "europe", Region: "global",
			Addresses: map[string]string{fault.ListenerAPI: "https://eu.example"}})
	})
	require.Equal(t, http.StatusMisdirectedRequest, w.Code, w.Body)
	require.Equal(t, "https://eu.example", w.Header().Get("Director-Cell"))
	require.NoError(t, ctx.Err())
}
