package proof

import (
	"math"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/report"
)

// inLobby makes the findings of the rounds.
func (all rounds) inLobby(sizes lobbySizes) []report.Finding {
	return []report.Finding{
		all.idleSession(sizes.idle),
		noted(atMost("a change seen by a member on the other replica, p50", all.p50(lobbyPatches), 15, millis),
			"%s of the %s requested; an echo %s, a notification %s, a single-row commit under load %s; a change costs %s of CPU, of which Postgres %s",
			all.rate(lobbyPatches), perSecond(all.median(func(r round) float64 { return rateOf(r[lobbyPatches]) })), millis(all.p50(echoQuiet)), millis(all.p50(notices)),
			millis(all.p50(commit)), all.micros(lobbyPatches, serverAndPostgres), all.micros(lobbyPatches, postgresMicros)),
		noted(atMost("a change seen by a member on the other replica, p99", all.p99(lobbyPatches), 60, millis),
			"a notification %s, a single-row commit under load %s", millis(all.p99(notices)), millis(all.p99(commit))),
		noted(atMost("enqueued until both players know their match, p50", all.p50(lobbyMatches), 30, millis),
			"p99 %s; a match costs %s of CPU, of which Postgres %s", millis(all.p99(lobbyMatches)), all.micros(lobbyMatches, serverAndPostgres),
			all.micros(lobbyMatches, postgresMicros)),
		noted(atLeast("changes of one room from both replicas, each durable when answered", all.perSecond(lobbyOneRoom), 2000, perSecond),
			"p50 %s, p99 %s; a change costs %s of CPU, of which Postgres %s", millis(all.p50(lobbyOneRoom)), millis(all.p99(lobbyOneRoom)),
			all.micros(lobbyOneRoom, serverAndPostgres), all.micros(lobbyOneRoom, postgresMicros)),
		noted(atLeast("changes of one room, compared with a commit of one row for each", all.ratio(lobbyOneRoom, oneRow), 1, times),
			"as many callers, each with a connection: %s", all.rate(oneRow)),
		all.joinFrames(sizes.join),
		all.joinTime(),
		all.failures(lobbyQuiet, lobbyFull, echoFull, lobbyPatches, lobbyMatches, lobbyOneRoom, lobbyFewJoin, lobbyJoin),
	}
}

// idleSession is the finding about memory. Each of two processes has half of the sessions.
func (all rounds) idleSession(sessions int) report.Finding {
	each := func(full, quiet string) float64 {
		return float64(all[0][full].Costs.ServerRSS-all[0][quiet].Costs.ServerRSS) / (float64(sessions) / 2) / 1024
	}
	return noted(atMost("memory of a replica for an idle session", each(lobbyFull, lobbyQuiet), 40, kibibytes),
		"%s sessions on two replicas; a connection of an echo %s. CPU of both replicas %s, without sessions %s", report.Whole(float64(sessions)),
		kibibytes(each(echoFull, echoQuiet)), inCores(all.replicaCPU(lobbyFull)), inCores(all.replicaCPU(lobbyQuiet)))
}

// framesEach is the number of frames that a client receives while n of them join a room, divided by n.
func framesEach(r bench.Result) float64 {
	n := float64(r.Sessions)
	return r.Frames / n / n
}

// joinFrames is the finding that the frames of a client grow with the clients that join, and not with their square.
func (all rounds) joinFrames(clients int) report.Finding {
	ratio := all.median(func(r round) float64 { return framesEach(r[lobbyJoin]) / framesEach(r[lobbyFewJoin]) })
	return noted(atMost(report.Whole(float64(clients))+" clients join one room: frames of a client for each of them, compared with a quarter of the clients", ratio, 1.1, times),
		"%.2f frames", all.median(func(r round) float64 { return framesEach(r[lobbyJoin]) }))
}

// joinTime is the same finding about time, of which each frame takes some.
func (all rounds) joinTime() report.Finding {
	perFrame := func(r bench.Result) float64 { return r.Latency.P50 / r.Frames }
	ratio := all.median(func(r round) float64 { return perFrame(r[lobbyJoin]) / perFrame(r[lobbyFewJoin]) })
	return noted(atMost("time for each of these frames, compared with a quarter of the clients", ratio, 1.25, times),
		"until each client knows all others: p50 %s; a quarter of the clients %s", millis(all.p50(lobbyJoin)), millis(all.p50(lobbyFewJoin)))
}

// ratio compares the throughput of two trials.
func (all rounds) ratio(one, other string) float64 {
	return all.median(func(r round) float64 { return r[one].PerSecond / r[other].PerSecond })
}

// micros is a cost of a call.
func (all rounds) micros(name string, of func(*bench.Costs) float64) string {
	return measured(all.median(func(r round) float64 { return costOf(r[name], of) }), micros)
}

func serverAndPostgres(c *bench.Costs) float64 { return c.ServerMicros + c.PostgresMicros }

// rateOf is the requested rate; NaN of a closed loop.
func rateOf(r bench.Result) float64 {
	if r.Open == nil {
		return math.NaN()
	}
	return r.Open.Rate
}
