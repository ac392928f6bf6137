package db

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/act"
	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/internal/value"
	"github.com/lattice-director/director/db/query"
)

// MaxReason bounds the reason of a change by a person, in characters.
const MaxReason = value.MaxReason

// Act changes the fleet in the name of a person, by the functions of schema ops, which write an event with that name.
// It is for one person and safe for concurrent use.
type Act struct {
	store  *Store
	actor  string
	reason string
}

// As returns an Act in the name of a person. The actor is the person's name in events, such as "console:ada"; at most
// 200 characters count. If it is "", events name the login of the database; they also do when that login may not name
// another actor.
func (s *Store) As(actor string) Act { return Act{store: s, actor: actor} }

// Because returns an Act whose events have a reason in their detail. RotateKeys ignores it; functions that require a
// reason take it as an argument.
func (a Act) Because(reason string) Act {
	a.reason = reason
	return a
}

// Drain lets no new players onto a game server until Undrain, also after the game server restarts. changed is false if
// an operator drained it before. Errors: NotFound, Unavailable.
func (a Act) Drain(ctx context.Context, instance string) (changed bool, err error) {
	return callAct(ctx, a, (*query.Queries).OpsDrain, instance)
}

// Undrain lets players onto a draining game server again. Errors: NotFound; Conflict, if the game server is gone, or is
// starting and was not drained, if an operator keeps its host or label drained, and if its deployment ends;
// Unavailable.
func (a Act) Undrain(ctx context.Context, instance string) (changed bool, err error) {
	return callMakingRoom(ctx, a, (*query.Queries).OpsUndrain, instance)
}

// DrainHost lets no new players onto the game servers whose endpoint is on a host, nor onto those that register there
// later. An empty region means all regions. Errors: Invalid, Unavailable.
func (a Act) DrainHost(ctx context.Context, host, region string) (changed bool, err error) {
	return callAct(ctx, a, (*query.Queries).OpsDrainHost, query.OpsDrainHostParams{Host: host, Region: region})
}

// UndrainHost ends a drain that DrainHost began. Errors: NotFound, Unavailable.
func (a Act) UndrainHost(ctx context.Context, host, region string) (changed bool, err error) {
	return callMakingRoom(ctx, a, (*query.Queries).OpsUndrainHost,
		query.OpsUndrainHostParams{Host: host, Region: region})
}

// DrainLabel is DrainHost for the game servers with a label, given as key=value.
func (a Act) DrainLabel(ctx context.Context, label, region string) (changed bool, err error) {
	return callAct(ctx, a, (*query.Queries).OpsDrainLabel, query.OpsDrainLabelParams{Label: label, Region: region})
}

// UndrainLabel ends a drain that DrainLabel began. Errors: NotFound, Unavailable.
func (a Act) UndrainLabel(ctx context.Context, label, region string) (changed bool, err error) {
	return callMakingRoom(ctx, a, (*query.Queries).OpsUndrainLabel,
		query.OpsUndrainLabelParams{Label: label, Region: region})
}

// CloseSession closes a session, given as region.uuid. Errors: Invalid, for a malformed id and an empty reason;
// NotFound; Conflict when it was closed before; Unavailable.
func (a Act) CloseSession(ctx context.Context, session, reason string) error {
	closeSession := func(q *query.Queries, ctx context.Context, p query.OpsCloseSessionParams) (bool, error) {
		return true, q.OpsCloseSession(ctx, p)
	}
	_, err := callMakingRoom(ctx, a, closeSession, query.OpsCloseSessionParams{Session: session, Reason: reason})
	return err
}

// FreeSeat frees the seat of a player in a session, given as region.uuid. A session that is empty then is closed. The
// game server decides what becomes of a player who is connected. changed is false if the player left before. Errors:
// Invalid, for a malformed id and for a reason that has not 1 to 500 characters; NotFound; Unavailable.
func (a Act) FreeSeat(ctx context.Context, session, player, reason string) (changed bool, err error) {
	return callMakingRoom(ctx, a, (*query.Queries).OpsFreeSeat,
		query.OpsFreeSeatParams{Session: session, Player: player, Reason: reason})
}

