package lobby

import "context"

// Connect opens a session, or resumes Options.Session. It tries all replicas until ctx ends. The caller closes the
// client. Errors: [*Error] for a token that is refused; invalid options; ctx ended, with the last failure.
func Connect(ctx context.Context, options Options) (*Client, error) {
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	c := &Client{options: options, status: Status{Session: options.Session}, memberships: map[string]*membership{},
		pendingByID: map[string]*pendingCall{}, pendingByEvent: map[string]*pendingChanges{}}
	c.lifeContext, c.endLife = context.WithCancel(context.WithoutCancel(ctx))
	pauses := newPauses(options)
	if err := c.openAny(ctx, pauses); err != nil {
		c.endLife()
		return nil, err
	}
	c.goroutines.Go(func() { c.runConnections(pauses) })
	return c, nil
}

// Close ends the connection and waits until no callback runs. The session ends when its time to live is over, 30
// seconds by default: until then another client can resume it. Leave rooms first that the player is to leave at once.
func (c *Client) Close() {
	c.endLife()
	c.goroutines.Wait()
}

// Reconnect ends the connection, and the client connects to the next replica. Call it when the system says that the
// network has changed, which the client would find out a minute later.
func (c *Client) Reconnect() {
	c.mu.Lock()
	conn := c.currentConnection
	c.mu.Unlock()
	if conn != nil {
		_ = conn.ws.CloseNow()
	}
}
