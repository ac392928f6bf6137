package dockertest

import (
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/lattice-director/director/provider/internal/faultqueue"
)

// Options configures a Fake.
type Options struct {
	Images    []string      // that the engine has; "arena:1.0" by default
	StopAfter time.Duration // from SIGTERM to the end of a container; 20 ms by default
	Stubborn  bool          // containers ignore SIGTERM
	Logging   string        // the logging driver; json-file by default
	Forget    bool          // the engine remembers no events
	Log       []string      // what a container has printed, in lines; three short ones by default
}

// Fault is what goes wrong with a call.
type Fault int

// The faults.
const (
	None       Fault = iota
	LoseAnswer       // it is executed, and the connection ends without an answer
	Fail500          // it is not executed
	NotJSON          // it is executed, and the answer is no JSON
	TooLong          // it is executed, and the answer has 5 MiB
)

// Fake is an http.Handler that behaves as an engine. Safe for concurrent use.
type Fake struct {
	opt    Options
	mux    *http.ServeMux
	faults faultqueue.Queue[Fault] // by path

	mu     sync.Mutex
	order  []*container
	events []event
	calls  map[string]int
	port   int
}

type event struct {
	Type   string
	Action string
	Time   int64 `json:"time"`
	name   string
}

// AliveCount returns how many containers run.
func (f *Fake) AliveCount() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.order {
		if c.status(time.Now()) == "running" {
			n++
		}
	}
	return n
}

// Containers returns how many containers there are, in any state.
func (f *Fake) Containers() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.order)
}

// Signals returns how many signals were sent to a container.
func (f *Fake) Signals(name string) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range f.events {
		if e.name == name {
			n++
		}
	}
	return n
}

// Create returns the body of the create call of a container.
func (f *Fake) Create(name string) map[string]any {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.find(name); c != nil {
		return c.body
	}
	return nil
}

// Age makes all containers and what happened to them older.
func (f *Fake) Age(by time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.order {
		for _, at := range []*time.Time{&c.created, &c.started, &c.ended} {
			if !at.IsZero() {
				*at = at.Add(-by)
			}
		}
	}
	for i := range f.events {
		f.events[i].Time -= int64(by / time.Second)
	}
}

// End ends a container as if its process had exited.
func (f *Fake) End(name string, code int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.find(name); c != nil {
		c.ended, c.code = time.Now(), code
	}
}

// QueueFault queues a fault of a later call: create, start, stop, inspect, log or list.
func (f *Fake) QueueFault(op string, fault Fault) {
	path := map[string]string{
		"create": "/containers/create", "start": "/containers/{name}/start", "stop": "/containers/{name}/stop",
		"inspect": "/containers/{name}/json", "log": "/containers/{name}/logs", "list": "/containers/json",
	}[op]
	f.faults.QueueFaults(path, fault)
}

// Block makes calls hang, after they were executed, until unblock is called or their clients leave.
func (f *Fake) Block() (unblock func()) { return f.faults.Block() }

func write(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	switch v := body.(type) {
	case nil:
	case []byte:
		_, _ = w.Write(v)
	case []event:
		for _, e := range v { // a stream of values
			_ = json.NewEncoder(w).Encode(e)
		}
	default:
		_ = json.NewEncoder(w).Encode(v)
	}
}

// find returns the container of a name or id, or nil.
func (f *Fake) find(name string) *container {
	i := slices.IndexFunc(f.order, func(c *container) bool { return c.name == name || c.id == name })
	if i < 0 {
		return nil
	}
	return f.order[i]
}
