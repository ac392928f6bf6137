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

// Whatever is queued, every entry goes out once, what concerns one player in the order it happened, never two of them in
// one report, nothing after the end in the end's report, and no report is larger than the director takes.
func TestBatchesKeepOrderAndBounds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := newRoom(context.Background(), "eu.1")
		var all []*entry
		for i := range rapid.IntRange(0, 300).Draw(t, "entries") {
			all = append(all, someEntry(t, i))
		}
		r.queue = append(r.queue, all...)
		var sent []*entry
		for len(r.queue) > 0 {
			batch := r.nextBatch()
			require.NotEmpty(t, batch)
			checkBatch(t, batch)
			sent = append(sent, batch...)
		}
		require.Equal(t, all, sent)
	})
}

func someEntry(t *rapid.T, i int) *entry {
	kind := rapid.SampledFrom([]entryKind{joined, joined, joined, ended}).Draw(t, "kind")
	if kind == ended {
		return &entry{kind: ended}
	}
	sub := fmt.Sprint(rapid.IntRange(0, 40).Draw(t, "sub"))
	return &entry{kind: kind, seat: &Admission{Sub: strings.Repeat("<", rapid.IntRange(1, 200).Draw(t, "length")) + sub, TokenID: fmt.Sprint(i), connection: strings.Repeat("c", 26)}}
}

func checkBatch(t *rapid.T, batch []*entry) {
	size, subs := 0, map[string]bool{}
	for i, e := range batch {
		size += e.size()
		if e.kind == ended {
			require.Equal(t, len(batch)-1, i)
			require.Zero(t, countJoins(batch...))
			continue
		}
		require.False(t, subs[e.seat.Sub])
		subs[e.seat.Sub] = true
	}
	require.LessOrEqual(t, size, maxReport)
}

// Tokens are remembered for as long as they verify, and no longer: the memory must not grow with the server's age.
func TestSpentTokensAreForgottenInTime(t *testing.T) {
	t.Parallel()
	s, now := newSpentTokens(), time.Now()
	for i := range 10_000 {
		now = now.Add(100 * time.Millisecond)
		_, ok := s.spend(fmt.Sprint(i), now.Add(2*time.Minute), now)
		require.True(t, ok)
	}
	require.Less(t, len(s.tokens), 2*1800+1024)
	_, ok := s.spend("9999", now, now)
	require.False(t, ok)
	s.restore("9999")
	_, ok = s.spend("9999", now, now)
	require.True(t, ok)
}

// A redemption whose outcome is unknown is retried in the name of the same connection: under another name the director
// would take it for a replay.
func TestARestoredTokenKeepsItsConnection(t *testing.T) {
	t.Parallel()
	s, now := newSpentTokens(), time.Now()
	first, _ := s.spend("a", now.Add(time.Minute), now)
	other, _ := s.spend("b", now.Add(time.Minute), now)
	require.NotEqual(t, first, other)
	s.restore("a")
	again, ok := s.spend("a", now.Add(time.Minute), now)
	require.True(t, ok)
	require.Equal(t, first, again)
}

// While the director is away, players at the door take memory: there is a bound to how many, and it is lifted again.
func TestDoorIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		life, end := context.WithCancel(t.Context())
		defer end()
		var back atomic.Bool
		b := newSeatBook(life, Options{}.withDefaults(), func(context.Context, string, []*entry) (seatsAnswer, error) {
			if !back.Load() {
				return seatsAnswer{}, &unreachableError{io.EOF}
			}
			return seatsAnswer{}, ErrNotFound
		})
		knock := func(i int) error {
			seat := &Admission{Sub: fmt.Sprint(i)}
			return b.enqueue("eu.1", &entry{kind: joined, seat: seat, verdict: make(chan error, 1)})
		}
		for i := range maxWaitingJoins {
			require.NoError(t, knock(i))
		}
		synctest.Wait()
		require.ErrorIs(t, knock(-1), ErrBusy)
		<-time.After(time.Minute)
		require.ErrorIs(t, knock(-1), ErrBusy)
		back.Store(true)
		require.NoError(t, b.flush(t.Context()))
		require.Zero(t, b.joins)
		require.NoError(t, knock(0))
		require.NoError(t, b.flush(t.Context()))
	})
}
