package server_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	openmatch "github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/matching/ticketbody"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/storetest"
	"github.com/lattice-director/director/lobby"
)

func quoted(text string) string {
	b, _ := json.Marshal(text)
	return string(b)
}

// traces are all texts by which somebody could find the player: the id, attributes, the session, and what is computed
// from the id, which whoever guesses it can compute as well.
func traces() map[string]string {
	party := func(subs ...string) string {
		slices.Sort(subs)
		sum := sha256.Sum256([]byte(strings.Join(subs, "\x00")))
		return uuid.UUID(sum[:16]).String()
	}
	sum := sha256.Sum256([]byte(erasable))
	return map[string]string{
		"the player": erasable, "the player in JSON": strings.Trim(quoted(erasable), `"`), "the player in a text": strings.Trim(fmt.Sprintf("%q", erasable), `"`),
		"the player in JSON of Postgres": strings.ReplaceAll(erasable, `"`, `\"`),
		"an attribute":                   secretClan, "a session": lobbySeat, "its party": party(erasable), "a party": party(erasable, "mate"), "another party": party(erasable, "cy"),
		"the party of a session": party(lobbySeat), "a hash": hex.EncodeToString(sum[:16]), "a hash in history": ticketbody.Hashed.Party([]string{erasable})[0],
	}
}

// find returns the columns of all tables, as table.column, that have one of the texts: as a text, in JSON, in an array,
// or in bytes. What a table is called and what it is for makes no difference.
func find(s *storetest.DB, texts map[string]string) map[string][]string {
	s.T.Helper()
	found := map[string][]string{}
	for _, table := range storetest.Values[string](s, `SELECT c.oid::regclass::text FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition`) {
		for what, text := range texts {
			for _, column := range storetest.Values[string](s, `SELECT DISTINCT f.key FROM `+table+` t CROSS JOIN LATERAL jsonb_each_text(to_jsonb(t)) f
				WHERE position($1::text IN f.value) > 0 OR position($2::text IN f.value) > 0`, text, hex.EncodeToString([]byte(text))) {
				found[table+"."+column] = append(found[table+"."+column], what)
			}
		}
	}
	return found
}

// namesPlayers are the names of columns that have players.
var namesPlayers = regexp.MustCompile(`^(sub|subs|player|players|party|reserved_by|avoid|avoided|may_party_with|blocked|from_player|inviting_player|participant_players|participant_seats|caller|roster)$`)

// Pins a table that keeps a player who was erased. A new table is in the test by existing: if a column of it has the
// name of one that has players, the test wants it to have had the player, so that nobody forgets to plant one there.
func TestAnErasedPlayerIsInNoTable(t *testing.T) {
	t.Parallel()
	var rooms *lobby.Types
	b := setup(t, openMatch, func(c *config) { rooms = erasableRooms(c) })
	plantErasable(b, rooms)
	before := find(b.store, traces())
	b.requireEveryColumnPlanted(before)
	seats := b.store.Count(`SELECT count(*) FROM seat_history WHERE sub = $1`, erasable)
	others := b.othersKnown()

	erased := b.ops(http.MethodPost, "players/"+url.PathEscape(erasable)+"/erase", fields{"reason": erasable + " asked, ticket 4711"}).ok(http.StatusOK)
	require.Greater(t, erased["rows"], 20.0)
	require.Equal(t, false, erased["finished"])
	left := find(b.store, traces())
	delete(left, "erasures.subs") // until the last pass, which must know whom it erases
	b.requireOnlyTheLogOfRooms(left)

	b.store.Exec(`UPDATE erasures SET requested_at = requested_at - interval '5 seconds'`)
	var open []uuid.UUID
	// Not at once: transactions of other databases of the same Postgres, those of other tests, must have ended.
	require.Eventually(t, func() bool {
		open = must.Get(b.store.OpenErasures(t.Context(), 10))(t)
		return len(open) == 1
	}, time.Minute, 10*time.Millisecond)
	last, err := b.store.ContinueErasure(t.Context(), open[0])
	require.NoError(t, err)
	require.NotNil(t, last.FinishedAt)
	b.requireOnlyTheLogOfRooms(find(b.store, traces()))

	b.requireOneKey(seats)
	require.Equal(t, others, b.othersKnown(), "what is known of others stays")
	rows := storetest.One[int](b.store, `SELECT rows FROM ops.erasures`)
	require.Equal(t, []string{`{"rows": ` + fmt.Sprint(rows) + `, "reason": "the player asked, ticket 4711", "erasure": "` + last.ID.String() + `"}`},
		storetest.Values[string](b.store, `SELECT detail::text FROM events WHERE kind = 'player.erased' AND actor = 'operator'`))
	b.store.RequireInvariants()

	again := b.ops(http.MethodPost, "players/"+url.PathEscape(erasable)+"/erase", fields{"reason": "again"}).ok(http.StatusOK)
	require.Equal(t, 0.0, again["rows"], "nothing is known of the player")
	b.matchmake(erasable, duel).ok(http.StatusOK) // who comes back is a new player

	// a ticket that only looks as if it named a player
	looks := b.foreignTicket(&openmatch.Ticket{SearchFields: &openmatch.SearchFields{DoubleArgs: map[string]float64{"skill": 1}}})
	require.Equal(t, 0.0, b.ops(http.MethodPost, "players/skill/erase", fields{"reason": "asked"}).ok(http.StatusOK)["rows"])
	require.Equal(t, 1, b.store.Count(`SELECT count(*) FROM tickets WHERE id = $1`, looks))
}

