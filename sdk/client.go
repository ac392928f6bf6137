package sdk

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	defaultUserAgent      = "lattice-director-sdk-go"
	defaultAttemptTimeout = 5 * time.Second
	// The director's answers have a few hundred bytes. A peer that sends more than 1 MiB is not the director.
	maxAnswerBytes = 1 << 20
)

// Options says how a [Client] reaches the director. Only URLs is required.
type Options struct {
	// URLs are the base URLs of the director's replicas, such as "https://director-1.example:8080". A path is kept as a
	// prefix. The client uses the replicas that answer in turn.
	URLs []string
	// HTTPClient makes the requests; nil makes one with its own transport. The client never follows redirects, because
	// net/http would send the fleet token on to another host.
	HTTPClient *http.Client
	// Logger receives messages about retries, registrations and refused players; nil discards them. Tokens and handles
	// are never logged.
	Logger *slog.Logger
	// UserAgent is sent with every request. Default "lattice-director-sdk-go".
	UserAgent string
	// AttemptTimeout bounds one request to one replica, so that an unresponsive replica does not use up the caller's
	// context. Default 5 s.
	AttemptTimeout time.Duration
	// FirstBackoff is the first pause between attempts. Pauses double up to MaxBackoff; each varies randomly by half.
	// Defaults 100 ms and 3 s, which are short compared to a lease of 15 s.
	FirstBackoff, MaxBackoff time.Duration
}

func (o Options) withDefaults() Options {
	if o.HTTPClient == nil {
		o.HTTPClient = &http.Client{Transport: &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			ForceAttemptHTTP2:   true,
			MaxIdleConnsPerHost: 64, // With the default of 2, a busy process opens a connection for nearly every call.
			IdleConnTimeout:     90 * time.Second,
		}}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.UserAgent == "" {
		o.UserAgent = defaultUserAgent
	}
	o.AttemptTimeout = positiveOr(o.AttemptTimeout, defaultAttemptTimeout)
	o.FirstBackoff = positiveOr(o.FirstBackoff, 100*time.Millisecond)
	o.MaxBackoff = positiveOr(o.MaxBackoff, 3*time.Second)
	return o
}

func positiveOr(d, otherwise time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return otherwise
}

// Client calls the director's replicas. Its only state is which of them failed recently, and which regions and tickets
// are in other cells: it follows an answer 421 of the replicas that it was given, and remembers it. It is safe for
// concurrent use, and one Client is enough for a process.
type Client struct {
	clientOptions Options
	http          *http.Client
	replicas      *replicas
	knownCells    cells
}

// New returns a client. It does not connect; the only errors are about the options.
func New(opts Options) (*Client, error) {
	opts = opts.withDefaults()
	bases := make([]string, 0, len(opts.URLs))
	for _, raw := range opts.URLs {
		base, err := baseURL(raw)
		if err != nil {
			return nil, err
		}
		bases = append(bases, base)
	}
	if len(bases) == 0 {
		return nil, errors.New("sdk: no director URL given")
	}
	h := *opts.HTTPClient
	h.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{clientOptions: opts, http: &h, replicas: newReplicas(bases)}, nil
}

func baseURL(raw string) (string, error) {
	u, err := url.Parse(strings.TrimSpace(raw))
	if err != nil {
		return "", fmt.Errorf("sdk: director URL: %w", err)
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return "", fmt.Errorf("sdk: director URL %q: want http(s)://host[:port][/prefix]", u.Redacted())
	}
	return strings.TrimRight(u.String(), "/"), nil
}

// Close closes idle connections. It does not affect calls in flight.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// attemptCall sends k to one replica once.
func (c *Client) attemptCall(ctx context.Context, base string, k call, out any) error {
	ctx, cancel := context.WithTimeout(ctx, c.clientOptions.AttemptTimeout+k.maxWait)
	defer cancel()
	req, err := c.newRequest(ctx, base, k)
	if err != nil {
		return err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return &unreachableError{err}
	}
	defer resp.Body.Close()
	body, err := readBounded(resp.Body)
	if err != nil {
		return &unreachableError{err}
	}
	return decodeAnswer(resp, k, body, out)
}

func (c *Client) newRequest(ctx context.Context, base string, k call) (*http.Request, error) {
	var body io.Reader
	if k.body != nil {
		raw, err := json.Marshal(k.body)
		if err != nil {
			return nil, fmt.Errorf("sdk: %s: %w", k.name(), err)
		}
		body = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, k.method, base+k.path, body)
	if err != nil {
		return nil, fmt.Errorf("sdk: %s: %w", k.name(), err)
	}
	maps.Copy(req.Header, k.header)
	if k.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", "application/json, application/problem+json")
	req.Header.Set("User-Agent", c.clientOptions.UserAgent)
	return req, nil
}
