package provision

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/internal/notify"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/endpoint"
	"github.com/lattice-director/director/provider"
)

// MakeReady lets placement use the server of a deployment, if its provider says that it is ready, it has registered,
// and it has sent the digest of its certificate where its version requires one. It returns whether the server became
// ready now. The caller that writes the last of these facts calls it afterwards; a registration does so by itself.
// Errors: Unavailable.
func (s *Store) MakeReady(ctx context.Context, region string, id uuid.UUID) (ready bool, err error) {
	err = s.frame.InTx(ctx, func(q *query.Queries) error {
		ready, err = MakeReady(ctx, q, region, id)
		return err
	})
	if err != nil {
		return false, frame.Classify(err)
	}
	// Requests that found no capacity may try again.
	if ready {
		s.sendNotice(notify.TopicCapacity, "")
	}
	return ready, nil
}

// MakeReady is [Store.MakeReady] within a transaction that has locked no deployment yet: instances are locked before
// deployments. A deployment without a known endpoint fails.
func MakeReady(ctx context.Context, q *query.Queries, region string, id uuid.UUID) (bool, error) {
	instance, err := q.LockStarting(ctx, query.LockStartingParams{Region: region, ID: id})
	// The deployment does not wait to become ready, or its server has not registered.
	if err != nil {
		return false, ignoreNoRows(err)
	}
	d, err := q.LockReady(ctx, query.LockReadyParams{Region: region, ID: id, Incarnation: &instance.Incarnation})
	// A fact is still missing. The process that writes the last one calls MakeReady again.
	if err != nil {
		return false, ignoreNoRows(err)
	}
	dialled, err := dialledEndpoint(d, instance.Endpoint)
	// Nobody could reach the server, and no later fact would change that: the deployment fails with this reason.
	if err != nil {
		return false, failDeployment(ctx, q, region, id, ReasonNoEndpoint, err)
	}
	if err := q.ReadyDeployment(ctx, query.ReadyDeploymentParams{Region: region, ID: id,
		Endpoint: &dialled}); err != nil {
		return false, err
	}
	if err := q.ForgiveFailures(ctx, query.ForgiveFailuresParams{Region: region, ID: id}); err != nil {
		return false, err
	}
	return true, showReady(ctx, q, region, id.String(), dialled)
}

// showReady makes an instance a candidate of placement, and logs that it is ready.
func showReady(ctx context.Context, q *query.Queries, region, id, endpoint string) error {
	if err := q.ShowInstance(ctx, query.ShowInstanceParams{Region: region, ID: id, Status: "ready",
		Endpoint: endpoint}); err != nil {
		return err
	}
	detail, err := json.Marshal(map[string]any{"endpoint": endpoint})
	if err != nil {
		return err
	}
	if err := q.LogInstance(ctx, query.LogInstanceParams{Region: region, Kind: "instance.ready", InstanceID: &id,
		Detail: detail}); err != nil {
		return err
	}
	return q.RefreshShares(ctx, query.RefreshSharesParams{Region: region, InstanceIds: []string{id}})
}

func failDeployment(ctx context.Context, q *query.Queries, region string, id uuid.UUID, reason string,
	cause error) error {
	text := cause.Error()
	return q.FailDeployment(ctx, query.FailDeploymentParams{Region: region, ID: id, Reason: &reason, LastError: &text})
}

// dialledEndpoint returns the endpoint that players dial: the version's format with the address and port from the
// provider. Where the provider reports no address, as manual does, the endpoint is that of the registration.
func dialledEndpoint(r query.LockReadyRow, registered string) (string, error) {
	if r.Ip == "" {
		return registeredEndpoint(r, registered)
	}
	if !endpoint.IsDialableHost(r.Ip) {
		return "", fmt.Errorf("the provider has reported the address %s, which nobody can dial", r.Ip)
	}
	var ports map[string]provider.Port
	if len(r.Ports) > 0 {
		if err := json.Unmarshal(r.Ports, &ports); err != nil {
			return "", fmt.Errorf("ports: %w", err)
		}
	}
	port, ok := ports[r.GamePort]
	if !ok || port.External == 0 {
		return "", fmt.Errorf("the provider maps no port %q, which players dial", r.GamePort)
	}
	return formatEndpoint(r.Format, r.Ip, port.External), nil
}

func registeredEndpoint(r query.LockReadyRow, registered string) (string, error) {
	if registered == "" {
		return "", errors.New("neither the provider nor the server has reported an address")
	}
	// A connect token holds addresses only, and the server may have registered with a host name.
	if r.Netcode && !endpoint.IsDialableAddress(registered) {
		return "", fmt.Errorf("the provider has reported no IP address, and netcode connect tokens cannot hold %q, which "+
			"the server has reported", registered)
	}
	return registered, nil
}

// formatEndpoint puts an address and a port into a format such as {ip}:{port}. IPv6 addresses get brackets.
func formatEndpoint(format, ip string, port uint16) string {
	if strings.Contains(ip, ":") {
		ip = "[" + ip + "]"
	}
	return strings.NewReplacer("{ip}", ip, "{port}", strconv.Itoa(int(port))).Replace(format)
}

func ignoreNoRows(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	return err
}
