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

// announcement is what a game server may say about itself when it is ready. An absent field keeps the value of the
// announcement before, or the one with which the sidecar was started.
type announcement struct {
	// BootID differs from that of the last announcement if the process is new, and knows nothing of players and
	// sessions.
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
	setField(&o.InstanceID, a.InstanceID)
	setField(&o.Endpoint, a.Endpoint)
	setField(&o.Region, a.Region)
	setField(&o.Capacity, a.Capacity)
	setField(&o.MaxSessions, a.MaxSessions)
	setField(&o.Version, a.Version)
	setField(&o.CertDigest, a.CertDigest)
	if a.Modes != nil { // an empty list replaces the one before, and checkAnnouncement refuses it
		o.Modes = a.Modes
	}
	if a.Labels != nil {
		o.Labels = a.Labels
	}
	return o
}

// setField replaces a field, unless said is the zero value, which means that the game server did not say it.
func setField[T comparable](field *T, said T) {
	if said != *new(T) {
		*field = said
	}
}

// becomeReady registers the server. The same announcement again changes nothing, so the call may be repeated; another
// offer, such as another capacity, is registered; another endpoint, or another boot id, is that of a new process: the
// sessions of the former process end. becomeReady waits while the director cannot be reached, up to callTimeout; the
// caller then tries again.
func (g *game) becomeReady(ctx context.Context, a *announcement) (Status, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	select {
	case g.registerLock <- struct{}{}:
		defer func() { <-g.registerLock }()
	case <-ctx.Done():
		// Another announcement has been registering all the time: the game server may repeat this one.
		return Status{}, ctx.Err()
	}
	// Under registerLock, so that of two announcements at once the second is compared with the first.
	before := g.lastAnnounced()
	o := a.applyTo(before.server)
	if err := g.checkAnnouncement(a, o); err != nil {
		return Status{}, err
	}
	err := g.applyAnnouncement(ctx, before, o, a)
	return g.currentStatus(), err
}

// applyAnnouncement does what an announcement demands in the present state: o are the options that follow from it.
func (g *game) applyAnnouncement(ctx context.Context, before announcedOptions, o sdk.ServerOptions,
	a *announcement) error {
	switch state := g.currentStatus().State; {
	case state == StateStarting:
		return g.startServer(ctx, o, a.BootID)
	// A silent game server calls again. The end of its registration may be under way.
	case state == StateUnhealthy:
		return g.registerAnew(ctx, o, a.BootID)
	case state.isOver():
		return errOver(state)
	// Before the offers are compared: another process is registered anew whatever it offers.
	case before.isOtherProcess(a, o):
		return g.replaceProcess(ctx, o, a.BootID)
	case !offersSame(before.server, o):
		return g.offerAgain(ctx, o)
	}
	return nil
}

// announcedOptions is what the game server has announced, or the sidecar was started with.
type announcedOptions struct {
	server sdk.ServerOptions
	bootID string
}

func (g *game) lastAnnounced() announcedOptions {
	g.mu.Lock()
	defer g.mu.Unlock()
	return announcedOptions{g.options.Server, g.bootID}
}

// isOtherProcess reports whether an announcement is that of another process than the one before. Nobody listens at the
// former endpoint then.
func (b announcedOptions) isOtherProcess(a *announcement, o sdk.ServerOptions) bool {
	return a.BootID != "" && a.BootID != b.bootID || o.Endpoint != b.server.Endpoint ||
		o.InstanceID != b.server.InstanceID || o.Region != b.server.Region
}

// offersSame reports whether two registrations of a process are the same for the director.
func offersSame(a, b sdk.ServerOptions) bool {
	return a.Capacity == b.Capacity && a.MaxSessions == b.MaxSessions && a.Version == b.Version &&
		a.CertDigest == b.CertDigest &&
		slices.Equal(slices.Sorted(slices.Values(a.Modes)), slices.Sorted(slices.Values(b.Modes))) &&
		maps.Equal(a.Labels, b.Labels)
}

// startServer registers a process that is not registered.
func (g *game) startServer(ctx context.Context, o sdk.ServerOptions, bootID string) error {
	o.Load = func() float64 { return math.Float64frombits(g.loadBits.Load()) }
	server, err := sdk.Start(ctx, g.options.Client, o)
	if err != nil {
		return err
	}
	g.beginReady(server, o, bootID)
	return nil
}

// registerAnew registers a process whose former registration ends, or has ended.
func (g *game) registerAnew(ctx context.Context, o sdk.ServerOptions, bootID string) error {
	// Before the new registration, which supersedes a former one that the director still knows: that must not end the
	// sidecar. The former server is not closed here: endSilentServer closes it.
	if _, err := g.forgetFormer(); err != nil {
		return err
	}
	return g.startServer(ctx, o, bootID)
}

