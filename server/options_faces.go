package server

import (
	"cmp"
	"net"

	"github.com/lattice-director/director/server/console"
	"github.com/lattice-director/director/server/orchestrator"
	"github.com/lattice-director/director/server/projects"
)

// Projects configures the control API of the realtime lobby. Fields that are zero have the value of the replica.
type Projects struct {
	Options projects.Options

	Addr     string // "" means 127.0.0.1:3000. Listener, if set, is used instead.
	Listener net.Listener
}

// Console configures the operators' console. Fields that are zero have the value of the replica.
type Console struct {
	Options console.Options

	Addr     string // "" means 127.0.0.1:8090. Listener, if set, is used instead.
	Listener net.Listener
}

// Orchestrator configures the orchestrator of Rivalis game servers. Options.OtherHandler is ignored: the API answers
// other requests. Fields that are zero have the value of the replica.
type Orchestrator struct {
	Options orchestrator.Options

	AdminKeys    []string // of callers of the API, of at least 16 bytes each; required
	CORSOrigins  []string // whose pages may call the API
	SSEQueryAuth bool     // accept ?key= on the stream of events
	MaxStreams   int      // streams of events at a time; 0 means 100
}

// OrchestratorDefaults returns what operators may change, with its defaults.
func OrchestratorDefaults() Orchestrator {
	return Orchestrator{Options: orchestrator.Defaults()}
}

func (o Orchestrator) withDefaults() Orchestrator {
	d := OrchestratorDefaults()
	o.Options.Region = cmp.Or(o.Options.Region, d.Options.Region)
	o.MaxStreams = cmp.Or(o.MaxStreams, 100)
	return o
}
