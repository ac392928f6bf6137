package dockertest

import (
	"io"
	"net/http"
	"slices"
	"time"
)

// New returns a fake.
func New(opt Options) *Fake {
	if opt.Images == nil {
		opt.Images = []string{"arena:1.0"}
	}
	if opt.StopAfter == 0 {
		opt.StopAfter = 20 * time.Millisecond
	}
	if opt.Logging == "" {
		opt.Logging = "json-file"
	}
	if opt.Log == nil {
		opt.Log = []string{"starts\n", "listens\n", "cannot save\n"}
	}
	f := &Fake{opt: opt, mux: http.NewServeMux(), calls: map[string]int{}, port: 32768}
	f.mux.HandleFunc("GET /version", func(w http.ResponseWriter,
		_ *http.Request) {
		write(w, 200, object{"ApiVersion": "1.41"})
	})
	for route, do := range map[string]func(*http.Request) (int, any){
		"GET /v1.41/info":                     f.info,
		"POST /v1.41/containers/create":       f.create,
		"POST /v1.41/containers/{name}/start": f.start,
		"POST /v1.41/containers/{name}/stop":  f.stop,
		"POST /v1.41/containers/{name}/kill":  f.kill,
		"DELETE /v1.41/containers/{name}":     f.remove,
		"GET /v1.41/containers/{name}/json":   f.inspect,
		"GET /v1.41/containers/{name}/logs":   f.logs,
		"GET /v1.41/containers/json":          f.list,
		"GET /v1.41/events":                   f.history,
		"GET /v1.41/images/{image}/json":      f.image,
	} {
		f.mux.Handle(route, f.guarded(route[len("GET"):], do))
	}
	return f
}

// ServeHTTP implements http.Handler.
func (f *Fake) ServeHTTP(w http.ResponseWriter, r *http.Request) { f.mux.ServeHTTP(w, r) }

// guarded applies the next fault of a route.
func (f *Fake) guarded(route string, do func(*http.Request) (int, any)) http.Handler {
	// What follows the version, by which QueueFault queues faults.
	path := route[slices.Index([]byte(route), 'v')+len("v1.41"):]
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fault := f.enter(path)
		if fault == Fail500 {
			write(w, http.StatusInternalServerError, message("server error"))
			return
		}
		status, body := do(r)
		f.faults.WaitWhileBlocked(r.Context())
		switch fault {
		case LoseAnswer:
			panic(http.ErrAbortHandler)
		case NotJSON:
			_, _ = io.WriteString(w, "<html>")
		case TooLong:
			_, _ = w.Write(make([]byte, 5<<20))
		default:
			write(w, status, body)
		}
	})
}

func (f *Fake) enter(path string) Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls[path]++
	return f.faults.Take(path)
}
