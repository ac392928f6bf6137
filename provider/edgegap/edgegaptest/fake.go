package edgegaptest

import (
	"context"
	"net/http"
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

// Fake is an http.Handler that behaves as Edgegap's API. Safe for concurrent use. The faults of QueueFaults are of the
// operations deploy, get, list, stop and app.
type Fake struct {
	faultqueue.Queue[Fault]

	opt        Options
	mux        *http.ServeMux
	limits     map[string]*rate.Limiter
	background sync.WaitGroup  // webhooks and the game servers of Run
	ctx        context.Context // of background; Close ends it
	cancel     context.CancelFunc

	mu         sync.Mutex
	byID       map[string]*deployment
	order      []*deployment // as lists have them
	calls      map[string]int
	violations int
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

// limiter allows a burst of the calls of a second; 0: any number.
func limiter(perSecond float64) *rate.Limiter {
	if perSecond == 0 {
		return rate.NewLimiter(rate.Inf, 0)
	}
	return rate.NewLimiter(rate.Limit(perSecond), max(1, int(perSecond)))
}

// Close ends the webhooks and the game servers, and waits for them.
func (f *Fake) Close() {
	f.cancel()
	f.background.Wait()
}

// AliveCount returns how many deployments run or cost money.
func (f *Fake) AliveCount() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, d := range f.order {
		// Also one in error, which exists until it is stopped.
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
