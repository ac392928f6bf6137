package edgegaptest

import (
	"context"
	"net/http"

	"golang.org/x/time/rate"
)

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

// ServeHTTP implements http.Handler.
func (f *Fake) ServeHTTP(w http.ResponseWriter, r *http.Request) { f.mux.ServeHTTP(w, r) }

// guarded checks the key and the rate, and applies the next fault of the operation.
func (f *Fake) guarded(op string, do func(r *http.Request, fault Fault) (int, any)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "token "+f.opt.Token {
			write(w, http.StatusUnauthorized, message("Invalid token"))
			return
		}
		fault, allowed := f.admitCall(op)
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
		// After the execution: a Deploy that is blocked has started a server.
		f.WaitWhileBlocked(r.Context())
		if !fault.applyAfter(w) {
			write(w, status, body)
		}
	})
}

// admitCall counts a call, and returns the fault that it meets. Calls beyond the rate are not allowed; operations without
// a limit, such as app, have no rate.
func (f *Fake) admitCall(op string) (fault Fault, allowed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls[op]++
	if l, ok := f.limits[op]; ok && !l.Allow() {
		f.violations++
		// The queued fault stays, for a call that is executed.
		return None, false
	}
	return f.Take(op), true
}