// CancelTicket takes the ticket of a player or party in a universe out of the queue. Sessions and rooms of the realtime
// lobby that wait with the ticket are notified by a worker. changed is false if the ticket left before. Errors:
// Invalid, for a reason that has not 1 to 500 characters; NotFound; Conflict, while its players are asked whether they
// accept a match, and for a ticket of an Open Match client; Unavailable.
func (a Act) CancelTicket(ctx context.Context, universe, ticket, reason string) (changed bool, err error) {
	changed, err = callAct(ctx, a, (*query.Queries).OpsCancelTicket,
		query.OpsCancelTicketParams{Universe: universe, Ticket: ticket, Reason: reason})
	if changed && err == nil {
		a.store.notifyLeft(universe)
	}
	return changed, err
}

// TaintKey takes a signing key out of use at once. changed is false if the key was tainted before. Errors: NotFound,
// Unavailable.
func (a Act) TaintKey(ctx context.Context, kid string) (changed bool, err error) {
	return callAct(ctx, a, (*query.Queries).OpsTaintKey, kid)
}

// RotateKeys is [Store.RotateKeys] in the name of the person, or of the login of the database.
func (a Act) RotateKeys(ctx context.Context, r SigningKeyRotation) ([]SigningKey, error) {
	return a.store.rotateKeys(ctx, r, a.actor)
}

// NewEnrolment is what an enrolment allows.
type NewEnrolment struct {
	Region       string
	Name         string        // 1 to 64 letters, digits and . _ -
	AllowedModes []string      // modes that its servers may offer; none: any
	MaxServers   int32         // how many may run at one time, 1 to 100,000
	ValidFor     time.Duration // for how long its token registers servers
}

// CreateEnrolment makes an enrolment and returns its token, which cannot be read again. Errors: Invalid; Conflict, for
// a name that is taken; Unavailable.
func (a Act) CreateEnrolment(ctx context.Context, n NewEnrolment) (token string, err error) {
	_, err = callAct(ctx, a, func(q *query.Queries, ctx context.Context,
		p query.OpsCreateEnrolmentParams) (bool, error) {
		var err error
		token, err = q.OpsCreateEnrolment(ctx, p)
		return true, err
	}, query.OpsCreateEnrolmentParams{Region: n.Region, Name: n.Name, Modes: append([]string{}, n.AllowedModes...),
		MaxServers: n.MaxServers, ValidFor: n.ValidFor})
	return token, err
}

// RevokeEnrolment lets the token of an enrolment register no more servers. With andServers it also revokes the
// credentials of the servers that the token has registered. Errors: NotFound, Unavailable.
func (a Act) RevokeEnrolment(ctx context.Context, region, name string, andServers bool) (changed bool, err error) {
	return callAct(ctx, a, (*query.Queries).OpsRevokeEnrolment,
		query.OpsRevokeEnrolmentParams{Region: region, Name: name, Servers: andServers})
}

// RevokeServer revokes the credential that a game server got by an enrolment, and ends its registration. Errors:
// NotFound, Unavailable.
func (a Act) RevokeServer(ctx context.Context, instance string) (changed bool, err error) {
	return callAct(ctx, a, (*query.Queries).OpsRevokeServer, instance)
}

// DrainAgent keeps the game server of an agent drained. Errors: NotFound, Unavailable.
func (a Act) DrainAgent(ctx context.Context, agent string) (changed bool, err error) {
	return callAct(ctx, a, (*query.Queries).OpsDrainAgent, agent)
}

// UndrainAgent ends a drain that DrainAgent began. Errors: NotFound, Unavailable.
func (a Act) UndrainAgent(ctx context.Context, agent string) (changed bool, err error) {
	return callAct(ctx, a, (*query.Queries).OpsUndrainAgent, agent)
}

// StopDeployment ends a deployment. Errors: Invalid, for a reason that has not 1 to 500 characters; NotFound;
// Unavailable.
func (a Act) StopDeployment(ctx context.Context, deployment uuid.UUID, reason string) (changed bool, err error) {
	return callAct(ctx, a, (*query.Queries).OpsStopDeployment,
		query.OpsStopDeploymentParams{Deployment: deployment, Reason: reason})
}

