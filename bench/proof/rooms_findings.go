package proof

import (
	"github.com/lattice-director/director/bench"
)

// inLobby makes the findings of the rounds.
func (all rounds) inLobby(sizes lobbySizes) []Finding {
	return []Finding{
		all.idleSession(sizes.idle),
		noted(atMost("a change seen by a member on the other replica, p50", all.of(lobbyPatches, p50), 15, millis),
			"%s of the %s requested; an echo %s, a notification %s, a single-row commit under load %s; a change costs %s of CPU, of which Postgres %s",
			all.rate(lobbyPatches), all.show(lobbyPatches, requested, perSecond), all.show(echoQuiet, p50, millis),
			all.show(notices, p50, millis),
			all.show(commit, p50, millis), all.show(lobbyPatches, cpu, micros),
			all.show(lobbyPatches, postgresMicros, micros)),
		noted(atMost("a change seen by a member on the other replica, p99", all.of(lobbyPatches, p99), 60, millis),
			"a notification %s, a single-row commit under load %s", all.show(notices, p99, millis),
			all.show(commit, p99, millis)),
		noted(atMost("enqueued until both players know their match, p50", all.of(lobbyMatches, p50), 30, millis),
			"p99 %s; a match costs %s of CPU, of which Postgres %s", all.show(lobbyMatches, p99, millis),
			all.show(lobbyMatches, cpu, micros),
			all.show(lobbyMatches, postgresMicros, micros)),
		noted(atLeast("changes of one room from both replicas, each durable when answered",
			all.of(lobbyOneRoom, throughput), 2000, perSecond),
			"p50 %s, p99 %s; a change costs %s of CPU, of which Postgres %s", all.show(lobbyOneRoom, p50, millis),
			all.show(lobbyOneRoom, p99, millis),
			all.show(lobbyOneRoom, cpu, micros), all.show(lobbyOneRoom, postgresMicros, micros)),
		noted(atLeast("changes of one room, compared with a commit of one row for each",
			all.compared(lobbyOneRoom, oneRow, throughput), 1, times),
			"as many callers, each with a connection: %s", all.rate(oneRow)),
		all.joinFrames(sizes.join),
		all.joinTime(),
		all.failures(lobbyQuiet, lobbyFull, echoFull, lobbyPatches, lobbyMatches, lobbyOneRoom, lobbyFewJoin,
			lobbyJoin),
	}
}

// idleSession is the finding about memory. Each of two processes has half of the sessions.
func (all rounds) idleSession(sessions int) Finding {
	each := func(full, quiet string) float64 {
		return float64(all[0][full].Costs.ServerRSS-all[0][quiet].Costs.ServerRSS) / (float64(sessions) / 2) / 1024
	}
	return noted(atMost("memory of a replica for an idle session", each(lobbyFull, lobbyQuiet), 40, kibibytes),
		"%s sessions on two replicas; a connection of an echo %s. CPU of both replicas %s, without sessions %s",
		inFull(float64(sessions)),
		kibibytes(each(echoFull, echoQuiet)), inCores(all.of(lobbyFull, cores(serverMicros))),
		inCores(all.of(lobbyQuiet, cores(serverMicros))))
}

// framesEach is the number of frames that a client receives while n of them join a room, divided by n.
func framesEach(r bench.Result) float64 {
	n := float64(r.Sessions)
	return r.Frames / n / n
}

// joinFrames is the finding that the frames of a client grow with the clients that join, and not with their square.
func (all rounds) joinFrames(clients int) Finding {
	return noted(atMost(inFull(float64(clients))+
		" clients join one room: frames of a client for each of them, compared with a quarter of the clients",
		all.compared(lobbyJoin, lobbyFewJoin, framesEach), 1.1, times), "%.2f frames", all.of(lobbyJoin, framesEach))
}

// joinTime is the same finding about time, of which each frame takes some.
func (all rounds) joinTime() Finding {
	perFrame := func(r bench.Result) float64 { return r.Latency.P50 / r.Frames }
	return noted(atMost("time for each of these frames, compared with a quarter of the clients",
		all.compared(lobbyJoin, lobbyFewJoin, perFrame), 1.25, times),
		"until each client knows all others: p50 %s; a quarter of the clients %s", all.show(lobbyJoin, p50, millis),
		all.show(lobbyFewJoin, p50, millis))
}
