package token

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	maxDocumentBytes = 1 << 20                      // a JWK Set with a thousand RSA keys has half as many
	fileAge          = 5 * time.Second              // max-age of a file
	defaultURLAge    = 5 * time.Minute              // max-age of answers without one
	minURLAge        = 5 * time.Second              // honouring no-store would mean one request per token
	maxURLAge        = 24 * time.Hour               // so that withdrawn keys expire some day
	forever          = time.Duration(math.MaxInt64) // max-age of text, which cannot change
)

// Document is one reading of a key set.
type Document struct {
	JSON        []byte
	ETag        string        // passed to the next reading
	MaxAge      time.Duration // how long the reading is fresh
	NotModified bool          // the set with the given etag is still current; JSON and ETag are ignored
}

// Fetch reads a key set. etag is that of the last good reading, or empty. The context ends after SourceOptions.Timeout.
type Fetch func(ctx context.Context, etag string) (Document, error)

// fetchSpec distinguishes the three kinds of source: text starts with a brace, a URL holds "://", a path does neither.
func fetchSpec(spec string, opt SourceOptions) (Fetch, error) {
	spec = strings.TrimSpace(spec)
	switch {
	case spec == "":
		return nil, errors.New("key source: empty")
	case spec[0] == '{':
		return fetchText(spec, opt)
	case strings.Contains(spec, "://"):
		return fetchURL(spec, opt)
	}
	return fetchFile(spec), nil
}

func fetchText(spec string, opt SourceOptions) (Fetch, error) {
	algs := opt.Algs
	if algs == nil {
		algs = playerAlgs
	}
	set, err := parseKeySet([]byte(spec), algs)
	if err != nil {
		return nil, fmt.Errorf("key source: %w", err)
	}
	if set.Len() == 0 {
		return nil, fmt.Errorf("key source: the JWK set holds no public key for signatures%s",
			ignoredText(set.ignoredKeys))
	}
	document := Document{JSON: []byte(spec), MaxAge: forever}
	return func(context.Context, string) (Document, error) { return document, nil }, nil
}

// fetchFile reads the file at each reading. KeySource compares the content, which is safer than modification times.
func fetchFile(path string) Fetch {
	return func(context.Context, string) (Document, error) {
		info, err := os.Stat(path)
		if err != nil {
			return Document{}, err
		}
		if !info.Mode().IsRegular() { // Opening a pipe would block until it has a writer.
			return Document{}, fmt.Errorf("key set %s: not a regular file", path)
		}
		file, err := os.Open(path)
		if err != nil {
			return Document{}, err
		}
		text, err := readBounded(file)
		_ = file.Close() // nothing was written
		return Document{JSON: text, MaxAge: fileAge}, err
	}
}

func fetchURL(spec string, opt SourceOptions) (Fetch, error) {
	u, err := url.Parse(spec)
	if err != nil || u.Host == "" {
		return nil, errors.New("key source: not a URL")
	}
	if u.Scheme != "https" && (u.Scheme != "http" || !opt.PlainHTTP && !isLoopback(u.Hostname())) {
		return nil, fmt.Errorf("key source: %s://%s: keys sent without TLS can be replaced on the way; use https",
			u.Scheme, u.Host)
	}
	client := http.Client{}
	if opt.Client != nil {
		client = *opt.Client
	}
	// Redirects are not followed: the key set is trusted at the configured URL only.
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return func(ctx context.Context, etag string) (Document, error) {
		document, err := getDocument(ctx, &client, u, etag)
		if err != nil {
			return document, fmt.Errorf("key set of %s: %w", u.Host, err)
		}
		return document, nil
	}, nil
}

func isLoopback(host string) bool {
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}

func getDocument(ctx context.Context, client *http.Client, u *url.URL, etag string) (Document, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return Document{}, err
	}
	request.Header.Set("Accept", "application/jwk-set+json, application/json")
	if etag != "" {
		request.Header.Set("If-None-Match", etag)
	}
	response, err := client.Do(request)
	if err != nil {
		return Document{}, withoutURL(err)
	}
	defer response.Body.Close()
	document := Document{ETag: response.Header.Get("ETag"), MaxAge: freshnessOf(response.Header)}
	switch response.StatusCode {
	case http.StatusOK:
		document.JSON, err = readBounded(response.Body)
	case http.StatusNotModified:
		document.NotModified = true
	default:
		err = fmt.Errorf("answered %d", response.StatusCode)
	}
	return document, err
}

// withoutURL removes the URL from an error of net/http, because its query may hold a secret.
func withoutURL(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err
	}
	return err
}

// freshnessOf returns max-age minus Age, the time that the answer has already spent in shared caches (RFC 9111 section
// 4.2). Without the subtraction a verifier would keep keys up to twice as long as the issuer expects.
func freshnessOf(h http.Header) time.Duration {
	age := defaultURLAge
	for directive := range strings.SplitSeq(strings.Join(h.Values("Cache-Control"), ","), ",") {
		name, value, _ := strings.Cut(strings.ToLower(strings.TrimSpace(directive)), "=")
		switch name {
		case "no-store", "no-cache":
			return minURLAge
		case "max-age":
			age = parseSeconds(strings.Trim(value, `"`))
		}
	}
	return min(max(age-parseSeconds(h.Get("Age")), minURLAge), maxURLAge)
}

func parseSeconds(value string) time.Duration {
	n, err := strconv.ParseUint(value, 10, 31)
	if err != nil {
		return 0
	}
	return time.Duration(n) * time.Second
}

func readBounded(r io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxDocumentBytes+1))
	if err == nil && len(text) > maxDocumentBytes {
		err = fmt.Errorf("longer than %d bytes", maxDocumentBytes)
	}
	return text, err
}
