package main

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// writeDeployment writes a deployment that is over, which became ready so many seconds after its creation; negative:
// never.
func (h *history) writeDeployment(ready int) (tag string) {
	h.t.Helper()
	id := uuid.New()
	h.exec(`INSERT INTO deployment_history (region, id, app, version, provider, tag, origin, attempt, created_at, ready_at, gone_at)
		VALUES ('cloud', $1, 'arena', '1', 'process', $2, 'pool', 1, $3, CASE WHEN $4 >= 0 THEN $3::timestamptz + make_interval(secs => $4) END, now())`,
		id, id.String()[:20], killedAt, ready)
	return id.String()[:20]
}

// The proofs of the pool find guests who did not play, servers too many, a server that was lost, one that no row knew,
// and one that stayed.
func TestWhatThePoolMustNotDo(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	h.poolFacts = poolFacts{welcomedCount: guestCount, allPlayedAfter: 2 * time.Second, shrunkAfter: 30 * time.Second,
		startingCount: 1, mostAlive: neededServers, lookCount: 9}
	h.requireBroken(h.poolServed(t.Context()), "0 started")
	h.requireBroken(h.poolKept(t.Context()), "0 of 0 became ready")
	h.writeDeployment(3)
	for _, p := range []proof{h.poolServed(t.Context()), h.poolKept(t.Context()), h.poolShrank()} {
		require.True(t, p.holds, "%s: %s", p.claim, p.evidenceText)
	}

	h.poolFacts.mostAlive++
	h.requireBroken(h.poolServed(t.Context()), "at most 4 were alive, 3 were needed")
	h.poolFacts.mostAlive, h.poolFacts.welcomedCount = 3, guestCount-1
	h.requireBroken(h.poolServed(t.Context()), "19 of 20 guests played")
	h.poolFacts.strangerTag = "twin"
	h.requireBroken(h.poolKept(t.Context()), "but not twin")
	h.poolFacts.strangerTag, h.poolFacts.startingCount = "", 0
	h.requireBroken(h.poolKept(t.Context()), "0 started when it died")
	h.poolFacts.startingCount = 1
	h.writeDeployment(-1)
	h.requireBroken(h.poolKept(t.Context()), "1 of 2 became ready")
	h.poolFacts.shrunkAfter, h.poolFacts.aliveAtEnd = 0, 2
	h.requireBroken(h.poolShrank(), "2 servers were alive at the end")
}

// The comparison of processes with rows knows servers that run and servers that have just ended, and no others.
func TestStrangersAreFound(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	p := &provisioning{cluster: &cluster{dbPool: h.dbPool}}
	h.exec(`INSERT INTO app_versions (app, version, provider, launch, ports, game_port, modes, capacity, max_players)
		VALUES ('arena', '1', 'process', 'arena', '[]', 'game', '{ffa}', 8, 4)`)
	h.exec(`INSERT INTO deployments (region, id, app, version, provider, tag) VALUES ('cloud', gen_random_uuid(), 'arena', '1', 'process', 'runs')`)
	require.NoError(t, p.recordServers(t.Context(), []string{"runs", h.writeDeployment(1)}))
	require.Empty(t, p.facts.strangerTag)
	require.Equal(t, 2, p.facts.mostAlive)
	require.NoError(t, p.recordServers(t.Context(), []string{"runs", "twin"}))
	require.NoError(t, p.recordServers(t.Context(), []string{}))
	require.Equal(t, "twin", p.facts.strangerTag)
	require.Zero(t, p.facts.aliveAtEnd)
}
