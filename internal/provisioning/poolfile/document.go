package poolfile

import (
	"github.com/goccy/go-yaml/ast"

	"github.com/lattice-director/director/internal/base/document"
)

// poolDocument is a file as it is written in YAML. A [Problem] names a value by the path of its keys.
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
	Modes       *[]text    `yaml:"modes,omitempty"` // nil: all modes of the app version; empty: none
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
	// as if the key were absent
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

// schedule is an entry of a pool's schedule: on weekdays, or once.
type schedule struct {
	At    text  `yaml:"at"`
	Until text  `yaml:"until"`
	Days  text  `yaml:"days,omitempty"`
	Min   whole `yaml:"min"`
}
