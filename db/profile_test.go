package db_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/testkit/await"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/match/profile"
)

// duelProfile returns a document of profile duel.
func duelProfile(within int) []byte {
	return fmt.Appendf(nil, "name: duel\nteams: [{name: a, players: 1, count: 2}]\nrules: [{near: skill, within: %d}]\n", within)
}

var duelEdit = db.ProfileEdit{Universe: "global", Name: "duel", Author: "ada", Reason: "try"}

func (b *bundle) apply(document []byte) db.ProfileChange {
	b.t.Helper()
	return must.Get(b.ApplyProfile(b.t.Context(), duelEdit, document))(b.t)
}

// profileEvents returns the kinds of the events of profiles, in order.
func profileEvents(b *bundle) []string {
	return one[[]string](b, "SELECT coalesce(array_agg(kind || ' ' || (detail->>'version') ORDER BY at), '{}') FROM events WHERE kind LIKE 'profile.%'")
}

// Pins a document that is lost, a version that changes, and a version for each run of a pipeline.
func TestApplyProfile(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.Equal(t, db.ProfileChange{Name: "duel", Version: 1, Changed: true}, b.apply(duelProfile(100)))
	require.Equal(t, db.ProfileChange{Name: "duel", Version: 1}, b.apply(append(duelProfile(100), "# the same\n"...)))
	require.Equal(t, db.ProfileChange{Name: "duel", Version: 2, Changed: true}, b.apply(duelProfile(200)))

	first, err := b.Profile(t.Context(), "global", "duel", 1)
	require.NoError(t, err)
	require.Equal(t, string(duelProfile(100)), first.Document)
	require.Equal(t, [4]any{1, 2, "ada", "try"}, [4]any{first.Version, first.LiveVersion, first.Author, first.Reason})
	live, err := b.Profile(t.Context(), "global", "duel", 0)
	require.NoError(t, err)
	require.Equal(t, 2, live.Version)

	all, err := b.Profiles(t.Context(), db.ProfileQuery{Universe: "global"})
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Equal(t, [3]any{"duel", 2, 2}, [3]any{all[0].Name, all[0].LiveVersion, all[0].VersionCount})
	versions, err := b.ProfileVersions(t.Context(), "global", "duel")
	require.NoError(t, err)
	require.Len(t, versions, 2)
	require.Equal(t, 2, versions[0].Version)
	require.Equal(t, []string{"profile.applied 1", "profile.applied 2"}, profileEvents(b))
	require.Equal(t, "ada", one[string](b, "SELECT DISTINCT actor FROM events WHERE kind = 'profile.applied'"))

	elsewhere, err := b.Profiles(t.Context(), db.ProfileQuery{Universe: "other", WithRetired: true})
	require.NoError(t, err)
	require.Empty(t, elsewhere, "profiles are of a region")
}

func TestApplyProfileRefuses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var refusal *profile.Error
	_, err := b.ApplyProfile(t.Context(), duelEdit, []byte("name: duel\n"))
	require.ErrorAs(t, err, &refusal)

	other := duelEdit
	other.Name = "ranked"
	_, err = b.ApplyProfile(t.Context(), other, duelProfile(1))
	require.True(t, fault.Is(err, fault.Invalid), "%v", err)

	_, err = b.ApplyShadow(t.Context(), duelEdit, duelProfile(1))
	require.True(t, fault.Is(err, fault.Conflict), "a shadow of nothing: %v", err)

	b.apply(duelProfile(1))
	for _, expected := range []int{0, 2} {
		edit := duelEdit
		edit.Expected = &expected
		_, err = b.ApplyProfile(t.Context(), edit, duelProfile(2))
		require.True(t, fault.Is(err, fault.Conflict), "%v", err)
	}
	_, err = b.Profile(t.Context(), "global", "duel", 2)
	require.True(t, fault.Is(err, fault.NotFound), "%v", err)

	short := setup(t, func(c *db.Config) { c.Timing.PendingFor = 20 * time.Second })
	_, err = short.ApplyProfile(t.Context(), duelEdit, append(duelProfile(1), "accept: {within: 11s}\n"...))
	require.True(t, fault.Is(err, fault.Invalid), "tickets would return to the queue before the last accept: %v", err)
}