// ScalePool sets the least and the most servers of a pool; nil leaves a number as it is. Errors: Invalid, unless 0 <=
// least <= most <= 100,000; NotFound; Unavailable.
func (a Act) ScalePool(ctx context.Context, region, app, version string, least, most *int32) (changed bool, err error) {
	return callAct(ctx, a, (*query.Queries).OpsScalePool,
		query.OpsScalePoolParams{Region: region, App: app, Version: version, Least: least, Most: most})
}

// Limit is the new value of a limit of LimitPools.
type Limit struct{ Count *int32 } // nil: there is no limit

// LimitPools sets how many servers all pools may have together, and how many may start within an hour; nil leaves a
// limit as it is. Errors: Invalid, Unavailable.
func (a Act) LimitPools(ctx context.Context, servers, starts *Limit) (changed bool, err error) {
	p := query.OpsLimitPoolsParams{SetsServers: servers != nil, SetsStarts: starts != nil}
	if servers != nil {
		p.Servers = servers.Count
	}
	if starts != nil {
		p.Starts = starts.Count
	}
	return callAct(ctx, a, func(q *query.Queries, ctx context.Context, p query.OpsLimitPoolsParams) (bool, error) {
		// By a statement of its own, so that ops.limit_pools sees the limits that the last holder of the lock has set.
		if err := q.LockLimitsOfPools(ctx); err != nil {
			return false, err
		}
		return q.OpsLimitPools(ctx, p)
	}, p)
}

// PausePool makes a pool start no servers until a time; the zero time means until it is resumed. Errors: Invalid, for a
// time that is past; NotFound; Unavailable.
func (a Act) PausePool(ctx context.Context, region, app, version string, until time.Time) (changed bool, err error) {
	p := query.OpsPausePoolParams{Region: region, App: app, Version: version, Reason: a.reason}
	if !until.IsZero() {
		p.Until = &until
	}
	return callAct(ctx, a, (*query.Queries).OpsPausePool, p)
}

// ResumePool ends the pause of a pool and of its app version. Errors: NotFound, Unavailable.
func (a Act) ResumePool(ctx context.Context, region, app, version string) (changed bool, err error) {
	return callAct(ctx, a, (*query.Queries).OpsResumePool,
		query.OpsResumePoolParams{Region: region, App: app, Version: version})
}

// PauseProfile makes a profile make no matches; its tickets keep their place. Errors: NotFound; Conflict, for a retired
// profile; Unavailable.
func (a Act) PauseProfile(ctx context.Context, universe, profile string) (changed bool, err error) {
	return callAct(ctx, a, (*query.Queries).OpsPauseProfile,
		query.OpsPauseProfileParams{Universe: universe, Profile: profile, Reason: a.reason})
}

// ResumeProfile ends the pause of a profile. Errors: NotFound, Unavailable.
func (a Act) ResumeProfile(ctx context.Context, universe, profile string) (changed bool, err error) {
	return callAct(ctx, a, (*query.Queries).OpsResumeProfile,
		query.OpsResumeProfileParams{Universe: universe, Profile: profile})
}

// callAct calls a function of schema ops in a transaction that names the person.
func callAct[Arg any](
	ctx context.Context, a Act, call func(*query.Queries, context.Context, Arg) (bool, error), arg Arg,
) (changed bool, err error) {
	// A try that lost against another transaction was rolled back with its event, so that a repetition writes no second
	// one.
	err = a.store.frame.InTxWithRetries(ctx, func(q *query.Queries) error {
		var err error
		changed, err = act.CallAs(ctx, q, a.actor, a.reason,
			func(q *query.Queries) (bool, error) { return call(q, ctx, arg) })
		return err
	})
	return changed, act.Refusal(err)
}

// callMakingRoom is callAct for a change that makes room for players. It wakes the players who wait for a seat: they
// ask at once, and not only when their next look is due.
func callMakingRoom[Arg any](
	ctx context.Context, a Act, call func(*query.Queries, context.Context, Arg) (bool, error), arg Arg,
) (changed bool, err error) {
	changed, err = callAct(ctx, a, call, arg)
	if changed && err == nil {
		a.store.Notify(TopicCapacity, "")
	}
	return changed, err
}

// ReadLoginActor returns the actor of events that the login of the database causes. Errors: Unavailable.
func (s *Store) ReadLoginActor(ctx context.Context) (actor string, err error) {
	actor, err = s.q.Login(ctx)
	return actor, frame.Classify(err)
}
