package instant_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/base/instant"
)

func TestParse(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 27, 21, 3, 7, 0, time.FixedZone("", 3600)) // 20:03:07 UTC
	for text, want := range map[string]string{
		"2026-11-27T21:03:07Z": "2026-11-27T21:03:07Z", "2026-11-27T21:03:07.5+01:00": "2026-11-27T20:03:07.5Z",
		"2026-11-27 21:03:07": "2026-11-27T21:03:07Z", "2026-11-27T21:03": "2026-11-27T21:03:00Z", "2026-11-27 21:03": "2026-11-27T21:03:00Z",
		"20:03:07": "2026-11-27T20:03:07Z", "20:03:08": "2026-11-26T20:03:08Z", "00:00": "2026-11-27T00:00:00Z", "23:59": "2026-11-26T23:59:00Z",
		"10m": "2026-11-27T19:53:07Z", "0s": "2026-11-27T20:03:07Z",
	} {
		got, err := instant.Parse(text, now)
		require.NoError(t, err, text)
		require.Equal(t, want, got.UTC().Format(time.RFC3339Nano), text)
	}
	for _, text := range []string{"", "now", "25:00", "-10m", "2026-13-01 00:00", "21:03:07Z"} {
		_, err := instant.Parse(text, now)
		require.ErrorContains(t, err, "is no time", text)
	}
}
