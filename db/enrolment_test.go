package db_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/storetest"
	"github.com/lattice-director/director/internal/testkit/variant"
)

// enrol makes an enrolment and returns it, as a registration by it.
func (b *bundle) enrol(name string, servers int32, modes ...string) *db.Enrolling {
	b.t.Helper()
	secret := must.Get(b.As("ops:ada").CreateEnrolment(b.t.Context(),
		db.NewEnrolment{Region: "eu", Name: name, AllowedModes: modes, MaxServers: servers, ValidFor: time.Hour}))(b.t)
	parts := strings.Split(secret, ".")
	require.Equal(b.t, []string{"le1", "eu"}, parts[:2])
	digest := must.Get(b.EnrolmentDigest(b.t.Context(),
		db.EnrolmentID{Region: "eu", ID: uuid.MustParse(parts[2])}))(b.t)
	require.Equal(b.t, sha256.Sum256([]byte(parts[3])), *digest)
	return &db.Enrolling{Region: "eu", EnrolmentID: uuid.MustParse(parts[2]), TokensBy: "aa"}
}

func byEnrolment(e *db.Enrolling) func(*db.Registration) {
	return func(r *db.Registration) { r.Enrolling = e }
}

// instanceOf is the enrolling of an instance that has registered.
func instanceOf(r db.Registered) *db.Enrolling {
	return &db.Enrolling{Region: "eu", EnrolmentID: r.Enrolled.EnrolmentID, CredentialID: r.Enrolled.CredentialID,
		TokensBy: "aa"}
}

func (b *bundle) tryRegister(store *db.Store, id string, e *db.Enrolling,
	change ...func(*db.Registration)) (db.Registered, error) {
	r := variant.Apply(db.Registration{InstanceID: id, Endpoint: id + ":7777", Region: "eu", Modes: []string{"duel"},
		Capacity: 8, BootID: "boot-1", Enrolling: e}, change...)
	return store.Register(context.Background(), r)
}

// The number of an enrolment is exact, whatever number of replicas register its servers at the same time, while others of
// them end: never more than the number run, and no place stays empty while servers ask for it.
func TestTheNumberOfAnEnrolmentIsExact(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const places, servers, rounds = 7, 40, 3
	e := b.enrol("rack-7", places)
	replicas := []*db.Store{b.Store, b.Replica(), b.Replica(), b.Replica()}
	for round := range rounds {
		var mu sync.Mutex
		var registered []db.Registered
		var racing sync.WaitGroup
		for i := range servers {
			racing.Go(func() {
				in, err := b.tryRegister(replicas[i%len(replicas)], fmt.Sprintf("s%d-%d", round, i), e)
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					registered = append(registered, in)
					return
				}
				requireKind(t, fault.Conflict, "enrolment_full", err)
			})
		}
		racing.Wait()
		require.Len(t, registered, places)
		require.Equal(t, places, one[int](b, "SELECT count(*) FROM instances WHERE status <> 'gone'"))
		require.Equal(t, int64(places), one[int64](b, "SELECT servers FROM ops.enrolments"))
		for i, in := range registered { // beside those that want their places
			racing.Go(func() {
				_ = replicas[i%len(replicas)].Deregister(context.Background(), refOf(in))
			})
			racing.Go(func() {
				_, _ = b.tryRegister(replicas[(i+1)%len(replicas)], fmt.Sprintf("t%d-%d", round, i), e)
			})
		}
		racing.Wait()
		require.LessOrEqual(t, one[int](b, "SELECT count(*) FROM instances WHERE status <> 'gone'"), places)
		b.Exec("SELECT end_instance('eu', id, 'deregistered') FROM instances WHERE status <> 'gone'")
	}
	b.RequireInvariants()
}

// A registration whose answer was lost is repeated with the token of the enrolment, and gets the same credential; a
// restarted process gets another one, and that of the process before is void.
func TestALostAnswerCostsNoCredential(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e := b.enrol("rack-7", 1)
	first := b.AddServer("a", 8, byEnrolment(e))
	again := b.AddServer("a", 8, byEnrolment(e))
	require.Equal(t, first.Incarnation, again.Incarnation)
	require.Equal(t, first.Enrolled.CredentialID, again.Enrolled.CredentialID)
	again = b.AddServer("a", 8, byEnrolment(instanceOf(first)))
	require.Equal(t, first.Enrolled.CredentialID, again.Enrolled.CredentialID)

	restarted := b.AddServer("a", 8, byEnrolment(e), func(r *db.Registration) { r.BootID = "boot-2" })
	require.NotEqual(t, first.Enrolled.CredentialID, restarted.Enrolled.CredentialID)
	_, err := b.tryRegister(b.Store, "a", instanceOf(first))
	requireKind(t, fault.Forbidden, "credential_revoked", err)
	_, ok, err := b.RenewCredential(t.Context(), "eu", "a", first.Enrolled.CredentialID, "aa")
	require.NoError(t, err)
	require.False(t, ok)
	_, ok, err = b.RenewCredential(t.Context(), "eu", "a", restarted.Enrolled.CredentialID, "bb")
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, "bb", one[string](b, "SELECT tokens_by FROM enrolled_servers"))
}

