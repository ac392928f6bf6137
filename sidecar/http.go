package sidecar

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/lattice-director/director/server/rest"
)

const (
	maxGrace    = 24 * time.Hour   // longer than any match: a mistyped unit must not keep a machine for weeks
	maxBodies   = 256              // bodies that are read at a time
	bodyTimeout = 5 * time.Second  // bodies come from this machine
	beatEvery   = 10 * time.Second // so that a failed write reveals a listener that has gone
)

// httpRoutes returns the handler of the routes for the game server. There is no authentication: every client that
// reaches the listener is trusted, except pages in browsers.
func (g *game) httpRoutes(log *slog.Logger) (http.Handler, error) {
	engine, err := rest.New(rest.Options{Log: log, QuietRoutes: []string{"/health", "/load", "/status"},
		ErrorWriter: writeError})
	if err != nil {
		return nil, err
	}
	// A page in a browser is refused before it counts as a sign of life.
	api := engine.Group("/", noBrowsers, g.noteRequest, emptyBody, rest.NewBodies(maxBodies, bodyTimeout).Read)
	api.GET("/status", rest.Handle(http.StatusOK,
		func(context.Context, rest.In[rest.None]) (Status, error) { return g.currentStatus(), nil }))
	api.POST("/ready", rest.Handle(http.StatusOK,
		func(ctx context.Context, in rest.In[announcement]) (Status, error) {
			return g.becomeReady(ctx, &in.Body)
		}))
	// noteRequest has noted the call, and health is nothing else.
	api.POST("/health", rest.Handle(http.StatusNoContent,
		func(context.Context, rest.In[rest.None]) (rest.None, error) { return rest.None{}, nil }))
	api.PUT("/load", rest.Handle(http.StatusNoContent, g.putLoad))
	api.POST("/drain", rest.Handle(http.StatusOK, g.postDrain(true)))
	api.POST("/undrain", rest.Handle(http.StatusOK, g.postDrain(false)))
	api.POST("/shutdown", rest.Handle(http.StatusAccepted, g.postShutdown))

	api.POST("/players", rest.Handle(http.StatusOK,
		func(ctx context.Context, in rest.In[newPlayer]) (Player, error) {
			return g.admitPlayer(ctx, in.Body.Token)
		}))
	api.GET("/players", rest.Handle(http.StatusOK,
		func(context.Context, rest.In[rest.None]) (playerList, error) { return playerList{g.listPlayers()}, nil }))
	api.DELETE("/players/:id", rest.Handle(http.StatusNoContent,
		func(_ context.Context, in rest.In[rest.None]) (rest.None, error) {
			return rest.None{}, g.leavePlayer(in.Param("id"))
		}))
	api.GET("/sessions", rest.Handle(http.StatusOK,
		func(context.Context, rest.In[rest.None]) (sessionList, error) {
			return sessionList{g.listSessions()}, nil
		}))
	api.DELETE("/sessions/:id", rest.Handle(http.StatusNoContent,
		func(_ context.Context, in rest.In[rest.None]) (rest.None, error) {
			return rest.None{}, g.endSession(in.Param("id"))
		}))
	api.GET("/events", rest.AllowWaiting, rest.HandleEvents(g.getEvents))
	return engine, nil
}

// noBrowsers refuses pages, which can reach the listeners of the machine on which they are shown. A page whose own name
// leads to this machine (DNS rebinding) sends no Origin, but its own name as Host.
func noBrowsers(c *gin.Context) {
	if c.GetHeader("Origin") != "" || !namesThisMachine(c.Request.Host) {
		rest.Fail(c, &rest.Problem{Status: http.StatusForbidden, Code: "no_browsers",
			Detail: "The sidecar serves game servers, not pages in browsers."})
	}
}

// namesThisMachine reports whether a Host header has an address or localhost, not a name that somebody else decides
// about.
func namesThisMachine(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil || host == "localhost"
}

