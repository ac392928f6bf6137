package edgegaptest

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/lattice-director/director/provider"
	"github.com/lattice-director/director/provider/internal/faultqueue"
)

// Options configures a Fake.
type Options struct {
	Token string // the key that calls must have; "edgegap-test-key" by default
	// the ports of each application; all versions exist. "arena" with port game by default
	Apps       map[string][]provider.Port
	StartAfter time.Duration  // from Deploy to READY; 30 ms by default
	StopAfter  time.Duration  // from Stop to TERMINATED; 20 ms by default
	ListAfter  time.Duration  // from Deploy until lists have it; none by default
	Forget     bool           // a terminated deployment is unknown at once, else it reads TERMINATED
	PageSize   int            // at most this many in a page; 10 by default
	PortsList  bool           // ports are a list and not a map
	NoFilter   bool           // the query of lists is ignored
	Rates      provider.Rates // calls per second; more are answered by 429. Zero is unbounded

	// Run, if set, is the game server: it is called with the environment of each deployment when that is ready, and its
	// ctx ends when the deployment does. Close waits until it has returned.
	Run func(ctx context.Context, env map[string]string)
}

// Fake is an http.Handler that behaves as Edgegap's API. Safe for concurrent use. The faults of Next are of the
// operations deploy, get, list, stop and app.
type Fake struct {
	faultqueue.Queue[Fault]

	opt    Options
	mux    *http.ServeMux
	limits map[string]*rate.Limiter
	ctx    context.Context // of webhooks; Close ends it
	cancel context.CancelFunc
	hooks  sync.WaitGroup

	mu         sync.Mutex
	byID       map[string]*deployment
	order      []*deployment // as lists have them
	calls      map[string]int
	violations int
	hookMode   HookMode
}

// New returns a fake. Close it.
func New(opt Options) *Fake {
	opt = withDefaults(opt)
	f := &Fake{
		opt: opt, byID: map[string]*deployment{}, calls: map[string]int{},
		limits: map[string]*rate.Limiter{
			"deploy": limiter(opt.Rates.Deploy), "get": limiter(opt.Rates.Get), "list": limiter(opt.Rates.List),
			"stop": limiter(opt.Rates.Stop),
		},
	}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	f.mux = http.NewServeMux()
	f.mux.Handle("POST /v2/deployments", f.guarded("deploy", f.deploy))
	f.mux.Handle("GET /v1/status/{id}", f.guarded("get", f.status))
	f.mux.Handle("GET /v1/deployments", f.guarded("list", f.list))
	f.mux.Handle("DELETE /v1/stop/{id}", f.guarded("stop", f.stop))
	f.mux.Handle("GET /v1/app/{app}/version/{version}", f.guarded("app", f.app))
	return f
}

func withDefaults(opt Options) Options {
	if opt.Token == "" {
		opt.Token = "edgegap-test-key"
	}
	if opt.Apps == nil {
		opt.Apps = map[string][]provider.Port{"arena": {{Name: "game", Internal: 5000, Protocol: provider.UDP}}}
	}
	if opt.StartAfter == 0 {
		opt.StartAfter = 30 * time.Millisecond
	}
	if opt.StopAfter == 0 {
		opt.StopAfter = 20 * time.Millisecond
	}
	if opt.PageSize == 0 {
		opt.PageSize = 10
	}
	return opt
}

func limiter(perSecond float64) *rate.Limiter {
	if perSecond == 0 {
		return rate.NewLimiter(rate.Inf, 0)
	}
	return rate.NewLimiter(rate.Limit(perSecond), max(1, int(perSecond)))
}

// Close ends the webhooks that are under way.
func (f *Fake) Close() {
	f.cancel()
	f.hooks.Wait()
}

// ServeHTTP implements http.Handler.
func (f *Fake) ServeHTTP(w http.ResponseWriter, r *http.Request) { f.mux.ServeHTTP(w, r) }

// AliveCount returns how many deployments run or cost money.
func (f *Fake) AliveCount() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, d := range f.order {
		if d.phase(time.Now()) != "TERMINATED" {
			n++
		}
	}
	return n
}

// Calls returns how often an operation was called: deploy, get, list, stop or app.
func (f *Fake) Calls(op string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[op]
}

// Violations returns how many calls exceeded a rate limit.
func (f *Fake) Violations() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.violations
}

// guarded checks the key and the rate, and applies the next fault of the operation.
func (f *Fake) guarded(op string, do func(r *http.Request, fault Fault) (int, any)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "token "+f.opt.Token {
			write(w, http.StatusUnauthorized, message("Invalid token"))
			return
		}
		fault, allowed := f.enter(op)
		if !allowed || fault == TooMany || fault == TooManyRetryAfter {
			if fault == TooManyRetryAfter {
				w.Header().Set("Retry-After", "7")
			}
			write(w, http.StatusTooManyRequests, message("Too many requests"))
			return
		}
		if fault.applyBefore(w) {
			return
		}
		status, body := do(r, fault)
		f.Blocked(r.Context())
		if !fault.applyAfter(w) {
			write(w, status, body)
		}
	})
}

func (f *Fake) enter(op string) (fault Fault, allowed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls[op]++
	if l, ok := f.limits[op]; ok && !l.Allow() {
		f.violations++
		return None, false
	}
	return f.Take(op), true
}

func write(w http.ResponseWriter, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		status, text = http.StatusInternalServerError, nil
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(text)
}

type object = map[string]any

func message(text string) object { return object{"message": text} }

func newID() string { return strings.ToLower(rand.Text()[:12]) }

// stamp is a time in the form of the API.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05.000000")
}

func host(id string) string { return fmt.Sprintf("%s.pr.edgegap.example", id) }
