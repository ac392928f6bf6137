package docker

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lattice-director/director/provider"
	"github.com/lattice-director/director/provider/internal/httpcall"
)

// The labels of a container.
const (
	labelOwner = "lattice-director.owner"
	labelTag   = "lattice-director.tag"
	labelPorts = "lattice-director.ports"
)

// firstPort is the first port inside a container that a port of a Spec without a number gets.
const firstPort = 7000

// createBody is the body of POST /containers/create.
type createBody struct {
	Image        string
	Env          []string
	Labels       map[string]string
	ExposedPorts map[string]struct{}
	HostConfig   hostConfig
}

type hostConfig struct {
	PortBindings map[string][]binding
	LogConfig    *logConfig `json:",omitempty"`
	NanoCpus     int64      `json:",omitempty"`
	Memory       int64      `json:",omitempty"`
	SecurityOpt  []string
}

type logConfig struct {
	Type   string
	Config map[string]string
}

// binding is where the engine publishes a port. An empty HostPort is any free one, an empty HostIp all addresses.
type binding struct {
	HostIP   string `json:"HostIp"`
	HostPort string
}

func nameOf(tag provider.Tag) string { return "lattice-" + string(tag) }

// containerBody returns the body for a Spec.
func (p *Provider) containerBody(s provider.Spec) (createBody, error) {
	if err := s.Check(); err != nil {
		return createBody{}, err
	}
	image := imageOf(s.App, s.Version)
	if !p.isAllowed(image) {
		return createBody{}, provider.Fail(provider.Permanent, "deploy",
			fmt.Errorf("the image %s is not allowed on this host", image))
	}
	ports := numberPorts(s.Ports)
	text, err := json.Marshal(ports)
	if err != nil {
		return createBody{}, provider.Fail(provider.Permanent, "deploy", err)
	}
	// The option no-new-privileges: a setuid program of the image gets no more rights than the server has.
	body := createBody{
		Image: image, Env: p.environOf(s.Env, ports), ExposedPorts: map[string]struct{}{},
		Labels: map[string]string{labelOwner: string(s.Owner), labelTag: string(s.Tag), labelPorts: string(text)},
		HostConfig: hostConfig{
			PortBindings: map[string][]binding{}, SecurityOpt: []string{"no-new-privileges"},
			NanoCpus: int64(s.Resources.CPUUnits) * 1_000_000_000 / 1024, Memory: int64(s.Resources.MemoryMiB) << 20,
		},
	}
	publish := binding{} // on all addresses
	// Players that dial a loopback address are on this host: nobody else should reach the servers either.
	if p.cfg.Advertise.IsLoopback() {
		publish.HostIP = p.cfg.Advertise.String()
	}
	for _, port := range ports {
		body.ExposedPorts[keyOf(port)] = struct{}{}
		body.HostConfig.PortBindings[keyOf(port)] = []binding{publish}
	}
	return body, nil
}

// keyOf returns the engine's name of a port.
func keyOf(p provider.Port) string { return strconv.Itoa(int(p.Internal)) + "/" + string(p.Protocol) }

// numberPorts returns the ports with a number for each that has none. Numbers may repeat in other containers, each of
// which has all ports for itself.
func numberPorts(ports []provider.Port) []provider.Port {
	taken := map[uint16]bool{}
	for _, p := range ports {
		taken[p.Internal] = true
	}
	numbered, next := slices.Clone(ports), uint16(firstPort)
	for i := range numbered {
		numbered[i].External = 0
		if numbered[i].Internal != 0 {
			continue
		}
		// At most MaxPorts are taken, so that this ends below 65,536.
		for taken[next] {
			next++
		}
		numbered[i].Internal, taken[next] = next, true
	}
	return numbered
}

// environOf returns the variables, with the numbers of the ports, also in the form in which servers that were built for
// Edgegap read them. That form names external ports; what players dial is not known before the start, so these are the
// ports inside of the container.
func (p *Provider) environOf(env provider.Env, ports []provider.Port) []string {
	// A Spec may have no environment.
	all := maps.Clone(env)
	if all == nil {
		all = provider.Env{}
	}
	mapped := make(map[string]provider.Port, len(ports))
	for _, port := range ports {
		all["LATTICE_PORT_"+strings.ToUpper(strings.ReplaceAll(port.Name, "-", "_"))] = strconv.Itoa(int(port.Internal))
		port.External = port.Internal
		mapped[port.Name] = port
	}
	if _, builtForEdgegap := env["ARBITRIUM_PORTS_MAPPING"]; builtForEdgegap {
		all["ARBITRIUM_PORTS_MAPPING"] = provider.PortsMapping(mapped)
		all["ARBITRIUM_PUBLIC_IP"] = p.cfg.Advertise.String()
	}
	var list []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list = append(list, name+"="+all[name])
	}
	return list
}