// noteRequest takes any call as a sign of life, so that a busy game server need not call health.
func (g *game) noteRequest(*gin.Context) {
	g.noteCall()
}

// emptyBody makes a missing body an empty object: a call with nothing to say needs no body and no content type.
func emptyBody(c *gin.Context) {
	if c.Request.ContentLength == 0 {
		c.Request.Body = io.NopCloser(strings.NewReader("{}"))
	}
}

type newPlayer struct {
	Token string `json:"token"`
}

// Validate implements rest.Validator.
func (p *newPlayer) Validate(c *rest.Check) {
	c.That(p.Token != "", "token", "is required: the session token that the player has sent")
}

type playerList struct {
	Players []Player `json:"players"`
}

type loadBody struct {
	Load *float64 `json:"load"`
}

// Validate implements rest.Validator.
func (b *loadBody) Validate(c *rest.Check) {
	c.That(b.Load != nil && validLoad(*b.Load), "load", "is required, and a number from 0 to 1e9")
}

func validLoad(load float64) bool { return load >= 0 && load <= 1e9 }

func (g *game) putLoad(_ context.Context, in rest.In[loadBody]) (rest.None, error) {
	g.setLoad(*in.Body.Load)
	return rest.None{}, nil
}

func (g *game) postDrain(drain bool) func(context.Context, rest.In[rest.None]) (Status, error) {
	return func(ctx context.Context, _ rest.In[rest.None]) (Status, error) {
		err := g.setDraining(ctx, drain)
		return g.currentStatus(), err
	}
}

type shutdownBody struct {
	Grace string `json:"grace"` // such as 90s; absent: that of the sidecar
}

// Validate implements rest.Validator.
func (b *shutdownBody) Validate(c *rest.Check) {
	_, ok := graceOf(b.Grace, 0)
	c.That(ok, "grace", "must be a time from 0s to 24h, such as 90s or 5m")
}

// graceOf returns the grace period that a text says, or byDefault for an empty text. ok is false if it is invalid.
func graceOf(text string, byDefault time.Duration) (grace time.Duration, ok bool) {
	if text == "" {
		return byDefault, true
	}
	grace, err := time.ParseDuration(text)
	return grace, err == nil && grace >= 0 && grace <= maxGrace
}

func (g *game) postShutdown(_ context.Context, in rest.In[shutdownBody]) (Status, error) {
	// Validate has checked the text.
	grace, _ := graceOf(in.Body.Grace, g.options.ShutdownGrace)
	g.beginShutdown(grace)
	return g.currentStatus(), nil
}

// getEvents sends events until the game server disconnects, is too slow, or is over.
func (g *game) getEvents(ctx context.Context, _ rest.In[rest.None], out *rest.Events) error {
	first, next, stop, err := g.events.addListener()
	if err != nil {
		return err
	}
	defer stop()
	// Ids count the events of this connection: nothing is resumed, since a new listener gets the whole state.
	id := 0
	send := func(e event) error {
		id++
		return out.Send(e.Name, id, e.Data)
	}
	for _, e := range first {
		if err := send(e); err != nil {
			return err
		}
	}
	beats := time.NewTicker(beatEvery)
	defer beats.Stop()
	for {
		select {
		case e, open := <-next:
			// The listener was too slow: it connects again.
			if !open {
				return nil
			}
			if err := send(e); err != nil {
				return err
			}
		case <-beats.C:
			if err := out.Beat(); err != nil {
				return err
			}
		// next may be ready at the same time, and the final state is among its events.
		case <-g.finalStateReached:
			return g.sendRest(next, send)
		case <-ctx.Done():
			return nil
		}
	}
}

// sendRest sends the events that were published before the final state was reached.
func (g *game) sendRest(next <-chan event, send func(event) error) error {
	for {
		select {
		case e, open := <-next:
			if !open {
				return nil
			}
			if err := send(e); err != nil {
				return err
			}
		default:
			return nil
		}
	}
}
