package broken

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db/dbtest"
	"github.com/lattice-director/director/internal/cli/clitest"
	"github.com/lattice-director/director/internal/doctor"
	"github.com/lattice-director/director/internal/pglocal"
	"github.com/lattice-director/director/test/rigtest"
)

// fault is a way in which an installation breaks, and what must be said about it first.
type fault struct {
	breaks func(i *installation)
	check  string // of the first finding
	state  string
	says   string // what doctor and Health say, a regular expression
	cause  string // in Postgres's words; empty: it is not Postgres's
	ready  int    // of /readyz
	reason string // a regular expression
	alert  string // empty: the fault is too small
}

var faults = map[string]fault{
	"the database does not exist": {
		breaks: func(i *installation) { i.Env = append(i.Env, "DATABASE_URL="+i.Cluster.URL("nowhere")) },
		check:  "database", state: doctor.Fail, says: "^refuses the connection$", cause: `^database "nowhere" does not exist \(SQLSTATE 3D000\)$`,
	},
	"nobody listens": {
		breaks: func(i *installation) { i.Env = append(i.Env, "DATABASE_URL=postgres://u@127.0.0.1:1/d") },
		check:  "database", state: doctor.Fail, says: "^does not answer$", cause: "^connection refused$",
	},
	"the host is unknown": {
		breaks: func(i *installation) { i.Env = append(i.Env, "DATABASE_URL=postgres://u@host.invalid/d") },
		check:  "database", state: doctor.Fail, says: "^does not answer$", cause: "^the host name cannot be resolved$",
	},
}

// Pins a fault that doctor, /readyz, Health or the alerts do not name first.
func TestFaultsAreNamedFirst(t *testing.T) {
	t.Parallel()
	for name, f := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := newInstallation(t, rigtest.New(t, clitest.BuildDirector(t), "DIRECTOR_LEASE_TTL=3s"))
			f.breaks(i)
			i.require(f)
		})
	}
}

func (i *installation) require(f fault) {
	t := i.T
	t.Helper()
	d := i.diagnose(func(d doctor.Diagnosis) bool { return d.Checks[0].Check == f.check && d.State == f.state })
	first := d.Checks[0]
	require.Regexp(t, f.says, first.Says)
	require.NotEmpty(t, first.Do)
	require.NotEmpty(t, first.Section)
	if f.cause == "" {
		require.Empty(t, first.Cause)
	} else {
		require.Regexp(t, f.cause, first.Cause)
	}
	if f.ready == 0 { // the fault is one of the settings of doctor alone
		return
	}
	require.Eventually(t, func() bool {
		status, detail := i.ready()
		return status == f.ready && (f.reason == "" || regexpMatches(f.reason, detail))
	}, deadline, time.Second)
	require.Eventually(t, func() bool { return regexpMatches(unanchored(f.says), i.health()) }, deadline, time.Second)
	if f.alert != "" {
		i.requireAlert(f.alert)
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
			strings.Replace(cluster.TCPURL("postgres"), "sslmode=disable", "sslmode=require", 1), "does not answer", "^TLS: the server does not speak it$",
		},
	} {
		i := &installation{Rig: rigtest.On(t, clitest.BuildDirector(t), cluster.URL("postgres"))}
		i.Env = append(i.Env, "DATABASE_URL="+c.url)
		i.require(fault{check: "database", state: doctor.Fail, says: c.says, cause: c.cause})
		require.NotEmpty(t, name)
	}
}

// A full disk has room for the update of a row, and none for a new one.
func TestAFullDisk(t *testing.T) {
	t.Parallel()
	cluster := dbtest.NewCluster(t, pglocal.Options{Durable: true})
	admin := rigtest.On(t, clitest.BuildDirector(t), cluster.URL("postgres"))
	dir := smallDisk(t, rigtest.One[string](admin, "SHOW data_directory"))
	admin.Exec("CREATE TABLESPACE small LOCATION '" + dir + "'")
	admin.Exec("CREATE DATABASE full_disk TABLESPACE small")
	r := rigtest.On(t, admin.Bin, cluster.URL("full_disk"))
	r.Cluster = cluster
	r.Run("migrate", "up")
	i := newInstallation(t, r)
	fill(t, dir)
	i.require(fault{
		check: "writes", state: doctor.Fail, says: "^the database takes no writes$", cause: `No space left on device \(SQLSTATE 53100\)$`,
		ready: http.StatusServiceUnavailable, reason: "does not take writes: .*No space left on device", alert: "DirectorDatabaseRefusesWrites",
	})
}

// smallDisk mounts a small file system that Postgres may write to.
func smallDisk(t *testing.T, data string) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "director-small-disk-")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.Remove(dir) })
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64m"); err != nil {
		t.Skipf("NOT TESTED: a full disk (a file system cannot be mounted: %v)", err) //nolint:forbidigo // mounting needs root
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	info, err := os.Stat(data)
	require.NoError(t, err)
	owner := info.Sys().(*syscall.Stat_t)
	require.NoError(t, os.Chown(dir, int(owner.Uid), int(owner.Gid)))
	return dir
}

// fill writes a file until the disk is full.
func fill(t *testing.T, dir string) {
	t.Helper()
	file, err := os.Create(filepath.Join(dir, "filler"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.Remove(file.Name()) })
	for block := make([]byte, 1<<12); err == nil; {
		_, err = file.Write(block)
	}
	require.ErrorIs(t, err, syscall.ENOSPC)
	_ = file.Close()
}

// A fresh installation has nothing wrong with it.
func TestAFreshInstallationIsNotAmber(t *testing.T) {
	t.Parallel()
	i := newInstallation(t, rigtest.New(t, clitest.BuildDirector(t)))
	d := i.diagnose(func(d doctor.Diagnosis) bool { return d.State == doctor.OK })
	require.Empty(t, d.First)
	require.Contains(t, i.health(), "No problems found.")
}
