package console

import (
	"context"
	"sync"
	"time"

	"github.com/lattice-director/director/db/opsview"
)

// The capabilities whose pages an installation may not need.
const (
	usesAgents = "agents"
	usesLobby  = "lobby"
	usesPools  = "pools"
)

// usage knows which capabilities an installation uses, so that the navigation shows no page that stays empty. Safe for
// concurrent use.
type usage struct {
	mu           sync.Mutex
	capabilities map[string]bool
	readAt       time.Time
}

// usageAge is how old the knowledge may be: a capability that is new appears after as long.
const usageAge = 15 * time.Second

// latest returns what is used; all of it while the database gives no answer.
func (u *usage) latest(ctx context.Context, s Store, now time.Time) map[string]bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.capabilities != nil && now.Sub(u.readAt) < usageAge {
		return u.capabilities
	}
	used, err := readAll(ctx, s, readUsage)
	if err != nil {
		return map[string]bool{usesAgents: true, usesLobby: true, usesPools: true}
	}
	u.capabilities, u.readAt = used, now
	return used
}

func readUsage(ctx context.Context, q opsview.Querier) (map[string]bool, error) {
	one := opsview.Page{Limit: 1}
	agents, err := opsview.Agents.Read(ctx, q, opsview.AgentFilter{}, one)
	if err != nil {
		return nil, err
	}
	keys, err := opsview.ProjectKeys.Read(ctx, q, opsview.Any{}, one)
	if err != nil {
		return nil, err
	}
	rooms, err := opsview.Lobbies.Read(ctx, q, opsview.LobbyFilter{}, one)
	if err != nil {
		return nil, err
	}
	pools, err := opsview.Pools.Read(ctx, q, opsview.PoolFilter{}, one)
	if err != nil {
		return nil, err
	}
	deployments, err := opsview.Deployments.Read(ctx, q, opsview.DeploymentFilter{}, one)
	return map[string]bool{
		usesAgents: len(agents) > 0, usesLobby: len(keys)+len(rooms) > 0, usesPools: len(pools)+len(deployments) > 0,
	}, err
}
