package dbtest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/lattice-director/director/internal/dev/lastwill"
	"github.com/lattice-director/director/internal/dev/pglocal"
)

// roomForTests is how many bytes have to be free: with less, databases are dropped with their tests, and no cluster is
// made in memory. A database takes nine megabytes, and twice that with what a test writes.
const roomForTests = 2 << 30

// NewCluster starts a private Postgres for a test that stops, kills or restarts it, and removes it when the test ends.
// It has no migrations applied. The binaries have to be on this machine, wherever the other tests' server is. The zero
// options are for speed; set Durable to test what survives a crash. Without Dir, a new directory is used.
func NewCluster(t testing.TB, o pglocal.Options) *pglocal.Cluster {
	t.Helper()
	return newCluster(t, o, pglocal.Start)
}

// newCluster starts a cluster by a function, and removes it when the test ends.
func newCluster(t testing.TB, o pglocal.Options,
	start func(context.Context, pglocal.Options) (*pglocal.Cluster, error)) *pglocal.Cluster {
	t.Helper()
	if o.Dir == "" {
		o.Dir = newDirName()
	}
	c, err := start(t.Context(), o)
	if err != nil {
		t.Fatalf("dbtest: %v", err)
	}
	t.Cleanup(func() {
		if err := errors.Join(c.StopImmediate(), pglocal.Remove(context.Background(), o.Dir)); err != nil {
			t.Errorf("dbtest: %v", err)
		}
	})
	return c
}

// NewMigratedCluster is [NewCluster], with all migrations applied to its database postgres.
func NewMigratedCluster(t testing.TB, o pglocal.Options) *pglocal.Cluster {
	t.Helper()
	return newCluster(t, o, startSeeded)
}

// startLocal starts the private cluster that the tests of this process share.
func startLocal(ctx context.Context) (*server, error) {
	sweepDirs(ctx)
	dir := newDirName()
	c, err := startSeeded(ctx, pglocal.Options{Dir: dir})
	if err != nil {
		return nil, err
	}
	// The server ends with this process; its files are in memory and would stay there. They are removed a second time
	// because the server may still write.
	if _, err := lastwill.Leave(`rm -rf "$1" || { sleep 1; rm -rf "$1"; }`, dir); err != nil {
		return nil, err
	}
	s, err := newPrivateServer(c.URL("postgres"))
	if err != nil {
		return nil, err
	}
	s.dataDir = dir
	return s, nil
}

// dirPrefix begins the names of all clusters' directories, by which sweepDirs finds them.
const dirPrefix = "director-test-"

// newDirName returns the path of a directory that does not exist yet: the cluster makes it.
func newDirName() string {
	return filepath.Join(fastDir(), fmt.Sprintf("%s%d-%s", dirPrefix, os.Getpid(), rand.Text()[:6]))
}

// fastDir returns a directory in memory where there is room, or the one of temporary files: on a disk, file systems
// slow down when thousands of files come and go.
func fastDir() string {
	if freeBytes("/dev/shm") >= roomForTests {
		return "/dev/shm"
	}
	return os.TempDir()
}

// sweepDirs removes clusters of test processes that were killed together with the shells that lastwill has left for
// them.
func sweepDirs(ctx context.Context) {
	for _, base := range []string{"/dev/shm", os.TempDir()} {
		dirs, _ := filepath.Glob(filepath.Join(base, dirPrefix+"*")) // the pattern is well-formed
		for _, dir := range dirs {
			if !ownerLives(dir) {
				_ = pglocal.Remove(ctx, dir) // fails for another user's, which stays
			}
		}
	}
}

// ownerLives reports whether the test process that made a directory still runs. The cluster need not run: a test may
// have stopped it.
func ownerLives(dir string) bool {
	var pid int
	if _, err := fmt.Sscanf(filepath.Base(dir), dirPrefix+"%d-", &pid); err != nil {
		return false
	}
	p, err := os.FindProcess(pid)
	return err == nil && p.Signal(syscall.Signal(0)) == nil
}
