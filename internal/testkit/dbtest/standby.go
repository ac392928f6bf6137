package dbtest

import (
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/lattice-director/director/internal/dev/pglocal"
)

// Pair is a primary and its hot standby, by Postgres's own streaming replication. Both listen on TCP.
type Pair struct {
	Primary, Standby *pglocal.Cluster
	Replication      *Proxy // the standby's connection to the primary goes through it
}

// NewPair starts a durable primary that has all migrations, and a standby that follows it. The settings are the
// primary's. Both are removed when the test ends.
func NewPair(t testing.TB, settings map[string]string) Pair {
	t.Helper()
	o := pglocal.Options{Dir: newDirName(), Durable: true, TCPPort: pglocal.AnyPort,
		Settings: map[string]string{"wal_keep_size": "1GB"}}
	maps.Copy(o.Settings, settings)
	primary := NewMigratedCluster(t, o)
	check := func(err error) {
		if err != nil {
			t.Fatalf("dbtest: %v", err)
		}
	}
	// Stopped, so that the copy of its files is whole without pg_basebackup.
	check(primary.Stop(t.Context()))
	dir := newDirName()
	check(copyTree(t.Context(), o.Dir, dir))
	check(primary.Start(t.Context()))
	replication := NewProxy(t, primary.TCPURL("postgres"), nil)
	check(os.WriteFile(filepath.Join(dir, "data", "standby.signal"), nil, 0o600))
	o.Dir, o.Settings = dir, map[string]string{"primary_conninfo": conninfo(t, replication.URL)}
	return Pair{Primary: primary, Standby: NewCluster(t, o), Replication: replication}
}

// conninfo returns what primary_conninfo of a standby has for a URL.
func conninfo(t testing.TB, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatalf("dbtest: %v", err)
	}
	password, _ := u.User.Password()
	query := u.Query()
	return fmt.Sprintf("application_name=standby user=%s password=%s host=%s port=%s sslmode=disable",
		u.User.Username(), password, query.Get("host"), query.Get("port"))
}
