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

// client makes the calls.
type client struct {
	key                         func() string // a closure, which fmt cannot print
	base                        *url.URL
	http                        *http.Client
	timeout                     time.Duration
	deploys, gets, lists, stops class
}

// call is a call to make.
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
	rates := cfg.Rates
	return client{
		key: func() string { return key }, base: base, timeout: cmp.Or(cfg.Timeout, 15*time.Second),
		http:    httpcall.Client(transport),
		deploys: newClass(cmp.Or(rates.Deploy, 0.8*published.Deploy)),
		gets:    newClass(cmp.Or(rates.Get, 0.8*published.Get)),
		lists:   newClass(cmp.Or(rates.List, 0.8*published.List)),
		stops:   newClass(cmp.Or(rates.Stop, 0.8*published.Stop)),
	}
}

// call makes a call as soon as the rate limit allows it. Errors: RateLimited; Ambiguous if a Deploy may have been
// executed; Transient otherwise, because all other calls may be repeated.
func (c *client) call(ctx context.Context, k call) (answer, error) {
	// Before the timeout of the exchange begins: waiting for the rate limit is not the API's delay.
	if err := k.class.wait(ctx, k.op); err != nil {
		return answer{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	a, sent, err := c.exchange(ctx, k)
	if err != nil {
		kind := provider.Transient
		if sent && k.class == &c.deploys {
			kind = provider.Ambiguous
		}
		return answer{}, provider.Fail(kind, k.op, errors.New(httpcall.Scrub(err.Error(), []string{c.key()})))
	}
	if a.status == http.StatusTooManyRequests {
		return answer{}, &provider.Error{Kind: provider.RateLimited, Op: k.op, RetryAfter: k.class.pause(a.retryAfter),
			Err: a.err(nil)}
	}
	return a, nil
}

func (c *client) exchange(ctx context.Context, k call) (a answer, sent bool, err error) {
	u := c.base.JoinPath(k.path)
	u.RawQuery = k.query.Encode()
	got, sent, err := httpcall.Exchange(ctx, c.http, httpcall.Request{
		Method: k.method, URL: u.String(), Header: http.Header{"Authorization": {"token " + c.key()}}, Body: k.body,
	})
	if err != nil {
		return answer{}, sent, err
	}
	return answer{got.Status, parseRetryAfter(got.Header.Get("Retry-After"), time.Now()), got.Body, c.key()}, sent, nil
}

// answer is an answer of the API.
type answer struct {
	status     int
	retryAfter time.Duration // zero if the answer has none
	body       []byte
	key        string // to remove from messages
}

// ref returns the request id of the body, or "".
func (a answer) ref() provider.Ref {
	var v struct {
		ID string `json:"request_id"`
	}
	if json.Unmarshal(a.body, &v) != nil || !validRef(v.ID) {
		return ""
	}
	return provider.Ref(v.ID)
}

func (a answer) active() bool {
	var v struct {
		Active bool `json:"is_active"`
	}
	return json.Unmarshal(a.body, &v) == nil && v.Active
}

// message returns the API's message; false means that the body is not in the form of its errors.
func (a answer) message() (string, bool) {
	var v struct {
		Message *string `json:"message"`
	}
	if json.Unmarshal(a.body, &v) != nil || v.Message == nil {
		return "", false
	}
	return *v.Message, true
}

// unknown reports whether the API says that there is no such deployment, or not any more: 410, 404, or 400, which it
// answers for some unknown ids.
func (a answer) unknown() bool {
	_, ours := a.message()
	return ours && (a.status == http.StatusGone || a.status == http.StatusNotFound || a.status == http.StatusBadRequest)
}

// err returns the status and the message as an error.
func (a answer) err(secrets []string) error {
	message, ok := a.message()
	if !ok {
		return fmt.Errorf("status %d, without a message of the API", a.status)
	}
	return fmt.Errorf("status %d: %s", a.status, httpcall.Scrub(message, append(secrets, a.key)))
}

// fail returns the error of a read.
func (a answer) fail(op string) error {
	_, ours := a.message()
	kind := provider.Transient
	switch {
	case a.status == http.StatusUnauthorized || a.status == http.StatusForbidden:
		kind = provider.Permanent
	case ours && a.status == http.StatusBadRequest:
		kind = provider.Permanent
	}
	return provider.Fail(kind, op, a.err(nil))
}

// parseRetryAfter reads seconds or an HTTP date.
func parseRetryAfter(value string, now time.Time) time.Duration {
	if seconds, err := strconv.Atoi(value); err == nil && seconds > 0 {
		return time.Duration(min(seconds, 3600)) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil && at.After(now) {
		return at.Sub(now)
	}
	return 0
}
