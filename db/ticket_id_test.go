package db

import (
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"pgregory.net/rapid"

	"github.com/lattice-director/director/internal/testkit/dbtest"
)

// Open Match's clients check the form of an id.
var idForm = regexp.MustCompile(`^[0-9a-v]{20}$`)

func TestIDsHaveAVerifiableDigest(t *testing.T) {
	t.Parallel()
	m, now, seen := newIDMint(), time.Now(), map[string]bool{}
	for range 10_000 {
		id := m.next("global", TicketID, now)
		require.Regexp(t, idForm, id)
		require.False(t, seen[id], "given twice")
		seen[id] = true
		require.True(t, IssuedHere("global", TicketID, id))
		require.False(t, IssuedHere("global", BackfillID, id))
		require.False(t, IssuedHere("eu", TicketID, id))
	}
}

// Pins an error for an id that two processes have made: the second one makes another id.
func TestIDsThatClash(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), Config{URL: dbtest.New(t)})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	body := func(id string, _ time.Time) []byte { return []byte(id) }
	for name, create := range map[string]func() (string, []byte, error){
		"tickets": func() (string, []byte, error) {
			made, err := s.CreateTicket(t.Context(), "global", NewTicket{EncodeBody: body})
			return made.ID, made.Body, err
		},
		"backfills": func() (string, []byte, error) {
			made, err := s.CreateBackfill(t.Context(), "global", NewBackfill{EncodeBody: body})
			return made.ID, made.Body, err
		},
	} {
		const together = 4
		seen := map[string]bool{}
		clashed := false
		for range 50 { // until it all happens within a second, which is part of the id
			start := s.idMint.counter.Load()
			for range 2 {
				s.idMint.counter.Store(start)
				var mu sync.Mutex
				var group errgroup.Group
				for range together {
					group.Go(func() error {
						id, body, err := create()
						mu.Lock()
						defer mu.Unlock()
						require.False(t, seen[id], "given twice")
						require.Equal(t, id, string(body))
						seen[id] = true
						return err
					})
				}
				require.NoError(t, group.Wait(), name)
			}
			if clashed = s.idMint.counter.Load()-start > together; clashed {
				break
			}
		}
		require.True(t, clashed, name)
	}
}

// An id that differs in any character was never issued.
func TestForgedIDs(t *testing.T) {
	t.Parallel()
	id := newIDMint().next("global", TicketID, time.Now())
	forged := 0
	for i := range id {
		for _, c := range "0123456789abcdefghijklmnopqrstuvwxyzAV" {
			if other := id[:i] + string(c) + id[i+1:]; other != id && IssuedHere("global", TicketID, other) {
				forged++
			}
		}
	}
	require.LessOrEqual(t, forged, 1, "a digest of 24 bits may be right by chance")
	rapid.Check(t, func(rt *rapid.T) {
		require.False(rt, IssuedHere("global", TicketID, rapid.String().Draw(rt, "id")))
	})
}
