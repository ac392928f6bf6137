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

	usesWebhooks = "webhooks"
	usesValves   = "valves"
)

// usage knows which capabilities an installation uses, so that the navigation shows no page that stays empty. Safe for
// concurrent use.
type usage struct {
	mu               sync.Mutex
	usedCapabilities map[string]bool
	readAt           time.Time // when the last reading began
}

// usageAge is how old the knowledge may be: a capability that is used now appears after at most so long.
const usageAge = 15 * time.Second

// usageTimeout bounds a reading, since a page waits for it.
const usageTimeout = time.Second

// latest returns the capabilities that are used; all of them as long as none was read. One request reads at a time, and
// others use what is known: while the database gives no answer, no page waits for the reading of another one.
func (u *usage) latest(ctx context.Context, s Store, now time.Time) map[string]bool {
	known, mustRead := u.claimReading(now)
	if !mustRead {
		return known
	}
	ctx, cancel := context.WithTimeout(ctx, usageTimeout)
	defer cancel()
	read, err := readViews(ctx, s, readUsage)
	// An error of the database is shown by the page itself, if it reads anything; the navigation does not.
	if err != nil {
		return known
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.usedCapabilities = read
	return read
}

// claimReading returns what was read last, and whether the caller has to read it again. It asks one caller in each
// usageAge to do so.
func (u *usage) claimReading(now time.Time) (capabilities map[string]bool, mustRead bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	mustRead = now.Sub(u.readAt) >= usageAge
	if mustRead {
		// The time is set before the caller reads, so that others do not read as well. If the reading fails, the next one
		// follows after usageAge.
		u.readAt = now
	}
	// Nothing was read yet: a link to an empty page is better than a page that nobody finds.
	if u.usedCapabilities == nil {
		return map[string]bool{usesAgents: true, usesLobby: true, usesPools: true,
			usesWebhooks: true, usesValves: true}, mustRead
	}
	return u.usedCapabilities, mustRead
}

// signsOfUse are the rows that show that a capability is used: any one of them is enough.
var signsOfUse = []struct {
	capability string
	isThere    func(context.Context, opsview.Querier) (bool, error)
}{
	{usesAgents, anyRow(opsview.Agents, opsview.AgentFilter{})},
	// A project with keys is set up, though nobody may be in its rooms now.
	{usesLobby, anyRow(opsview.ProjectKeys, opsview.Any{})},
	{usesLobby, anyRow(opsview.LobbyRooms, opsview.LobbyRoomFilter{})},
	{usesPools, anyRow(opsview.Pools, opsview.PoolFilter{})},
	{usesPools, anyRow(opsview.Deployments, opsview.DeploymentFilter{})},
	{usesWebhooks, anyRow(opsview.Webhooks, opsview.WebhookFilter{})},
	{usesValves, anyRow(opsview.Valves, opsview.ValveFilter{})},
}

// readUsage returns for each capability whether the installation uses it.
func readUsage(ctx context.Context, q opsview.Querier) (map[string]bool, error) {
	used := map[string]bool{}
	for _, sign := range signsOfUse {
		// One sign is enough, and each costs a query.
		if used[sign.capability] {
			continue
		}
		found, err := sign.isThere(ctx, q)
		if err != nil {
			return nil, err
		}
		used[sign.capability] = found
	}
	return used, nil
}

// anyRow returns a function that reports whether a filter selects any row of a view.
func anyRow[T any, F opsview.Filter](v opsview.View[T, F], f F) func(context.Context, opsview.Querier) (bool, error) {
	return func(ctx context.Context, q opsview.Querier) (bool, error) {
		rows, err := v.Read(ctx, q, f, opsview.Page{Limit: 1})
		return len(rows) > 0, err
	}
}
