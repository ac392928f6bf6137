package provision

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/internal/notify"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/provider"
)

// Deployment is a game server that a provider runs for the director, from the decision to start it until nothing of it
// is left.
type Deployment struct {
	Region         string
	ID             uuid.UUID // the instance that the server registers has it as its id
	App            string
	Version        string
	Provider       string
	Tag            provider.Tag
	Origin         string // OriginPool or OriginOperator
	MustStop       bool   // the desired state is stopped
	Phase          DeploymentPhase
	Generation     int64        // raised by each decision
	DeployAttempts int          // intents to call Deploy so far
	IntentAt       *time.Time   // of the last intent; nil: none, or the provider has said that it did nothing
	Ref            provider.Ref // "" until it is known
	ClaimedRef     provider.Ref // with which its server has registered; "": none, or the provider did not confirm it
	PollCount      int          // calls of the provider without progress
	FindAt         *time.Time   // when to look for a second server under the tag; nil: no need
	// MissingSince is since when its provider has neither listed nor known the server; nil: the provider knows it, or
	// was not asked since the last call of Deploy.
	MissingSince *time.Time
	Address      netip.Addr // of a player near whom the server should run; the zero Addr if unknown
	Location     string
	IP           netip.Addr
	Ports        map[string]provider.Port
	Endpoint     string // that players dial; "" until the server is ready

	ProviderReadyAt *time.Time
	RegisteredAt    *time.Time
	ReadyAt         *time.Time
	LostAt          *time.Time // when the lease of its instance expired; nil: the lease runs, or there is none yet
	DrainAt         *time.Time
	EndsAt          *time.Time
	StopAt          *time.Time

	SealedKey []byte // its netcode key; nil: none
	SealedBy  string // fingerprint of the key-encryption key that sealed SealedKey
	Reason    string // why it ends
	LastError string
	CreatedAt time.Time
}

// DeploymentPhase is the phase of a [Deployment]. Migration 00026 has the diagram.
type DeploymentPhase string

// The phases. A deployment that is gone has no row.
const (
	DeploymentWanted    DeploymentPhase = "wanted"
	DeploymentDeploying DeploymentPhase = "deploying" // the intent to call Deploy is committed
	DeploymentStarting  DeploymentPhase = "starting"  // its ref is known
	DeploymentReady     DeploymentPhase = "ready"
	DeploymentDraining  DeploymentPhase = "draining"
	DeploymentFailed    DeploymentPhase = "failed"
	DeploymentStopping  DeploymentPhase = "stopping" // the provider has accepted Stop
)

// The origins of deployments.
const (
	OriginPool     = "pool"
	OriginOperator = "operator"
)

// Reasons for which a deployment ends.
const (
	ReasonNoEndpoint   = "no_endpoint"    // nothing says what players would dial
	ReasonTooManyBoots = "too_many_boots" // its process starts again and again
	ReasonDeregistered = "deregistered"   // its server has deregistered, and has not registered again
	// ReasonCrashed begins the reason of a server that ended by itself soon after it was ready.
	ReasonCrashed = "crashed soon after it was ready"
)

// NewDeployment is a game server to start.
type NewDeployment struct {
	ID        uuid.UUID
	App       string
	Version   string
	Provider  string // of the app version
	Tag       provider.Tag
	SealedKey []byte     // its netcode key; nil if the app version has no dialect
	SealedBy  string     // fingerprint of the key-encryption key that sealed SealedKey
	Address   netip.Addr // of a player near whom the server should run; the zero Addr if unknown
	Origin    string     // OriginPool or OriginOperator
}

// StartDeployment inserts a deployment, which a worker then starts, in addition to the servers of pools. Errors:
// NotFound for an unknown app version, Invalid for another provider than that of the app version, Conflict where the
// limits over all pools let none start, Elsewhere, Unavailable.
func (s *Store) StartDeployment(ctx context.Context, region string, n NewDeployment) error {
	// A server of another cell's region could never register here, and would cost money until it failed.
	if err := s.checkHere(region); err != nil {
		return err
	}
	err := s.frame.InTx(ctx, func(q *query.Queries) error {
		v, err := readAppVersion(ctx, q, n.App, n.Version)
		if err != nil {
			return err
		}
		if v.Provider != n.Provider {
			e := fault.New(fault.Invalid, "provider_mismatch", "the provider of %s is %s", v.Name(), v.Provider)
			e.Field = "provider"
			return e
		}
		allowed, err := lockAllowedStarts(ctx, q)
		if err != nil {
			return err
		}
		if allowed == 0 && v.Provider != providerManual {
			return fault.New(fault.Conflict, "pool_limit",
				"the limits over all pools let no server start: 'director pools limit' shows them")
		}
		return insertDeployments(ctx, q, region, []NewDeployment{n})
	})
	if err != nil {
		return frame.Classify(err)
	}
	// Sent after the commit, so that a process which wakes up finds the row.
	s.sendNotice(notify.TopicDeployments, region)
	return nil
}

// insertDeployments inserts deployments that are wanted, and their events. The caller sends TopicDeployments after its
// commit.
func insertDeployments(ctx context.Context, q *query.Queries, region string, all []NewDeployment) error {
	p := query.InsertDeploymentsParams{Region: region}
	for i := range all {
		n := &all[i]
		p.Ids = append(p.Ids, n.ID)
		p.Apps = append(p.Apps, n.App)
		p.Versions = append(p.Versions, n.Version)
		p.Providers = append(p.Providers, n.Provider)
		p.Tags = append(p.Tags, string(n.Tag))
		p.Origins = append(p.Origins, n.Origin)
		p.NetcodeKeys = append(p.NetcodeKeys, n.SealedKey)
		p.SealedBys = append(p.SealedBys, n.SealedBy)
		p.Addresses = append(p.Addresses, addressText(n.Address))
	}
	// From now on, fields of these app versions on which running servers depend do not change: see refuseChange.
	if err := q.MarkVersionsUsed(ctx, query.MarkVersionsUsedParams{Apps: p.Apps, Versions: p.Versions}); err != nil {
		return err
	}
	return q.InsertDeployments(ctx, p)
}

// addressText returns an address, or "" for the zero Addr.
func addressText(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	// A zone names an interface of one machine: Postgres's inet has none.
	return a.Unmap().WithZone("").String()
}

// StopDeployment ends a deployment: from now on its instance gets no new players, and a worker stops the server, whose
// sessions close. It may be repeated; the first reason stays. Errors: NotFound if there is no such deployment (any
// more), Unavailable.
func (s *Store) StopDeployment(ctx context.Context, region string, id uuid.UUID, reason string) error {
	if err := s.checkHere(region); err != nil {
		return err
	}
	err := s.frame.InTx(ctx, func(q *query.Queries) error {
		stopped, err := q.StopDeployment(ctx,
			query.StopDeploymentParams{Region: region, ID: id, Reason: reason, Now: s.virtualNow()})
		if err != nil || stopped {
			return err
		}
		// Nothing was stopped: the deployment ends already, or there is none.
		_, err = q.DeploymentPhase(ctx, query.DeploymentPhaseParams{Region: region, ID: id})
		if errors.Is(err, pgx.ErrNoRows) {
			return fault.New(fault.NotFound, "deployment_unknown", "there is no deployment %s in region %q", id, region)
		}
		return err
	})
	if err != nil {
		return frame.Classify(err)
	}
	s.sendNotice(notify.TopicDeployments, region)
	return nil
}
