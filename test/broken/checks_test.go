package broken

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/cli/clitest"
	"github.com/lattice-director/director/internal/doctor"
	"github.com/lattice-director/director/test/rigtest"
)

// breakage breaks what one check of doctor reads, in a database without a replica.
type breakage struct {
	breaks func(i *installation) (mend func())
	state  string // of the check's finding
	says   string // what the check says, a regular expression
}

// breakages are by the name of the check.
var breakages = map[string]breakage{
	"pooler": {
		func(i *installation) func() {
			env := i.NextEnv
			i.NextEnv = append(slices.Clone(env), "DIRECTOR_POOLER=pgbouncer")
			return func() { i.NextEnv = env }
		},
		doctor.Warn, "^none, but DIRECTOR_POOLER is pgbouncer$",
	},
	"schema": {
		func(i *installation) func() {
			i.ExecSQL("CREATE TABLE kept AS SELECT * FROM goose_db_version ORDER BY version_id DESC LIMIT 1")
			i.ExecSQL("DELETE FROM goose_db_version v USING kept k WHERE v.id = k.id")
			return func() { i.ExecSQL("INSERT INTO goose_db_version OVERRIDING SYSTEM VALUE SELECT * FROM kept") }
		},
		doctor.Fail, `^at version \d+, and this build needs \d+$`,
	},
	"restored dump": {
		func(i *installation) func() {
			i.ExecSQL("INSERT INTO events (kind, tx) VALUES ('instance.ended', '900000000000000')")
			return func() { i.ExecSQL("DELETE FROM events WHERE tx = '900000000000000'") }
		},
		doctor.Fail, "^rows have transaction ids of another server",
	},
	"locks": {
		func(i *installation) func() {
			i.ExecSQL("CREATE TABLE locked ()")
			holder, err := i.SQLPool.Begin(i.T.Context())
			require.NoError(i.T, err)
			_, err = holder.Exec(i.T.Context(), "LOCK TABLE locked")
			require.NoError(i.T, err)
			waits := make(chan error, 1)
			go func() { _, err := i.SQLPool.Exec(i.T.Context(), "SELECT FROM locked"); waits <- err }()
			return func() {
				require.NoError(i.T, holder.Rollback(i.T.Context()))
				require.NoError(i.T, <-waits)
			}
		},
		doctor.Fail, "^1 wait for locks, the longest for .*, blocked by pid",
	},
	"writers": {
		func(i *installation) func() {
			writer, err := i.SQLPool.Begin(i.T.Context())
			require.NoError(i.T, err)
			_, err = writer.Exec(i.T.Context(), "INSERT INTO events (kind) VALUES ('instance.ended')")
			require.NoError(i.T, err)
			return func() { require.NoError(i.T, writer.Rollback(i.T.Context())) }
		},
		doctor.Warn, "^a transaction has been writing for 1",
	},
	"workers":      {unbroken, doctor.Fail, "^no worker has run on this database$"},
	"signing keys": {unbroken, doctor.Fail, "^no key signs"},
	"seats": {
		func(i *installation) func() {
			i.ServeReplica()
			i.KeepAlive(heartbeat, "s0")
			i.ExecSQL("UPDATE instances SET capacity = 8")
			i.askForSeat("ada", "duel")
			return func() {}
		},
		doctor.Warn, "^8 of 8 reserved by sessions, [01] players in them",
	},
	"lobby": {
		func(i *installation) func() {
			i.ExecSQL(`INSERT INTO realtime_sessions (region, id, project, player, authenticated, ttl, owner) VALUES ('eu', 'a', 'p', 'a', true, '30 s', gen_random_uuid())`)
			return func() { i.ExecSQL("DELETE FROM realtime_sessions") }
		},
		doctor.Fail, "and no replica serves them$",
	},
	"pools": {
		func(i *installation) func() {
			i.ApplyPools("apps: [{app: arena, version: a, provider: manual, launch: arena, modes: [duel], capacity: 8, max_players: 2}]\npools: [{region: eu, app: arena, version: a, max: 1}]\n")
			return func() {}
		},
		doctor.Fail, `^no worker plans eu/arena/a \(manual\)$`,
	},
	"drains": {
		func(i *installation) func() {
			i.ExecSQL("INSERT INTO instance_drains (region, target, value, actor, at) VALUES ('', 'host', 'gone', 'ada', now() - interval '8 days')")
			return func() { i.ExecSQL("DELETE FROM instance_drains") }
		},
		doctor.Warn, "^1 drains are kept; the oldest is of host gone, by ada, 192h ago, and 0 game servers obey it$",
	},
	"erasures": {
		func(i *installation) func() {
			// With a transaction that has not ended, so that no worker makes the last pass.
			i.ExecSQL(`INSERT INTO erasures (subs, key, salt, actor, reason, requested_at, tx)
				VALUES ('{zoe}', 'k', gen_random_uuid(), 'ada', 'asked', now() - interval '1 hour', '9223372036854775807')`)
			return func() { i.ExecSQL("DELETE FROM erasures") }
		},
		doctor.Warn, "^1 players are being erased; the oldest erasure, .* by ada, was requested 1h0m0s ago, ",
	},
	"enrolments": {
		func(i *installation) func() {
			i.ExecSQL(`INSERT INTO enrolments (region, name, digest, modes, max_servers, expires_at, created_by)
				VALUES ('eu', 'rack-7', sha256('a'), '{}', 9, now() + interval '2 days', 'ada')`)
			i.ExecSQL(`INSERT INTO instances (region, id, incarnation, endpoint, modes, capacity, seat_ceiling, status)
				VALUES ('eu', 'a', gen_random_uuid(), 'a:1', '{duel}', 8, 8, 'draining')`)
			i.ExecSQL(`INSERT INTO enrolled_servers (region, instance_id, enrolment, credential, incarnation, tokens_by, expires_at)
				SELECT 'eu', 'a', e.id, gen_random_uuid(), n.incarnation, 'aa', now() + interval '1 day' FROM enrolments e, instances n`)
			return func() { i.ExecSQL("DELETE FROM instances"); i.ExecSQL("DELETE FROM enrolments") }
		},
		doctor.Warn, "^the enrolment eu/rack-7 ends in 4[78]h.*, and 1 game servers registered by it",
	},
	"cells": {
		func(i *installation) func() {
			i.ExecSQL(`INSERT INTO instances (region, id, incarnation, endpoint, modes, capacity, seat_ceiling, status)
				VALUES ('us', 'a', gen_random_uuid(), 'a:1', '{duel}', 8, 8, 'draining')`)
			i.ExecSQL("INSERT INTO cells (cell, address, set_by) VALUES ('america', 'https://us.example', 'ada')")
			i.ExecSQL("INSERT INTO cell_regions (region, cell) VALUES ('us', 'america')")
			return func() { i.ExecSQL("DELETE FROM instances"); i.ExecSQL("DELETE FROM cells") }
		},
		doctor.Warn, "^1 game servers of region us are registered here, and cell america serves it",
	},
	"moves": {
		func(i *installation) func() {
			i.ExecSQL(`INSERT INTO region_moves (id, region, direction, step, cell, address, actor, reason, fenced_at)
				VALUES (gen_random_uuid(), 'asia', 'leaves', 'fenced', 'tokyo', 'https://jp.example', 'ada', 'x', now() - interval '20 seconds')`)
			return func() { i.ExecSQL("DELETE FROM region_moves") }
		},
		doctor.Fail, "^region asia has been refused for 2[0-9]s: its move to cell tokyo stopped after the fence",
	},
	"pool limits": {
		func(i *installation) func() {
			i.ExecSQL("UPDATE pool_limits SET max_servers = 0")
			return func() { i.ExecSQL("UPDATE pool_limits SET max_servers = NULL") }
		},
		doctor.Fail, "^all pools have 0 servers of at most 0, .*: no more start$",
	},
	"valves": {
		func(i *installation) func() {
			i.ExecSQL("SELECT ops.set_valve('launch', rate => 50, max_waiting => 1)")
			i.ExecSQL("SELECT ops.close_valve('launch', 'the login fails')")
			i.ExecSQL("SELECT join_login_queue('launch', '{a}', '{f}', 0)")
			return func() { i.ExecSQL("SELECT ops.delete_valve('launch')") }
		},
		doctor.Fail, "^launch is closed: the login fails: 0 players are in, 1 wait, as many as the line holds$",
	},
	"webhooks": {
		func(i *installation) func() {
			i.ExecSQL("SELECT ops.create_webhook('studio', 'http://127.0.0.1:1/hook', '{session.*}')")
			i.ExecSQL("UPDATE webhook_progress SET failing_since = now() - interval '1 hour', last_error = 'it answered 502'")
			return func() { i.ExecSQL("SELECT ops.delete_webhook('studio')") }
		},
		doctor.Fail, "^studio is failing: 0 delivered, .*; nothing could be delivered for 1h0m0s: it answered 502$",
	},
	"partitions": {
		func(i *installation) func() {
			i.ExecSQL(`DO $$ DECLARE p text; BEGIN
				FOR p IN SELECT name FROM history_partitions('events') WHERE last_day > (now() AT TIME ZONE 'UTC')::date LOOP EXECUTE 'DROP TABLE ' || p; END LOOP;
			END $$`)
			return func() {}
		},
		doctor.Warn, "^events reaches only 0 days ahead$",
	},
	"bloat": {
		func(i *installation) func() {
			i.ExecSQL("CREATE TABLE bloated WITH (autovacuum_enabled = off) AS SELECT generate_series(1, 30000)")
			i.ExecSQL("DELETE FROM bloated")
			return func() { i.ExecSQL("DROP TABLE bloated") }
		},
		doctor.Warn, "^bloated has 30000 dead rows and 0 live ones$",
	},
}

