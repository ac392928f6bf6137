package provision

import (
	"context"
	"encoding/json"
	"net/netip"
	"strconv"
	"time"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/provider"
)

// Pool says how many servers of an app version a region has.
type Pool struct {
	Region        string
	App           string
	Version       string
	Min           int           // servers, whether players need them or not
	Max           int           // servers
	Buffer        int           // servers without players that are kept ready
	BufferPercent bool          // Buffer is a percentage of all servers
	MaxStarting   int           // servers that start at a time
	EmptyTTL      time.Duration // for how long a server is without sessions before it may end
	// Coords is where its servers start, if no player's address is known; nil: nowhere in particular.
	Coords   *provider.Coords
	Networks []netip.Prefix // of players whom this region hosts best
	// Modes are those that its servers host, and that no other pool of the region has. In a declaration nil stands for
	// all modes of the app version.
	Modes []string
	// Zone is the IANA time zone of the schedules that name none, in which also the forecast compares hours; "" in a
	// declaration: UTC.
	Zone string
	// Schedule are times at which Min is higher. Of those that hold at a time, the one with the most servers counts, up
	// to Max. At most 32.
	Schedule []Schedule
	Forecast bool // the forecast raises Min, too

	Servers     int        // wanted, starting and ready ones
	PausedUntil *time.Time // until then an operator has paused its starts; nil: they are not paused
	PauseReason string
	LastPlan    json.RawMessage // the poolPlan of the last plan, for people
	PlannedAt   *time.Time      // nil: never
}

// Name returns APP/VERSION, as people write it.
func (p *Pool) Name() string { return p.App + "/" + p.Version }

// Pools returns the pools of a region, or of all regions for "", in the order of their keys. Errors: Unavailable.
func (s *Store) Pools(ctx context.Context, region string) ([]Pool, error) {
	pools, err := readPools(ctx, s.frame.Queries, region)
	return pools, frame.Classify(err)
}

// AppVersions returns all app versions in the order of their keys. Errors: Unavailable.
func (s *Store) AppVersions(ctx context.Context) ([]AppVersion, error) {
	versions, err := readAppVersions(ctx, s.frame.Queries)
	return versions, frame.Classify(err)
}

// bufferText returns the buffer as people write it.
func (p *Pool) bufferText() string {
	if p.BufferPercent {
		return strconv.Itoa(p.Buffer) + "%"
	}
	return strconv.Itoa(p.Buffer)
}