// requireOnlyTheLogOfRooms requires that nothing has the player but what was said in rooms within the last minute, by a
// session that nothing connects with the player.
func (b *bundle) requireOnlyTheLogOfRooms(found map[string][]string) {
	b.t.Helper()
	require.Subset(b.t, []string{"an attribute", "a session"}, found["lobby_log.body"])
	delete(found, "lobby_log.body")
	require.Empty(b.t, found)
}

// requireEveryColumnPlanted fails for a column that has players by its name, and had not the player.
func (b *bundle) requireEveryColumnPlanted(found map[string][]string) {
	b.t.Helper()
	columns := storetest.Values[string](b.store, `SELECT k.table_name || '.' || k.column_name FROM information_schema.columns k
		JOIN pg_class c ON c.relname = k.table_name AND c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
		WHERE k.table_schema = 'public' AND k.data_type IN ('text', 'ARRAY', 'json', 'jsonb', 'bytea')`)
	require.NotEmpty(b.t, columns)
	for _, column := range columns {
		_, name, _ := strings.Cut(column, ".")
		if namesPlayers.MatchString(name) && column != "erasures.subs" && column != "tickets.player" {
			require.Contains(b.t, found, column, "the test plants no player there")
		}
	}
	for _, column := range []string{"tickets.body", "settled_tickets.body", "lobbies.state", "lobbies.metadata", "lobbies.sanctions", "lobby_log.body", "events.detail",
		"ticket_events.detail", "ticket_history.attributes", "player_refusals.detail", "webhook_deliveries.body", "demand.key", "match_accepts.sub"} {
		require.Contains(b.t, found, column, "planted")
	}
}

// requireOneKey requires that one key stands for the player in all rows of history, as many as before or more.
func (b *bundle) requireOneKey(seats int) {
	b.t.Helper()
	keys := storetest.Values[string](b.store, `SELECT DISTINCT sub FROM seat_history WHERE sub LIKE 'erased-%'`)
	require.Len(b.t, keys, 1)
	key := keys[0]
	require.Len(b.t, key, 39)
	require.Greater(b.t, b.store.Count(`SELECT count(*) FROM seat_history WHERE sub = $1`, key), seats, "the seat of now as well")
	for _, sql := range []string{
		`SELECT count(*) FROM ticket_events WHERE party @> ARRAY[$1]`, `SELECT count(*) FROM ticket_history WHERE party @> ARRAY[$1] AND attributes -> $1 = '{}'`,
		`SELECT count(*) FROM events WHERE detail ->> 'player' = $1`, `SELECT count(*) FROM events WHERE detail -> 'players' ? $1`,
		`SELECT count(*) FROM matches WHERE roster @> jsonb_build_array(jsonb_build_object('sub', $1::text))`,
		`SELECT count(*) FROM seat_history h JOIN seats s ON s.region = h.region AND s.session_id = h.session_id AND s.party = h.party WHERE h.sub = $1 AND s.sub = 'mate' AND s.reserved_by = $1`,
		`SELECT count(*) FROM events e JOIN seat_history h ON e.detail ->> 'party' = h.party::text WHERE h.sub = $1 AND e.detail ->> 'player' = 'mate'`,
	} {
		require.Positive(b.t, b.store.Count(sql, key), sql)
	}
}