func TestRollbackProfile(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i := range 3 {
		b.apply(duelProfile(i))
	}
	done, err := b.RollbackProfile(t.Context(), duelEdit, 0)
	require.NoError(t, err)
	require.Equal(t, db.ProfileChange{Name: "duel", Version: 2, Changed: true}, done)
	done, err = b.RollbackProfile(t.Context(), duelEdit, 1)
	require.NoError(t, err)
	require.Equal(t, 1, done.Version)
	done, err = b.RollbackProfile(t.Context(), duelEdit, 1)
	require.NoError(t, err)
	require.False(t, done.Changed)
	for _, version := range []int{0, 4} {
		_, err = b.RollbackProfile(t.Context(), duelEdit, version)
		require.True(t, fault.Is(err, fault.NotFound), "%d: %v", version, err)
	}
	require.Equal(t, 4, b.apply(duelProfile(9)).Version, "versions are never used again")
	require.Equal(t, []string{"profile.applied 1", "profile.applied 2", "profile.applied 3", "profile.rolled_back 2",
		"profile.rolled_back 1", "profile.applied 4"}, profileEvents(b))
}

// Pins an answer that names the shadow for a document that is live, and a rollback that makes a version live which was a
// shadow only: here the document that is being rolled back.
func TestVersionsOfShadows(t *testing.T) {
	t.Parallel()
	b := setup(t)
	shadow := func(document []byte) db.ProfileChange {
		return must.Get(b.ApplyShadow(t.Context(), duelEdit, document))(t)
	}
	rollback := func(version int) db.ProfileChange {
		return must.Get(b.RollbackProfile(t.Context(), duelEdit, version))(t)
	}
	b.apply(duelProfile(1))
	shadow(duelProfile(2))
	require.Equal(t, db.ProfileChange{Name: "duel", Version: 3, Changed: true}, b.apply(duelProfile(2)))
	require.Equal(t, db.ProfileChange{Name: "duel", Version: 3}, b.apply(duelProfile(2)))
	require.Equal(t, db.ProfileChange{Name: "duel", Version: 2}, shadow(duelProfile(2)))
	require.Equal(t, db.ProfileChange{Name: "duel", Version: 2},
		must.Get(b.ShadowProfile(t.Context(), duelEdit, 2))(t))
	require.Equal(t, db.ProfileChange{Name: "duel", Version: 3, Changed: true},
		must.Get(b.EndShadow(t.Context(), duelEdit))(t))

	require.Equal(t, db.ProfileChange{Name: "duel", Version: 1, Changed: true}, rollback(0))
	require.Equal(t, 2, rollback(2).Version, "it is named")
	require.Equal(t, 4, b.apply(duelProfile(4)).Version)
	for _, want := range []int{3, 2, 1} {
		require.Equal(t, want, rollback(0).Version, "all of them were live")
	}
}

// Pins documents that decide although they could not be applied, since they were under other settings.
func TestStoredVersionsAreCheckedAgain(t *testing.T) {
	t.Parallel()
	for name, strict := range map[string]func(*db.Config){
		"the time of a ready check":  func(c *db.Config) { c.Timing.PendingFor = 20 * time.Second },
		"who vouches for attributes": func(c *db.Config) { c.RequireFrom = true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.apply(append(duelProfile(1), "accept: {within: 11s}\n"...))
			b.apply([]byte("name: duel\nteams: [{name: a, players: 2}]\n"))
			s := b.Replica(strict)
			for _, change := range []func(context.Context, db.ProfileEdit, int) (db.ProfileChange, error){
				s.RollbackProfile, s.ShadowProfile,
			} {
				var refusal *profile.Error
				_, err := change(t.Context(), duelEdit, 1)
				require.True(t, fault.Is(err, fault.Invalid) || errors.As(err, &refusal), "%v", err)
			}
			must.Get(s.RetireProfile(t.Context(), duelEdit))(t)
		})
	}
}

