package broken

import (
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/cli/clitest"
	"github.com/lattice-director/director/internal/dev/pglocal"
	"github.com/lattice-director/director/internal/doctor"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/test/rigtest"
)

// A full disk has room for the update of a row, and none for a new one.
func TestAFullDisk(t *testing.T) {
	t.Parallel()
	cluster := dbtest.NewCluster(t, pglocal.Options{Durable: true})
	admin := rigtest.NewRigOn(t, clitest.BuildDirector(t), cluster.URL("postgres"))
	dir := smallDisk(t, rigtest.QueryOne[string](admin, "SHOW data_directory"))
	admin.ExecSQL("CREATE TABLESPACE small LOCATION '" + dir + "'")
	admin.ExecSQL("CREATE DATABASE full_disk TABLESPACE small")
	r := rigtest.NewRigOn(t, admin.BinaryPath, cluster.URL("full_disk"))
	r.Cluster = cluster
	r.RunCommand("migrate", "up")
	i := newInstallation(t, r)
	fillDisk(t, dir)
	i.requireNamed(fault{
		check: "writes", state: doctor.Fail, says: "^the database takes no writes$", cause: `No space left on device \(SQLSTATE 53100\)$`,
		ready: http.StatusServiceUnavailable, reason: `does not take writes: the disk is full \(SQLSTATE 53100\)`,
		alert: "DirectorDatabaseRefusesWrites",
	})
}

// smallDisk mounts a small file system that Postgres may write to.
func smallDisk(t *testing.T, data string) string {
	t.Helper()
	dir := must.Get(os.MkdirTemp("/var/tmp", "director-small-disk-"))(t)
	t.Cleanup(func() { _ = os.Remove(dir) })
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64m"); err != nil {
		//nolint:forbidigo // mounting needs root
		t.Skipf("NOT TESTED: a full disk (a file system cannot be mounted: %v)", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	info := must.Get(os.Stat(data))(t)
	owner := info.Sys().(*syscall.Stat_t)
	require.NoError(t, os.Chown(dir, int(owner.Uid), int(owner.Gid)))
	return dir
}

// fillDisk writes a file until the disk is full.
func fillDisk(t *testing.T, dir string) {
	t.Helper()
	file := must.Get(os.Create(filepath.Join(dir, "filler")))(t)
	t.Cleanup(func() { _ = os.Remove(file.Name()) })
	block := make([]byte, 1<<12)
	_, err := file.Write(block)
	for err == nil {
		_, err = file.Write(block)
	}
	require.ErrorIs(t, err, syscall.ENOSPC)
	_ = file.Close()
}
