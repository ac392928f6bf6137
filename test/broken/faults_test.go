package broken

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"syscall"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/doctor"
	"github.com/lattice-director/director/test/rigtest"
)

// registerServers registers game servers, which send no heartbeat afterwards.
func (i *installation) registerServers(n int) {
	i.T.Helper()
	for k := range n {
		i.RequireOK(i.PostFleet("/fleet/register", rigtest.Fields{
			"instance_id": fmt.Sprintf("s%d", k), "endpoint": fmt.Sprintf("203.0.113.1:%d", 7000+k), "region": "eu",
			"modes": []string{"duel"}, "capacity": 4,
		}))
	}
}

// askForSeat asks for a seat of a player in a mode. The answer may be a refusal.
func (i *installation) askForSeat(sub, mode string) {
	i.T.Helper()
	_, _, err := i.PostPlay(sub, "/matchmake", rigtest.Fields{"region": "eu", "mode": mode})
	require.NoError(i.T, err)
}

// serveEmptyKeySet serves a key set without a key.
func (i *installation) serveEmptyKeySet() (url string) {
	i.T.Helper()
	issuer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"keys":[]}`)) }))
	i.T.Cleanup(issuer.Close)
	return issuer.URL
}

// faults are ways in which a running installation breaks.
var faults = map[string]fault{
	"all game servers lose their network": {
		breaks: func(i *installation) { i.registerServers(4) },
		check:  "fleet", state: doctor.Fail, says: `^no game server has sent a heartbeat for [0-9.ms]+: leases do not expire, and players may be sent to dead servers$`,
		ready: http.StatusOK, alert: "DirectorGameServersLost",
	},
	"most game servers died": {
		breaks: func(i *installation) {
			i.registerServers(5)
			i.KeepAlive(heartbeat, "s0", "s1")
		},
		check: "fleet", state: doctor.Fail, says: `^3 of 5 game servers died: no heartbeat came and their leases expired; 2 alive`,
		ready: http.StatusOK, alert: "DirectorGameServersLost",
	},
	"the database is read-only": {
		breaks: func(i *installation) {
			i.ExecSQL("ALTER DATABASE postgres SET default_transaction_read_only = on")
			i.ExecSQL("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'director%'")
		},
		check: "writes", state: doctor.Fail, says: `transactions are read-only by default, as set by: database`, cause: `^cannot execute INSERT in a read-only transaction \(SQLSTATE 25006\)$`,
		ready: http.StatusServiceUnavailable, reason: `does not take writes: transactions are read-only \(SQLSTATE 25006\)`, alert: "DirectorDatabaseRefusesWrites",
	},
	"players are refused": {
		breaks: func(i *installation) {
			i.KeepAlive(heartbeat, "s0")
			for k := range 20 {
				i.askForSeat(fmt.Sprint("p", k), "brawl")
			}
		},
		check: "refusals", state: doctor.Fail, says: `^20 players were refused in the last ten minutes, 0 have a seat; mostly (mode_unknown|no_capacity) by POST /matchmake in region eu for mode brawl`,
		ready: http.StatusOK, alert: "DirectorPlayersRefused",
	},
	"tickets can be in no match": {
		breaks: func(i *installation) {
			const crowd = "name: ranked\nteams: [{name: a, players: 32, count: 2}]\n"
			i.ApplyProfile(crowd)
			for k := range 6 {
				i.QueueFor(fmt.Sprint("p", k), "ranked")
			}
			i.ApplyProfile(crowd + "rules: [{latency: 60ms}]\n")
		},
		check: "tickets", state: doctor.Fail, says: `^6 tickets wait in global, the oldest for \S+; 6 of them can be in no match, mostly of profile ranked: the ticket measured no latency`,
		ready: http.StatusOK, alert: "DirectorTicketsWithoutMatch",
	},
	"one of two replicas is frozen": {
		breaks: func(i *installation) {
			second := i.ServeReplica()
			require.NoError(i.T, second.Process.Signal(syscall.SIGSTOP))
			i.T.Cleanup(func() { _ = second.Process.Signal(syscall.SIGCONT) })
		},
		check: "replicas", state: doctor.Warn, says: `^1 of 2 replicas run; frozen or cut off: director serve \S+/\d+ \(silent for \d`,
		ready: http.StatusOK, alert: "DirectorReplicaLost",
	},
	"the login publishes no key": {
		breaks: func(i *installation) {
			i.NextEnv = append(i.NextEnv, "DIRECTOR_AUTH_JWKS="+i.serveEmptyKeySet(), "DIRECTOR_AUTH_JWKS_PLAIN_HTTP=true")
			i.replica.Process.Kill()
			i.replica = i.ServeReplica("--work", "--console-addr", i.console, "--metrics-addr", i.metrics)
			i.SetURLs(i.replica.URL)
		},
		check: "key sets", state: doctor.Fail, says: `^the key set of players' access tokens \(DIRECTOR_AUTH_JWKS\): .*every token is refused`,
		ready: http.StatusOK, alert: "DirectorNoUsableKey",
	},
	"no worker runs any more": {
		breaks: func(i *installation) {
			i.KeepAlive(heartbeat, "s0") // the worker has run
			i.replica.Process.Kill()
			i.replica = i.ServeReplica("--console-addr", i.console, "--metrics-addr", i.metrics)
			i.SetURLs(i.replica.URL)
			i.ExecSQL("UPDATE worker_loops SET succeeded_at = now() - interval '10 minutes'")
		},
		check: "workers", state: doctor.Fail, says: `^no worker is running: the last successful run of any loop was 1[0-9]m`,
		ready: http.StatusOK,
	},
	"somebody forgot a transaction that holds a lock": {
		breaks: func(i *installation) {
			i.ExecSQL("CREATE TABLE locked ()")
			ctx, cancel := context.WithCancel(context.Background())
			i.T.Cleanup(cancel)
			holder, err := i.SQLPool.Begin(ctx)
			require.NoError(i.T, err)
			_, err = holder.Exec(ctx, "LOCK TABLE locked")
			require.NoError(i.T, err)
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				_, _ = i.SQLPool.Exec(ctx, "SELECT FROM locked")
			}()
			i.T.Cleanup(func() { _ = holder.Rollback(ctx); <-ended })
		},
		check: "locks", state: doctor.Fail, says: `^1 wait for locks, the longest for .*, blocked by pid`,
		ready: http.StatusOK,
	},
	"nobody serves the realtime lobby": {
		breaks: func(i *installation) {
			i.ExecSQL(`INSERT INTO realtime_sessions (region, id, project, player, authenticated, ttl, owner) VALUES ('eu', 'a', 'p', 'a', true, '30 s', gen_random_uuid())`)
		},
		check: "lobby", state: doctor.Fail, says: `and no replica serves them$`,
		ready: http.StatusOK,
	},
	"the limit over all pools is reached": {
		breaks: func(i *installation) { i.ExecSQL("UPDATE pool_limits SET max_servers = 0") },
		check:  "pool limits", state: doctor.Fail, says: `^all pools have 0 servers of at most 0, .*: no more start$`,
		ready: http.StatusOK,
	},
	"an invariant is violated": {
		breaks: func(i *installation) {
			i.KeepAlive(heartbeat, "s0")
			i.askForSeat("ada", "duel")
			i.ExecSQL("UPDATE sessions SET player_count = player_count + 1")
		},
		check: "invariants", state: doctor.Fail, says: `^violated: seat count drift \(1\)`,
		ready: http.StatusOK,
	},
}
