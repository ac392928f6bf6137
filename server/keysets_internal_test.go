package server

import (
	"errors"
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/doctor"
	"github.com/lattice-director/director/token"
)

// Pins a key set that refuses players, of which a replica reports nothing, and one that is well, of which it reports
// something.
func TestTroublesOfKeySets(t *testing.T) {
	t.Parallel()
	ignored := make([]token.IgnoredKey, 7)
	for i := range ignored {
		ignored[i] = token.IgnoredKey{KID: fmt.Sprint("k", i), Why: "its use is enc"}
	}
	for name, c := range map[string]struct {
		status      token.SetStatus
		state, says string
	}{
		"not read yet": {token.SetStatus{}, "", ""},
		"well":         {token.SetStatus{Read: true, Usable: 2, InUse: 2}, "", ""},
		"away, never there": {token.SetStatus{Err: errors.New("no answer")}, doctor.Fail,
			"no answer; every token is refused"},
		"empty": {
			token.SetStatus{Read: true, Err: errors.New("it has no usable key"), InUse: 1}, doctor.Fail,
			"it has no usable key; the last good keys (1) stay in use, for 15 minutes if it has no usable key",
		},
		"one ignored": {
			token.SetStatus{Read: true, Usable: 1, InUse: 1, Ignored: ignored[:1]}, doctor.Warn,
			`1 of 2 keys are ignored, and tokens of them refused: key "k0": its use is enc`,
		},
		"many ignored": {token.SetStatus{Read: true, Usable: 1, InUse: 1, Ignored: ignored}, doctor.Warn, "and 2 more"},
	} {
		set := keySet{"players", "the set", func() token.SetStatus { return c.status }}
		trouble, found := set.findTrouble()
		require.Equal(t, c.state != "", found, name)
		if found {
			require.Equal(t, c.state, trouble.State, name)
			require.Contains(t, trouble.Says, c.says, name)
			require.NotEmpty(t, trouble.Do, name)
			require.NotEmpty(t, trouble.Section, name)
		}
		series := 0
		if c.status.Read {
			series = 2
		}
		require.Equal(t, series, testutil.CollectAndCount(newKeySetMetrics([]keySet{set})), name)
	}
}
