package db_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/testkit/background"
	"github.com/lattice-director/director/internal/testkit/longtest"
)

// Pins a table that nobody decided about: its rows would be lost when their region moves, or be in two cells.
func TestEachTableMovesOrStays(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.Equal(t, b.Rows(`SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
		ORDER BY 1`), b.Rows("SELECT name FROM region_tables() ORDER BY 1"))
	require.Empty(t, b.Rows(`SELECT r.name FROM region_tables() r WHERE r.fate IN ('moves', 'past')
		AND NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = r.name::regclass AND a.attname = 'region' AND a.attnotnull)`), "without a region")
	require.Empty(t, b.Rows(`SELECT r.name FROM region_tables() r WHERE r.fate = 'moves' AND NOT EXISTS (
		SELECT FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
		WHERE i.indrelid = r.name::regclass AND i.indisprimary AND a.attname = 'region')`), "changes of a table without the region in its key cannot be followed")
	require.Empty(t, b.Rows(`SELECT c.conrelid::regclass FROM pg_constraint c JOIN region_tables() r ON c.conrelid = r.name::regclass
		JOIN region_tables() o ON c.confrelid = o.name::regclass WHERE c.contype = 'f' AND r.fate <> 'stays' AND (o.fate = 'stays' OR o.place < r.place)`),
		"a row would refer to one that stays, or be deleted too late")
}

