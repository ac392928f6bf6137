package console

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/testkit/must"
)

// populate makes a fleet with sessions and players, hostile names among them, and returns the paths of all pages.
func (b *bundle) populate() []string {
	b.t.Helper()
	for i := range 4 {
		b.AddServer(fmt.Sprintf("eu-frankfurt-%d", i), 8, func(r *db.Registration) {
			r.Modes, r.Capacity, r.Labels, r.Version = []string{"duel", "free-for-all"}, 64, map[string]string{"rack": "r7", "build": "nightly-2026-11-24"}, "1.4.2"
		})
	}
	b.AddServer("us-east-with-a-rather-long-name-of-a-game-server-0001", 8, func(r *db.Registration) { r.Region, r.Modes = "us-east", []string{"arena"} })
	var last db.Placement
	for i := range 6 {
		last = b.place("duel", fmt.Sprintf("player-%d", i), fmt.Sprintf("<b>player</b>-%d", i))
	}
	must.Get(b.As("console:ada").Drain(b.t.Context(), "eu-frankfurt-3"))(b.t)
	must.Get(b.rotate(b.t.Context(), b.As("console:ada"), ""))(b.t)
	require.NoError(b.t, b.RecordRefusals(b.t.Context(), []db.Refusals{
		{Times: 1234, FirstAge: time.Hour, Latest: fault.Refusal{
			Player: "player-3", Call: "POST /matchmake", Code: "no_capacity", Region: "eu-frankfurt-with-a-long-name", Mode: "free-for-all",
			Detail: `no instance in region "eu-frankfurt-with-a-long-name" can host mode "free-for-all" for 8 players now`, RequestID: "7d1f6a0c2f5b4c6f9f0f5d5a4f1f2f3a",
		}},
		{Times: 1, Latest: fault.Refusal{Player: "player-3", Call: "lobby matchmaking.enqueue", Code: "rate_limited"}},
	}))
	session := sessionPath(last.SessionID)
	b.samples()
	b.webhooks()
	b.Exec(`INSERT INTO cells (cell, address, listeners, set_by) VALUES ('us', 'https://us.director.example', '{"console": "https://console.us.example"}', 'ada')`)
	b.Exec(`INSERT INTO cell_regions (region, cell) VALUES ('us-central', 'us'), ('us-south', 'us')`)
	b.Exec(`INSERT INTO region_moves (id, region, direction, step, cell, address, actor, reason, fenced_at, driven_at, tables, copied_tables, behind_bytes, failures)
		VALUES (gen_random_uuid(), 'eu-paris', 'leaves', 'copying', 'us', 'https://us.director.example', 'console:ada', 'data <b>leaves</b>', NULL, now(), 30, 12, 123456789, 2)`)
	return append(b.populateRest(last.SessionID), []string{"/health", "/instances/eu-frankfurt-0", session, session + "/close", session + "/free?player=player-5", "/players", "/players?q=player-3", "/players?q=player-", "/players?q=nobody", "/players/erase?player=player-3", "/at", "/at?time=0s", "/at?time=0s&what=sessions", "/at?time=0s&what=seats&region=eu", "/at?time=0s&what=keys", "/at?time=2000-01-01T00:00", "/at?time=nonsense", "/capacity", "/capacity?party=65&seats=70",
		"/webhooks", "/webhooks/studio", "/webhooks/studio/pause", "/webhooks/studio/resume", "/webhooks/studio/replay", "/valves", "/valves/launch/limit", "/valves/launch/open", "/valves/launch/close", "/keys", "/keys/rotate", "/health?range=6+h", "/fleet", "/fleet?state=gone", "/fleet?state=silent", "/fleet?sort=free&label=rack", "/hosts/192.0.2.1/drain", "/regions/us-east/drain", "/regions/us-east/evacuate", "/evacuations", "/moves", "/fleet?region=us-east", "/fleet?region=nowhere", "/instances/eu-frankfurt-0/drain"}...)
}

// webhooks makes one that works and one that fails, with letters in each state.
func (b *bundle) webhooks() {
	b.t.Helper()
	for _, name := range []string{"studio", "moderation"} {
		must.Get(b.As("").CreateWebhook(b.t.Context(), name, "https://hooks.studio.example/"+name, []string{"session.*", "lobby.*"}))(b.t)
	}
	b.Exec(`UPDATE webhook_progress p SET delivered = 123456, delivered_at = now(), failing_since = now() - interval '1 hour', failed_at = now(),
		last_error = 'it answered 502 <b>', next_at = now() + interval '40 s' FROM webhooks w WHERE w.id = p.webhook AND w.name = 'studio'`)
	b.Exec(`INSERT INTO webhook_deliveries (webhook, tx, id, subject, kind, at, body, attempts, next_at, last_error, dead_at)
		SELECT w.id, n::text::xid8, gen_random_uuid(), 'session <i>eu</i>', 'session.closed', now(), '{}', n,
		       CASE WHEN n = 2 THEN now() END, 'it answered 500', CASE WHEN n = 1 THEN now() END FROM webhooks w, generate_series(1, 3) n WHERE w.name = 'studio'`)
}

// valves makes one that limits, with a line, and one that is closed.
func (b *bundle) valves() {
	b.t.Helper()
	rate, most, region := 0.001, int32(20000), "eu-frankfurt-with-a-long-name"
	for name, set := range map[string]db.ValveSettings{"launch": {Rate: &rate, MaxPlayers: &most}, "frankfurt": {Rate: &rate, Region: &region}} {
		must.Get(b.As("console:ada").Because("the launch").SetValve(b.t.Context(), name, set))(b.t)
	}
	must.Get(b.As("console:ada").Because("we look into the <login>").CloseValve(b.t.Context(), "frankfurt"))(b.t)
	must.Get(b.LoginLines(b.t.Context()))(b.t) // which has this store heed them
	for i := range 12 {
		must.Get(b.EnterLoginQueue(b.t.Context(), db.LoginRequest{Player: fmt.Sprint("waiting-", i)}))(b.t)
	}
}

// samples writes the measures of an hour.
func (b *bundle) samples() {
	b.t.Helper()
	b.Exec(`INSERT INTO minute_samples (minute, region, measure, subject, value)
		SELECT date_trunc('minute', now()) - m * interval '1 minute', k.region, k.measure, k.subject, k.value * (50 + m % 17) FROM generate_series(1, 60) m, (VALUES
			('eu', 'instances', 'ready', 1), ('eu', 'instances', 'draining', 0.1), ('eu', 'capacity', '', 64), ('eu', 'reserved', '', 40), ('eu', 'waiting_players', '', 1),
			('global', 'tickets', '', 3), ('global', 'oldest_ticket', '', 0.4), ('global', 'matches', 'duel', 2), ('', 'late_loops', '', 0), ('', 'oldest_snapshot', '', 0.2), ('eu', 'players', '', 30), ('eu', 'lost', '', 0)
		) AS k(region, measure, subject, value) WHERE m NOT BETWEEN 20 AND 24`)
}