// unbroken leaves the database as it is: no process has run on it.
func unbroken(*installation) func() { return func() {} }

// judged are checks that a test cannot break in a minute on one machine: internal/doctor tests what they conclude from
// numbers.
var judged = map[string]string{
	"sealing keys": "processes with different key-encryption keys",
	"postgres":     "it needs a Postgres of a release that is not supported",
	"connections":  "hundreds of connections",
	"snapshots":    "a snapshot that is older than a minute",
	"agents":       "Rivalis game servers that stay away; test/faults kills replicas that serve them",
	"replication":  "a gigabyte of WAL",
	"clock":        "a machine with a wrong clock",
}

// Pins a check of doctor that sees nothing, or the wrong thing.
func TestEachCheckSeesWhatItIsFor(t *testing.T) {
	t.Parallel()
	i := &installation{Rig: rigtest.NewRig(t, clitest.BuildDirector(t), "DIRECTOR_LEASE_TTL=3s")}
	// The first two need a database on which no process has run; the last ones cannot be mended.
	order := []string{
		"workers", "signing keys", "pooler", "schema", "restored dump", "locks", "writers", "lobby", "drains",
		"enrolments", "pool limits", "cells", "moves", "valves", "webhooks", "erasures", "partitions", "bloat",
		"pools", "seats",
	}
	require.Len(t, order, len(breakages))
	for _, check := range order {
		b := breakages[check]
		mend := b.breaks(i)
		var found doctor.Finding
		i.diagnose(func(d doctor.Diagnosis) bool {
			index := slices.IndexFunc(d.Checks, func(f doctor.Finding) bool { return f.Check == check })
			if index >= 0 {
				found = d.Checks[index]
			}
			return found.State == b.state && regexpMatches(b.says, found.Says)
		})
		require.NotEmpty(t, found.Do, check)
		require.NotEmpty(t, found.Section, check)
		mend()
	}
}

// A new check of doctor is broken by a test, or says here why it is not.
func TestEachCheckIsBroken(t *testing.T) {
	t.Parallel()
	i := &installation{Rig: rigtest.NewRig(t, clitest.BuildDirector(t))}
	tested := map[string]string{"database": "TestConnectionsThatFail", "writes": "TestAFullDisk"}
	for name, f := range faults {
		tested[f.check] = name
	}
	for check := range breakages {
		tested[check] = "TestEachCheckSeesWhatItIsFor"
	}
	d := i.diagnose(func(d doctor.Diagnosis) bool { return len(d.Checks) > 20 })
	for _, f := range d.Checks {
		_, isJudged := judged[f.Check]
		require.NotEqual(t, tested[f.Check] != "", isJudged, "%s must be broken by a test, or be in judged", f.Check)
	}
	require.Len(t, d.Checks, len(tested)+len(judged), "a check that does not exist any more")
}
