package provider

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// Spec is a game server to start.
type Spec struct {
	Tag       Tag
	Owner     Owner
	App       string // what is started: an application of Edgegap's, an image of Docker's, a command's name of process
	Version   string // of App; empty where the provider has no versions
	Env       Env
	Ports     []Port // what the server listens on, at most MaxPorts; External is ignored
	Hint      Hint
	Resources Resources
	Lifetime  time.Duration // after which the provider may end it; zero is the provider's maximum
	Webhook   Secret        // the URL at which the provider reports changes; it authorizes the sender. Empty for none
}

// Resources limits the resources of a server. Zero means the provider's default.
type Resources struct {
	CPUUnits  int // 1024 are one CPU
	MemoryMiB int
}

// Hint says where the players are. The zero Hint says nothing.
type Hint struct {
	Addr   netip.Addr // of a player
	Coords *Coords    // where Addr is not valid
}

// Coords is a place on earth in degrees.
type Coords struct{ Latitude, Longitude float64 }

// Protocol of a port.
type Protocol string

// The protocols.
const (
	UDP Protocol = "udp"
	TCP Protocol = "tcp"
)

// Port is a port of a server. Players dial External, the server binds Internal.
type Port struct {
	Name     string   `json:"name"` // 1 to 32 of [a-z0-9-]
	Internal uint16   `json:"internal"`
	External uint16   `json:"external"`
	Protocol Protocol `json:"protocol"`
}

// PortsMapping returns the ports as servers that were built for Edgegap read them, in ARBITRIUM_PORTS_MAPPING.
func PortsMapping(ports map[string]Port) string {
	text, _ := json.Marshal(map[string]any{"ports": ports}) //nolint:errchkjson // strings and numbers
	return string(text)
}

// Env is the environment of a server. Its values are secrets: only its names are printed.
type Env map[string]string

// Format implements fmt.Formatter with the names.
func (e Env) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, e.namesText()) }

// LogValue implements slog.LogValuer with the names.
func (e Env) LogValue() slog.Value { return slog.StringValue(e.namesText()) }

func (e Env) namesText() string { return "[" + strings.Join(slices.Sorted(maps.Keys(e)), " ") + "]" }

// Secret is a text that is not printed. Convert it to a string to use it.
type Secret string

// Format implements fmt.Formatter with a placeholder.
func (Secret) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, "[hidden]") }

// LogValue implements slog.LogValuer with a placeholder.
func (Secret) LogValue() slog.Value { return slog.StringValue("[hidden]") }

// Bounds of a Spec.
const (
	MaxEnv        = 128
	MaxValueBytes = 4096
	MaxNameBytes  = 200 // of App and Version
	maxWebhook    = 2048
)

// Check returns an error of kind Permanent that names the field, if no provider could start this.
func (s Spec) Check() error {
	for _, f := range []struct {
		field string
		ok    bool
	}{
		{"tag", s.Tag.Valid()},
		{"owner", s.Owner.Valid()},
		{"app", validName(s.App) && s.App != ""},
		{"version", validName(s.Version)},
		{"hint", s.Hint.isValid()},
		{"resources", s.Resources.CPUUnits >= 0 && s.Resources.MemoryMiB >= 0},
		{"lifetime", s.Lifetime >= 0},
		{"webhook", len(s.Webhook) <= maxWebhook},
	} {
		if !f.ok {
			return Fail(Permanent, "deploy", fmt.Errorf("%s is not allowed", f.field))
		}
	}
	if err := s.Env.checkVariables(); err != nil {
		return Fail(Permanent, "deploy", err)
	}
	if err := checkPorts(s.Ports); err != nil {
		return Fail(Permanent, "deploy", err)
	}
	return nil
}

func validName(s string) bool {
	return len(s) <= MaxNameBytes && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

func (h Hint) isValid() bool {
	return h.Coords == nil || math.Abs(h.Coords.Latitude) <= 90 && math.Abs(h.Coords.Longitude) <= 180
}

func (e Env) checkVariables() error {
	if len(e) > MaxEnv {
		return fmt.Errorf("env has %d variables, at most %d are allowed", len(e), MaxEnv)
	}
	for name, value := range e {
		if !validVariable(name) {
			return fmt.Errorf("env: %.40q is no name of a variable", name)
		}
		// The error names the variable and does not quote the value, which is secret.
		if len(value) > MaxValueBytes || strings.Contains(value, "\x00") {
			return fmt.Errorf("env: the value of %s has more than %d bytes or a NUL", name, MaxValueBytes)
		}
	}
	return nil
}

// validVariable reports whether a shell keeps a variable of this name.
func validVariable(s string) bool {
	return s != "" && len(s) <= MaxNameBytes && (s[0] < '0' || s[0] > '9') &&
		!strings.ContainsFunc(s, func(r rune) bool {
			return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
		})
}

func checkPorts(ports []Port) error {
	if len(ports) > MaxPorts {
		return fmt.Errorf("ports: %d, at most %d are allowed", len(ports), MaxPorts)
	}
	seen := map[string]bool{}
	for _, p := range ports {
		switch {
		case !validPortName(p.Name):
			return fmt.Errorf("ports: %.40q is no name", p.Name)
		case seen[p.Name]:
			return fmt.Errorf("ports: %s occurs twice", p.Name)
		case p.Protocol != UDP && p.Protocol != TCP:
			return fmt.Errorf("ports: %s has protocol %.20q, not udp or tcp", p.Name, p.Protocol)
		}
		seen[p.Name] = true
	}
	return nil
}

func validPortName(s string) bool { return s != "" && len(s) <= 32 && isPlain(s) }
