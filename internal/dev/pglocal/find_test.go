//go:build linux || darwin

package pglocal_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/dev/pglocal"
)

// Pins a DIRECTOR_PG_BINDIR that is ignored: it must be used or refused.
func TestFindObeysTheEnvironment(t *testing.T) {
	for version, complaint := range map[string]string{
		"17.4":                 "",
		"18.1 (Debian 18.1-1)": "",
		"13.9":                 "15 or newer is needed",
		"19beta1":              "",
	} {
		dir := t.TempDir()
		fake(t, dir, "postgres (PostgreSQL) "+version)
		t.Setenv(pglocal.EnvBinDir, dir)
		found, err := pglocal.Find()
		if complaint != "" {
			require.ErrorContains(t, err, complaint)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, dir, found.Dir)
		require.Equal(t, version[:2], strconv.Itoa(found.Major))
	}
	t.Setenv(pglocal.EnvBinDir, t.TempDir())
	_, err := pglocal.Find()
	require.ErrorContains(t, err, pglocal.EnvBinDir)
	require.ErrorContains(t, err, "no initdb")
}

// Pins an error that does not name every solution to a new user.
func TestNotInstalledSaysWhatToDo(t *testing.T) {
	t.Parallel()
	for goos, command := range map[string]string{
		"linux": "apt-get install postgresql", "darwin": "brew install postgresql@17", "windows": "Docker",
	} {
		hint := pglocal.InstallHint(goos)
		require.Contains(t, hint, command)
		require.Contains(t, hint, "DATABASE_URL")
		require.Contains(t, hint, pglocal.EnvBinDir)
	}
}

// Postgres cannot read the files of another version, and its own error does not name a solution.
func TestOtherMajorIsRefusedByName(t *testing.T) {
	t.Parallel()
	dir := scratch(t)
	oddData(t, dir, "data", "12")
	found, err := pglocal.Find()
	require.NoError(t, err)
	_, err = pglocal.Start(t.Context(), pglocal.Options{Dir: dir})
	require.ErrorContains(t, err, "made by Postgres 12")
	require.ErrorContains(t, err, fmt.Sprintf("are version %d", found.Major))
}

// Pins an unusable installation whose error blamed its version, 0, instead of the reason.
func TestAnUnusableInstallationIsNamedForExistingData(t *testing.T) {
	dir := scratch(t)
	oddData(t, dir, "data", "17")
	t.Setenv(pglocal.EnvBinDir, t.TempDir())
	_, err := pglocal.Start(t.Context(), pglocal.Options{Dir: dir})
	require.ErrorContains(t, err, pglocal.EnvBinDir)
	require.ErrorContains(t, err, "no initdb")
}

// After an upgrade of the system two versions are installed, and the newer one cannot read the data.
func TestTheVersionThatMadeTheDataIsPreferred(t *testing.T) {
	dir := scratch(t)
	programs := filepath.Join(filepath.Dir(dir), "bin")
	require.NoError(t, os.Mkdir(programs, 0o755))
	fake(t, programs, "postgres (PostgreSQL) 99.1")
	t.Setenv(pglocal.EnvBinDir, "")
	t.Setenv("PATH", programs+":"+os.Getenv("PATH"))
	oddData(t, dir, "data", "99")
	_, err := pglocal.Start(t.Context(), pglocal.Options{Dir: dir})
	require.ErrorContains(t, err, "did not start (exit status 0): postgres (PostgreSQL) 99.1")
}

// Pins an invalid setting whose error is only in the server's log.
func TestStartShowsWhatPostgresSaid(t *testing.T) {
	t.Parallel()
	_, err := pglocal.Start(t.Context(), pglocal.Options{Dir: seeded(t), Settings: map[string]string{"work_mem": "much"}})
	require.ErrorContains(t, err, `invalid value for parameter "work_mem"`)
}

// The user that runs Postgres for root may not enter root's own directories.
func TestUnreachableDirectoryIsNamed(t *testing.T) {
	t.Parallel()
	closed := filepath.Dir(scratch(t))
	require.NoError(t, os.Chmod(closed, 0o600))
	_, err := pglocal.Start(t.Context(), pglocal.Options{Dir: filepath.Join(closed, "c")})
	require.ErrorContains(t, err, closed)
	require.NoError(t, os.Chmod(closed, 0o711))
}

func TestDefaultDir(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", "/somewhere/state")
	dir, err := pglocal.DefaultDir()
	require.NoError(t, err)
	if os.Geteuid() == 0 {
		require.Equal(t, "/var/lib/director", dir, "Postgres could not enter root's home")
	} else {
		require.Equal(t, "/somewhere/state/director", dir)
	}
}

// fake makes an installation whose postgres only prints its version.
func fake(t *testing.T, dir, version string) {
	t.Helper()
	for _, name := range []string{"initdb", "postgres"} {
		script := "#!/bin/sh\necho '" + version + "'\n"
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755))
	}
}
