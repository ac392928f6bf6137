package openmatch

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/lattice-director/director/api/openmatch/pb"
)

// Pins a page too large for clients, an item that is lost or repeated, and a page that begins before the last one is
// full.
func TestPages(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(1, 50).Draw(t, "most")
		sizes := rapid.SliceOfN(rapid.OneOf(rapid.IntRange(0, 200), rapid.IntRange(0, maxPage/2),
			rapid.Just(maxPage+1)), 0, 40).Draw(t, "sizes")
		p := pages{maxItems: most, maxBytes: maxPage}
		var want []int
		for _, n := range sizes {
			p.addItem(bytes.Repeat([]byte("x"), n))
			want = append(want, n)
		}
		var got []int
		pages := p.allPages()
		for i, page := range pages {
			var m pb.QueryTicketIdsResponse
			require.NoError(t, proto.Unmarshal(page, &m))
			require.NotEmpty(t, m.GetIds())
			require.LessOrEqual(t, len(m.GetIds()), most)
			require.True(t, len(page) <= maxPage || len(m.GetIds()) == 1)
			for _, id := range m.GetIds() {
				got = append(got, len(id))
			}
			if i+1 < len(pages) {
				full := len(m.GetIds()) == most || len(page)+1+protowire.SizeBytes(want[len(got)]) > maxPage
				require.True(t, full)
			}
		}
		require.Equal(t, want, got)
	})
}
