package play_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/matching/watch"
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

func (s *changingTicket) PlayerTicket(context.Context, string, string, string) (db.PlayerTicket, error) {
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

func (s *changingTicket) SettledSince(ctx context.Context, _ string, _ db.SettledPoint) (db.SettledPage, error) {
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

func (s *changingTicket) TicketEventsSince(context.Context, string, db.SettledPoint) (db.TicketEventsPage, error) {
	return db.TicketEventsPage{}, nil
}

// Pins a change whose one signal was used up by a reading that failed: a long poll ended with 503, and a stream learned
// of the end of its ticket never.
func TestAReadingThatFailsLosesNoChange(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/tickets/x?wait=30s", "/tickets/x/events"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			s := &changingTicket{firstRead: make(chan struct{})}
			hub := watch.New(s, "global", 1, nil, nil)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			var running sync.WaitGroup
			running.Go(func() { _ = hub.Run(ctx) })
			e := engine(t)
			play.MountTickets(e, e, play.Tickets{Store: s, Hub: hub, Region: "global", Stopping: ctx.Done()})
			r := httptest.NewRequest(http.MethodGet, path, nil)
			r.Header.Set("Authorization", "Bearer x")
			w := httptest.NewRecorder()
			e.ServeHTTP(w, r)
			require.Equal(t, http.StatusOK, w.Code, w.Body)
			require.Contains(t, w.Body.String(), `"state":"expired"`)
			require.NoError(t, ctx.Err())
			cancel()
			running.Wait()
		})
	}
}
