package opsview

import (
	"context"
	"reflect"
)

// Definition is a view and the columns of its struct, for the test that compares both.
type Definition struct {
	View    string
	Columns []string // in the order of the fields
	Derived []string // those of them that have a sql tag: the view may not have them
	Read    func(context.Context, Querier) error
}

// AllViews returns the definitions of all views.
func AllViews() []Definition {
	return []Definition{
		define(Agents), define(Rooms), define(Commands),
		define(Fleet), define(InstanceRegions), define(Regions), define(Drains), define(Evacuations), define(EvacuatedPlayers),
		define(Sessions), define(PastSessions), define(SessionLifetimes), define(Seats), define(SeatsOfPlayer),
		define(PastSeats),
		define(Refusals), define(RecentRefusals), define(PlayerTickets), define(QueuedPlayers), define(TicketStates),
		define(StoredPlayers),
		define(Queues), define(Profiles), define(TicketsWaiting), define(WaitingTickets), define(QueueWaits), define(Estimates),
		define(ShadowQualities),
		define(Matches), define(PastMatches), define(MatchMinutes),
		define(LobbyTotals), define(Lobbies), define(LobbySessionsOfPlayer), define(LobbyMembers), define(ProjectKeys),
		define(Deployments), define(Pools), define(PoolLimits), define(PoolSchedules), define(Forecasts), define(ForecastErrors),
		define(Beacons), define(Cells), define(GameRegions), define(RegionMoves), define(Providers), define(Budgets),
		define(Outlooks), define(Capacities), define(Demands),
		define(Events), define(EventFeed), define(Webhooks), define(WebhookDeliveries), define(RecordedEvents),
		define(Amnesties), define(AgentReplicas), define(LobbyReplicas), define(Processes), define(WorkerLoops),
		define(Snapshots), define(Partitions),
		define(Invariants), define(Keys), define(KeyEncryptionKeys),
		define(Enrolments), define(ServerCredentials),
		define(Valves), define(Admissions), define(Erasures),
	}
}

func define[T any, F Filter](v View[T, F]) Definition {
	d := Definition{View: v.name, Read: func(ctx context.Context, q Querier) error {
		var everything F
		_, err := v.Read(ctx, q, everything, Page{Limit: 1})
		return err
	}}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		if column, ok := f.Tag.Lookup("db"); ok && column != "-" {
			d.Columns = append(d.Columns, column)
			if _, derived := f.Tag.Lookup("sql"); derived {
				d.Derived = append(d.Derived, column)
			}
		}
	}
	return d
}