func TestRetireProfile(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.apply(duelProfile(1))
	for _, changes := range []bool{true, false} {
		done, err := b.RetireProfile(t.Context(), duelEdit)
		require.NoError(t, err)
		require.Equal(t, changes, done.Changed)
	}
	all, err := b.Profiles(t.Context(), db.ProfileQuery{Universe: "global"})
	require.NoError(t, err)
	require.Empty(t, all)
	_, err = b.RollbackProfile(t.Context(), duelEdit, 1)
	require.True(t, fault.Is(err, fault.Conflict), "%v", err)
	_, err = b.ShadowProfile(t.Context(), duelEdit, 1)
	require.True(t, fault.Is(err, fault.Conflict), "%v", err)

	edit, none := duelEdit, 0
	edit.Expected = &none
	done, err := b.ApplyProfile(t.Context(), edit, duelProfile(1))
	require.NoError(t, err)
	require.Equal(t, db.ProfileChange{Name: "duel", Version: 1, Changed: true}, done,
		"the same document is no new version")
	_, err = b.RetireProfile(t.Context(), db.ProfileEdit{Universe: "global", Name: "nobody"})
	require.True(t, fault.Is(err, fault.NotFound), "%v", err)
}

func TestShadowProfile(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.apply(duelProfile(1))
	shadow := func(document []byte) db.ProfileChange {
		done, err := b.ApplyShadow(t.Context(), duelEdit, document)
		require.NoError(t, err)
		return done
	}
	require.Equal(t, db.ProfileChange{Name: "duel", Version: 2, Changed: true}, shadow(duelProfile(2)))
	require.Equal(t, db.ProfileChange{Name: "duel", Version: 2}, shadow(duelProfile(2)))
	at := func() (live, shadow int) {
		p, err := b.Profile(t.Context(), "global", "duel", 0)
		require.NoError(t, err)
		return p.LiveVersion, p.ShadowVersion
	}
	live, second := at()
	require.Equal(t, [2]int{1, 2}, [2]int{live, second})

	for _, c := range []struct{ version, want int }{{1, 1}, {0, 2}} {
		_, err := b.ShadowProfile(t.Context(), duelEdit, c.version)
		require.NoError(t, err)
		_, second = at()
		require.Equal(t, c.want, second)
	}
	_, err := b.ShadowProfile(t.Context(), duelEdit, 3)
	require.True(t, fault.Is(err, fault.NotFound), "%v", err)
	_, err = b.EndShadow(t.Context(), duelEdit)
	require.NoError(t, err)
	_, second = at()
	require.Zero(t, second)
}

// Pins two authors whose documents get one version, or deadlock.
func TestProfilesOfManyAuthors(t *testing.T) {
	t.Parallel()
	b := setup(t)
	replicas := []*db.Store{b.Store, b.Replica()}
	var authors sync.WaitGroup
	versions := make([]int, 8)
	for i := range versions {
		authors.Go(func() {
			done, err := replicas[i%2].ApplyProfile(t.Context(), duelEdit, duelProfile(i))
			if err == nil {
				versions[i] = done.Version
			}
		})
	}
	authors.Wait()
	require.ElementsMatch(t, []int{1, 2, 3, 4, 5, 6, 7, 8}, versions)
}

func TestProfilesAreBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.apply(duelProfile(0))
	b.Exec(`INSERT INTO profile_versions (region, name, version, document, canonical, author)
		SELECT 'global', 'duel', n, '', '', 'x' FROM generate_series(2, 1000) n`)
	_, err := b.ApplyProfile(t.Context(), duelEdit, duelProfile(1))
	require.True(t, fault.Is(err, fault.TooMany), "%v", err)

	b.Exec(`WITH p AS (INSERT INTO profiles (region, name, live) SELECT 'global', 'p' || n, 1 FROM generate_series(2, 1000) n RETURNING name)
		INSERT INTO profile_versions (region, name, version, document, canonical, author) SELECT 'global', name, 1, '', '', 'x' FROM p`)
	_, err = b.ApplyProfile(t.Context(), db.ProfileEdit{Universe: "global"},
		[]byte("name: more\nteams: [{name: a, players: 2}]\n"))
	require.True(t, fault.Is(err, fault.TooMany), "%v", err)
}

// Pins a worker that decides by an old version until it polls.
func TestProfilesNotify(t *testing.T) {
	t.Parallel()
	b := setup(t)
	wake, stop := b.Subscribe(db.TopicProfiles, "global")
	defer stop()
	b.apply(duelProfile(1))
	await.Value(t, wake, "a notification")
}
