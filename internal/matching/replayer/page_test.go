package replayer_test

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/matching/replayer"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/match/decide"
	"github.com/lattice-director/director/match/profile"
	"github.com/lattice-director/director/match/replay"
	"github.com/lattice-director/director/match/simulate"
)

// The page is well-formed, says what is not reproduced, and loads nothing.
func TestThePageStandsAlone(t *testing.T) {
	t.Parallel()
	o := simulate.Defaults()
	o.Profile = must.Get(profile.Parse([]byte("name: duel\nteams: [{name: red, players: 1}, {name: blue, players: 1}]\nrules: [{near: skill, within: 100}]\n")))(t)
	o.Hours = 0.02
	arrivals := must.Get(simulate.Arrivals(o))(t)
	r := must.Get(replay.Run(t.Context(), replay.Input{Version: decide.Version{Profile: o.Profile}, Begin: o.From, End: o.End(), Arrivals: arrivals}))(t)
	for _, recorded := range []*replay.Side{nil, &r.Replayed} {
		r.Recorded = recorded
		var page strings.Builder
		require.NoError(t, replayer.WritePage(&page, r))
		d := xml.NewDecoder(strings.NewReader(page.String()))
		d.Strict = true
		var err error
		for err == nil {
			_, err = d.Token()
		}
		require.ErrorIs(t, err, io.EOF, "%v", errors.Unwrap(err))
		require.Contains(t, page.String(), "Capacity is unlimited")
		require.NotRegexp(t, `(src|href)=|<script|https?://|NaN`, page.String())
		require.Equal(t, 3, strings.Count(page.String(), "<svg"))
	}
}
