package profile_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/match/profile"
)

func FuzzParse(f *testing.F) {
	for _, document := range accepted {
		f.Add([]byte(document))
	}
	for _, c := range refused {
		f.Add([]byte(c[0]))
	}
	f.Fuzz(func(t *testing.T, document []byte) {
		p, err := profile.Parse(document)
		if err != nil {
			var refusal *profile.Error
			require.ErrorAs(t, err, &refusal)
			require.NotEmpty(t, refusal.Problems)
			require.LessOrEqual(t, len(refusal.Problems), 16)
			return
		}
		again, err := profile.Parse(p.Canonical())
		require.NoError(t, err, string(p.Canonical()))
		require.Equal(t, p, again)
	})
}
