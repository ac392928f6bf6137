package db_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
)

// playing commits a duel in a session of that size.
func (m *matches) playing(size int, a, b string) (db.NewMatch, db.Placement) {
	m.t.Helper()
	d := m.duel(a, b)
	d.Size = size
	return d, m.requireCommitted(m.commit(d)[0])
}

// newcomers are a match that joins a session.
func (m *matches) newcomers(p db.Placement, beside []string, party ...string) db.NewMatch {
	m.t.Helper()
	n := matchOf(m.queued("red", party...))
	n.Size, n.Join, n.Beside = p.MaxPlayers, p.SessionID, beside
	return n
}

// Newcomers sit in the session of the match that plays, and their seats and tokens name that match.
func TestJoinInProgress(t *testing.T) {
	t.Parallel()
	m := setupMatches(t)
	d, p := m.playing(4, "ann", "bob")
	n := m.newcomers(p, []string{"ann", "bob", "left"}, "cid")
	out := m.commit(n)[0]
	joined := m.requireCommitted(out)
	require.Equal(t, d.ID, out.MatchID)
	require.Equal(t, p.SessionHandle, joined.SessionHandle)
	require.Equal(t, 3, joined.PlayerCount)
	require.Equal(t, d.ID, m.resolve(joined, "cid").MatchID)
	require.Equal(t, []string{"3|3"}, m.Rows("SELECT jsonb_array_length(roster), cardinality(tickets) FROM matches"))
	require.Equal(t, []string{d.ID.String()},
		m.Rows("SELECT match_id FROM ticket_events WHERE ticket_id = $1", n.Tickets[0].ID))
	require.Equal(t, []string{n.ID.String() + "|t"}, m.Rows("SELECT id, joined FROM match_history WHERE joined"))
	m.RequireInvariants()
}

// What the loop saw of a session may be old: it is judged again under the session's lock.
func TestJoinsAreJudgedAgain(t *testing.T) {
	t.Parallel()
	for reason, spoil := range map[string]func(m *matches, p db.Placement) db.NewMatch{
		db.RefusedSessionFull: func(m *matches, p db.Placement) db.NewMatch {
			m.requireCommitted(m.commit(m.newcomers(p, nil, "cid", "dan"))[0])
			return m.newcomers(p, nil, "eve")
		},
		db.RefusedRoster: func(m *matches, p db.Placement) db.NewMatch {
			m.requireCommitted(m.commit(m.newcomers(p, nil, "cid"))[0])
			return m.newcomers(p, []string{"ann", "bob"}, "eve")
		},
		db.RefusedSessionGone: func(m *matches, p db.Placement) db.NewMatch {
			m.report(db.SeatReport{InstanceRef: ref("a"), SessionID: p.SessionID, HasEnded: true})
			return m.newcomers(p, nil, "eve")
		},
		"draining": func(m *matches, p db.Placement) db.NewMatch {
			_, err := m.SetDrain(m.t.Context(), ref("a"), true)
			require.NoError(m.t, err)
			return m.newcomers(p, nil, "eve")
		},
		"not a match's": func(m *matches, _ db.Placement) db.NewMatch {
			return m.newcomers(m.place(request("zoe", 4)), nil, "eve")
		},
		"roster": func(m *matches, p db.Placement) db.NewMatch {
			m.Exec(`UPDATE matches SET roster = roster || jsonb_build_array(jsonb_build_object('sub', 'ann', 'attributes', $1::text))`, strings.Repeat("x", 65536-300))
			return m.newcomers(p, nil, strings.Repeat("e", 255))
		},
		db.RefusedSeated: func(m *matches, p db.Placement) db.NewMatch {
			m.connect("a", p, "ann")
			return m.newcomers(p, nil, "ann")
		},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			m := setupMatches(t)
			_, p := m.playing(4, "ann", "bob")
			out := m.commit(spoil(m, p))[0]
			require.Equal(t, db.MatchRefused.String(), out.Kind.String())
			want := map[string]string{"draining": db.RefusedSessionGone, "not a match's": db.RefusedSessionGone,
				"roster": db.RefusedSessionFull}[reason]
			if want == "" {
				want = reason
			}
			require.Equal(t, want, out.RefusalReason)
			m.RequireInvariants()
		})
	}
}

// Two matches of one batch that join the same session: the second was decided without the first.
func TestOneJoinATransaction(t *testing.T) {
	t.Parallel()
	m := setupMatches(t)
	_, p := m.playing(4, "ann", "bob")
	beside := []string{"ann", "bob"}
	out := m.commit(m.newcomers(p, beside, "cid"), m.newcomers(p, beside, "dan"))
	m.requireCommitted(out[0])
	require.Equal(t, db.MatchPlayersBusy.String(), out[1].Kind.String())
	require.Equal(t, db.RefusedRoster, m.commit(m.newcomers(p, beside, "eve"))[0].RefusalReason)
	m.RequireInvariants()
}

// Pins a bug: the open matches of a profile were not read because another profile, earlier by name, had a thousand.
func TestEachProfileHasItsShareOfOpenMatches(t *testing.T) {
	t.Parallel()
	m := setupMatches(t)
	d, _ := m.playing(4, "ann", "bob")
	m.Exec(`WITH copies AS (
			INSERT INTO sessions SELECT (jsonb_populate_record(s, jsonb_build_object('id', i.id, 'handle', i.id, 'match_id', i.id, 'opened_at', now()))).*
			FROM sessions s, (SELECT gen_random_uuid() AS id FROM generate_series(1, 1100)) i RETURNING id)
		INSERT INTO matches SELECT (jsonb_populate_record(m, jsonb_build_object('id', c.id, 'session_id', c.id, 'profile', 'crowd'))).* FROM matches m, copies c`)
	names := func(profiles ...string) map[string]int {
		open, err := m.JoinableMatches(t.Context(), universe, profiles)
		require.NoError(t, err)
		n := map[string]int{}
		for _, o := range open {
			n[o.ProfileName]++
		}
		return n
	}
	require.Equal(t, map[string]int{"crowd": 1000}, names("crowd"))
	require.Equal(t, map[string]int{"crowd": 500, d.Profile: 1}, names("crowd", d.Profile))
}
