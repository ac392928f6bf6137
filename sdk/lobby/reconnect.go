package lobby

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
)

// runConnections reads until the connection ends, and connects again, until the client is closed or a retry is useless.
func (c *Client) runConnections(p *pauses) {
	var err error
	for err == nil {
		l := c.currentLink // only this goroutine and Connect change it
		cause := c.readFrames(l)
		c.dropConnection(cause)
		err = p.noteEnd(l, cause)
		// After a random pause: all clients of that replica reconnect now.
		if err == nil && pauseFor(c.lifeContext, p.backOff.NextBackOff()) {
			err = c.openAny(c.lifeContext, p)
		}
		if c.lifeContext.Err() != nil {
			err = ErrClosed
		}
	}
	c.mu.Lock()
	c.endedError = err
	c.signalChange()
	c.mu.Unlock()
	c.publishEvent(Ended{err})
}

// dropConnection ends what waits for the answers of a connection.
func (c *Client) dropConnection(cause error) {
	c.mu.Lock()
	c.currentLink, c.status.Connected = nil, false
	for rid, waiting := range c.pendingByID {
		waiting.answerQueue <- reply{err: ErrUncertain}
		delete(c.pendingByID, rid)
	}
	c.signalChange()
	c.mu.Unlock()
	if c.lifeContext.Err() == nil {
		c.options.Logger.LogAttrs(c.lifeContext, slog.LevelInfo, "lobby connection lost", slog.Any("error", cause))
		c.publishEvent(Disconnected{cause})
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
		if !pauseFor(ctx, p.backOff.NextBackOff()) {
			return errors.Join(ctx.Err(), failed)
		}
	}
}

// openConnection connects to a replica, with the session that the client has.
func (c *Client) openConnection(ctx context.Context, url, token string) error {
	l, w, err := c.dialServer(ctx, url, token)
	if err != nil {
		return err
	}
	lost := c.attachConnection(l, w)
	c.publishEvent(Connected{URL: url, Session: w.Session, Resumed: w.Resumed})
	for id, m := range lost {
		c.goroutines.Go(func() { c.rejoinRoom(id, m) })
	}
	return nil
}

// attachConnection makes a connection that of the client. It returns the rooms in which the former session was, if the
// session is another one.
func (c *Client) attachConnection(l *connection, w welcome) (lost map[string]*membership) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w.Resumed {
		c.status.Resumed++
	} else {
		lost, c.memberships = c.memberships, map[string]*membership{}
	}
	c.currentLink, c.status.Session, c.status.URL, c.status.Connected = l, w.Session, l.serverURL, true
	c.signalChange()
	return lost
}

// rejoinRoom joins a room again in which the client was with a session that has ended.
func (c *Client) rejoinRoom(id string, m *membership) {
	if !m.wasJoined {
		return
	}
	if _, err := c.Join(c.lifeContext, m.roomType, id, m.joinOptions); err != nil && c.lifeContext.Err() == nil {
		c.publishEvent(Left{Room: id, Session: c.Status().Session, Reason: CodeOf(err), Self: true})
	}
}
