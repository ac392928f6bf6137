package poolfile

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/internal/base/document"
	"github.com/lattice-director/director/provider"
	"github.com/lattice-director/director/token/netcode"
)

// poolDocument is a file as YAML has it. Its keys are the paths of problems.
type poolDocument struct {
	Apps     []app     `yaml:"apps,omitempty"`
	Pools    []pool    `yaml:"pools,omitempty"`
	Projects []project `yaml:"projects,omitempty"`
}

type project struct {
	ID     text `yaml:"id"`
	Name   text `yaml:"name,omitempty"`
	Region text `yaml:"region,omitempty"`
}

type app struct {
	App            text            `yaml:"app"`
	Version        text            `yaml:"version"`
	Provider       text            `yaml:"provider"`
	Launch         text            `yaml:"launch"`
	LaunchVersion  text            `yaml:"launch_version,omitempty"`
	Ports          []port          `yaml:"ports,omitempty"`
	GamePort       text            `yaml:"game_port,omitempty"`
	Endpoint       text            `yaml:"endpoint,omitempty"`
	Modes          []text          `yaml:"modes"`
	Capacity       whole           `yaml:"capacity,omitempty"`
	MaxSessions    *whole          `yaml:"max_sessions,omitempty"`
	MaxPlayers     whole           `yaml:"max_players,omitempty"`
	Env            map[string]text `yaml:"env,omitempty"`
	Resources      resources       `yaml:"resources,omitempty"`
	StartWithin    text            `yaml:"start_within,omitempty"`
	RegisterWithin text            `yaml:"register_within,omitempty"`
	Grace          text            `yaml:"grace,omitempty"`
	MaxLifetime    text            `yaml:"max_lifetime,omitempty"`
	DrainAhead     text            `yaml:"drain_ahead,omitempty"`
	Netcode        *connectTokens  `yaml:"netcode,omitempty"`
	DigestRequired bool            `yaml:"digest_required,omitempty"`
	Compat         text            `yaml:"compat,omitempty"`
	Fallback       *fallback       `yaml:"fallback,omitempty"`
}

type fallback struct {
	Provider      text `yaml:"provider"`
	Launch        text `yaml:"launch"`
	LaunchVersion text `yaml:"launch_version,omitempty"`
}

type port struct {
	Name     text       `yaml:"name"`
	Internal portNumber `yaml:"internal,omitempty"`
	Protocol text       `yaml:"protocol"`
}

type resources struct {
	CPUUnits  whole `yaml:"cpu_units,omitempty"`
	MemoryMiB whole `yaml:"memory_mib,omitempty"`
}

type connectTokens struct {
	Dialect    text       `yaml:"dialect"`
	ProtocolID protocolID `yaml:"protocol_id"`
}

type pool struct {
	Region      text       `yaml:"region"`
	App         text       `yaml:"app"`
	Version     text       `yaml:"version"`
	Min         whole      `yaml:"min"`
	Max         whole      `yaml:"max"`
	Buffer      text       `yaml:"buffer,omitempty"`
	MaxStarting whole      `yaml:"max_starting,omitempty"`
	EmptyTTL    text       `yaml:"empty_ttl,omitempty"`
	Coordinates *place     `yaml:"coordinates,omitempty"`
	Networks    []text     `yaml:"networks,omitempty"`
	Modes       *[]text    `yaml:"modes,omitempty"`
	Zone        text       `yaml:"zone,omitempty"`
	Schedule    []schedule `yaml:"schedule,omitempty"`
	Forecast    bool       `yaml:"forecast,omitempty"`
}

type place struct {
	Latitude  number `yaml:"latitude"`
	Longitude number `yaml:"longitude"`
}

// text is a scalar as it is written: a version 1.10 is not 1.1.
type text string

// UnmarshalYAML implements yaml.NodeUnmarshaler.
func (t *text) UnmarshalYAML(n ast.Node) error {
	switch n := n.(type) {
	case *ast.StringNode:
		*t = text(n.Value)
	case *ast.LiteralNode:
		*t = text(n.Value.Value)
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		*t = text(n.GetToken().Value)
	case *ast.NullNode:
		*t = ""
	default:
		return document.RefuseAt(n, "this must be text")
	}
	return nil
}

func plainTexts(list []text) []string {
	var all []string
	for _, t := range list {
		all = append(all, string(t))
	}
	return all
}

// converter makes the types of the store, and collects what cannot be read.
type converter struct {
	targetFile *File
	problems   []Problem
}

// maxProblems bounds an Error.
const maxProblems = 16

