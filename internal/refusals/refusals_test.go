package refusals

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/base/wait"
	"github.com/lattice-director/director/internal/testkit/must"
)

// table is what a store has recorded.
type table struct {
	mu     sync.Mutex
	rows   []db.Refusals
	fail   error
	during func() // called once, while a batch is recorded
}

func (s *table) RecordRefusals(_ context.Context, all []db.Refusals) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if during := s.during; during != nil {
		s.during = nil
		during()
	}
	if s.fail == nil {
		s.rows = append(s.rows, all...)
	}
	return s.fail
}

func newBook(t *testing.T, s *table) *Book {
	t.Helper()
	return must.Get(New(s, prometheus.NewRegistry()))(t)
}

func of(player, code string) fault.Refusal {
	return fault.Refusal{Player: player, Call: "POST /matchmake", Code: code}
}

// Repeated refusals are one row with a count, the latest text, and ages that count from when they happened.
func TestRepeatedRefusalsAreOneRow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &table{}
		b := newBook(t, s)
		for i := range 3 {
			r := of("ann", "no_capacity")
			r.Detail = "try " + strconv.Itoa(i)
			b.Record(r)
			require.True(t, wait.For(t.Context(), 100*time.Millisecond))
		}
		b.Record(of("ann", "unavailable"))
		require.True(t, wait.For(t.Context(), time.Second))
		require.NoError(t, b.Flush(t.Context()))
		latest := of("ann", "no_capacity")
		latest.Detail = "try 2"
		require.Equal(t, []db.Refusals{
			{Latest: latest, Times: 3, FirstAge: 1300 * time.Millisecond, LastAge: 1100 * time.Millisecond},
			{Latest: of("ann", "unavailable"), Times: 1, FirstAge: time.Second, LastAge: time.Second},
		}, s.rows)
		require.NoError(t, b.Flush(t.Context()))
		require.Len(t, s.rows, 2, "what was recorded is not recorded again")
	})
}

// An outage loses nothing: what could not be recorded is merged with what happens meanwhile, also during the failing
// call.
func TestAnOutageOfTheDatabaseLosesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &table{fail: &fault.Error{Kind: fault.Unavailable}}
		b := newBook(t, s)
		b.Record(of("ann", "unavailable"))
		s.during = func() { b.Record(of("ann", "unavailable")) }
		for range 60 {
			require.True(t, wait.For(t.Context(), time.Second))
			require.Error(t, b.Flush(t.Context()))
		}
		b.Record(of("ann", "unavailable"))
		s.fail = nil
		require.NoError(t, b.Flush(t.Context()))
		require.Len(t, s.rows, 1)
		require.Equal(t, 3, s.rows[0].Times)
		require.Equal(t, time.Minute, s.rows[0].FirstAge)
		require.Zero(t, s.rows[0].LastAge)
		require.Empty(t, b.pendingByKey)
	})
}

// A batch that the database refuses is lost, and counted: kept, it would stop all others for ever.
func TestARefusedBatchIsDropped(t *testing.T) {
	t.Parallel()
	s := &table{fail: errors.New("invalid byte sequence")}
	b := newBook(t, s)
	b.Record(of("ann", "unavailable"))
	require.Error(t, b.Flush(t.Context()))
	require.Empty(t, b.pendingByKey)
	require.InDelta(t, 1, testutil.ToFloat64(b.lostRefusals), 0)
}

// Very many players that are refused make neither the memory nor a statement grow without a bound.
func TestManyPlayersAreBounded(t *testing.T) {
	t.Parallel()
	s := &table{}
	b := newBook(t, s)
	for i := range 3 * maxPending {
		b.Record(of(strconv.Itoa(i), "no_capacity"))
	}
	b.Record(of("waits", "not_admitted")) // no refusal
	b.Record(of("0", "no_capacity"))      // one that is known still counts
	require.Len(t, b.pendingByKey, maxPending)
	require.InDelta(t, 2*maxPending, testutil.ToFloat64(b.lostRefusals), 0)
	require.NoError(t, b.Flush(t.Context()))
	require.Len(t, s.rows, flushRows)
	require.Equal(t, 2, s.rows[0].Times)
	require.Equal(t, strconv.Itoa(flushRows-1), s.rows[flushRows-1].Latest.Player, "the oldest first")
	for range maxPending/flushRows + 1 {
		require.NoError(t, b.Flush(t.Context()))
	}
	require.Len(t, s.rows, maxPending)
	require.Empty(t, b.pendingOrder)
}

func FuzzTextsFitIntoThePage(f *testing.F) {
	f.Add("ann", "a\x00b\xff")
	f.Add("", strings.Repeat("ü", maxDetail))
	f.Fuzz(func(t *testing.T, player, detail string) {
		b, err := New(&table{}, nil)
		require.NoError(t, err)
		b.Record(fault.Refusal{Player: player, Detail: detail})
		for _, e := range b.pendingByKey {
			require.LessOrEqual(t, len(e.latest.Player), maxText)
			require.LessOrEqual(t, len(e.latest.Detail), maxDetail)
			require.True(t, utf8.ValidString(e.latest.Player) && utf8.ValidString(e.latest.Detail))
			require.NotContains(t, e.latest.Detail+e.latest.Player, "\x00")
		}
	})
}
