package lobby

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/coder/websocket"
)

const (
	closeSuperseded = websocket.StatusCode(4409)
	// steadyFor is the life of a connection after which the next failure counts as the first.
	steadyFor = 10 * time.Second
	// maxTakeovers is how many connections in a row may be taken over soon: a replica that was frozen closes
	// connections with the same code.
	maxTakeovers = 3
)

// pauses says how long to wait before the next attempt.
type pauses struct {
	*backoff.ExponentialBackOff

	takeovers int // connections in a row that another client has taken over soon
}

func newPauses(o Options) *pauses {
	return &pauses{ExponentialBackOff: &backoff.ExponentialBackOff{
		InitialInterval: o.FirstBackoff, MaxInterval: o.MaxBackoff, Multiplier: 2, RandomizationFactor: 0.5,
	}}
}

// noteEnd judges the life of a connection that has ended. Errors: [ErrSuperseded].
func (p *pauses) noteEnd(l *connection, err error) error {
	isSteady := time.Since(l.opened) >= steadyFor
	if isSteady {
		p.Reset()
	}
	if isSteady || websocket.CloseStatus(err) != closeSuperseded {
		p.takeovers = 0
		return nil
	}
	p.takeovers++
	if p.takeovers >= maxTakeovers {
		return ErrSuperseded
	}
	return nil
}

// run reads until the connection ends, and connects again, until the client is closed or a retry is useless.
func (c *Client) run(p *pauses) {
	var err error
	for err == nil {
		l := c.link // only this goroutine and Connect change it
		cause := c.read(l)
		c.disconnect(cause)
		err = p.noteEnd(l, cause)
		if err == nil && pause(c.life, p.NextBackOff()) { // with jitter: others have lost their replica, too
			err = c.openAny(c.life, p)
		}
		if c.life.Err() != nil {
			err = ErrClosed
		}
	}
	c.mu.Lock()
	c.ended = err
	c.signal()
	c.mu.Unlock()
	c.publish(Ended{err})
}

// disconnect ends what waits for the answers of a connection.
func (c *Client) disconnect(cause error) {
	c.mu.Lock()
	c.link, c.status.Connected = nil, false
	for rid, waiting := range c.pending {
		waiting.answer <- reply{err: ErrUncertain}
		delete(c.pending, rid)
	}
	c.signal()
	c.mu.Unlock()
	if c.life.Err() == nil {
		c.options.Logger.LogAttrs(c.life, slog.LevelInfo, "lobby connection lost", slog.Any("error", cause))
		c.publish(Disconnected{cause})
	}
}

// openAny connects to the replicas by turns until one accepts the client. Errors: ctx ended, with the last failure; a
// refusal that all replicas would repeat.
func (c *Client) openAny(ctx context.Context, p *pauses) error {
	refusedToken := ""
	for {
		var failed error
		for _, url := range c.urlsInTurn() {
			token, err := c.options.Token(ctx)
			if err != nil {
				return fmt.Errorf("lobby: token: %w", err)
			}
			err = c.openFollowing(ctx, url, token)
			if err == nil || isFinal(err) || isTokenRefused(err) && token == refusedToken {
				return err
			}
			if isTokenRefused(err) {
				refusedToken = token // the source may have another one
			}
			failed = errors.Join(failed, err)
		}
		c.options.Logger.LogAttrs(ctx, slog.LevelInfo, "no replica of the lobby accepts the client",
			slog.Any("error", failed))
		if !pause(ctx, p.NextBackOff()) {
			return errors.Join(ctx.Err(), failed)
		}
	}
}

// open connects to a replica, with the session that the client has.
func (c *Client) open(ctx context.Context, url, token string) error {
	l, w, err := c.dial(ctx, url, token)
	if err != nil {
		return err
	}
	lost := c.attach(l, w)
	c.publish(Connected{URL: url, Session: w.Session, Resumed: w.Resumed})
	for id, m := range lost {
		c.running.Go(func() { c.rejoin(id, m) })
	}
	return nil
}

// attach makes a connection that of the client. It returns the rooms in which the former session was, if the session is
// another one.
func (c *Client) attach(l *connection, w welcome) (lost map[string]*membership) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w.Resumed {
		c.status.Resumed++
	} else {
		lost, c.rooms = c.rooms, map[string]*membership{}
	}
	c.link, c.status.Session, c.status.URL, c.status.Connected = l, w.Session, l.url, true
	c.signal()
	return lost
}

// rejoin joins a room again in which the client was with a session that has ended.
func (c *Client) rejoin(id string, m *membership) {
	if !m.joined {
		return
	}
	if _, err := c.Join(c.life, m.roomType, id, m.options); err != nil && c.life.Err() == nil {
		c.publish(Left{Room: id, Session: c.Status().Session, Reason: CodeOf(err), Self: true})
	}
}

// pause returns false if ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
