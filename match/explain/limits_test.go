package explain

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
)

// Pins an explanation that does not say when players take any role.
func TestStepsNameAutofill(t *testing.T) {
	t.Parallel()
	p, err := profile.Parse([]byte("name: a\nteams: [{name: all, players: 2, roles: {tank: 1}}]\nautofill: 60s\n"))
	require.NoError(t, err)
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	text := func(waited time.Duration) string {
		var b strings.Builder
		(&Profile{Steps: stepsOf(p, &match.Ticket{Created: now.Add(-waited)}, now)}).writeSteps(&b, now)
		return b.String()
	}
	require.Equal(t, "  step: autofill not yet: its own roles, wider in 1s\n", text(59*time.Second))
	require.Equal(t, "  step: autofill any\n", text(60*time.Second))
}

// Pins an explanation that does not say why a ticket is tried before older ones.
func TestTextNamesTheHeadStart(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	(&Profile{Name: "a", Candidate: true, HeadStart: 90}).writeTo(&b, Ticket{})
	require.Contains(t, b.String(), "  priority: it takes its turn as if it had waited for 90 s longer\n")
}
