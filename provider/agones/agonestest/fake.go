package agonestest

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/lattice-director/director/provider/internal/faultqueue"
)

// Options configures a Fake.
type Options struct {
	Token     string // that calls of Kubernetes must have; "kubernetes-test-token" by default
	Namespace string // games by default
	// how many servers of a fleet are ready; negative is any number. arena with any number by default
	Fleets    map[string]int
	StopAfter time.Duration // from the deletion of a game server to its end; 20 ms by default
	PageSize  int           // of lists, where the call asks for more; 5 by default
}

// Fault is what goes wrong with a call.
type Fault int

// The faults.
const (
	None       Fault = iota
	LoseAnswer       // it is executed, and the connection ends without an answer
	Fail500          // it is not executed
	NotJSON          // it is executed, and the answer is no JSON
	Contention       // 409: it is not executed
	Cancelled        // 499: it is not executed
	Page404          // it is not executed, and a proxy answers with a page of its own
)

// Fake holds the game servers of a cluster. Safe for concurrent use. The faults of QueueFaults are of the operations
// allocate, get, delete, list and fleet.
type Fake struct {
	faultqueue.Queue[Fault]

	opt Options

	mu      sync.Mutex
	servers []*server
	ready   map[string]int
	port    int
	version int
}

// server is a game server.
type server struct {
	name, fleet, state, version string
	labels, annotations         map[string]string
	port                        int
	created, goneAt             time.Time // gone is zero until it is deleted
}

// New returns a fake.
func New(opt Options) *Fake {
	if opt.Token == "" {
		opt.Token = "kubernetes-test-token"
	}
	if opt.Namespace == "" {
		opt.Namespace = "games"
	}
	if opt.Fleets == nil {
		opt.Fleets = map[string]int{"arena": -1}
	}
	if opt.StopAfter == 0 {
		opt.StopAfter = 20 * time.Millisecond
	}
	if opt.PageSize == 0 {
		opt.PageSize = 5
	}
	return &Fake{opt: opt, ready: maps.Clone(opt.Fleets), port: 7000}
}

// Allocator returns the handler of Agones' allocator. It belongs behind TLS with client certificates.
func (f *Fake) Allocator() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("POST /gameserverallocation", f.guarded("allocate", f.allocate))
	return mux
}

// Kubernetes returns the handler of the Kubernetes API.
func (f *Fake) Kubernetes() http.Handler {
	mux := http.NewServeMux()
	base := "/apis/agones.dev/v1/namespaces/" + f.opt.Namespace
	mux.Handle("GET "+base+"/gameservers/{name}", f.guarded("get", f.get))
	mux.Handle("DELETE "+base+"/gameservers/{name}", f.guarded("delete", f.remove))
	mux.Handle("GET "+base+"/gameservers", f.guarded("list", f.list))
	mux.Handle("GET "+base+"/fleets/{name}", f.guarded("fleet", f.fleet))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+f.opt.Token {
			write(w, http.StatusUnauthorized, failure("Unauthorized"))
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// AliveCount returns how many game servers are allocated.
func (f *Fake) AliveCount() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sweep()
	for _, s := range f.servers {
		if s.state == "Allocated" {
			n++
		}
	}
	return n
}

// Refs returns NAME/TAG of each server that was allocated, the first one first.
func (f *Fake) Refs() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	refs := []string{}
	for _, s := range f.servers {
		refs = append(refs, s.name+"/"+s.labels["lattice-director.dev/tag"])
	}
	return refs
}

// SetState changes the state of a game server, as the server itself or Agones does.
func (f *Fake) SetState(name, state string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.find(name); s != nil {
		s.state = state
		f.touch(s)
	}
}

// SetLabel changes a label of a game server, as another allocation does.
func (f *Fake) SetLabel(name, label, value string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.find(name); s != nil {
		s.labels[label] = value
		f.touch(s)
	}
}

// Annotations returns the annotations of a game server.
func (f *Fake) Annotations(name string) map[string]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.find(name); s != nil {
		return s.annotations
	}
	return nil
}

func (f *Fake) guarded(op string, do func(*http.Request) (int, any)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch f.Take(op) {
		case Fail500:
			write(w, http.StatusInternalServerError, failure("server error"))
		case Contention:
			write(w, http.StatusConflict, failure("contention"))
		case Cancelled:
			write(w, 499, failure("context canceled"))
		case Page404:
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, "<html>no such page</html>")
		case LoseAnswer:
			// net/http closes the connection without an answer.
			do(r)
			panic(http.ErrAbortHandler)
		case NotJSON:
			do(r)
			_, _ = io.WriteString(w, "<html>")
		default:
			status, body := do(r)
			f.WaitWhileBlocked(r.Context())
			write(w, status, body)
		}
	})
}

