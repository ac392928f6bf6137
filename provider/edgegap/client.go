package edgegap

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/lattice-director/director/provider"
	"github.com/lattice-director/director/provider/internal/httpcall"
)

// client makes the calls of the API, within its rate limits.
type client struct {
	secretKey                                   func() string // a closure, which fmt cannot print
	baseURL                                     *url.URL
	http                                        *http.Client
	callTimeout                                 time.Duration
	deployClass, getClass, listClass, stopClass class
}

// call is a call of the API.
type call struct {
	op, method, path string
	class            *class
	query            url.Values
	body             any // nil for none
}

func newClient(cfg Config, key string, base *url.URL) client {
	transport := cfg.Transport
	if transport == nil {
		transport = httpcall.Transport()
	}
	// Below the published limits by default: people and other tools use the same account.
	rates := cfg.Rates
	return client{
		secretKey: func() string { return key }, baseURL: base, callTimeout: cmp.Or(cfg.Timeout, 15*time.Second),
		http:        httpcall.Client(transport),
		deployClass: newClass(cmp.Or(rates.Deploy, 0.8*publishedRates.Deploy)),
		getClass:    newClass(cmp.Or(rates.Get, 0.8*publishedRates.Get)),
		listClass:   newClass(cmp.Or(rates.List, 0.8*publishedRates.List)),
		stopClass:   newClass(cmp.Or(rates.Stop, 0.8*publishedRates.Stop)),
	}
}

// callAPI makes a call as soon as the rate limit allows it. Errors: RateLimited; Ambiguous if a Deploy may have been
// executed; Transient otherwise, because all other calls may be repeated.
func (c *client) callAPI(ctx context.Context, k call) (answer, error) {
	// Before the timeout of the exchange begins: waiting for the rate limit is not the API's delay.
	if err := k.class.awaitTurn(ctx, k.op); err != nil {
		return answer{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.callTimeout)
	defer cancel()
	a, sent, err := c.exchangeOnce(ctx, k)
	if err != nil {
		kind := provider.Transient
		// Only a Deploy must not be repeated: a second one would start, and bill, a second server.
		if sent && k.class == &c.deployClass {
			kind = provider.Ambiguous
		}
		return answer{}, provider.Fail(kind, k.op, errors.New(httpcall.Scrub(err.Error(), []string{c.secretKey()})))
	}
	// The whole class pauses: other calls of it would be refused as well.
	if a.status == http.StatusTooManyRequests {
		return answer{}, &provider.Error{Kind: provider.RateLimited, Op: k.op,
			RetryAfter: k.class.beginPause(a.retryAfter),
			Err:        a.statusError(nil)}
	}
	return a, nil
}

func (c *client) exchangeOnce(ctx context.Context, k call) (a answer, sent bool, err error) {
	u := c.baseURL.JoinPath(k.path)
	u.RawQuery = k.query.Encode()
	got, sent, err := httpcall.Exchange(ctx, c.http, httpcall.Request{
		Method: k.method, URL: u.String(), Header: http.Header{"Authorization": {"token " + c.secretKey()}},
		Body: k.body,
	})
	if err != nil {
		return answer{}, sent, err
	}
	return answer{got.Status, parseRetryAfter(got.Header.Get("Retry-After"), time.Now()), got.Body,
		c.secretKey()}, sent, nil
}

// answer is an answer of the API.
type answer struct {
	status     int
	retryAfter time.Duration // zero if the answer has none
	body       []byte
	key        string // to remove from messages
}

// requestID returns the request id of the body, or "".
func (a answer) requestID() provider.Ref {
	var v struct {
		ID string `json:"request_id"`
	}
	// The id becomes a part of paths.
	if json.Unmarshal(a.body, &v) != nil || !validRef(v.ID) {
		return ""
	}
	return provider.Ref(v.ID)
}

func (a answer) isActive() bool {
	var v struct {
		Active bool `json:"is_active"`
	}
	return json.Unmarshal(a.body, &v) == nil && v.Active
}

// apiMessage returns the API's message; false means that the body is not in the form of its errors.
func (a answer) apiMessage() (string, bool) {
	var v struct {
		Message *string `json:"message"`
	}
	if json.Unmarshal(a.body, &v) != nil || v.Message == nil {
		return "", false
	}
	return *v.Message, true
}

// isUnknown reports whether the API says that there is no such deployment, or not any more: 410, 404, or 400, which it
// answers for some unknown ids.
func (a answer) isUnknown() bool {
	_, ours := a.apiMessage()
	return ours && (a.status == http.StatusGone || a.status == http.StatusNotFound || a.status == http.StatusBadRequest)
}

// statusError returns the status and the message as an error.
func (a answer) statusError(secrets []string) error {
	message, ok := a.apiMessage()
	if !ok {
		return fmt.Errorf("status %d, without a message of the API", a.status)
	}
	return fmt.Errorf("status %d: %s", a.status, httpcall.Scrub(message, append(secrets, a.key)))
}

// readError returns the error of a read.
func (a answer) readError(op string) error {
	_, ours := a.apiMessage()
	kind := provider.Transient
	switch {
	case a.status == http.StatusUnauthorized || a.status == http.StatusForbidden:
		kind = provider.Permanent
	// An answer of the API itself: a proxy in front of it may answer otherwise the next time.
	case ours && a.status == http.StatusBadRequest:
		kind = provider.Permanent
	}
	return provider.Fail(kind, op, a.statusError(nil))
}

// parseRetryAfter reads seconds or an HTTP date.
func parseRetryAfter(value string, now time.Time) time.Duration {
	// Bounded before it is multiplied: a large number would overflow.
	if seconds, err := strconv.Atoi(value); err == nil && seconds > 0 {
		return time.Duration(min(seconds, 3600)) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil && at.After(now) {
		return at.Sub(now)
	}
	return 0
}
