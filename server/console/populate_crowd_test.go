package console

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
)

// crowd adds what a large installation has on a bad night: 200 game servers, most of which have died and some of which
// are silent, 500 tickets, players who are refused, and requests that fail. Profile duel must exist.
func (b *bundle) crowd() {
	b.t.Helper()
	regions := []string{"eu", "us-east", "ap-southeast", "sa-east-with-a-long-name"}
	for i := range 200 {
		b.AddServer(fmt.Sprintf("%s-arena-%03d", regions[i%4], i), 64, func(r *db.Registration) {
			r.Region, r.Endpoint, r.Version = regions[i%4], fmt.Sprintf("203.0.113.%d:7777", i), fmt.Sprintf("1.4.%d", i%3)
			r.Labels = map[string]string{"rack": fmt.Sprintf("r%d", i%7), "build": "nightly-2026-11-24"}
		})
	}
	b.EndAmnesty()
	b.Exec(`SELECT end_instance(region, id, 'lease expired') FROM instances WHERE id LIKE '%-arena-%' AND right(id, 3)::int < 120`)
	b.Exec(`UPDATE instances SET ended_at = now() - right(id, 3)::int * interval '20 seconds' WHERE status = 'gone'`)
	b.Exec(`UPDATE instance_leases SET heartbeat_at = now() - interval '5 minutes' WHERE instance_id LIKE '%-arena-%' AND right(instance_id, 3)::int BETWEEN 120 AND 127`)
	b.Exec(`INSERT INTO minute_samples (minute, region, measure, subject, value) SELECT date_trunc('minute', now()) - m * interval '1 minute', 'eu', 'lost', '', 3 FROM generate_series(1, 40) m
		ON CONFLICT (minute, region, measure, subject) DO UPDATE SET value = excluded.value`)
	for i := range 500 {
		b.QueuePlayer(fmt.Sprintf("player-of-a-game-%03d@login.example", i), float64(1000*i), "duel")
	}
	b.Exec(`UPDATE tickets SET created = created - (random() * 3600)::bigint * 1000000000`)
	all := make([]db.Refusals, 60)
	for i := range all {
		all[i] = db.Refusals{Times: 1 + i, FirstAge: time.Hour, LastAge: time.Duration(i) * time.Minute, Latest: fault.Refusal{
			Player: fmt.Sprintf("player-of-a-game-%03d@login.example", i), Call: "POST /matchmake", Code: "no_capacity", Region: "sa-east-with-a-long-name", Mode: "duel",
			Detail: `no instance in region "sa-east-with-a-long-name" can host mode "duel" for 8 players now`, RequestID: "7d1f6a0c2f5b4c6f9f0f5d5a4f1f2f3a",
		}}
	}
	require.NoError(b.t, b.RecordRefusals(b.t.Context(), all))
	b.Exec(`INSERT INTO request_minutes (minute, route, requests, refused, failed)
		SELECT date_trunc('minute', now()) - m * interval '1 minute', k.route, k.n * (10 + m % 7), k.n * (m % 5), k.failed * (m % 3) FROM generate_series(1, 60) m, (VALUES
			('POST /matchmake', 40, 2), ('POST /tickets', 12, 0), ('GET /tickets/:id', 90, 0), ('POST /resolve', 38, 0), ('POST /fleet/heartbeat', 200, 0), ('POST /fleet/seats', 60, 1), ('refused', 10, 12)
		) AS k(route, n, failed)`)
	b.Exec(`INSERT INTO stored_players (region, sub, attributes, avoid, may_party_with, updated_by)
		VALUES ('global', 'player-3', '{"name": "Zoë <b>", "skill": 1480, "maps": ["dust", "mirage"]}', '{player-4,player-5}', '{}', 'backend:game')`)
}
