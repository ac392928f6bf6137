package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

func printedEvents(t *testing.T, text string) (all []opsview.EventLine) {
	t.Helper()
	for line := range strings.Lines(text) {
		var e opsview.EventLine
		require.NoError(t, json.Unmarshal([]byte(line), &e), line)
		all = append(all, e)
	}
	return all
}

func kindsOf(all []opsview.EventLine) (kinds []string) {
	for _, e := range all {
		kinds = append(kinds, e.Kind)
	}
	return kinds
}

// Pins events that are printed out of order, twice or not at all to a reader that continues after a cursor.
func TestEvents(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	environ, s := env("DATABASE_URL="+url), storetest.OnDatabase(t, url)
	s.AddServer("eu-1", 8)
	s.AddServer("eu-2", 8)
	p, err := placeOn(t, s.Store, "anna")
	require.NoError(t, err)
	director.OK(t, environ, "fleet", "drain", "eu-1")
	director.OK(t, environ, "sessions", "close", p.SessionID, "--reason", "a test")

	all := printedEvents(t, director.OK(t, environ, "events", "-o", "json"))
	require.Equal(t, []string{"instance.registered", "instance.registered", "session.opened", "instance.drained", "session.closed"}, kindsOf(all))
	rest := printedEvents(t, director.OK(t, environ, "events", "-o", "json", "--after", all[2].Cursor))
	require.Equal(t, all[3:], rest)
	require.Empty(t, director.OK(t, environ, "events", "--after", all[4].Cursor))

	for args, want := range map[string][]string{
		"--kind instance.*":                            {"instance.registered", "instance.registered", "instance.drained"},
		"--kind session.closed,instance.drained":       {"instance.drained", "session.closed"},
		"--instance eu-2 --kind instance.*":            {"instance.registered"},
		"--session " + p.SessionID:                     {"session.opened", "session.closed"},
		"--region us":                                  nil,
		"--region eu --kind key.*":                     nil,
		"--since 1h --session " + p.SessionID + "0":    nil,
		"--kind session.opened --region eu --since 1h": {"session.opened"},
	} {
		found := printedEvents(t, director.OK(t, environ, append([]string{"events", "-o", "json"}, strings.Fields(args)...)...))
		require.Equal(t, want, kindsOf(found), args)
	}
	table := director.OK(t, environ, "events", "--kind", "session.closed")
	require.Regexp(t, `^\d{4}-\d\d-\d\dT\S+Z  session\.closed +eu-\d  `+p.SessionID+`  \{.*"reason": *"a test".*\}  by sql:\S+\n$`, table)
	_, err = s.Pool().Exec(t.Context(), "UPDATE events SET at = at - interval '10 minutes'")
	require.NoError(t, err)
	require.Empty(t, director.OK(t, environ, "events", "--since", "5m"))

	for args, says := range map[string]string{
		"--after x": "number/uuid", "--since 0s": "more than 0", "--kind [": "a kind such as session.closed",
		"--kind foo": "no event has this kind; docs/reference/events.md lists the kinds", "--kind session.close": "did you mean session.closed?",
		"--kind session.closed,instance.draned": "did you mean instance.drained?", "--kind instnace.*": "did you mean instance.*?",
	} {
		r := director.Run(t, environ, "", append([]string{"events"}, strings.Fields(args)...)...)
		require.Equal(t, 2, cli.ExitCode(r.Err), args)
		require.ErrorContains(t, r.Err, says)
	}
}

// Pins a reader that ends when the database restarts, misses events that were committed meanwhile, or exits with a
// failure after Ctrl-C.
func TestEventsFollow(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	environ, s := env("DATABASE_URL="+url), storetest.OnDatabase(t, url)
	s.AddServer("eu-1", 8)
	r := start(t, environ, "events", "--follow")
	r.stdout.AwaitLine(t, "eu-1")
	s.AddServer("eu-2", 8)
	r.stdout.AwaitLine(t, "eu-2")

	_, err := s.Pool().Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return s.Deregister(t.Context(), db.InstanceRef{InstanceID: "eu-1"}) == nil }, deadline, tick)
	r.stdout.AwaitLine(t, "instance.ended")
	require.NoError(t, r.stop())
	require.Equal(t, 1, strings.Count(r.stdout.String(), "instance.registered   eu-2"))
}
