package lobby

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
)

// runConnections keeps the client connected, and ends it when that is over.
func (c *Client) runConnections(p *pauses) {
	err := c.keepConnected(p)
	if c.lifeContext.Err() != nil {
		err = ErrClosed
	}
	c.mu.Lock()
	c.endedError = err
	c.signalChange()
	c.mu.Unlock()
	c.publishEvent(Ended{err})
}

// keepConnected reads until the connection ends, and connects again. It returns why it does not connect any more: the
// client is closed, or a retry is useless.
func (c *Client) keepConnected(p *pauses) error {
	for {
		conn := c.currentConnection // only this goroutine and Connect change it
		cause := c.readFrames(conn)
		c.dropConnection(cause)
		if err := p.noteEnd(conn, cause); err != nil {
			return err
		}
		// After a random pause: all clients of that replica reconnect now.
		if !pauseFor(c.lifeContext, p.backOff.NextBackOff()) {
			return ErrClosed
		}
		if err := c.openAny(c.lifeContext, p); err != nil {
			return err
		}
	}
}

// dropConnection notes that the connection has ended, and ends the requests that wait for its answers.
func (c *Client) dropConnection(cause error) {
	c.mu.Lock()
	c.currentConnection, c.status.Connected = nil, false
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

// openAny tries the replicas in turn until one accepts the client. Errors: ctx ended, with the last failure; a
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
				refusedToken = token // Options.Token may return another one the next time
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
	conn, w, err := c.dialServer(ctx, url, token)
	if err != nil {
		return err
	}
	lost := c.attachConnection(conn, w)
	c.publishEvent(Connected{URL: url, Session: w.Session, Resumed: w.Resumed})
	for id, m := range lost {
		c.goroutines.Go(func() { c.rejoinRoom(id, m) })
	}
	return nil
}

// attachConnection makes a connection that of the client. It returns the rooms in which the former session was, if the
// session is another one.
func (c *Client) attachConnection(conn *connection, w welcome) (lost map[string]*membership) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w.Resumed {
		c.status.Resumed++
	} else {
		lost, c.memberships = c.memberships, map[string]*membership{}
	}
	c.currentConnection, c.status.Session, c.status.URL, c.status.Connected = conn, w.Session, conn.serverURL, true
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
