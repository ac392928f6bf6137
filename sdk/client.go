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
	// The director's answers are a few hundred bytes; a peer that sends more than this is not the director.
	maxAnswerBytes = 1 << 20
)

// Options says how a [Client] reaches the director. Only URLs is required.
type Options struct {
	// URLs are the base addresses of the director's replicas, such as "https://director-1.example:8080". A path in
	// them is kept as a prefix. Calls take turns over those that answer.
	URLs []string
	// HTTPClient makes the requests; nil takes one with a transport of its own. Redirects are never followed, because
	// Go would carry the fleet token along to another host.
	HTTPClient *http.Client
	// Logger hears about retries and lost servers; nil is silent. Tokens and handles are never logged.
	Logger *slog.Logger
	// UserAgent is sent with every request. Default "lattice-director-sdk-go".
	UserAgent string
	// AttemptTimeout bounds one request to one replica, so that a frozen one costs a caller this and not its whole
	// context. Default 5 s.
	AttemptTimeout time.Duration
	// FirstBackoff and MaxBackoff bound the pauses between attempts; each is doubled and jittered by half.
	// Defaults 100 ms and 3 s, short against a lease of 15 s.
	FirstBackoff, MaxBackoff time.Duration
}

func (o Options) withDefaults() Options {
	if o.HTTPClient == nil {
		o.HTTPClient = &http.Client{Transport: &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			ForceAttemptHTTP2:   true,
			MaxIdleConnsPerHost: 64, // The default of 2 makes a busy process dial for nearly every call.
			IdleConnTimeout:     90 * time.Second,
		}}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.UserAgent == "" {
		o.UserAgent = defaultUserAgent
	}
	o.AttemptTimeout = positive(o.AttemptTimeout, defaultAttemptTimeout)
	o.FirstBackoff = positive(o.FirstBackoff, 100*time.Millisecond)
	o.MaxBackoff = positive(o.MaxBackoff, 3*time.Second)
	return o
}

func positive(d, otherwise time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return otherwise
}

// Client calls the director's replicas. It holds no state but which of them answered lately, and is safe for
// concurrent use; one for a whole process is enough.
type Client struct {
	opts     Options
	http     *http.Client
	replicas *replicas
}

// New makes a client. It does not connect; the error is about the options.
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
	return &Client{opts: opts, http: &h, replicas: newReplicas(bases)}, nil
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

// Close lets go of idle connections. Calls in flight are not touched.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// call is one request of the API, repeated as often as needed.
type call struct {
	method, path string
	header       http.Header
	body         any
	// once leaves repeating to the caller: the replicas are asked in turn, each one time.
	once bool
}

func (k call) name() string { return k.method + " " + k.path }

// attempt sends k to one replica once.
func (c *Client) attempt(ctx context.Context, base string, k call, out any) error {
	ctx, cancel := context.WithTimeout(ctx, c.opts.AttemptTimeout)
	defer cancel()
	req, err := c.request(ctx, base, k)
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
	return decode(resp, k, body, out)
}

func (c *Client) request(ctx context.Context, base string, k call) (*http.Request, error) {
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
	req.Header.Set("User-Agent", c.opts.UserAgent)
	return req, nil
}

func readBounded(r io.Reader) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r, maxAnswerBytes+1))
	if err != nil {
		return nil, err
	}
	if len(body) > maxAnswerBytes {
		return nil, fmt.Errorf("answer over %d bytes", maxAnswerBytes)
	}
	return body, nil
}

func decode(resp *http.Response, k call, body []byte, out any) error {
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return decodeError(resp, k, body)
	}
	if out == nil || resp.StatusCode == http.StatusNoContent {
		return nil
	}
	if err := json.Unmarshal(body, out); err != nil {
		return fmt.Errorf("sdk: %s: unreadable answer with status %d: %w", k.name(), resp.StatusCode, err)
	}
	return nil
}
