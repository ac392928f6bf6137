package lobby

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// Token returns the player's token, which the game's backend minted (POST /tokens of the control API). The client calls
// it before each connection; its errors end the client.
type Token func(ctx context.Context) (string, error)

// StaticToken returns always the same token. It resumes its session for up to a day after it has expired.
func StaticToken(token string) Token {
	return func(context.Context) (string, error) { return token, nil }
}

// Options says how a [Client] reaches the lobby. URLs and Token are required.
type Options struct {
	// URLs are those of the replicas' listeners for the lobby, such as "wss://lobby.example:4000". The client connects
	// to the first that accepts it, and after a lost connection to the next. Where another cell serves the project, the
	// replica names the lobby of that cell, and the client connects there.
	URLs  []string
	Token Token
	// Project is the project of a client without a token, where the director allows that. A token names its own.
	Project string
	// Session is the session of a former client, to resume it: [Status] has the id. "" opens a new one. After its time
	// to live the client gets a new session as well.
	Session string
	// OnEvent, if it is not nil, is called with each event, in their order and one at a time. It must return soon, and
	// must not wait for an answer of the client.
	OnEvent func(Event)
	// Logger receives messages about lost connections; nil discards them. Tokens are never logged.
	Logger *slog.Logger
	// AttemptTimeout bounds the connection to one replica with its handshake. Default 5 s.
	AttemptTimeout time.Duration
	// FirstBackoff is the first pause between attempts. Pauses double up to MaxBackoff; each varies randomly by half.
	// Defaults 250 ms and 3 s.
	FirstBackoff, MaxBackoff time.Duration
}

func (o Options) withDefaults() (Options, error) {
	if len(o.URLs) == 0 {
		return o, errors.New("lobby: no URL given: want the WebSocket URL of at least one replica")
	}
	for _, raw := range o.URLs {
		u, err := url.Parse(raw)
		if err != nil || !slices.Contains(schemes, u.Scheme) || u.Host == "" {
			return o, errors.New("lobby: URL of a replica: want ws(s)://host:port")
		}
	}
	if o.Token == nil {
		return o, errors.New("lobby: no token given: StaticToken(\"\") connects where the director needs none")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.URLs = slices.Clone(o.URLs)
	o.AttemptTimeout = cmp.Or(max(0, o.AttemptTimeout), 5*time.Second)
	o.FirstBackoff = cmp.Or(max(0, o.FirstBackoff), 250*time.Millisecond)
	o.MaxBackoff = cmp.Or(max(0, o.MaxBackoff), 3*time.Second)
	return o, nil
}

// Client is a session of the lobby, over any number of connections. Safe for concurrent use.
type Client struct {
	options     Options
	lifeContext context.Context //nolint:containedctx // of the connections; canceled by endLife
	endLife     context.CancelFunc
	goroutines  sync.WaitGroup
	// cell is the address of the cell that accepted the client; "": a configured replica did. Only the goroutine of
	// runConnections uses it, and Connect before that.
	cell string

	mu                sync.Mutex
	changedSignal     chan struct{} // closed by the next change; nil: nobody waits for one
	currentConnection *connection   // nil: not connected
	status            Status
	memberships       map[string]*membership
	pendingByID       map[string]*pendingCall    // by rid
	lastCall          int                        // number of the last rid
	pendingByEvent    map[string]*pendingChanges // of the lists that are watched, by the event that has changes
	endedError        error                      // why the client has ended
}

// Status says how a client is connected.
type Status struct {
	Session   string // its id, which changes when the former one's time to live was over
	URL       string // of the replica that it is connected to, or was last
	Connected bool
	Resumed   int   // how often it has resumed the session after a connection had ended
	Frames    int64 // received, over all connections
	Resyncs   int   // how often it has missed a change of a room and asked for the whole state
}

// Status returns how the client is connected now.
func (c *Client) Status() Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.status
}

// Await waits until a condition holds. The condition is judged after each event, each state and each change of the
// connection. Errors: ctx ended; why the client has ended.
func (c *Client) Await(ctx context.Context, holds func() bool) error {
	for {
		changed, err := c.nextChange()
		if holds() {
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// nextChange returns what the next change closes, and why there will be none.
func (c *Client) nextChange() (<-chan struct{}, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changedSignal == nil {
		c.changedSignal = make(chan struct{})
	}
	return c.changedSignal, c.endedError
}

// signalChange wakes all calls of [Client.Await]. The caller holds mu.
func (c *Client) signalChange() {
	if c.changedSignal != nil {
		close(c.changedSignal)
		c.changedSignal = nil
	}
}

// urlsInTurn returns the cell that accepted the client last, and the configured URLs, beginning with the one after the
// last that was used.
func (c *Client) urlsInTurn() []string {
	urls := c.options.URLs
	next := slices.Index(urls, c.Status().URL) + 1 // 0 if the last one was none of them
	turn := slices.Concat(urls[next:], urls[:next])
	if c.cell != "" {
		return slices.Insert(turn, 0, c.cell)
	}
	return turn
}

// publishEvent calls OnEvent, if there is one.
func (c *Client) publishEvent(e Event) {
	if c.options.OnEvent != nil {
		c.options.OnEvent(e)
	}
}

// withoutQuery is a URL that may be logged: a query may have a secret.
func withoutQuery(raw string) string {
	base, _, _ := strings.Cut(raw, "?")
	return base
}

func unreachableError(url string, err error) error {
	return fmt.Errorf("lobby: %s: %w", withoutQuery(url), err)
}

// pendingCall is a request without an answer.
type pendingCall struct {
	name        string // for errors
	answerQueue chan reply
}

// reply is the body of an answer, or why there is none.
type reply struct {
	rawBody json.RawMessage
	err     error
}

// schemes are those of the URLs of a lobby.
var schemes = []string{"ws", "wss", "http", "https"}
