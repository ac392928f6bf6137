package loop

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lattice-director/director/internal/base/panics"
	"github.com/lattice-director/director/internal/matching/ticketbody"
	"github.com/lattice-director/director/internal/openmatch/functions"
)

// Options configure a [Loop]. Store and Universe are required; the zero value of every other field is usable.
type Options struct {
	Store    Store
	Universe string // the region that is the queue
	// PlayerArg is the string_arg of an Open Match ticket that names its player; "": such tickets are no candidates.
	PlayerArg string
	// Lease is how long this worker owns its profiles without a sign of life; 0 means 1 s.
	Lease time.Duration
	// MaxCandidates bounds the tickets in memory; 0 means 200,000. Beyond it the oldest are kept.
	MaxCandidates int
	// Memory bounds, in bytes, what these tickets take; 0 means 1 KiB for each of MaxCandidates.
	Memory    int
	NoHistory bool               // the store keeps no history of matches and tickets: see [db.Config]
	Privacy   ticketbody.Privacy // of the history of tickets
	// Matchmaker calls the match functions of profiles. It runs as long as the loop. Nil: profiles with a function are
	// left to other workers.
	Matchmaker *functions.Matchmaker
	Log        *slog.Logger          // nil: no log
	Metrics    prometheus.Registerer // nil: no metrics
	Guard      *panics.Guard         // nil: panics are recovered and logged, and counted only as beginnings anew
}

func (o Options) withDefaults() Options {
	if o.Lease == 0 {
		o.Lease = time.Second
	}
	if o.MaxCandidates == 0 {
		o.MaxCandidates = 200_000
	}
	if o.Memory == 0 {
		o.Memory = o.MaxCandidates << 10
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Guard = cmp.Or(o.Guard, panics.New(o.Log, nil))
	return o
}