// allocate takes a ready server of the fleet that the request selects, and writes its labels and annotations.
func (f *Fake) allocate(r *http.Request) (int, any) {
	var body struct {
		Namespace           string
		GameServerSelectors []struct{ MatchLabels map[string]string }
		Metadata            struct{ Labels, Annotations map[string]string }
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || len(body.GameServerSelectors) != 1 {
		// The allocator is a gateway in front of gRPC: code is the status of gRPC.
		return 400, object{"code": 3, "message": fmt.Sprint("bad request: ", err)}
	}
	fleet := body.GameServerSelectors[0].MatchLabels["agones.dev/fleet"]
	f.mu.Lock()
	defer f.mu.Unlock()
	n, known := f.ready[fleet]
	switch {
	case body.Namespace != f.opt.Namespace:
		return 403, object{"code": 7, "message": "the namespace is not allowed"}
	case !known || n == 0:
		return 429, object{"code": 8, "message": "there is no available GameServer to allocate"}
	// A negative number never runs out.
	case n > 0:
		f.ready[fleet]--
	}
	f.port++
	s := &server{
		name: fleet + "-" + strings.ToLower(rand.Text()[:10]), fleet: fleet, state: "Allocated", port: f.port,
		created: time.Now(),
		labels:  body.Metadata.Labels, annotations: body.Metadata.Annotations,
	}
	s.labels["agones.dev/fleet"] = fleet
	f.touch(s)
	f.servers = append(f.servers, s)
	return 200, object{
		"gameServerName": s.name, "address": "192.0.2.9", "nodeName": "node-1", "source": "local",
		"ports":    []object{{"name": "game", "port": s.port}},
		"metadata": object{"labels": s.labels, "annotations": s.annotations},
	}
}

// touch gives a server another revision, which a deletion has to name.
func (f *Fake) touch(s *server) {
	f.version++
	s.version = strconv.Itoa(f.version)
}

// sweep ends the servers that were deleted.
func (f *Fake) sweep() {
	now := time.Now()
	f.servers = slices.DeleteFunc(f.servers, func(s *server) bool { return !s.goneAt.IsZero() && now.After(s.goneAt) })
}

// find returns a game server, or nil.
func (f *Fake) find(name string) *server {
	f.sweep()
	if i := slices.IndexFunc(f.servers, func(s *server) bool { return s.name == name }); i >= 0 {
		return f.servers[i]
	}
	return nil
}

func (f *Fake) get(r *http.Request) (int, any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.find(r.PathValue("name"))
	if s == nil {
		return 404, failure("gameservers.agones.dev %q not found", r.PathValue("name"))
	}
	return 200, s.object()
}

func (s *server) object() object {
	about := object{"name": s.name, "uid": "uid-" + s.name, "resourceVersion": s.version, "labels": s.labels,
		"creationTimestamp": s.created.UTC().Format(time.RFC3339)}
	if !s.goneAt.IsZero() {
		about["deletionTimestamp"] = time.Now().UTC().Format(time.RFC3339)
	}
	return object{
		"apiVersion": "agones.dev/v1", "kind": "GameServer", "metadata": about,
		"spec": object{"ports": []object{{"name": "game", "containerPort": 5000, "hostPort": s.port,
			"protocol": "UDP"}}},
		"status": object{
			"state": s.state, "address": "192.0.2.9", "nodeName": "node-1",
			"ports": []object{{"name": "game", "port": s.port}},
		},
	}
}

// remove deletes a server as it was read: with another uid or revision it answers 409.
func (f *Fake) remove(r *http.Request) (int, any) {
	var body struct {
		Preconditions struct{ UID, ResourceVersion string }
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		return 400, failure("%v", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.find(r.PathValue("name"))
	switch {
	case s == nil:
		return 404, failure("gameservers.agones.dev %q not found", r.PathValue("name"))
	case body.Preconditions.UID != "uid-"+s.name || body.Preconditions.ResourceVersion != s.version:
		return 409, failure("the ResourceVersion in the precondition does not match")
	}
	s.goneAt = time.Now().Add(f.opt.StopAfter)
	f.touch(s)
	return 200, s.object()
}

func (f *Fake) list(r *http.Request) (int, any) {
	query := r.URL.Query()
	limit, _ := strconv.Atoi(query.Get("limit"))
	offset, _ := strconv.Atoi(query.Get("continue"))
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sweep()
	items, after := []object{}, ""
	for i, s := range f.servers {
		if i < offset || !s.has(query.Get("labelSelector")) {
			continue
		}
		// Kubernetes may return less than was asked for.
		if len(items) == min(limit, f.opt.PageSize) {
			after = strconv.Itoa(i)
			break
		}
		items = append(items, s.object())
	}
	return 200, object{"apiVersion": "agones.dev/v1", "kind": "GameServerList", "metadata": object{"continue": after},
		"items": items}
}

// has reports whether the server has all labels of a selector, NAME=VALUE,NAME=VALUE.
func (s *server) has(selector string) bool {
	for term := range strings.SplitSeq(selector, ",") {
		label, value, _ := strings.Cut(term, "=")
		if s.labels[label] != value {
			return false
		}
	}
	return true
}

func (f *Fake) fleet(r *http.Request) (int, any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.ready[r.PathValue("name")]; !ok {
		return 404, failure("fleets.agones.dev %q not found", r.PathValue("name"))
	}
	return 200, object{"kind": "Fleet", "metadata": object{"name": r.PathValue("name")}}
}

type object = map[string]any

// failure is an error as Kubernetes returns it.
func failure(text string, values ...any) object {
	return object{"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": fmt.Sprintf(text, values...)}
}

func write(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