// A server whose lease has expired comes back with its credential, if its place is free.
func TestAServerComesBackWithItsCredential(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e := b.enrol("rack-7", 1)
	first := b.AddServer("a", 8, byEnrolment(e))
	b.EndAmnesty()
	b.ageHeartbeat("a", 16*time.Second)
	back := b.AddServer("a", 8, byEnrolment(instanceOf(first)))
	require.NotEqual(t, first.Incarnation, back.Incarnation)
	require.Equal(t, first.Enrolled.CredentialID, back.Enrolled.CredentialID)
	require.NoError(t, b.Deregister(t.Context(), refOf(back)))
	b.AddServer("b", 8, byEnrolment(e))
	_, err := b.tryRegister(b.Store, "a", instanceOf(back))
	requireKind(t, fault.Conflict, "enrolment_full", err)
}

// The shared secret of a fleet may take any id; then the credential of the enrolment is void, and its place is free.
// Releases before enrolments register so, too.
func TestAnotherCredentialVoidsTheEnrolment(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e := b.enrol("rack-7", 1)
	first := b.AddServer("a", 8, byEnrolment(e))
	b.AddServer("a", 8, func(r *db.Registration) { r.BootID = "boot-2" })
	_, err := b.tryRegister(b.Store, "a", instanceOf(first))
	requireKind(t, fault.Forbidden, "credential_revoked", err)
	_, err = b.tryRegister(b.Store, "a", e)
	requireKind(t, fault.Forbidden, "outside_enrolment", err)
	require.Equal(t, []string{"a|fleet token"},
		storetest.Values[string](b.DB, "SELECT instance || '|' || credential FROM ops.server_credentials"))
	b.AddServer("b", 8, byEnrolment(e))
}

// The end of an enrolment is judged by the database's clock, when the server registers.
func TestTheDatabaseJudgesTheEndOfAnEnrolment(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e := b.enrol("rack-7", 9)
	b.Exec("UPDATE enrolments SET expires_at = clock_timestamp() + interval '1 hour'")
	first := b.AddServer("a", 8, byEnrolment(e))
	b.Exec("UPDATE enrolments SET expires_at = clock_timestamp()")
	_, err := b.tryRegister(b.Store, "b", e)
	requireKind(t, fault.Forbidden, "enrolment_over", err)
	b.AddServer("a", 8, byEnrolment(instanceOf(first)))
	require.Equal(t, []string{"expired|1"}, storetest.Values[string](b.DB,
		"SELECT state || '|' || servers FROM ops.enrolments"))
}

// A registration that runs while its enrolment is revoked with its servers does not slip through.
func TestARegistrationBesideTheEndOfItsEnrolment(t *testing.T) {
	t.Parallel()
	b, ctx := setup(t), context.Background()
	e := b.enrol("rack-7", 9)
	first := b.AddServer("a", 8, byEnrolment(e))
	registering, err := b.Pool().Begin(ctx)
	require.NoError(t, err)
	defer func() { _ = registering.Rollback(ctx) }()
	_, err = registering.Exec(ctx, "SELECT FROM enrolments FOR NO KEY UPDATE")
	require.NoError(t, err)
	_, err = registering.Exec(ctx, `INSERT INTO instance_directory VALUES ('b', 'eu', '0b8f9a3e-5f0c-4d59-9d5b-0f7d0e1c2a33')`)
	require.NoError(t, err)
	_, err = registering.Exec(ctx, `INSERT INTO instances (region, id, incarnation, endpoint, modes, capacity, seat_ceiling)
		VALUES ('eu', 'b', '0b8f9a3e-5f0c-4d59-9d5b-0f7d0e1c2a33', 'b:1', '{duel}', 8, 8)`)
	require.NoError(t, err)
	_, err = registering.Exec(ctx, `INSERT INTO enrolled_servers (region, instance_id, enrolment, credential, incarnation, tokens_by, expires_at)
		SELECT 'eu', 'b', id, gen_random_uuid(), '0b8f9a3e-5f0c-4d59-9d5b-0f7d0e1c2a33', 'aa', now() + interval '1 day' FROM enrolments`)
	require.NoError(t, err)
	revoked := make(chan error, 1)
	go func() {
		_, err := b.As("ops:ada").RevokeEnrolment(ctx, "eu", "rack-7", true)
		revoked <- err
	}()
	b.AwaitBlocked(1)
	require.NoError(t, registering.Commit(ctx))
	require.NoError(t, <-revoked)
	require.Equal(t, []string{"a|gone", "b|gone"}, storetest.Values[string](b.DB,
		"SELECT id || '|' || status FROM instances ORDER BY id"))
	_, err = b.tryRegister(b.Store, "a", instanceOf(first))
	requireKind(t, fault.Forbidden, "credential_revoked", err)
	require.Equal(t, []string{"credential.revoked|a|ops:ada", "credential.revoked|b|ops:ada",
		"enrolment.created||ops:ada", "enrolment.revoked||ops:ada"}, storetest.Values[string](b.DB,
		"SELECT kind || '|' || coalesce(instance, '') || '|' || actor FROM ops.events WHERE kind ~ 'enrolment|credential' ORDER BY 1"))
	changed, err := b.As("ops:ada").RevokeEnrolment(ctx, "eu", "rack-7", true)
	require.NoError(t, err)
	require.False(t, changed)
}

