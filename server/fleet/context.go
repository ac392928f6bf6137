package fleet

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/provider"
	"github.com/lattice-director/director/server/rest"
)

// ContextStore is the part of db.Store that serves /fleet/context.
type ContextStore interface {
	FindDeploymentPlace(ctx context.Context, region string, id uuid.UUID) (provision.DeploymentPlace, error)
	StopDeployment(ctx context.Context, region string, id uuid.UUID, reason string) error
}

// Context configures /fleet/context. Store is required.
type Context struct {
	Store      ContextStore
	MaxWaiters int // game servers that wait at a time
	// CallTimeout bounds each read of a waiting call; 0 means 900 ms.
	CallTimeout time.Duration
	// Stopping ends waiting calls when it is closed; nil: never.
	Stopping <-chan struct{}

	waitFor, pollEvery time.Duration // 0 means contextWait and contextPoll
}

const (
	// contextWait is how long a call waits for the address. Servers that were built for Edgegap call once and do not
	// retry; proxies end calls without an answer after 30 s or more.
	contextWait = 25 * time.Second
	contextPoll = time.Second
)

type contextFace struct {
	options Context
	waiters *waiters
}

// deploymentContext is the answer in the form of Edgegap.
type deploymentContext struct {
	RequestID    string                   `json:"request_id"`
	PublicIP     string                   `json:"public_ip"`
	FQDN         string                   `json:"fqdn"`
	Status       string                   `json:"status"`
	Ready        bool                     `json:"ready"`
	AppName      string                   `json:"app_name"`
	AppVersion   string                   `json:"app_version"`
	Sockets      int                      `json:"sockets"`
	SocketsUsage int                      `json:"sockets_usage"`
	Ports        map[string]provider.Port `json:"ports"`
	Location     deploymentLocation       `json:"location"`
	Tags         []string                 `json:"tags"`
}

type deploymentLocation struct {
	City      string `json:"city"`
	Country   string `json:"country"`
	Continent string `json:"continent"`
	Division  string `json:"administrative_division"`
	Timezone  string `json:"timezone"`
}

// contextOf returns the answer for a place. Edgegap's fqdn is never empty, so it is the address here.
func contextOf(d *provision.Joining, p provision.DeploymentPlace) deploymentContext {
	c := deploymentContext{
		RequestID: d.ID.String(), PublicIP: p.PublicIP, FQDN: p.PublicIP, Status: "Status.DEPLOYING", Ready: p.IsReady,
		AppName: p.App, AppVersion: p.Version,
		Ports: p.Ports, Location: deploymentLocation{City: p.Location}, Tags: []string{string(p.Tag)},
	}
	if c.Location.City == "" {
		c.Location.City = d.Region
	}
	if p.IsReady {
		c.Status = "Status.READY"
	}
	// Edgegap always sends ports, so a server that was built for it need not expect null.
	if c.Ports == nil {
		c.Ports = map[string]provider.Port{}
	}
	return c
}

// showContext answers when the address is known, or with 503 after contextWait.
func (f contextFace) showContext(ctx context.Context, _ rest.In[rest.None]) (deploymentContext, error) {
	d := deploymentOf(ctx)
	if err := checkSpeaker(ctx, d.ID.String()); err != nil {
		return deploymentContext{}, err
	}
	place, err := f.readPlace(ctx, d)
	if err != nil {
		return deploymentContext{}, err
	}
	if place.PublicIP == "" {
		if place, err = f.awaitPlace(ctx, d); err != nil {
			return deploymentContext{}, err
		}
	}
	return contextOf(d, place), nil
}

func (f contextFace) readPlace(ctx context.Context, d *provision.Joining) (provision.DeploymentPlace, error) {
	ctx, cancel := context.WithTimeout(ctx, f.options.CallTimeout)
	defer cancel()
	return f.options.Store.FindDeploymentPlace(ctx, d.Region, d.ID)
}

// awaitPlace waits until the address is known. An unreachable database counts as not known.
func (f contextFace) awaitPlace(ctx context.Context, d *provision.Joining) (provision.DeploymentPlace, error) {
	w, err := f.waiters.joinWaiter(d.ID.String(), time.Now())
	if err != nil {
		return provision.DeploymentPlace{}, err
	}
	defer f.waiters.leaveWaiter(w)
	over, poll := time.NewTimer(f.options.waitFor), time.NewTicker(f.options.pollEvery)
	defer over.Stop()
	defer poll.Stop()
	for {
		select {
		// There is no notification: the address comes once, seconds after the start, and few servers wait.
		case <-poll.C:
		// An answer without an address would make the server announce an empty one.
		case <-over.C:
			return provision.DeploymentPlace{}, tooEarly()
		case <-w.displaced:
			return provision.DeploymentPlace{}, tooEarly()
		case <-f.options.Stopping:
			return provision.DeploymentPlace{}, tooEarly()
		case <-ctx.Done():
			return provision.DeploymentPlace{}, ctx.Err()
		}
		place, err := f.readPlace(ctx, d)
		if err != nil && !fault.Is(err, fault.Unavailable) || err == nil && place.PublicIP != "" {
			return place, err
		}
	}
}

func tooEarly() error {
	return &fault.Error{Kind: fault.Unavailable, Code: "unavailable",
		Detail: "the provider has not said the address yet: retry", RetryAfter: time.Second}
}

// endDeployment stops the deployment of the caller, as a server at Edgegap can.
func (f contextFace) endDeployment(ctx context.Context, _ rest.In[rest.None]) (rest.None, error) {
	d := deploymentOf(ctx)
	if err := checkSpeaker(ctx, d.ID.String()); err != nil {
		return rest.None{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, f.options.CallTimeout)
	defer cancel()
	err := f.options.Store.StopDeployment(ctx, d.Region, d.ID, "server_asked")
	// The caller's token proves that the deployment existed, so a row that is gone means that it is over.
	if fault.Is(err, fault.NotFound) {
		return rest.None{}, &fault.Error{Kind: fault.Gone, Code: "deployment_over", Detail: "the deployment is over"}
	}
	return rest.None{}, err
}
