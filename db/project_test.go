package db_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/token"
)

// lobbyProject is a database with project p1 in region eu.
type lobbyProject struct {
	*bundle
	sealer *token.Sealer
}

func setupProject(t *testing.T) *lobbyProject {
	t.Helper()
	p := &lobbyProject{bundle: setup(t)}
	p.sealer = must.Get(token.NewSealer(make([]byte, token.KEKBytes)))(t)
	must.Get(p.CreateProject(t.Context(), db.NewProject{ID: "p1", Name: "one", Region: "eu", Actor: "test"}))(t)
	return p
}

func (p *lobbyProject) key(id string, scopes ...string) string {
	p.t.Helper()
	secret, _, err := p.CreateProjectKey(p.t.Context(),
		db.NewProjectKey{ProjectID: "p1", ID: id, Name: "default", Scopes: scopes, Actor: "test",
			Seal: p.sealer.NewProjectSecret})
	require.NoError(p.t, err)
	return secret
}

func (p *lobbyProject) rotation(id string, grace time.Duration) db.KeyRotation {
	return db.KeyRotation{ProjectID: "p1", ID: id, GraceTime: grace, Actor: "test", Seal: p.sealer.NewProjectSecret}
}

func TestProjectsAreListedFromTheNewestInPages(t *testing.T) {
	t.Parallel()
	p := setupProject(t)
	made, err := p.CreateProject(t.Context(), db.NewProject{Name: "two", Region: "us", Actor: "test"})
	require.NoError(t, err)
	require.Len(t, made.ID, 36)
	first, err := p.Projects(t.Context(), "", 1)
	require.NoError(t, err)
	require.Equal(t, []query.Project{made}, first)
	rest, err := p.Projects(t.Context(), made.ID, 10)
	require.NoError(t, err)
	require.Len(t, rest, 1)
	require.Equal(t, "p1", rest[0].ID)
	for _, after := range []string{"p1", "unknown", "\x00"} {
		rest, err = p.Projects(t.Context(), after, 10)
		require.NoError(t, err)
		require.Empty(t, rest)
	}
}

func TestProjectsAreRefused(t *testing.T) {
	t.Parallel()
	p := setupProject(t)
	for _, bad := range []db.NewProject{{Name: ""}, {Name: "  "}, {Name: strings.Repeat("ü", 201)}, {Name: "a\x00"},
		{Name: "a", ID: "a b"}, {Name: "a", ID: strings.Repeat("a", 129)}} {
		_, err := p.CreateProject(t.Context(), bad)
		requireKind(t, fault.Invalid, "invalid", err)
	}
	_, err := p.CreateProject(t.Context(), db.NewProject{ID: "p1", Name: "again", Region: "us"})
	requireKind(t, fault.Conflict, "project_exists", err)
	_, err = p.CreateProject(t.Context(), db.NewProject{Name: strings.Repeat("ü", 200), Region: "us"})
	require.NoError(t, err)
}

// A replica asks for the region at each handshake, also for projects that do not exist.
func TestTheRegionOfAProjectIsCached(t *testing.T) {
	t.Parallel()
	p := setupProject(t)
	for range 2 {
		region, err := p.ProjectRegion(t.Context(), "p1")
		require.NoError(t, err)
		require.Equal(t, "eu", region)
		_, err = p.ProjectRegion(t.Context(), "p2")
		requireKind(t, fault.NotFound, "project_unknown", err)
	}
	p.Exec("UPDATE projects SET region = 'us'") // which nothing does
	region, err := p.ProjectRegion(t.Context(), "p1")
	require.NoError(t, err)
	require.Equal(t, "eu", region)
	_, err = p.CreateProject(t.Context(), db.NewProject{ID: "p2", Name: "two", Region: "us"})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		region, err = p.ProjectRegion(t.Context(), "p2")
		return err == nil && region == "us"
	}, 30*time.Second, 50*time.Millisecond, "that a project is unknown is remembered for a second only")
}

