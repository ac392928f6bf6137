package dockertest

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

func (f *Fake) info(*http.Request) (int, any) { return 200, object{"LoggingDriver": f.opt.Logging} }

// create makes a container. Its name must be free, and its image known, as the engine pulls none here.
func (f *Fake) create(r *http.Request) (int, any) {
	name := r.URL.Query().Get("name")
	c := &container{id: strings.ToLower(rand.Text()), name: name, labels: map[string]string{},
		published: map[string]int{}, created: time.Now()}
	if err := json.NewDecoder(r.Body).Decode(&c.body); err != nil {
		return 400, message("%v", err)
	}
	labels, _ := c.body["Labels"].(object)
	for label, value := range labels {
		c.labels[label] = fmt.Sprint(value)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.find(name) != nil:
		return 409, message("Conflict. The container name %q is already in use", name)
	case !slices.Contains(f.opt.Images, fmt.Sprint(c.body["Image"])):
		return 404, message("No such image: %v", c.body["Image"])
	}
	exposed, _ := c.body["ExposedPorts"].(object)
	// Each gets a free number, as with a binding whose HostPort is empty.
	for key := range exposed {
		f.port++
		c.published[key] = f.port
	}
	f.order = append(f.order, c)
	return 201, object{"Id": c.id, "Warnings": []string{}}
}

// start answers 304 for a container that runs, as the engine does.
func (f *Fake) start(r *http.Request) (int, any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.find(r.PathValue("name"))
	switch {
	case c == nil:
		return 404, message("No such container: %s", r.PathValue("name"))
	case c.status(time.Now()) == "running":
		return 304, nil
	}
	c.started, c.ended = time.Now(), time.Time{}
	return 204, nil
}

// stop answers when the container has ended, or the client has left.
func (f *Fake) stop(r *http.Request) (int, any) {
	seconds, _ := strconv.Atoi(r.URL.Query().Get("t"))
	grace := time.Duration(seconds) * time.Second
	// A stubborn container ends by the SIGKILL that follows the grace.
	if !f.opt.Stubborn {
		grace = f.opt.StopAfter
	}
	status, body := f.signal(r.PathValue("name"), grace)
	if status == 204 {
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-timer.C:
		// The engine continues: the time of the end is set already.
		case <-r.Context().Done():
		}
	}
	return status, body
}

// logs prints the lines of Options, from the third on to the other stream, in the frames of the engine.
func (f *Fake) logs(r *http.Request) (int, any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.find(r.PathValue("name")) == nil {
		return 404, message("No such container: %s", r.PathValue("name"))
	}
	lines := f.opt.Log
	tail, err := strconv.Atoi(r.URL.Query().Get("tail"))
	if err != nil {
		return 400, message("%v", err)
	}
	var body []byte
	for i := max(0, len(lines)-tail); i < len(lines); i++ {
		stream := byte(1 + min(i/2, 1))
		body = binary.BigEndian.AppendUint32(append(body, stream, 0, 0, 0), uint32(len(lines[i])))
		body = append(body, lines[i]...)
	}
	return 200, body
}

// kill ends a container at once. One that does not run is a conflict.
func (f *Fake) kill(r *http.Request) (int, any) {
	status, body := f.signal(r.PathValue("name"), 0)
	if status == 304 {
		return 409, message("Container is not running")
	}
	return status, body
}

// signal ends a container after a while, and keeps the event. An earlier end stays.
func (f *Fake) signal(name string, after time.Duration) (int, any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	c := f.find(name)
	switch {
	case c == nil:
		return 404, message("No such container: %s", name)
	case c.status(now) != "running":
		return 304, nil
	}
	// 143 is the status after SIGTERM, 128+15; the fake has it after a kill as well.
	if end := now.Add(after); c.ended.IsZero() || end.Before(c.ended) {
		c.ended, c.code = end, 143
	}
	// The event lacks the signal, which real ones have: the provider does not read it.
	if !f.opt.Forget {
		f.events = append(f.events, event{"container", "kill", now.Unix(), c.name})
	}
	return 204, nil
}

// remove refuses a container that runs, as the engine does without force.
func (f *Fake) remove(r *http.Request) (int, any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.find(r.PathValue("name"))
	switch {
	case c == nil:
		return 404, message("No such container: %s", r.PathValue("name"))
	case c.status(time.Now()) == "running":
		return 409, message("You cannot remove a running container")
	}
	f.order = slices.DeleteFunc(f.order, func(other *container) bool { return other == c })
	return 204, nil
}

func (f *Fake) inspect(r *http.Request) (int, any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.find(r.PathValue("name"))
	if c == nil {
		return 404, message("No such container: %s", r.PathValue("name"))
	}
	status, ports := c.status(time.Now()), object{}
	for key, port := range c.published {
		ports[key] = nil
		// The engine publishes ports only while the container runs, on IPv4 and IPv6.
		if status == "running" {
			ports[key] = []object{{"HostIp": "0.0.0.0", "HostPort": strconv.Itoa(port)},
				{"HostIp": "::", "HostPort": strconv.Itoa(port)}}
		}
	}
	state := object{"Status": status, "ExitCode": c.code, "StartedAt": c.started, "FinishedAt": c.ended}
	return 200, object{"Id": c.id, "Name": "/" + c.name, "State": state, "Config": object{"Labels": c.labels},
		"NetworkSettings": object{"Ports": ports}}
}

// list returns containers from the newest to the oldest.
func (f *Fake) list(r *http.Request) (int, any) {
	var filters struct{ Label, Status, Before []string }
	if err := json.Unmarshal([]byte(r.URL.Query().Get("filters")), &filters); err != nil {
		return 400, message("%v", err)
	}
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	f.mu.Lock()
	defer f.mu.Unlock()
	all := slices.Clone(f.order)
	// The engine fails for the cursor of a container that is gone.
	for _, id := range filters.Before {
		i := slices.IndexFunc(all, func(c *container) bool { return c.id == id })
		if i < 0 {
			return 500, message("no such container %s", id)
		}
		all = all[:i]
	}
	slices.Reverse(all)
	now, found := time.Now(), []object{}
	for _, c := range all {
		if c.has(filters.Label) && (filters.Status == nil || slices.Contains(filters.Status, c.status(now))) &&
			len(found) < limit {
			found = append(found, c.entry(now))
		}
	}
	return 200, found
}

// history returns the events of containers, the oldest first. It does not filter by time.
func (f *Fake) history(r *http.Request) (int, any) {
	var filters struct{ Container []string }
	if err := json.Unmarshal([]byte(r.URL.Query().Get("filters")), &filters); err != nil {
		return 400, message("%v", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	found := []event{}
	for _, e := range f.events {
		if slices.Contains(filters.Container, e.name) {
			found = append(found, e)
		}
	}
	return 200, found
}

func (f *Fake) image(r *http.Request) (int, any) {
	if slices.Contains(f.opt.Images, r.PathValue("image")) {
		return 200, object{"Id": "sha256:0"}
	}
	return 404, message("No such image: %s", r.PathValue("image"))
}
