package faults

import (
	"bytes"
	"errors"
	"io/fs"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db/dbtest"
	"github.com/lattice-director/director/db/pglocal"
)

// A dump is restored into a new server, which counts transactions from its own beginning. No replica is ready until 'migrate up'
// has numbered those of the rows anew. Then the feed shows every event once, in the order of before, and settled tickets are
// forgotten in time.
func TestRestoredDump(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.exec(`
		CREATE PROCEDURE write_history() LANGUAGE plpgsql AS $$ BEGIN
			FOR i IN 1..20000 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; -- more than the other server has counted
			FOR i IN 1..1500 LOOP INSERT INTO events (kind) VALUES ('old ' || i), ('beside old ' || i); COMMIT; END LOOP;
			FOR i IN 1..300 LOOP INSERT INTO settled_tickets (region, id, settled_at) VALUES ('om', 'old' || i, now() - interval '1 hour'); COMMIT; END LOOP;
		END $$`)
	r.exec("CALL write_history()")
	before := r.eventFeed()
	require.Len(t, before, 3000)

	r.moveTo(r.restored())
	require.Empty(t, r.eventFeed(), "what the server hides without a remedy")
	addr := freeAddr(t)
	r.start("serve", "--addr", addr, "--work")
	require.Eventually(t, func() bool { return strings.Contains(r.get("http://"+addr+"/readyz"), "run 'director migrate up'") },
		60*time.Second, 20*time.Millisecond)
	r.run("migrate", "up")
	r.await("http://" + addr + "/readyz")

	after := r.eventFeed()
	require.GreaterOrEqual(t, len(after), len(before))
	require.Equal(t, before, ofKind(after, "old "), "in the order of before, once each")
	require.Eventually(t, func() bool { return one[int](r, "SELECT count(*)::int FROM settled_tickets") == 0 }, 30*time.Second, 50*time.Millisecond,
		"tickets that were settled an hour ago are remembered for ten minutes")
	r.exec("INSERT INTO events (kind) VALUES ('new')")
	require.Eventually(t, func() bool { all := r.eventFeed(); return all[len(all)-1] == "new" }, 30*time.Second, 20*time.Millisecond)
	r.run("migrate", "up")
	require.Equal(t, before, ofKind(r.eventFeed(), "old "), "renewed once and for all")
}

func ofKind(kinds []string, part string) (found []string) {
	for _, kind := range kinds {
		if strings.Contains(kind, part) {
			found = append(found, kind)
		}
	}
	return found
}

// eventFeed is what a new follower of the event feed reads, by kind.
func (r *rig) eventFeed() []string {
	r.t.Helper()
	return one[[]string](r, "SELECT coalesce(array_agg(kind), '{}') FROM ops.event_feed")
}

func (r *rig) get(url string) string {
	res, err := r.client.Get(url)
	if err != nil {
		return ""
	}
	defer func() { _ = res.Body.Close() }()
	var text bytes.Buffer
	_, _ = text.ReadFrom(http.MaxBytesReader(nil, res.Body, 1<<20))
	return text.String()
}

// moveTo has everything that starts from now on use another cluster.
func (r *rig) moveTo(cluster *pglocal.Cluster) {
	r.t.Helper()
	pool, err := pgxpool.New(r.t.Context(), cluster.URL("postgres"))
	require.NoError(r.t, err)
	r.t.Cleanup(pool.Close)
	r.cluster, r.pool = cluster, pool
	r.env = append(r.env, "DATABASE_URL="+cluster.URL("postgres")) // the last one counts
}

// restored is a new cluster with a dump of the rig's: one of pg_dump, where the installation of Postgres has it, else the same
// rows in the same schema.
func (r *rig) restored() *pglocal.Cluster {
	r.t.Helper()
	to := dbtest.NewCluster(r.t, pglocal.Options{Durable: true})
	binaries, err := pglocal.Find()
	require.NoError(r.t, err)
	dump := exec.Command(filepath.Join(binaries.Dir, "pg_dump"), "--format=custom", "--dbname="+r.cluster.URL("postgres"))
	data, err := dump.Output()
	if errors.Is(err, fs.ErrNotExist) {
		r.copyTo(to)
		return to
	}
	require.NoError(r.t, err)
	restore := exec.Command(filepath.Join(binaries.Dir, "pg_restore"), "--exit-on-error", "--dbname="+to.URL("postgres"))
	restore.Stdin = bytes.NewReader(data)
	out, err := restore.CombinedOutput()
	require.NoError(r.t, err, "%s", out)
	return to
}

func (r *rig) copyTo(to *pglocal.Cluster) {
	r.t.Helper()
	env := r.env
	r.env = append(r.env, "DATABASE_URL="+to.URL("postgres"))
	r.run("migrate", "up")
	r.env = env
	from, err := pgx.Connect(r.t.Context(), r.cluster.URL("postgres"))
	require.NoError(r.t, err)
	defer func() { _ = from.Close(r.t.Context()) }()
	into, err := pgx.Connect(r.t.Context(), to.URL("postgres"))
	require.NoError(r.t, err)
	defer func() { _ = into.Close(r.t.Context()) }()
	for _, table := range []string{"events", "settled_tickets"} {
		var rows bytes.Buffer
		_, err := from.PgConn().CopyTo(r.t.Context(), &rows, "COPY (SELECT * FROM "+table+") TO STDOUT")
		require.NoError(r.t, err)
		_, err = into.PgConn().CopyFrom(r.t.Context(), &rows, "COPY "+table+" FROM STDIN")
		require.NoError(r.t, err)
	}
}
