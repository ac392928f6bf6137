package opsview

import (
	"context"
	"strings"
	"time"
)

// Instance is a game server. Its row remains until the reaper deletes instances that have ended.
type Instance struct {
	Region        string            `db:"region" json:"region"`
	Instance      string            `db:"instance" json:"instance"` // its id, unique over all regions
	Endpoint      string            `db:"endpoint" json:"endpoint"`
	Status        string            `db:"status" json:"status"` // starting, ready, draining or gone
	Alive         bool              `db:"alive" json:"alive"`   // its lease holds
	Modes         []string          `db:"modes" json:"modes"`
	Labels        map[string]string `db:"labels" json:"labels"`
	Version       *string           `db:"version" json:"version"`   // nil: not reported
	Load          *float64          `db:"load" json:"load"`         // nil when it is gone
	Capacity      int32             `db:"capacity" json:"capacity"` // seats
	ReservedSeats int32             `db:"reserved_seats" json:"reserved_seats"`
	Available     int32             `db:"available" json:"available"` // seats left for new sessions
	Players       int64             `db:"players" json:"players"`
	OpenSessions  int32             `db:"open_sessions" json:"open_sessions"`
	MaxSessions   *int32            `db:"max_sessions" json:"max_sessions"` // nil: as many as its seats allow
	ReportsSeats  bool              `db:"reports_seats" json:"reports_seats"`
	LastHeartbeat *time.Time        `db:"last_heartbeat" json:"last_heartbeat"` // nil when it is gone
	// LeaseAge is the time since LastHeartbeat in seconds.
	LeaseAge     *float64   `db:"lease_age" sql:"extract(epoch FROM lease_age)::float8" json:"lease_age"`
	RegisteredAt time.Time  `db:"registered_at" json:"registered_at"`
	EndedAt      *time.Time `db:"ended_at" json:"ended_at"` // nil while it runs
}

// silent is the condition of a game server that is ready or draining and whose lease does not hold.
const silent = "status NOT IN ('gone', 'starting') AND NOT alive"

// State returns the status, or "silent" for a game server that is ready or draining and whose lease does not hold.
func (i Instance) State() string {
	if !i.Alive && i.Status != "gone" && i.Status != "starting" {
		return "silent"
	}
	return i.Status
}

// Fleet is read in the order of region and id.
var Fleet = View[Instance, FleetFilter]{name: "fleet", order: Order{"region", "instance"}}

// The orders of the fleet besides its own.
var (
	MostPlayersFirst = Order{"-players", "-instance"}
	MostFreeFirst    = Order{"-available", "-instance"}
	NewestFirst      = Order{"-registered_at", "-instance"}
)

// FleetFilter selects game servers. Empty fields select all.
type FleetFilter struct {
	Region   string
	Instance string
	Mode     string // one that they offer
	State    string // as Instance.State returns it
	Status   string
	Prefix   string // of their ids
	Version  string
	Host     string // of their endpoints
	Label    string // as key=value, or a key alone
	Running  bool   // only those that have not ended
}

func (f FleetFilter) selectRows(w *where) {
	w.addEqual("region", f.Region)
	w.addEqual("instance", f.Instance)
	w.addElement("modes", f.Mode)
	w.addEqual("status", f.Status)
	w.addPrefix("instance", f.Prefix)
	w.addEqual("version", f.Version)
	if f.Host != "" {
		host := strings.ToLower(strings.Trim(f.Host, "[] "))
		w.add("starts_with(lower(endpoint), ?) OR starts_with(lower(endpoint), ?)", host+":", "["+host+"]:")
	}
	if key, value, hasValue := strings.Cut(f.Label, "="); hasValue {
		w.add("labels ->> ? = ?", key, value)
	} else if key != "" {
		w.add("labels ->> ? IS NOT NULL", key)
	}
	if f.State == "silent" {
		w.add(silent)
	} else if f.State != "" {
		w.add("status = ? AND NOT ("+silent+")", f.State)
	}
	if f.Running {
		w.add("status <> 'gone'")
	}
}

// InstanceRegion is the region of an instance.
type InstanceRegion struct {
	Instance string `db:"instance" json:"instance"`
	Region   string `db:"region" json:"region"`
}

// InstanceRegions are those of all instances.
var InstanceRegions = View[InstanceRegion, InstanceRegionFilter]{name: "instance_regions", order: Order{"instance"}}

// InstanceRegionFilter selects an instance.
type InstanceRegionFilter struct{ Instance string }

func (f InstanceRegionFilter) selectRows(w *where) { w.addExact("instance", f.Instance) }

// ReadInstance returns a game server by its id, which an index finds. Errors: ErrNoRow.
func ReadInstance(ctx context.Context, q Querier, id string) (Instance, error) {
	place, err := InstanceRegions.One(ctx, q, InstanceRegionFilter{id})
	if err != nil {
		return Instance{}, err
	}
	return Fleet.One(ctx, q, FleetFilter{Region: place.Region, Instance: id})
}

// Region is a region that has game servers, or had some that ended lately.
type Region struct {
	Region string `db:"region" json:"region"`
}

// Regions are sorted.
var Regions = View[Region, Any]{name: "regions", order: Order{"region"}}

// Drain is a drain that an operator keeps.
type Drain struct {
	Region    string        `db:"region" json:"region"` // empty: all
	Target    string        `db:"target" json:"target"` // instance, region, host, label or rivalis
	Value     string        `db:"value" json:"value"`
	Actor     string        `db:"actor" json:"actor"`
	Since     time.Time     `db:"since" json:"since"`
	Instances int64         `db:"instances" json:"instances"` // that have not ended and obey it
	Age       time.Duration `db:"age" json:"-"`
}

// Drains are read oldest first.
var Drains = View[Drain, Any]{name: "drains", order: Order{"since", "region", "target", "value"}}
