package broken

import (
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/cli/clitest"
	"github.com/lattice-director/director/internal/dev/pglocal"
	"github.com/lattice-director/director/internal/doctor"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/test/rigtest"
)

// urlAsRole is the database URL of an installation for another role.
func urlAsRole(i *installation, role string) string {
	return dbtest.WithParameters(i.T, i.Cluster.URL("postgres"), "user", role)
}

// connections are databases that doctor alone cannot use, and what it says first.
var connections = map[string]struct {
	database    func(i *installation) string
	check       string
	says, cause string
}{
	"the database does not exist": {
		func(i *installation) string { return i.Cluster.URL("nowhere") },
		"database", "^refuses the connection$", `^database "nowhere" does not exist \(SQLSTATE 3D000\)$`,
	},
	"nobody listens": {
		func(*installation) string { return "postgres://u@127.0.0.1:1/d" },
		"database", "^does not answer$", "^connection refused$",
	},
	"the host is unknown": {
		func(*installation) string { return "postgres://u@host.invalid/d" },
		"database", "^does not answer$", "^the host name cannot be resolved$",
	},
	"the role does not exist": {
		func(i *installation) string { return urlAsRole(i, "stranger") },
		"database", "^refuses the connection$", `^role "stranger" does not exist \(SQLSTATE 28000\)$`,
	},
	"the role has too many connections": {
		func(i *installation) string {
			i.ExecSQL("CREATE ROLE crowded LOGIN CONNECTION LIMIT 0")
			return urlAsRole(i, "crowded")
		},
		"database", "^refuses the connection$", `^too many connections for role "crowded" \(SQLSTATE 53300\)$`,
	},
	"the role may read nothing": {
		func(i *installation) string {
			i.ExecSQL("CREATE ROLE nosy LOGIN")
			return urlAsRole(i, "nosy")
		},
		"schema", "^not known: it could not be checked$", `^permission denied .* \(SQLSTATE 42501\)$`,
	},
	"the schema is on no path": {
		func(i *installation) string {
			i.ExecSQL("CREATE ROLE lost LOGIN")
			i.ExecSQL("ALTER ROLE lost SET search_path = nowhere")
			return urlAsRole(i, "lost")
		},
		"schema", `^the director's tables are not there; this build needs version \d+$`, "",
	},
	"Postgres is stopping": {
		func(i *installation) string {
			i.ExecSQL("SELECT 1") // a smart shutdown waits for this connection
			require.NoError(i.T, syscall.Kill(i.Cluster.PID(), syscall.SIGTERM))
			return i.Cluster.URL("postgres")
		},
		"database", "^refuses the connection$", `^the database system is shutting down \(SQLSTATE 57P03\)$`,
	},
}

// Pins a database that cannot be used, and of which doctor does not say why and what to do.
func TestConnectionsThatFail(t *testing.T) {
	t.Parallel()
	for name, c := range connections {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := &installation{Rig: rigtest.NewRig(t, clitest.BuildDirector(t))}
			i.NextEnv = append(i.NextEnv, "DATABASE_URL="+c.database(i))
			i.requireNamed(fault{check: c.check, state: doctor.Fail, says: c.says, cause: c.cause})
		})
	}
}

// Over TCP, Postgres asks for the password, and speaks no TLS here.
func TestConnectionsOverTCP(t *testing.T) {
	t.Parallel()
	cluster := dbtest.NewMigratedCluster(t, pglocal.Options{TCPPort: pglocal.AnyPort})
	for name, c := range map[string]struct{ url, says, cause string }{
		"password": {
			withPassword(t, cluster.TCPURL("postgres"), "wrong"), "refuses the connection", `^password authentication failed for user "postgres" \(SQLSTATE 28P01\)$`,
		},
		"TLS": {
			strings.Replace(cluster.TCPURL("postgres"), "sslmode=disable", "sslmode=require", 1), "does not answer",
			"^TLS: the server does not speak it$",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := &installation{Rig: rigtest.NewRigOn(t, clitest.BuildDirector(t), cluster.URL("postgres"))}
			i.NextEnv = append(i.NextEnv, "DATABASE_URL="+c.url)
			i.requireNamed(fault{check: "database", state: doctor.Fail, says: c.says, cause: c.cause})
		})
	}
}
