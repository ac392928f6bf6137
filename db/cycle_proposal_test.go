package db

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Pins a replica that crashes by a row of another one.
func FuzzUnpackProposals(f *testing.F) {
	f.Add([]byte(nil))
	f.Add([]byte{1, 'a', 0, 2, 'b', 'c'})
	f.Add([]byte{255, 255, 255, 255, 255, 255, 255, 255, 255, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		if texts, err := unpackTexts(b); err == nil {
			again, err := unpackTexts(packTexts(texts))
			require.NoError(t, err)
			require.Equal(t, texts, again)
		}
		if m, err := unpackBackfill(b); err == nil {
			again, err := unpackBackfill(m.pack())
			require.NoError(t, err)
			require.Equal(t, m, again)
		}
	})
}
