package worker

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"sync"
	"time"

	"github.com/lattice-director/director/provider"
)

var errTest = errors.New("the test")

// shop is a provider that runs servers in virtual time, and loses answers.
type shop struct {
	can   provider.Capabilities
	start time.Duration // from Deploy to ready
	lists time.Duration // from Deploy until lists have it
	knows time.Duration // from Deploy until Get and Stop know it
	lives time.Duration // after which the shop ends a server; 0: never

	mu       sync.Mutex
	now      time.Time
	rand     *rand.Rand
	lose     float64 // share of the calls that time out; half of them are executed
	kill     float64 // share of the calls after which the calling goroutine ends, as if its worker were killed
	script   map[string][]func() error
	servers  map[provider.Ref]*server
	executed map[provider.Tag]int // Deploys that started a server
	most     map[provider.Tag]int // servers that lived at the same time
	calls    map[string]int
	block    chan struct{} // Deploys wait for it after the execution; nil: they do not
}

type server struct {
	provider.Observation
	stopped time.Time
	failed  bool
}

func (s *shop) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

func (s *shop) elapse(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(d)
}

// next makes the next calls of an operation return errors instead of being executed.
func (s *shop) next(op string, errs ...error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, err := range errs {
		s.script[op] = append(s.script[op], func() error { return err })
	}
}

// call executes a call, or loses it, or its answer, or its caller.
func (s *shop) call(op string, execute func()) error {
	s.mu.Lock()
	s.calls[op]++
	if next := s.script[op]; len(next) > 0 {
		s.script[op] = next[1:]
		s.mu.Unlock()
		return next[0]()
	}
	lost, executed, killed := s.rand.Float64() < s.lose, s.rand.IntN(2) == 0, s.rand.Float64() < s.kill
	if !lost || executed {
		execute()
	}
	s.mu.Unlock()
	if killed {
		runtime.Goexit()
	}
	if lost && op == "deploy" {
		return provider.Fail(provider.Ambiguous, op, errors.New("timed out"))
	}
	if lost {
		return provider.Fail(provider.Transient, op, errors.New("timed out"))
	}
	return nil
}

func (s *shop) Capabilities() provider.Capabilities { return s.can }

func (s *shop) Deploy(_ context.Context, spec provider.Spec) (o provider.Observation, err error) {
	if err := spec.Check(); err != nil {
		return o, err
	}
	err = s.call("deploy", func() {
		o = provider.Observation{Ref: provider.Ref(fmt.Sprintf("ref-%d", len(s.servers))), Tag: spec.Tag, Phase: provider.PhasePending, Started: s.now}
		s.servers[o.Ref] = &server{Observation: o}
		s.executed[spec.Tag]++
		s.most[spec.Tag] = max(s.most[spec.Tag], s.alive(spec.Tag))
	})
	s.mu.Lock()
	block := s.block
	s.mu.Unlock()
	if block != nil {
		<-block
	}
	return o, err
}

// observe returns what the shop says about a server now.
func (s *shop) observe(v *server) provider.Observation {
	o := v.Observation
	if s.lives > 0 {
		o.Ends = o.Started.Add(s.lives)
	}
	switch {
	case !v.stopped.IsZero() && !s.now.Before(v.stopped):
		return provider.Observation{Ref: o.Ref, Phase: provider.PhaseGone}
	case !v.stopped.IsZero():
		o.Phase = provider.PhaseStopping
	case v.failed:
		o.Phase, o.Error = provider.PhaseFailed, "out of memory"
	case !s.now.Before(o.Started.Add(s.start)):
		o.Phase, o.IP = provider.PhaseReady, netip.MustParseAddr("192.0.2.1")
		o.Ports = map[string]provider.Port{"game": {Name: "game", Internal: 5000, External: 31000, Protocol: provider.UDP}}
	}
	return o
}

// known returns a server, unless it is too young to be known. The caller holds mu.
func (s *shop) known(ref provider.Ref) (*server, bool) {
	v, ok := s.servers[ref]
	return v, ok && (s.knows == 0 || !s.now.Before(v.Started.Add(s.knows)))
}

func (s *shop) Get(_ context.Context, ref provider.Ref) (o provider.Observation, err error) {
	err = s.call("get", func() {
		o = provider.Observation{Ref: ref, Phase: provider.PhaseAbsent}
		if v, ok := s.known(ref); ok {
			o = s.observe(v)
		}
	})
	return o, err
}

func (s *shop) list(keep func(provider.Observation) bool) (found []provider.Observation) {
	for _, v := range s.servers {
		if o := s.observe(v); o.Phase != provider.PhaseGone && keep(o) && !s.now.Before(o.Started.Add(s.lists)) {
			found = append(found, o)
		}
	}
	return found
}

func (s *shop) Find(_ context.Context, _ provider.Owner, tag provider.Tag) (found []provider.Observation, err error) {
	err = s.call("find", func() { found = s.list(func(o provider.Observation) bool { return o.Tag == tag }) })
	return found, err
}

func (s *shop) List(context.Context, provider.Owner, string) (page provider.Page, err error) {
	err = s.call("list", func() { page.Deployments = s.list(func(provider.Observation) bool { return true }) })
	page.Total = len(page.Deployments)
	return page, err
}

func (s *shop) Stop(_ context.Context, ref provider.Ref, _ time.Duration) (err error) {
	gone := false
	err = s.call("stop", func() {
		v, ok := s.known(ref)
		gone = !ok || !v.stopped.IsZero() && !s.now.Before(v.stopped)
		if ok && v.stopped.IsZero() {
			v.stopped = s.now.Add(5 * time.Second)
		}
	})
	if err == nil && gone {
		return provider.Fail(provider.Gone, "stop", errors.New("already terminated"))
	}
	return err
}

// end ends a server, as a crash does.
func (s *shop) end(ref provider.Ref) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v, ok := s.servers[ref]; ok && v.stopped.IsZero() {
		v.stopped = s.now
	}
}

// alive counts the servers of a tag that nobody has stopped. The caller holds mu.
func (s *shop) alive(tag provider.Tag) (n int) {
	for _, v := range s.servers {
		if v.Tag == tag && v.stopped.IsZero() {
			n++
		}
	}
	return n
}

// refs returns the servers that live and that nobody has stopped.
func (s *shop) refs() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	refs := []string{}
	for ref, v := range s.servers {
		if v.stopped.IsZero() {
			refs = append(refs, string(ref))
		}
	}
	return refs
}

func (s *shop) count(op string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[op]
}
