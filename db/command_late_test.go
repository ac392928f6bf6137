package db_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
)

// A timeout, a late ack and a retry lead to one room.
func TestLateAcknowledgements(t *testing.T) {
	t.Parallel()
	late := func(f *fleet) db.Command {
		c := f.create("r")
		f.overdue(c)
		require.Equal(t, db.CommandTimedOut, f.expire(c).FinalState)
		return c
	}
	t.Run("before the next reply", func(t *testing.T) {
		t.Parallel()
		f := setupFleet(t)
		f.agent(1)
		c := late(f)
		f.ack(c)
		require.Equal(t, db.CommandDoneLate, f.answer(c).FinalState)
		f.requireRefused(db.CodeRoomExists, f.newRoom("r"))
		require.Equal(t, []string{"command.timed_out", "room.created", "command.done_late"},
			f.Rows("SELECT kind FROM events ORDER BY tx, id"))
		require.Equal(t, []string{"r|created"}, f.Rows("SELECT id, state FROM rooms"))
		f.requireCounted()
	})
	t.Run("after it", func(t *testing.T) {
		t.Parallel()
		f := setupFleet(t)
		a := f.agent(1)
		c := late(f)
		f.dropsReservations(a)
		require.True(t, f.ack(c).OwesSnapshot)
		require.Equal(t, []string{"r|r|created|duel"}, f.Rows("SELECT id, base, state, type FROM rooms"))
		f.requireCounted()
	})
	t.Run("refused", func(t *testing.T) {
		t.Parallel()
		f := setupFleet(t)
		f.agent(1)
		c := late(f)
		f.ack(c, refusing)
		require.Equal(t, db.CommandFailed, f.answer(c).FinalState)
		f.ack(f.create("r"))
		f.requireCounted()
	})
	t.Run("reported before", func(t *testing.T) {
		t.Parallel()
		f := setupFleet(t)
		f.agent(1)
		c := late(f)
		f.Exec("UPDATE rooms SET state = 'reported'")
		f.Exec("UPDATE agent_states SET rooms = 1, reserved = 0")
		f.ack(c)
		require.Equal(t, db.CommandDoneLate, f.answer(c).FinalState)
		require.NotContains(t, f.Rows("SELECT kind FROM events"), "room.created")
		f.requireCounted()
	})
	t.Run("after a retry on the same agent", func(t *testing.T) {
		t.Parallel()
		f := setupFleet(t)
		a := f.agent(1)
		c := late(f)
		f.dropsReservations(a)
		retry := f.create("r")
		f.ack(c)
		f.ack(retry, existing)
		require.Equal(t, db.CommandExists, f.answer(retry).FinalState)
		require.Equal(t, []string{"r|created"}, f.Rows("SELECT id, state FROM rooms"))
		f.requireCounted()
	})
	t.Run("after a retry on another agent", func(t *testing.T) {
		t.Parallel()
		f := setupFleet(t)
		a := f.agent(1)
		c := late(f)
		f.dropsReservations(a)
		b := f.agent(2)
		retry := f.create("r", pinnedTo(b))
		f.ack(c)
		f.ack(retry)
		require.Equal(t, []string{"p_1~r|" + a, "r|" + b}, f.Rows("SELECT id, agent_id FROM rooms ORDER BY id"))
		require.Equal(t, []string{"p_1~r", "r"},
			f.Rows("SELECT detail->>'id' FROM events WHERE kind = 'room.created' ORDER BY tx"))
		f.requireCounted()
	})
	t.Run("after a local room got the id", func(t *testing.T) {
		t.Parallel()
		f := setupFleet(t)
		a := f.agent(1)
		c := late(f)
		f.dropsReservations(a)
		b := f.agent(2)
		f.Exec("INSERT INTO rooms (region, id, agent_id, base, type, local, state) VALUES ('eu', 'r', $1, 'r', 'duel', true, 'reported')", b)
		f.Exec("UPDATE agent_states SET rooms = 1 WHERE agent_id = $1", b)
		before := one[uint64](f.bundle, "SELECT tx FROM agent_states WHERE agent_id = $1", b)
		f.ack(c)
		require.Equal(t, []string{"p_2~r|" + b, "r|" + a}, f.Rows("SELECT id, agent_id FROM rooms ORDER BY id"))
		require.Equal(t, []string{"room.destroyed|r", "room.created|p_2~r", "room.created|r"},
			f.Rows("SELECT kind, detail->>'id' FROM events WHERE kind LIKE 'room.%' ORDER BY tx, id"))
		require.Greater(t, one[uint64](f.bundle, "SELECT tx FROM agent_states WHERE agent_id = $1", b), before)
		f.requireCounted()
	})
	// Each of them has to be locked, and the transaction begins again only so many times.
	t.Run("after local rooms of many agents got the ids", func(t *testing.T) {
		t.Parallel()
		f := setupFleet(t)
		var acks []db.CommandAck
		var want []string
		for n := 1; n <= 8; n++ {
			id := fmt.Sprint("r", n)
			a := f.agent(n)
			c := f.create(id, pinnedTo(a))
			f.overdue(c)
			f.expire(c)
			f.dropsReservations(a)
			b := f.agent(100 + n)
			f.Exec("INSERT INTO rooms (region, id, agent_id, base, type, local, state) VALUES ('eu', $1, $2, $1, 'duel', true, 'reported')", id, b)
			f.Exec("UPDATE agent_states SET rooms = 1 WHERE agent_id = $1", b)
			acks = append(acks, f.ackOf(c))
			want = append(want, fmt.Sprintf("p_%d~%s|%s", 100+n, id, b), id+"|"+a)
		}
		require.NoError(t, f.AcknowledgeTogether(t.Context(), "eu", acks))
		require.ElementsMatch(t, want, f.Rows("SELECT id, agent_id FROM rooms"))
		f.requireCounted()
	})
	t.Run("of a destroy and a drain", func(t *testing.T) {
		t.Parallel()
		f := setupFleet(t)
		a := f.agent(1)
		f.ack(f.create("r"))
		destroy, drain := f.destroy("r"), f.command(a, db.CommandDrain)
		for _, c := range []db.Command{destroy, drain} {
			f.overdue(c)
			f.expire(c)
		}
		require.Equal(t, []string{"1|0|0"}, f.Rows("SELECT rooms, reserved, in_flight FROM agent_states"))
		f.ack(destroy)
		f.requireNoRoom("r")
		require.Equal(t, db.AgentDraining, f.ack(drain).RecordedStatus)
		f.requireCounted()
	})
}