// A region moves with all that it has, and back.
func TestARegionMoves(t *testing.T) {
	t.Parallel()
	cluster := newReplicatingCluster(t)
	t.Run("with all that it has, and back", func(t *testing.T) {
		t.Parallel()
		m := cluster.cells(t, "back")
		kept, seat := m.fill()
		plan, err := m.move().Plan(t.Context())
		require.NoError(t, err)
		require.Empty(t, plan.Obstacles)
		require.Contains(t, plan.Rows, db.RowsOfTable{Table: "seats", Rows: 3})
		before := m.contents(m.from)
		for _, table := range []string{"instances", "seats", "sessions", "redeemed_tokens", "tickets", "ticket_players",
			"ticket_events", "profiles", "seat_history"} {
			require.NotEmpty(t, before[table], table)
		}

		report := m.run()
		require.Equal(t, "done", report.Step)
		require.Contains(t, report.Deleted, db.RowsOfTable{Table: "seats", Rows: 3})
		require.Equal(t, []string{"preparing", "copying", "fenced", "flipped"}, m.steps)
		require.Equal(t, before, m.contents(m.to))
		require.Empty(t, m.contents(m.from))
		m.requireNoRemains()
		require.Equal(t, []string{"region.moving|leaves", "region.left|leaves"},
			m.from.Rows("SELECT e.kind, m.direction FROM events e JOIN region_moves m ON m.id::text = e.detail ->> 'move' ORDER BY e.tx, e.id"))
		require.Equal(t, []string{"region.arrived|console:ada|data leaves"},
			m.to.Rows("SELECT kind, actor, detail ->> 'reason' FROM events WHERE kind LIKE 'region.%'"))

		_, err = m.from.Place(t.Context(), request("eve", 4))
		requireKind(t, fault.Elsewhere, "region_elsewhere", err)
		require.Equal(t, "https://us.example", fault.CellOf(err).Addresses["api"])
		require.Equal(t, seat, m.to.place(kept), "the answer that the key had in the other cell")
		require.Equal(t, seat.SessionHandle, m.to.place(request("keep", 4)).SessionHandle, "the seat of the player")
		_, err = m.to.Heartbeat(t.Context(), ref("a"), nil)
		require.NoError(t, err, "the lease was renewed")
		m.to.place(request("fay", 4))
		_, err = m.from.Heartbeat(t.Context(), ref("us-1"), nil)
		require.NoError(t, err, "another region stays")
		require.Equal(t, []string{"https://ping.example"}, m.to.Rows("SELECT url FROM region_beacons"))

		before = m.contents(m.to)
		back := &twoCells{t: t, from: m.to, to: m.from,
			terms: db.MoveTerms{Region: "eu", Cell: "europe", Here: "america", Connection: m.to.URL, Reason: "back"}}
		require.Equal(t, "https://eu.example", back.run().Address, "the cells know each other by now")
		require.Equal(t, before, back.contents(m.from))
		require.Empty(t, back.contents(m.to))
		back.requireNoRemains()
		m.from.place(request("gus", 4))
		_, err = m.to.Place(t.Context(), request("gus", 4))
		requireKind(t, fault.Elsewhere, "region_elsewhere", err)
	})
	// The command is killed at each step, and started again.
	t.Run("after its command was killed at each step", func(t *testing.T) {
		t.Parallel()
		m := cluster.cells(t, "killed")
		m.fill()
		before := m.contents(m.from)
		m.dies("preparing")
		m.dies("copying")
		m.from.place(request("late", 4))
		m.dies("fenced")
		m.requireShown(m.from, "leaves fenced undoable=true")
		m.requireShown(m.to, "arrives copying undoable=true")
		m.from.Exec("UPDATE region_moves SET fenced_at = now() - interval '1 minute', driven_at = now() - interval '1 hour'")
		require.Equal(t, []string{"neither cell serves the region: start the command again"},
			m.from.Rows("SELECT in_the_way FROM ops.region_moves"))
		m.readCells()
		_, err := m.from.Place(t.Context(), request("eve", 4))
		requireKind(t, fault.Unavailable, "unavailable", err)
		_, err = m.from.Heartbeat(t.Context(), ref("us-1"), nil)
		require.NoError(t, err, "another region is served")
		require.Equal(t, []string{"us"}, m.from.Rows("SELECT fleet_regions()"), "workers leave the region alone")
		_, err = m.to.Place(t.Context(), request("eve", 4))
		requireKind(t, fault.Elsewhere, "region_elsewhere", err)

		// it flips the region, and does not live to give it away here
		m.to.Eventually(1, "SELECT count(*) FROM region_move_marks")
		require.True(t, one[bool](m.to, "SELECT serve_region(id, 1, '') FROM region_moves"))
		require.False(t, one[bool](m.to, "SELECT serve_region(id, 1, '') FROM region_moves"))
		require.NoError(t, m.to.ReadCells(t.Context()))
		m.to.place(request("eve", 4))
		_, err = m.move().Undo(t.Context())
		requireKind(t, fault.Conflict, "conflict", err)
		m.dies("flipped")
		require.NotEmpty(t, m.contents(m.from))
		m.run()
		m.requireShown(m.from, "leaves done undoable=false")
		require.Empty(t, m.contents(m.from))
		after := m.contents(m.to)
		require.Len(t, after["seats"], len(before["seats"])+2, "of late and eve")
		m.requireNoRemains()
	})
	// Until the other cell serves the region, each step can be undone, also by a command that is killed in the middle.
	t.Run("not, since it is undone at each step", func(t *testing.T) {
		t.Parallel()
		m := cluster.cells(t, "undone")
		m.fill()
		_, err := m.move().Undo(t.Context())
		requireKind(t, fault.NotFound, "not_found", err)
		for _, step := range []string{"preparing", "copying", "fenced"} {
			m.dies(step)
			if step == "copying" {
				m.to.Exec("UPDATE region_moves SET step = 'undone' WHERE ended_at IS NULL") // and killed
				m.from.Exec("UPDATE region_moves SET step = 'undone' WHERE ended_at IS NULL")
				_, err := m.move().Run(t.Context())
				requireKind(t, fault.Conflict, "conflict", err)
				m.to.Exec("ALTER TABLE region_move_marks RENAME TO marks") // so that it ends where it closes the move
				_, err = m.move().Undo(t.Context())
				require.ErrorContains(t, err, "region_move_marks")
				m.to.Exec("ALTER TABLE marks RENAME TO region_move_marks")
			}
			before := m.contents(m.from)
			report, err := m.move().Undo(t.Context())
			require.NoError(t, err, step)
			require.Equal(t, "undone", report.Step)
			m.requireNoRemains()
			require.Equal(t, before, m.contents(m.from))
			require.Empty(t, m.contents(m.to))
			m.readCells()
			m.from.place(request("after-"+step, 4))
			if step != "preparing" { // at which the other cell knows nothing yet
				_, err = m.to.Place(t.Context(), request("after", 4))
				requireKind(t, fault.Elsewhere, "region_elsewhere", err)
			}
		}
		require.Equal(t, []string{"1", "1", "1"},
			m.from.Rows("SELECT count(*) FROM events WHERE kind = 'region.move_undone' GROUP BY detail ->> 'move'"))
		m.run()
	})
	// Where the other cell does not follow, the fence is lifted, and its number flips nothing any more.
	t.Run("not, since the other cell does not follow", func(t *testing.T) {
		t.Parallel()
		m := cluster.cells(t, "lifted")
		m.fill()
		m.dies("fenced")
		m.to.Exec("DO $$ BEGIN EXECUTE format('ALTER SUBSCRIPTION %I DISABLE', (SELECT move_name(id) FROM region_moves)); END $$")
		m.to.Eventually(0, `SELECT count(*) FROM pg_stat_subscription s JOIN pg_subscription u ON u.oid = s.subid
			JOIN pg_database d ON d.oid = u.subdbid WHERE d.datname = current_database() AND s.pid IS NOT NULL`)
		m.to.Exec("DELETE FROM region_move_marks") // which nothing applies again
		m.dies("copying")
		require.Equal(t, "fenced", m.steps[len(m.steps)-2])
		m.from.place(request("eve", 4))
		m.to.Exec("INSERT INTO region_move_marks SELECT id, 1, region FROM region_moves") // which was under way
		require.False(t, one[bool](m.to, "SELECT serve_region(id, 1, '') FROM region_moves"))
		m.to.Exec("DELETE FROM region_move_marks")
		m.to.Exec("DO $$ BEGIN EXECUTE format('ALTER SUBSCRIPTION %I ENABLE', (SELECT move_name(id) FROM region_moves)); END $$")
		m.run()
		m.requireNoRemains()
		require.Equal(t, 1, one[int](m.to, "SELECT count(*) FROM seats WHERE sub = 'eve'"))
	})
	// A slot is created beside transactions that change tables. In a function in PL/pgSQL, Postgres failed at one of four.
	t.Run("while tables change", func(t *testing.T) {
		t.Parallel()
		m := cluster.cells(t, "changed")
		m.fill()
		stop := background.Loop(t, func(ctx context.Context) {
			for ctx.Err() == nil {
				m.from.Exec(`DO $$ BEGIN
					CREATE TABLE changed (id int);
					ALTER TABLE changed ADD name text;
					DROP TABLE changed;
					PERFORM pg_sleep(0.01);
				END $$`)
			}
		})
		for range longtest.Pick(2, 8) {
			m.dies("copying")
			_, err := m.move().Undo(t.Context())
			require.NoError(t, err)
		}
		stop()
		m.run()
	})
	// Pins a move that begins although it would lose something, and an obstacle that a person does not understand.
	t.Run("not, for each obstacle", func(t *testing.T) {
		t.Parallel()
		m := cluster.cells(t, "obstacle")
		m.fill()
		for _, o := range []struct {
			on            *bundle
			makes, undoes string
			says          string
		}{
			{m.from, "INSERT INTO projects (id, name, region) VALUES ('game', 'game', 'eu')", "DELETE FROM projects",
				"projects of the realtime lobby"},
			{m.from, "SELECT ops.set_valve('launch', rate => 50, region => 'eu')", "SELECT ops.delete_valve('launch')",
				"valve launch is of the region"},
			{m.from, "SELECT ops.erase_player('nobody', 'asked')",
				"UPDATE erasures SET finished_at = now(), subs = NULL, key = NULL, salt = NULL",
				"a player is being erased"},
			{m.from, `INSERT INTO instances (region, id, incarnation, endpoint, modes, capacity, seat_ceiling) VALUES ('eu', 'twin', gen_random_uuid(), 'x:1', '{duel}', 8, 8)`,
				"DELETE FROM instances WHERE id = 'twin'", ""},
			{m.to, "INSERT INTO instance_directory (instance_id, region, incarnation) VALUES ('a', 'asia', gen_random_uuid())",
				"DELETE FROM instance_directory", "the id of game server a is in use in region asia"},
			{m.to, "INSERT INTO instance_drains (region, target, value, actor) VALUES ('eu', 'host', 'x', 'test')",
				"DELETE FROM instance_drains", "table instance_drains of the other cell has rows of the region"},
		} {
			o.on.Exec(o.makes)
			plan, err := m.move().Plan(t.Context())
			require.NoError(t, err, o.makes)
			if o.says == "" {
				require.Empty(t, plan.Obstacles)
			} else {
				require.Len(t, plan.Obstacles, 1, "%v", plan.Obstacles)
				require.Contains(t, plan.Obstacles[0], o.says)
				if o.on == m.from {
					require.Equal(t, plan.Obstacles, m.from.Rows("SELECT obstacle FROM ops.region_obstacles WHERE region = 'eu'"))
				}
				_, err = m.move().Run(t.Context())
				requireKind(t, fault.Conflict, "conflict", err)
			}
			o.on.Exec(o.undoes)
		}
		m.requireNoRemains()
		m.terms.Address = ""
		_, err := m.move().Plan(t.Context())
		requireKind(t, fault.Invalid, "invalid", err)
	})
	// Pins a player who is erased here while history is copied, and is in the history there.
	t.Run("without a player who is erased meanwhile", func(t *testing.T) {
		t.Parallel()
		m := cluster.cells(t, "erased")
		m.fill()
		m.dies("fenced")
		_, err := m.move().Undo(t.Context())
		require.NoError(t, err)
		m.dies("copying")
		m.to.Eventually(1, "SELECT count(*) FROM seat_history WHERE sub = 'cat'")
		erased, err := m.from.As("").ErasePlayer(t.Context(), "cat", "asked")
		require.NoError(t, err)
		require.Nil(t, erased.FinishedAt)
		m.from.Exec("UPDATE erasures SET requested_at = requested_at - interval '5 seconds' WHERE requested_at > (SELECT max(begun_at) + interval '6 seconds' FROM region_moves)")
		open, err := m.from.OpenErasures(t.Context(), 10)
		require.NoError(t, err)
		require.Empty(t, open, "it is remembered until the region has moved")
		m.run()
		require.Zero(t, one[int](m.to, "SELECT count(*) FROM seat_history WHERE sub = 'cat'"))
		require.Equal(t, 1, one[int](m.to, "SELECT count(*) FROM seat_history WHERE region = 'eu'"))
	})
}
