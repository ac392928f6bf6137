package opsview

import (
	"context"
	"reflect"
)

// Definition is a view and the columns of its struct, for the test that compares both.
type Definition struct {
	View    string
	Columns []string // in the order of the fields
	Derived []string // columns with a sql tag, which the view need not have under these names
	Read    func(context.Context, Querier) error
}

// AllViews returns the definitions of all views.
func AllViews() []Definition {
	return []Definition{
		defineView(Agents), defineView(Rooms), defineView(Commands),
		defineView(Fleet), defineView(InstanceRegions), defineView(Regions), defineView(Drains),
		defineView(Evacuations), defineView(EvacuatedPlayers),
		defineView(Sessions), defineView(PastSessions), defineView(SessionLifetimes), defineView(Seats),
		defineView(SeatsOfPlayer),
		defineView(PastSeats),
		defineView(Refusals), defineView(RecentRefusals), defineView(PlayerTickets), defineView(QueuedPlayers),
		defineView(TicketStates),
		defineView(StoredPlayers),
		defineView(Queues), defineView(Profiles), defineView(TicketsWaiting), defineView(WaitingTickets),
		defineView(QueueWaits), defineView(Estimates),
		defineView(ShadowQualities),
		defineView(Matches), defineView(PastMatches), defineView(MatchMinutes),
		defineView(LobbyTotals), defineView(LobbyRooms), defineView(LobbySessionsOfPlayer), defineView(LobbyMembers),
		defineView(ProjectKeys),
		defineView(Deployments), defineView(Pools), defineView(PoolLimits), defineView(PoolSchedules),
		defineView(Forecasts), defineView(ForecastErrors),
		defineView(Beacons), defineView(Cells), defineView(GameRegions), defineView(RegionMoves),
		defineView(RegionObstacles), defineView(Providers),
		defineView(Budgets),
		defineView(Outlooks), defineView(Capacities), defineView(Demands),
		defineView(Events), defineView(EventFeed), defineView(Webhooks), defineView(WebhookDeliveries),
		defineView(RecordedEvents),
		defineView(Amnesties), defineView(AgentReplicas), defineView(LobbyReplicas), defineView(Processes),
		defineView(WorkerLoops),
		defineView(Snapshots), defineView(Partitions),
		defineView(Invariants), defineView(Keys), defineView(KeyEncryptionKeys),
		defineView(Enrolments), defineView(ServerCredentials),
		defineView(Valves), defineView(ValveEstimates), defineView(Admissions), defineView(Erasures),
	}
}

func defineView[T any, F Filter](v View[T, F]) Definition {
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
