// Package texts asks a studio's HTTP hook whether a text that players are about to read is allowed.
package texts

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	// Deadline bounds a check: a sender waits for it.
	Deadline  = time.Second
	maxAnswer = 64 << 10 // bytes
	maxReason = 200      // bytes
	// maxIdle is how many connections to the hook are kept.
	maxIdle = 64
)

// Message is a text with its sender. A message to a room has a Room, one to a player the player in To.
type Message struct {
	Project string          `json:"project"`
	Room    string          `json:"room,omitempty"`
	To      string          `json:"to,omitempty"`
	Session string          `json:"session"`
	Player  string          `json:"player"`
	Data    json.RawMessage `json:"data"`
}

// Refused is the error of a text that the hook does not allow. Reason may be shown to the sender; it may be empty.
type Refused struct{ Reason string }

func (e *Refused) Error() string { return "the text is not allowed" }

// Hook is where texts are checked. Make it with [New]. A nil Hook allows every text. Safe for concurrent use.
type Hook struct {
	url        string
	isFailOpen bool
	report     func(context.Context, error)
	client     *http.Client
}

// New returns the hook at a URL of http or https; nil without one. With failOpen, a text that could not be checked is
// allowed. report gets the outcome of each check: nil, or why the hook did not answer as it should. A redirect counts
// as a failure: the operator has chosen the URL, whoever answers there has not.
func New(url string, failOpen bool, report func(context.Context, error)) *Hook {
	if url == "" {
		return nil
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost, transport.MaxConnsPerHost = maxIdle, 4*maxIdle
	return &Hook{url: url, isFailOpen: failOpen, report: report, client: &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// verdict is the answer of the hook.
type verdict struct {
	Allow  *bool           `json:"allow"`
	Data   json.RawMessage `json:"data"`   // replaces that of the message; absent: it stays
	Reason string          `json:"reason"` // why it is not allowed
}

// Check returns the data with which a message may be sent. Errors: a [*Refused]; any other says that the hook did not
// answer as it should, within [Deadline], and names no secret of its URL.
func (h *Hook) Check(ctx context.Context, m Message) (json.RawMessage, error) {
	if h == nil {
		return m.Data, nil
	}
	call, cancel := context.WithTimeout(ctx, Deadline)
	defer cancel()
	v, err := h.ask(call, m)
	h.report(ctx, err)
	switch {
	// The operator prefers that players can talk while the hook is away.
	case err != nil && h.isFailOpen:
		return m.Data, nil
	case err != nil:
		return nil, fmt.Errorf("the hook that checks texts: %w", err)
	case !*v.Allow:
		return nil, &Refused{shortenReason(v.Reason)}
	case len(v.Data) > 0 && string(v.Data) != "null":
		return v.Data, nil
	}
	return m.Data, nil
}

var errNoVerdict = errors.New(`its answer must be {"allow": true} or {"allow": false}`)

func (h *Hook) ask(ctx context.Context, m Message) (v verdict, err error) {
	body, err := json.Marshal(m)
	if err != nil {
		return v, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url, bytes.NewReader(body))
	if err != nil {
		return v, errors.New("its URL is invalid")
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := h.client.Do(request)
	if err != nil {
		return v, withoutURL(err)
	}
	defer func() { _ = response.Body.Close() }()
	// One byte more than is allowed, to notice that it is longer.
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return v, withoutURL(err)
	case response.StatusCode != http.StatusOK:
		return v, fmt.Errorf("it answered %d", response.StatusCode)
	case len(answer) > maxAnswer:
		return v, errors.New("its answer is longer than 64 KiB")
	case json.Unmarshal(answer, &v) != nil || v.Allow == nil:
		return v, errNoVerdict
	}
	return v, nil
}

// withoutURL returns the cause of a failed call: the URL may contain a password.
func withoutURL(err error) error {
	if cause := errors.Unwrap(err); cause != nil {
		return cause
	}
	return err
}

func shortenReason(reason string) string {
	reason = strings.ToValidUTF8(reason, "\uFFFD")
	for len(reason) > maxReason {
		_, size := utf8.DecodeLastRuneInString(reason)
		reason = reason[:len(reason)-size]
	}
	return reason
}