// Revoking a server and its registration, at the same time, any number of times: no deadlock, and after both the
// credential from before the last revocation registers nothing.
func TestRevocationsRaceWithRegistrations(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e := b.enrol("rack-7", 2)
	other := b.withoutDeadlockCheck()
	for range 20 {
		in := b.AddServer("a", 8, byEnrolment(e))
		var racing sync.WaitGroup
		racing.Go(func() { _, _ = b.tryRegister(b.Store, "a", instanceOf(in)) })
		racing.Go(func() { _, _ = other.As("ops:ada").RevokeServer(context.Background(), "a") })
		racing.Go(func() {
			_, _, _ = other.RenewCredential(context.Background(), "eu", "a", in.Enrolled.CredentialID, "aa")
		})
		racing.Wait()
		_, err := b.tryRegister(other, "a", instanceOf(in))
		requireKind(t, fault.Forbidden, "credential_revoked", err)
	}
}

func TestEnrolmentsRefuseWhatIsNone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Exec("SELECT ops.create_enrolment('eu', 'taken', '{}', 1)")
	for call, want := range map[string]string{
		"create_enrolment('EU', 'a', '{}', 1)":             "1 to 32 characters of a-z",
		"create_enrolment(NULL, 'a', '{}', 1)":             "1 to 32 characters of a-z",
		"create_enrolment('eu', 'a b', '{}', 1)":           "1 to 64 letters",
		"create_enrolment('eu', 'a', '{}', 0)":             "1 to 100,000 servers",
		"create_enrolment('eu', 'a', '{}', NULL)":          "1 to 100,000 servers",
		"create_enrolment('eu', 'a', '{\"\"}', 1)":         "up to 32 modes",
		"create_enrolment('eu', 'a', '{}', 1, '1 second')": "a minute to ten years",
		"create_enrolment('eu', 'a', '{}', 1, NULL)":       "a minute to ten years",
		"create_enrolment('eu', 'taken', '{}', 1)":         "has an enrolment 'taken' already",
		"revoke_enrolment('eu', 'b')":                      "has no enrolment 'b'",
		"revoke_enrolment('us', 'taken')":                  "has no enrolment",
		"revoke_enrolment(NULL, NULL)":                     "has no enrolment",
		"revoke_server('a')":                               "has no credential of an enrolment",
		"revoke_server(NULL)":                              "has no credential",
	} {
		_, err := b.Pool().Exec(t.Context(), "SELECT ops."+call)
		require.ErrorContains(t, err, want, call)
	}
	b.AddServer("a", 8)
	_, err := b.As("").RevokeServer(t.Context(), "a")
	requireKind(t, fault.NotFound, "not_found", err)
	require.True(t, one[bool](b, "SELECT ops.revoke_enrolment('eu', 'taken')"))
	b.Exec("SELECT ops.create_enrolment('eu', 'taken', '{}', 1)")
	b.Exec("UPDATE enrolments SET revoked_at = now() - interval '91 days' WHERE revoked_at IS NOT NULL")
	b.Exec("SELECT ops.create_enrolment('eu', 'new', '{}', 1)")
	require.Equal(t, []string{"new", "taken"}, storetest.Values[string](b.DB,
		"SELECT name FROM ops.enrolments ORDER BY 1"))
	require.NotContains(t, one[string](b, "SELECT string_agg(detail::text, ' ') FROM ops.events"),
		one[string](b, "SELECT encode(digest, 'hex') FROM enrolments LIMIT 1"))
}

// The row of an enrolled server goes with its instance, and the last of them lets the enrolment go.
func TestForgottenServersLeaveNoCredential(t *testing.T) {
	t.Parallel()
	b := setup(t)
	in := b.AddServer("a", 8, byEnrolment(b.enrol("rack-7", 1)))
	require.NoError(t, b.Deregister(t.Context(), refOf(in)))
	b.Exec("UPDATE instances SET ended_at = now() - interval '2 days'")
	n, err := b.ForgetInstances(t.Context(), "eu", 24*time.Hour, 10)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Zero(t, one[int](b, "SELECT count(*) FROM enrolled_servers"))
	_, err = b.tryRegister(b.Store, "a", instanceOf(in))
	requireKind(t, fault.Forbidden, "credential_revoked", err)
}