func TestKeysOfAProject(t *testing.T) {
	t.Parallel()
	p := setupProject(t)
	secret := p.key("k1", db.ScopeMint)
	key, retired, err := p.ProjectKey(t.Context(), "p1", "k1")
	require.NoError(t, err)
	require.False(t, retired)
	sealed, err := p.ProjectKeySecret(t.Context(), "p1", "k1")
	require.NoError(t, err)
	opened, err := p.sealer.OpenSecret(token.PurposeProject, "p1", "k1", sealed)
	require.NoError(t, err)
	require.Equal(t, secret, string(opened))
	require.NotContains(t, string(key.SealedSecret), secret)

	p.key("k2")
	list, err := p.ProjectKeys(t.Context(), "p1", "", 1)
	require.NoError(t, err)
	require.Equal(t, "k2", list[0].ID)
	list, err = p.ProjectKeys(t.Context(), "p1", "k2", 10)
	require.NoError(t, err)
	require.Equal(t, []query.ProjectKey{key}, list)
	for _, project := range []string{"p2", "\x00"} {
		list, err = p.ProjectKeys(t.Context(), project, "", 10)
		require.NoError(t, err)
		require.Empty(t, list)
		_, _, err = p.ProjectKey(t.Context(), project, "k1")
		requireKind(t, fault.NotFound, "key_unknown", err)
		_, err = p.ProjectKeySecret(t.Context(), project, "k1")
		requireKind(t, fault.NotFound, "key_unknown", err)
	}
}

func TestKeysOfAProjectAreRefused(t *testing.T) {
	t.Parallel()
	p := setupProject(t)
	create := func(n db.NewProjectKey) error {
		n.Seal = p.sealer.NewProjectSecret
		_, _, err := p.CreateProjectKey(t.Context(), n)
		return err
	}
	for _, bad := range []db.NewProjectKey{
		{Name: ""}, {Name: strings.Repeat("a", 201)}, {Name: "a", ID: "a\n"}, {Name: "a", Scopes: make([]string, 17)},
		{Name: "a", Scopes: []string{""}},
		{Name: "a", Scopes: []string{strings.Repeat("a", 65)}}, {Name: "a", Scopes: []string{"\x00"}},
	} {
		bad.ProjectID = "p1"
		requireKind(t, fault.Invalid, "invalid", create(bad))
	}
	requireKind(t, fault.NotFound, "project_unknown", create(db.NewProjectKey{ProjectID: "p2", Name: "a"}))
	p.key("k1")
	requireKind(t, fault.Conflict, "key_exists", create(db.NewProjectKey{ProjectID: "p1", ID: "k1", Name: "a"}))
	p.Exec("INSERT INTO project_keys (project, id, name, scopes, sealed_secret, sealed_by) SELECT 'p1', n::text, 'a', '{}', '', '' FROM generate_series(1, 999) n")
	requireKind(t, fault.TooMany, "too_many_keys", create(db.NewProjectKey{ProjectID: "p1", Name: "a"}))
}

// Pins a revoked key that mints or whose revocation moves, and a grace that outlives an explicit revocation.
func TestRevokedKeysMintNothing(t *testing.T) {
	t.Parallel()
	p := setupProject(t)
	p.key("k1", db.ScopeMint)
	p.key("k2", db.ScopeMint)
	wake, stop := p.Replica().Subscribe(db.TopicRealtime, "eu")
	defer stop()
	<-wake // the listening connection was made

	revoked, err := p.RevokeProjectKey(t.Context(), "p1", "k1", "ann")
	require.NoError(t, err)
	<-wake // other replicas close sockets at once
	again, err := p.RevokeProjectKey(t.Context(), "p1", "k1", "bob")
	require.NoError(t, err)
	require.Equal(t, revoked.RevokedAt, again.RevokedAt)
	_, retired, err := p.ProjectKey(t.Context(), "p1", "k1")
	require.NoError(t, err)
	require.True(t, retired)
	_, err = p.CountMinted(t.Context(), "p1", "k1")
	requireKind(t, fault.Forbidden, "key_revoked", err)
	_, _, err = p.RotateProjectKey(t.Context(), p.rotation("k1", 0))
	requireKind(t, fault.Conflict, "key_revoked", err)

	_, _, err = p.RotateProjectKey(t.Context(), p.rotation("k2", time.Hour))
	require.NoError(t, err)
	key, retired, err := p.ProjectKey(t.Context(), "p1", "k2")
	require.NoError(t, err)
	require.False(t, retired, "its tokens are accepted for an hour")
	_, err = p.CountMinted(t.Context(), "p1", "k2")
	requireKind(t, fault.Forbidden, "key_revoked", err)
	ended, err := p.RevokeProjectKey(t.Context(), "p1", "k2", "ann")
	require.NoError(t, err)
	<-wake
	require.Equal(t, key.RevokedAt, ended.RevokedAt)
	_, retired, err = p.ProjectKey(t.Context(), "p1", "k2")
	require.NoError(t, err)
	require.True(t, retired)

	_, err = p.RevokeProjectKey(t.Context(), "p2", "k1", "ann")
	requireKind(t, fault.NotFound, "key_unknown", err)
	require.Equal(t, []string{
		"project.created test", "project_key.created test", "project_key.created test", "project_key.revoked ann",
		"project_key.rotated test", "project_key.revoked ann",
	}, one[[]string](p.bundle, "SELECT array_agg(kind || ' ' || actor ORDER BY tx, id) FROM events WHERE region = 'eu' AND kind LIKE 'project%'"))
}