func (c *converter) addProblemf(path, format string, args ...any) {
	if len(c.problems) < maxProblems {
		c.problems = append(c.problems, c.targetFile.Problem(path, fmt.Sprintf(format, args...)))
	}
}

func (c *converter) convertApp(path string, a app) provision.AppVersion {
	v := provision.AppVersion{
		App: string(a.App), Version: string(a.Version), Provider: string(a.Provider), Launch: string(a.Launch),
		LaunchVersion: string(a.LaunchVersion),
		GamePort:      string(a.GamePort), Endpoint: string(a.Endpoint), Modes: plainTexts(a.Modes),
		Capacity: int(a.Capacity), MaxSessions: (*int)(a.MaxSessions), MaxPlayers: int(a.MaxPlayers),
		CPUUnits: int(a.Resources.CPUUnits), MemoryMiB: int(a.Resources.MemoryMiB),
		StartWithin:    c.convertDuration(path+"start_within", a.StartWithin),
		RegisterWithin: c.convertDuration(path+"register_within", a.RegisterWithin),
		Grace:          c.convertDuration(path+"grace", a.Grace),
		MaxLifetime:    c.convertDuration(path+"max_lifetime", a.MaxLifetime),
		DrainAhead:     c.convertDuration(path+"drain_ahead", a.DrainAhead),
		DigestRequired: a.DigestRequired, Compat: string(a.Compat),
	}
	if f := a.Fallback; f != nil {
		v.Fallback = &provision.AppFallback{Provider: string(f.Provider), Launch: string(f.Launch),
			LaunchVersion: string(f.LaunchVersion)}
	}
	if a.Env != nil {
		v.Env = make(map[string]string, len(a.Env))
	}
	for name, value := range a.Env {
		v.Env[name] = string(value)
	}
	for _, p := range a.Ports {
		v.Ports = append(v.Ports, provision.AppPort{Name: string(p.Name), Internal: uint16(p.Internal),
			Protocol: provider.Protocol(p.Protocol)})
	}
	if a.Netcode != nil {
		v.Dialect, v.ProtocolID = netcode.Dialect(a.Netcode.Dialect), uint64(a.Netcode.ProtocolID)
		if v.Dialect == "" {
			c.addProblemf(path+"netcode.dialect", "is missing")
		}
	}
	return v
}

func (c *converter) convertPool(path string, p pool) provision.Pool {
	converted := provision.Pool{
		Region: string(p.Region), App: string(p.App), Version: string(p.Version), Min: int(p.Min), Max: int(p.Max),
		MaxStarting: int(p.MaxStarting),
		EmptyTTL:    c.convertDuration(path+"empty_ttl", p.EmptyTTL), Zone: string(p.Zone), Forecast: p.Forecast,
	}
	converted.Buffer, converted.BufferPercent = c.convertBuffer(path+"buffer", p.Buffer)
	if p.Coordinates != nil {
		converted.Coords = &provider.Coords{Latitude: float64(p.Coordinates.Latitude),
			Longitude: float64(p.Coordinates.Longitude)}
	}
	for i, text := range p.Networks {
		network, err := netip.ParsePrefix(string(text))
		if err != nil {
			c.addProblemf(fmt.Sprintf("%snetworks[%d]", path, i), "%.60q must be a network such as 192.0.2.0/24", text)
		}
		converted.Networks = append(converted.Networks, network)
	}
	if p.Modes != nil {
		converted.Modes = append([]string{}, plainTexts(*p.Modes)...)
	}
	for i, s := range p.Schedule {
		converted.Schedule = append(converted.Schedule, c.convertSchedule(fmt.Sprintf("%sschedule[%d].", path, i), s))
	}
	return converted
}

// convertDuration reads a duration; "" is the default.
func (c *converter) convertDuration(path string, text text) time.Duration {
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(string(text))
	if err != nil || d <= 0 {
		c.addProblemf(path, "%.40q must be a duration above 0, such as 90s, 5m or 24h", text)
	}
	return d
}

// Buffer reads a number of servers or a share of them, such as 2 or 20%.
func Buffer(text string) (n int, percent bool, err error) {
	number, percent := strings.CutSuffix(text, "%")
	if n, err = strconv.Atoi(number); err != nil || n < 0 {
		return 0, false, fmt.Errorf("%.40q must be a number of servers or a share of them, such as 2 or 20%%", text)
	}
	return n, percent, nil
}

func (c *converter) convertBuffer(path string, text text) (int, bool) {
	if text == "" {
		return 0, false
	}
	n, percent, err := Buffer(string(text))
	if err != nil {
		c.addProblemf(path, "%s", err)
	}
	return n, percent
}
