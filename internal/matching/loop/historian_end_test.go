package loop

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/wait"
)

// slowHistory is a store whose writes of history wait until they may end.
type slowHistory struct {
	Store
	mayEnd chan struct{}
	kept   atomic.Int32
}

func (s *slowHistory) KeepTickets(_ context.Context, _ string, tickets []db.LeftTicket) (int, error) {
	<-s.mayEnd
	s.kept.Add(int32(len(tickets)))
	return 0, nil
}

// Pins a worker that stopped during a write of history, and lost what was matched since that write had begun.
func TestHistoryOfTheLastWriteFollows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &slowHistory{mayEnd: make(chan struct{})}
		h := newHistorian(Options{Store: s, Log: slog.New(slog.DiscardHandler)},
			prometheus.NewCounter(prometheus.CounterOpts{Name: "lost_total", Help: "Lost records."}))
		end := h.startWriting(t.Context())
		h.keepMatched(make([]db.LeftTicket, 1))
		wait.For(t.Context(), 2*gatherFor)
		h.keepMatched(make([]db.LeftTicket, 1))
		ended := make(chan struct{})
		go func() { end(); close(ended) }()
		synctest.Wait()
		close(s.mayEnd)
		<-ended
		require.EqualValues(t, 2, s.kept.Load())
	})
}
