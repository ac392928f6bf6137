package provision

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/internal/value"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/provider"
	"github.com/lattice-director/director/token/netcode"
)

// AppVersion says how a game server is started, and what it offers. All regions share it.
type AppVersion struct {
	App      string
	Version  string
	Provider string // the name of the provider that runs it: process, docker, edgegap, agones or manual
	// Launch is what the provider starts: an application of Edgegap's, a fleet of Agones', an image of Docker's, the
	// name of a command of process.
	Launch        string
	LaunchVersion string // the version of Launch, for providers that have versions
	Ports         []AppPort
	GamePort      string // the name of the port that players dial
	Endpoint      string // the format of what players dial, with {ip} and {port}
	Modes         []string
	Capacity      int  // players of a server
	MaxSessions   *int // of a server; nil: as many as the capacity allows
	MaxPlayers    int  // of a session
	Env           map[string]string
	CPUUnits      int // 1024 are one CPU; 0: the provider's default
	MemoryMiB     int // 0: the provider's default

	StartWithin    time.Duration // from the call of the provider until the provider says that the server is ready
	RegisterWithin time.Duration // from then until the server has registered
	Grace          time.Duration // from the request to end until the provider ends the server by force
	MaxLifetime    time.Duration
	DrainAhead     time.Duration // for how long before the end of its life a server takes no new players

	Dialect        netcode.Dialect // of the connect tokens of its servers; "": they use none
	ProtocolID     uint64          // of the connect tokens of its servers
	DigestRequired bool            // its servers are ready only once they have reported the digest of their certificate
	Compat         string          // CompatArbitrium, CompatBevygap or ""
	// Fallback says how its servers start when Provider has no room; nil: they wait.
	Fallback *AppFallback

	WasStarted bool // a server of it was started: what running servers depend on does not change any more
	AppliedAt  time.Time
}

// AppFallback says how the servers of an app version start at another provider. All other fields of the app version
// hold there, too.
type AppFallback struct {
	Provider      string `json:"provider"` // another one than AppVersion.Provider
	Launch        string `json:"launch"`
	LaunchVersion string `json:"launch_version,omitempty"`
}

// ForProvider returns the app version as it is started at a provider: its own, or the fallback's.
func (v *AppVersion) ForProvider(provider string) AppVersion {
	started := *v
	if f := v.Fallback; f != nil && f.Provider == provider {
		started.Provider, started.Launch, started.LaunchVersion = f.Provider, f.Launch, f.LaunchVersion
	}
	return started
}

// The values of AppVersion.Compat, for servers that were built for something else than the director.
const (
	// CompatArbitrium is for servers that read the environment that Edgegap gives, at any provider.
	CompatArbitrium = "arbitrium"
	// CompatBevygap is for servers with bevygap's plugin, which reads the same environment, and needs NATS. Players
	// come with connect tokens, and a server is ready once it has reported the digest of its certificate.
	CompatBevygap = "bevygap"
)

// AppPort is a port that a server listens on.
type AppPort struct {
	Name     string            `json:"name"`
	Internal uint16            `json:"internal"`
	Protocol provider.Protocol `json:"protocol"`
}

// Name returns APP/VERSION, as people write it.
func (v *AppVersion) Name() string { return v.App + "/" + v.Version }

// FindAppVersion returns an app version. Errors: NotFound, Unavailable.
func (s *Store) FindAppVersion(ctx context.Context, app, version string) (AppVersion, error) {
	v, err := readAppVersion(ctx, s.frame.Queries, app, version)
	return v, frame.Classify(err)
}

// readAppVersion returns a version, or the error NotFound.
func readAppVersion(ctx context.Context, q *query.Queries, app, version string) (AppVersion, error) {
	r, err := q.GetAppVersion(ctx, query.GetAppVersionParams{App: app, Version: version})
	if errors.Is(err, pgx.ErrNoRows) {
		return AppVersion{}, fault.New(fault.NotFound, "app_version_unknown", "there is no version %q of an app %q",
			version, app)
	}
	if err != nil {
		return AppVersion{}, err
	}
	return appVersionOf(r)
}

// appVersionOf decodes a row.
func appVersionOf(r query.GetAppVersionRow) (AppVersion, error) {
	v := AppVersion{
		App: r.App, Version: r.Version, Provider: r.Provider, Launch: r.Launch, LaunchVersion: r.LaunchVersion,
		GamePort: r.GamePort, Endpoint: r.Endpoint,
		Modes: r.Modes, Capacity: int(r.Capacity), MaxSessions: value.IntOrNil(r.MaxSessions),
		MaxPlayers: int(r.MaxPlayers),
		CPUUnits:   int(r.CpuUnits), MemoryMiB: int(r.MemoryMib),
		StartWithin: r.StartWithin, RegisterWithin: r.RegisterWithin, Grace: r.Grace, MaxLifetime: r.MaxLifetime,
		DrainAhead: r.DrainAhead,
		Dialect:    netcode.Dialect(r.Dialect), DigestRequired: r.DigestRequired, Compat: r.Compat,
		WasStarted: r.Used, AppliedAt: r.AppliedAt,
	}
	if err := v.decodeTexts(r); err != nil {
		return AppVersion{}, fmt.Errorf("app version %s: %w", v.Name(), err)
	}
	return v, nil
}

// decodeTexts decodes the columns of an app version that are JSON or text.
func (v *AppVersion) decodeTexts(r query.GetAppVersionRow) (err error) {
	if err := json.Unmarshal(r.Ports, &v.Ports); err != nil {
		return err
	}
	if err := json.Unmarshal(r.Env, &v.Env); err != nil {
		return err
	}
	if r.Fallback != nil {
		if err := json.Unmarshal(r.Fallback, &v.Fallback); err != nil {
			return err
		}
	}
	// A text in the row, since an unsigned number of 64 bits is too large for bigint.
	if r.ProtocolID != "" {
		v.ProtocolID, err = strconv.ParseUint(r.ProtocolID, 10, 64)
	}
	return err
}
