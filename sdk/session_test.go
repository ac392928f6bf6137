package sdk

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Every entry is reported once and in order; a report has at most one entry of each player, nothing after an end, and
// at most the size that the director accepts.
func TestBatchesKeepOrderAndBounds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := newSession(context.Background(), "eu.1")
		var all []*entry
		for i := range rapid.IntRange(0, 300).Draw(t, "entries") {
			e := &entry{kind: rapid.SampledFrom([]entryKind{joined, joined, joined, ended}).Draw(t, "kind")}
			if e.kind == joined {
				sub := fmt.Sprint(rapid.IntRange(0, 40).Draw(t, "sub"))
				e.seat = &Admission{Sub: strings.Repeat("<", rapid.IntRange(1, 200).Draw(t, "length")) + sub,
					TokenID: fmt.Sprint(i), connectionName: strings.Repeat("c", 26)}
			}
			all = append(all, e)
		}
		s.queuedEntries = append(s.queuedEntries, all...)
		var sent []*entry
		for len(s.queuedEntries) > 0 {
			batch := s.beginBatch()
			require.NotEmpty(t, batch)
			size, subs := 0, map[string]bool{}
			for i, e := range batch {
				size += e.jsonSize()
				if e.kind == ended {
					require.Equal(t, len(batch)-1, i)
					require.Zero(t, countJoins(batch...))
					continue
				}
				require.False(t, subs[e.seat.Sub])
				subs[e.seat.Sub] = true
			}
			require.LessOrEqual(t, size, maxReportBytes)
			sent = append(sent, batch...)
		}
		require.Equal(t, all, sent)
	})
}

// Tokens are remembered for as long as they verify, and no longer: memory must not grow with the server's uptime.
func TestSpentTokensAreForgottenInTime(t *testing.T) {
	t.Parallel()
	s, now := newSpentTokens(), time.Now()
	for i := range 10_000 {
		now = now.Add(100 * time.Millisecond)
		_, ok := s.spendToken(fmt.Sprint(i), now.Add(2*time.Minute), now)
		require.True(t, ok)
	}
	require.Less(t, len(s.tokenByID), 2*1800+1024)
	_, ok := s.spendToken("9999", now, now)
	require.False(t, ok)
	s.restoreToken("9999")
	_, ok = s.spendToken("9999", now, now)
	require.True(t, ok)
}

// A redemption whose outcome is unknown is retried with the same connection name: with another one the director would
// refuse it as a replay.
func TestARestoredTokenKeepsItsConnection(t *testing.T) {
	t.Parallel()
	s, now := newSpentTokens(), time.Now()
	first, _ := s.spendToken("a", now.Add(time.Minute), now)
	other, _ := s.spendToken("b", now.Add(time.Minute), now)
	require.NotEqual(t, first, other)
	s.restoreToken("a")
	again, ok := s.spendToken("a", now.Add(time.Minute), now)
	require.True(t, ok)
	require.Equal(t, first, again)
}

// While the director is unreachable, waiting joins take memory. Their number is bounded, and the bound frees up
// afterwards.
func TestPendingJoinsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		life, end := context.WithCancel(t.Context())
		defer end()
		var back atomic.Bool
		b := newSeatReporter(life, Options{}.withDefaults(),
			func(context.Context, string, []*entry) (seatsAnswer, error) {
				if !back.Load() {
					return seatsAnswer{}, &unreachableError{io.EOF}
				}
				return seatsAnswer{}, ErrNotFound
			})
		join := func(i int) error {
			seat := &Admission{Sub: fmt.Sprint(i)}
			return b.enqueueEntry("eu.1", &entry{kind: joined, seat: seat, resultQueue: make(chan error, 1)})
		}
		for i := range maxPendingJoins {
			require.NoError(t, join(i))
		}
		synctest.Wait()
		require.ErrorIs(t, join(-1), ErrBusy)
		<-time.After(time.Minute)
		require.ErrorIs(t, join(-1), ErrBusy)
		back.Store(true)
		require.NoError(t, b.flushReports(t.Context()))
		require.Zero(t, b.pendingJoins)
		require.NoError(t, join(0))
		require.NoError(t, b.flushReports(t.Context()))
	})
}
