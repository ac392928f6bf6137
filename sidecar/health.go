package sidecar

import (
	"context"
	"log/slog"
	"time"

	"github.com/lattice-director/director/sdk"
)

// watchHealth ends the registration of a game server that has said nothing for too long: a sidecar would otherwise send
// heartbeats for a game server that is frozen, and players would be sent to it.
func (g *game) watchHealth() {
	if g.options.HealthWithin <= 0 {
		return
	}
	go func() {
		// Silence is noticed at most a tenth late. A ticker of 0 would panic.
		ticks := time.NewTicker(max(g.options.HealthWithin/10, time.Millisecond))
		defer ticks.Stop()
		for {
			select {
			case <-ticks.C:
				g.endSilentServer()
			case <-g.finalStateReached:
				return
			}
		}
	}()
}

// endSilentServer ends the registration of a game server that has been silent for HealthWithin.
func (g *game) endSilentServer() {
	// Before the registration ends: forgetServer must not take that for the end of the game server.
	server, silent := g.enterUnhealthy()
	if server == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	g.log.LogAttrs(ctx, slog.LevelError, "the game server says nothing any more: its registration ends",
		slog.Duration("silent", silent))
	if err := server.Close(ctx); err != nil {
		g.log.LogAttrs(ctx, slog.LevelWarn, "the director was not told that the game server is frozen",
			slog.Any("error", err))
	}
}

// enterUnhealthy returns the server that becomes unhealthy now, and for how long it has been silent; nil if none does.
func (g *game) enterUnhealthy() (server *sdk.GameServer, silent time.Duration) {
	// In one step: a process that registers between the look and the change would be unhealthy with a registration.
	g.mu.Lock()
	defer g.mu.Unlock()
	silent = g.silentFor()
	// A server that stops need not say anything: its grace bounds how long it is registered.
	if silent < g.options.HealthWithin || g.state != StateReady && g.state != StateDraining || g.server == nil {
		return nil, silent
	}
	g.enterStateLocked(StateUnhealthy, nil)
	return g.server, silent
}
