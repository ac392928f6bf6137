package realtime

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/server/realtime/realtimetest"
)

// In some locales aa comes after z: no checksum is right for every client.
func TestAClientOfAnotherLocaleIsSentNoMoreChecksums(t *testing.T) {
	t.Parallel()
	v := serve(t)
	c := v.client(func(o *realtimetest.Options) { o.Foreign = true })
	room := c.Join(t, "lobby", "", nil)
	require.Equal(t, 1, c.Resyncs())
	require.Equal(t, 1, c.Room(room).Snapshots, "the one without a checksum")
}
