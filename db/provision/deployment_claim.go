package provision

import (
	"context"
	"net/netip"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/provider"
)

// ClaimedDeployment is a deployment that a worker has claimed for one step.
type ClaimedDeployment struct {
	Deployment
	OpenSessions   int    // of its instance
	RefusedBecause string // why the last registration of its server was refused; "": it was not
	// PausedUntil is until when its app version starts no servers in its region, after failures; in the past: no pause.
	PausedUntil time.Time
	PoolCoords  *provider.Coords // of its pool; nil: none
	ClaimedAt   time.Time        // when it was claimed, by the database's clock
	wokenAt     time.Time        // when it was last woken before the claim
	claimLease  uuid.UUID
}

// DeploymentClaim says which deployments a worker claims.
type DeploymentClaim struct {
	Region   string
	Provider string
	// Owner is that of the worker's installation. If the database has stored another owner, nothing is claimed.
	Owner   provider.Owner
	HoldFor time.Duration // after which others may claim them again
	Batch   int           // the largest number of deployments
}

// ClaimDeployments claims due deployments, the longest due first. It skips those that others have claimed or locked.
// Errors: Unavailable.
func (s *Store) ClaimDeployments(ctx context.Context, c DeploymentClaim) ([]ClaimedDeployment, error) {
	// The lease names this claim: ReleaseDeployment and PutBackDeployments end no later one.
	lease := uuid.New()
	rows, err := s.frame.Queries.ClaimDeployments(ctx, query.ClaimDeploymentsParams{
		Region: c.Region, Provider: c.Provider, Now: s.virtualNow(), Owner: ownerText(c.Owner), Batch: int32(c.Batch),
		Lease: lease, Hold: c.HoldFor,
	})
	if err != nil {
		return nil, frame.Classify(err)
	}
	claimed := make([]ClaimedDeployment, len(rows))
	for i := range rows {
		claimed[i] = claimedDeployment(&rows[i], c, lease)
	}
	return claimed, nil
}

// ownerText returns an owner as the parameter of a statement whose column may be NULL.
func ownerText(o provider.Owner) *string {
	text := string(o)
	return &text
}

func claimedDeployment(r *query.ClaimDeploymentsRow, c DeploymentClaim, lease uuid.UUID) ClaimedDeployment {
	d := ClaimedDeployment{
		Deployment: Deployment{
			Region: c.Region, ID: r.ID, App: r.App, Version: r.Version, Provider: c.Provider, Tag: provider.Tag(r.Tag),
			Origin:   r.Origin,
			MustStop: r.Stop, Phase: DeploymentPhase(r.Phase), Generation: r.Generation, DeployAttempts: int(r.Attempt),
			IntentAt: r.IntentAt,
			Ref:      provider.Ref(r.Ref), ClaimedRef: provider.Ref(r.ClaimedRef), PollCount: int(r.Polls),
			FindAt:       r.FindAt,
			MissingSince: r.MissingSince, Address: addrOrZero(r.Address),
			ProviderReadyAt: r.ProviderReadyAt, RegisteredAt: r.RegisteredAt, ReadyAt: r.ReadyAt, LostAt: r.LostAt,
			DrainAt: r.DrainAt, EndsAt: r.EndsAt, StopAt: r.StopAt, SealedKey: r.NetcodeKey, SealedBy: r.SealedBy,
			Reason: r.Reason, CreatedAt: r.CreatedAt,
		},
		OpenSessions: int(r.OpenSessions), RefusedBecause: r.Refused, PausedUntil: r.PausedUntil,
		ClaimedAt: r.ClaimedAt,
		wokenAt:   r.WokenAt, claimLease: lease,
	}
	// A check of the table allows both or none.
	if r.Latitude != nil && r.Longitude != nil {
		d.PoolCoords = &provider.Coords{Latitude: *r.Latitude, Longitude: *r.Longitude}
	}
	return d
}

func addrOrZero(a *netip.Addr) netip.Addr {
	if a == nil {
		return netip.Addr{}
	}
	return *a
}

// PutBackDeployments ends the claims of deployments that were claimed together, without a step. Each becomes due at the
// time in next at its index, or at once if it was woken meanwhile. Errors: Unavailable; the claims then end by
// themselves.
func (s *Store) PutBackDeployments(ctx context.Context, claimed []ClaimedDeployment, next []time.Time) error {
	if len(claimed) == 0 {
		return nil
	}
	p := query.PutBackDeploymentsParams{Region: claimed[0].Region, Lease: claimed[0].claimLease, Nexts: next}
	for i := range claimed {
		p.Ids = append(p.Ids, claimed[i].ID)
		p.Wakes = append(p.Wakes, claimed[i].wokenAt)
	}
	return frame.Classify(s.frame.Queries.PutBackDeployments(ctx, p))
}

// ClaimOwner stores the owner of this installation's deployments, if none is stored, and returns the stored one.
// Errors: Unavailable.
func (s *Store) ClaimOwner(ctx context.Context, o provider.Owner) (provider.Owner, error) {
	stored, err := s.frame.Queries.ClaimOwner(ctx, string(o))
	return provider.Owner(stored), frame.Classify(err)
}
