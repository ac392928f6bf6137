// Package manual is a provider that makes no calls: it is for game servers that people start, with the environment that
// `director deployments env` prints.
//
// It cannot see whether a server runs. A deployment of it is ready for the provider from the beginning; it becomes
// ready for players when its server has registered, and counts as alive as long as that server sends heartbeats. Its
// address and ports are those that the server registers. Stop has nothing to stop: the director ends the deployment,
// and refuses the server's next heartbeat.
package manual

import (
	"context"
	"errors"
	"time"

	"github.com/lattice-director/director/provider"
)

// Provider makes no calls. The zero value is ready for use.
type Provider struct{}

var _ provider.Provider = Provider{}

// Capabilities implements provider.Provider.
func (Provider) Capabilities() provider.Capabilities { return provider.Capabilities{NativeNames: true} }

// Deploy implements provider.Provider. The ref is the tag.
func (Provider) Deploy(ctx context.Context, s provider.Spec) (provider.Observation, error) {
	if err := s.Check(); err != nil {
		return provider.Observation{}, err
	}
	if err := ctx.Err(); err != nil {
		return provider.Observation{}, provider.Fail(provider.Transient, "deploy", err)
	}
	return observeTag(s.Tag), nil
}

// Get implements provider.Provider. Each tag is that of a ready deployment.
func (Provider) Get(ctx context.Context, ref provider.Ref) (provider.Observation, error) {
	if err := ctx.Err(); err != nil {
		return provider.Observation{}, provider.Fail(provider.Transient, "get", err)
	}
	if tag := provider.Tag(ref); tag.Valid() {
		return observeTag(tag), nil
	}
	return provider.Observation{Ref: ref, Phase: provider.PhaseAbsent}, nil
}

// Find implements provider.Provider.
func (p Provider) Find(ctx context.Context, _ provider.Owner, tag provider.Tag) ([]provider.Observation, error) {
	if err := ctx.Err(); err != nil {
		return nil, provider.Fail(provider.Transient, "find", err)
	}
	if !tag.Valid() {
		return nil, nil
	}
	return []provider.Observation{observeTag(tag)}, nil
}

// Stop implements provider.Provider. Its error has the kind Gone, always.
func (Provider) Stop(ctx context.Context, _ provider.Ref, _ time.Duration) error {
	if err := ctx.Err(); err != nil {
		return provider.Fail(provider.Transient, "stop", err)
	}
	return provider.Fail(provider.Gone, "stop", errors.New("whoever started the server ends it"))
}

// List implements provider.Provider. Its error has the kind Permanent, always.
func (Provider) List(context.Context, provider.Owner, string) (provider.Page, error) {
	return provider.Page{}, provider.Fail(provider.Permanent, "list",
		errors.New("servers that people start cannot be listed"))
}

func observeTag(tag provider.Tag) provider.Observation {
	return provider.Observation{Ref: provider.Ref(tag), Tag: tag, Phase: provider.PhaseReady, Raw: "manual"}
}
