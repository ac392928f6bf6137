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

	"github.com/lattice-director/director/internal/pglocal"
)

// What was committed must be there after a clean stop, a crash and a new Start by the next process, under the same URL.
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

// A throwaway cluster trades the machine's crash for speed, but not its own: tests kill it and count what they were told.
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
	require.Empty(t, ask[string](t, url, "show listen_addresses"), "no TCP unless asked for")
	require.Equal(t, "UTF8/C", ask[string](t, url,
		"select pg_encoding_to_char(encoding) || '/' || datcollate from pg_database where datname = current_database()"))
}

// On a machine with several users everybody can connect to 127.0.0.1, and this superuser can run programs.
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

// Someone who killed the server, or the kernel short of memory, must be seen, and the cluster must come back.
func TestDeathIsToldAndRecovered(t *testing.T) {
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
	require.NoError(t, c.Err(), "a stop that was asked for is no death")
}

// Ctrl-C goes to every process of the terminal's group: a server among them would be gone before the director has
// finished its requests.
func TestServerHasItsOwnProcessGroup(t *testing.T) {
	t.Parallel()
	c := start(t, pglocal.Options{Dir: seeded(t)})
	group, err := syscall.Getpgid(c.PID())
	require.NoError(t, err)
	require.NotEqual(t, syscall.Getpgrp(), group)
}

// A client that stays must not hold up the end for ever.
func TestStopGivesUpPatienceWithItsContext(t *testing.T) {
	t.Parallel()
	c := start(t, pglocal.Options{Dir: seeded(t)})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, c.Stop(ctx))
	require.Zero(t, c.PID())
}

// A start that was called off must leave neither a server nor a lock.
func TestCancelledStartLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := scratch(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err := pglocal.Start(ctx, pglocal.Options{Dir: dir})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	start(t, pglocal.Options{Dir: dir})
}

// initdb takes half a second in which it can be killed. What it left must neither be taken for a cluster nor be in the
// way.
func TestHalfMadeDataDirectoryIsMadeAnew(t *testing.T) {
	t.Parallel()
	dir := scratch(t)
	oddData(t, dir, "data.partial", "15")
	c := start(t, pglocal.Options{Dir: dir})
	require.Equal(t, 1, ask[int](t, c.URL("postgres"), "select 1"))
}

// macOS has a space in its state directory; deep directories do not fit into a socket's address.
func TestAwkwardDirectories(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(scratch(t), "Application Support, \"100%\"", strings.Repeat("deep", 20))
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(filepath.Dir(filepath.Dir(dir)))) })
	t.Cleanup(func() { require.NoError(t, pglocal.Remove(context.Background(), dir)) })
	c := start(t, pglocal.Options{Dir: dir})
	require.Equal(t, 1, ask[int](t, c.URL("postgres"), "select 1"))
}