func TestRotatedKeysHaveTheScopesOfTheOldOnes(t *testing.T) {
	t.Parallel()
	p := setupProject(t)
	old := p.key("k1", db.ScopeMint, "read")
	secret, made, err := p.RotateProjectKey(t.Context(), p.rotation("k1", 0))
	require.NoError(t, err)
	require.NotEqual(t, old, secret)
	require.Equal(t, []string{db.ScopeMint, "read"}, made.Scopes)
	require.Equal(t, "default-rotated", made.Name)
	require.Equal(t, "k1", *made.RotatedFrom)
	opened, err := p.sealer.OpenSecret(token.PurposeProject, "p1", made.ID, made.SealedSecret)
	require.NoError(t, err)
	require.Equal(t, secret, string(opened))
	for range 30 { // past the longest name
		_, made, err = p.RotateProjectKey(t.Context(), p.rotation(made.ID, 0))
		require.NoError(t, err)
	}
	require.Len(t, made.Name, 200)
	for _, grace := range []time.Duration{-1, db.MaxProjectGrace + 1} {
		_, _, err = p.RotateProjectKey(t.Context(), p.rotation(made.ID, grace))
		requireKind(t, fault.Invalid, "invalid", err)
	}
	_, _, err = p.RotateProjectKey(t.Context(), p.rotation("k9", 0))
	requireKind(t, fault.NotFound, "key_unknown", err)
}

// Pins two new keys of one rotation, of which a caller would never learn.
func TestTenRacersRotateAKeyOnce(t *testing.T) {
	t.Parallel()
	p := setupProject(t)
	p.key("k1", db.ScopeMint)
	const racers = 10
	stores := []*db.Store{p.Store, p.Replica()}
	errs := make([]error, racers)
	var racing sync.WaitGroup
	for i := range errs {
		racing.Go(func() { _, _, errs[i] = stores[i%2].RotateProjectKey(t.Context(), p.rotation("k1", 0)) })
	}
	racing.Wait()
	made := 0
	for _, err := range errs {
		if err == nil {
			made++
			continue
		}
		requireKind(t, fault.Conflict, "key_revoked", err)
	}
	require.Equal(t, 1, made)
	require.Equal(t, 1, one[int](p.bundle, "SELECT count(*) FROM project_keys WHERE rotated_from = 'k1'"))
	require.Equal(t, 1, one[int](p.bundle, "SELECT count(*) FROM events WHERE kind = 'project_key.rotated'"))
}

