package token

import (
	"log/slog"
	"net/http"
	"time"
)

// SourceOptions configure a KeySource; every zero value is usable.
type SourceOptions struct {
	Timeout time.Duration // of one reading; 0 means 5 s
	// shortest pause after a failed reading, and between readings for unknown kids; 0 means 10 s
	RetryEvery time.Duration
	PlainHTTP  bool             // also accept http URLs of other hosts, for networks that are trusted
	Client     *http.Client     // nil means a new one; redirects are never followed
	Now        func() time.Time // the clock for ages only; nil means time.Now
	Log        *slog.Logger     // logs failed readings, changed sets and ignored keys; nil logs nothing
	Algs       []string         // the algorithms of usable keys; nil means those of players' tokens
}
