package loop

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/match/decide"
	"github.com/lattice-director/director/match/profile"
)

// hostStore is a store that knows game regions, and nothing else.
type hostStore struct {
	Store
	regions []db.HostRegion
}

func (s *hostStore) HostRegions(context.Context, []string) ([]db.HostRegion, error) {
	return s.regions, nil
}

func (s *hostStore) Now() time.Time { return time.Now() }

// Pins a shadow that takes a turn at each reading of the game servers, although nothing has changed.
func TestAReadingThatChangesNothingWakesNoVersion(t *testing.T) {
	t.Parallel()
	s := &hostStore{regions: []db.HostRegion{{Region: "eu", Mode: "arena", FreeSeats: 10, AllFreeSeats: 10}}}
	l := must.Get(New(Options{Store: s, Universe: "global"}))(t)
	read := must.Get(profile.Parse([]byte("name: duel\nmode: arena\nteams: [{name: a, players: 1, count: 2}]\n")))(t)
	p := &ownedProfile{name: "duel", profile: read, shadow: &shadow{profile: read,
		decider: newDecider(decide.Version{Profile: read}, 0)}}
	p.replaceEngine()
	l.setProfile(p)
	queued := func() [2]int {
		l.hosts.readAt = time.Time{}
		require.NoError(t, l.readHosts(t.Context()))
		return [2]int{len(p.liveDecider.queuedChanges), len(p.shadow.decider.queuedChanges)}
	}
	require.Equal(t, [2]int{1, 1}, queued())
	require.Equal(t, [2]int{1, 1}, queued())
	s.regions[0].FreeSeats = 0
	require.Equal(t, [2]int{2, 2}, queued())
}
