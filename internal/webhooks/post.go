package webhooks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/lattice-director/director/internal/base/outbound"
)

const (
	// postTimeout bounds a whole request: its connection, its answer, and reading that.
	postTimeout = 15 * time.Second
	// maxAnswer is how many bytes of an answer are read, so that its connection can be used again.
	maxAnswer = 64 << 10
	// maxIdle is how many connections are kept.
	maxIdle = 256
)

// failure is why a letter was not delivered.
type failure struct {
	operatorText string // for operators; it has no part of the URL but its host
	retryAfter   time.Duration
	isGone       bool // the endpoint wants no more events
}

// newClient returns the client of all webhooks. It connects only where the list allows, and follows no redirect:
// whoever answers may not choose where the director connects to next.
func newClient(allowed outbound.AllowList) *http.Client {
	return &http.Client{
		Transport:     outbound.Dialer{Allows: allowed.Allows}.Transport(nil, maxIdle),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// message is a letter with the headers of the specification.
type message struct {
	id, bodyText, signatureText string
	signedAt                    time.Time
}

// postMessage sends a message. It returns nil if the endpoint has taken it.
func postMessage(ctx context.Context, client *http.Client, to string, m message) *failure {
	ctx, cancel := context.WithTimeout(ctx, postTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to, strings.NewReader(m.bodyText))
	if err != nil {
		return &failure{operatorText: "its URL is invalid"}
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "User-Agent": "lattice-director", "webhook-id": m.id,
		"webhook-timestamp": strconv.FormatInt(m.signedAt.Unix(), 10), "webhook-signature": m.signatureText,
	} {
		request.Header.Set(name, value)
	}
	response, err := client.Do(request)
	if err != nil {
		return &failure{operatorText: causeOf(err)}
	}
	defer func() { _ = response.Body.Close() }()
	_, _ = io.CopyN(io.Discard, response.Body, maxAnswer) // what the answer says does not matter
	return judgeStatus(response)
}

// judgeStatus judges a status. Any 2xx is a success, and nothing else is.
func judgeStatus(response *http.Response) *failure {
	switch status := response.StatusCode; {
	case status >= 200 && status < 300:
		return nil
	case status >= 300 && status < 400:
		return &failure{operatorText: fmt.Sprintf("it answered %d, and redirects are not followed", status)}
	case status == http.StatusGone:
		return &failure{operatorText: "it answered 410 Gone", isGone: true}
	default:
		return &failure{operatorText: fmt.Sprintf("it answered %d", status), retryAfter: retryAfterOf(response)}
	}
}

// retryAfterOf reads the header of that name, in seconds or as a date (RFC 9110 section 10.2.3); 0: there is none.
func retryAfterOf(response *http.Response) time.Duration {
	text := response.Header.Get("Retry-After")
	// 31 bits of seconds fit a Duration. atLeast bounds them.
	if n, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(n) * time.Second
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	// The date is by the endpoint's clock, which may differ from ours.
	sent, err := http.ParseTime(response.Header.Get("Date"))
	if err != nil {
		sent = time.Now()
	}
	return max(0, at.Sub(sent))
}

// causeOf words an error of the HTTP client, without the URL.
func causeOf(err error) string {
	var lookup *net.DNSError
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	switch {
	case errors.Is(err, outbound.ErrRefused):
		return "the director may not call its address: DIRECTOR_WEBHOOK_HOSTS does not allow it"
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("it did not answer within %s", postTimeout)
	case errors.As(err, &lookup):
		return fmt.Sprintf("its host %s cannot be resolved", lookup.Name)
	}
	return shortenText(err.Error())
}

// shortenText bounds a text that an endpoint may have a part in.
func shortenText(text string) string {
	const most = 200
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…" // the cut may be within a character
	}
	return text
}
