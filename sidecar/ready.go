package sidecar

import (
	"context"
	"errors"
	"math"

	"github.com/lattice-director/director/sdk"
	"github.com/lattice-director/director/server/rest"
)

// announcement is what a game server may say about itself when it is ready. What is absent is as the sidecar was started with.
type announcement struct {
	InstanceID  string            `json:"instance_id"`
	Endpoint    string            `json:"endpoint"`
	Region      string            `json:"region"`
	Modes       []string          `json:"modes"`
	Capacity    int               `json:"capacity"`
	MaxSessions int               `json:"max_sessions"`
	Labels      map[string]string `json:"labels"`
	Version     string            `json:"version"`
	CertDigest  string            `json:"cert_digest"`
}

// over returns the options of a server with what it says about itself.
func (a *announcement) over(o sdk.ServerOptions) sdk.ServerOptions {
	set(&o.InstanceID, a.InstanceID)
	set(&o.Endpoint, a.Endpoint)
	set(&o.Region, a.Region)
	set(&o.Capacity, a.Capacity)
	set(&o.MaxSessions, a.MaxSessions)
	set(&o.Version, a.Version)
	set(&o.CertDigest, a.CertDigest)
	if a.Modes != nil {
		o.Modes = a.Modes
	}
	if a.Labels != nil {
		o.Labels = a.Labels
	}
	return o
}

func set[T comparable](field *T, said T) {
	if said != *new(T) {
		*field = said
	}
}

// ready registers the server. A server that is registered stays as it is, so the call may be repeated. It waits while the director cannot be
// reached, up to callTimeout; the caller then tries again.
func (g *game) ready(ctx context.Context, a *announcement) (Status, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	select {
	case g.readying <- struct{}{}:
		defer func() { <-g.readying }()
	case <-ctx.Done():
		return Status{}, ctx.Err()
	}
	if s := g.status(); s.State != StateStarting && s.State != StateUnhealthy {
		if s.State == StateReady || s.State == StateDraining {
			return s, nil
		}
		return Status{}, errOver(s.State)
	}
	o := a.over(g.options.Server)
	if err := g.check(a, o); err != nil {
		return Status{}, err
	}
	o.Load = func() float64 { return math.Float64frombits(g.load.Load()) }
	server, err := sdk.Start(ctx, g.options.Client, o)
	if err != nil {
		return Status{}, err
	}
	g.begin(server, o)
	return g.status(), nil
}

// check names what is missing, and what a deployed server may not say.
func (g *game) check(a *announcement, o sdk.ServerOptions) error {
	var c rest.Check
	if g.options.Deployed {
		const detail = "is decided by the deployment, and may not be given"
		c.That(a.InstanceID == "", "instance_id", detail)
		c.That(a.Endpoint == "", "endpoint", detail)
		c.That(a.Region == "", "region", detail)
		c.That(a.Modes == nil, "modes", detail)
		c.That(a.Capacity == 0, "capacity", detail)
		return c.Err()
	}
	const detail = "is required, here or when the sidecar is started"
	c.That(o.InstanceID != "", "instance_id", detail)
	c.That(o.Endpoint != "", "endpoint", detail)
	c.That(o.Region != "", "region", detail)
	c.That(len(o.Modes) > 0, "modes", detail)
	c.That(o.Capacity > 0, "capacity", detail+", and 1 or more")
	return c.Err()
}

// begin makes a registered server the one that players are admitted to.
func (g *game) begin(server *sdk.GameServer, o sdk.ServerOptions) {
	g.mu.Lock()
	g.options.Server = o
	g.server, g.unwanted = server, false
	stopping := g.state == StateEnded
	g.mu.Unlock()
	if stopping { // it was shut down meanwhile
		go func() { _ = server.Close(context.Background()) }()
		return
	}
	g.hear()
	g.enter(StateReady, nil)
	go g.follow(server)
}

// follow tells the game server what the director says about it, until its registration ends.
func (g *game) follow(server *sdk.GameServer) {
	sessions, unwanted := server.Sessions(context.Background()), server.Unwanted()
	for {
		select {
		case list, open := <-sessions:
			if !open {
				sessions = nil
				continue
			}
			g.learn(list)
		case <-unwanted:
			unwanted = nil
			g.beUnwanted()
		case <-server.Done():
			g.finish(server)
			return
		}
	}
}

func (g *game) learn(list []sdk.SessionRoster) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sessions = list
	g.events.publish("sessions", sessionList{g.rosterLocked()})
}

func (g *game) beUnwanted() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.unwanted = true
	g.events.publish("status", g.statusLocked())
}

// finish forgets a server whose registration has ended.
func (g *game) finish(server *sdk.GameServer) {
	g.mu.Lock()
	state, current := g.state, g.server == server
	if current {
		g.server, g.sessions = nil, nil
	}
	g.mu.Unlock()
	switch {
	case !current: // the game server was unhealthy, and is ready again
	case errors.Is(server.Err(), sdk.ErrSuperseded):
		g.enter(StateSuperseded, server.Err())
	case state != StateUnhealthy:
		g.enter(StateEnded, nil)
	}
}
