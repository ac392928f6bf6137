package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// callTimeout is far beyond what a director takes to say no.
const callTimeout = 10 * time.Second

// client posts JSON. Connections are kept, one for each who calls at a time: what is measured is answers, not handshakes.
type client struct {
	http       *http.Client
	fleetToken string
}

func newClient(fleetToken string, connections int) *client {
	transport := &http.Transport{
		DialContext:         (&net.Dialer{Timeout: callTimeout}).DialContext,
		TLSHandshakeTimeout: callTimeout,
		MaxIdleConns:        connections,
		MaxIdleConnsPerHost: connections,
		IdleConnTimeout:     time.Minute,
		DisableCompression:  true,
	}
	return &client{&http.Client{Transport: transport, Timeout: callTimeout}, fleetToken}
}

func (c *client) close() { c.http.CloseIdleConnections() }

// failure is an answer that is not the one hoped for. Its code is the problem's (RFC 9457), or a word of ours.
type failure struct {
	status int // 0 when there was no answer
	code   string
	detail string // for people
}

// Error implements error.
func (f *failure) Error() string {
	if f.detail == "" {
		return f.kind()
	}
	return f.kind() + ": " + f.detail
}

// kind is what failures are counted by.
func (f *failure) kind() string {
	if f.status == 0 {
		return f.code
	}
	return fmt.Sprintf("%d %s", f.status, f.code)
}

// asFleet calls as a game server.
func (c *client) asFleet(ctx context.Context, url string, body, answer any) error {
	if c.fleetToken == "" {
		return c.post(ctx, url, "", "", body, answer)
	}
	return c.post(ctx, url, "X-Fleet-Token", c.fleetToken, body, answer)
}

// asPlayer calls with a player's access token.
func (c *client) asPlayer(ctx context.Context, url, token string, body, answer any) error {
	return c.post(ctx, url, "Authorization", "Bearer "+token, body, answer)
}

func (c *client) post(ctx context.Context, url, header, value string, body, answer any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(text))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if header != "" {
		req.Header.Set(header, value)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return unanswered(err)
	}
	defer resp.Body.Close()
	return read(resp, answer)
}

func unanswered(err error) error {
	code := "no answer"
	if timeout, ok := err.(net.Error); ok && timeout.Timeout() { //nolint:errorlint // http.Client's doc: it is a *url.Error
		code = "timeout"
	}
	return &failure{code: code, detail: err.Error()}
}

// longest answer that is read; a director's are a few hundred bytes.
const longest = 1 << 20

func read(resp *http.Response, answer any) error {
	text, err := io.ReadAll(io.LimitReader(resp.Body, longest))
	if err != nil {
		return unanswered(err)
	}
	if resp.StatusCode >= http.StatusMultipleChoices {
		var problem struct {
			Code   string `json:"code"`
			Detail string `json:"detail"`
		}
		_ = json.Unmarshal(text, &problem) // a proxy's answer is none
		if problem.Code == "" {
			problem.Code = http.StatusText(resp.StatusCode)
		}
		return &failure{resp.StatusCode, problem.Code, problem.Detail}
	}
	if answer == nil {
		return nil
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return &failure{resp.StatusCode, "unreadable", err.Error()}
	}
	return nil
}