// othersKnown is what is known of others, as text.
func (b *bundle) othersKnown() (all []string) {
	b.t.Helper()
	for _, sql := range []string{
		`SELECT sub || attributes::text || array_remove(avoid, $1)::text || array_remove(may_party_with, $1)::text FROM stored_players WHERE sub <> $1`,
		`SELECT sub || session_id FROM seats WHERE sub NOT IN ($1, $2)`,
		`SELECT ticket_id || sub FROM ticket_players WHERE sub = 'bo'`,
		`SELECT player || state FROM lobby_members WHERE player NOT IN ($1, $2)`,
	} {
		all = append(all, storetest.Values[string](b.store, `SELECT * FROM (`+sql+`) q WHERE $1::text <> $2::text ORDER BY 1`, erasable, lobbySeat)...)
	}
	return all
}

// Pins places in the realtime lobby that are found by the list of projects: a token that the master secret signs may name
// a project that nobody has created.
func TestPlayersOfUnlistedProjects(t *testing.T) {
	t.Parallel()
	var rooms *lobby.Types
	b := setup(t, openMatch, func(c *config) { rooms = erasableRooms(c) })
	plantErasable(b, rooms)
	b.store.Exec(`DELETE FROM project_keys`)
	b.store.Exec(`DELETE FROM projects`)
	player := must.Get(opsview.ReadPlayer(t.Context(), b.store.Pool(), erasable, "global", opsview.Page{}))(t)
	require.NotEmpty(t, player.Lobby)
	require.NotEmpty(t, player.Rooms)
	data := b.ops(http.MethodGet, "players/"+url.PathEscape(erasable)+"/export", nil).ok(http.StatusOK)["data"].(map[string]any)
	for section, rows := range data {
		require.NotEmpty(t, rows, section)
	}
	b.ops(http.MethodPost, "players/"+url.PathEscape(erasable)+"/erase", fields{"reason": "asked"}).ok(http.StatusOK)
	left := find(b.store, traces())
	delete(left, "erasures.subs") // until the last pass
	b.requireOnlyTheLogOfRooms(left)
}

// Pins an export that lacks what is known, has what is another's, or a secret.
func TestWhatIsKnownOfAPlayerIsExported(t *testing.T) {
	t.Parallel()
	var rooms *lobby.Types
	b := setup(t, openMatch, func(c *config) { rooms = erasableRooms(c) })
	plantErasable(b, rooms)
	export := b.ops(http.MethodGet, "players/"+url.PathEscape(erasable)+"/export", nil).ok(http.StatusOK)
	require.Equal(t, erasable, export["player"])
	data := export["data"].(map[string]any)
	for section, rows := range data {
		require.NotEmpty(t, rows, section)
	}
	text, err := json.Marshal(export)
	require.NoError(t, err)
	for _, handle := range storetest.Values[string](b.store, `SELECT handle FROM sessions`) {
		require.NotContains(t, string(text), handle, "a handle is a secret")
	}
	require.Contains(t, string(text), secretClan)
	require.Empty(t, export["truncated"])
	nobody := b.ops(http.MethodGet, "players/nobody/export", nil).ok(http.StatusOK)["data"].(map[string]any)
	require.Len(t, nobody, len(data))
	for section, rows := range nobody {
		require.Empty(t, rows, section)
	}
	require.Equal(t, []string{"sub"}, b.ops(http.MethodGet, "players/"+strings.Repeat("a", 256)+"/export", nil).named())
	require.Equal(t, []string{"reason"}, b.ops(http.MethodPost, "players/a/erase", fields{"reason": " "}).named())
}
