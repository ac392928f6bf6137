package dbtest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/lattice-director/director/internal/dev/pglocal"
)

// startSeeded starts a private cluster that has all migrations in its database postgres, and the template of [New]. The
// cluster is a copy of a stopped one, the seed, that an earlier test process has kept: initdb and the migrations take
// seconds of a CPU, a copy a tenth of a second. Without a seed, it makes one.
func startSeeded(ctx context.Context, o pglocal.Options) (*pglocal.Cluster, error) {
	seed, err := seedDir()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(seed); errors.Is(err, fs.ErrNotExist) {
		if err := makeSeed(ctx, o.Dir); err != nil {
			return nil, err
		}
		_ = keepSeed(ctx, o.Dir, seed) // where the cache cannot be written, each process makes its own
		return pglocal.Start(ctx, o)
	}
	now := time.Now()
	_ = os.Chtimes(seed, now, now) // in use: sweepSeeds keeps it
	if err := copyTree(ctx, seed, o.Dir); err != nil {
		return nil, err
	}
	return pglocal.Start(ctx, o)
}

// seedDir returns the path of the seed of these migrations and this version of Postgres, in the user's cache. Without a
// cache it is a path that cannot exist.
func seedDir() (string, error) {
	binaries, err := pglocal.Find()
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.DevNull
	}
	name := fmt.Sprintf("test-postgres-%d-%s", binaries.Major, schemaName())
	return filepath.Join(cache, "lattice-director", name), nil
}

// makeSeed makes a cluster with all migrations in its database postgres and the template of [New], and stops it.
func makeSeed(ctx context.Context, dir string) (err error) {
	c, err := pglocal.Start(ctx, pglocal.Options{Dir: dir})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Stop(context.WithoutCancel(ctx))) }()
	if err := migrateCompact(ctx, c.URL("postgres")); err != nil {
		return err
	}
	s, err := newPrivateServer(c.URL("postgres"))
	if err != nil {
		return err
	}
	_, err = s.makeTemplate()
	return err
}

// keepSeed copies a stopped cluster to the path of the seed, where it gets its name last: a process that is killed
// leaves no part of a seed under that name. Where another process was faster, its seed stays.
func keepSeed(ctx context.Context, dir, seed string) error {
	if err := os.MkdirAll(filepath.Dir(seed), 0o700); err != nil {
		return err
	}
	sweepSeeds(filepath.Dir(seed))
	draft := seed + "." + filepath.Base(dir) // two clusters of one process may both make a seed
	defer func() { _ = os.RemoveAll(draft) }()
	if err := copyTree(ctx, dir, draft); err != nil {
		return err
	}
	return os.Rename(draft, seed)
}

// sweepSeeds removes seeds that no test process has used for long.
func sweepSeeds(cache string) {
	found, _ := filepath.Glob(filepath.Join(cache, "test-postgres-*")) // the pattern is well-formed
	for _, dir := range found {
		if info, err := os.Stat(dir); err == nil && time.Since(info.ModTime()) > keepTemplates {
			_ = os.RemoveAll(dir)
		}
	}
}

// copyTree copies a directory with the owners of its files, which are another user's where root runs the tests.
func copyTree(ctx context.Context, from, to string) error {
	if out, err := exec.CommandContext(ctx, "cp", "-a", from, to).CombinedOutput(); err != nil {
		return fmt.Errorf("cp: %w: %s", err, out)
	}
	return nil
}
