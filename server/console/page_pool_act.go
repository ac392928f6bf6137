package console

import (
	"context"
	"strconv"
	"time"

	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/base/fault"
)

// scaleAction changes how many servers a pool keeps at least, and may have at most.
var scaleAction = action{
	routePath: "/pools/:region/:app/:version/scale",
	askFirst: func(ctx context.Context, s Store, q query) (question, error) {
		p, err := poolOf(ctx, s, q)
		return question{
			Title: "Scale " + poolName(p) + "?", Button: "Scale", Back: "/deployments",
			Effects: []string{
				"The pool has " + pluralText(p.Servers, "server", "servers") + " that run or start, " +
					formatNumber(p.Busy) + " of them with players.",
				"Workers start servers, or end empty ones, until the numbers hold. No server with players ends for this.",
				"With a maximum of 0 the pool is off.",
			},
			Fields: withSeen(
				field{Name: "min", Label: "Minimum of servers", Value: strconv.Itoa(int(p.Min)),
					Help: "That run whether players need them or not.", Number: true},
				field{Name: "max", Label: "Maximum of servers", Value: strconv.Itoa(int(p.Max)),
					Help: "At most 100,000. Every server may cost money.", Number: true},
			),
		}, err
	},
	do: func(ctx context.Context, s Store, q query, d deed) (string, error) {
		least, err := changedNumber(d, "min", "the minimum")
		if err != nil {
			return "", err
		}
		most, err := changedNumber(d, "max", "the maximum")
		if err != nil {
			return "", err
		}
		changed, err := s.As(d.Actor).Because(d.Reason).ScalePool(ctx, q.Param("region"), q.Param("app"),
			q.Param("version"), least, most)
		return outcomeText(changed, "The pool has other limits now: workers start or end servers.",
			"The pool had these limits already: nothing changed."), err
	},
}

// poolName is a pool for people.
func poolName(p opsview.Pool) string { return p.App + " " + p.Version + " in " + p.Region }

// pausePoolAction keeps a pool from starting servers, without an end.
var pausePoolAction = action{
	routePath: "/pools/:region/:app/:version/pause",
	askFirst: func(ctx context.Context, s Store, q query) (question, error) {
		p, err := poolOf(ctx, s, q)
		return question{
			Title: "Pause " + poolName(p) + "?", Button: "Pause", Back: "/deployments", RequiresReason: true,
			Effects: []string{
				"The pool starts no servers until somebody resumes it, also when players wait.",
				"Its " + pluralText(p.Servers, "server", "servers") +
					" that run or start stay, and their players play on.",
			},
		}, err
	},
	do: func(ctx context.Context, s Store, q query, d deed) (string, error) {
		changed, err := s.As(d.Actor).Because(d.Reason).PausePool(ctx, q.Param("region"), q.Param("app"),
			q.Param("version"), time.Time{})
		return outcomeText(changed, "The pool is paused: it starts no servers.",
			"The pool was paused for this reason already: nothing changed."), err
	},
}

// resumePoolAction ends pauses of a pool: those by people, and those after failures.
var resumePoolAction = action{
	routePath: "/pools/:region/:app/:version/resume",
	askFirst: func(ctx context.Context, s Store, q query) (question, error) {
		p, err := poolOf(ctx, s, q)
		return question{
			Title: "Resume " + poolName(p) + "?", Button: "Resume", Back: "/deployments",
			Effects: []string{
				"The pool starts servers again, at once if players need them.",
				"Its pauses after failures and for lack of capacity end too.",
			},
		}, err
	},
	do: func(ctx context.Context, s Store, q query, d deed) (string, error) {
		changed, err := s.As(d.Actor).Because(d.Reason).ResumePool(ctx, q.Param("region"), q.Param("app"),
			q.Param("version"))
		return outcomeText(changed, "The pool starts servers again.", "The pool was not paused: nothing changed."), err
	},
}

// changedNumber returns the number of a field of withSeen; nil: the person has not changed it. A negative number is
// Invalid; the store refuses one that is too large.
func changedNumber(d deed, name, noun string) (*int32, error) {
	if !d.changes(name) {
		return nil, nil //nolint:nilnil // the number stays
	}
	n, err := strconv.ParseInt(d.Values[name], 10, 32)
	if err != nil || n < 0 {
		return nil, &fault.Error{Kind: fault.Invalid, Code: "invalid", Field: name,
			Detail: noun + " must be a whole number that is not negative"}
	}
	return new(int32(n)), nil
}