func TestMintedTokensAreCountedInGroups(t *testing.T) {
	t.Parallel()
	p := setupProject(t)
	p.key("k1", db.ScopeMint)
	p.key("k2", db.ScopeMint)
	p.key("reader", "read")
	var minting sync.WaitGroup
	for i := range 100 {
		minting.Go(func() {
			name := []string{"k1", "k2", "k1", "reader", "unknown"}[i%5]
			key, err := p.CountMinted(t.Context(), "p1", name)
			switch name {
			case "reader":
				requireKind(t, fault.Forbidden, "key_scope", err)
			case "unknown":
				requireKind(t, fault.NotFound, "key_unknown", err)
			default:
				require.NoError(t, err)
				require.Equal(t, name, key.ID)
			}
		})
	}
	minting.Wait()
	require.Equal(t, map[string]int64{"k1": 40, "k2": 20, "reader": 0}, map[string]int64{
		"k1":     one[int64](p.bundle, "SELECT tokens_minted FROM project_keys WHERE id = 'k1'"),
		"k2":     one[int64](p.bundle, "SELECT tokens_minted FROM project_keys WHERE id = 'k2'"),
		"reader": one[int64](p.bundle, "SELECT tokens_minted FROM project_keys WHERE id = 'reader'"),
	})
	_, err := p.RevokeProjectKey(t.Context(), "p1", "k2", "test")
	require.NoError(t, err)
	_, _, err = p.RotateProjectKey(t.Context(), p.rotation("k1", 0))
	require.NoError(t, err)
	counts, err := p.CountProjects(t.Context())
	require.NoError(t, err)
	require.Equal(t, db.ProjectCounts{Projects: 1, Keys: 4, Revoked: 2, Rotated: 1, Tokens: 60}, counts,
		"a rotation counts as revoked and created, too")
}

// Pins callers who are all refused a token because one transaction could not count it: 130 of 500 were.
func TestACounterThatIsBusyRefusesNoToken(t *testing.T) {
	t.Parallel()
	p := setupProject(t)
	p.key("k1", db.ScopeMint)
	p.Exec(`CREATE SEQUENCE attempts`)
	p.Exec(`CREATE FUNCTION refuse_first() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF nextval('attempts') = 1 THEN RAISE EXCEPTION 'busy' USING ERRCODE = 'lock_not_available'; END IF;
		RETURN NEW; END $$`)
	p.Exec(`CREATE TRIGGER refuse_first BEFORE UPDATE ON project_keys FOR EACH STATEMENT EXECUTE FUNCTION refuse_first()`)
	var minting sync.WaitGroup
	for range 50 {
		minting.Go(func() {
			_, err := p.CountMinted(t.Context(), "p1", "k1")
			require.NoError(t, err)
		})
	}
	minting.Wait()
	require.Equal(t, int64(50), one[int64](p.bundle, "SELECT tokens_minted FROM project_keys WHERE id = 'k1'"))
	require.Greater(t, one[int64](p.bundle, "SELECT last_value FROM attempts"), int64(1), "one was refused")
}

// Whatever is done with keys, each has a secret of its own, is rotated at most once, and its revocation never moves.
func TestKeysKeepTheirPromises(t *testing.T) {
	t.Parallel()
	p := setupProject(t)
	rapid.Check(t, func(rt *rapid.T) {
		ids, secrets, revoked := []string{}, map[string]bool{}, map[string]time.Time{}
		p.Exec("TRUNCATE project_keys")
		project := p.Replica() // with caches of its own
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			step := rapid.IntRange(0, 3).Draw(rt, "step")
			if len(ids) == 0 || step == 0 {
				secret, made, err := project.CreateProjectKey(t.Context(),
					db.NewProjectKey{ProjectID: "p1", Name: "a", Scopes: []string{db.ScopeMint},
						Seal: p.sealer.NewProjectSecret})
				require.NoError(rt, err)
				require.False(rt, secrets[secret])
				ids, secrets[secret] = append(ids, made.ID), true
				continue
			}
			id := rapid.SampledFrom(ids).Draw(rt, "key")
			_, was := revoked[id]
			switch step {
			case 1:
				secret, made, err := project.RotateProjectKey(t.Context(), p.rotation(id, 0))
				require.Equal(rt, was, err != nil)
				if !was {
					require.False(rt, secrets[secret])
					ids, secrets[secret] = append(ids, made.ID), true
				}
			case 2:
				_, err := project.RevokeProjectKey(t.Context(), "p1", id, "test")
				require.NoError(rt, err)
			default:
				_, err := project.CountMinted(t.Context(), "p1", id)
				require.Equal(rt, was, err != nil)
				continue
			}
			key, retired, err := project.ProjectKey(t.Context(), "p1", id)
			require.NoError(rt, err)
			require.True(rt, retired)
			if was {
				require.Equal(rt, revoked[id], *key.RevokedAt)
			}
			revoked[id] = *key.RevokedAt
		}
	})
}
