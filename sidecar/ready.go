package sidecar

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"math"
	"slices"

	"github.com/lattice-director/director/sdk"
	"github.com/lattice-director/director/server/rest"
)

// announcement is what a game server may say about itself when it is ready. What is absent is as it was said before, or
// as the sidecar was started with.
type announcement struct {
	// another one than before: the process is new, and knows nothing of players and sessions
	BootID      string            `json:"boot_id"`
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

// applyTo returns the options of a server with what it says about itself.
func (a *announcement) applyTo(o sdk.ServerOptions) sdk.ServerOptions {
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

// ready registers the server. The same announcement again changes nothing, so the call may be repeated; another offer,
// such as another capacity, is registered; another endpoint, or another boot id, is that of a new process: the sessions
// of the former one end. It waits while the director cannot be reached, up to callTimeout; the caller then tries again.
func (g *game) ready(ctx context.Context, a *announcement) (Status, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	select {
	case g.readying <- struct{}{}:
		defer func() { <-g.readying }()
	case <-ctx.Done():
		return Status{}, ctx.Err()
	}
	// Under the lock of registering, so that two announcements at once do not each judge by what was before both.
	before := g.announced()
	o := a.applyTo(before.ServerOptions)
	if err := g.check(a, o); err != nil {
		return Status{}, err
	}
	var err error
	switch state := g.status().State; {
	case state == StateStarting, state == StateUnhealthy:
		err = g.start(ctx, o, a.BootID)
	// It stops, or has ended.
	case state != StateReady && state != StateDraining:
		err = errOver(state)
	case before.isOtherProcess(a, o):
		err = g.replace(ctx, o, a.BootID)
	case !offersSame(before.ServerOptions, o):
		err = g.offer(ctx, o)
	}
	return g.status(), err
}

// announced is what the game server has said about itself, or its sidecar was started with.
type announced struct {
	sdk.ServerOptions

	bootID string
}

func (g *game) announced() announced {
	g.mu.Lock()
	defer g.mu.Unlock()
	return announced{g.options.Server, g.bootID}
}

// isOtherProcess reports whether an announcement is that of another process than the one before. Nobody listens at the
// former endpoint then.
func (b announced) isOtherProcess(a *announcement, o sdk.ServerOptions) bool {
	return a.BootID != "" && a.BootID != b.bootID || o.Endpoint != b.Endpoint || o.InstanceID != b.InstanceID ||
		o.Region != b.Region
}

// offersSame reports whether two registrations of a process are the same for the director.
func offersSame(a, b sdk.ServerOptions) bool {
	return a.Capacity == b.Capacity && a.MaxSessions == b.MaxSessions && a.Version == b.Version &&
		a.CertDigest == b.CertDigest &&
		slices.Equal(slices.Sorted(slices.Values(a.Modes)), slices.Sorted(slices.Values(b.Modes))) &&
		maps.Equal(a.Labels, b.Labels)
}

// start registers a process that is not registered.
func (g *game) start(ctx context.Context, o sdk.ServerOptions, bootID string) error {
	o.Load = func() float64 { return math.Float64frombits(g.load.Load()) }
	server, err := sdk.Start(ctx, g.options.Client, o)
	if err != nil {
		return err
	}
	g.begin(server, o, bootID)
	return nil
}

// replace registers a process in place of the former one, whose sessions end with that. The former one is forgotten
// first: its heartbeats may hear of the new registration before this call does. A deployed server is not deregistered,
// because that would end its deployment.
func (g *game) replace(ctx context.Context, o sdk.ServerOptions, bootID string) error {
	g.mu.Lock()
	former := g.server
	g.server, g.sessions = nil, nil
	g.mu.Unlock()
	g.enter(StateStarting, nil)
	g.log.LogAttrs(ctx, slog.LevelWarn, "another process of the game server is ready: the sessions of the former one end")
	err := g.start(ctx, o, bootID)
	if former == nil || err != nil && g.options.Deployed {
		return err
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	if failed := former.Close(closing); failed != nil {
		g.log.LogAttrs(ctx, slog.LevelWarn, "the director was not told that the former process ended",
			slog.Any("error", failed))
	}
	return err
}

// offer registers what a process offers now.
func (g *game) offer(ctx context.Context, o sdk.ServerOptions) error {
	server, err := g.registered()
	if err == nil {
		err = server.Offer(ctx, o)
	}
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.options.Server = o
	return nil
}

// check names what is missing, and what a deployed server may not say.
func (g *game) check(a *announcement, o sdk.ServerOptions) error {
	var c rest.Check
	c.Len("boot_id", a.BootID, 0, 128)
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
	c.That(o.Endpoint == "" || rest.Endpoint.Valid(o.Endpoint), "endpoint", "must be "+rest.Endpoint.Description)
	c.That(o.Region != "", "region", detail)
	c.That(len(o.Modes) > 0, "modes", detail)
	c.That(o.Capacity > 0, "capacity", detail+", and 1 or more")
	return c.Err()
}

// begin makes a registered server the one that players are admitted to.
func (g *game) begin(server *sdk.GameServer, o sdk.ServerOptions, bootID string) {
	g.mu.Lock()
	g.options.Server, g.bootID = o, bootID
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
				// A closed channel would be ready at once, again and again.
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
	case !current: // the game server was unhealthy or restarted, and is ready again
	case errors.Is(server.Err(), sdk.ErrSuperseded):
		g.enter(StateSuperseded, server.Err())
	case state != StateUnhealthy:
		g.enter(StateEnded, nil)
	}
}
