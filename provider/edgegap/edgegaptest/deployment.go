package edgegaptest

import (
	"strings"
	"time"

	"github.com/lattice-director/director/provider"
)

// deployment is a server of the fake. Its phase follows from the times.
type deployment struct {
	id      string
	app     string
	version string
	tags    []string
	env     map[string]string
	hooks   [3]string // ready, error, terminated
	ports   map[string]object
	ip      string
	started time.Time
	ready   time.Time
	stopped time.Time // Stop was accepted; zero while it is not
	ended   time.Time // zero while it is not
	failed  bool
	word    string // replaces the status
	listed  time.Time
}

// phase returns the word of the API, without its prefix.
func (d *deployment) phase(now time.Time) string {
	switch {
	// First: an end also ends a failure, and what Say has set.
	case !d.ended.IsZero() && !now.Before(d.ended):
		return "TERMINATED"
	case d.word != "":
		return d.word
	case d.failed:
		return "ERROR"
	// The API looks for a place first: half of the time until the server is ready.
	case now.Before(d.started.Add(d.ready.Sub(d.started) / 2)):
		return "SEEKING"
	case now.Before(d.ready):
		return "DEPLOYING"
	case !d.stopped.IsZero():
		return "TERMINATING"
	default:
		return "READY"
	}
}

// body is the status of a deployment.
func (d *deployment) body(now time.Time, portsList bool) object {
	phase := d.phase(now)
	b := object{
		"request_id": d.id, "fqdn": host(d.id), "app_name": d.app, "app_version": d.version,
		"current_status": "Status." + phase, "last_status": "Status." + phase, "running": phase == "READY",
		"start_time": stamp(d.started), "removal_time": nil, "elapsed_time": 1, "max_duration": 1440,
		"error": d.failed, "tags": d.tags, "location": object{"city": "Montréal", "country": "Canada"}, "ports": nil,
	}
	// The API knows address and ports only once the server is ready.
	if phase == "READY" || phase == "TERMINATING" {
		b["public_ip"], b["ports"] = d.ip, d.portsBody(portsList)
	}
	if d.failed {
		b["error_detail"] = "No capacity for this deployment"
	}
	return b
}

// portsBody returns the ports by name or as a list: the API has both forms.
func (d *deployment) portsBody(list bool) any {
	if !list {
		return d.ports
	}
	all := []object{}
	for _, p := range d.ports {
		all = append(all, p)
	}
	return all
}

// request is a POST /v2/deployments, as the API accepts it.
type request struct {
	Application string `json:"application"`
	Version     string `json:"version"`
	Users       []struct {
		Type string         `json:"user_type"`
		Data map[string]any `json:"user_data"`
	} `json:"users"`
	Environment []struct {
		Key    string `json:"key"`
		Value  string `json:"value"`
		Hidden *bool  `json:"is_hidden"`
	} `json:"environment_variables"`
	Tags      []string       `json:"tags"`
	Resources map[string]int `json:"resources"`
	OnReady   hookURL        `json:"webhook_on_ready"`
	OnError   hookURL        `json:"webhook_on_error"`
	OnEnd     hookURL        `json:"webhook_on_terminated"`
}

type hookURL struct {
	URL string `json:"url"`
}

// check returns what the API would complain about.
func (q request) check(apps map[string][]provider.Port) string {
	if _, ok := apps[q.Application]; !ok || q.Version == "" {
		return "Application or version not found"
	}
	if len(q.Users) == 0 {
		return "users is required"
	}
	for _, u := range q.Users {
		if (u.Type != "ip_address" || u.Data["ip_address"] == nil) &&
			(u.Type != "geo_coordinates" || u.Data["latitude"] == nil || u.Data["longitude"] == nil) {
			return "users is not valid"
		}
	}
	for _, v := range q.Environment {
		if v.Key == "" || v.Hidden == nil || len(v.Value) > 4096 {
			return "environment_variables is not valid"
		}
	}
	for _, t := range q.Tags {
		// The API allows few characters in tags, and 20 of them.
		if len(t) == 0 || len(t) > 20 || strings.Trim(t, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			return "tags is not valid"
		}
	}
	return ""
}
