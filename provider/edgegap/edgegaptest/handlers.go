package edgegaptest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// deploy starts a deployment at each call, as the API does: it is not idempotent.
func (f *Fake) deploy(r *http.Request, fault Fault) (int, any) {
	text, _ := io.ReadAll(io.LimitReader(r.Body, 4<<20))
	var q request
	if err := json.Unmarshal(text, &q); err != nil {
		return http.StatusBadRequest, message("Not JSON")
	}
	// With all secrets of the request: a test sees whether the provider removes them from its error.
	if fault == Echo {
		return http.StatusBadRequest, message("Invalid request " + string(text) + " by " +
			r.Header.Get("Authorization"))
	}
	if wrong := q.check(f.opt.Apps); wrong != "" {
		return http.StatusBadRequest, message(wrong)
	}
	d := f.add(q, fault == InError)
	f.announce(d)
	f.run(d)
	if fault == InError {
		return http.StatusUnprocessableEntity, object{"request_id": d.id, "message": "Could not find a location"}
	}
	return http.StatusAccepted, object{"request_id": d.id}
}

// run runs the game server of a deployment.
func (f *Fake) run(d *deployment) {
	if f.opt.Run == nil || d.failed {
		return
	}
	f.background.Go(func() {
		ctx, cancel := context.WithCancel(f.ctx)
		defer cancel()
		if !pause(ctx, time.Until(d.ready)) {
			return
		}
		over := make(chan struct{})
		go func() {
			defer close(over)
			f.opt.Run(ctx, maps.Clone(d.env))
		}()
		// Polled, because Stop and End may set the time of the end at any moment.
		for !f.terminated(d) && pause(ctx, runChecked) {
		}
		cancel()
		<-over
	})
}

// runChecked is how often a deployment with a game server is compared with its end.
const runChecked = 50 * time.Millisecond

// pause waits for d. It returns false if ctx ends earlier.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (f *Fake) terminated(d *deployment) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return d.phase(time.Now()) == "TERMINATED"
}

// status answers 400 for an unknown id, as the API does for some.
func (f *Fake) status(r *http.Request, _ Fault) (int, any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	d, now := f.byID[r.PathValue("id")], time.Now()
	if d == nil || f.opt.Forget && d.phase(now) == "TERMINATED" {
		return http.StatusBadRequest, message("Deployment not found")
	}
	return http.StatusOK, d.body(now, f.opt.PortsList)
}

// stop answers 410 for a deployment that has ended. A repeated stop changes nothing.
func (f *Fake) stop(r *http.Request, _ Fault) (int, any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	d, now := f.byID[r.PathValue("id")], time.Now()
	switch {
	case d == nil:
		return http.StatusNotFound, message("Deployment not found")
	case d.phase(now) == "TERMINATED":
		return http.StatusGone, message("Deployment already terminated")
	case d.stopped.IsZero():
		d.stopped = now
		d.ended = now.Add(f.opt.StopAfter)
		if !d.failed && now.Before(d.ready) {
			d.ended = d.ready.Add(f.opt.StopAfter) // it stops once it has become ready
		}
		f.hookAt(d, d.hooks[2], d.ended)
	}
	if now.Before(d.ready) {
		return http.StatusAccepted, message("The deployment stops once it is ready")
	}
	return http.StatusOK, message("Stopping")
}

// list has active deployments only, and those that are stopped until they have ended.
func (f *Fake) list(r *http.Request, _ Fault) (int, any) {
	number, _ := strconv.Atoi(r.URL.Query().Get("page"))
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	if number < 1 || limit < 1 {
		return http.StatusBadRequest, message("page and limit")
	}
	// The API may return fewer than were asked for.
	limit = min(limit, f.opt.PageSize)
	tag, ok := filterTag(r.URL.Query().Get("query"))
	if !ok {
		return http.StatusBadRequest, message("query is not valid")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	all, now := []object{}, time.Now()
	for _, d := range f.order {
		phase := d.phase(now)
		if phase == "TERMINATED" || d.failed || now.Before(d.listed) ||
			!f.opt.NoFilter && !slices.Contains(d.tags, tag) {
			continue
		}
		b := d.body(now, f.opt.PortsList)
		// Entries of lists have no current_status: they say only whether a deployment is ready.
		all = append(all, object{
			"request_id": d.id, "fqdn": b["fqdn"], "ready": phase == "READY", "start_time": b["start_time"],
			"public_ip": b["public_ip"], "ports": b["ports"], "tags": d.tags,
		})
	}
	pages := (len(all) + limit - 1) / limit
	from, to := min((number-1)*limit, len(all)), min(number*limit, len(all))
	next := object{"number": number, "paginator": object{"num_pages": pages}, "has_next": number < pages,
		"next_page_number": nil}
	if number < pages {
		next["next_page_number"] = number + 1
	}
	return http.StatusOK, object{"total_count": len(all), "data": all[from:to], "pagination": next}
}

// filterTag reads the only filter that is known here: one tag.
func filterTag(query string) (tag string, ok bool) {
	var q struct {
		Filters []struct{ Field, Operator, Value string } `json:"filters"`
	}
	if json.Unmarshal([]byte(query), &q) != nil || len(q.Filters) != 1 || q.Filters[0].Field != "tags" ||
		q.Filters[0].Operator != "eq" {
		return "", false
	}
	return q.Filters[0].Value, true
}

// app knows all versions of an application; "inactive" is one that is not active.
func (f *Fake) app(r *http.Request, _ Fault) (int, any) {
	if _, ok := f.opt.Apps[r.PathValue("app")]; !ok {
		return http.StatusNotFound, message("Application not found")
	}
	return http.StatusOK, object{"name": r.PathValue("version"), "is_active": r.PathValue("version") != "inactive"}
}

// End ends a deployment by itself, as a crash does.
func (f *Fake) End(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if d := f.byID[id]; d != nil {
		d.ended = time.Now()
		f.hookAt(d, d.hooks[2], d.ended)
	}
}

func (f *Fake) add(q request, failed bool) *deployment {
	now := time.Now()
	d := &deployment{
		id: newID(), app: q.Application, version: q.Version, tags: q.Tags, env: map[string]string{}, failed: failed,
		hooks: [3]string{q.OnReady.URL, q.OnError.URL, q.OnEnd.URL}, ports: map[string]object{},
		started: now, ready: now.Add(f.opt.StartAfter), listed: now.Add(f.opt.ListAfter),
	}
	for _, v := range q.Environment {
		d.env[v.Key] = v.Value
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	// Other addresses and ports for each, so that tests see when two are mixed up.
	d.ip = fmt.Sprintf("203.0.113.%d", len(f.order)%250+1)
	for i, p := range f.opt.Apps[q.Application] {
		external := 30000 + (len(f.order)*len(f.opt.Apps[q.Application])+i)%30000
		d.ports[p.Name] = object{
			"name": p.Name, "internal": p.Internal, "external": external,
			"protocol": strings.ToUpper(string(p.Protocol)),
			"link":     fmt.Sprintf("%s:%d", host(d.id), external), "tls_upgrade": false,
		}
	}
	f.byID[d.id] = d
	f.order = append(f.order, d)
	return d
}

// Env returns the environment that a deployment has got.
func (f *Fake) Env(id string) map[string]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.byID[id].env
}

// Leak adds a deployment that nobody has asked for, with these tags, and returns its id.
func (f *Fake) Leak(tags ...string) string {
	return f.add(request{Application: "arena", Version: "1", Tags: tags}, false).id
}

// Say makes the status of a deployment another word, such as HIBERNATING, until it ends.
func (f *Fake) Say(id, word string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.byID[id].word = word
}
