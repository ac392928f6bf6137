//go:build linux || darwin

package pglocal_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/dev/pglocal"
)

// Pins a server that keeps running after kill -9 of the director, and lost data at the next start.
func TestServerEndsWithItsParent(t *testing.T) {
	t.Parallel()
	dir := seeded(t)
	c := start(t, pglocal.Options{Dir: dir})
	execute(t, c.URL("postgres"), "create table kept as select 1 n")
	require.NoError(t, c.Stop(t.Context()))

	program, said := parent(t, os.Args[0], dir, nil)
	pid, err := strconv.Atoi(said)
	require.NoError(t, err, said)
	require.NoError(t, syscall.Kill(pid, 0))
	require.NoError(t, program.Process.Kill())
	require.Error(t, program.Wait())
	require.Eventually(t, func() bool { return gone(pid) }, 5*time.Second, time.Millisecond)

	require.NoError(t, c.Start(t.Context()))
	require.Equal(t, 1, ask[int](t, c.URL("postgres"), "select n from kept"))
}

// Pins a start that fails because the server of a killed director is still stopping.
func TestStartRightAfterTheParentWasKilled(t *testing.T) {
	t.Parallel()
	dir := seeded(t)
	program, said := parent(t, os.Args[0], dir, nil)
	require.NotContains(t, said, "error")
	require.NoError(t, program.Process.Kill())
	require.Error(t, program.Wait())
	c := start(t, pglocal.Options{Dir: dir})
	require.Equal(t, 1, ask[int](t, c.URL("postgres"), "select 1"))
}

// Pins a second process that shares the cluster: it would lose its database when the first one ends.
func TestSecondProcessIsRefused(t *testing.T) {
	t.Parallel()
	dir := seeded(t)
	c := start(t, pglocal.Options{Dir: dir})
	_, said := parent(t, os.Args[0], dir, nil)
	require.Contains(t, said, "in use (postmaster pid "+strconv.Itoa(c.PID())+")")

	_, err := pglocal.Start(t.Context(), pglocal.Options{Dir: dir})
	var inUse *pglocal.InUseError
	require.ErrorAs(t, err, &inUse)
	require.Equal(t, c.PID(), inUse.PID)
	require.ErrorAs(t, pglocal.Remove(t.Context(), dir), &inUse)
	require.ErrorContains(t, c.Start(t.Context()), "running already")
	require.Equal(t, 1, ask[int](t, c.URL("postgres"), "select 1"))
}

// Pins a lock file that the garbage collector closed, so that Remove deleted the directory of a running server.
func TestLockOutlivesTheLastReference(t *testing.T) {
	t.Parallel()
	dir := seeded(t)
	c, err := pglocal.Start(t.Context(), pglocal.Options{Dir: dir})
	require.NoError(t, err)
	done := c.Done()
	runtime.GC()
	runtime.GC()
	var inUse *pglocal.InUseError
	require.ErrorAs(t, pglocal.Remove(t.Context(), dir), &inUse)
	require.NoError(t, syscall.Kill(inUse.PID, syscall.SIGQUIT))
	<-done
	require.Eventually(t, func() bool {
		runtime.GC()
		return pglocal.Remove(t.Context(), dir) == nil
	}, 5*time.Second, time.Millisecond)
}

// Pins a cluster that needs privileges: this test has none, also if root runs it.
func TestWithoutPrivileges(t *testing.T) {
	t.Parallel()
	base := filepath.Dir(scratch(t))
	as := nobody(t)
	if as != nil {
		require.NoError(t, os.Chown(base, as.uid, as.gid))
	}
	// Other users may not enter the directory of the test binary.
	program := filepath.Join(base, "program")
	require.NoError(t, exec.Command("cp", os.Args[0], program).Run())
	require.NoError(t, os.Chmod(program, 0o755))

	dir := filepath.Join(base, "c")
	_, said := parent(t, program, dir, as)
	pid, err := strconv.Atoi(said)
	require.NoError(t, err, said)
	info, err := os.Stat(filepath.Join(dir, "data"))
	require.NoError(t, err)
	if as != nil {
		require.EqualValues(t, as.uid, info.Sys().(*syscall.Stat_t).Uid)
	}
	require.False(t, gone(pid))
}

// After a crash of the machine the pid file may name a process that has ended, or another program.
func TestStalePIDFile(t *testing.T) {
	t.Parallel()
	dir := seeded(t)
	o := pglocal.Options{Dir: dir}
	c := start(t, o)
	require.NoError(t, c.Stop(t.Context()))
	dead := exec.Command("true")
	require.NoError(t, dead.Run())
	info, err := os.Stat(filepath.Join(dir, "data"))
	require.NoError(t, err)
	owner := info.Sys().(*syscall.Stat_t)
	for _, pid := range []int{dead.Process.Pid, os.Getpid(), os.Getppid()} {
		stale := strconv.Itoa(pid) + "\n" + dir + "/data\n1\n5432\n" + dir + "\n\n1 1\nready   \n"
		file := filepath.Join(dir, "data", "postmaster.pid")
		require.NoError(t, os.WriteFile(file, []byte(stale), 0o600))
		require.NoError(t, os.Chown(file, int(owner.Uid), int(owner.Gid)))
		require.NoError(t, c.Start(t.Context()))
		require.NotEqual(t, pid, c.PID())
		require.Equal(t, 1, ask[int](t, c.URL("postgres"), "select 1"))
		require.NoError(t, c.Stop(t.Context()))
	}
}

// gone reports whether the process has ended. A zombie counts as ended: in a container it may have no parent that reaps
// it.
func gone(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return true
	}
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	return err == nil && strings.Contains(string(stat), ") Z ")
}
