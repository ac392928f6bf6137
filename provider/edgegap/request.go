package edgegap

import (
	"errors"
	"maps"
	"slices"

	"github.com/lattice-director/director/provider"
)

// deployRequest is the body of POST /v2/deployments.
type deployRequest struct {
	Application string     `json:"application"`
	Version     string     `json:"version"`
	Users       []user     `json:"users"`
	Environment []variable `json:"environment_variables"`
	Tags        []string   `json:"tags"`
	Resources   *resources `json:"resources,omitempty"`
	OnReady     *webhook   `json:"webhook_on_ready,omitempty"`
	OnError     *webhook   `json:"webhook_on_error,omitempty"`
	OnEnd       *webhook   `json:"webhook_on_terminated,omitempty"`
}

type user struct {
	Type string `json:"user_type"`
	Data any    `json:"user_data"`
}

type variable struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Hidden bool   `json:"is_hidden"`
}

type resources struct {
	CPUUnits  int `json:"cpu_units,omitempty"`
	MemoryMiB int `json:"memory_mib,omitempty"`
}

type webhook struct {
	URL string `json:"url"`
}

// deployBody returns the body for a Spec, with all values hidden in Edgegap's console.
func deployBody(s provider.Spec) (deployRequest, error) {
	if err := s.Check(); err != nil {
		return deployRequest{}, err
	}
	if s.Version == "" {
		return deployRequest{}, provider.Fail(provider.Permanent, "deploy", errors.New("version is empty"))
	}
	if s.Lifetime > MaxLifetime {
		return deployRequest{}, provider.Fail(provider.Permanent, "deploy", errors.New("lifetime is over 24h"))
	}
	users, err := usersOf(s.Hint)
	if err != nil {
		return deployRequest{}, provider.Fail(provider.Permanent, "deploy", err)
	}
	r := deployRequest{
		Application: s.App, Version: s.Version, Users: users,
		Environment: []variable{}, Tags: []string{string(s.Owner), string(s.Tag)},
	}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		r.Environment = append(r.Environment, variable{name, s.Env[name], true})
	}
	if s.Resources != (provider.Resources{}) {
		r.Resources = &resources{s.Resources.CPUUnits, s.Resources.MemoryMiB}
	}
	if s.Webhook != "" {
		hook := &webhook{string(s.Webhook)}
		r.OnReady, r.OnError, r.OnEnd = hook, hook, hook
	}
	return r, nil
}

// usersOf returns the players near whom Edgegap looks for a place: one address, or one pair of coordinates.
func usersOf(h provider.Hint) ([]user, error) {
	switch {
	case h.Addr.IsValid():
		// Without a zone, which names an interface of one machine, and IPv4 not in IPv6 form.
		return []user{{"ip_address", map[string]string{"ip_address": h.Addr.Unmap().WithZone("").String()}}}, nil
	case h.Coords != nil:
		return []user{{"geo_coordinates",
			map[string]float64{"latitude": h.Coords.Latitude, "longitude": h.Coords.Longitude}}}, nil
	default:
		return nil, errors.New("hint: Edgegap needs an address or coordinates of players")
	}
}

// secretsOf returns the texts that must be removed from messages of the API.
func secretsOf(s provider.Spec) []string {
	return append(slices.Collect(maps.Values(s.Env)), string(s.Webhook))
}
