// Package sidecar runs beside a game server in any language or engine and does for it what package sdk does for Go: it
// registers the server, sends heartbeats, admits players by their session tokens, once each, keeps their seats and the
// expected players, and drains.
//
// The game server talks to it on the same machine, in JSON over HTTP or in lines of text over TCP: http.go and
// lines.go. Both call the same methods, in game.go; events.go sends the game server what it has not asked for. A game
// server that says nothing for a while is frozen or gone: its sidecar then ends its registration, so that no player is
// sent to it. See health.go.
//
//	starting ── ready ──▶ ready ⇄ draining ── shutdown ──▶ stopping ──▶ ended
//	    ▲                   │
//	    └─ ready again ─ unhealthy         another process registers under the instance id: superseded, which is final
package sidecar