// The states of the engine.
const (
	stateCreated    = "created"
	stateRestarting = "restarting"
	stateRemoving   = "removing"
	stateExited     = "exited"
	stateDead       = "dead"
)

// container is the answer of GET /containers/{name}/json.
type container struct {
	State struct {
		Status     string
		ExitCode   int
		OOMKilled  bool
		Error      string
		StartedAt  time.Time
		FinishedAt time.Time
		Health     *struct{ Status string }
	}
	Config struct {
		Labels map[string]string
	}
	NetworkSettings struct {
		Ports map[string][]binding
	}
}

func (c container) ownerOf() provider.Owner { return provider.Owner(c.Config.Labels[labelOwner]) }

// inspectContainer reads the container of a tag; false means that there is none. A container of another tag is none.
func (p *Provider) inspectContainer(ctx context.Context, op string,
	tag provider.Tag) (c container, ok bool, err error) {
	if err := ctx.Err(); err != nil {
		return container{}, false, provider.Fail(provider.Transient, op, err)
	}
	if !tag.Valid() {
		return container{}, false, nil
	}
	a, err := p.callEngine(ctx, call{op: op, method: http.MethodGet, path: "/containers/" + nameOf(tag) + "/json"})
	switch {
	case err != nil:
		return container{}, false, err
	case a.Status == http.StatusNotFound:
		return container{}, false, nil
	case a.Status != http.StatusOK:
		return container{}, false, answerError(provider.Transient, op, a, nil)
	}
	if err := json.Unmarshal(a.Body, &c); err != nil {
		return container{}, false, provider.Fail(provider.Transient, op, fmt.Errorf("is no container: %w", err))
	}
	// A container with this name and another label is a stranger's.
	return c, c.Config.Labels[labelTag] == string(tag), nil
}

func (p *Provider) observeContainer(c container) provider.Observation {
	tag := provider.Tag(c.Config.Labels[labelTag])
	o := provider.Observation{
		Ref: provider.Ref(tag), Tag: tag, IP: p.cfg.Advertise, Started: c.State.StartedAt,
		Raw: httpcall.Scrub(c.State.Status, nil),
		Ports: portsOf(c.Config.Labels, func(key string) string {
			if at := c.NetworkSettings.Ports[key]; len(at) > 0 {
				return at[0].HostPort
			}
			return ""
		}),
	}
	o.Phase = phaseOf(c.State.Status)
	// An image without a health check is ready when it runs. One that is unhealthy stays ready here: its heartbeats
	// decide.
	if o.Phase == provider.PhaseReady && c.State.Health != nil && c.State.Health.Status == "starting" {
		o.Phase = provider.PhaseStarting
	}
	if o.Phase == provider.PhaseGone {
		o.Error = c.endText()
	}
	return o
}

func phaseOf(status string) provider.Phase {
	switch status {
	case stateExited, stateDead:
		return provider.PhaseGone
	case stateRemoving:
		return provider.PhaseStopping
	case stateCreated, stateRestarting:
		return provider.PhaseStarting
	// A paused container sends no heartbeats: its lease decides, as for one that hangs.
	case "running", "paused":
		return provider.PhaseReady
	default:
		return provider.PhaseUnknown
	}
}

// endText returns how the container ended.
func (c container) endText() string {
	text := fmt.Sprintf("exit status %d", c.State.ExitCode)
	// Its exit status alone, 137, would look like a SIGKILL from somebody.
	if c.State.OOMKilled {
		text += ", out of memory"
	}
	if c.State.Error != "" {
		text += ": " + c.State.Error
	}
	return httpcall.Scrub(text, nil)
}

// portsOf returns the ports of the label with the numbers that the engine has published. A port that is not published
// has External 0.
func portsOf(labels map[string]string, published func(key string) string) map[string]provider.Port {
	var ports []provider.Port
	if json.Unmarshal([]byte(labels[labelPorts]), &ports) != nil || len(ports) > provider.MaxPorts {
		return nil // somebody else wrote the label
	}
	byName := make(map[string]provider.Port, len(ports))
	for _, port := range ports {
		n, _ := strconv.ParseUint(published(keyOf(port)), 10, 16)
		port.External = uint16(n)
		byName[port.Name] = port
	}
	return byName
}

// logConfig bounds the logs of the driver whose files have no bound by default. Other drivers keep the engine's
// options.
func (e engine) logConfig() *logConfig {
	if e.loggingDriver != "json-file" {
		return nil
	}
	return &logConfig{"json-file", map[string]string{"max-size": "8m", "max-file": "2"}}
}

// removeContainer removes a container that does not run.
func (p *Provider) removeContainer(ctx context.Context, name string) error {
	a, err := p.callEngine(ctx, call{op: "stop", method: http.MethodDelete, path: "/containers/" + name})
	switch {
	case err != nil:
		return err
	case a.Status == http.StatusNoContent || a.Status == http.StatusNotFound:
		return nil
	default:
		return answerError(provider.Transient, "stop", a, nil)
	}
}