// replaceProcess registers a process in place of the former one, whose sessions end with that.
func (g *game) replaceProcess(ctx context.Context, o sdk.ServerOptions, bootID string) error {
	// Before the new one registers: heartbeats of the former one are then refused as superseded, which must not end the
	// sidecar.
	former, err := g.forgetFormer()
	if err != nil {
		return err
	}
	g.log.LogAttrs(ctx, slog.LevelWarn, "another process of the game server is ready: the sessions of the former one end")
	err = g.startServer(ctx, o, bootID)
	// A deployment ends with its server: it keeps the registration of the former process until it has another one.
	keepsFormer := err != nil && g.options.IsDeployed
	if former != nil && !keepsFormer {
		g.closeFormer(ctx, former)
	}
	return err
}

// closeFormer ends the registration of a process that runs no more.
func (g *game) closeFormer(ctx context.Context, former *sdk.GameServer) {
	// With a time limit of its own: the registration of the new process may have used up that of the call.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	if err := former.Close(ctx); err != nil {
		g.log.LogAttrs(ctx, slog.LevelWarn, "the director was not told that the former process ended",
			slog.Any("error", err))
	}
}

// forgetFormer enters StateStarting without a server, and returns the server of the former process. Errors: errOver if
// the game server has begun to shut down meanwhile.
func (g *game) forgetFormer() (former *sdk.GameServer, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.state.isOver() {
		return nil, errOver(g.state)
	}
	former = g.server
	g.server, g.openSessions = nil, nil
	g.enterStateLocked(StateStarting, nil)
	return former, nil
}

// offerAgain registers what a process offers now.
func (g *game) offerAgain(ctx context.Context, o sdk.ServerOptions) error {
	server, err := g.registeredServer()
	if err != nil {
		return err
	}
	if err := server.Offer(ctx, o); err != nil {
		return err
	}
	// Only after success: an offer that failed must differ from these options the next time, so that it is sent again.
	g.mu.Lock()
	defer g.mu.Unlock()
	g.options.Server = o
	return nil
}

// checkAnnouncement names what is missing, and what a deployed server may not say.
func (g *game) checkAnnouncement(a *announcement, o sdk.ServerOptions) error {
	var c rest.Check
	c.Len("boot_id", a.BootID, 0, 128)
	if g.options.IsDeployed {
		const detail = "is decided by the deployment, and may not be given"
		// The director takes these from the deployment: what a server says could only contradict it.
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

// beginReady makes a registered server the one to which players are admitted.
func (g *game) beginReady(server *sdk.GameServer, o sdk.ServerOptions, bootID string) {
	// The registration may have taken longer than HealthWithin, and must not count as silence.
	g.noteCall()
	if g.takeServer(server, o, bootID) {
		go g.followServer(server)
		return
	}
	// Nobody waits for the end of a registration that nobody uses. If it fails, the lease ends it.
	go func() { _ = server.Close(context.Background()) }()
}

// takeServer makes a server that of the sidecar and enters StateReady. It returns false if the sidecar began to shut
// down while the server registered.
func (g *game) takeServer(server *sdk.GameServer, o sdk.ServerOptions, bootID string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.state.isOver() {
		return false
	}
	g.options.Server, g.bootID = o, bootID
	g.server, g.openSessions, g.isUnwanted = server, nil, false
	g.enterStateLocked(StateReady, nil)
	return true
}

// followServer publishes to the game server what the director says about it, until its registration ends.
func (g *game) followServer(server *sdk.GameServer) {
	sessions, unwanted := server.Sessions(context.Background()), server.Unwanted()
	for {
		select {
		case list, open := <-sessions:
			if !open {
				// A closed channel would be ready at once, again and again.
				sessions = nil
				continue
			}
			g.setSessions(server, list)
		case <-unwanted:
			// Closed once; a closed channel would be ready again and again.
			unwanted = nil
			g.beUnwanted(server)
		case <-server.Done():
			g.forgetServer(server)
			return
		}
	}
}

// setSessions publishes the sessions of a server, unless it is that of a former process by now.
func (g *game) setSessions(server *sdk.GameServer, list []sdk.SessionRoster) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.server != server {
		return
	}
	g.openSessions = list
	// Under the lock, so that a listener gets the lists in their order.
	g.events.publishEvent("sessions", sessionList{g.rosterLocked()})
}

// beUnwanted notes and publishes that the director wants the server to shut down.
func (g *game) beUnwanted(server *sdk.GameServer) {
	g.mu.Lock()
	defer g.mu.Unlock()
	// The server of a process that has replaced this one may be wanted.
	if g.server != server {
		return
	}
	g.isUnwanted = true
	g.events.publishEvent("status", g.statusLocked())
}

// forgetServer forgets a server whose registration has ended, and enters the final state that follows from its end.
func (g *game) forgetServer(server *sdk.GameServer) {
	g.mu.Lock()
	defer g.mu.Unlock()
	// The game server was unhealthy or restarted, and has registered anew.
	if g.server != server {
		return
	}
	// Nobody is admitted to a registration that has ended.
	g.server, g.openSessions = nil, nil
	if err := server.Err(); errors.Is(err, sdk.ErrSuperseded) {
		g.enterStateLocked(StateSuperseded, err)
		return
	}
	// endSilentServer has ended the registration of an unhealthy game server, which may announce itself again.
	if g.state != StateUnhealthy {
		g.enterStateLocked(StateEnded, nil)
	}
}
