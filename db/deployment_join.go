package db

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/db/internal/value"
	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/endpoint"
	"github.com/lattice-director/director/internal/base/fault"
)

// maxBoots is how often a server may start within ten minutes before its deployment has failed.
const maxBoots = 5

// completeRegistration checks that a registration stays within its app version, and returns the registration with the
// values that the deployment decides. It locks nothing: the columns that it reads do not change once a server has
// started.
func completeRegistration(ctx context.Context, q *query.Queries, r Registration) (Registration, error) {
	d, err := q.DeploymentOf(ctx, query.DeploymentOfParams{Region: r.Joining.Region, ID: r.Joining.ID,
		ProviderRef: orNull(r.ProviderRef)})
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return r, provision.DeploymentOver(r.Joining.ID)
	case err != nil:
		return r, err
	}
	if err := allowRegistration(d, r); err != nil {
		return r, err
	}
	if r.CertDigest != "" {
		if r.CertDigest, err = normalDigest(r.CertDigest); err != nil {
			return r, err
		}
	}
	// The server may want fewer sessions than its app version allows.
	if d.MaxSessions != nil && (r.MaxSessions == nil || *r.MaxSessions > int(*d.MaxSessions)) {
		r.MaxSessions = value.IntOrNil(d.MaxSessions)
	}
	// A server that registers again keeps the endpoint that its deployment has already.
	if d.Endpoint != nil {
		r.Endpoint = *d.Endpoint
	}
	return r, nil
}

// allowRegistration refuses a registration that offers more than its app version allows.
func allowRegistration(d query.DeploymentOfRow, r Registration) error {
	switch {
	case r.InstanceID != r.Joining.ID.String():
		return outside("instance_id", "its token is valid for instance %s alone", r.Joining.ID)
	case r.Region != r.Joining.Region:
		return outside("region", "its token is valid for region %s alone", r.Joining.Region)
	case r.Capacity > int(d.Capacity):
		return outside("capacity", "its app version has a capacity of %d", d.Capacity)
	// A server belongs to one deployment. The index one_deployment_has_a_ref makes sure of that when a claim is
	// adopted.
	case r.ProviderRef != "" && d.RefTaken:
		return outside("provider_ref", "another deployment has this server")
	// Another server was started for the deployment: a second one must not play.
	case r.ProviderRef != "" && d.Ref != "" && d.Ref != r.ProviderRef:
		return fault.New(fault.Gone, "deployment_over",
			"deployment %s has another server than provider_ref: stop, do not register again", r.Joining.ID)
	}
	for _, mode := range r.Modes {
		if !slices.Contains(d.Modes, mode) {
			return outside("modes", "its app version has no mode %q", mode)
		}
	}
	if d.DialledByRegistration && r.Endpoint != "" && !endpoint.IsDialableAddress(r.Endpoint) {
		err := fault.New(fault.Invalid, "invalid_request",
			"must be an IP address and a port, such as 203.0.113.7:7777: netcode connect tokens hold no host names")
		err.Field = "endpoint"
		return err
	}
	return nil
}

func outside(field, format string, args ...any) error {
	return fault.New(fault.Forbidden, "outside_deployment", "the deployment may not register this %s: %s", field,
		fmt.Sprintf(format, args...))
}

// digestHex is the length of a SHA-256 in hex.
const digestHex = 64

// normalDigest returns the SHA-256 of a certificate in the form that is handed to players: aa:bb:…
func normalDigest(text string) (string, error) {
	hex := strings.ToLower(strings.ReplaceAll(text, ":", ""))
	// Trim leaves "" only of a text that consists of hexadecimal digits.
	if len(hex) != digestHex || strings.Trim(hex, "0123456789abcdef") != "" {
		err := fault.New(fault.Invalid, "invalid_request", "must be a SHA-256 in hex, with or without colons")
		err.Field = "cert_digest"
		return "", err
	}
	pairs := make([]string, 0, digestHex/2)
	for i := 0; i < digestHex; i += 2 {
		pairs = append(pairs, hex[i:i+2])
	}
	return strings.Join(pairs, ":"), nil
}

// joinDeployment ties a deployment to the incarnation that its server has just registered, and makes the deployment
// ready if nothing is missing. A deployment whose server has started too often fails: the failure is stored, and
// Deployed says that the registration is to be refused. Errors: Gone, for a deployment that is over.
func joinDeployment(ctx context.Context, q *query.Queries, r Registration, incarnation uuid.UUID) (*Deployed, error) {
	region, id := r.Joining.Region, r.Joining.ID
	d, err := q.JoinDeployment(ctx, query.JoinDeploymentParams{
		Region: region, ID: id, Incarnation: &incarnation, BootID: orNull(r.BootID), CertDigest: orNull(r.CertDigest),
		ProviderRef: orNull(r.ProviderRef), TokensBy: &r.Joining.TokenBy, MaxBoots: maxBoots,
	})
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil, provision.DeploymentOver(id)
	case err != nil:
		return nil, err
	}
	switch d.Phase {
	case "failed":
		// The transaction commits nevertheless: the failure of the deployment must stay. Registered.refused then turns
		// the answer into an error.
		return &Deployed{hasFailed: true}, endInstance(ctx, q, region, r.InstanceID, provision.ReasonTooManyBoots)
	case "draining":
		dialled := r.Endpoint
		// Read under the lock: the endpoint may have been decided after completeRegistration read the deployment.
		if d.Endpoint != nil {
			dialled = *d.Endpoint
		}
		if err := q.ShowInstance(ctx, query.ShowInstanceParams{Region: region, ID: r.InstanceID, Status: "draining",
			Endpoint: dialled}); err != nil {
			return nil, err
		}
	case "starting", "ready":
		// A new incarnation begins as starting, even if the deployment is ready. In the phases before, a worker makes
		// it ready: JoinDeployment has made the deployment due.
		if _, err := provision.MakeReady(ctx, q, region, id); err != nil {
			return nil, err
		}
	}
	return readDeployed(ctx, q, region, id)
}

// readDeployed reads the deployment's part of the answer to a registration.
func readDeployed(ctx context.Context, q *query.Queries, region string, id uuid.UUID) (*Deployed, error) {
	r, err := q.DeployedInstance(ctx, query.DeployedInstanceParams{Region: region, ID: id})
	if err != nil {
		return nil, err
	}
	return &Deployed{IsReady: r.Status != "starting", Endpoint: r.Endpoint, EndsAt: r.EndsAt, IsEnding: r.Ending}, nil
}
