package faults

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/dev/pglocal"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/test/rigtest"
)

// A dump is restored into a new server, whose transaction ids start again. No replica becomes ready until 'migrate up'
// has renumbered the transaction ids in the rows. The feed then shows every event once, in the former order, and
// settled tickets are deleted in time.
func TestRestoredDump(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.ExecSQL(`
		CREATE PROCEDURE write_history() LANGUAGE plpgsql AS $$ BEGIN
			FOR i IN 1..20000 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; -- more ids than the other server has used
			FOR i IN 1..1500 LOOP INSERT INTO events (kind) VALUES ('old ' || i), ('beside old ' || i); COMMIT; END LOOP;
			FOR i IN 1..300 LOOP INSERT INTO settled_tickets (region, id, settled_at) VALUES ('om', 'old' || i, now() - interval '1 hour'); COMMIT; END LOOP;
		END $$`)
	r.ExecSQL("CALL write_history()")
	before := r.eventFeed()
	require.Len(t, before, 3000)

	r.useCluster(r.restoreDump())
	require.Empty(t, r.eventFeed(), "the feed shows no event with an id in the future")
	addr := rigtest.FreeAddr(t)
	replica := r.StartReplica(addr, "--work")
	require.Eventually(t, func() bool {
		_, answer, _ := r.CallJSON(t.Context(), http.MethodGet, "http://"+addr+"/readyz", http.Header{}, nil)
		return strings.Contains(fmt.Sprint(answer["detail"]), "run 'director migrate up'")
	}, 60*time.Second, 20*time.Millisecond)
	r.RunCommand("migrate", "up")
	r.AwaitReady(replica)

	after := r.eventFeed()
	require.GreaterOrEqual(t, len(after), len(before))
	require.Equal(t, before, ofOldKinds(after), "in the former order, once each")
	r.AwaitTrue("SELECT count(*) = 0 FROM settled_tickets") // they are kept for ten minutes; these are an hour old
	r.ExecSQL("INSERT INTO events (kind) VALUES ('new')")
	require.Eventually(t, func() bool { all := r.eventFeed(); return all[len(all)-1] == "new" }, 30*time.Second,
		20*time.Millisecond)
	r.RunCommand("migrate", "up")
	require.Equal(t, before, ofOldKinds(r.eventFeed()), "the second run changes nothing")
}

// ofOldKinds returns the kinds that write_history has written.
func ofOldKinds(kinds []string) []string {
	return slices.DeleteFunc(slices.Clone(kinds), func(kind string) bool { return !strings.Contains(kind, "old ") })
}

// eventFeed returns the kinds of all events that a new reader of the event feed reads.
func (r *rig) eventFeed() []string {
	r.T.Helper()
	return one[[]string](r, "SELECT coalesce(array_agg(kind), '{}') FROM ops.event_feed")
}

// useCluster makes everything that starts from now on use another cluster.
func (r *rig) useCluster(cluster *pglocal.Cluster) {
	r.T.Helper()
	pool := must.Get(pgxpool.New(r.T.Context(), cluster.URL("postgres")))(r.T)
	r.T.Cleanup(pool.Close)
	r.Cluster, r.SQLPool = cluster, pool
	r.NextEnv = append(r.NextEnv, "DATABASE_URL="+cluster.URL("postgres")) // the last value of a name is used
}

// restoreDump returns a new cluster with the rig's data: restored from pg_dump where it is installed, else copied row
// by row into the same schema.
func (r *rig) restoreDump() *pglocal.Cluster {
	r.T.Helper()
	to := dbtest.NewCluster(r.T, pglocal.Options{Durable: true})
	binaries := must.Get(pglocal.Find())(r.T)
	dump := exec.Command(filepath.Join(binaries.Dir, "pg_dump"), "--format=custom",
		"--dbname="+r.Cluster.URL("postgres"))
	data, err := dump.Output()
	if errors.Is(err, fs.ErrNotExist) {
		r.copyTo(to)
		return to
	}
	require.NoError(r.T, err)
	restore := exec.Command(filepath.Join(binaries.Dir, "pg_restore"), "--exit-on-error",
		"--dbname="+to.URL("postgres"))
	restore.Stdin = bytes.NewReader(data)
	out, err := restore.CombinedOutput()
	require.NoError(r.T, err, "%s", out)
	return to
}

// copyTo copies the tables that the tests read into a new cluster.
func (r *rig) copyTo(to *pglocal.Cluster) {
	r.T.Helper()
	env := r.NextEnv
	r.NextEnv = append(r.NextEnv, "DATABASE_URL="+to.URL("postgres"))
	r.RunCommand("migrate", "up")
	r.NextEnv = env
	from := must.Get(pgx.Connect(r.T.Context(), r.Cluster.URL("postgres")))(r.T)
	defer func() { _ = from.Close(r.T.Context()) }()
	into := must.Get(pgx.Connect(r.T.Context(), to.URL("postgres")))(r.T)
	defer func() { _ = into.Close(r.T.Context()) }()
	for _, table := range []string{"events", "settled_tickets", "replicas", "realtime_sessions", "lobbies",
		"lobby_members", "lobby_log"} {
		var rows bytes.Buffer
		must.Get(from.PgConn().CopyTo(r.T.Context(), &rows, "COPY (SELECT * FROM "+table+") TO STDOUT"))(r.T)
		must.Get(into.PgConn().CopyFrom(r.T.Context(), &rows, "COPY "+table+" FROM STDIN"))(r.T)
	}
}
