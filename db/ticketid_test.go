package db

import (
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Open Match's clients check the form of an id.
var idForm = regexp.MustCompile(`^[0-9a-v]{20}$`)

func TestIDsCertifyThemselves(t *testing.T) {
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

// An id that differs in any character was never given out.
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
	require.LessOrEqual(t, forged, 1, "a digest of 24 bits may meet by chance")
	rapid.Check(t, func(rt *rapid.T) {
		require.False(rt, IssuedHere("global", TicketID, rapid.String().Draw(rt, "id")))
	})
}
