package db_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
)

// Pins a beacon that clients cannot fetch, and one that nobody has set.
func TestBeacons(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.As("console:ada")
	set := func(region, url string) bool {
		changed, err := ada.SetBeacon(t.Context(), region, url)
		require.NoError(t, err)
		return changed
	}
	require.True(t, set("us", "https://us.example/ping"))
	require.True(t, set("eu", "http://192.0.2.1:8080"))
	require.False(t, set("eu", "http://192.0.2.1:8080"))
	require.True(t, set("eu", "https://eu.example"))
	found, err := b.GameRegions(t.Context())
	require.NoError(t, err)
	require.Equal(t, []db.GameRegion{{Region: "eu", Beacon: "https://eu.example"}, {Region: "us", Beacon: "https://us.example/ping"}}, found)
	for _, wrong := range [][2]string{{"EU", "https://a"}, {"", "https://a"}, {"eu", "ftp://a"}, {"eu", "https://a b"}, {"eu", "https://"}, {"eu", "https://" + strings.Repeat("a", 512)}} {
		_, err := ada.SetBeacon(t.Context(), wrong[0], wrong[1])
		requireKind(t, fault.Invalid, "invalid", err)
	}
	require.True(t, set("us", ""))
	require.False(t, set("us", ""))
	require.Equal(t, []string{"console:ada|eu|http://192.0.2.1:8080", "console:ada|eu|https://eu.example", "console:ada|us|", "console:ada|us|https://us.example/ping"},
		b.Rows("SELECT actor, region, coalesce(detail ->> 'url', '') FROM events WHERE kind = 'region.beacon_set' ORDER BY 2, 3"))
	b.Exec(fmt.Sprintf("INSERT INTO region_beacons SELECT 'r' || n, 'https://a', now(), 'test' FROM generate_series(1, %d) n", 255))
	_, err = ada.SetBeacon(t.Context(), "one-more", "https://a")
	requireKind(t, fault.Invalid, "invalid", err)
	require.True(t, set("r1", "https://b"), "those that are there can change")
}
