//go:build linux || darwin

package pglocal_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/dev/pglocal"
)

// Pins committed rows that are lost by a clean stop, a crash or a new Start, or a URL that changes.
func TestDataSurvives(t *testing.T) {
	t.Parallel()
	o := pglocal.Options{Dir: scratch(t), Durable: true}
	c := start(t, o)
	url := c.URL("postgres")
	execute(t, url, "create table kept (n int)")

	execute(t, url, "insert into kept values (1)")
	require.NoError(t, c.Restart(t.Context()))
	execute(t, url, "insert into kept values (2)")
	require.NoError(t, c.StopImmediate())
	require.Zero(t, c.PID())
	require.NoError(t, c.Start(t.Context()))
	require.Equal(t, 2, ask[int](t, url, "select count(*)::int from kept"))

	require.NoError(t, c.Stop(t.Context()))
	again := start(t, o)
	require.Equal(t, url, again.URL("postgres"))
	require.Equal(t, 2, ask[int](t, url, "select count(*)::int from kept"))
}

// A throwaway cluster may lose data in a crash of the machine, but not in its own crash: tests kill it and count
// acknowledged rows.
func TestThrowawayKeepsCommitsOverItsOwnCrash(t *testing.T) {
	t.Parallel()
	c := start(t, pglocal.Options{Dir: seeded(t)})
	execute(t, c.URL("postgres"), "create table kept as select generate_series(1, 1000) n")
	require.NoError(t, c.StopImmediate())
	require.NoError(t, c.Start(t.Context()))
	require.Equal(t, 1000, ask[int](t, c.URL("postgres"), "select count(*)::int from kept"))
}

func TestSettings(t *testing.T) {
	t.Parallel()
	durable := start(t, pglocal.Options{Dir: seeded(t), Durable: true, Settings: map[string]string{"work_mem": "7MB"}})
	url := durable.URL("postgres")
	require.Equal(t, "7MB", ask[string](t, url, "show work_mem"))
	require.Equal(t, "on/on/on", ask[string](t, url, `select string_agg(setting, '/') from pg_settings
		where name in ('fsync', 'synchronous_commit', 'full_page_writes')`))
	require.Empty(t, ask[string](t, url, "show listen_addresses"), "no TCP without TCPPort")
	require.Equal(t, "UTF8/C", ask[string](t, url,
		"select pg_encoding_to_char(encoding) || '/' || datcollate from pg_database where datname = current_database()"))
}

// Other users of the machine can connect to 127.0.0.1, and a superuser can run programs: so TCP needs the password.
func TestTCPAsksForThePassword(t *testing.T) {
	t.Parallel()
	c := start(t, pglocal.Options{Dir: seeded(t), TCPPort: pglocal.AnyPort})
	tcp := c.TCPURL("postgres")
	require.NoError(t, c.Restart(t.Context()))
	require.Equal(t, tcp, c.TCPURL("postgres"), "clients find a restarted server again")
	require.Equal(t, 1, ask[int](t, tcp, "select 1"))
	user, rest, _ := strings.Cut(tcp, "@")
	_, err := connect(t, user[:len(user)-1]+"@"+rest)
	require.ErrorContains(t, err, "28P01")
}

// Pins a killed server (by a user, or by the kernel for lack of memory) that is not reported, or cannot be started
// again.
func TestCrashIsReportedAndRecovered(t *testing.T) {
	t.Parallel()
	c := start(t, pglocal.Options{Dir: seeded(t), Durable: true})
	execute(t, c.URL("postgres"), "create table kept as select 1 n")
	done := c.Done()
	require.NoError(t, c.Err())
	require.NoError(t, syscall.Kill(c.PID(), syscall.SIGKILL))
	<-done
	require.ErrorContains(t, c.Err(), "ended by itself")
	require.NoError(t, c.Start(t.Context()))
	require.NoError(t, c.Err())
	require.Equal(t, 1, ask[int](t, c.URL("postgres"), "select n from kept"))
	require.NoError(t, c.Stop(t.Context()))
	require.NoError(t, c.Err(), "a requested stop is not a crash")
}

// Ctrl-C goes to every process of the terminal's group. A server in that group would end before the director has
// finished its requests.
func TestServerHasItsOwnProcessGroup(t *testing.T) {
	t.Parallel()
	c := start(t, pglocal.Options{Dir: seeded(t)})
	group, err := syscall.Getpgid(c.PID())
	require.NoError(t, err)
	require.NotEqual(t, syscall.Getpgrp(), group)
}

// Pins a Stop that waits without end for a client that stays connected.
func TestStopIsImmediateWhenItsContextEnds(t *testing.T) {
	t.Parallel()
	c := start(t, pglocal.Options{Dir: seeded(t)})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, c.Stop(ctx))
	require.Zero(t, c.PID())
}

// Pins a server or a lock that is left after a cancelled start.
func TestCancelledStartLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := scratch(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err := pglocal.Start(ctx, pglocal.Options{Dir: dir})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	start(t, pglocal.Options{Dir: dir})
}

// initdb takes half a second, in which it can be killed. Pins a partial data directory that is used as a cluster, or
// blocks a new one.
func TestPartialDataDirectoryIsReplaced(t *testing.T) {
	t.Parallel()
	dir := scratch(t)
	oddData(t, dir, "data.partial", "15")
	c := start(t, pglocal.Options{Dir: dir})
	require.Equal(t, 1, ask[int](t, c.URL("postgres"), "select 1"))
}

// The state directory of macOS contains a space, and the path of a deep directory is too long for a socket.
func TestAwkwardDirectories(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(scratch(t), "Application Support, \"100%\"", strings.Repeat("deep", 20))
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(filepath.Dir(filepath.Dir(dir)))) })
	t.Cleanup(func() { require.NoError(t, pglocal.Remove(context.Background(), dir)) })
	c := start(t, pglocal.Options{Dir: dir})
	require.Equal(t, 1, ask[int](t, c.URL("postgres"), "select 1"))
}
